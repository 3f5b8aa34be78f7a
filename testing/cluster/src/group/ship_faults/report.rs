//! What a run did and found, as text.

use std::collections::BTreeMap;
use std::fmt;

/// The numbers of a run in which nothing was wrong.
#[derive(Clone, Debug, Default)]
pub struct ShipReport {
    /// Rounds of each fault, and how long they took, ms.
    pub(super) faults: BTreeMap<String, Vec<i64>>,
    /// Requests that were answered, and how many of them with an error.
    pub answers: [u64; 2],
    /// Events that the store tells.
    pub events: u64,
    /// Accounts at the end.
    pub accounts: u64,
    /// Accounts that were deleted.
    pub deleted: u64,
    /// Usage records.
    pub records: u64,
    /// Files of events and of usage records.
    pub files: u64,
    /// Starts of shippers and of the broker.
    pub starts: u64,
    /// What the accounts of the end have consumed, minor units.
    pub consumed: i128,
    /// How long load and faults took, and the audit after them, s.
    pub seconds: [i64; 2],
    /// Why some faults were left out.
    pub left_out: Option<String>,
}

impl ShipReport {
    pub(super) fn note(&mut self, fault: String, ms: i64) {
        self.faults.entry(fault).or_default().push(ms);
    }

    /// Returns how many rounds there were.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.faults.values().map(Vec::len).sum()
    }
}

impl fmt::Display for ShipReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| fault | rounds | mean, s | longest, s |\n|---|---|---|---|")?;
        for (fault, ms) in &self.faults {
            let (count, sum) = (ms.len(), ms.iter().sum::<i64>() as f64);
            let longest = ms.iter().max().copied().unwrap_or(0) as f64 / 1e3;
            let mean = sum / count.max(1) as f64 / 1e3;
            writeln!(f, "| {fault} | {count} | {mean:.1} | {longest:.1} |")?;
        }
        if let Some(why) = &self.left_out {
            writeln!(f, "no network was cut and no disk filled: {why}")?;
        }
        let [answers, refusals] = self.answers;
        let [load, audit] = self.seconds;
        writeln!(f, "requests answered: {answers}, of them {refusals} with an error")?;
        writeln!(
            f,
            "events: {}, in files and in streams each once, as three nodes tell them; usage records: {}; files: {}; starts \
             of shippers and broker: {}",
            self.events, self.records, self.files, self.starts
        )?;
        writeln!(
            f,
            "accounts: {}, and {} deleted ones; balances rebuilt from files and from streams are those of SCUR.GET; records \
             sum up to the {} units consumed",
            self.accounts, self.deleted, self.consumed
        )?;
        writeln!(f, "time: {load} s of load and faults, {audit} s of audits")
    }
}
