//! The program under test, in the package of its tests: cargo tells the path of a binary
//! only to its own package.

fn main() -> std::process::ExitCode {
    toolgate::main()
}
