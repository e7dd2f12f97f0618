//! The WASI functions that change how much a file holds, for files of the private folder.
//! Between that folder and others nothing is renamed or linked: it would change its owner
//! behind the count.

use std::{fs::File as StdFile, io, path::Path, sync::Arc};

use cap_primitives::fs::{FollowSymlinks, Metadata, MetadataExt as _};
use wasmtime::{
    StoreContextMut,
    component::{Linker, Resource},
};
use wasmtime_wasi::{
    WasiView as _,
    filesystem::{Descriptor, WasiFilesystemCtxView, WasiFilesystemView as _},
    p2::{
        DynOutputStream, FsError,
        bindings::filesystem::{
            preopens::Host as _,
            types::{ErrorCode, Host as _, HostDescriptor as _, PathFlags},
        },
    },
};

use super::{Quota, Reserved, stream::Metered};
use crate::runtime::{
    guard::{TYPES, blocking, settled},
    state::CallState,
};

const PREOPENS: &str = "wasi:filesystem/preopens@0.2.12";

type Store<'a> = StoreContextMut<'a, CallState>;

pub(in crate::runtime) fn shadow(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut preopens = linker.instance(PREOPENS)?;
    preopens.func_wrap("get-directories", |mut store: Store<'_>, (): ()| {
        let found = view(&mut store).get_directories()?;
        // The private folder is opened last.
        if store.data().sandbox.quota.is_some()
            && let Some((fd, _)) = found.last()
            && let Descriptor::Dir(dir) = store.data_mut().ctx().table.get(fd)?
        {
            let dir = Arc::clone(&dir.dir);
            store.data_mut().private.add(&dir);
        }
        Ok((found,))
    })?;
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "filesystem-error-code",
        |mut store: Store<'_>, (error,): (Resource<wasmtime::Error>,)| {
            let said = store
                .data_mut()
                .ctx()
                .table
                .get(&error)?
                .downcast_ref::<io::Error>();
            if said.is_some_and(|error| error.kind() == io::ErrorKind::QuotaExceeded) {
                return Ok((Some(ErrorCode::Quota),));
            }
            Ok((view(&mut store).filesystem_error_code(error)?,))
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.write",
        |store: Store<'_>, (fd, bytes, offset): (Resource<Descriptor>, Vec<u8>, u64)| {
            Box::new(async move { Ok((settled(write(store, fd, bytes, offset).await)?,)) })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.set-size",
        |store: Store<'_>, (fd, size): (Resource<Descriptor>, u64)| {
            Box::new(async move { Ok((settled(set_size(store, fd, size).await)?,)) })
        },
    )?;
    types.func_wrap(
        "[method]descriptor.write-via-stream",
        |mut store: Store<'_>, (fd, offset): (Resource<Descriptor>, u64)| {
            let file = private_file(&mut store, &fd)?;
            let stream = view(&mut store).write_via_stream(fd, offset);
            Ok((settled(metered(&mut store, stream, file, Some(offset)))?,))
        },
    )?;
    types.func_wrap(
        "[method]descriptor.append-via-stream",
        |mut store: Store<'_>, (fd,): (Resource<Descriptor>,)| {
            let file = private_file(&mut store, &fd)?;
            let stream = view(&mut store).append_via_stream(fd);
            Ok((settled(metered(&mut store, stream, file, None))?,))
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.unlink-file-at",
        |store: Store<'_>, (fd, path): (Resource<Descriptor>, String)| {
            Box::new(async move { Ok((settled(unlink(store, fd, path).await)?,)) })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.rename-at",
        |store: Store<'_>,
         (fd, path, to, new): (Resource<Descriptor>, String, Resource<Descriptor>, String)| {
            Box::new(async move { Ok((settled(rename(store, fd, path, to, new).await)?,)) })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.link-at",
        |mut store: Store<'_>,
         (fd, flags, path, to, new): (
            Resource<Descriptor>,
            PathFlags,
            String,
            Resource<Descriptor>,
            String,
        )| {
            Box::new(async move {
                let outcome = if private_folder(&mut store, &fd)?.is_some()
                    == private_folder(&mut store, &to)?.is_some()
                {
                    view(&mut store).link_at(fd, flags, path, to, new).await
                } else {
                    Err(ErrorCode::CrossDevice.into())
                };
                Ok((settled(outcome)?,))
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn view<'a>(store: &'a mut Store<'_>) -> WasiFilesystemCtxView<'a> {
    store.data_mut().filesystem()
}

/// The open file and its quota, where it lies in the private folder.
fn private_file(
    store: &mut Store<'_>,
    fd: &Resource<Descriptor>,
) -> wasmtime::Result<Option<(Arc<StdFile>, Arc<Quota>)>> {
    let Some(quota) = store.data().sandbox.quota.clone() else {
        return Ok(None);
    };
    let file = match store.data_mut().ctx().table.get(fd)? {
        Descriptor::File(file) => Arc::clone(&file.file),
        Descriptor::Dir(_) => return Ok(None),
    };
    Ok(store.data().private.holds(&file).then_some((file, quota)))
}

/// The same for a folder.
fn private_folder(
    store: &mut Store<'_>,
    fd: &Resource<Descriptor>,
) -> wasmtime::Result<Option<(Arc<StdFile>, Arc<Quota>)>> {
    let Some(quota) = store.data().sandbox.quota.clone() else {
        return Ok(None);
    };
    let dir = match store.data_mut().ctx().table.get(fd)? {
        Descriptor::Dir(dir) => Arc::clone(&dir.dir),
        Descriptor::File(_) => return Ok(None),
    };
    Ok(store.data().private.holds(&dir).then_some((dir, quota)))
}

async fn write(
    mut store: Store<'_>,
    fd: Resource<Descriptor>,
    bytes: Vec<u8>,
    offset: u64,
) -> Result<u64, FsError> {
    let mut reserved = None;
    if let Some((file, quota)) = private_file(&mut store, &fd).map_err(FsError::trap)? {
        let end = offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        reserved = Some(grow(inline(&store), file, quota, end).await?);
    }
    let _held = reserved;
    view(&mut store).write(fd, bytes, offset).await
}

async fn set_size(
    mut store: Store<'_>,
    fd: Resource<Descriptor>,
    size: u64,
) -> Result<(), FsError> {
    let Some((file, quota)) = private_file(&mut store, &fd).map_err(FsError::trap)? else {
        return view(&mut store).set_size(fd, size).await;
    };
    let before = file.metadata()?.len();
    let _held = grow(inline(&store), file, Arc::clone(&quota), size).await?;
    view(&mut store).set_size(fd, size).await?;
    quota.release(before.saturating_sub(size));
    Ok(())
}

/// Takes room for a file that shall reach to `end`.
async fn grow(
    inline: bool,
    file: Arc<StdFile>,
    quota: Arc<Quota>,
    end: u64,
) -> Result<Reserved, FsError> {
    blocking(inline, move || {
        let size = file.metadata()?.len();
        let reserved = quota.reserve(end.saturating_sub(size))?;
        reserved.ok_or_else(|| ErrorCode::Quota.into())
    })
    .await
}

fn metered(
    store: &mut Store<'_>,
    stream: Result<Resource<DynOutputStream>, FsError>,
    file: Option<(Arc<StdFile>, Arc<Quota>)>,
    position: Option<u64>,
) -> Result<Resource<DynOutputStream>, FsError> {
    let stream = stream?;
    let Some((file, quota)) = file else {
        return Ok(stream);
    };
    // A C library knows no error of a stream but EIO: said here, `quota` reaches the guest.
    let size = file.metadata()?.len();
    if position.is_none_or(|position| position >= size) {
        if quota.reserve(1)?.is_none() {
            store.data_mut().ctx().table.delete(stream)?;
            return Err(ErrorCode::Quota.into());
        }
        quota.release(1);
    }
    let table = store.data_mut().ctx().table;
    let inner = table.delete(stream)?;
    let metered: DynOutputStream = Box::new(Metered {
        inner,
        file,
        quota,
        position,
        reserved: None,
    });
    Ok(table.push(metered)?)
}

async fn unlink(
    mut store: Store<'_>,
    fd: Resource<Descriptor>,
    path: String,
) -> Result<(), FsError> {
    let Some((dir, quota)) = private_folder(&mut store, &fd).map_err(FsError::trap)? else {
        return view(&mut store).unlink_file_at(fd, path).await;
    };
    let name = path.clone();
    let freed = blocking(inline(&store), move || Ok(size_of(&dir, &name, None))).await?;
    view(&mut store).unlink_file_at(fd, path).await?;
    quota.release(freed);
    Ok(())
}

async fn rename(
    mut store: Store<'_>,
    fd: Resource<Descriptor>,
    path: String,
    to: Resource<Descriptor>,
    new: String,
) -> Result<(), FsError> {
    let from = private_folder(&mut store, &fd).map_err(FsError::trap)?;
    let target = private_folder(&mut store, &to).map_err(FsError::trap)?;
    let ((old_dir, _), (new_dir, quota)) = match (from, target) {
        (None, None) => return view(&mut store).rename_at(fd, path, to, new).await,
        (Some(from), Some(target)) => (from, target),
        _ => return Err(ErrorCode::CrossDevice.into()),
    };
    let (old_name, new_name) = (path.clone(), new.clone());
    let freed = blocking(inline(&store), move || {
        let moved = stat(&old_dir, &old_name);
        Ok(size_of(&new_dir, &new_name, moved.as_ref()))
    })
    .await?;
    view(&mut store).rename_at(fd, path, to, new).await?;
    quota.release(freed);
    Ok(())
}

fn stat(dir: &StdFile, name: &str) -> Option<Metadata> {
    cap_primitives::fs::stat(dir, Path::new(name), FollowSymlinks::No).ok()
}

/// What goes with this name: nothing where the file has other names, or is `same`.
fn size_of(dir: &StdFile, name: &str, same: Option<&Metadata>) -> u64 {
    let is_same = |found: &Metadata| {
        same.is_some_and(|same| (same.dev(), same.ino()) == (found.dev(), found.ino()))
    };
    stat(dir, name)
        .filter(|found| found.is_file() && found.nlink() == 1 && !is_same(found))
        .map_or(0, |found| found.len())
}

fn inline(store: &Store<'_>) -> bool {
    store.data().sandbox.inline_io
}
