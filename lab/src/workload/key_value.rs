//! The key-value workload: SET, GET and DEL of random keys, or MSET of several. Each write puts a new number into its
//! value, so that the audit can tell the last acknowledged write of a key from an older one.

use super::Workload;
use super::batch::Batches;
use super::last_writes::{Last, LastWrites};
use crate::errors::ErrorTally;
use crate::names::{AccountText, STAMP_LEN, key_text, stamp};
use crate::random::Random;
use crate::resp::{Stop, Template, skip};
use crate::routes::Owners;
use crate::scenario::{KeyValue, Order};

const SET: u8 = 0;
const GET: u8 = 1;
const DEL: u8 = 2;

/// Key-value workload.
#[derive(Debug)]
pub struct KeyValueWorkload {
    operations: Vec<String>,
    templates: [Template; 3],
    get_below: u32,
    set_below: u32,
    shares: u32,
    value_size: usize,
    random: Random,
    filled: u32,
    order: Order,
    /// Next key, in sequential order.
    next: u32,
    writes: LastWrites,
    in_flight: Vec<InFlight>,
    /// Batches, where a SET has several keys.
    batches: Option<Batches>,
    wrong: u64,
    errors: ErrorTally,
    opaque: bool,
    routes: Option<Owners>,
}

/// Value that the store must hold for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyCheck {
    /// No value.
    Absent,
    /// Exactly this value.
    Value(Vec<u8>),
    /// Writes overlapped, so that either may have been the last.
    Unknown,
}

#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    key: u32,
    operation: u8,
}

impl KeyValueWorkload {
    /// Builds the templates.
    pub fn new(plan: &KeyValue, sessions: u32, seed: u64, opaque: bool) -> KeyValueWorkload {
        let key = key_text(0).to_vec();
        let words = |name: &str| vec![name.as_bytes().to_vec(), key.clone()];
        let mut set = words("SET");
        set.push(vec![b'x'; plan.value_size]);
        let stamped = plan.value_size >= STAMP_LEN;
        let templates = [
            Template::new(&set, 1, stamped.then_some(2)),
            Template::new(&words("GET"), 1, None),
            Template::new(&words("DEL"), 1, None),
        ];
        let set = if plan.batch.is_some() { "MSET" } else { "SET" };
        let batches = plan.batch.map(|batch| Batches::new(plan.value_size, batch, sessions));
        KeyValueWorkload {
            operations: [set, "GET", "DEL"].map(str::to_owned).to_vec(),
            batches,
            filled: plan.filled(),
            order: plan.order,
            next: plan.filled() % plan.keys.max(1),
            templates,
            get_below: plan.get_share,
            set_below: plan.get_share + plan.set_share,
            shares: plan.get_share + plan.set_share + plan.del_share,
            value_size: plan.value_size,
            random: Random::seeded(seed),
            writes: LastWrites::new(plan.keys),
            in_flight: vec![InFlight::default(); sessions as usize],
            wrong: 0,
            errors: ErrorTally::default(),
            opaque,
            routes: None,
        }
    }

    /// Lets each session use only keys of the core that its connection goes to.
    pub fn route(&mut self, owners: Owners) {
        self.routes = Some(owners);
    }

    /// Takes over the results of a load that ran in another process: the number of the last write of each key (0 where
    /// it is missing, -1 where writes overlapped), and the number of wrong reads.
    pub fn take(&mut self, known: &[i64], wrong: u64) {
        self.writes.take(known);
        self.wrong += wrong;
    }

    /// Appends the SET that gives a key its first value.
    pub fn append_first(&mut self, key: u32, out: &mut Vec<u8>) {
        self.append_set(key, out);
        self.writes.end(key);
    }

