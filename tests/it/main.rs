//! Tests across the crates, through the public interfaces and with real parts: one binary,
//! one module an area.
#![cfg(test)]

mod arguments;
mod attacks;
mod audit;
mod authority;
mod batches;
mod cli;
mod command;
mod command_shim;
mod components;
mod docs;
mod files;
mod floors;
mod frozen;
mod hostile;
mod limits;
mod native;
mod nested;
mod outcomes;
mod outputs;
mod quota;
mod seq;
mod seq_authority;
mod seq_cli;
mod seq_inputs;
mod seq_missing;
mod seq_nested;
mod seq_results;
mod seq_run;
mod seq_static;
mod seq_store;
mod seq_tools_string;
mod walls;
mod world;
