//! The last events of this host, kept for readers that come back. What has been pushed
//! out is counted for them, not passed over.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::dispatch::{Event, Numbered, Subscription};

/// Events, of about 300 bytes each.
const KEPT: usize = 4_096;

/// The last events. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Ring(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kept: usize,
    events: Mutex<VecDeque<Arc<Numbered>>>,
    /// The last number that came in.
    last: watch::Sender<u64>,
}

/// What a reader gets at once.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Events of anybody that are gone, before those below.
    pub(super) missed: u64,
    pub(super) events: Vec<Arc<Numbered>>,
    /// Where to go on.
    pub(super) cursor: u64,
}

impl Ring {
    /// Begins behind event `last`.
    pub(super) fn new(last: u64) -> Self {
        Self::keeping(KEPT, last)
    }

    fn keeping(kept: usize, last: u64) -> Self {
        Self(Arc::new(Inner {
            kept,
            events: Mutex::default(),
            last: watch::Sender::new(last),
        }))
    }

    /// Takes in all events, as long as there are any.
    pub(super) async fn record(self, mut events: Subscription) {
        // What this reader itself missed shows as a gap in the numbers.
        while let Some(event) = events.next().await {
            if let Ok(event) = event {
                self.push(event);
            }
        }
    }

    fn push(&self, event: Arc<Numbered>) {
        let seq = event.seq;
        let mut events = self.events();
        if events.len() == self.0.kept {
            events.pop_front();
        }
        events.push_back(event);
        drop(events);
        self.0.last.send_replace(seq);
    }

    /// Wakes when something has come in.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.0.last.subscribe()
    }

    /// At most `most` events behind `cursor`, of those that are `wanted`.
    pub(super) fn after(&self, cursor: u64, most: usize, wanted: impl Fn(&Event) -> bool) -> Page {
        let events = self.events();
        let mut page = Page {
            cursor,
            ..Page::default()
        };
        let from = events.partition_point(|event| event.seq <= cursor);
        for event in events.range(from..) {
            let gap = event.seq - page.cursor - 1;
            if gap > 0 {
                if !page.events.is_empty() {
                    break;
                }
                page.missed += gap;
            }
            page.cursor = event.seq;
            if wanted(&event.event) {
                page.events.push(Arc::clone(event));
                if page.events.len() == most {
                    break;
                }
            }
        }
        page
    }

    fn events(&self) -> MutexGuard<'_, VecDeque<Arc<Numbered>>> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
