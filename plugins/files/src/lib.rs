//! The standard plugin `files`: reads, writes, edits, lists and searches files in the
//! folders that the operator granted. The sandbox is the wall: no file outside those
//! folders exists for this code. What is here makes the errors clear, keeps models
//! from damage they did not mean, and bounds every result.
//!
//! One file per tool; beneath them `place` (path → checked place), `walk` (folder →
//! entries), `content` (whole files up to 8 MiB), `host` (what the sandbox's host does
//! for us), `fault` (errors in words).

mod content;
mod delete;
mod edit;
mod fault;
mod find;
mod glob;
mod grep;
mod host;
mod kind;
mod line_ends;
mod list;
mod mkdir;
mod place;
mod protected;
mod read;
mod relocate;
mod stat;
mod text;
#[cfg(test)]
mod tree;
mod walk;
mod write;

toolgate_sdk::plugin! {
    name: "files",
    capabilities: { fs: "reads and changes files in the folders that you grant" },
    tools: [
        read::files_read,
        write::files_write,
        edit::files_edit,
        list::files_list,
        find::files_find,
        grep::files_grep,
        stat::files_stat,
        mkdir::files_mkdir,
        relocate::files_move,
        relocate::files_copy,
        delete::files_delete,
    ],
}
