//! Which file is used, and its bytes. Reads; decides nothing about trust.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{
    FILE_NAME, Request,
    document::Document,
    environment::Environment,
    error::{ConfigError, Place},
};

/// Far more than any configuration; a larger file is another kind of file.
const LARGEST: u64 = 1 << 20;

/// How a file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Named by the operator.
    Named,
    /// In the working folder or above it: whoever wrote there may have written it.
    Upward,
    /// In the configuration folder of the user.
    User,
}

/// A file and how it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) how: How,
    pub(super) document: Document,
    /// The file after all links, and the entries by which it was reached: whoever can
    /// write one of these can change what is read next time.
    pub(super) places: Vec<PathBuf>,
}

/// The file to use, if there is one: as named, else upward, else the user's.
pub(super) fn find(
    request: &Request,
    environment: &Environment,
) -> Result<Option<Found>, ConfigError> {
    let named = request
        .explicit
        .clone()
        .or_else(|| environment.config.as_ref().map(PathBuf::from));
    if let Some(path) = named {
        return read(&request.start.join(path), How::Named).map(Some);
    }
    let user = request.dirs.config.join(FILE_NAME);
    let same = |path: &Path| match (path.canonicalize(), user.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    // What cannot be looked at may be there: better an error than another file.
    let there = |path: &Path| !matches!(path.try_exists(), Ok(false));
    let upward = request
        .start
        .ancestors()
        .map(|folder| folder.join(FILE_NAME))
        .find(|path| there(path));
    match upward {
        Some(path) if same(&path) => read(&path, How::User).map(Some),
        Some(path) => read(&path, How::Upward).map(Some),
        None if there(&user) => read(&user, How::User).map(Some),
        None => Ok(None),
    }
}

fn read(path: &Path, how: How) -> Result<Found, ConfigError> {
    let fail = |what: String, hint: &str| {
        ConfigError::new(
            what,
            Some(Place::File {
                path: path.to_owned(),
                at: None,
            }),
            hint,
        )
    };
    let meta = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => fail(
            "there is no such configuration file".into(),
            "`toolgate init` writes one",
        ),
        _ => fail(
            format!("the configuration file cannot be read: {error}"),
            "check its permissions",
        ),
    })?;
    // Opening a pipe would wait for its writer.
    if !meta.is_file() {
        return Err(fail(
            "the configuration is not a regular file".into(),
            "name a file",
        ));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            fail(
                format!("the configuration file cannot be read: {error}"),
                "check its permissions",
            )
        })?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LARGEST {
        return Err(fail(
            "the configuration file is larger than 1 MiB".into(),
            "is it the right file?",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        fail(
            format!(
                "the configuration file is not UTF-8, at byte {}",
                error.utf8_error().valid_up_to()
            ),
            "save it as UTF-8",
        )
    })?;
    // Resolved, so that trust and messages speak of one file by one name.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let entry = |path: &Path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    let mut places = vec![real.clone()];
    places.extend(path.ancestors().filter_map(entry));
    Ok(Found {
        how,
        places,
        document: Document::new(real, text),
    })
}
