//! What the host does for this plugin, as a trait: natively tested tools run over a
//! host made of `std::fs`.

use toolgate_sdk::files::{self, CopyOptions, FileError, ReplaceOptions, Root};

/// Rights are the host's to check; parents are always made.
pub(crate) trait Host {
    fn roots(&self) -> Vec<Root>;
    fn replace(&self, path: &str, data: &[u8], create_new: bool) -> Result<(), FileError>;
    fn copy(&self, source: &str, target: &str, overwrite: bool) -> Result<u64, FileError>;
}

/// The real one.
pub(crate) struct Sandbox;

impl Host for Sandbox {
    fn roots(&self) -> Vec<Root> {
        files::roots()
    }

    fn replace(&self, path: &str, data: &[u8], create_new: bool) -> Result<(), FileError> {
        let parents = true;
        files::replace(
            path,
            data,
            ReplaceOptions {
                create_new,
                parents,
            },
        )
    }

    fn copy(&self, source: &str, target: &str, overwrite: bool) -> Result<u64, FileError> {
        let parents = true;
        files::copy(source, target, CopyOptions { overwrite, parents })
    }
}
