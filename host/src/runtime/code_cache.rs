//! Compiled code on disk, keyed by content and engine settings. Native code is only ever
//! read from here, from an owner-only folder and after its digest was checked: a component
//! folder never holds any. Safe to delete at any time.

use std::{
    ffi::OsStr,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write as _},
    ops::Deref,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use wasmtime::Engine;

use crate::tool::Digest;

/// Counts changes of what is beside the engine's own hash: layout of the file.
const FORMAT: u32 = 2;
const DIGEST: usize = 32;

/// All kept code together. Beyond, what was used least lately goes.
const MOST: u64 = 1 << 30;

/// That a file was used is noted no more often than this.
const NOTED: Duration = Duration::from_secs(24 * 60 * 60);

/// A writer that takes longer was killed.
const WRITING: Duration = Duration::from_secs(60 * 60);

/// Compiled code, wherever it lies in what was read.
#[derive(Debug)]
pub(super) struct Code {
    bytes: Vec<u8>,
    begins: usize,
}

impl From<Vec<u8>> for Code {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, begins: 0 }
    }
}

impl Deref for Code {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.begins..).unwrap_or_default()
    }
}

/// A folder of compiled code, or none.
#[derive(Debug, Clone, Default)]
pub struct CodeCache {
    folder: Option<PathBuf>,
}

impl CodeCache {
    /// In this folder, made on demand with mode 0700.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
        }
    }

    /// The code of this component for engines like this one, if it is there and whole.
    pub(super) fn get(&self, component: Digest, engine: &Engine) -> Option<Code> {
        let file = self.file(component, engine)?;
        let bytes = fs::read(&file).ok()?;
        let (digest, code) = bytes.split_at_checked(DIGEST)?;
        // Against damage, and fast: whoever can write here can write the digest, too.
        if blake3::hash(code).as_bytes() != digest {
            tracing::warn!(file = %file.display(), "damaged compiled code: compiling anew");
            // Best effort: the next put replaces it in any case.
            let _ = fs::remove_file(&file);
            return None;
        }
        note_use(&file);
        Some(Code {
            bytes,
            begins: DIGEST,
        })
    }

    /// Keeps code. A cache that cannot be written costs time, never a call.
    pub(super) fn put(&self, component: Digest, engine: &Engine, code: &[u8]) {
        let (Some(folder), Some(file)) = (&self.folder, self.file(component, engine)) else {
            return;
        };
        if let Err(error) = write(folder, &file, code) {
            tracing::warn!(%error, file = %file.display(), "cannot keep compiled code");
        }
        if let Err(error) = prune(folder, MOST) {
            tracing::warn!(%error, folder = %folder.display(), "cannot tidy compiled code");
        }
    }

    fn file(&self, component: Digest, engine: &Engine) -> Option<PathBuf> {
        let mut hasher = DefaultHasher::new();
        FORMAT.hash(&mut hasher);
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let name = format!("{}-{:016x}.cwasm", component.hex(), hasher.finish());
        Some(self.folder.as_ref()?.join(name))
    }
}

/// Best effort: a file that looks unused longer than it is goes a little earlier.
fn note_use(path: &Path) {
    let now = SystemTime::now();
    let old = |modified| now.duration_since(modified).is_ok_and(|age| age > NOTED);
    if fs::metadata(path)
        .and_then(|meta| meta.modified())
        .is_ok_and(old)
        && let Ok(file) = fs::File::options().append(true).open(path)
    {
        let _ = file.set_modified(now);
    }
}

/// Keeps `most` bytes, and nothing that a killed writer left.
fn prune(folder: &Path, most: u64) -> io::Result<()> {
    let now = SystemTime::now();
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // Another host may be tidying, too.
        let Ok(meta) = fs::metadata(&path) else {
            continue;
        };
        let modified = meta.modified()?;
        match path.extension().and_then(OsStr::to_str) {
            Some("cwasm") => kept.push((modified, meta.len(), path)),
            Some("tmp") if now.duration_since(modified).is_ok_and(|age| age > WRITING) => {
                let _ = fs::remove_file(path);
            }
            _ => {}
        }
    }
    kept.sort();
    let mut size: u64 = kept.iter().map(|(_, size, _)| size).sum();
    // The latest stays, however large.
    kept.pop();
    for (_, bytes, path) in kept {
        if size <= most {
            break;
        }
        let _ = fs::remove_file(path);
        size -= bytes;
    }
    Ok(())
}

/// Under a name of its own, then renamed: a reader sees the whole file or none.
fn write(folder: &Path, file: &Path, code: &[u8]) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let temporary = folder.join(format!(".{:016x}.tmp", u64::from_ne_bytes(random)));
    let written = (|| {
        let mut out = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        out.write_all(blake3::hash(code).as_bytes())?;
        out.write_all(code)?;
        out.sync_all()?;
        fs::rename(&temporary, file)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_comes_back_and_a_flipped_bit_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::at(folder.path().join("code"));
        let engine = Engine::default();
        let component = Digest::of(b"component");
        assert!(cache.get(component, &engine).is_none());
        cache.put(component, &engine, b"native code");
        assert_eq!(
            cache.get(component, &engine).as_deref(),
            Some(&b"native code"[..])
        );

        let file = cache.file(component, &engine).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, bytes).unwrap();
        assert!(cache.get(component, &engine).is_none());
        assert!(!file.exists());
    }

    #[test]
    fn what_was_used_least_lately_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, age: u64| {
            let path = folder.path().join(name);
            fs::write(&path, [0; 100]).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
        };
        put("old.cwasm", 3_000_000);
        put("used.cwasm", 4_000_000);
        put("new.cwasm", 10);
        put(".left.tmp", 10_000);
        put(".now.tmp", 0);
        put("foreign", 9_000_000);
        note_use(&folder.path().join("used.cwasm"));
        prune(folder.path(), 250).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".now.tmp", "foreign", "new.cwasm", "used.cwasm"]);
        prune(folder.path(), 0).unwrap();
        assert!(
            folder.path().join("used.cwasm").exists(),
            "the latest stays"
        );
    }

    #[test]
    fn every_cut_length_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::at(folder.path().to_owned());
        let engine = Engine::default();
        let component = Digest::of(b"x");
        cache.put(component, &engine, b"native code");
        let file = cache.file(component, &engine).unwrap();
        let whole = fs::read(&file).unwrap();
        for cut in 0..whole.len() {
            fs::write(&file, &whole[..cut]).unwrap();
            assert!(cache.get(component, &engine).is_none(), "cut at {cut}");
        }
    }
}
