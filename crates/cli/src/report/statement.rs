//! `scurry report statement`: everything that happened to accounts in a period, with opening and closing balances. All
//! accounts are found in one pass over the events.

use super::answer::{Answer, Form, Rows, Value};
use super::period::PeriodOptions;
use super::source::{SourceOptions, about};
use super::statement_accounts::{AccountStatement, COLUMNS};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// Most entries of a report, some hundred bytes of memory each.
const ENTRIES_MAX: usize = 500_000;
/// Accounts that a line about several of them names.
const NAMED_MAX: usize = 5;

#[derive(Args, Debug)]
pub(crate) struct Statement {
    /// Accounts
    #[arg(value_name = "ACCOUNT")]
    accounts: Vec<String>,

    /// Also the accounts of this file, an id on each line
    #[arg(long, value_name = "FILE")]
    accounts_file: Option<PathBuf>,

    /// Also all accounts whose ids begin so; of all accounts with an empty text
    #[arg(long, value_name = "TEXT")]
    account_prefix: Option<String>,

    #[command(flatten)]
    source: SourceOptions,

    #[command(flatten)]
    period: PeriodOptions,

    /// Form of the answer
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Form,
}

impl Statement {
    pub(crate) fn run(self) -> Result<()> {
        let named = self.named()?;
        ensure!(
            !named.is_empty() || self.account_prefix.is_some(),
            "no account is given: name some, or give --accounts-file or --account-prefix"
        );
        let period = self.period.period()?;
        let mut statements: BTreeMap<String, AccountStatement> = BTreeMap::new();
        let mut entries = 0;
        let coverage = self.source.open()?.each(&[], None, &mut |event| {
            if period.to.is_some_and(|to| event.time_ms >= to) {
                return Ok(());
            }
            if event.event == "cleared" {
                statements.clear();
            }
            let id = &event.account;
            let is_prefixed = |prefix: &String| id.starts_with(prefix);
            let is_chosen = named.contains(id) || self.account_prefix.as_ref().is_some_and(is_prefixed);
            if id.is_empty() || !is_chosen {
                return Ok(());
            }
            entries += statements.entry(id.clone()).or_default().see(event, &period);
            super::ensure_groups(statements.len())?;
            ensure!(
                entries <= ENTRIES_MAX,
                "the statements have more than {ENTRIES_MAX} entries: choose fewer accounts or a shorter period"
            );
            Ok(())
        })?;
        let mut missing = coverage.missing(&period);
        let without = |found: &&String| !statements.contains_key(*found);
        missing.extend(line_of(named.iter().filter(without), "have no event"));
        let is_unknown = |(_, of): &(&String, &AccountStatement)| of.unknown().is_some();
        let unknown = statements.iter().filter(is_unknown).map(|(id, _)| id);
        missing.extend(line_of(unknown, "have buckets whose opening balance no event tells"));
        let ends = (period.from, period.to.or(coverage.last));
        let mut totals = Rows::new(&["accounts", "entries"]);
        totals
            .rows
            .push(vec![Value::Number(statements.len() as i128), Value::Number(entries as i128)]);
        let mut rows = Rows::new(&COLUMNS);
        for (id, statement) in statements {
            rows.rows.extend(statement.rows(&id, ends));
        }
        let about = about("statement", &coverage, &period);
        let answer = Answer { about, rows, totals, left_out: 0, missing, zone: period.zone };
        answer.print(self.format);
        Ok(())
    }

    /// Returns the accounts that are named.
    fn named(&self) -> Result<BTreeSet<String>> {
        let mut named: BTreeSet<String> = self.accounts.iter().cloned().collect();
        if let Some(path) = &self.accounts_file {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read the accounts of {}", path.display()))?;
            named.extend(text.lines().filter(|line| !line.is_empty()).map(str::to_owned));
        }
        Ok(named)
    }
}

/// Returns a line about accounts, which names some of them. None if there is none.
fn line_of<'a>(accounts: impl Iterator<Item = &'a String>, what: &str) -> Option<String> {
    let all: Vec<&str> = accounts.map(String::as_str).collect();
    let named = all.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!all.is_empty()).then(|| format!("these accounts {what}: {named}{more}"))
}
