//! A plugin that does what no plugin should: each tool in its own way.

use std::{fs, fs::File, io::Write as _, thread, time::Duration};

use toolgate_sdk::{
    Output, ToolError, arguments, log, plugin,
    schemars::{Schema, SchemaGenerator},
    serde_json::{Value, json},
    tool,
};

/// Never ends.
#[tool(parallel_safe)]
fn spin() -> Result<u64, ToolError> {
    let mut n = 0_u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}

/// Sleeps in a host call.
#[tool(parallel_safe)]
fn sleep_for_ever() -> Result<(), ToolError> {
    loop {
        thread::sleep(Duration::from_secs(3_600));
    }
}

#[arguments]
struct Deep {
    depth: u64,
}

#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == 0 {
        0
    } else {
        recurse(depth - 1) + frame[63]
    }
}

/// Recurses.
#[tool(parallel_safe)]
fn recurse_deep(args: Deep) -> Result<u64, ToolError> {
    Ok(recurse(args.depth))
}

/// Tries to change a file, and the folder around it, in every way there is.
#[tool]
fn try_writes(args: Path) -> Result<Value, ToolError> {
    let path = args.path;
    let beside = format!("{path}.beside");
    let options = |set: &dyn Fn(&mut fs::OpenOptions)| {
        let mut options = fs::OpenOptions::new();
        set(&mut options);
        options.open(&path).map(drop)
    };
    let word = |result: std::io::Result<()>| match result {
        Ok(()) => "done".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    Ok(json!({
        "truncate": word(options(&|o| { o.write(true).truncate(true); })),
        "append": word(options(&|o| { o.append(true); })),
        "create": word(File::create(&beside).map(drop)),
        "set_len": word(File::open(&path).and_then(|file| file.set_len(0))),
        "set_times": word(set_times(&path)),
        "set_modified": word(File::open(&path).and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH))),
        "rename": word(fs::rename(&path, &beside)),
        "link": word(fs::hard_link(&path, &beside)),
        "folder": word(fs::create_dir(&beside)),
        "remove": word(fs::remove_file(&path)),
    }))
}

#[arguments]
struct Link {
    target: String,
    link: String,
}

/// Makes a symbolic link and reads through it.
#[tool]
fn try_symlink(args: Link) -> Result<Value, ToolError> {
    Ok(json!({
        "made": symlink(&args.target, &args.link).is_ok(),
        "read": fs::read_to_string(&args.link).ok(),
        "listed": fs::read_dir(&args.link).is_ok(),
        "seen": fs::metadata(&args.link).is_ok(),
    }))
}

/// The standard library of this target has no stable way to make one.
fn symlink(target: &str, link: &str) -> std::io::Result<()> {
    unsafe extern "C" {
        fn symlink(target: *const core::ffi::c_char, link: *const core::ffi::c_char) -> i32;
    }
    let target = std::ffi::CString::new(target).map_err(std::io::Error::other)?;
    let link = std::ffi::CString::new(link).map_err(std::io::Error::other)?;
    // SAFETY: two paths that end in NUL.
    let code = unsafe { symlink(target.as_ptr(), link.as_ptr()) };
    if code == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// Takes all the memory there is.
#[tool(parallel_safe)]
fn eat_memory() -> Result<usize, ToolError> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    loop {
        all.push(vec![1; 1 << 20]);
        std::hint::black_box(&all);
    }
}

/// Takes all the memory there is, politely, and then never ends.
#[tool(parallel_safe)]
fn eat_memory_and_spin() -> Result<usize, ToolError> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    loop {
        let mut one: Vec<u8> = Vec::new();
        if one.try_reserve_exact(1 << 20).is_ok() {
            one.resize(1 << 20, 1);
            all.push(one);
        }
        std::hint::black_box(&all);
    }
}

#[arguments]
struct Path {
    path: String,
    #[serde(default)]
    times: u32,
}

/// Opens one file again and again and closes none.
#[tool(parallel_safe)]
fn hoard_handles(args: Path) -> Result<Value, ToolError> {
    let mut open = Vec::new();
    for n in 0..args.times {
        match File::open(&args.path) {
            Ok(file) => open.push(file),
            Err(error) => return Ok(json!({ "opened": n, "then": error.to_string() })),
        }
    }
    Ok(json!({ "opened": open.len() }))
}

/// Opens a path, which may be no file, again and again.
#[tool(parallel_safe)]
fn open_special(args: Path) -> Result<Value, ToolError> {
    let mut errors = std::collections::BTreeMap::<String, u32>::new();
    for n in 0..args.times {
        let result = match n % 3 {
            0 => File::open(&args.path).map(drop),
            1 => fs::OpenOptions::new()
                .write(true)
                .open(&args.path)
                .map(drop),
            _ => fs::read(&args.path).map(drop),
        };
        *errors
            .entry(result.map_or_else(|error| format!("{:?}", error.kind()), |()| "opened".into()))
            .or_default() += 1;
    }
    Ok(json!(errors))
}

/// Sets the times of a path, which opens it.
#[tool(parallel_safe)]
fn touch_special(args: Path) -> Result<Value, ToolError> {
    let result = set_times(&args.path);
    Ok(json!(result.map_or_else(
        |error| format!("{:?}", error.kind()),
        |()| "touched".into()
    )))
}

