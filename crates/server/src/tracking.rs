//! CLIENT TRACKING: the core that owns a key knows which clients have read it, and tells each of
//! them once when it changes. A key that nobody has read costs nothing but a look; while nobody
//! tracks not even that.

mod mode;
mod table;

use crate::message::Sender;
use crate::node::Node;
use crate::users::Ticket;
use scurry_engine::KEY_LEN_MAX;
use scurry_resp::table::Spec;
use scurry_resp::{Args, Protocol, Reply};
use table::Table;

pub(crate) use mode::{Choice, Mode};

/// Keys that are tracked at most unless configured, of all cores together, as in Redis.
const KEYS_MAX: usize = 1_000_000;

/// A client that tracks, as far as cores that execute its requests need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tracker {
    sender: Sender,
    /// What the request reads is tracked.
    tracks: bool,
    /// It is not told what it has changed itself.
    noloop: bool,
}

/// What the clients of one core are told.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Everything was deleted, before all that follows changed.
    pub(crate) flushed: bool,
    /// Keys that have changed, each with those who have read it.
    pub(crate) keys: Vec<(Box<[u8]>, Vec<Ticket>)>,
}

/// How much is tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) keys: usize,
    /// Clients of keys.
    pub(crate) items: usize,
    /// Memory, bytes.
    pub(crate) bytes: u64,
}

/// One core's memory of who has read its keys.
#[derive(Debug)]
pub(crate) struct Tracking {
    /// Somebody tracks: asked once for every command.
    active: bool,
    table: Table,
    cores: u16,
    /// Of all cores together.
    keys_max: usize,
    /// What was not told yet, by core.
    news: Vec<News>,
}

impl Tracking {
    pub(crate) fn new(cores: u16) -> Tracking {
        Tracking {
            active: false,
            table: Table::default(),
            cores,
            keys_max: KEYS_MAX,
            news: (0..cores).map(|_| News::default()).collect(),
        }
    }

    /// True when commands have to be looked at.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    pub(crate) fn size(&self) -> Size {
        self.table.size()
    }

    /// Keys that are tracked at most, of all cores together.
    pub(crate) fn keys_max(&self) -> usize {
        self.keys_max
    }

    /// Changes it; what is too much is told and let go.
    pub(crate) fn set_keys_max(&mut self, keys_max: usize) {
        self.keys_max = keys_max;
        self.make_room(None, None);
    }

    /// Everything was deleted: every client that tracks is told, whatever it has read.
    fn flush(&mut self) {
        self.table.clear();
        for news in &mut self.news {
            news.flushed = true;
            news.keys.clear();
        }
    }

    /// What the clients of each core are to be told.
    pub(crate) fn take_news(&mut self) -> Vec<(u16, News)> {
        let has_some = |news: &News| news.flushed || !news.keys.is_empty();
        let cores = (0..self.cores).zip(&mut self.news).filter(|(_, news)| has_some(news));
        cores.map(|(core, news)| (core, std::mem::take(news))).collect()
    }

    /// Tells those who have read a key. `own` is where a client that has caused it is told.
    fn tell(
        &mut self,
        key: &[u8],
        readers: &[Sender],
        cause: Option<&Tracker>,
        mut own: Option<&mut Reply<'_>>,
    ) {
        for &reader in readers {
            if let Some(reply) = &mut own
                && cause.is_some_and(|cause| cause.sender == reader)
            {
                if reply.is_resp3() {
                    push(Some(key), reply);
                }
                continue;
            }
            let Some(news) = self.news.get_mut(usize::from(reader.core)) else { continue };
            let ticket = Ticket { key: reader.connection, client: reader.client };
            match news.keys.last_mut() {
                Some((last, tickets)) if **last == *key => tickets.push(ticket),
                _ => news.keys.push((key.into(), vec![ticket])),
            }
        }
    }

    /// Tells of keys and lets them go while there are too many.
    fn make_room(&mut self, cause: Option<&Tracker>, mut own: Option<&mut Reply<'_>>) {
        let keys_max = self.keys_max.div_ceil(usize::from(self.cores));
        while let Some((key, readers)) = self.table.take_beyond(keys_max) {
            self.tell(&key, &readers, cause, own.as_deref_mut());
        }
    }
}

impl Size {
    /// Adds that of another core.
    pub(crate) fn add(&mut self, other: Size) {
        self.keys += other.keys;
        self.items += other.items;
        self.bytes += other.bytes;
    }
}

impl Node {
    /// Somebody tracks who may read keys of this core.
    pub(crate) fn begin_tracking(&mut self) {
        self.tracking.active = true;
        self.shard.note_changes(true);
    }

    /// A turn ends: when nobody tracks any more, no key is tracked.
    pub(crate) fn end_tracking(&mut self) {
        if self.shared.trackers() == 0 {
            self.tracking.active = false;
            self.tracking.table.clear();
            self.shard.note_changes(false);
        }
    }

    /// A command on keys was executed: those who have read what it has changed are told, and what
    /// it has read is tracked.
    #[cold]
    pub(crate) fn track(
        &mut self,
        tracker: Option<&Tracker>,
        spec: &Spec,
        args: Args<'_>,
        mut own: Option<&mut Reply<'_>>,
    ) {
        self.tell_changes(tracker, own.as_deref_mut());
        let Some(tracker) = tracker.filter(|tracker| tracker.tracks) else { return };
        if !spec.flags.contains(&"readonly") {
            return;
        }
        for position in spec.key_positions(args.len()) {
            let key = args.at(position);
            // A longer one never holds anything.
            if key.len() <= KEY_LEN_MAX {
                self.tracking.table.add(key, tracker.sender);
            }
        }
        self.tracking.make_room(Some(tracker), own);
    }

    /// Tells those who have read what has changed.
    pub(crate) fn tell_changes(
        &mut self,
        cause: Option<&Tracker>,
        mut own: Option<&mut Reply<'_>>,
    ) {
        let Some(changed) = self.shard.take_changes() else { return };
        for key in changed.iter() {
            let Some(mut readers) = self.tracking.table.take(key) else { continue };
            if let Some(cause) = cause.filter(|cause| cause.noloop) {
                readers.retain(|&reader| reader != cause.sender);
            }
            self.tracking.tell(key, &readers, cause, own.as_deref_mut());
        }
        self.shard.reuse_changes(changed);
    }

    /// Everything was deleted.
    pub(crate) fn drop_tracked(&mut self) {
        if self.tracking.active || self.shared.trackers() > 0 {
            self.begin_tracking();
            self.tracking.flush();
        }
    }
}

/// What a client is told: a key has changed, or all of them.
fn push(key: Option<&[u8]>, reply: &mut Reply<'_>) {
    reply.push(2);
    reply.text("invalidate");
    match key {
        Some(key) => {
            reply.array(1);
            reply.bulk(key);
        }
        None => reply.null(),
    }
}

/// The same at the end of what waits for a client.
fn append_push(key: Option<&[u8]>, out: &mut Vec<u8>) {
    push(key, &mut Reply::new(out, Protocol::Resp3));
}
