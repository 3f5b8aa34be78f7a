//! Compares the memory of the nodes of a group. The leader writes digests of its memory into the log, each of a range of
//! the table; the others compare theirs at the same sequence. Where a node differs, the keys of the range are compared,
//! and each node reports its sum to all others: a node whose sum is not that of a majority is wrong
//! (docs/adr/0049-memory-is-compared.md).

use crate::replica::{NodeId, Sequence};
use scurry_engine::{Compared, EntryCopy, WalkLimit};
use std::collections::{BTreeMap, BTreeSet};

/// Least entries of a digest while others write: one or two segments of the table. With one digest a tick this takes
/// less than a hundredth of a processor.
const BUSY: WalkLimit = WalkLimit { entries: 400, cost: 1 << 20 };
/// Entries of a digest while nothing else is written.
const IDLE: WalkLimit = WalkLimit { entries: 8 * 1024, cost: 8 << 20 };
/// Entries of a digest with keys: those of the longest digest without, also where some came meanwhile.
const WITH_KEYS: WalkLimit = WalkLimit { entries: 16 * 1024, cost: 16 << 20 };
/// Ticks between two digests while nothing else is written: 0.5 s.
const TICKS_IDLE: u32 = 16;
/// Ticks after which a digest that the core has not made is asked for again, and keys are compared again: 1 s.
const AGAIN_TICKS: u32 = 34;
/// Most sequences for which the sums of other nodes are remembered.
const SEQUENCES_MAX: usize = 64;
/// Most hashes of keys in a report.
const KEYS_MAX: usize = 64;
/// Most keys that a verdict names.
const NAMED_MAX: usize = 4;

/// An order to the leader's core to write a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestOrder {
    /// The node that leads.
    pub node: NodeId,
    /// First position.
    pub from: u64,
    /// Where it ends.
    pub limit: WalkLimit,
    /// True to name each entry.
    pub has_keys: bool,
}

/// The sum that a node had, for the other nodes (docs/formats/between-nodes.md).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestReport {
    /// Sequence of the digest in the log.
    pub sequence: u64,
    /// First position of the range.
    pub from: u64,
    /// The node's own sum.
    pub sum: u64,
    /// True when the keys of the range were compared.
    pub has_keys: bool,
    /// Hashes of keys that differ from the leader's.
    pub keys: Vec<u64>,
}

impl DigestReport {
    /// Returns its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [self.sequence, self.from, self.sum] {
            out.extend(number.to_le_bytes());
        }
        out.push(u8::from(self.has_keys));
        self.keys.iter().for_each(|key| out.extend(key.to_le_bytes()));
        out
    }

    /// Decodes a report; None when the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<DigestReport> {
        let (head, rest) = bytes.split_at_checked(24)?;
        let (&flag, keys) = rest.split_first()?;
        let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        if flag > 1 || keys.len() % 8 != 0 || keys.len() > KEYS_MAX * 8 {
            return None;
        }
        Some(DigestReport {
            sequence: number(&head[..8])?,
            from: number(&head[8..16])?,
            sum: number(&head[16..])?,
            has_keys: flag == 1,
            keys: keys.chunks_exact(8).map(number).collect::<Option<_>>()?,
        })
    }
}

/// This node's memory is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The sequence at which it was compared.
    pub sequence: Sequence,
    /// The reason why the node stops, with the first keys.
    pub why: String,
    /// What this node had under the keys that differ.
    pub had: Vec<EntryCopy>,
}

/// What is known of one digest.
#[derive(Debug, Default)]
struct Sums {
    /// True when the keys were compared: all nodes report then.
    has_keys: bool,
    /// The node that led.
    leader: Option<NodeId>,
    /// Sums by node.
    by_node: BTreeMap<NodeId, u64>,
    /// Hashes of the keys that differ between any node and the leader.
    keys: BTreeSet<u64>,
    /// Copies of this node's entries that differ from the leader's.
    copies: Vec<EntryCopy>,
}

