//! The file that `toolgate init` writes. Deciding where, and making the folder
//! `workspace` beside it, is the face's work.

/// The folder beside the file that it grants.
pub const WORKSPACE: &str = "workspace";

/// A commented configuration that loads as it is, once `workspace` exists.
pub const STARTER: &str = r##"# Toolgate: what plugins may touch, and who may call their tools.
# Nothing is granted and nobody may call anything unless a line here says so.
# Sizes: bytes or "64MiB". Durations: seconds or "30s". Relative paths start at this file.

[plugins.files]
source = "embedded"
[plugins.files.grants]
# Relative paths of a call resolve in the first folder. Keep secrets out of it: rules see
# the arguments of a call, not what a search through the folder finds.
fs = [{ host = "workspace", mode = "rw" }]

[plugins.cmd]
source = "embedded"
# Programs run with your own rights, outside the sandbox. To let some be started:
# [plugins.cmd.grants.process]
# programs = ["git", "ls"]
# env = ["PATH", "LANG"]
# cwd = ["workspace"]

# Sequences of calls. This gives nothing away: each call in one needs its caller's right too.
[plugins.seq]
source = "embedded"
[plugins.seq.grants]
tools = ["*"]

# You, at the terminal.
[principals.local]
kind = "user"
allow = ["*"]
allowed_outputs = ["*"]

# A model. Deny wins, then ask, then allow; `otherwise` is for tools that no rule names.
[principals.assistant]
kind = "agent"
allow = [
  "files_*",
  "seq_*",
  # { tool = "cmd_run", when = [{ at = "/argv/0", equals = "git" }, { at = "/argv/1", one_of = ["status", "diff"] }] },
]
ask = [
  "files_delete",
  # A hook planted in a repository runs later, with your rights.
  { tool = "files_*", when = [{ at = "/path", glob = "{**/.git,**/.git/**}" }] },
]
deny = [
  { tool = "files_*", when = [{ at = "/path", glob = "**/.env" }] },
  { tool = "files_*", when = [{ at = "/source", glob = "**/.env" }] },
  { tool = "files_*", when = [{ at = "/target", glob = "**/.env" }] },
]
otherwise = "ask"
allowed_outputs = ["console"]

[outputs.console]
kind = "stdout"
"##;
