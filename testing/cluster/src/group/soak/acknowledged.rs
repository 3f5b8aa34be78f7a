//! What the load was told: for each account the units of its acknowledged charges. The store must show the same.

use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::{array, entry, int};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// First credit of each account, more than it ever uses.
pub(crate) const CREDIT: i64 = 1_000_000_000_000;
/// Fields of a bucket in the reply to AUDIT.
const BUCKET_LEN: usize = 10;

/// Units of acknowledged charges by account.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    units: Vec<u32>,
}

/// Findings of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Findings {
    /// Accounts that were compared.
    pub(crate) accounts: u64,
    /// Acknowledged units that accounts do not show.
    pub(crate) lost: u64,
    /// Units that accounts show and that no acknowledged charge explains.
    pub(crate) twice: u64,
    /// Text about the first account that is wrong.
    pub(crate) first: Option<String>,
}

impl Acknowledged {
    /// Makes counts of accounts that have used nothing.
    pub(crate) fn new(accounts: u32) -> Acknowledged {
        Acknowledged { units: vec![0; accounts as usize] }
    }

    /// Returns the number of accounts.
    pub(crate) fn accounts(&self) -> u32 {
        u32::try_from(self.units.len()).unwrap_or(u32::MAX)
    }

    /// Adds an acknowledged charge.
    pub(crate) fn add(&mut self, account: u32, units: u32) -> Result<()> {
        let of = &mut self.units[account as usize];
        *of = of.checked_add(units).context("an account has used more than can be counted here")?;
        Ok(())
    }

    /// Returns what an account has used.
    pub(crate) fn of(&self, account: u32) -> u32 {
        self.units[account as usize]
    }

    /// Returns the units of all accounts.
    pub(crate) fn total(&self) -> u64 {
        self.units.iter().map(|units| u64::from(*units)).sum()
    }

    /// Reads counts that [`Acknowledged::write`] wrote.
    pub(crate) fn read(path: &Path) -> Result<Acknowledged> {
        let bytes = fs::read(path).with_context(|| format!("{}", path.display()))?;
        let (words, rest) = bytes.as_chunks::<4>();
        ensure!(rest.is_empty(), "{} is cut short", path.display());
        Ok(Acknowledged { units: words.iter().map(|word| u32::from_le_bytes(*word)).collect() })
    }

    /// Writes the counts, as 32 bits for each account.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let bytes: Vec<u8> = self.units.iter().flat_map(|units| units.to_le_bytes()).collect();
        fs::write(path, bytes).with_context(|| format!("{}", path.display()))
    }

    /// Compares the replies to AUDIT of the accounts from `first` on. Fails if one is broken in another way than by
    /// charges that are lost or were made twice.
    pub(crate) fn judge(&self, first: u32, replies: &[Value]) -> Result<Findings> {
        let mut findings = Findings::default();
        for (account, reply) in (first..).zip(replies) {
            let used = used(reply).with_context(|| format!("a{account}: {reply}"))?;
            let told = i128::from(self.of(account));
            findings.accounts += 1;
            findings.lost += u64::try_from(told - used).unwrap_or(0);
            findings.twice += u64::try_from(used - told).unwrap_or(0);
            if used != told && findings.first.is_none() {
                findings.first = Some(format!("a{account} shows {used}, acknowledged are {told}"));
            }
        }
        Ok(findings)
    }
}

/// Returns the units that an account has used, by the reply to AUDIT. Fails if its sums are not those of an account
/// that was credited once and charged.
fn used(audit: &Value) -> Result<i128> {
    ensure!(*entry(audit, "ok")? == Value::Int(1), "the audit finds it broken");
    let [bucket] = array(entry(audit, "buckets")?)? else { bail!("it has not one bucket") };
    let fields = array(bucket)?;
    ensure!(fields.len() == BUCKET_LEN, "a bucket of another shape");
    let sums = fields[2..].iter().map(int).collect::<Result<Vec<i128>>>()?;
    let [available, held, credited, refunded, used, expired, voided, overdrawn] = sums[..] else {
        bail!("a bucket of another shape");
    };
    let credit = i128::from(CREDIT);
    let is_right = credited == credit
        && available == credit - used
        && [held, refunded, expired, voided, overdrawn] == [0; 5];
    ensure!(is_right, "it has other sums than one that was only charged");
    Ok(used)
}