/// Comparison of the memory of this node with that of the others.
#[derive(Debug)]
pub struct StateCheck {
    own: NodeId,
    /// The position of the next digest.
    next: u64,
    /// Ticks since the last pass over the table has begun.
    round_ticks: u32,
    /// Ticks since the last order; None when the core has carried it out.
    asked: Option<u32>,
    /// Ticks since the last digest.
    ticks: u32,
    /// Position of a range whose keys are to be compared, and the ticks since that was last ordered.
    suspect: Option<(u64, u32)>,
    /// The last sequence at which this node compared or was compared.
    last: Sequence,
    /// The last sequence at which this node had what the leader had.
    agreed: Sequence,
    by_sequence: BTreeMap<u64, Sums>,
    reports: Vec<DigestReport>,
    /// The sequence at which a leader was found to be wrong, and the keys of which it has no copies yet.
    wrong: Option<(u64, Vec<u64>)>,
    /// True when the core was asked for these copies.
    wants_copies: bool,
    verdict: Option<Verdict>,
}

impl StateCheck {
    /// Creates the check of a node.
    pub fn new(own: NodeId) -> StateCheck {
        StateCheck {
            own,
            next: 0,
            round_ticks: u32::MAX,
            asked: None,
            ticks: TICKS_IDLE,
            suspect: None,
            last: Sequence(0),
            agreed: Sequence(0),
            by_sequence: BTreeMap::new(),
            reports: Vec::new(),
            wrong: None,
            wants_copies: false,
            verdict: None,
        }
    }

    /// Returns the last sequence at which this node had what the leader had.
    pub fn agreed(&self) -> Sequence {
        self.agreed
    }

    /// Advances time by one tick. Returns the order to the core of a leader, which has committed everything up to a
    /// sequence. The table is begun again after `round_ticks` at the earliest; None where no digest is to be written.
    pub fn tick(&mut self, round_ticks: Option<u32>, committed: Sequence) -> Option<DigestOrder> {
        self.round_ticks = self.round_ticks.saturating_add(1);
        self.ticks = self.ticks.saturating_add(1);
        if let Some((_, ticks)) = &mut self.suspect {
            *ticks = ticks.saturating_add(1);
        }
        let Some(round_ticks) = round_ticks else {
            (self.asked, self.suspect) = (None, None);
            return None;
        };
        self.asked = self.asked.map(|ticks| ticks + 1).filter(|ticks| *ticks < AGAIN_TICKS);
        if self.asked.is_some() {
            return None;
        }
        let node = self.own;
        if let Some((from, ticks)) = &mut self.suspect
            && *ticks >= AGAIN_TICKS
        {
            *ticks = 0;
            self.asked = Some(0);
            return Some(DigestOrder { node, from: *from, limit: WITH_KEYS, has_keys: true });
        }
        if self.next == 0 && self.round_ticks < round_ticks {
            return None;
        }
        let is_busy = committed > self.last;
        if !is_busy && self.ticks < TICKS_IDLE {
            return None;
        }
        if self.next == 0 {
            self.round_ticks = 0;
        }
        self.asked = Some(0);
        let limit = if is_busy { BUSY } else { IDLE };
        Some(DigestOrder { node, from: self.next, limit, has_keys: false })
    }

    /// Takes what the own core has compared: as the leader its own digest, else the leader's.
    pub fn note_own(&mut self, compared: Compared, voters: &[NodeId]) {
        let Compared { sequence, digest, own, differing, keys } = compared;
        let Some(leader) = NodeId::new(digest.node) else { return };
        let has_keys = digest.keys.is_some();
        self.last = self.last.max(Sequence(sequence));
        if own == digest.sum {
            self.agreed = self.agreed.max(Sequence(sequence));
        }
        if leader == self.own {
            (self.asked, self.ticks) = (None, 0);
            if !has_keys {
                self.next = digest.to;
            }
        }
        let sums = self.by_sequence.entry(sequence).or_default();
        sums.has_keys |= has_keys;
        sums.leader = Some(leader);
        sums.by_node.insert(leader, digest.sum);
        sums.by_node.insert(self.own, own);
        sums.keys.extend(&keys);
        sums.copies = differing;
        if leader != self.own && (has_keys || own != digest.sum) {
            if own != digest.sum {
                self.tell_difference(leader, sequence);
            }
            let keys = keys.into_iter().take(KEYS_MAX).collect();
            let from = digest.from;
            self.reports.push(DigestReport { sequence, from, sum: own, has_keys, keys });
        }
        self.judge(sequence, voters);
    }

