//! A component with several memories, which no compiler makes for us: a core module in
//! text, its data laid out by the canonical ABI, wrapped into a component.

use std::error::Error;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Static data, laid out by hand.
#[derive(Default)]
struct Data {
    bytes: Vec<u8>,
}

/// Where the data begins.
const BASE: u32 = 1024;

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

impl Data {
    fn align(&mut self, to: usize) -> u32 {
        while !self.bytes.len().is_multiple_of(to) {
            self.bytes.push(0);
        }
        BASE + length(&self.bytes)
    }

    fn text(&mut self, text: &str) -> (u32, u32) {
        let at = self.align(1);
        self.bytes.extend_from_slice(text.as_bytes());
        (at, length(text.as_bytes()))
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
}

/// A plugin `memories` with one tool, `grow_all`, which grows each of its memories to
/// 32 MiB: below the limit one by one, above it together.
pub(crate) fn component(memories: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut data = Data::default();
    let name = data.text("memories");
    let version = data.text("0.1.0");
    let description = data.text("several memories");
    let tool = data.text("grow_all");
    let parameters = data.text(r#"{"type":"object"}"#);
    let null = data.text("null");

    // tool-def, aligned for its option<u64>.
    let tool_def = data.align(8);
    data.words(&[
        tool.0,
        tool.1,
        0,
        0,
        0,
        description.0,
        description.1,
        parameters.0,
        parameters.1,
        0,
        0,
        0,
    ]);
    // parallel-safe, serial, four option<bool>, then the option<u64>.
    data.bytes.extend_from_slice(&[0; 10]);
    data.align(8);
    data.words(&[0, 0, 0, 0]);
    let info = data.align(4);
    data.words(&[
        name.0,
        name.1,
        version.0,
        version.1,
        description.0,
        description.1,
        tool_def,
        1,
        0,
        0,
    ]);
    // result<output, failure>: ok, then the value and no blocks; a failure needs more room.
    let result = data.align(4);
    data.words(&[0, null.0, null.1, 0, 0]);
    data.bytes.extend_from_slice(&[0; 64]);

    let escaped: String = data
        .bytes
        .iter()
        .map(|byte| format!("\\{byte:02x}"))
        .collect();
    let grow: String = (1..memories)
        .map(|n| format!("(if (i32.eq (memory.grow $m{n} (i32.const 511)) (i32.const -1)) (then unreachable))\n"))
        .collect();
    let more: String = (1..memories)
        .map(|n| format!("(memory $m{n} 1)\n"))
        .collect();
    let text = format!(
        r#"(module
            (memory (export "memory") 4)
            {more}
            (data (i32.const {BASE}) "{escaped}")
            (global $next (mut i32) (i32.const 65536))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func (export "toolgate:tool/tool@0.1.0#describe") (result i32) (i32.const {info}))
            (func (export "toolgate:tool/tool@0.1.0#call") (param i32) (result i32)
                {grow}
                (i32.const {result}))
        )"#
    );
    let mut module = wat::parse_str(&text)?;

    let mut resolve = Resolve::default();
    let wit = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../wit");
    let mut world = None;
    for package in ["tool@0.1.0", "host@0.1.0", "plugin@0.1.0"] {
        let (id, _) = resolve.push_dir(wit.join(package))?;
        world = Some(id);
    }
    let world = resolve.select_world(&[world.ok_or("no package")?], Some("plugin"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(ComponentEncoder::default()
        .module(&module)?
        .validate(true)
        .encode()?)
}
