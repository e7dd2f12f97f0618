//! The standard plugin `seq`: named sequences of tool calls, created once, checked when
//! they are made, and run many times with the rights of whoever runs them. It asks its
//! host for what every plugin may ask: batches of calls, a list of tools, a private folder.
//!
//! From the text inwards: `document` (shapes) and `tools_string`, `reference`, `condition`
//! (small grammars) give a `sequence`; `checks` judges it; `store` keeps it; `run` runs it
//! through `kernel`. `create`, `list`, `delete`, `call` and `help` are what a model sees.

mod call;
mod checks;
mod condition;
mod create;
mod delete;
mod document;
mod fetch;
#[doc(hidden)]
pub mod fuzz;
mod help;
mod json;
mod kernel;
mod kind;
mod list;
mod name;
mod problem;
mod reference;
mod run;
mod sequence;
mod stack;
mod store;
#[cfg(test)]
mod testing;
mod tools_string;

/// The private folder that the host gives to this plugin.
const FOLDER: &str = "/data/sequences";

toolgate_sdk::plugin! {
    name: "seq",
    capabilities: {
        data: "keeps the sequences",
        tools: "runs the items of sequences; the caller's rights bind as well",
    },
    tools: [
        create::seq_create,
        list::seq_list,
        delete::seq_delete,
        call::seq_run,
        call::seq_call,
        call::seq_when_call,
        help::seq_help,
    ],
}