    /// Returns the value that the store must hold for a key when nothing is in flight.
    pub fn check(&self, key: u32) -> KeyCheck {
        let number = match self.writes.last(key) {
            Last::Unknown => return KeyCheck::Unknown,
            Last::Absent => return KeyCheck::Absent,
            Last::Write(number) => number,
        };
        let mut value = vec![b'x'; self.value_size];
        if self.value_size >= STAMP_LEN {
            value[..STAMP_LEN].copy_from_slice(&stamp(number));
        }
        KeyCheck::Value(value)
    }

    /// Reports whether the load has written or removed the key.
    pub fn is_changed(&self, key: u32) -> bool {
        self.writes.is_changed(key)
    }

    /// Returns the number of GET replies with a length other than that of the values.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> u32 {
        self.writes.keys()
    }

    /// Returns the number of keys that are set before the load.
    pub fn filled(&self) -> u32 {
        self.filled
    }

    /// Picks the key of the next operation, among the keys that the session may use.
    #[inline]
    fn key(&mut self, session: u32, operation: u8) -> u32 {
        // The loop ends: a core owns at least some of the keys.
        loop {
            let key = match self.order {
                Order::Uniform => self.random.below(self.keys()),
                Order::Sequential if operation == GET && self.set_below > self.get_below => {
                    self.random.below(self.next.max(1))
                }
                Order::Sequential => {
                    let key = self.next;
                    self.next = (key + 1) % self.keys();
                    key
                }
            };
            if self.routes.as_ref().is_none_or(|owners| owners.serves(session, key)) {
                return key;
            }
        }
    }

    /// Appends an MSET and records its keys.
    fn append_batch(&mut self, session: u32, out: &mut Vec<u8>) -> bool {
        let Some(mut batches) = self.batches.take() else { return false };
        batches.begin(session, out);
        for _ in 0..batches.size() {
            let key = self.key(session, SET);
            batches.append(session, key, &stamp(self.writes.begin(key)), out);
        }
        self.batches = Some(batches);
        true
    }

    /// Records that a write of the session was answered.
    fn end(&mut self, session: u32, key: u32, operation: u8) {
        match &mut self.batches {
            Some(batches) if operation == SET => {
                batches.keys(session).iter().for_each(|key| self.writes.end(*key));
            }
            _ => self.writes.end(key),
        }
    }

    fn append_set(&mut self, key: u32, out: &mut Vec<u8>) {
        let stamp = stamp(self.writes.begin(key));
        self.templates[usize::from(SET)].append(out, &key_text(key), &stamp);
    }

    fn is_value(&self, reply: &[u8], length: usize) -> bool {
        reply.starts_with(b"$-1") || reply.starts_with(b"_") || length > self.value_size + 4
    }
}

impl Workload for KeyValueWorkload {
    fn operations(&self) -> &[String] {
        &self.operations
    }

    #[inline]
    fn emit(&mut self, session: u32, out: &mut Vec<u8>) -> u8 {
        let draw = self.random.below(self.shares);
        let operation = match draw {
            _ if draw < self.get_below => GET,
            _ if draw < self.set_below => SET,
            _ => DEL,
        };
        if operation == SET && self.append_batch(session, out) {
            self.in_flight[session as usize] = InFlight { key: 0, operation };
            return operation;
        }
        let key = self.key(session, operation);
        let text: AccountText = key_text(key);
        match operation {
            GET => self.templates[usize::from(GET)].append(out, &text, &[]),
            SET => self.append_set(key, out),
            _ => {
                self.templates[usize::from(DEL)].append(out, &text, &[]);
                self.writes.begin_removal(key);
            }
        }
        self.in_flight[session as usize] = InFlight { key, operation };
        operation
    }

    fn emit_closing(&mut self, _session: u32, _out: &mut Vec<u8>) -> Option<u8> {
        None
    }

    #[inline]
    fn accept(&mut self, session: u32, bytes: &[u8]) -> Result<usize, Stop> {
        let length = skip(bytes)?;
        let InFlight { key, operation } = self.in_flight[session as usize];
        if bytes.first() == Some(&b'-') {
            self.errors.add(bytes);
        } else if operation == GET && !self.opaque && !self.is_value(bytes, length) {
            self.wrong += 1;
        }
        if operation != GET {
            self.end(session, key, operation);
        }
        Ok(length)
    }

