//! `scurry report spend`: what was used, by account, item, session, bucket or day.

use super::answer::{Answer, Form, Rows, Value};
use super::period::{Period, PeriodOptions};
use super::source::{SourceOptions, about, with_removals};
use super::{AccountChoice, ensure_groups};
use anyhow::Result;
use clap::{Args, ValueEnum};
use scurry_ship::Record;
use std::collections::BTreeMap;

#[derive(Args, Debug)]
pub(crate) struct Spend {
    #[command(flatten)]
    source: SourceOptions,

    #[command(flatten)]
    period: PeriodOptions,

    #[command(flatten)]
    accounts: AccountChoice,

    /// What the rows are of; the unit is always one of the columns. Several with commas between
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',', default_value = "account")]
    by: Vec<By>,

    /// Show so many rows of each unit at most, those with the largest amounts; the totals are of all
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
    /// Name of the bucket
    Bucket,
    /// Date in the zone
    Day,
    /// Key of the item
    Item,
    /// Session id, with its account
    Session,
    /// Unit alone
    Unit,
}

/// Sums of a group, in minor units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    spent: i128,
    refunded: i128,
    uncollected: i128,
}

impl Sums {
    /// Adds an event. Returns None if it is none of use.
    fn of_event(event: &Record) -> Option<Sums> {
        let amount = i128::from(event.amount.unwrap_or(0));
        let none = Sums::default();
        match event.event.as_str() {
            "settled" | "debited" | "overdrawn" => Some(Sums { spent: amount, ..none }),
            "refunded" | "refunded-expired" => Some(Sums { refunded: amount, ..none }),
            "uncollected" => Some(Sums { uncollected: amount, ..none }),
            "late-use" => {
                let uncollected = i128::from(event.uncollected.unwrap_or(0));
                Some(Sums { uncollected, ..none })
            }
            _ => None,
        }
    }

    fn add(&mut self, other: Sums) {
        self.spent += other.spent;
        self.refunded += other.refunded;
        self.uncollected += other.uncollected;
    }

    fn values(self) -> [Value; 3] {
        [self.spent, self.refunded, self.uncollected].map(Value::Number)
    }
}

const NAMES: [&str; 7] =
    ["settled", "debited", "overdrawn", "refunded", "refunded-expired", "uncollected", "late-use"];
const SUMS: [&str; 3] = ["spent", "refunded", "uncollected"];

impl Spend {
    pub(crate) fn run(self) -> Result<()> {
        let period = self.period.period()?;
        let columns = self.columns();
        let mut groups: BTreeMap<Vec<String>, Sums> = BTreeMap::new();
        let source = self.source.open()?;
        let coverage = source.each(&with_removals(&NAMES), period.from, &mut |event| {
            if !period.has(event.time_ms) || !self.accounts.has(event) {
                return Ok(());
            }
            let Some(sums) = Sums::of_event(event).filter(|sums| *sums != Sums::default()) else {
                return Ok(());
            };
            let key = columns.iter().map(|column| column.of(event, &period));
            let key = key.chain([event.unit.clone().unwrap_or_default()]).collect();
            groups.entry(key).or_default().add(sums);
            ensure_groups(groups.len())
        })?;
        let mut totals: BTreeMap<String, Sums> = BTreeMap::new();
        for (key, sums) in &groups {
            totals.entry(key.last().cloned().unwrap_or_default()).or_default().add(*sums);
        }
        let names: Vec<&'static str> = columns.iter().map(|column| column.name()).collect();
        let mut rows = Rows::new(&[&names[..], &["unit"], &SUMS].concat());
        let count = groups.len();
        for (key, sums) in self.shown(groups) {
            rows.rows.push(key.into_iter().map(Value::Text).chain(sums.values()).collect());
        }
        let mut sums = Rows::new(&[&["unit"][..], &SUMS].concat());
        sums.rows.extend(
            totals
                .into_iter()
                .map(|(unit, sums)| [Value::Text(unit)].into_iter().chain(sums.values()).collect()),
        );
        let left_out = count - rows.rows.len();
        let answer = Answer {
            about: about("spend", &coverage, &period),
            rows,
            totals: sums,
            left_out,
            missing: coverage.missing(&period),
            zone: period.zone,
        };
        answer.print(self.format);
        Ok(())
    }

    /// Returns the groups of each unit, those with the largest amounts first, and days in the order of the calendar.
    fn shown(&self, groups: BTreeMap<Vec<String>, Sums>) -> Vec<(Vec<String>, Sums)> {
        let mut units: BTreeMap<String, Vec<(Vec<String>, Sums)>> = BTreeMap::new();
        for (key, sums) in groups {
            let unit = key.last().cloned().unwrap_or_default();
            units.entry(unit).or_default().push((key, sums));
        }
        if self.by.first() != Some(&By::Day) {
            let in_order = |all: &mut Vec<(Vec<String>, Sums)>| {
                // The sort is stable, and the groups were in the order of their keys.
                all.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.spent));
            };
            units.values_mut().for_each(in_order);
        }
        let most = self.top.unwrap_or(usize::MAX);
        units.into_values().flat_map(|all| all.into_iter().take(most)).collect()
    }

    /// Returns the columns, each once. A session id is unique in its account only.
    fn columns(&self) -> Vec<By> {
        let mut columns = Vec::new();
        for &by in &self.by {
            let own: &[By] = match by {
                By::Unit => &[],
                By::Session => &[By::Account, By::Session],
                By::Bucket => &[By::Bucket],
                By::Account => &[By::Account],
                By::Day => &[By::Day],
                By::Item => &[By::Item],
            };
            for column in own {
                if !columns.contains(column) {
                    columns.push(*column);
                }
            }
        }
        columns
    }
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Account => "account",
            By::Bucket => "bucket",
            By::Day => "day",
            By::Item => "item",
            By::Session => "session",
            By::Unit => "unit",
        }
    }

    fn of(self, event: &Record, period: &Period) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        match self {
            By::Account => event.account.clone(),
            By::Bucket => text(&event.bucket),
            By::Day => period.date(event.time_ms),
            By::Item => text(&event.item),
            By::Session => text(&event.session),
            By::Unit => text(&event.unit),
        }
    }
}
