//! Compares ours with the best of the others, figure by figure and run by run: which one wins, and where the runs
//! support no claim. Only rows with the same guarantees are compared.

use crate::figures::{median, percent, range};
use crate::row::{Row, Run, SPREAD_PERCENT_MAX};

/// Fewest accounts for which memory is compared: with fewer, the pages of the process itself outweigh them.
const ACCOUNTS_WEIGHED: u32 = 1_000;

/// Figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Business operations per second.
    Throughput,
    /// The 99th percentile.
    Latency,
    /// CPU per operation.
    Cpu,
    /// Memory per account.
    Memory,
}

/// Conclusion from the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Ours is better in every pair of runs.
    Wins,
    /// Ours is worse in every pair of runs.
    Loses,
    /// Neither is better in every pair.
    Even,
    /// The runs support no claim, for this reason.
    NoClaim(String),
}

/// One comparison.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    /// Our row.
    pub ours: &'a Row,
    /// Best of the other rows by this figure.
    pub peer: &'a Row,
    /// Figure that is compared.
    pub figure: Figure,
    /// Ours as a multiple of the other's: the median over pairs of runs of the same number.
    pub median: f64,
    /// Minimum over the pairs.
    pub min: f64,
    /// Maximum over the pairs.
    pub max: f64,
    /// Number of pairs.
    pub pairs: usize,
    /// Conclusion from the runs.
    pub outcome: Outcome,
}

impl Figure {
    /// All figures.
    pub const ALL: [Figure; 4] = [Figure::Throughput, Figure::Latency, Figure::Cpu, Figure::Memory];

    /// Returns the name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Throughput => "throughput",
            Figure::Latency => "p99 latency",
            Figure::Cpu => "CPU per operation",
            Figure::Memory => "memory per account",
        }
    }

    fn of(self, run: &Run) -> Option<f64> {
        let figures = &run.figures;
        let found = match self {
            Figure::Throughput => figures.business_ops_per_s,
            Figure::Latency => figures.latency_us.as_ref().map(|latency| latency.p99),
            Figure::Cpu => figures.cpu_us_per_op,
            Figure::Memory => figures.memory_bytes_per_account,
        };
        found.filter(|value| *value > 0.0)
    }

    /// Returns the figure of a row, which is that of its median run by throughput.
    pub fn of_row(self, row: &Row) -> Option<f64> {
        let figures = row.figures.clone();
        self.of(&Run { figures, ..Run::default() })
    }

    fn values(self, row: &Row) -> Vec<f64> {
        row.runs.iter().filter_map(|run| self.of(run)).collect()
    }

    /// Returns the spread of the runs in this figure, percent of the median.
    fn spread_percent(self, row: &Row) -> f64 {
        let values = self.values(row);
        let (least, greatest) = range(&values);
        median(&values).map_or(0.0, |median| percent(greatest - least, median))
    }

    fn is_better_when_greater(self) -> bool {
        self == Figure::Throughput
    }
}

/// Reports whether the row has figures.
pub fn is_measured(row: &Row) -> bool {
    row.figures.business_ops_per_s.is_some()
}

/// Reports whether the row is of this project: the server, or its module in another server.
pub fn is_ours(row: &Row) -> bool {
    let system = row.target.split([':', ' ']).next().unwrap_or_default();
    ["scurry", "scurry+replicas", "scurry-http"].contains(&system) || system.ends_with("+module")
}

/// Reports whether the row is of another system that does the same work. Echo and plain HSET are limits, not rivals.
pub fn is_peer(row: &Row) -> bool {
    let system = row.target.split([':', ' ']).next().unwrap_or_default();
    !is_ours(row) && !["echo", "http-echo"].contains(&system) && !system.ends_with("+hset")
}

/// Returns the guarantee of a durability, in words that are the same for all servers.
pub fn promise(durability: &str) -> &str {
    match durability {
        "none" => "kept in memory",
        "write" | "everysec" => "kept in the page cache",
        "fsync" | "always" => "kept on the device",
        "checkpoint" => "kept in memory, on the device seconds later",
        other => other,
    }
}

