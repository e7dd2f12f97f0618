//! New content under an old or new name.

use std::io::Write;

use super::{FileError, locate::Place, temporary::Temporary};

pub(super) fn run(
    target: &Place<'_>,
    data: &[u8],
    create_new: bool,
    parents: bool,
) -> Result<(), FileError> {
    let entry = target.entry(!create_new, parents)?;
    Temporary::beside(&entry, entry.mode)
        .and_then(|mut new| {
            new.file().write_all(data)?;
            new.put(&entry.name, create_new)
        })
        .map_err(|error| target.failed(&error))
}
