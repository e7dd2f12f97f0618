//! `toolgate:host/files`: atomic replace and copy beneath the plugin's own folders.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::runtime::{
    abi::v0_1::host::files::{CopyOptions, ErrorCode, FileError, Host, ReplaceOptions, Root},
    beneath::{self, Code, Roots},
    sandbox::{Capability, Sandbox},
    state::CallState,
};

impl Host for CallState {
    async fn roots(&mut self) -> wasmtime::Result<Vec<Root>> {
        let root = |grant: &crate::policy::FsGrant| Root {
            path: grant.guest.clone(),
            writable: grant.writable,
        };
        Ok(self.sandbox.grants.fs.iter().map(root).collect())
    }

    async fn replace(
        &mut self,
        path: String,
        data: Vec<u8>,
        options: ReplaceOptions,
    ) -> wasmtime::Result<Result<(), FileError>> {
        beneath(&self.sandbox, move |roots, _| {
            roots.replace(&path, &data, options.create_new, options.parents)
        })
        .await
    }

    async fn copy(
        &mut self,
        source: String,
        target: String,
        options: CopyOptions,
    ) -> wasmtime::Result<Result<u64, FileError>> {
        beneath(&self.sandbox, move |roots, stop| {
            roots.copy(&source, &target, options.overwrite, options.parents, stop)
        })
        .await
    }
}

/// On a blocking thread, since these calls sync the disk. A call that is given up stops
/// the thread at its next piece of work.
async fn beneath<T: Send + 'static>(
    sandbox: &Arc<Sandbox>,
    work: impl FnOnce(&Roots, &AtomicBool) -> Result<T, beneath::FileError> + Send + 'static,
) -> wasmtime::Result<Result<T, FileError>> {
    if sandbox.grants.fs.is_empty() {
        return Ok(Err(FileError {
            code: ErrorCode::Escapes,
            detail: sandbox.refusal(Capability::Fs).to_string(),
        }));
    }
    let roots = Arc::clone(&sandbox.roots);
    let stop = StopOnDrop::default();
    let flag = Arc::clone(&stop.0);
    let done = tokio::task::spawn_blocking(move || work(&roots, &flag)).await?;
    Ok(done.map_err(|error| FileError {
        code: code(error.code),
        detail: error.detail,
    }))
}

#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn code(code: Code) -> ErrorCode {
    match code {
        Code::Escapes => ErrorCode::Escapes,
        Code::ReadOnly => ErrorCode::ReadOnly,
        Code::NotFound => ErrorCode::NotFound,
        Code::Exists => ErrorCode::Exists,
        Code::IsDirectory => ErrorCode::IsDirectory,
        Code::Unsupported => ErrorCode::Unsupported,
        Code::TooLarge => ErrorCode::TooLarge,
        Code::NoSpace => ErrorCode::NoSpace,
        Code::Other => ErrorCode::Other,
    }
}
