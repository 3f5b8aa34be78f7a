//! SCAN: the keys, a bounded number at a time; KEYS: all of them, if they are few.

use super::keys::REPLY_TOO_LONG;
use crate::execute::node::Node;
use crate::glob::{self, Budget, BudgetSpent};
use scurry_engine::KeyKind;
use scurry_resp::plain::{ScanKind, parse_scan};
use scurry_resp::{Args, Protocol, Reply};
use std::fmt::Display;
use std::ops::ControlFlow;

/// Cursors of one core are below this bit; the number of the core is stored above it.
const CORE_SHIFT: u32 = 48;

/// Maximum number of keys of a core for KEYS: as many as a step of SCAN examines.
const KEYS_MAX: usize = 10_000;
/// Maximum length of a core's answer to KEYS, bytes: the answers of all cores are joined.
const KEYS_LEN_MAX: usize = 4 * 1024 * 1024;
const USE_SCAN: &str = "use SCAN, which lists them in steps";
const SHORTER: &str = "a shorter pattern";

/// Position of a walk over all cores, which are visited one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanPosition {
    pub(crate) core: u64,
    /// Cursor within the core.
    pub(crate) cursor: u64,
}

impl ScanPosition {
    pub(crate) fn from_cursor(cursor: u64) -> ScanPosition {
        ScanPosition { core: cursor >> CORE_SHIFT, cursor: cursor & ((1 << CORE_SHIFT) - 1) }
    }

    /// Returns the core to ask. A number that is too large gives the first core, which detects the invalid cursor.
    pub(crate) fn core_of(cursor: Option<u64>, node: &Node) -> u16 {
        let core = u16::try_from(cursor.map_or(0, |cursor| ScanPosition::from_cursor(cursor).core))
            .unwrap_or(0);
        if core < node.shared.slots.cores() { core } else { 0 }
    }

    /// Returns the cursor for the client, given the cursor that the core has returned.
    pub(crate) fn then(self, cursor: u64, cores: u64) -> u64 {
        match cursor {
            0 if self.core + 1 < cores => (self.core + 1) << CORE_SHIFT,
            0 => 0,
            cursor => self.core << CORE_SHIFT | cursor,
        }
    }
}

/// The cores that a walk visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoreWalk {
    /// All, one after the other.
    AllCores,
    /// Only this one.
    ThisCore,
}

impl CoreWalk {
    /// Takes one step: calls `list_from` with the cursor within this core, and writes the list with the next cursor.
    pub(crate) fn step<E: Display>(
        self,
        node: &Node,
        cursor: u64,
        reply: &mut Reply<'_>,
        list_from: impl FnOnce(u64, &mut List) -> Result<u64, E>,
    ) {
        let mut list = List::new(node.settings.reply_len_max);
        let position = ScanPosition::from_cursor(cursor);
        if position.core > 0 && position.core != u64::from(node.core) {
            // The cursor was not issued by this server, so nothing follows it.
            return list.write(0, reply);
        }
        let cores = match self {
            CoreWalk::AllCores => u64::from(node.shared.slots.cores()),
            CoreWalk::ThisCore => 0,
        };
        match list_from(position.cursor, &mut list) {
            Ok(cursor) => list.write(position.then(cursor, cores), reply),
            Err(error) => reply.error(format_args!("{error}")),
        }
    }
}

/// Returns the core that a SCAN is for.
pub(crate) fn core_of(node: &Node, args: Args<'_>) -> u16 {
    ScanPosition::core_of(parse_scan(args).ok().map(|request| request.cursor), node)
}

/// Lists the keys of one step.
pub(crate) fn scan(node: &Node, walk: CoreWalk, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = match parse_scan(args) {
        Ok(request) => request,
        Err(fault) => return fault.write(reply),
    };
    let (now, count) = (node.now.time, request.count);
    walk.step(node, request.cursor, reply, |cursor, list| {
        let mut matching = Matching::with(request.pattern, list);
        let next = if request.kind == Some(ScanKind::Tombstone) {
            node.shard.scan_tombstones(now, cursor, count, |key| matching.list_if_matching(key))
        } else {
            node.shard.scan_until(now, cursor, count, |key, kind| {
                if request.kind.is_none_or(|wanted| is_kind(wanted, kind)) {
                    return matching.list_if_matching(key);
                }
                ControlFlow::Continue(())
            })
        };
        match matching.spent {
            // The next step would end at the same key for ever.
            Some(spent) if next == cursor => {
                Err(format!("{spent} for a single key: use {SHORTER}"))
            }
            _ => Ok(next),
        }
    });
}

