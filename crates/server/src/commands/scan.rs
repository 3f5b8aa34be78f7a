//! SCAN: the keys, a bounded number at a time.

use super::keys::REPLY_TOO_LONG;
use crate::glob;
use crate::node::Node;
use scurry_engine::KeyKind;
use scurry_resp::plain::{ScanKind, parse_scan};
use scurry_resp::{Args, Protocol, Reply};

pub(crate) fn scan(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = match parse_scan(args) {
        Ok(request) => request,
        Err(fault) => return fault.write(reply),
    };
    let mut list = List::new(node.settings.reply_len_max);
    let cursor = node.shard.scan(node.now.time, request.cursor, request.count, |key, kind| {
        let of_kind = request.kind.is_none_or(|wanted| is_kind(wanted, kind));
        if of_kind && request.pattern.is_none_or(|pattern| glob::matches_exactly(pattern, key)) {
            list.push(key);
        }
    });
    list.write(cursor, reply);
}

fn is_kind(wanted: ScanKind, kind: KeyKind) -> bool {
    match wanted {
        ScanKind::Value => kind == KeyKind::Value,
        ScanKind::Account => kind == KeyKind::Account,
        ScanKind::Entity => kind == KeyKind::Entity,
        ScanKind::Nothing => false,
    }
}

/// Keys whose number is known at the end only; the reply begins with it.
pub(crate) struct List {
    formed: Vec<u8>,
    len: usize,
    formed_len_max: usize,
}

impl List {
    /// An empty list that will take this many bytes at most.
    pub(crate) fn new(formed_len_max: usize) -> List {
        List { formed: Vec::new(), len: 0, formed_len_max }
    }

    /// One more, unless there are too many already.
    pub(crate) fn push(&mut self, key: &[u8]) {
        if self.formed.len() <= self.formed_len_max {
            // A bulk string is the same in both protocols.
            Reply::new(&mut self.formed, Protocol::Resp2).bulk(key);
            self.len += 1;
        }
    }

    /// Answers with where to go on, and the list.
    pub(crate) fn write(self, cursor: u64, reply: &mut Reply<'_>) {
        if self.formed.len() > self.formed_len_max {
            return reply.error(REPLY_TOO_LONG);
        }
        reply.array(2);
        reply.text(itoa::Buffer::new().format(cursor));
        reply.array(self.len);
        reply.formed(&self.formed);
    }
}
