//! `scurry report holds`: open holds of all accounts by their age, or summed.

use super::AccountChoice;
use super::answer::{Answer, Form, Rows, Value};
use super::coverage::Coverage;
use super::event_balances::EventBalances;
use super::event_holds::EventHolds;
use super::hold::Hold;
use super::period::PeriodOptions;
use super::source::{SourceOptions, about};
use super::state_of_backup::each_account;
use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use scurry_ledger::SessionPage;
use scurry_service::HoldsView;
use scurry_tables::text_of;
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

#[derive(Args, Debug)]
pub(crate) struct Holds {
    #[command(flatten)]
    source: SourceOptions,

    /// Only holds of sessions that were opened longer ago, for example 90s, 30m, 1h or 2d, at the time of the last commit
    #[arg(long, value_name = "SPAN", default_value = "0s", hide_default_value = true)]
    older: Span,

    #[command(flatten)]
    accounts: AccountChoice,

    /// Sum the holds by these columns, with commas between [default: list each hold]
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    by: Vec<By>,

    /// Show so many rows at most; the totals are of all
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Time zone in which times are shown
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,

    /// Form of the answer
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Form,
}

/// What the rows are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Account id
    Account,
    /// Key of the item
    Item,
    /// Unit alone
    Unit,
}

/// A span of time, ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span(i64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let wrong = || format!("{text:?} is no span of time: write 90s, 30m, 1h or 2d");
        let (number, unit) = text.split_at(text.len().saturating_sub(1));
        let ms = match unit {
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(wrong()),
        };
        number.parse::<u32>().map(|number| Span(i64::from(number) * ms)).map_err(|_| wrong())
    }
}

/// Holds of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    holds: i128,
    amount: i128,
    oldest: Option<i64>,
}

impl Sum {
    fn add(&mut self, hold: &Hold) {
        self.holds += 1;
        self.amount += i128::from(hold.amount);
        self.oldest = Some(self.oldest.map_or(hold.opened, |oldest| oldest.min(hold.opened)));
    }

    fn values(self) -> [Value; 3] {
        [Value::Number(self.holds), Value::Number(self.amount), Value::of_time(self.oldest)]
    }
}

const LISTED: [&str; 8] =
    ["account", "session", "item", "unit", "bucket", "amount", "opened", "open_s"];
const SUMS: [&str; 3] = ["holds", "amount", "oldest"];

impl Holds {
    pub(crate) fn run(self) -> Result<()> {
        let period = PeriodOptions::of_zone(&self.zone).period()?;
        let (mut holds, coverage, missing) = match &self.source.backup {
            Some(backup) => self.of_backup(backup)?,
            None => self.of_events()?,
        };
        let at = coverage.last.unwrap_or(0);
        holds.retain(|hold| {
            let is_chosen =
                self.accounts.has_account(&hold.account) && self.accounts.has_unit(&hold.unit);
            is_chosen && (self.older == Span(0) || hold.opened < at - self.older.0)
        });
        holds.sort_by(|a, b| {
            let key = |hold: &Hold| (hold.opened, hold.account.clone(), hold.session.clone());
            key(a).cmp(&key(b)).then_with(|| (&a.item, &a.bucket).cmp(&(&b.item, &b.bucket)))
        });
        let mut totals: BTreeMap<String, Sum> = BTreeMap::new();
        holds.iter().for_each(|hold| totals.entry(hold.unit.clone()).or_default().add(hold));
        let (rows, left_out) = match self.by.is_empty() {
            true => self.list(&holds, at),
            false => self.summed(&holds),
        };
        let mut sums = Rows::new(&[&["unit"][..], &SUMS].concat());
        sums.rows.extend(
            totals
                .into_iter()
                .map(|(unit, sum)| [Value::Text(unit)].into_iter().chain(sum.values()).collect()),
        );
        let answer = Answer {
            about: about("holds", &coverage, &period),
            rows,
            totals: sums,
            left_out,
            missing,
            zone: period.zone,
        };
        answer.print(self.format);
        Ok(())
    }

