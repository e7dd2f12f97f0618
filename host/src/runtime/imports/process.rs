//! `toolgate:host/process`: starts programs, under the plugin's grant.

use std::time::Duration;

use crate::{
    process,
    runtime::{
        abi::v0_1::{
            host::process::{Captured, Ending, Finished, Host, Program, Request, Signal},
            wit::ToolError,
        },
        sandbox::Capability,
        state::CallState,
    },
};

impl Host for CallState {
    async fn run(&mut self, request: Request) -> wasmtime::Result<Result<Finished, ToolError>> {
        let Some(grant) = &self.sandbox.grants.process else {
            return Ok(Err(self.sandbox.refusal(Capability::Process).into()));
        };
        let request = process::Request {
            program: match request.program {
                Program::Argv(argv) => process::Program::Argv(argv),
                Program::Shell(text) => process::Program::Shell(text),
            },
            cwd: request.cwd,
            env: request.env,
            stdin: request.stdin.map(Into::into),
            timeout: Duration::from_millis(request.timeout_ms),
        };
        let done = self
            .sandbox
            .launcher
            .run(grant, &self.sandbox.host_env, request)
            .await;
        Ok(match done {
            Ok(done) => Ok(finished(done)),
            Err(error) => Err(error.into()),
        })
    }
}

fn finished(done: process::Finished) -> Finished {
    Finished {
        ending: match done.ending {
            process::Ending::Exited(code) => Ending::Exited(code),
            process::Ending::Signaled { number, name } => Ending::Signaled(Signal { number, name }),
            process::Ending::TimedOut => Ending::TimedOut,
        },
        stdout: captured(done.stdout),
        stderr: captured(done.stderr),
        combined: captured(done.combined),
        elapsed_ms: u64::try_from(done.elapsed.as_millis()).unwrap_or(u64::MAX),
        leftovers: done.leftovers,
    }
}

fn captured(stream: process::Captured) -> Captured {
    Captured {
        text: stream.text,
        total_bytes: stream.total_bytes,
        truncated: stream.truncated,
        invalid_utf8: stream.invalid_utf8,
    }
}
