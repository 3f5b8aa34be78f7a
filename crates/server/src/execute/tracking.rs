//! CLIENT TRACKING: the core that owns a key knows which clients have read it, and tells each of
//! them once when it changes. A key that nobody has read costs nothing but a look; while nobody
//! tracks not even that.

mod mode;
mod table;

use crate::mail::bundle::Tracker;
use crate::mail::message::News;
use crate::mail::report::Tracked;
use crate::ticket::Sender;
use crate::ticket::Ticket;
use scurry_resp::{Protocol, Reply};
use table::Table;

pub(crate) use mode::{Choice, Mode};

/// Keys that are tracked at most unless configured, of all cores together, as in Redis.
const KEYS_MAX: usize = 1_000_000;

/// One core's memory of who has read its keys.
#[derive(Debug)]
pub(crate) struct Tracking {
    /// Somebody tracks: asked once for every command.
    pub(crate) active: bool,
    pub(crate) table: Table,
    cores: u16,
    /// Of all cores together.
    keys_max: usize,
    /// News that were not told yet, by core.
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

    pub(crate) fn size(&self) -> Tracked {
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
    pub(crate) fn flush(&mut self) {
        self.table.clear();
        for news in &mut self.news {
            news.flushed = true;
            news.keys.clear();
        }
    }

    /// News for the clients of each core.
    pub(crate) fn take_news(&mut self) -> Vec<(u16, News)> {
        let has_some = |news: &News| news.flushed || !news.keys.is_empty();
        let cores = (0..self.cores).zip(&mut self.news).filter(|(_, news)| has_some(news));
        cores.map(|(core, news)| (core, std::mem::take(news))).collect()
    }

    /// Tells those who have read a key. `own` is where a client that has caused it is told.
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
            match news.keys.last_mut() {
                Some((last, tickets)) if **last == *key => tickets.push(ticket),
                _ => news.keys.push((key.into(), vec![ticket])),
            }
        }
    }

    /// Tells of keys and lets them go while there are too many.
    pub(crate) fn make_room(&mut self, cause: Option<&Tracker>, mut own: Option<&mut Reply<'_>>) {
        let keys_max = self.keys_max.div_ceil(usize::from(self.cores));
        while let Some((key, readers)) = self.table.take_beyond(keys_max) {
            self.tell(&key, &readers, cause, own.as_deref_mut());
        }
    }
}

/// A push to a client: a key has changed, or all of them.
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
