//! Reads the events of all threads of a store, ahead of the sink by a few batches.

use crate::{Positions, StoreId};
use scurry_service::{CallError, EventId, Events, Follow, FollowFrom, Position, Refusal, Service};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// Most events of one read.
const COUNT: u16 = 1_000;
/// Reads that wait for the sink: what it takes next is there, and memory is bounded.
const READS_AHEAD: usize = 4;
/// Pause when no thread has more events.
const POLL: Duration = Duration::from_millis(20);

/// Where reading begins if the sink has nothing yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// At the oldest event that the store keeps.
    #[default]
    Oldest,
    /// At the events from now on.
    Newest,
}

/// What the reader tells.
#[derive(Debug)]
pub(crate) enum News {
    /// Events of a thread, perhaps none.
    Read(Events),
    /// Every thread was read to its end.
    AtEnd,
    /// The store cannot be read on.
    Failed(CallError),
}

/// Asks a store which it is, and returns its id.
pub(crate) async fn identify(store: &dyn Service) -> Result<StoreId, CallError> {
    store.follow(read(FollowFrom::Newest(0), &[])).await.map(|events| StoreId(events.store))
}

/// Returns where the events of each thread of a store end.
pub(crate) async fn ends(store: &dyn Service, id: StoreId) -> Result<Positions, CallError> {
    let mut ends = Positions::none(id);
    for thread in 0.. {
        match store.follow(read(FollowFrom::Newest(thread), &[])).await {
            Ok(events) => ends.set(events.end),
            // There is no thread with this number.
            Err(CallError::Refused(_)) if thread > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(ends)
}

/// A thread that reads events. Dropping it ends the thread.
pub(crate) struct Reader {
    news: Option<Receiver<News>>,
    ends: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Returns what the thread tells.
    pub(crate) fn news(&self) -> &Receiver<News> {
        self.news.as_ref().expect("it is there until the reader is dropped")
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The thread may wait for the store or for the receiver.
        (self.news, self.ends) = (None, None);
        if let Some(thread) = self.thread.take() {
            // Its panic was shown when it happened.
            let _ = thread.join();
        }
    }
}

/// Starts a thread that reads events from these positions on.
pub(crate) fn start(
    runtime: Handle,
    store: Arc<dyn Service>,
    positions: Positions,
    begin: Begin,
    names: Vec<&'static str>,
) -> io::Result<Reader> {
    let (tell, news) = sync_channel(READS_AHEAD);
    let (ends, ended) = oneshot::channel::<()>();
    let thread = thread::Builder::new().name("events".to_owned()).spawn(move || {
        let reading = read_on(&*store, &positions, begin, &names, &tell);
        let outcome = runtime.block_on(async {
            tokio::select! {
                outcome = reading => outcome,
                _ = ended => Ok(()),
            }
        });
        if let Err(error) = outcome {
            // The receiver may have gone meanwhile.
            let _ = tell.send(News::Failed(error));
        }
    })?;
    Ok(Reader { news: Some(news), ends: Some(ends), thread: Some(thread) })
}

fn read(from: FollowFrom, names: &[&'static str]) -> Follow {
    Follow { from, count: COUNT, names: names.to_vec() }
}

async fn read_on(
    store: &dyn Service,
    positions: &Positions,
    begin: Begin,
    names: &[&'static str],
    tell: &SyncSender<News>,
) -> Result<(), CallError> {
    let mut places = Vec::new();
    for thread in 0.. {
        let from = match (positions.next(thread), begin) {
            (Some(next), _) => FollowFrom::At(next),
            (None, Begin::Oldest) => FollowFrom::Oldest(thread),
            (None, Begin::Newest) => FollowFrom::Newest(thread),
        };
        match store.follow(read(from, names)).await {
            Ok(events) => {
                places.push(events.next);
                if tell.send(News::Read(events)).is_err() {
                    return Ok(());
                }
            }
            // There is no thread with this number.
            Err(CallError::Refused(_)) if thread > 0 && !matches!(from, FollowFrom::At(_)) => break,
            Err(CallError::Refused(refusal)) if thread > 0 && is_no_thread(&refusal) => break,
            Err(error) => return Err(error),
        }
    }
    // The store had more threads when these positions were reached: their logs are no longer kept.
    for gone in positions.iter().filter(|position| usize::from(position.thread) >= places.len()) {
        if tell.send(News::Read(missed_thread(positions.store(), gone, places[0]))).is_err() {
            return Ok(());
        }
    }
    loop {
        let mut has_more = false;
        for place in &mut places {
            let events = store.follow(read(FollowFrom::At(*place), names)).await?;
            has_more |= events.next != events.end;
            let has_moved = events.next != *place || !events.events.is_empty();
            *place = events.next;
            if has_moved && tell.send(News::Read(events)).is_err() {
                return Ok(());
            }
        }
        if !has_more {
            if tell.send(News::AtEnd).is_err() {
                return Ok(());
            }
            sleep(POLL).await;
        }
    }
}

fn is_no_thread(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Store(text) if text.starts_with("ERR there is no thread"))
}

/// Returns what a reader is told of a thread that the store no longer has.
fn missed_thread(store: StoreId, from: Position, to: Position) -> Events {
    let id = EventId::Missed { from, to };
    let missed =
        scurry_service::Event { id, commit: None, name: "missed".into(), fields: Vec::new() };
    Events { store: store.0, events: vec![missed], next: to, oldest: to, end: to }
}