    /// Forgets what is known of digests: those of this node's leadership may never be committed, and another leader may
    /// write others at their sequences.
    pub fn forget(&mut self) {
        self.by_sequence.clear();
    }

    /// Takes the report of another node.
    pub fn note_report(&mut self, from: NodeId, report: DigestReport, voters: &[NodeId]) {
        let DigestReport { sequence, from: position, sum, has_keys, keys } = report;
        let sums = self.by_sequence.entry(sequence).or_default();
        sums.has_keys |= has_keys;
        sums.by_node.insert(from, sum);
        sums.keys.extend(keys);
        let own = sums.by_node.get(&self.own);
        if own.is_some_and(|own| *own != sum) {
            // Only a leader orders it. The first order comes at once.
            self.suspect.get_or_insert((position, AGAIN_TICKS));
            self.tell_difference(from, sequence);
        }
        self.judge(sequence, voters);
    }

    fn tell_difference(&self, other: NodeId, sequence: u64) {
        tracing::error!(
            "memory differs from that of node {other} at change {sequence}: the nodes compare which of them is wrong"
        );
    }

    /// Returns true while the memory of nodes differs and it is not decided which of them is wrong, or this one is. A
    /// node that gets a snapshot or a vote then might make the wrong one a majority.
    pub fn is_open(&self) -> bool {
        self.suspect.is_some() || self.wrong.is_some() || self.verdict.is_some()
    }

    /// Returns the reports that are to be sent to all other nodes.
    pub fn take_reports(&mut self) -> Vec<DigestReport> {
        std::mem::take(&mut self.reports)
    }

    /// Returns, once, hashes of keys whose entries the core is to copy.
    pub fn take_copy_request(&mut self) -> Option<Vec<u64>> {
        let asks = std::mem::take(&mut self.wants_copies);
        self.wrong.as_ref().filter(|_| asks).map(|(_, keys)| keys.clone())
    }

    /// Takes the copies of a leader that was found to be wrong.
    pub fn note_copies(&mut self, copies: Vec<EntryCopy>) {
        if let Some((sequence, _)) = self.wrong.take() {
            self.find_wrong(sequence, copies);
        }
    }

    /// Returns the verdict, once.
    pub fn take_verdict(&mut self) -> Option<Verdict> {
        self.verdict.take()
    }

    /// Decides whether this node is wrong: a majority of the voters has one sum, and this node another.
    fn judge(&mut self, sequence: u64, voters: &[NodeId]) {
        while self.by_sequence.len() > SEQUENCES_MAX {
            self.by_sequence.pop_first();
        }
        let Some(sums) = self.by_sequence.get(&sequence).filter(|sums| sums.has_keys) else {
            return;
        };
        let Some(own) = sums.by_node.get(&self.own) else { return };
        // A record of the log alone decides nothing: a node that joins reads old ones, with the voters of that time.
        let needed = (voters.len() / 2 + 1).max(2);
        let count =
            |sum: u64| voters.iter().filter(|voter| sums.by_node.get(voter) == Some(&sum)).count();
        let Some(right) = sums.by_node.values().find(|sum| count(**sum) >= needed) else { return };
        if right == own {
            // The others are wrong, and know it, or no node is.
            self.suspect = None;
            return;
        }
        if sums.leader == Some(self.own) {
            // Only the others know which keys differ.
            if self.wrong.is_none() {
                self.wrong = Some((sequence, sums.keys.iter().copied().take(KEYS_MAX).collect()));
                self.wants_copies = true;
            }
            return;
        }
        let had = sums.copies.clone();
        self.find_wrong(sequence, had);
    }