    fn list(&self, holds: &[Hold], at: i64) -> (Rows, usize) {
        let shown = self.top.unwrap_or(usize::MAX).min(holds.len());
        let mut rows = Rows::new(&LISTED);
        rows.rows.extend(holds[..shown].iter().map(|hold| {
            let texts = [&hold.account, &hold.session, &hold.item, &hold.unit, &hold.bucket];
            let texts = texts.map(|text| Value::Text(text.clone())).into_iter();
            let open_s = (at - hold.opened).max(0) / 1_000;
            let ends = [
                Value::Number(hold.amount.into()),
                Value::Time(hold.opened),
                Value::Number(open_s.into()),
            ];
            texts.chain(ends).collect()
        }));
        (rows, holds.len() - shown)
    }

    fn summed(&self, holds: &[Hold]) -> (Rows, usize) {
        let columns: Vec<By> = self.by.iter().copied().filter(|by| *by != By::Unit).collect();
        let names: Vec<&'static str> = columns.iter().map(|by| by.name()).collect();
        let mut groups: BTreeMap<Vec<String>, Sum> = BTreeMap::new();
        for hold in holds {
            let key = columns.iter().map(|by| by.of(hold)).chain([hold.unit.clone()]).collect();
            groups.entry(key).or_default().add(hold);
        }
        let mut groups: Vec<(Vec<String>, Sum)> = groups.into_iter().collect();
        groups.sort_by(|(key, sum), (other, more)| (more.amount, key).cmp(&(sum.amount, other)));
        let shown = self.top.unwrap_or(usize::MAX).min(groups.len());
        let mut rows = Rows::new(&[&names[..], &["unit"], &SUMS].concat());
        rows.rows.extend(
            groups[..shown].iter().map(|(key, sum)| {
                key.iter().cloned().map(Value::Text).chain(sum.values()).collect()
            }),
        );
        (rows, groups.len() - shown)
    }

    fn of_backup(&self, backup: &Path) -> Result<(Vec<Hold>, Coverage, Vec<String>)> {
        let mut holds = Vec::new();
        let state = each_account(backup, &mut |id, account| {
            let page = SessionPage { after: b"", count: usize::MAX };
            for hold in HoldsView::of_account(account, &page).holds {
                holds.push(Hold {
                    account: text_of(id).into_owned(),
                    session: text_of(hold.session.as_bytes()).into_owned(),
                    item: hold.key.to_string(),
                    unit: hold.unit.as_str().to_owned(),
                    bucket: hold.bucket.as_str().to_owned(),
                    amount: hold.amount,
                    opened: hold.opened.0,
                });
            }
            super::ensure_groups(holds.len())
        })?;
        let mut coverage = Coverage::of_store(state.store);
        coverage.last = Some(state.at.0);
        Ok((holds, coverage, Vec::new()))
    }

    fn of_events(&self) -> Result<(Vec<Hold>, Coverage, Vec<String>)> {
        let (mut holds, mut balances) = (EventHolds::default(), EventBalances::default());
        let coverage = self.source.open()?.each(&[], None, &mut |event| {
            holds.see(event);
            balances.see(event);
            super::ensure_groups(balances.len())
        })?;
        let mut missing = coverage.missing_of_state(&PeriodOptions::of_zone(&self.zone).period()?);
        missing.extend(balances.faults());
        let holds = holds.all();
        let is_sound = missing.is_empty();
        ensure!(
            !is_sound || holds.iter().all(|hold| hold.amount > 0),
            "the events hold less than nothing: report this"
        );
        Ok((holds, coverage, missing))
    }
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Account => "account",
            By::Item => "item",
            By::Unit => "unit",
        }
    }

    fn of(self, hold: &Hold) -> String {
        match self {
            By::Account => hold.account.clone(),
            By::Item => hold.item.clone(),
            By::Unit => hold.unit.clone(),
        }
    }
}