/// `utimensat` with following, which the standard library does not offer by path.
fn set_times(path: &str) -> std::io::Result<()> {
    unsafe extern "C" {
        fn utimensat(
            folder: i32,
            path: *const core::ffi::c_char,
            times: *const i64,
            flags: i32,
        ) -> i32;
    }
    // AT_FDCWD of wasi-libc.
    const HERE: i32 = -2;
    let path = std::ffi::CString::new(path).map_err(std::io::Error::other)?;
    // SAFETY: a path that ends in NUL, and no times, which means now.
    let code = unsafe { utimensat(HERE, path.as_ptr(), std::ptr::null(), 0) };
    if code == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

#[arguments]
struct Size {
    mib: usize,
}

/// Gives a large text.
#[tool(parallel_safe)]
fn huge_text(args: Size) -> Result<String, ToolError> {
    Ok("x".repeat(args.mib << 20))
}

/// Gives large media: the same bytes many times, so that they cost the guest nothing.
#[tool(parallel_safe)]
fn huge_media(args: Size) -> Result<Output, ToolError> {
    Ok(Output::new(&"").with_block("application/octet-stream", None, vec![0; args.mib << 20]))
}

/// Gives a value that is nested a thousand deep.
#[tool(parallel_safe)]
fn nested_value() -> Result<Output, ToolError> {
    Ok(Output {
        value: format!("{}{}", "[".repeat(1_000), "]".repeat(1_000)),
        blocks: Vec::new(),
    })
}

#[arguments]
struct Flood {
    lines: u32,
    text: String,
}

/// Floods the log.
#[tool(parallel_safe)]
fn flood_log(args: Flood) -> Result<(), ToolError> {
    for _ in 0..args.lines {
        log::info(&args.text);
    }
    Ok(())
}

/// Floods standard output and error.
#[tool(parallel_safe)]
fn flood_output(args: Flood) -> Result<(), ToolError> {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    for _ in 0..args.lines {
        // Nobody reads it, and it may be cut: that is the point.
        let _ = writeln!(out, "{}", args.text);
        let _ = writeln!(err, "{}", args.text);
    }
    Ok(())
}

/// Fills much memory in one instruction, again and again: the clock is looked at only
/// between two of them.
#[tool(parallel_safe)]
fn fill_for_ever() -> Result<u8, ToolError> {
    let mut memory = vec![0_u8; 48 << 20];
    let mut byte = 0_u8;
    loop {
        byte = byte.wrapping_add(1);
        memory.fill(std::hint::black_box(byte));
    }
}

/// Says what of the host it can see.
#[tool(parallel_safe)]
#[expect(clippy::disallowed_methods, reason = "to see what the host gives away")]
fn look_around() -> Result<Value, ToolError> {
    let preopen = fs::read_dir("/")
        .map(|entries| entries.count())
        .map_err(|error| error.to_string());
    let socket = std::net::TcpStream::connect("127.0.0.1:1")
        .map(drop)
        .map_err(|error| format!("{:?}", error.kind()));
    Ok(json!({
        "env": std::env::vars().collect::<Vec<_>>(),
        "args": std::env::args().collect::<Vec<_>>(),
        "root": format!("{preopen:?}"),
        "socket": format!("{socket:?}"),
        "passwd": fs::read_to_string("/etc/passwd").is_ok(),
    }))
}

static mut MARK: [u8; 4096] = [0; 4096];

/// Writes a mark into memory that the next instance must not see.
#[tool]
fn dirty() -> Result<(), ToolError> {
    let mut heap = vec![0_u8; 256 << 10];
    heap.fill(0xA5);
    std::hint::black_box(&heap);
    // SAFETY: one thread, and no reference is kept.
    unsafe { std::ptr::addr_of_mut!(MARK).write([0xA5; 4096]) };
    Ok(())
}

/// Counts what is left of the mark.
#[tool]
fn scan() -> Result<usize, ToolError> {
    let mut heap: Vec<u8> = Vec::with_capacity(256 << 10);
    // SAFETY: looks at fresh memory on purpose; every bit pattern is a byte.
    #[allow(
        clippy::uninit_vec,
        reason = "to see what an earlier instance left there"
    )]
    unsafe {
        heap.set_len(256 << 10);
    }
    // SAFETY: one thread, and no reference is kept.
    let mark = unsafe { std::ptr::addr_of!(MARK).read() };
    let left = std::hint::black_box(&heap)
        .iter()
        .chain(&mark)
        .filter(|byte| **byte == 0xA5)
        .count();
    Ok(left)
}

#[arguments]
struct Doubling {
    #[serde(default)]
    #[schemars(schema_with = "doubling")]
    value: Option<Value>,
}

/// Each of 40 levels names the next one twice.
fn doubling(generator: &mut SchemaGenerator) -> Schema {
    for level in 0..40 {
        let next = format!("#/$defs/L{}", level + 1);
        generator.definitions_mut().insert(
            format!("L{level}"),
            json!({ "allOf": [{ "$ref": next }, { "$ref": next }] }),
        );
    }
    generator
        .definitions_mut()
        .insert("L40".into(), json!({ "type": "string" }));
    toolgate_sdk::schemars::json_schema!({ "$ref": "#/$defs/L0" })
}

/// Its schema doubles at each level.
#[tool]
fn doubling_schema(args: Doubling) -> Result<bool, ToolError> {
    Ok(args.value.is_some())
}

plugin! {
    name: "hostile",
    capabilities: { fs: "to try its walls", env: "to look around" },
    tools: [
        try_writes, try_symlink, spin, sleep_for_ever, recurse_deep, eat_memory, eat_memory_and_spin, hoard_handles, open_special,
        touch_special, huge_text, huge_media, nested_value, flood_log, flood_output, fill_for_ever, look_around,
        dirty, scan, doubling_schema,
    ],
}
