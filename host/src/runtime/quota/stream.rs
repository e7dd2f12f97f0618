//! A stream into a file of the private folder: room is taken before each write.

use std::{fs::File, io, sync::Arc};

use bytes::Bytes;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::{Quota, Reserved};

pub(super) struct Metered {
    pub(super) inner: DynOutputStream,
    pub(super) file: Arc<File>,
    pub(super) quota: Arc<Quota>,
    /// Where the next byte goes; none: to the end.
    pub(super) position: Option<u64>,
    /// Of the write that may be under way.
    pub(super) reserved: Option<Reserved>,
}

impl Metered {
    fn reserve(&mut self, length: usize) -> StreamResult<()> {
        let failed = |error: io::Error| StreamError::LastOperationFailed(error.into());
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        let size = self.file.metadata().map_err(failed)?.len();
        let end = self.position.unwrap_or(size).saturating_add(length);
        let reserved = self
            .quota
            .reserve(end.saturating_sub(size))
            .map_err(failed)?;
        let full = || failed(io::ErrorKind::QuotaExceeded.into());
        self.reserved = Some(reserved.ok_or_else(full)?);
        if let Some(position) = &mut self.position {
            *position = end;
        }
        Ok(())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Metered {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Metered {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.reserve(bytes.len())?;
        self.inner.write(bytes)
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.reserve(bytes.len())?;
        let outcome = self.inner.blocking_write_and_flush(bytes).await;
        self.reserved = None;
        outcome
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        let room = self.inner.check_write();
        // Nothing is under way where another write may come, or none ever will.
        if !matches!(room, Ok(0)) {
            self.reserved = None;
        }
        room
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}