/// Compares each of our rows with the best of the others that give the same guarantee, in the order of the rows.
pub fn findings(rows: &[Row]) -> Vec<Finding<'_>> {
    let of_ours = |ours| Figure::ALL.into_iter().filter_map(move |one| finding(rows, ours, one));
    rows.iter().filter(|row| is_ours(row) && is_measured(row)).flat_map(of_ours).collect()
}

fn finding<'a>(rows: &'a [Row], ours: &'a Row, figure: Figure) -> Option<Finding<'a>> {
    if figure == Figure::Memory && ours.load.accounts < ACCOUNTS_WEIGHED {
        return None;
    }
    // Only rows with the same step, guarantee, copies and number of cores are compared.
    let terms = |row: &Row| {
        let promise = promise(&row.durability).to_owned();
        let step = (row.scenario.clone(), row.step.clone());
        (step, promise, row.replicas, row.acknowledged_copies, row.load.target_cores.len())
    };
    let rank = |row: &Row| {
        let value = median(&figure.values(row))?;
        Some(if figure.is_better_when_greater() { value } else { -value })
    };
    let peer = rows
        .iter()
        .filter(|row| is_peer(row) && is_measured(row) && terms(row) == terms(ours))
        .filter_map(|row| Some((row, rank(row)?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?
        .0;
    let pair = |(own, other): (&Run, &Run)| Some(figure.of(own)? / figure.of(other)?);
    let ratios: Vec<f64> = ours.runs.iter().zip(&peer.runs).filter_map(pair).collect();
    let middle = median(&ratios)?;
    let (min, max) = range(&ratios);
    let outcome = match refusal(ours, peer, figure, ratios.len()) {
        Some(why) => Outcome::NoClaim(why),
        // A pair on each side of 1 decides nothing.
        None if min <= 1.0 && max >= 1.0 => Outcome::Even,
        None if (min > 1.0) == figure.is_better_when_greater() => Outcome::Wins,
        None => Outcome::Loses,
    };
    Some(Finding { ours, peer, figure, median: middle, min, max, pairs: ratios.len(), outcome })
}

/// Returns why the runs support no claim, if so.
fn refusal(ours: &Row, peer: &Row, figure: Figure, pairs: usize) -> Option<String> {
    if pairs < 2 {
        return Some("one run each".to_owned());
    }
    for row in [ours, peer] {
        let spread = figure.spread_percent(row);
        if spread > SPREAD_PERCENT_MAX {
            return Some(format!(
                "the runs of {} differ by {spread:.0} %, more than {SPREAD_PERCENT_MAX} %",
                row.target
            ));
        }
        if row.figures.loader_bound == Some(true)
            && matches!(figure, Figure::Throughput | Figure::Latency)
        {
            return Some(format!("the loader was the limit of {}", row.target));
        }
        let rate = (row.load.rate, row.figures.business_ops_per_s);
        if let (Some(wanted), Some(_)) = rate
            && figure == Figure::Throughput
        {
            return Some(format!("both were sent {wanted} requests/s by the clock"));
        }
    }
    None
}

impl Finding<'_> {
    /// Reports whether the median says that ours is worse, whether or not the runs support it.
    pub fn is_behind(&self) -> bool {
        self.median != 1.0 && (self.median < 1.0) == self.figure.is_better_when_greater()
    }

    /// Describes the comparison in one sentence.
    pub fn words(&self) -> String {
        let range = format!(
            "{} times ({} to {} over {} pairs of runs)",
            times(self.median),
            times(self.min),
            times(self.max),
            self.pairs
        );
        let (ours, peer, figure) = (&self.ours.target, &self.peer.target, self.figure.name());
        let promise = promise(&self.ours.durability);
        match &self.outcome {
            Outcome::Wins => format!("{ours} beats {peer} on {figure}, {promise}: {range}"),
            Outcome::Loses => format!("{ours} loses to {peer} on {figure}, {promise}: {range}"),
            Outcome::Even => {
                format!("{ours} and {peer} are even on {figure}, {promise}: {range}")
            }
            Outcome::NoClaim(why) => {
                format!("no claim about {ours} and {peer} on {figure}, {promise}: {why}")
            }
        }
    }
}

/// Formats a multiple with as many digits as are significant.
pub fn times(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{AUDIT_OK, Figures};

    fn row(target: &str, durability: &str, rates: &[f64]) -> Row {
        let run = |rate: &f64| Run {
            figures: Figures {
                business_ops_per_s: Some(*rate),
                cpu_us_per_op: Some(1e6 / rate),
                ..Figures::default()
            },
            audit: AUDIT_OK.to_owned(),
            ..Run::default()
        };
        let runs = rates.iter().map(run).collect();
        let target = target.to_owned();
        let mut row = Row { target, durability: durability.to_owned(), runs, ..Row::default() };
        row.conclude();
        row
    }

    fn words(rows: &[Row]) -> Vec<String> {
        findings(rows).iter().map(Finding::words).collect()
    }

    #[test]
    fn the_best_peer_that_promises_the_same_is_compared() {
        let rows = [
            row("scurry", "none", &[700.0, 760.0]),
            row("scurry:fsync", "fsync", &[90.0, 90.0]),
            row("valkey+lua", "none", &[100.0, 100.0]),
            row("redis+lua", "none", &[95.0, 95.0]),
            row("valkey+lua:always", "always", &[99.0, 99.0]),
            row("echo", "none", &[9e9, 9e9]),
        ];
        let expected = [
            "scurry beats valkey+lua on throughput, kept in memory: 7.00 times (7.00 to 7.60 over 2 pairs \
             of runs)",
            "scurry beats valkey+lua on CPU per operation, kept in memory: 0.13 times (0.13 to 0.14 over 2 \
             pairs of runs)",
            "scurry:fsync loses to valkey+lua:always on throughput, kept on the device: 0.91 times (0.91 \
             to 0.91 over 2 pairs of runs)",
            "scurry:fsync loses to valkey+lua:always on CPU per operation, kept on the device: 1.10 times \
             (1.10 to 1.10 over 2 pairs of runs)",
        ];
        assert_eq!(words(&rows), expected);
    }

    #[test]
    fn the_memory_of_few_accounts_is_not_compared() {
        let of = |target, bytes, accounts| {
            let mut row = row(target, "none", &[100.0, 100.0]);
            row.load.accounts = accounts;
            for run in &mut row.runs {
                run.figures.memory_bytes_per_account = Some(bytes);
            }
            row
        };
        for (accounts, is_compared) in [(1, false), (999, false), (1_000, true)] {
            let rows = [of("scurry", 86_016.0, accounts), of("tarantool+lua", 8_192.0, accounts)];
            let found = words(&rows);
            let is_said = found.iter().any(|one| one.contains("on memory per account"));
            assert_eq!(is_said, is_compared, "{accounts}: {found:?}");
        }
    }

    #[test]
    fn runs_that_differ_and_single_runs_support_no_claim() {
        let peer = row("valkey+lua", "none", &[100.0, 100.0]);
        let wild = words(&[row("scurry", "none", &[200.0, 300.0]), peer.clone()]);
        assert!(wild[0].contains("the runs of scurry differ by 50 %, more than 20 %"), "{wild:?}");
        let one = words(&[row("scurry", "none", &[200.0]), peer.clone()]);
        assert!(one[0].ends_with("one run each"), "{one:?}");
        let even = words(&[row("valkey+module", "none", &[99.0, 101.0]), peer.clone()]);
        assert!(even[0].contains("are even on throughput"), "{even:?}");
        let mut bound = row("scurry", "none", &[200.0, 201.0]);
        bound.figures.loader_bound = Some(true);
        let bound = words(&[bound, peer]);
        assert!(bound[0].contains("the loader was the limit of scurry"), "{bound:?}");
        assert!(bound[1].contains("beats"), "{bound:?}");
    }
}
