//! The ladder as JSON and as text. docs/lab.md describes the fields.

use serde::{Deserialize, Serialize};

use crate::figures::{median_index, percent, range, rounded};
use crate::host::Host;
use crate::report::{Grid, grouped};
use crate::row::{SPREAD_PERCENT_MAX, Spread};

/// The whole ladder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ladder {
    /// Accounts of every rung above the ledger.
    pub accounts: u32,
    /// Measured seconds of a run asked for.
    pub seconds: f64,
    /// The core of all that is measured; none where nothing was bound.
    pub target_core: Option<usize>,
    /// The machine.
    #[serde(flatten)]
    pub host: Host,
    /// From the lowest.
    pub rungs: Vec<RungRow>,
}

/// One rung. Its figures are those of the median run by throughput.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RungRow {
    /// Name of the rung.
    pub rung: String,
    /// Operations per second of one core.
    pub operations_per_s: f64,
    /// CPU nanoseconds per operation.
    pub cpu_ns_per_op: f64,
    /// The rung it stands on; none of the lowest and of echo.
    pub below: Option<String>,
    /// Throughput in percent of the rung below, the median over pairs of runs.
    pub percent_of_below: Option<f64>,
    /// Throughput in percent of the echo server's under the same load, likewise.
    pub percent_of_echo: Option<f64>,
    /// CPU per operation as a multiple of the echo server's, likewise.
    pub cpu_times_echo: Option<f64>,
    /// Spread of the throughput over the runs; none of one run.
    pub spread: Option<Spread>,
    /// Each run.
    pub runs: Vec<Point>,
}

/// One run of a rung.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Point {
    /// Counted from 1.
    pub run: u32,
    /// Operations per second.
    pub operations_per_s: f64,
    /// CPU nanoseconds per operation.
    pub cpu_ns_per_op: f64,
    /// Operations that were measured.
    pub operations: u64,
    /// Unused part of the loader's core; none where there is no loader.
    pub loader_idle_percent: Option<f64>,
}

impl RungRow {
    /// A rung from its runs.
    pub fn new(rung: &str, below: Option<&str>, runs: Vec<Point>) -> RungRow {
        let rates: Vec<f64> = runs.iter().map(|point| point.operations_per_s).collect();
        let median = median_index(&rates).map(|index| runs[index]).unwrap_or_default();
        let spread = (runs.len() > 1).then(|| {
            let (min, max) = range(&rates);
            let percent = rounded(percent(max - min, median.operations_per_s), 1);
            Spread { min, max, percent }
        });
        RungRow {
            rung: rung.to_owned(),
            operations_per_s: median.operations_per_s,
            cpu_ns_per_op: median.cpu_ns_per_op,
            below: below.map(str::to_owned),
            spread,
            runs,
            ..RungRow::default()
        }
    }
}

impl Ladder {
    /// Fills in the shares. The echo row of a rung is named `echo` and the rung's own words.
    pub fn compare(&mut self) {
        let all = self.rungs.clone();
        let find = |name: &str| all.iter().find(|row| row.rung == name);
        for row in &mut self.rungs {
            let below = row.below.as_deref().and_then(find);
            row.percent_of_below = below.and_then(|below| share(row, below));
            let echo =
                row.rung.strip_prefix("loopback").and_then(|form| find(&format!("echo{form}")));
            row.percent_of_echo = echo.and_then(|echo| share(row, echo));
            row.cpu_times_echo = echo.and_then(|echo| {
                median_of_pairs(row, echo, |point| point.cpu_ns_per_op)
                    .map(|times| rounded(times, 3))
            });
        }
    }

