//! For the native tests: granted folders made of `std::fs` in a temporary folder.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use toolgate_sdk::{
    ToolError,
    files::{ErrorCode, FileError, Root},
};

use crate::{host::Host, place::Folders};

/// `w` is the writable first folder, `ro` a read-only one; `out` is not granted.
pub(crate) struct Tree {
    top: TempDir,
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self {
            top: TempDir::new().unwrap(),
        };
        for folder in ["w", "ro", "out"] {
            fs::create_dir(tree.at(folder)).unwrap();
        }
        tree.put("out/secret", "secret");
        for (path, text) in files {
            tree.put(path, text);
        }
        tree
    }

    pub(crate) fn folders(&self) -> Folders<'_> {
        Folders::of(self)
    }

    /// Relative to the top: `w/a`.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    /// The same as text.
    pub(crate) fn text_at(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().to_owned()
    }

    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn link(&self, target: &str, path: &str) {
        symlink(target, self.at(path)).unwrap();
    }

    pub(crate) fn fifo(&self, path: &str) {
        let made = std::process::Command::new("mkfifo")
            .arg(self.at(path))
            .status()
            .unwrap();
        assert!(made.success());
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.at(path)).unwrap()
    }

    /// Every path and content, to see that nothing changed.
    pub(crate) fn all(&self) -> Vec<(String, Vec<u8>)> {
        fn walk(dir: &Path, into: &mut Vec<(String, Vec<u8>)>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let found = fs::symlink_metadata(&path).unwrap();
                let content = if found.is_file() {
                    fs::read(&path).unwrap()
                } else {
                    Vec::new()
                };
                into.push((path.display().to_string(), content));
                if found.is_dir() {
                    walk(&path, into);
                }
            }
        }
        let mut all = Vec::new();
        walk(self.top.path(), &mut all);
        all.sort();
        all
    }
}

impl Host for Tree {
    fn roots(&self) -> Vec<Root> {
        let root = |name, writable| Root {
            path: self.text_at(name),
            writable,
        };
        vec![root("w", true), root("ro", false)]
    }

    fn replace(&self, path: &str, data: &[u8], create_new: bool) -> Result<(), FileError> {
        if create_new && fs::symlink_metadata(path).is_ok() {
            return Err(FileError {
                code: ErrorCode::Exists,
                detail: path.into(),
            });
        }
        fs::create_dir_all(Path::new(path).parent().unwrap())
            .and_then(|()| fs::write(path, data))
            .map_err(other)
    }

    fn copy(&self, source: &str, target: &str, _: bool) -> Result<u64, FileError> {
        fs::create_dir_all(Path::new(target).parent().unwrap())
            .and_then(|()| fs::copy(source, target))
            .map_err(other)
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` takes"
)]
fn other(error: io::Error) -> FileError {
    FileError {
        code: ErrorCode::Other,
        detail: error.to_string(),
    }
}

/// The error of a refused call, whose reason is as expected.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, ToolError>, reason: &str) -> ToolError {
    let error = result.unwrap_err();
    assert_eq!(error.reason, reason, "{error:?}");
    assert!(
        error.field.is_some(),
        "an error names the argument: {error:?}"
    );
    error
}