impl Findings {
    /// Adds the findings about other accounts.
    pub(crate) fn add(&mut self, other: Findings) {
        self.accounts += other.accounts;
        self.lost += other.lost;
        self.twice += other.twice;
        self.first = self.first.take().or(other.first);
    }

    /// Fails if units are lost or were charged twice.
    pub(crate) fn ensure_none(&self) -> Result<()> {
        let Findings { accounts, lost, twice, first } = self;
        ensure!(
            *lost == 0 && *twice == 0,
            "of {accounts} accounts: units lost {lost}, charged twice {twice}; {}",
            first.as_deref().unwrap_or_default()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_crash::wire::words;
    use tempfile::TempDir;

    /// Returns the reply to AUDIT of an account that has used and holds this.
    fn audit(used: i64, held: i64) -> Value {
        let sums = [CREDIT - used - held, held, CREDIT, 0, used, 0, 0, 0];
        let names = words("main cent").into_iter().map(Value::Word);
        let bucket = names.chain(sums.map(|sum| Value::Int(sum.into()))).collect();
        let entries =
            [("ok", Value::Int(1)), ("buckets", Value::Array(vec![Value::Array(bucket)]))];
        let word = |text: &str| Value::Word(text.as_bytes().to_vec());
        Value::Map(entries.into_iter().map(|(name, value)| (word(name), value)).collect())
    }

    #[test]
    fn one_charge_that_is_missing_or_was_made_twice_fails_the_audit() {
        let mut told = Acknowledged::new(3);
        for (account, units) in [(0, 7), (1, 5), (1, 9)] {
            told.add(account, units).expect("it fits");
        }
        let judge = |second: i64| {
            told.judge(0, &[audit(7, 0), audit(second, 0), audit(0, 0)]).expect("sums of accounts")
        };
        assert_eq!(judge(14), Findings { accounts: 3, ..Findings::default() });
        judge(14).ensure_none().expect("it is exact");
        for (second, lost, twice) in [(5, 9, 0), (9, 5, 0), (19, 0, 5), (23, 0, 9)] {
            let found = judge(second);
            assert_eq!((found.lost, found.twice), (lost, twice));
            let said = found.ensure_none().expect_err("it is not exact").to_string();
            assert!(said.contains(&format!("a1 shows {second}, acknowledged are 14")), "{said}");
        }
    }

    #[test]
    fn an_account_that_holds_something_or_is_broken_fails_the_audit() {
        let told = Acknowledged::new(1);
        told.judge(0, &[audit(0, 3)]).expect_err("a hold is left");
        let Value::Map(mut entries) = audit(0, 0) else { panic!("a map") };
        entries[0].1 = Value::Int(0);
        told.judge(0, &[Value::Map(entries)]).expect_err("it is broken");
        told.judge(0, &[Value::Error("UNKNOWN_ACCOUNT 20".to_owned())]).expect_err("it is absent");
    }

    #[test]
    fn a_later_piece_reads_what_an_earlier_one_wrote() {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("acknowledged");
        let mut told = Acknowledged::new(2);
        told.add(1, 70_000).expect("it fits");
        told.write(&path).expect("written");
        assert_eq!(Acknowledged::read(&path).expect("read"), told);
        assert_eq!((told.of(1), told.total(), told.accounts()), (70_000, 70_000, 2));
        told.add(1, u32::MAX).expect_err("it does not fit");
        assert_eq!(told.of(1), 70_000);
    }
}