    /// As text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "<rung",
            "ops/s",
            "CPU us/op",
            "of the rung below",
            "of echo",
            "CPU x echo",
            "spread",
            "loader idle %",
        ]);
        for row in &self.rungs {
            let percent = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.1} %"));
            let below = row.below.as_ref().map_or_else(String::new, |below| format!(" of {below}"));
            let idle = row.runs.iter().filter_map(|point| point.loader_idle_percent);
            let idle = idle.reduce(f64::min).map_or("-".into(), |idle| format!("{idle:.0}"));
            grid.push(vec![
                row.rung.clone(),
                grouped(row.operations_per_s),
                format!("{:.3}", row.cpu_ns_per_op / 1_000.0),
                format!("{}{below}", percent(row.percent_of_below)),
                percent(row.percent_of_echo),
                row.cpu_times_echo.map_or("-".into(), |times| format!("{times:.2}")),
                row.spread.map_or("-".into(), |spread| format!("{:.1} %", spread.percent)),
                idle,
            ]);
        }
        let core = match self.target_core {
            Some(core) => format!("on core {core}"),
            None => "nothing bound to cores".to_owned(),
        };
        let mut out = format!(
            "\n{}moaf-scur, {} accounts, median of {} runs of {} s, {core}\n{}, {} cores, Linux {}",
            grid.render(),
            grouped(f64::from(self.accounts)),
            self.rungs.first().map_or(0, |row| row.runs.len()),
            self.seconds,
            self.host.cpu,
            self.host.cores,
            self.host.kernel,
        );
        if !self.host.git_commit.is_empty() {
            out.push_str(&format!(", commit {}", self.host.git_commit));
        }
        out.push('\n');
        let unsure = |row: &&RungRow| row.spread.is_none_or(|s| s.percent > SPREAD_PERCENT_MAX);
        let unsure: Vec<&str> =
            self.rungs.iter().filter(unsure).map(|row| row.rung.as_str()).collect();
        if !unsure.is_empty() {
            let names = unsure.join(", ");
            out.push_str(&format!(
                "no claim about {names}: one run, or runs that differ too much\n"
            ));
        }
        out
    }
}

fn share(row: &RungRow, of: &RungRow) -> Option<f64> {
    median_of_pairs(row, of, |point| point.operations_per_s).map(|share| rounded(100.0 * share, 2))
}

/// The median ratio over runs of the same number.
fn median_of_pairs(row: &RungRow, of: &RungRow, figure: impl Fn(&Point) -> f64) -> Option<f64> {
    let pairs = row.runs.iter().zip(&of.runs).filter(|(_, of)| figure(of) > 0.0);
    let ratios: Vec<f64> = pairs.map(|(own, of)| figure(own) / figure(of)).collect();
    median_index(&ratios).map(|index| ratios[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rung: &str, below: Option<&str>, rates: &[f64]) -> RungRow {
        let point = |(index, rate): (usize, &f64)| Point {
            run: u32::try_from(index + 1).unwrap(),
            operations_per_s: *rate,
            cpu_ns_per_op: 1e9 / rate,
            operations: 1,
            loader_idle_percent: None,
        };
        RungRow::new(rung, below, rates.iter().enumerate().map(point).collect())
    }

    #[test]
    fn a_rung_is_a_share_of_the_one_below_and_of_echo() {
        let mut ladder = Ladder {
            rungs: vec![
                row("ledger", None, &[4e6, 2e6, 3e6]),
                row("engine", Some("ledger"), &[1e6, 1e6, 1e6]),
                row("loopback 50x64", Some("engine"), &[5e5, 5e5, 4e5]),
                row("echo 50x64", None, &[2e6, 2e6, 2e6]),
            ],
            ..Ladder::default()
        };
        ladder.compare();
        assert_eq!(ladder.rungs[0].operations_per_s, 3e6);
        assert_eq!(ladder.rungs[0].spread.unwrap().percent, 66.7);
        assert_eq!(ladder.rungs[0].percent_of_below, None);
        assert_eq!(ladder.rungs[1].percent_of_below, Some(33.33));
        assert_eq!(ladder.rungs[2].percent_of_below, Some(50.0));
        assert_eq!(ladder.rungs[2].percent_of_echo, Some(25.0));
        assert_eq!(ladder.rungs[2].cpu_times_echo, Some(4.0));
        assert_eq!(ladder.rungs[3].percent_of_echo, None);
        let text = ladder.render();
        assert!(text.contains("33.3 % of ledger"), "{text}");
        assert!(text.contains("no claim about ledger:"), "{text}");
    }
}
