//! Files that are no good plugins: each its own error, and nobody else is touched.

use std::{fs, path::Path};

use serde_json::json;
use toolgate::tool::Digest;

use crate::world::{HOSTILE, PROBE, value, world};

fn patched(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    assert_eq!(from.len(), to.len());
    let mut bytes = component.to_vec();
    let mut found = 0;
    for at in 0..bytes.len() - from.len() {
        if &bytes[at..at + from.len()] == from {
            bytes[at..at + from.len()].copy_from_slice(to);
            found += 1;
        }
    }
    assert!(found > 0, "the component does not hold the text");
    bytes
}

#[tokio::test]
async fn a_bad_file_is_that_files_problem() {
    let maker = world("");
    let plugins = maker.root().join("plugins");
    fs::create_dir_all(&plugins).unwrap();
    let put =
        |name: &str, bytes: &[u8]| fs::write(plugins.join(format!("{name}.wasm")), bytes).unwrap();
    put("empty", b"");
    put("text", b"this is no component\n");
    put("zeros", &vec![0; 1 << 20]);
    put("module", b"\0asm\x01\0\0\0");
    put("native", b"\x7fELF\x02\x01\x01\0");
    put("othername", PROBE);
    put(
        "newer",
        &patched(
            PROBE,
            "toolgate:tool/tool@0.1.0",
            "toolgate:tool/tool@0.9.0",
        ),
    );
    put(
        "older",
        &patched(
            HOSTILE,
            "toolgate:host/log@0.1.0",
            "toolgate:host/log@0.0.9",
        ),
    );
    fs::write(plugins.join("Bad Name.wasm"), PROBE).unwrap();
    fs::create_dir(plugins.join("folder.wasm")).unwrap();
    for step in 1..32 {
        put(&format!("cut{step}"), &PROBE[..PROBE.len() * step / 32]);
    }
    let world = maker.start_with_problems().await;
    let catalog = world.host.catalog();
    let problem = |name: &str| {
        let (_, entry) = catalog
            .plugins()
            .find(|(plugin, _)| plugin.as_str() == name)
            .unwrap();
        assert!(entry.plugin.is_none(), "{name}");
        entry.problems.join("; ")
    };
    for (name, told) in [
        ("empty", "empty"),
        ("text", "text"),
        ("zeros", "WebAssembly"),
        ("module", "core module"),
        ("native", "native code"),
        ("othername", "calls itself \"probe\""),
    ] {
        assert!(problem(name).contains(told), "{name}: {}", problem(name));
    }
    for (name, wanted) in [("newer", "tool@0.9.0"), ("older", "log@0.0.9")] {
        let problem = problem(name);
        assert!(
            problem.contains(wanted) && problem.contains("0.1.0"),
            "{name}: {problem}"
        );
    }
    for step in 1..32 {
        let problem = problem(&format!("cut{step}"));
        // A cut between two sections leaves a whole component without its exports.
        assert!(
            problem.contains("not a complete component") || problem.contains("its end is missing"),
            "{step}: {problem}"
        );
    }
    assert!(
        world
            .host
            .problems()
            .iter()
            .any(|problem| problem.contains("Bad Name")),
        "{:?}",
        world.host.problems()
    );
    assert_eq!(
        value(&world.call("echo", json!({ "text": "a" })).await),
        "a"
    );
}

#[tokio::test]
async fn a_dropped_file_takes_no_name_and_no_grant() {
    let maker =
        world("[plugins.cmd.grants.process]\nprograms = [\"ls\"]\ncwd = [\"{workspace}\"]\n");
    let plugins = maker.root().join("plugins");
    fs::create_dir_all(&plugins).unwrap();
    fs::write(plugins.join("cmd.wasm"), toolgate_guests::FILES).unwrap();
    let world = maker.start().await;
    let result = world.call("cmd_run", json!({ "argv": ["ls"] })).await;
    assert!(result.success(), "the embedded one serves: {result:?}");
    assert!(
        world
            .host
            .problems()
            .iter()
            .any(|problem| problem.contains("cmd.wasm")),
        "{:?}",
        world.host.problems()
    );
}

#[test]
fn no_compiled_component_is_in_the_repository() {
    fn look(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            // But for the kept plugins of released versions.
            if path.is_dir() && !path.ends_with("tests/abi") && name != "target" && name != ".git" {
                look(&path, found);
            } else if name.ends_with(".wasm") || name.ends_with(".cwasm") {
                found.push(path.display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    look(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
        &mut found,
    );
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_is_embedded_is_named_by_its_digest() {
    use toolgate_guests::{CMD, CMD_SHA256, FILES, FILES_SHA256, SEQ, SEQ_SHA256};
    for (bytes, known) in [(FILES, FILES_SHA256), (CMD, CMD_SHA256), (SEQ, SEQ_SHA256)] {
        assert_eq!(Digest::known(known), Digest::of(bytes));
    }
}