/// Lists the keys of this core that match. A core with many keys refuses: it could serve no other client meanwhile.
pub(crate) fn keys(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if node.shard.entries() > KEYS_MAX {
        return reply.error(format_args!("ERR more than {KEYS_MAX} keys: {USE_SCAN}"));
    }
    let mut list = List::new(KEYS_LEN_MAX);
    // As in Redis, the pattern `*` also lists the empty key.
    let pattern = Some(args.at(1)).filter(|pattern| pattern != b"*");
    let mut matching = Matching::with(pattern, &mut list);
    let mut cursor = 0;
    loop {
        cursor = node
            .shard
            .scan_until(node.now.time, cursor, KEYS_MAX, |key, _| matching.list_if_matching(key));
        if let Some(spent) = matching.spent {
            return reply.error(format_args!("{spent}: use SCAN with {SHORTER}"));
        }
        if cursor == 0 {
            break;
        }
    }
    list.write_all(reply);
}

/// Collects keys that match, until the matching steps of one command are exhausted.
struct Matching<'a> {
    pattern: Option<&'a [u8]>,
    list: &'a mut List,
    budget: Budget,
    spent: Option<BudgetSpent>,
}

impl<'a> Matching<'a> {
    /// Without a pattern all keys match.
    fn with(pattern: Option<&'a [u8]>, list: &'a mut List) -> Matching<'a> {
        Matching { pattern, list, budget: Budget::of_a_command(), spent: None }
    }

    /// Lists a key that matches, or breaks at the first key that exceeds the budget.
    fn list_if_matching(&mut self, key: &[u8]) -> ControlFlow<()> {
        let is_match = match self.pattern {
            None => Ok(true),
            Some(pattern) => glob::matches_exactly(pattern, key, &mut self.budget),
        };
        match is_match {
            Ok(true) => self.list.push(key),
            Ok(false) => {}
            Err(spent) => {
                self.spent = Some(spent);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_kind(wanted: ScanKind, kind: KeyKind) -> bool {
    match wanted {
        ScanKind::Value => kind == KeyKind::Value,
        ScanKind::Account => kind == KeyKind::Account,
        ScanKind::Entity => kind == KeyKind::Entity,
        ScanKind::Tombstone | ScanKind::Nothing => false,
    }
}

/// A list of keys. The reply begins with their number, which is known only at the end.
pub(crate) struct List {
    formed: Vec<u8>,
    len: usize,
    formed_len_max: usize,
}

impl List {
    /// Creates an empty list that takes at most this many bytes.
    pub(crate) fn new(formed_len_max: usize) -> List {
        List { formed: Vec::new(), len: 0, formed_len_max }
    }

    /// Adds a key, unless the list is full.
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.push_row(|reply| reply.bulk(key));
    }

    /// Adds an element that looks the same in both protocols.
    pub(crate) fn push_row(&mut self, row: impl FnOnce(&mut Reply<'_>)) {
        if self.formed.len() <= self.formed_len_max {
            row(&mut Reply::new(&mut self.formed, Protocol::Resp2));
            self.len += 1;
        }
    }

    /// Answers with the next cursor and the list.
    pub(crate) fn write(self, cursor: u64, reply: &mut Reply<'_>) {
        if self.formed.len() > self.formed_len_max {
            return reply.error(REPLY_TOO_LONG);
        }
        reply.array(2);
        reply.text(itoa::Buffer::new().format(cursor));
        reply.array(self.len);
        reply.formed(&self.formed);
    }

    /// Answers with the list alone.
    fn write_all(self, reply: &mut Reply<'_>) {
        if self.formed.len() > self.formed_len_max {
            let len_max = self.formed_len_max;
            return reply.error(format_args!("ERR more than {len_max} bytes of keys: {USE_SCAN}"));
        }
        reply.array(self.len);
        reply.formed(&self.formed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_from_core_to_core_and_ends() {
        assert_eq!(ScanPosition::from_cursor(0), ScanPosition { core: 0, cursor: 0 });
        assert_eq!(ScanPosition::from_cursor(0).then(0, 1), 0);
        assert_eq!(ScanPosition::from_cursor(0).then(7, 3), 7);
        assert_eq!(ScanPosition::from_cursor(7).then(0, 3), 1 << CORE_SHIFT);
        assert_eq!(
            ScanPosition::from_cursor(1 << CORE_SHIFT | 9),
            ScanPosition { core: 1, cursor: 9 }
        );
        assert_eq!(
            ScanPosition::from_cursor(1 << CORE_SHIFT | 9).then(12, 3),
            1 << CORE_SHIFT | 12
        );
        assert_eq!(ScanPosition::from_cursor(2 << CORE_SHIFT | 9).then(0, 3), 0);
    }
}
