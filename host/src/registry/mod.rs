//! The shelf: which tools exist now, and how that changes. Readers hold an immutable
//! snapshot; nothing but the registry says what a name means.

mod catalog;
mod discover;
mod load;
mod native;
mod overlay;
mod plugin;
mod roster;
mod serial;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use catalog::{Catalog, Entry, Loaded};
pub use discover::{Origin, Source, Standard, discover};
pub use load::{Fresh, LoadError, Loader, LoaderParts, ReadError};
pub use native::{Layer, LayerError, NativeEntry};
pub use overlay::{Overlay, Shelf};
pub use plugin::{Plugin, PluginTool, Target};
pub use roster::{Change, Roster, Wanted};
pub use serial::SerialGuard;

/// The current catalog, swapped as a whole: a reader sees the old or the new one.
#[derive(Debug)]
pub struct Registry {
    current: ArcSwap<Catalog>,
}

impl Registry {
    /// Starts with this catalog.
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self {
            current: ArcSwap::from_pointee(catalog),
        }
    }

    /// From now on, this one.
    pub fn swap(&self, catalog: Catalog) {
        self.current.store(Arc::new(catalog));
    }

    /// The catalog as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Catalog> {
        self.current.load_full()
    }
}
