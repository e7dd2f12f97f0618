//! Compiles guests for wasm32-wasip2 from a build script, and writes one constant a guest.
//!
//! The nested cargo has a target folder of its own, `guests` beside the outer profile
//! folders: not `OUT_DIR`, since clippy would pay for every guest again, and not the
//! outer target folder, whose lock the outer cargo holds.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest as _, Sha256};

/// The stack of a guest. Small, since it is zeroed for each call: with 1 MiB, Rust's
/// default, an instance costs several times as much to make.
const STACK: u32 = 128 * 1024;

/// Which guests of which package.
#[derive(Debug, Clone, Copy)]
pub struct Guests<'a> {
    /// The packages to build.
    pub packages: &'a [&'a str],
    /// Whether the guests are the packages' examples, or the packages' libraries.
    pub examples: bool,
    /// Names of the artefacts, which become names of constants.
    pub names: &'a [&'a str],
}

impl Guests<'_> {
    /// Builds them and writes `guests.rs` into `OUT_DIR`.
    ///
    /// # Errors
    ///
    /// What failed and what to do, for the person at the terminal.
    pub fn build(self) -> Result<(), String> {
        let out = PathBuf::from(variable("OUT_DIR")?);
        // <target>/<profile>/build/<package>-<hash>/out
        let target = out
            .ancestors()
            .nth(4)
            .ok_or_else(|| format!("{} lies in no target folder", out.display()))?
            .join("guests");
        self.compile(&target)?;

        let mut folder = target.join("wasm32-wasip2").join("guest");
        if self.examples {
            folder.push("examples");
        }
        let mut code = String::new();
        for name in self.names {
            let wasm = folder.join(format!("{}.wasm", name.replace('-', "_")));
            if !wasm.is_file() {
                return Err(format!("the build left no {}", wasm.display()));
            }
            rerun_if_sources_change(&wasm.with_extension("d"))?;
            // Kept here, so that clearing the nested folder takes nothing away.
            let kept = out.join(format!("{name}.wasm"));
            fs::copy(&wasm, &kept).map_err(|error| format!("{}: {error}", kept.display()))?;
            let constant = name
                .rsplit("toolgate-")
                .next()
                .unwrap_or(name)
                .replace('-', "_")
                .to_uppercase();
            let bytes = fs::read(&kept).map_err(|error| format!("{}: {error}", kept.display()))?;
            let _ = writeln!(
                code,
                "/// The component `{name}`.\npub static {constant}: &[u8] = include_bytes!({:?});\n\
                 /// Its SHA-256.\npub static {constant}_SHA256: [u8; 32] = {:?};",
                kept.display().to_string(),
                <[u8; 32]>::from(Sha256::digest(&bytes)),
            );
        }
        let file = out.join("guests.rs");
        fs::write(&file, code).map_err(|error| format!("{}: {error}", file.display()))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a build script is told everything by its environment"
    )]
    fn compile(&self, target: &Path) -> Result<(), String> {
        let cargo = variable("CARGO")?;
        let mut command = Command::new(&cargo);
        command.args(["build", "--profile", "guest", "--target", "wasm32-wasip2"]);
        command.arg("--target-dir").arg(target);
        for package in self.packages {
            command.args(["--package", package]);
        }
        command.arg(if self.examples { "--examples" } else { "--lib" });
        for (key, _) in env::vars_os() {
            if key.to_str().is_none_or(is_outer) {
                command.env_remove(&key);
            }
        }
        command.env(
            "CARGO_ENCODED_RUSTFLAGS",
            format!("-Clink-arg=-zstack-size={STACK}"),
        );
        let output = command
            .output()
            .map_err(|error| format!("cannot start {cargo}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let hint = if text.contains("can't find crate for `std`")
            || text.contains("can't find crate for `core`")
        {
            "\nhint: the target wasm32-wasip2 is missing: run `scripts/wasm-target`"
        } else {
            ""
        };
        Err(format!("the guests do not compile:\n{text}{hint}"))
    }
}

/// What the outer cargo or clippy sets for its own build and must not reach the inner one.
fn is_outer(key: &str) -> bool {
    const KEPT: [&str; 4] = ["CARGO", "CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_"];
    const DROPPED: [&str; 16] = [
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC",
        "RUSTDOC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_LINKER",
        "CLIPPY_ARGS",
        "MAKEFLAGS",
        "MFLAGS",
        "TARGET",
        "HOST",
        "OUT_DIR",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
    ];
    if DROPPED.contains(&key) || key == "NUM_JOBS" {
        return true;
    }
    let kept = KEPT[..2].contains(&key)
        || KEPT[2..].iter().any(|prefix| key.starts_with(prefix))
        || key.starts_with("CARGO_REGISTR");
    key.starts_with("CARGO") && !kept
}

/// Tells the outer cargo every source that went into `dep_info`'s artefact.
fn rerun_if_sources_change(dep_info: &Path) -> Result<(), String> {
    let text =
        fs::read_to_string(dep_info).map_err(|error| format!("{}: {error}", dep_info.display()))?;
    for source in sources(&text) {
        tell(&format!("rerun-if-changed={source}"));
    }
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    for lock in manifest
        .ancestors()
        .map(|folder| folder.join("Cargo.lock"))
        .filter(|file| file.is_file())
    {
        tell(&format!("rerun-if-changed={}", lock.display()));
        tell(&format!(
            "rerun-if-changed={}",
            lock.with_file_name("Cargo.toml").display()
        ));
    }
    Ok(())
}

/// The right side of a `.d` file; blanks in names are written `\ `.
fn sources(text: &str) -> Vec<String> {
    let right = text.split_once(": ").map_or("", |(_, right)| right);
    right
        .replace("\\ ", "\u{0}")
        .split_whitespace()
        .map(|name| name.replace('\u{0}', " "))
        .collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build script is told everything by its environment"
)]
fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("{name} is not set: build scripts only"))
}

#[expect(
    clippy::print_stdout,
    reason = "this is how a build script speaks to cargo"
)]
fn tell(line: &str) {
    println!("cargo::{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_with_blanks_stay_whole() {
        assert_eq!(
            sources("/t/a.wasm: /s/a\\ b.rs /s/c.rs\n"),
            ["/s/a b.rs", "/s/c.rs"]
        );
    }

    #[test]
    fn the_outer_build_does_not_leak() {
        for outer in [
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTFLAGS",
            "CARGO_PKG_NAME",
            "CARGO_TARGET_DIR",
            "CLIPPY_ARGS",
        ] {
            assert!(is_outer(outer), "{outer}");
        }
        for kept in [
            "CARGO",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_REGISTRIES_X_INDEX",
            "PATH",
            "HOME",
        ] {
            assert!(!is_outer(kept), "{kept}");
        }
    }
}
