//! Compiles the test guests.

mod many_memories;

use std::{error::Error, fs, path::Path, process::ExitCode};

use toolgate_guest_build::Guests;

#[expect(clippy::print_stderr, reason = "cargo shows this when the build fails")]
fn main() -> ExitCode {
    let guests = Guests {
        packages: &["toolgate-test-guests"],
        examples: true,
        names: &["probe", "relay", "keeper", "hostile", "hello", "living"],
    };
    match guests.build().map_err(Into::into).and_then(|()| by_hand()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:?}");
            ExitCode::FAILURE
        }
    }
}

/// The fixtures that no compiler makes.
#[expect(
    clippy::disallowed_methods,
    reason = "a build script is told everything by its environment"
)]
fn by_hand() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    fs::write(
        Path::new(&out).join("memories.wasm"),
        many_memories::component(8)?,
    )?;
    Ok(())
}
