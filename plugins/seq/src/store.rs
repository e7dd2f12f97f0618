//! Sequences on disk: one file each, replaced whole. A file that cannot be read is that
//! file's trouble; it hides no other and is never overwritten by a default.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, ErrorKind, Read as _, Write as _},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    name::Name,
    sequence::{Digests, Sequence},
};

/// Of the files. A newer one is not guessed at.
const FORMAT: u64 = 1;
/// Far above what the largest document parses to.
const LARGEST: u64 = 8 << 20;
const ENDING: &str = ".json";
/// One writer at a time, so one name is enough; what a kill left is overwritten.
const TEMPORARY: &str = ".writing";

/// The folder of the sequences.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    folder: PathBuf,
}

/// A sequence with what is kept beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    format: u64,
    pub(crate) creator: Creator,
    /// The tools' implementations when it was made.
    pub(crate) digests: Digests,
    pub(crate) sequence: Sequence,
}

/// Who made it: the principal of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Creator {
    pub(crate) id: String,
    pub(crate) kind: String,
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stored {
    pub(crate) record: Record,
    /// `sha256:` and 64 digits, of the file.
    pub(crate) digest: String,
}

/// A file that is no sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Broken {
    pub(crate) file: String,
    pub(crate) error: String,
}

#[derive(Debug)]
pub(crate) enum StoreError {
    Absent,
    Broken(Broken),
    Io(io::Error),
}

impl Record {
    pub(crate) fn new(creator: Creator, digests: Digests, sequence: Sequence) -> Self {
        Self {
            format: FORMAT,
            creator,
            digests,
            sequence,
        }
    }
}

impl Store {
    pub(crate) fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    pub(crate) fn load(&self, name: &Name) -> Result<Stored, StoreError> {
        self.read(&file_of(name))
    }

    /// Whether there is something under this name, readable or not.
    pub(crate) fn holds(&self, name: &Name) -> bool {
        fs::symlink_metadata(self.folder.join(file_of(name))).is_ok()
    }

    /// Atomic: a kill at any moment leaves the old file or the new one.
    pub(crate) fn save(&self, record: &Record) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let text = serde_json::to_string(record).map_err(io::Error::other)?;
        let temporary = self.folder.join(TEMPORARY);
        let mut file = File::create(&temporary)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all());
        drop(file);
        if let Err(error) = written {
            // What was written takes room that others may need.
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        fs::rename(&temporary, self.folder.join(file_of(&record.sequence.name)))?;
        self.sync()
    }

    pub(crate) fn delete(&self, name: &Name) -> io::Result<()> {
        let path = self.folder.join(file_of(name));
        if fs::symlink_metadata(&path)?.is_dir() {
            fs::remove_dir(path)?;
        } else {
            fs::remove_file(path)?;
        }
        self.sync()
    }

    /// What `of` makes of all that can be read, by name, and all that cannot. One record at
    /// a time is in memory: all together may be more than a guest has.
    pub(crate) fn list<T>(&self, of: impl Fn(&Stored) -> T) -> io::Result<(Vec<T>, Vec<Broken>)> {
        let (mut stored, mut broken) = (BTreeMap::new(), Vec::new());
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), broken)),
            entries => entries?,
        };
        for entry in entries {
            let file = match entry {
                Ok(entry) => entry.file_name().to_string_lossy().into_owned(),
                Err(error) => {
                    broken.push(Broken {
                        file: "(unreadable)".into(),
                        error: error.to_string(),
                    });
                    continue;
                }
            };
            if !file.ends_with(ENDING) {
                continue;
            }
            match self.read(&file) {
                Ok(one) => {
                    let made = of(&one);
                    stored.insert(one.record.sequence.name, made);
                }
                Err(StoreError::Broken(one)) => broken.push(one),
                // It went while the folder was read.
                Err(StoreError::Absent) => {}
                Err(StoreError::Io(error)) => broken.push(Broken {
                    file,
                    error: error.to_string(),
                }),
            }
        }
        broken.sort_by(|a, b| a.file.cmp(&b.file));
        Ok((stored.into_values().collect(), broken))
    }

    fn read(&self, file: &str) -> Result<Stored, StoreError> {
        let path = self.folder.join(file);
        let broken = |error: String| {
            StoreError::Broken(Broken {
                file: file.to_owned(),
                error,
            })
        };
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(StoreError::Absent),
            Err(error) => return Err(StoreError::Io(error)),
            Ok(found) if found.is_dir() => return Err(broken("it is a folder".into())),
            Ok(found) if !found.is_file() => return Err(broken("it is no regular file".into())),
            Ok(found) if found.len() > LARGEST => {
                return Err(broken(format!(
                    "{} bytes are too many for a sequence",
                    found.len()
                )));
            }
            Ok(_) => {}
        }
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
            .map_err(StoreError::Io)?;
        let record = parse(&bytes).map_err(broken)?;
        if file_of(&record.sequence.name) != file {
            return Err(broken(format!(
                "it holds the sequence `{}`, whose file is {}",
                record.sequence.name,
                file_of(&record.sequence.name)
            )));
        }
        let digest = Sha256::digest(&bytes);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Stored {
            record,
            digest: format!("sha256:{hex}"),
        })
    }

    /// The rename itself is on disk then.
    fn sync(&self) -> io::Result<()> {
        match File::open(&self.folder).and_then(|folder| folder.sync_all()) {
            // Where folders cannot be synchronised, the rename is as safe as it gets.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Unsupported
                        | ErrorKind::InvalidInput
                        | ErrorKind::PermissionDenied
                        | ErrorKind::IsADirectory
                ) =>
            {
                Ok(())
            }
            result => result,
        }
    }
}

fn file_of(name: &Name) -> String {
    format!("{}{ENDING}", name.file_stem())
}

fn parse(bytes: &[u8]) -> Result<Record, String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    let value: Value = serde_json::from_str(text).map_err(|error| {
        format!(
            "it is no JSON from line {}, column {} on",
            error.line(),
            error.column()
        )
    })?;
    match value.get("format").and_then(Value::as_u64) {
        Some(FORMAT) => {}
        Some(newer) if newer > FORMAT => {
            return Err(format!(
                "its format {newer} is newer than this version of the plugin, which reads {FORMAT}"
            ));
        }
        _ => return Err(format!("it does not say that its format is {FORMAT}")),
    }
    serde_json::from_value(value)
        .map_err(|error| format!("it has not the shape of a sequence: {error}"))
}

#[cfg(test)]
mod tests;
