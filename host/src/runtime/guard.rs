//! Shadows the WASI functions that open arbitrary files, for every plugin. Opening a FIFO
//! never returns, and a thread that hangs there is lost to the host; a device is read as
//! if it were data. So: only regular files and folders, opened without blocking.
//!
//! `open-at` and `set-times-at` (which opens its file when it follows a link) are the two
//! that open. `symlink-at` refuses targets outside the folder: harmless to the guest's own
//! walls, but a trap for other programs that follow the link later.

use std::{
    fs::File as StdFile,
    io,
    path::{Component, Path},
    sync::Arc,
    time::SystemTime,
};

use cap_primitives::fs::{
    FileTypeExt as _, FollowSymlinks, Metadata, OpenOptions, OpenOptionsExt as _,
};
use rustix::fs::OFlags;
use wasmtime::{
    StoreContextMut,
    component::{Linker, Resource},
};
use wasmtime_wasi::{
    WasiView as _,
    filesystem::{Descriptor, Dir, File, FsPerms, OpenMode},
    p2::{
        FsError,
        bindings::filesystem::types::{
            DescriptorFlags, ErrorCode, HostDescriptor as _, NewTimestamp, OpenFlags, PathFlags,
        },
    },
};

use super::state::CallState;

/// The interface that the linker of this wasmtime-wasi defines. Components that ask for an
/// older 0.2 are served by it; a test fails if the shadow no longer takes effect.
pub(super) const TYPES: &str = "wasi:filesystem/types@0.2.12";

