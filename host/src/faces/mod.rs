//! Text and protocols around a host: the only floor that prints, reads the command line
//! or the environment.

use std::process::ExitCode;

/// The program `toolgate`.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(code) = crate::process::run_child_if_asked() {
        return code;
    }
    ExitCode::SUCCESS
}
