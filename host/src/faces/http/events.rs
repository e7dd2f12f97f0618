//! Events as they happen, for whoever comes back too: `Last-Event-ID` goes on behind the
//! last one that was read, and what is gone by then is counted.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode},
    response::{IntoResponse as _, Response, Sse, sse},
};
use futures_util::stream;
use jiff::Timestamp;
use serde_json::json as value;
use tokio::sync::watch;

use super::{Shared, caller::Caller, refusal::Refused};
use crate::dispatch::{Event, Numbered};

const LAST_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Events taken from the ring at once.
const PAGE: usize = 64;

/// How often a quiet stream shows that it lives, and whether its token still holds.
const PULSE: Duration = Duration::from_secs(2);

/// For the last events, when the host ends: they are there already, or lost.
const LAST: Duration = Duration::from_millis(500);

pub(super) async fn events(
    State(face): State<Shared>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let last = face.host.dispatcher().events().last();
    let (cursor, restarted) = match headers.get(LAST_ID) {
        None => (last, false),
        Some(id) => match id.to_str().ok().and_then(|text| place(text, &face.run)) {
            Some(Place::Here(cursor)) if cursor <= last => (cursor, false),
            Some(Place::ElsewhereInTime) => (0, true),
            _ => return Err(not_ours()),
        },
    };
    let mut reader = Reader {
        changed: face.ring.watch(),
        ready: VecDeque::new(),
        cursor,
        face,
        caller,
    };
    reader.open(restarted);
    let stream = stream::unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok::<_, Infallible>(event), reader))
    });
    Ok(Sse::new(stream).into_response())
}

/// Where a client had been.
enum Place {
    Here(u64),
    /// In another run of the host, whose events are gone.
    ElsewhereInTime,
}

/// Of an id that we gave: the run and the number.
fn place(id: &str, run: &str) -> Option<Place> {
    let (of, seq) = id.split_once('-')?;
    let seq = seq.parse().ok()?;
    let ours = of.len() == run.len() && of.chars().all(|c| c.is_ascii_hexdigit());
    match of == run {
        true => Some(Place::Here(seq)),
        false => ours.then_some(Place::ElsewhereInTime),
    }
}

fn not_ours() -> Refused {
    Refused::new(
        StatusCode::BAD_REQUEST,
        "malformed",
        "Last-Event-ID is no id that this host gave",
        "send the id of the last event as it was, or none",
    )
}

/// One client's place in the stream.
struct Reader {
    face: Shared,
    caller: Caller,
    changed: watch::Receiver<u64>,
    ready: VecDeque<sse::Event>,
    cursor: u64,
}

impl Reader {
    /// The first thing that a client reads: from here on it misses nothing unsaid.
    fn open(&mut self, restarted: bool) {
        if restarted {
            let what = value!({ "missed": null, "detail": "the host was restarted" });
            self.ready.push_back(self.said("missed", &what));
            // Of this run everything that is kept; older than that is said below.
        }
        let what = value!({ "seq": self.cursor, "principal": self.caller.principal.id() });
        self.ready.push_back(self.said("open", &what));
    }

    /// None: the stream ends, for the token does not hold any more or the host ends.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            // Nothing is shown to a token that was revoked meanwhile.
            if !self
                .face
                .tokens
                .still_holds(&self.caller.token, Timestamp::now())
            {
                return None;
            }
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            self.changed.mark_unchanged();
            self.fill();
            if !self.ready.is_empty() {
                continue;
            }
            let over = self.face.running.over().clone();
            if over.is_cancelled() {
                if self.is_late().await {
                    continue;
                }
                return None;
            }
            tokio::select! {
                changed = self.changed.changed() => changed.ok()?,
                () = over.cancelled() => {}
                () = tokio::time::sleep(PULSE) => {
                    let pulse = sse::Event::default().id(self.id(self.cursor)).comment("here");
                    return Some(pulse);
                }
            }
        }
    }

    /// At the end: whether something is left to show, once all events have come in.
    async fn is_late(&mut self) -> bool {
        let last = self.face.host.dispatcher().events().last();
        let arrived = self.changed.wait_for(|seen| *seen >= last);
        let _ = tokio::time::timeout(LAST, arrived).await;
        self.fill();
        !self.ready.is_empty()
    }

    fn fill(&mut self) {
        let (all, own) = (self.caller.is_user(), self.caller.principal.id());
        let wanted = |event: &Event| all || event.principal.as_deref() == Some(own);
        let page = self.face.ring.after(self.cursor, PAGE, wanted);
        if page.missed > 0 {
            // Its id is the one before the first event that is still there.
            let before = page
                .events
                .first()
                .map_or(page.cursor, |event| event.seq - 1);
            self.cursor = before;
            let what = value!({ "missed": page.missed });
            self.ready.push_back(self.said("missed", &what));
        }
        let events = page.events.iter().filter_map(|event| self.shown(event));
        let events: Vec<_> = events.collect();
        self.ready.extend(events);
        self.cursor = page.cursor;
    }

    fn shown(&self, event: &Arc<Numbered>) -> Option<sse::Event> {
        let kind = serde_json::to_value(event.event.kind).ok()?;
        let data = serde_json::to_string(&**event).ok()?;
        let shown = sse::Event::default()
            .id(self.id(event.seq))
            .event(kind.as_str()?)
            .data(data);
        Some(shown)
    }

    fn said(&self, kind: &str, what: &serde_json::Value) -> sse::Event {
        sse::Event::default()
            .id(self.id(self.cursor))
            .event(kind)
            .data(what.to_string())
    }

    fn id(&self, seq: u64) -> String {
        format!("{}-{seq}", self.face.run)
    }
}
