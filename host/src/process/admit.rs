//! From a request to a job: everything is checked against the grant before anything
//! starts, and what the system says no to is put into the caller's words.

use std::{borrow::Cow, ffi::OsString};

use rustix::io::Errno;

use super::{
    Program, Request, program,
    surroundings::{environment, folder},
    wire::Job,
};
use crate::{
    policy::ProcessGrant,
    tool::{Reason, ToolError},
};

/// The one shell there is on every system. Text is an operand: it is never read as an
/// option, whatever it begins with.
const SHELL: [&str; 3] = ["/bin/sh", "-c", "--"];

pub(super) fn job(
    grant: &ProcessGrant,
    host_env: &[(String, String)],
    request: &Request,
) -> Result<Job, ToolError> {
    let cwd = folder(grant, request.cwd.as_deref())?;
    let (program, argv) = match &request.program {
        Program::Argv(argv) => {
            if let Some(at) = argv.iter().position(|item| item.contains('\0')) {
                return Err(nul(format!("argv[{at}]")));
            }
            let Some(name) = argv.first().filter(|name| !name.is_empty()) else {
                return Err(ToolError::new(Reason::Arguments, "no program is named")
                    .field("argv")
                    .hint("argv[0] is the program, the other items are its arguments"));
            };
            let search = program::search_path(grant, host_env);
            let program = program::resolve(name, &grant.programs, search, &cwd)?;
            (program.into_os_string(), argv.clone())
        }
        Program::Shell(text) => {
            if text.contains('\0') {
                return Err(nul("command"));
            }
            if !grant.shell {
                return Err(no_shell(grant));
            }
            let argv = SHELL
                .iter()
                .map(|&item| item.to_owned())
                .chain([text.clone()]);
            (OsString::from(SHELL[0]), argv.collect())
        }
    };
    Ok(Job {
        program,
        argv,
        env: environment(grant, host_env, &request.env)?,
        cwd: cwd.into_os_string(),
        stdin: request.stdin.as_ref().map_or(0, |text| text.len() as u64),
    })
}

/// A reason that is not of the kernel's own list.
pub(super) fn refusal(reason: &'static str, detail: impl Into<String>) -> ToolError {
    ToolError {
        reason: Cow::Borrowed(reason),
        ..ToolError::new(Reason::Internal, detail)
    }
}

pub(super) fn nul(field: impl Into<String>) -> ToolError {
    ToolError::new(
        Reason::Arguments,
        "a NUL character cannot be handed to a program",
    )
    .field(field)
    .hint("leave it out, or hand the bytes over in a file")
}

fn no_shell(grant: &ProcessGrant) -> ToolError {
    ToolError::new(Reason::Unauthorized, "no shell is granted, so a line for one cannot run")
        .field("command")
        .hint(format!(
            "give a program and its arguments as `argv` (granted: {}); only the operator can set `shell = true` \
             under grants.process",
            program::listed(&grant.programs)
        ))
}

/// What the system said when the job was executed.
pub(super) fn not_executed(job: &Job, errno: i32) -> ToolError {
    let program = job.program.to_string_lossy();
    match Errno::from_raw_os_error(errno) {
        Errno::TOOBIG => too_long(job),
        Errno::NOENT => ToolError::new(
            Reason::NotFound,
            format!("`{program}` cannot start: the interpreter that its first line names, or the folder, is missing"),
        )
        .hint("read the first line of the script, or choose another program"),
        Errno::ACCESS | Errno::PERM => not_executable(&program, "it may not be executed"),
        Errno::NOEXEC => not_executable(&program, "it is no program for this machine, and has no `#!` line"),
        Errno::NOTDIR => refusal("not_a_folder", "the working folder is no longer a folder").field("cwd"),
        Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE | Errno::TXTBSY => {
            ToolError::new(Reason::Unavailable, format!("the system cannot start `{program}` now: {}", text(errno)))
                .hint("try again later")
        }
        _ => ToolError::new(Reason::Internal, format!("`{program}` cannot be started: {}", text(errno))),
    }
}

