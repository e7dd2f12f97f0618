//! Tests across the crates, through the public interfaces and with real parts: one binary,
//! one module an area.
#![cfg(test)]

mod abi;
mod arguments;
mod attacks;
mod audit;
mod authority;
mod batches;
mod circuits;
mod cli;
mod command;
mod command_shim;
mod components;
mod control;
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
mod reconfigure;
mod reload;
mod serving;
mod storms;
mod tokens;
mod user;
mod walls;
mod world;
