//! The yardstick of charging: the same load with an HSET of four fields in place of each operation. It is the work of a
//! server for a write without rules, history or a reply beyond a number. Each HSET writes a new number into one field,
//! so that the audit can identify the last acknowledged one.

use super::Workload;
use super::last_writes::{Last, LastWrites};
use crate::errors::ErrorTally;
use crate::names::{STAMP_LEN, account_text, stamp};
use crate::random::Random;
use crate::resp::{Stop, Template, skip};

/// Figures that an account could have, as wide as in the charging loop.
const AVAILABLE: &str = "999999999100";
const HELD: &str = "1000";
const CONSUMED: &str = "900";

/// Yardstick workload.
#[derive(Debug)]
pub struct HashFieldsWorkload {
    operations: Vec<String>,
    template: Template,
    random: Random,
    writes: LastWrites,
    /// Account of each session's request.
    in_flight: Vec<u32>,
    errors: ErrorTally,
}

impl HashFieldsWorkload {
    /// Builds the template.
    pub fn new(accounts: u32, sessions: u32, seed: u64) -> HashFieldsWorkload {
        let account = account_text(0).escape_ascii().to_string();
        let stamp = "0".repeat(STAMP_LEN);
        let words = [
            "HSET",
            &account,
            "available",
            AVAILABLE,
            "held",
            HELD,
            "consumed",
            CONSUMED,
            "version",
            &stamp,
        ];
        let arguments: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        HashFieldsWorkload {
            operations: vec!["HSET".to_owned()],
            template: Template::new(&arguments, 1, Some(words.len() - 1)),
            random: Random::seeded(seed),
            writes: LastWrites::new(accounts),
            in_flight: vec![0; sessions as usize],
            errors: ErrorTally::default(),
        }
    }

    /// Returns the number of accounts.
    pub fn accounts(&self) -> u32 {
        self.writes.keys()
    }

    /// Appends the HSET that creates an account.
    pub fn append_first(&mut self, account: u32, out: &mut Vec<u8>) {
        self.append(account, out);
        self.writes.end(account);
    }

    /// Returns the expected fields of an account when nothing is in flight; None where writes overlapped.
    pub fn check(&self, account: u32) -> Option<[Vec<u8>; 4]> {
        let Last::Write(number) = self.writes.last(account) else { return None };
        let stamp = stamp(number).to_vec();
        Some([AVAILABLE.into(), HELD.into(), CONSUMED.into(), stamp])
    }

    fn append(&mut self, account: u32, out: &mut Vec<u8>) {
        let number = self.writes.begin(account);
        self.template.append(out, &account_text(account), &stamp(number));
    }
}

impl Workload for HashFieldsWorkload {
    fn operations(&self) -> &[String] {
        &self.operations
    }

    #[inline]
    fn emit(&mut self, session: u32, out: &mut Vec<u8>) -> u8 {
        let account = self.random.below(self.writes.keys());
        self.append(account, out);
        self.in_flight[session as usize] = account;
        0
    }

    fn emit_closing(&mut self, _session: u32, _out: &mut Vec<u8>) -> Option<u8> {
        None
    }

    #[inline]
    fn accept(&mut self, session: u32, bytes: &[u8]) -> Result<usize, Stop> {
        let length = skip(bytes)?;
        if bytes.first() != Some(&b':') {
            self.errors.add(bytes);
        }
        self.writes.end(self.in_flight[session as usize]);
        Ok(length)
    }

    fn errors(&self) -> &ErrorTally {
        &self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_write_is_expected_and_overlapping_ones_are_not_known() {
        let mut workload = HashFieldsWorkload::new(1, 2, 1);
        let mut out = Vec::new();
        workload.append_first(0, &mut out);
        assert!(out.starts_with(b"*10\r\n$4\r\nHSET\r\n$11\r\nacc:0000000\r\n"));
        assert_eq!(workload.check(0).unwrap()[3], b"00000001");
        workload.emit(0, &mut out);
        workload.accept(0, b":0\r\n").unwrap();
        assert_eq!(workload.check(0).unwrap()[3], b"00000002");
        workload.emit(0, &mut out);
        workload.emit(1, &mut out);
        workload.accept(0, b":0\r\n").unwrap();
        workload.accept(1, b"-OOM no\r\n").unwrap();
        assert_eq!(workload.check(0), None);
        assert_eq!(workload.errors().count, 1);
    }
}