    /// This node was wrong at a sequence, and had these entries.
    fn find_wrong(&mut self, sequence: u64, had: Vec<EntryCopy>) {
        let named: Vec<String> = had
            .iter()
            .take(NAMED_MAX)
            .map(|copy| format!("\"{}\"", copy.key.escape_ascii()))
            .collect();
        let more = had.len().saturating_sub(named.len());
        let named = match (named.is_empty(), more) {
            (true, _) => "keys that this node lacks".to_owned(),
            (false, 0) => named.join(", "),
            (false, more) => format!("{} and {more} more", named.join(", ")),
        };
        let why = format!(
            "this node's memory is wrong: at change {sequence} a majority had other values of {named}. Its files may be \
             wrong, too: start this node with an empty directory, --join and --replaces {}, and test its memory",
            self.own
        );
        self.verdict.get_or_insert(Verdict { sequence: Sequence(sequence), why, had });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_codec::StateDigest;
    use scurry_ledger::Time;

    const OWN: u64 = 1;
    const ROUND_TICKS: u32 = 300;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn voters() -> Vec<NodeId> {
        (1..=3).map(node).collect()
    }

    fn copy() -> EntryCopy {
        EntryCopy { hash: 7, key: (*b"alice").into(), text: "had".to_owned() }
    }

    /// Returns what this node compared: the leader had `theirs`, this node `own`.
    fn compared(leader: u64, theirs: u64, own: u64, has_keys: bool) -> Compared {
        let keys = has_keys.then(|| vec![(7, 1)]);
        Compared {
            sequence: 40,
            digest: StateDigest { node: leader, at: Time(0), from: 5, to: 9, sum: theirs, keys },
            own,
            differing: vec![copy()],
            keys: if own == theirs { vec![] } else { vec![7] },
        }
    }

    fn report(sum: u64, has_keys: bool, keys: &[u64]) -> DigestReport {
        DigestReport { sequence: 40, from: 5, sum, has_keys, keys: keys.to_vec() }
    }

    #[test]
    fn a_follower_that_two_others_contradict_is_wrong() {
        let mut check = StateCheck::new(node(OWN));
        check.note_own(compared(2, 10, 11, false), &voters());
        assert_eq!(check.take_reports(), [report(11, false, &[7])]);
        assert_eq!(check.take_verdict(), None, "the keys are compared first");
        let mut check = StateCheck::new(node(OWN));
        check.note_own(compared(2, 10, 11, true), &voters());
        assert_eq!(check.take_verdict(), None, "one node alone may be the wrong one");
        check.note_report(node(3), report(10, true, &[]), &voters());
        let verdict = check.take_verdict().expect("two have the other sum");
        assert!(verdict.why.contains("\"alice\""), "{}", verdict.why);
        assert_eq!(verdict.had.len(), 1);
    }

    #[test]
    fn a_leader_that_both_followers_contradict_is_wrong_and_they_are_not() {
        let mut leader = StateCheck::new(node(OWN));
        leader.note_own(compared(OWN, 10, 10, true), &voters());
        assert_eq!(leader.take_reports(), [], "its digest is in the log");
        leader.note_report(node(2), report(12, true, &[7]), &voters());
        assert_eq!(leader.take_verdict(), None);
        leader.note_report(node(3), report(12, true, &[7]), &voters());
        assert_eq!(leader.take_copy_request(), Some(vec![7]));
        assert_eq!((leader.take_copy_request(), leader.take_verdict()), (None, None));
        leader.note_copies(vec![copy()]);
        assert!(leader.take_verdict().is_some_and(|verdict| verdict.had.len() == 1));
        let mut follower = StateCheck::new(node(OWN));
        follower.note_report(node(3), report(12, true, &[7]), &voters());
        follower.note_own(compared(2, 10, 12, true), &voters());
        assert_eq!(follower.take_verdict(), None);
    }

    /// Its digest may never have been committed, and two others may report on another one at its sequence.
    #[test]
    fn a_deposed_leader_is_not_judged_by_its_own_digest() {
        let judged = |forgets: bool| {
            let mut check = StateCheck::new(node(OWN));
            check.note_own(compared(OWN, 10, 10, true), &voters());
            if forgets {
                check.forget();
            }
            for other in [2, 3] {
                check.note_report(node(other), report(12, true, &[]), &voters());
            }
            check.take_copy_request().is_some()
        };
        assert!(judged(false) && !judged(true));
    }

    /// It reads the log from the beginning, when one node was the whole group and was wrong later.
    #[test]
    fn a_node_that_joins_is_not_judged_by_an_old_digest() {
        let mut check = StateCheck::new(node(OWN));
        check.note_own(compared(2, 10, 11, true), &[node(2)]);
        assert_eq!(check.take_verdict(), None);
        check.note_own(compared(2, 10, 11, true), &[node(2), node(3)]);
        assert_eq!(check.take_verdict(), None);
    }

    #[test]
    fn what_is_not_decided_is_open() {
        let mut leader = StateCheck::new(node(OWN));
        leader.note_own(compared(OWN, 10, 10, true), &voters());
        assert!(!leader.is_open());
        leader.note_report(node(2), report(12, true, &[7]), &voters());
        assert!(leader.is_open());
        leader.note_report(node(3), report(10, true, &[]), &voters());
        assert!(!leader.is_open(), "node 2 is wrong, and ends");
    }

    #[test]
    fn three_that_all_differ_and_two_of_three_decide_nothing() {
        let mut check = StateCheck::new(node(OWN));
        check.note_own(compared(2, 10, 11, true), &voters());
        check.note_report(node(3), report(12, true, &[7]), &voters());
        assert_eq!(check.take_verdict(), None);
    }

    #[test]
    fn a_leader_walks_the_table_and_compares_keys_where_a_node_differs() {
        let mut check = StateCheck::new(node(OWN));
        let first = check.tick(Some(ROUND_TICKS), Sequence(0)).expect("it begins at once");
        assert_eq!((first.from, first.has_keys, first.limit), (0, false, IDLE));
        assert_eq!(check.tick(Some(ROUND_TICKS), Sequence(50)), None, "the core has not answered");
        check.note_own(compared(OWN, 10, 10, false), &voters());
        assert_eq!(check.tick(Some(ROUND_TICKS), Sequence(40)), None, "nothing else is written");
        let busy = check.tick(Some(ROUND_TICKS), Sequence(41)).expect("others write");
        assert_eq!((busy.from, busy.limit), (9, BUSY));
        check.note_own(compared(OWN, 10, 10, false), &voters());
        check.note_report(node(3), report(11, false, &[]), &voters());
        let keys = check.tick(Some(ROUND_TICKS), Sequence(50)).expect("a node differs");
        assert_eq!((keys.from, keys.has_keys), (5, true));
        check.note_own(compared(OWN, 10, 10, true), &voters());
        let mut again = 0;
        for _ in 0..2 * AGAIN_TICKS {
            if let Some(order) = check.tick(Some(ROUND_TICKS), Sequence(40)) {
                again += u32::from(order.has_keys);
                check.note_own(compared(OWN, 10, 10, order.has_keys), &voters());
            }
        }
        assert!((1..=2).contains(&again), "it is still so: {again}");
        assert_eq!(check.tick(None, Sequence(40)), None, "it does not lead any more");
    }

    #[test]
    fn a_table_is_begun_at_most_every_ten_seconds() {
        let mut check = StateCheck::new(node(OWN));
        let whole = || {
            let mut compared = compared(OWN, 10, 10, false);
            compared.digest.to = 0;
            compared
        };
        let mut begun = 0;
        for _ in 0..3 * ROUND_TICKS {
            if let Some(order) = check.tick(Some(ROUND_TICKS), Sequence(99)) {
                begun += u32::from(order.from == 0);
                check.note_own(whole(), &voters());
            }
        }
        assert_eq!(begun, 3);
    }

    #[test]
    fn a_report_comes_back_from_its_bytes() {
        for report in [report(11, true, &[7, 8]), report(11, false, &[])] {
            let bytes = report.encode();
            assert_eq!(DigestReport::decode(&bytes), Some(report));
            assert_eq!(DigestReport::decode(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(DigestReport::decode(&[2; 25]), None);
    }
}
