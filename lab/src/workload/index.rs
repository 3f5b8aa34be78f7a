//! The workload of an index: records are written by key and found by their value. Every value contains the number of
//! its write, so that at most one record has it, and the audit can tell the record that a FIND returns from any other.

use super::Workload;
use super::last_writes::{Last, LastWrites};
use crate::errors::ErrorTally;
use crate::names::{STAMP_LEN, key_text, stamp};
use crate::random::Random;
use crate::resp::{Stop, Template, skip};
use crate::scenario::KeyValue;

/// Prefix of the value in the name of its set.
const SET_PREFIX: &str = "index:";

const SET: u8 = 0;
const FIND: u8 = 1;

/// Spelling of the two operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexDialect {
    /// `ENTITY.PUT id value` and `ENTITY.FIND value`.
    Entity,
    /// `FCALL index_put 1 id value`, which keeps a set for every value, and `SMEMBERS`.
    Sets,
}

/// Index workload.
#[derive(Debug)]
pub struct IndexWorkload {
    operations: Vec<String>,
    put: Template,
    find: Template,
    dialect: IndexDialect,
    get_share: u32,
    shares: u32,
    value_size: usize,
    random: Random,
    writes: LastWrites,
    in_flight: Vec<InFlight>,
    wrong: u64,
    errors: ErrorTally,
}

#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    key: u32,
    is_find: bool,
    /// Number of the write that is searched for; 0 where any answer is right.
    number: u64,
}

impl IndexWorkload {
    /// Builds the templates.
    pub fn new(plan: &KeyValue, dialect: IndexDialect, sessions: u32, seed: u64) -> IndexWorkload {
        let key = key_text(0).to_vec();
        let value = vec![b'x'; plan.value_size];
        let bytes = |text: &str| text.as_bytes().to_vec();
        let (put, at, find) = match dialect {
            IndexDialect::Entity => (
                vec![bytes("ENTITY.PUT"), key, value.clone()],
                1,
                vec![bytes("ENTITY.FIND"), value],
            ),
            IndexDialect::Sets => (
                vec![bytes("FCALL"), bytes("index_put"), bytes("1"), key, value.clone()],
                3,
                vec![bytes("SMEMBERS"), [SET_PREFIX.as_bytes(), &value].concat()],
            ),
        };
        IndexWorkload {
            operations: ["SET", "FIND"].map(str::to_owned).to_vec(),
            put: Template::new(&put, at, Some(at + 1)),
            find: Template::new(&find, 1, None),
            dialect,
            get_share: plan.get_share,
            shares: plan.get_share + plan.set_share,
            value_size: plan.value_size,
            random: Random::seeded(seed),
            writes: LastWrites::new(plan.keys),
            in_flight: vec![InFlight::default(); sessions as usize],
            wrong: 0,
            errors: ErrorTally::default(),
        }
    }

    /// Returns the number of records.
    pub fn keys(&self) -> u32 {
        self.writes.keys()
    }

    /// Returns the number of FINDs that did not return the expected record.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Takes over the results of a load that ran in another process: the number of the last write of each key (0 where
    /// it is missing, -1 where writes overlapped), and the number of wrong reads.
    pub(crate) fn take(&mut self, known: &[i64], wrong: u64) {
        self.writes.take(known);
        self.wrong += wrong;
    }

    /// Appends the write that gives a record its first value.
    pub fn append_first(&mut self, key: u32, out: &mut Vec<u8>) {
        self.append_put(key, out);
        self.writes.end(key);
    }

    /// Appends the request that finds the last acknowledged value of a record, and returns that value; None where it is
    /// unknown.
    pub fn append_check(&self, key: u32, out: &mut Vec<u8>) -> Option<Vec<u8>> {
        let number = self.known(key)?;
        self.append_find(number, out);
        let mut value = vec![b'x'; self.value_size];
        value[..STAMP_LEN].copy_from_slice(&stamp(number));
        Some(value)
    }

    /// Appends the request that finds the first value of a record; its number follows from the order of filling.
    /// Returns false, and appends nothing, where the record may still have it.
    pub fn append_check_old(&self, key: u32, out: &mut Vec<u8>) -> bool {
        let first = u64::from(key) + 1;
        let is_gone = self.known(key).is_some_and(|number| number != first);
        if is_gone {
            self.append_find(first, out);
        }
        is_gone
    }