pub(super) fn not_executable(program: &str, why: &str) -> ToolError {
    refusal("not_executable", format!("`{program}` cannot start: {why}"))
        .field("argv[0]")
        .hint("choose another program, or run the file with its interpreter")
}

fn text(errno: i32) -> String {
    std::io::Error::from_raw_os_error(errno).to_string()
}

/// The system does not say which limit; the longest item does.
fn too_long(job: &Job) -> ToolError {
    let items = job
        .argv
        .iter()
        .enumerate()
        .map(|(at, item)| (format!("argv[{at}]"), item.len()));
    let env = job
        .env
        .iter()
        .map(|(name, value)| (format!("env.{name}"), name.len() + 1 + value.len()));
    let (sum, longest) = items
        .chain(env)
        .fold((0, (String::new(), 0)), |(sum, longest), item| {
            (
                sum + item.1 + 1,
                if item.1 > longest.1 { item } else { longest },
            )
        });
    let (field, bytes) =
        if job.argv.first().is_some_and(|name| name == SHELL[0]) && longest.0 == "argv[3]" {
            ("command".to_owned(), longest.1)
        } else {
            longest
        };
    ToolError::new(
        Reason::Limit,
        format!(
            "arguments and environment are too long for the system: `{field}` has {bytes} bytes, all together {sum} \
             (Linux: 131,071 bytes for one item, about 2 MiB for all)"
        ),
    )
    .field(field)
    .hint("pass long text as `stdin`, or write it to a file and pass the file's name")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(program: Program, shell: bool) -> (String, Option<String>) {
        let grant = ProcessGrant {
            programs: vec!["true".into()],
            shell,
            cwd: vec!["/".into()],
            ..ProcessGrant::default()
        };
        let request = Request {
            program,
            cwd: None,
            env: Vec::new(),
            stdin: None,
            timeout: std::time::Duration::from_secs(1),
        };
        let error = job(&grant, &[], &request).unwrap_err();
        (error.reason.into_owned(), error.field)
    }

    fn argv(items: &[&str]) -> Program {
        Program::Argv(items.iter().map(|&item| item.to_owned()).collect())
    }

    fn because(reason: &str, field: &str) -> (String, Option<String>) {
        (reason.to_owned(), Some(field.to_owned()))
    }

    #[test]
    fn a_line_needs_the_grant_of_a_shell() {
        let line = |text: &str| Program::Shell(text.to_owned());
        // A granted program at the beginning of the line is no grant of the line.
        for text in ["true", "true; touch x", ""] {
            assert_eq!(
                refused(line(text), false),
                because("unauthorized", "command")
            );
        }
        assert_eq!(
            refused(line("true\0"), true),
            because("arguments", "command")
        );
    }

    #[test]
    fn arguments_that_no_program_can_have_are_errors() {
        assert_eq!(refused(argv(&[]), false), because("arguments", "argv"));
        assert_eq!(
            refused(argv(&["", "x"]), false),
            because("arguments", "argv")
        );
        assert_eq!(
            refused(argv(&["true", "a\0b"]), false),
            because("arguments", "argv[1]")
        );
        assert_eq!(
            refused(argv(&["true\0"]), false),
            because("arguments", "argv[0]")
        );
    }

    #[test]
    fn each_answer_of_the_system_has_its_reason() {
        let job = Job {
            program: "/bin/x".into(),
            argv: vec!["x".into()],
            env: Vec::new(),
            cwd: "/".into(),
            stdin: 0,
        };
        for (errno, reason) in [
            (Errno::TOOBIG, "limit"),
            (Errno::NOENT, "not_found"),
            (Errno::ACCESS, "not_executable"),
            (Errno::NOEXEC, "not_executable"),
            (Errno::NOTDIR, "not_a_folder"),
            (Errno::AGAIN, "unavailable"),
            (Errno::IO, "internal"),
        ] {
            assert_eq!(not_executed(&job, errno.raw_os_error()).reason, reason);
        }
    }
}
