//! Compiles the standard plugins.

use std::process::ExitCode;

use toolgate_guest_build::Guests;

#[expect(clippy::print_stderr, reason = "cargo shows this when the build fails")]
fn main() -> ExitCode {
    let guests = Guests {
        packages: &["toolgate-files", "toolgate-cmd", "toolgate-seq"],
        examples: false,
        names: &["toolgate-files", "toolgate-cmd", "toolgate-seq"],
    };
    match guests.build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
