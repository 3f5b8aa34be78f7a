//! `scurry report denied`: requests for units that were denied, each with its cause in words, or counted.

use super::answer::{Answer, Form, Rows, Value};
use super::period::{Period, PeriodOptions};
use super::source::{SourceOptions, about};
use super::{AccountChoice, ensure_groups};
use anyhow::Result;
use clap::{Args, ValueEnum};
use scurry_ship::Record;
use std::collections::BTreeMap;

/// Denials that are listed if `--top` says no other number.
const TOP: usize = 1_000;

#[derive(Args, Debug)]
pub(crate) struct Denied {
    #[command(flatten)]
    source: SourceOptions,

    #[command(flatten)]
    period: PeriodOptions,

    #[command(flatten)]
    accounts: AccountChoice,

    /// Count the denials by these columns, with commas between [default: list each denial]
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    by: Vec<By>,

    /// Show so many rows at most: the newest denials [default: 1000], or the largest counts [default: all]
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Form of the answer
    #[arg(long, value_name = "FORM", default_value = "table")]
    format: Form,
}

/// What the rows are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Account id
    Account,
    /// Cause, for example `balance` or `limit daily`
    Cause,
    /// Code of the answer
    Code,
    /// Date in the zone
    Day,
    /// Key of the item
    Item,
}

/// Denials of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    times: i128,
    requested: i128,
}

impl Count {
    fn of_event(event: &Record) -> Count {
        // A command has a bounded number of events of denials, and the last one says how many more there were.
        let times = 1 + i128::from(event.left_out.unwrap_or(0));
        Count { times, requested: i128::from(event.requested.unwrap_or(0)) }
    }

    fn add(&mut self, other: Count) {
        self.times += other.times;
        self.requested += other.requested;
    }

    fn values(self) -> [Value; 2] {
        [self.times, self.requested].map(Value::Number)
    }
}

const LISTED: [&str; 11] = [
    "time",
    "account",
    "session",
    "transaction",
    "item",
    "unit",
    "requested",
    "code",
    "cause",
    "meaning",
    "allowed_at",
];
const COUNTS: [&str; 2] = ["times", "requested"];

/// Denials as they are found.
#[derive(Debug, Default)]
struct Found {
    /// The newest ones, by time and order.
    listed: BTreeMap<(i64, u64), Record>,
    groups: BTreeMap<Vec<String>, Count>,
    totals: BTreeMap<String, Count>,
    seen: u64,
}

impl Denied {
    pub(crate) fn run(self) -> Result<()> {
        let period = self.period.period()?;
        let mut found = Found::default();
        let source = self.source.open()?;
        let coverage = source.each(&["denied"], period.from, &mut |event| {
            let is_denial = event.event == "denied";
            if !is_denial || !period.has(event.time_ms) || !self.accounts.has(event) {
                return Ok(());
            }
            self.take(event, &period, &mut found)
        })?;
        let (rows, left_out) = match self.by.is_empty() {
            true => self.list(&period, &found),
            false => self.counted(&found),
        };
        let mut totals = Rows::new(&[&["unit"][..], &COUNTS].concat());
        totals.rows.extend(
            found.totals.into_iter().map(|(unit, count)| {
                [Value::Text(unit)].into_iter().chain(count.values()).collect()
            }),
        );
        let answer = Answer {
            about: about("denied", &coverage, &period),
            rows,
            totals,
            left_out,
            missing: coverage.missing(&period),
            zone: period.zone,
        };
        answer.print(self.format);
        Ok(())
    }

    fn take(&self, event: &Record, period: &Period, found: &mut Found) -> Result<()> {
        let unit = event.unit.clone().unwrap_or_default();
        found.totals.entry(unit.clone()).or_default().add(Count::of_event(event));
        found.seen += 1;
        if self.by.is_empty() {
            found.listed.insert((event.time_ms, found.seen), event.clone());
            if found.listed.len() > self.top.unwrap_or(TOP) {
                found.listed.pop_first();
            }
            return Ok(());
        }
        let key = self.by.iter().map(|by| by.of(event, period)).chain([unit]).collect();
        found.groups.entry(key).or_default().add(Count::of_event(event));
        ensure_groups(found.groups.len())
    }

    fn list(&self, period: &Period, found: &Found) -> (Rows, usize) {
        let mut rows = Rows::new(&LISTED);
        rows.rows.extend(found.listed.values().map(|event| row(event, period)));
        let left_out = usize::try_from(found.seen).unwrap_or(usize::MAX) - found.listed.len();
        (rows, left_out)
    }

    fn counted(&self, found: &Found) -> (Rows, usize) {
        let names: Vec<&'static str> = self.by.iter().map(|by| by.name()).collect();
        let mut rows = Rows::new(&[&names[..], &["unit"], &COUNTS].concat());
        let mut groups: Vec<(&Vec<String>, &Count)> = found.groups.iter().collect();
        groups.sort_by(|(key, count), (other, more)| (more.times, key).cmp(&(count.times, other)));
        let shown = self.top.unwrap_or(usize::MAX).min(groups.len());
        rows.rows.extend(groups[..shown].iter().map(|(key, count)| {
            key.iter().cloned().map(Value::Text).chain(count.values()).collect()
        }));
        (rows, groups.len() - shown)
    }
}

/// Returns a denial with its cause in words.
fn row(event: &Record, period: &Period) -> Vec<Value> {
    let text = |text: &Option<String>| Value::of_text(text.clone());
    vec![
        Value::Time(event.time_ms),
        Value::Text(event.account.clone()),
        text(&event.session),
        text(&event.transaction),
        text(&event.item),
        text(&event.unit),
        Value::of_number(event.requested),
        text(&event.code),
        text(&event.cause),
        Value::Text(meaning(event, period)),
        Value::of_time(event.allowed_at),
    ]
}

/// Returns in words why a request was denied.
pub(crate) fn meaning(event: &Record, period: &Period) -> String {
    let cause = event.cause.as_deref().unwrap_or_default();
    let (word, name) = cause.split_once(' ').unwrap_or((cause, ""));
    let unit = event.unit.as_deref().filter(|unit| !unit.is_empty()).unwrap_or("the unit");
    match word {
        "balance" => format!("the buckets of {unit} had less than was requested"),
        "no_bucket" => format!("the account had no bucket of {unit}"),
        "bucket" => format!("the bucket {name} had less than was requested"),
        "limit" => match event.allowed_at {
            Some(time) => format!("the limit {name} was reached, until {}", period.text(time)),
            None => format!("the limit {name} was reached"),
        },
        "chain" => "another command of the same chain was denied".to_owned(),
        "items" => "the session had as many items as it may have".to_owned(),
        "status" => "the account was suspended or closed".to_owned(),
        "" => "the store recorded no cause".to_owned(),
        _ => format!("the cause was {cause}"),
    }
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Account => "account",
            By::Cause => "cause",
            By::Code => "code",
            By::Day => "day",
            By::Item => "item",
        }
    }

    fn of(self, event: &Record, period: &Period) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        match self {
            By::Account => event.account.clone(),
            By::Cause => text(&event.cause),
            By::Code => text(&event.code),
            By::Day => period.date(event.time_ms),
            By::Item => text(&event.item),
        }
    }
}
