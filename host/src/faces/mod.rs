//! Text and protocols around a host: the only floor that prints, reads the command line
//! or the environment.

mod batch_file;
mod cli;
mod control;
mod http;
mod span;
mod tokens;
mod view;

use std::process::ExitCode;

/// The program `toolgate`. To be the whole of a `main`: it must run before there is a
/// thread or a runtime.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(code) = crate::process::run_child_if_asked() {
        return code;
    }
    cli::main()
}
