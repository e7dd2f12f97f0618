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
mod http_bodies;
mod http_calls;
mod http_events;
mod http_gate;
mod http_life;
mod limits;
mod native;
mod nested;
mod outcomes;
mod outputs;
mod serving;
mod tokens;
mod walls;
mod world;