    fn errors(&self) -> &ErrorTally {
        &self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(get: u32, set: u32, del: u32) -> KeyValueWorkload {
        let shares = KeyValue { get_share: get, set_share: set, del_share: del, ..plan(1) };
        KeyValueWorkload::new(&shares, 2, 1, false)
    }

    fn plan(keys: u32) -> KeyValue {
        KeyValue { keys, value_size: 10, ..KeyValue::default() }
    }

    #[test]
    fn a_batch_is_one_request_and_all_its_keys_are_written() {
        let plan = KeyValue {
            set_share: 1,
            batch: Some(3),
            order: Order::Sequential,
            filled: Some(0),
            ..plan(4)
        };
        let mut workload = KeyValueWorkload::new(&plan, 1, 1, false);
        let mut out = Vec::new();
        assert_eq!(workload.emit(0, &mut out), SET);
        let words = ["MSET", "key:0000000", "00000001xx", "key:0000001", "00000002xx"];
        let expected = [&words[..], &["key:0000002", "00000003xx"]].concat();
        assert_eq!(out, crate::resp::encode(&expected));
        assert_eq!(workload.accept(0, b"+OK\r\n"), Ok(5));
        assert_eq!(workload.check(2), KeyCheck::Value(b"00000003xx".to_vec()));
        assert_eq!(workload.check(3), KeyCheck::Absent);
        // The next batch continues after the last one, and wraps around at the end.
        workload.emit(0, &mut out);
        workload.accept(0, b"+OK\r\n").unwrap();
        assert_eq!(workload.check(0), KeyCheck::Value(b"00000005xx".to_vec()));
    }

    #[test]
    fn in_order_no_key_comes_twice_before_all_came() {
        let plan = KeyValue { set_share: 1, order: Order::Sequential, filled: Some(0), ..plan(5) };
        let mut workload = KeyValueWorkload::new(&plan, 1, 1, false);
        for key in 0..5 {
            assert_eq!(workload.check(key), KeyCheck::Absent);
            workload.emit(0, &mut Vec::new());
            workload.accept(0, b"+OK\r\n").unwrap();
            assert_ne!(workload.check(key), KeyCheck::Absent);
        }
    }

    #[test]
    fn the_last_acknowledged_write_is_expected() {
        let mut workload = workload(0, 1, 0);
        assert_eq!(workload.check(0), KeyCheck::Absent);
        for _ in 0..2 {
            assert_eq!(workload.emit(0, &mut Vec::new()), SET);
            workload.accept(0, b"+OK\r\n").unwrap();
        }
        assert_eq!(workload.check(0), KeyCheck::Value(b"00000002xx".to_vec()));
    }

    #[test]
    fn overlapping_writes_are_unknown_until_one_stands_alone() {
        let mut workload = workload(0, 0, 1);
        workload.emit(0, &mut Vec::new());
        workload.emit(1, &mut Vec::new());
        assert_eq!(workload.check(0), KeyCheck::Unknown);
        workload.accept(0, b":1\r\n").unwrap();
        workload.accept(1, b":0\r\n").unwrap();
        assert_eq!(workload.check(0), KeyCheck::Unknown);
        workload.emit(0, &mut Vec::new());
        workload.accept(0, b":0\r\n").unwrap();
        assert_eq!(workload.check(0), KeyCheck::Absent);
    }

    #[test]
    fn a_short_value_is_wrong() {
        let mut workload = workload(1, 0, 0);
        for reply in [&b"$-1\r\n"[..], b"$10\r\n0123456789\r\n", b"$3\r\nabc\r\n"] {
            workload.emit(0, &mut Vec::new());
            workload.accept(0, reply).unwrap();
        }
        assert_eq!(workload.wrong(), 1);
    }
}
