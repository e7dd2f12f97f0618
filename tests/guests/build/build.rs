//! Compiles the test guests.

use std::process::ExitCode;

use toolgate_guest_build::Guests;

#[expect(clippy::print_stderr, reason = "cargo shows this when the build fails")]
fn main() -> ExitCode {
    let guests = Guests {
        packages: &["toolgate-test-guests"],
        examples: true,
        names: &["probe"],
    };
    match guests.build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
