//! The standard plugin `cmd`: one tool, `cmd_run`, that runs a program to its end. The
//! plugin itself can start nothing: the host does, under the operator's grant, and ends
//! whatever the command leaves behind. What is here puts the request together, and tells
//! a command that failed from one that did not run.

mod report;
mod run;

toolgate_sdk::plugin! {
    name: "cmd",
    capabilities: { process: "runs the programs that you grant" },
    tools: [run::cmd_run],
}
