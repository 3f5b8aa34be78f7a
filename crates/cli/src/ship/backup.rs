//! The events of a backup, or of any data directory: its files are read, and no server is asked.

use crate::store::{DataDirectory, Progress, core_name, sound_core};
use anyhow::{Context, Result, anyhow};
use scurry_disk::Directory;
use scurry_engine::{EventAt, EventFilter, EventReader, Stop};
use scurry_ledger::{Name, Time};
use scurry_server::{EventLog, missed_events};
use scurry_service::{
    Call, CallError, Event, Events, EventsCall, Follow, FollowFrom, Position, Refusal, Request,
    Service, StoreCall, StoreRead,
};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Bytes of events after which a read ends, as they are in memory.
const READ_LEN_ENOUGH: usize = 1 << 20;
/// Bytes that an event takes at least.
const EVENT_LEN: usize = 256;
/// Events of one read.
const EVENTS_MAX: u16 = 1_000;

/// How far back the log of a core reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// Whether it begins with the store.
    pub(crate) is_whole: bool,
    /// When the oldest frame was written. None if there is none.
    pub(crate) from: Option<Time>,
}

/// A store whose events are in files. It answers nothing else.
pub(crate) struct BackupEvents {
    cores: Vec<CoreEvents>,
}

/// The events of one core.
struct CoreEvents {
    log: EventLog,
    /// Sequence of the last record that cannot be lost.
    last: u64,
    reader: Mutex<EventReader<Directory>>,
}

impl BackupEvents {
    /// Opens a data directory, and checks its files.
    pub(crate) fn open(path: &Path) -> Result<BackupEvents> {
        let source = DataDirectory::open(path)?;
        let manifest = source.manifest()?;
        source.ensure_begun()?;
        let mut bar = Progress::new();
        let mut cores = Vec::new();
        for (core, (_, path)) in (0..).zip(source.cores()) {
            let (_, survey) = sound_core((&*path, source.least(core)?), &mut bar)
                .with_context(|| core_name(manifest.generation, core))?;
            let directory = Directory::open(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            cores.push(CoreEvents {
                log: EventLog {
                    store: manifest.store,
                    generation: manifest.generation_of_events(),
                    thread: core,
                },
                last: survey.committed(),
                reader: Mutex::new(EventReader::new(directory, manifest.log(core))),
            });
        }
        Ok(BackupEvents { cores })
    }

    /// Returns the random number that identifies the store.
    pub(crate) fn store(&self) -> u64 {
        self.cores.first().map_or(0, |core| core.log.store)
    }

    /// Returns the number of cores.
    pub(crate) fn threads(&self) -> u16 {
        u16::try_from(self.cores.len()).expect("the manifest has their number")
    }

    /// Returns how far back the log of a core reaches.
    pub(crate) fn kept(&self, thread: u16) -> Result<Kept> {
        let core = self.core(thread)?;
        let mut reader = core.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = reader.oldest()?.unwrap_or(core.last + 1);
        // In the first generation the log starts where the store started.
        let is_whole = core.log.generation == 1 && oldest == 1;
        Ok(Kept { is_whole, from: reader.kept_from(core.last)? })
    }

    /// Calls `see` with each event of a core that has one of these names, of all if there is none. Events before
    /// `since` may be skipped. Returns when the last frame was written.
    pub(crate) fn each(
        &self,
        thread: u16,
        since: Option<Time>,
        names: &[&'static str],
        see: &mut dyn FnMut(Event<'static>) -> Result<()>,
    ) -> Result<Option<Time>> {
        let core = self.core(thread)?;
        let from = match since {
            Some(time) => {
                let mut reader = core.reader.lock().unwrap_or_else(PoisonError::into_inner);
                FollowFrom::At(core.log.position(reader.since(time, core.last)?))
            }
            None => FollowFrom::Oldest(thread),
        };
        let mut follow = Follow { from, count: EVENTS_MAX, names: names.to_vec() };
        let mut last = None;
        loop {
            let (read, reached) = core.read(&follow).map_err(|error| anyhow!("{error}"))?;
            last = last.max(reached);
            read.events.into_iter().try_for_each(&mut *see)?;
            if read.next == read.end {
                return Ok(last);
            }
            follow.from = FollowFrom::At(read.next);
        }
    }

    fn core(&self, thread: u16) -> Result<&CoreEvents> {
        let core = self.cores.get(usize::from(thread));
        core.with_context(|| format!("there is no thread {thread}"))
    }
}

impl CoreEvents {
    /// Reads events as SCUR.WATCH does. Also returns when the last frame that was read was written.
    fn read(&self, follow: &Follow) -> Result<(Events, Option<Time>), CallError> {
        let names: Vec<Name> =
            follow.names.iter().filter_map(|name| Name::new(name.as_bytes())).collect();
        let end = EventAt::record(self.last + 1);
        let position = |at| self.log.position(at);
        let (from, asked) = match follow.from {
            FollowFrom::Oldest(_) => (EventAt::record(0), None),
            FollowFrom::Newest(_) => (end, None),
            FollowFrom::At(asked) if asked.generation < self.log.generation => {
                (EventAt::record(0), Some(asked))
            }
            FollowFrom::At(asked) => {
                let from = EventAt { sequence: asked.sequence, index: asked.index };
                if asked.generation > self.log.generation || from > end {
                    return Err(refused(format!(
                        "ERR the position {asked} is ahead of the events, which end at {}: take a later backup",
                        position(end)
                    )));
                }
                (from, Some(asked))
            }
        };
        let (mut events, mut len) = (Vec::new(), 0);
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = EventFilter { names: &names, ..EventFilter::default() };
        let read = reader.read(from, self.last, wanted, &mut |found| {
            let event = self.log.event(found).into_owned();
            len += EVENT_LEN + found.account.len();
            events.push(event);
            let is_enough = events.len() >= usize::from(follow.count) || len >= READ_LEN_ENOUGH;
            if is_enough { Stop::Enough } else { Stop::GoOn }
        });
        let read = read.map_err(|error| refused(format!("ERR events cannot be read: {error}")))?;
        if let (Some(to), Some(asked)) = (read.missed_to, asked) {
            events.insert(0, missed_events(asked, position(EventAt::record(to))));
        }
        let events = Events {
            store: self.log.store,
            events,
            next: position(read.next),
            oldest: position(EventAt::record(read.oldest)),
            end: position(end),
        };
        Ok((events, read.reached))
    }
}

impl Service for BackupEvents {
    fn call(&self, _: Request) -> Call<'_> {
        Box::pin(async { Err(only_events()) })
    }

    fn read_store(&self, _: StoreRead) -> StoreCall<'_> {
        Box::pin(async { Err(only_events()) })
    }

    fn follow(&self, follow: Follow) -> EventsCall<'_> {
        Box::pin(async move {
            let thread = match follow.from {
                FollowFrom::Oldest(thread) | FollowFrom::Newest(thread) => thread,
                FollowFrom::At(Position { thread, .. }) => thread,
            };
            match self.cores.get(usize::from(thread)) {
                Some(core) => core.read(&follow).map(|(events, _)| events),
                None => Err(refused(format!("ERR there is no thread {thread}"))),
            }
        })
    }
}

fn only_events() -> CallError {
    refused("ERR a backup answers no requests".to_owned())
}

fn refused(text: String) -> CallError {
    CallError::Refused(Refusal::Store(text))
}
