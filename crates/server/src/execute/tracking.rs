//! CLIENT TRACKING: the core that owns a key knows which clients have read it, and notifies each of them once when it
//! changes. A key without readers costs only a check, and not even that while no client tracks.

mod mode;
mod table;

use crate::mail::bundle::Tracker;
use crate::mail::message::Invalidations;
use crate::mail::report::TrackedKeys;
use crate::ticket::Sender;
use crate::ticket::Ticket;
use scurry_resp::{Protocol, Reply};
use table::Table;

pub(crate) use mode::{Choice, Mode};

/// Default of the maximum number of tracked keys, of all cores together, as in Redis.
const KEYS_MAX: usize = 1_000_000;

/// One core's record of which clients have read its keys.
#[derive(Debug)]
pub(crate) struct Tracking {
    /// Whether any client tracks; checked once for every command.
    pub(crate) active: bool,
    pub(crate) table: Table,
    cores: u16,
    /// Maximum number of tracked keys, of all cores together.
    keys_max: usize,
    /// Invalidations that were not sent yet, by core.
    news: Vec<Invalidations>,
}

impl Tracking {
    pub(crate) fn new(cores: u16) -> Tracking {
        Tracking {
            active: false,
            table: Table::default(),
            cores,
            keys_max: KEYS_MAX,
            news: (0..cores).map(|_| Invalidations::default()).collect(),
        }
    }

    /// Reports whether commands have to be examined.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    pub(crate) fn size(&self) -> TrackedKeys {
        self.table.size()
    }

    /// Returns the maximum number of tracked keys, of all cores together.
    pub(crate) fn keys_max(&self) -> usize {
        self.keys_max
    }

    /// Changes the maximum. Surplus keys are invalidated and dropped.
    pub(crate) fn set_keys_max(&mut self, keys_max: usize) {
        self.keys_max = keys_max;
        self.make_room(None, None);
    }

    /// Drops all keys and notifies every tracking client, whatever it has read: everything was deleted.
    pub(crate) fn flush(&mut self) {
        self.table.clear();
        for news in &mut self.news {
            news.flushed = true;
            news.keys.clear();
        }
    }

    /// Takes the invalidations for the clients of each core.
    pub(crate) fn take_news(&mut self) -> Vec<(u16, Invalidations)> {
        let has_some = |news: &Invalidations| news.flushed || !news.keys.is_empty();
        let cores = (0..self.cores).zip(&mut self.news).filter(|(_, news)| has_some(news));
        cores.map(|(core, news)| (core, std::mem::take(news))).collect()
    }

    /// Notifies the readers of a key. `own` is the output to the client that caused the change.
    pub(crate) fn tell(
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
            // Readers of the same key on the same core share one entry.
            match news.keys.last_mut() {
                Some((last, tickets)) if **last == *key => tickets.push(ticket),
                _ => news.keys.push((key.into(), vec![ticket])),
            }
        }
    }

    /// Invalidates and drops keys while there are too many.
    pub(crate) fn make_room(&mut self, cause: Option<&Tracker>, mut own: Option<&mut Reply<'_>>) {
        let keys_max = self.keys_max.div_ceil(usize::from(self.cores));
        while let Some((key, readers)) = self.table.take_beyond(keys_max) {
            self.tell(&key, &readers, cause, own.as_deref_mut());
        }
    }
}

/// Writes a push to a client: one key has changed, or all of them.
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

/// Appends such a push to the output that waits for a client.
fn append_push(key: Option<&[u8]>, out: &mut Vec<u8>) {
    push(key, &mut Reply::new(out, Protocol::Resp3));
}
