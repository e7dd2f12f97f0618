//! What was heard and not yet acted on: when it may have settled.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use notify::{
    Event, EventKind,
    event::{AccessKind, AccessMode, ModifyKind},
};
use tokio::{
    sync::{Notify, futures::Notified},
    time::Instant,
};

use super::Places;

/// Quiet for so long: whoever saves has finished.
const QUIET: Duration = Duration::from_millis(100);

/// The same while a file that was written to is still open.
const QUIET_WHILE_OPEN: Duration = Duration::from_secs(2);

/// The same where files are only looked at: they have to look alike twice.
const QUIET_WHEN_POLLING: Duration = Duration::from_millis(1_200);

/// Where it never gets quiet, one looks all the same.
const LONGEST: Duration = Duration::from_secs(10);

/// Files that are remembered as open; more are another kind of trouble.
const OPEN: usize = 1_024;

/// Shared with the system's own thread.
#[derive(Debug, Default)]
pub(super) struct Pending {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    polling: bool,
    expected: Places,
    first: Option<Instant>,
    last: Option<Instant>,
    /// Written to, and not closed since.
    open: BTreeSet<PathBuf>,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of what lies elsewhere nothing is heard.
    pub(super) fn expect(&self, places: Places) {
        self.lock().expected = places;
    }

    /// Nothing is heard; somebody looks from time to time.
    pub(super) fn only_polled(&self) {
        self.lock().polling = true;
    }

    /// Something changed just now.
    pub(super) fn changed(&self) {
        self.lock().touch();
        self.wake.notify_one();
    }

    /// When to act, if nothing more is heard.
    pub(super) fn due(&self) -> Option<Instant> {
        let state = self.lock();
        let quiet = match (state.polling, state.open.is_empty()) {
            (true, _) => QUIET_WHEN_POLLING,
            (false, true) => QUIET,
            (false, false) => QUIET_WHILE_OPEN,
        };
        let (first, last) = (state.first?, state.last?);
        Some((last + quiet).min(first + LONGEST))
    }

    pub(super) fn clear(&self) {
        let mut state = self.lock();
        (state.first, state.last) = (None, None);
        state.open.clear();
    }

    /// Ends with the next change, or at once if there was one since the last.
    pub(super) fn woken(&self) -> Notified<'_> {
        self.wake.notified()
    }

    pub(super) fn hear(&self, event: Result<Event, notify::Error>) {
        let mut state = self.lock();
        match event {
            // Events were lost: anything may have changed.
            Ok(event) if event.need_rescan() => {
                tracing::debug!("events of the file system were lost; looking at everything");
                state.open.clear();
            }
            Ok(event) => {
                if !state.concerns(&event) {
                    return;
                }
                state.follow(&event);
            }
            Err(error) => tracing::warn!(%error, "while watching files; looking at everything"),
        }
        state.touch();
        drop(state);
        self.wake.notify_one();
    }
}

impl State {
    fn touch(&mut self) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    fn concerns(&self, event: &Event) -> bool {
        // Reading changes nothing; we read ourselves.
        let access = matches!(event.kind, EventKind::Access(kind)
            if kind != AccessKind::Close(AccessMode::Write));
        !access
            && (event.paths.is_empty()
                || event.paths.iter().any(|path| self.expected.contain(path)))
    }

    fn follow(&mut self, event: &Event) {
        let written = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)));
        for path in &event.paths {
            if !written {
                self.open.remove(path);
            } else if self.open.len() < OPEN {
                self.open.insert(path.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, Flag, MetadataKind};

    use super::*;
    use crate::watch::Interest;

    fn pending() -> Pending {
        let pending = Pending::default();
        let folder = std::env::temp_dir().canonicalize().unwrap();
        pending.expect(Places::of(&[Interest::Components(folder)]));
        pending
    }

    fn file(name: &str) -> PathBuf {
        std::env::temp_dir().canonicalize().unwrap().join(name)
    }

    fn event(kind: EventKind, name: &str) -> Result<Event, notify::Error> {
        Ok(Event::new(kind).add_path(file(name)))
    }

    #[test]
    fn reading_and_strange_files_are_nothing() {
        let pending = pending();
        let read = EventKind::Access(AccessKind::Open(AccessMode::Read));
        pending.hear(event(read, "a.wasm"));
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Read));
        pending.hear(event(closed, "a.wasm"));
        pending.hear(event(EventKind::Create(CreateKind::File), "a.txt"));
        assert_eq!(pending.due(), None);
        pending.hear(event(EventKind::Create(CreateKind::File), "a.wasm"));
        assert!(pending.due().is_some());
    }

    #[test]
    fn a_rescan_without_a_path_is_a_change() {
        let pending = pending();
        let rescan = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        pending.hear(Ok(rescan));
        assert!(pending.due().is_some());
    }

    #[test]
    fn an_error_is_a_change() {
        let pending = pending();
        pending.hear(Err(notify::Error::generic("lost")));
        assert!(pending.due().is_some());
    }

    #[test]
    fn a_file_that_is_open_for_writing_is_waited_for() {
        let pending = pending();
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        pending.hear(event(data, "a.wasm"));
        let open = pending.due().unwrap() - Instant::now();
        assert!(open > QUIET, "{open:?}");
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        pending.hear(event(closed, "a.wasm"));
        let closed = pending.due().unwrap() - Instant::now();
        assert!(closed <= QUIET, "{closed:?}");
        pending.clear();
        assert_eq!(pending.due(), None);
    }

    #[test]
    fn without_any_quiet_it_is_due_all_the_same() {
        let pending = pending();
        let touch = || {
            let kind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
            pending.hear(event(kind, "a.wasm"));
        };
        touch();
        let first = pending.lock().first.unwrap();
        pending.lock().first = Some(first - LONGEST);
        touch();
        assert!(pending.due().unwrap() <= Instant::now());
    }
}
