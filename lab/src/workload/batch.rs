//! Writes of several keys in one request (MSET).

use crate::names::{STAMP_LEN, key_text};
use crate::resp::Template;

/// Batches of all sessions, each with at most one in flight.
#[derive(Debug)]
pub(super) struct Batches {
    head: Vec<u8>,
    pair: Template,
    size: u32,
    has_stamp: bool,
    keys: Vec<Vec<u32>>,
}

impl Batches {
    /// Builds the templates of the request.
    pub(super) fn new(value_size: usize, size: u32, sessions: u32) -> Batches {
        let has_stamp = value_size >= STAMP_LEN;
        let pair = [key_text(0).to_vec(), vec![b'x'; value_size]];
        Batches {
            head: format!("*{}\r\n$4\r\nMSET\r\n", 1 + 2 * u64::from(size)).into_bytes(),
            pair: Template::part(&pair, 0, has_stamp.then_some(1)),
            size,
            has_stamp,
            keys: vec![Vec::with_capacity(size as usize); sessions as usize],
        }
    }

    /// Returns the number of keys of one batch.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// Begins the batch of a session.
    pub(super) fn begin(&mut self, session: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        self.keys[session as usize].clear();
    }

    /// Appends one key to the current batch.
    #[inline]
    pub(super) fn append(&mut self, session: u32, key: u32, stamp: &[u8], out: &mut Vec<u8>) {
        let stamp = if self.has_stamp { stamp } else { &[] };
        self.pair.append(out, &key_text(key), stamp);
        self.keys[session as usize].push(key);
    }

    /// Returns the keys of the session's batch.
    pub(super) fn keys(&self, session: u32) -> &[u32] {
        &self.keys[session as usize]
    }
}