    fn known(&self, key: u32) -> Option<u64> {
        match self.writes.last(key) {
            Last::Write(number) => Some(number),
            Last::Absent | Last::Unknown => None,
        }
    }

    fn append_put(&mut self, key: u32, out: &mut Vec<u8>) {
        let number = self.writes.begin(key);
        self.put.append(out, &key_text(key), &stamp(number));
    }

    fn append_find(&self, number: u64, out: &mut Vec<u8>) {
        let stamp = stamp(number);
        match self.dialect {
            IndexDialect::Entity => self.find.append(out, &stamp, &[]),
            IndexDialect::Sets => {
                self.find.append(out, &[SET_PREFIX.as_bytes(), &stamp].concat(), &[]);
            }
        }
    }
}

/// Reports whether a reply names this key and no other.
pub(crate) fn names_only(reply: &[u8], key: u32) -> bool {
    let text = key_text(key);
    let named = |window: &&[u8]| window.starts_with(b"key:");
    let mut keys = reply.windows(text.len()).filter(named);
    keys.next() == Some(text.as_slice()) && keys.next().is_none()
}

impl Workload for IndexWorkload {
    fn operations(&self) -> &[String] {
        &self.operations
    }

    #[inline]
    fn emit(&mut self, session: u32, out: &mut Vec<u8>) -> u8 {
        let key = self.random.below(self.keys());
        let is_find = self.random.below(self.shares) < self.get_share;
        let number = if is_find {
            let number = self.known(key).filter(|_| !self.writes.is_writing(key)).unwrap_or(0);
            self.append_find(number, out);
            number
        } else {
            self.append_put(key, out);
            0
        };
        self.in_flight[session as usize] = InFlight { key, is_find, number };
        if is_find { FIND } else { SET }
    }

    fn emit_closing(&mut self, _session: u32, _out: &mut Vec<u8>) -> Option<u8> {
        None
    }

    #[inline]
    fn accept(&mut self, session: u32, bytes: &[u8]) -> Result<usize, Stop> {
        let length = skip(bytes)?;
        let InFlight { key, is_find, number } = self.in_flight[session as usize];
        if bytes.first() == Some(&b'-') {
            self.errors.add(bytes);
        } else if is_find && number != 0 {
            // The record had this value for the whole time of the request.
            let is_known = self.known(key) == Some(number);
            self.wrong += u64::from(is_known && !names_only(&bytes[..length], key));
        }
        if !is_find {
            self.writes.end(key);
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

    fn workload(get: u32, set: u32, dialect: IndexDialect) -> IndexWorkload {
        let plan = KeyValue {
            keys: 1,
            value_size: 10,
            get_share: get,
            set_share: set,
            ..KeyValue::default()
        };
        IndexWorkload::new(&plan, dialect, 2, 1)
    }

    #[test]
    fn a_find_that_gives_another_record_or_none_is_wrong() {
        let mut workload = workload(1, 0, IndexDialect::Entity);
        workload.append_first(0, &mut Vec::new());
        for (reply, wrong) in [
            (&b"*2\r\n$1\r\n0\r\n*1\r\n$11\r\nkey:0000000\r\n"[..], 0),
            (b"*1\r\n$11\r\nkey:0000001\r\n", 1),
            (b"*0\r\n", 2),
            (b"*2\r\n$11\r\nkey:0000000\r\n$11\r\nkey:0000001\r\n", 3),
        ] {
            workload.emit(0, &mut Vec::new());
            workload.accept(0, reply).unwrap();
            assert_eq!(workload.wrong(), wrong);
        }
    }

    #[test]
    fn each_dialect_finds_the_value_that_was_written() {
        for (dialect, expected) in [
            (IndexDialect::Entity, &["ENTITY.FIND", "00000001xx"]),
            (IndexDialect::Sets, &["SMEMBERS", "index:00000001xx"]),
        ] {
            let mut workload = workload(1, 0, dialect);
            workload.append_first(0, &mut Vec::new());
            let mut out = Vec::new();
            assert_eq!(workload.append_check(0, &mut out).unwrap(), b"00000001xx");
            assert_eq!(out, crate::resp::encode(expected));
            assert!(!workload.append_check_old(0, &mut out));
        }
    }
}
