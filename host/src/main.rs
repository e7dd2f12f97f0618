//! The program `toolgate`: see the library.

fn main() -> std::process::ExitCode {
    toolgate::main()
}
