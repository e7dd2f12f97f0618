//! Tests across the crates, through the public interfaces and with real parts: one binary,
//! one module an area.
#![cfg(test)]

mod arguments;
mod authority;
mod batches;
mod cli;
mod command;
mod command_shim;
mod files;
mod floors;
mod frozen;
mod hostile;
mod native;
mod nested;
mod outcomes;
mod outputs;
mod world;