pub(super) fn shadow(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap_async(
        "[method]descriptor.open-at",
        |store: StoreContextMut<'_, CallState>,
         (fd, follow, path, how, flags): (
            Resource<Descriptor>,
            PathFlags,
            String,
            OpenFlags,
            DescriptorFlags,
        )| {
            Box::new(
                async move { Ok((settled(open_at(store, fd, follow, path, how, flags).await)?,)) },
            )
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.set-times-at",
        |store: StoreContextMut<'_, CallState>,
         (fd, follow, path, accessed, modified): (
            Resource<Descriptor>,
            PathFlags,
            String,
            NewTimestamp,
            NewTimestamp,
        )| {
            Box::new(async move {
                Ok((settled(
                    set_times_at(store, fd, follow, path, accessed, modified).await,
                )?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.symlink-at",
        |mut store: StoreContextMut<'_, CallState>,
         (fd, target, link): (Resource<Descriptor>, String, String)| {
            Box::new(async move {
                let outcome = if stays_inside(&link, &target) {
                    let mut view =
                        wasmtime_wasi::filesystem::WasiFilesystemView::filesystem(store.data_mut());
                    view.symlink_at(fd, target, link).await
                } else {
                    Err(ErrorCode::NotPermitted.into())
                };
                Ok((settled(outcome)?,))
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// What the guest can handle becomes its error value; the rest traps.
pub(super) fn settled<T>(outcome: Result<T, FsError>) -> wasmtime::Result<Result<T, ErrorCode>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}

fn folder(
    store: &mut StoreContextMut<'_, CallState>,
    fd: &Resource<Descriptor>,
) -> Result<Dir, FsError> {
    match store.data_mut().ctx().table.get(fd)? {
        Descriptor::Dir(dir) => Ok(dir.clone()),
        Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
    }
}

fn inline(store: &StoreContextMut<'_, CallState>) -> bool {
    store.data().sandbox.inline_io
}

async fn open_at(
    mut store: StoreContextMut<'_, CallState>,
    fd: Resource<Descriptor>,
    follow: PathFlags,
    path: String,
    how: OpenFlags,
    flags: DescriptorFlags,
) -> Result<Resource<Descriptor>, FsError> {
    let dir = folder(&mut store, &fd)?;
    let want = Want::new(follow, how, flags)?;
    if dir.perms == FsPerms::ReadOnly && want.mode.contains(OpenMode::WRITE) {
        return Err(ErrorCode::NotPermitted.into());
    }
    let inline = inline(&store);
    let (perms, mode) = (dir.perms, want.mode);
    let start = Arc::clone(&dir.dir);
    let opened = blocking(inline, move || want.open(&start, Path::new(&path))).await?;
    let quota = store.data().sandbox.quota.clone();
    let quota = quota.filter(|_| store.data().private.holds(&dir.dir));
    let (descriptor, handle) = match opened {
        Opened::Dir(file) => {
            let dir = Dir::new(file, perms, mode, inline);
            let handle = Arc::clone(&dir.dir);
            (Descriptor::Dir(dir), handle)
        }
        Opened::File(file, truncated) => {
            if let Some(quota) = &quota {
                quota.release(truncated);
            }
            let file = File::new(file, perms, mode, inline);
            let handle = Arc::clone(&file.file);
            (Descriptor::File(file), handle)
        }
        Opened::Special => return Err(ErrorCode::Unsupported.into()),
        Opened::NotDir => return Err(ErrorCode::NotDirectory.into()),
    };
    if quota.is_some() {
        store.data_mut().private.add(&handle);
    }
    Ok(store.data_mut().ctx().table.push(descriptor)?)
}

async fn set_times_at(
    mut store: StoreContextMut<'_, CallState>,
    fd: Resource<Descriptor>,
    follow: PathFlags,
    path: String,
    accessed: NewTimestamp,
    modified: NewTimestamp,
) -> Result<(), FsError> {
    if !follow.contains(PathFlags::SYMLINK_FOLLOW) {
        // Changes the link itself and opens nothing.
        let mut view = wasmtime_wasi::filesystem::WasiFilesystemView::filesystem(store.data_mut());
        return view
            .set_times_at(fd, follow, path, accessed, modified)
            .await;
    }
    let dir = folder(&mut store, &fd)?;
    if dir.perms == FsPerms::ReadOnly {
        return Err(ErrorCode::NotPermitted.into());
    }
    let mut times = std::fs::FileTimes::new();
    if let Some(time) = instant(accessed)? {
        times = times.set_accessed(time);
    }
    if let Some(time) = instant(modified)? {
        times = times.set_modified(time);
    }
    let want = Want::new(follow, OpenFlags::empty(), DescriptorFlags::READ)?;
    let start = Arc::clone(&dir.dir);
    blocking(inline(&store), move || {
        match want.open(&start, Path::new(&path))? {
            Opened::Dir(file) | Opened::File(file, _) => {
                file.set_times(times).map_err(FsError::from)
            }
            Opened::Special | Opened::NotDir => Err(ErrorCode::Unsupported.into()),
        }
    })
    .await
}

fn instant(time: NewTimestamp) -> Result<Option<SystemTime>, FsError> {
    match time {
        NewTimestamp::NoChange => Ok(None),
        NewTimestamp::Now => Ok(Some(SystemTime::now())),
        NewTimestamp::Timestamp(at) => SystemTime::UNIX_EPOCH
            .checked_add(std::time::Duration::new(
                at.seconds,
                at.nanoseconds.min(999_999_999),
            ))
            .map(Some)
            .ok_or_else(|| ErrorCode::Overflow.into()),
    }
}

pub(super) async fn blocking<T: Send + 'static>(
    inline: bool,
    work: impl FnOnce() -> Result<T, FsError> + Send + 'static,
) -> Result<T, FsError> {
    if inline {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(ErrorCode::Io.into()),
    }
}

enum Opened {
    Dir(StdFile),
    /// With the bytes that opening cut off.
    File(StdFile, u64),
    Special,
    NotDir,
}

/// What the guest asked for, in the words of the operating system.
struct Want {
    options: OpenOptions,
    mode: OpenMode,
    directory: bool,
    truncate: bool,
    follow: FollowSymlinks,
}

impl Want {
    fn new(follow: PathFlags, how: OpenFlags, flags: DescriptorFlags) -> Result<Self, FsError> {
        let sync = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(sync) {
            return Err(ErrorCode::Unsupported.into());
        }
        let directory = how.contains(OpenFlags::DIRECTORY);
        if directory
            && how.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE)
        {
            return Err(ErrorCode::Invalid.into());
        }
        let create = how.contains(OpenFlags::CREATE);
        let truncate = how.contains(OpenFlags::TRUNCATE);
        let write = flags.contains(DescriptorFlags::WRITE) || create || truncate;
        // Opened for reading at least, as the system demands one of the two.
        let read = flags.contains(DescriptorFlags::READ) || !flags.contains(DescriptorFlags::WRITE);
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::READ, read);
        mode.set(OpenMode::WRITE, write);

        let follow = if follow.contains(PathFlags::SYMLINK_FOLLOW) {
            FollowSymlinks::Yes
        } else {
            FollowSymlinks::No
        };
        let mut options = OpenOptions::new();
        options
            .read(read)
            .write(write)
            .truncate(truncate)
            .create(create && !how.contains(OpenFlags::EXCLUSIVE))
            .create_new(create && how.contains(OpenFlags::EXCLUSIVE))
            ._cap_fs_ext_follow(follow)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        Ok(Self {
            options,
            mode,
            directory,
            truncate,
            follow,
        })
    }

    fn open(&self, start: &StdFile, path: &Path) -> Result<Opened, FsError> {
        // Looked at first, since opening alone can start a device.
        let truncated = match cap_primitives::fs::stat(start, path, self.follow) {
            Ok(found) if is_special(&found) => return Ok(Opened::Special),
            Ok(found) if self.truncate => found.len(),
            Ok(_) => 0,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error.into()),
        };
        let file = cap_primitives::fs::open(start, path, &self.options)?;
        // Looked at again, since another file may have come in between.
        let found = Metadata::from_file(&file)?;
        if found.is_dir() {
            return Ok(Opened::Dir(file));
        }
        if !found.is_file() {
            return Ok(Opened::Special);
        }
        if self.directory {
            return Ok(Opened::NotDir);
        }
        let flags = rustix::fs::fcntl_getfl(&file).map_err(io::Error::from)?;
        rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(io::Error::from)?;
        Ok(Opened::File(file, truncated))
    }
}

fn is_special(found: &Metadata) -> bool {
    let kind = found.file_type();
    kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device()
}

/// Whether a link at `link` (relative to its folder) with this target stays in the folder.
fn stays_inside(link: &str, target: &str) -> bool {
    let mut depth: i64 = 0;
    let parent = Path::new(link).parent().unwrap_or(Path::new(""));
    for part in parent.components().chain(Path::new(target).components()) {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
        }
        if depth < 0 {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::stays_inside;

    #[test]
    fn links_stay_inside() {
        assert!(stays_inside("a", "b"));
        assert!(stays_inside("sub/a", "../b"));
        assert!(!stays_inside("a", "../b"));
        assert!(!stays_inside("sub/a", "../../b"));
        assert!(!stays_inside("a", "/etc/passwd"));
        assert!(!stays_inside("a", "b/../../c"));
    }
}
