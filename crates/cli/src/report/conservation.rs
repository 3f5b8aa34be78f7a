//! `scurry report conservation`: whether the sums of each unit agree, as SCUR.TOTALS has them.

use super::AccountChoice;
use super::answer::{Answer, Form, Rows, Value};
use super::coverage::Coverage;
use super::event_balances::{EventBalances, Sums};
use super::period::Period;
use super::source::{SourceOptions, about};
use super::state_of_backup::each_account;
use anyhow::{Result, ensure};
use clap::Args;
use scurry_ledger::{Account, Zone};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Args, Debug)]
pub(crate) struct Conservation {
    #[command(flatten)]
    source: SourceOptions,

    #[command(flatten)]
    accounts: AccountChoice,

    /// Form of the answer
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Form,
}

const COLUMNS: [&str; 9] = [
    "unit",
    "available",
    "held",
    "credited",
    "refunded",
    "consumed",
    "expired",
    "voided",
    "conserves",
];
/// The sums of all time: a report of the state has no period.
const ALWAYS: Period = Period { from: None, to: None, zone: Zone::UTC };

/// Sums of each unit, and what they are of.
struct Found {
    units: BTreeMap<String, Sums>,
    /// Buckets whose own sums do not agree.
    faulty: Vec<String>,
    coverage: Coverage,
    missing: Vec<String>,
}

impl Conservation {
    pub(crate) fn run(self) -> Result<()> {
        let Found { units, faulty, coverage, missing } = match &self.source.backup {
            Some(backup) => self.of_backup(backup)?,
            None => self.of_events()?,
        };
        let is_chosen = |unit: &&String| self.accounts.has_unit(unit);
        let mut rows = Rows::new(&COLUMNS);
        for (unit, sums) in units.iter().filter(|(unit, _)| is_chosen(unit)) {
            let numbers = [
                sums.available,
                sums.held,
                sums.credited,
                sums.refunded,
                sums.consumed,
                sums.expired,
                sums.voided,
            ];
            let numbers = numbers.map(Value::Number);
            let ends = [Value::Bool(sums.conserves())];
            rows.rows
                .push([Value::Text(unit.clone())].into_iter().chain(numbers).chain(ends).collect());
        }
        let conserves = faulty.is_empty() && units.values().all(Sums::conserves);
        let mut totals = Rows::new(&["units", "conserves"]);
        totals.rows.push(vec![Value::Number(rows.rows.len() as i128), Value::Bool(conserves)]);
        let is_complete = missing.is_empty();
        let answer = Answer {
            about: about("conservation", &coverage, &ALWAYS),
            rows,
            totals,
            left_out: 0,
            missing,
            zone: ALWAYS.zone,
        };
        answer.print(self.format);
        let first =
            faulty.first().map(|bucket| format!(", the first in {bucket}")).unwrap_or_default();
        ensure!(
            conserves || !is_complete,
            "the sums do not agree{first}: keep a backup of this data, and report this"
        );
        Ok(())
    }

    fn of_backup(&self, backup: &Path) -> Result<Found> {
        let mut units: BTreeMap<String, Sums> = BTreeMap::new();
        let mut faulty = Vec::new();
        let state = each_account(backup, &mut |id, account: &Account| {
            let id = scurry_tables::text_of(id);
            if !self.accounts.has_account(&id) {
                return Ok(());
            }
            for bucket in &account.buckets {
                let sums = Sums {
                    available: bucket.available.into(),
                    held: bucket.held.into(),
                    credited: bucket.credited.into(),
                    refunded: bucket.refunded.into(),
                    consumed: bucket.consumed.into(),
                    expired: bucket.expired.into(),
                    voided: bucket.voided.into(),
                };
                if !sums.conserves() && faulty.len() < 10 {
                    faulty.push(format!("{} of {id}", bucket.id.as_str()));
                }
                units.entry(bucket.unit.as_str().to_owned()).or_default().add(&sums);
            }
            Ok(())
        })?;
        let mut coverage = Coverage::of_store(state.store);
        coverage.last = Some(state.at.0);
        Ok(Found { units, faulty, coverage, missing: Vec::new() })
    }

    fn of_events(&self) -> Result<Found> {
        let mut balances = EventBalances::default();
        let coverage = self.source.open()?.each(&[], None, &mut |event| {
            // An event of the whole store has no account.
            if event.account.is_empty() || self.accounts.has_account(&event.account) {
                balances.see(event);
            }
            super::ensure_groups(balances.len())
        })?;
        let mut missing = coverage.missing_of_state(&ALWAYS);
        missing.extend(balances.faults());
        Ok(Found { units: balances.units(), faulty: Vec::new(), coverage, missing })
    }
}
