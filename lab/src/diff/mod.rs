//! `scurry-lab diff A B`: the same rows of two files, and which of their figures differ by more
//! than chance.

mod report;

use anyhow::{Context, Result};

use crate::arguments::DiffArguments;
use crate::results::Results;
use crate::row::{Row, Run};
use crate::statistics::{Comparison, VALUES_MAX};
use crate::testbed::write_json;
pub use report::{Difference, FigureChange, Verdict};

/// Compares, prints, and says whether nothing fell below the bound.
///
/// # Errors
/// When a file cannot be read, or the two have no row in common.
pub fn diff(arguments: &DiffArguments) -> Result<bool> {
    arguments.check()?;
    let before = Results::read_rows(&arguments.before)?.rows;
    let after = Results::read_rows(&arguments.after)?.rows;
    let difference = Difference::between(&before, &after, arguments.spread_max)?;
    print!("{}", difference.render());
    write_json(arguments.json.as_deref(), &difference)?;
    let failed = arguments.fail_below.map(|ratio| difference.below(ratio)).unwrap_or_default();
    for line in &failed {
        println!("failed: {line}");
    }
    Ok(failed.is_empty())
}

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComparedFigure {
    Throughput,
    Latency,
    Cpu,
}

impl ComparedFigure {
    const ALL: [ComparedFigure; 3] =
        [ComparedFigure::Throughput, ComparedFigure::Latency, ComparedFigure::Cpu];

    fn name(self) -> &'static str {
        match self {
            ComparedFigure::Throughput => "ops/s",
            ComparedFigure::Latency => "p99 us",
            ComparedFigure::Cpu => "CPU us/op",
        }
    }

    fn is_better_when_greater(self) -> bool {
        self == ComparedFigure::Throughput
    }

    fn of(self, run: &Run) -> Option<f64> {
        let figures = &run.figures;
        match self {
            ComparedFigure::Throughput => figures.business_ops_per_s,
            ComparedFigure::Latency => figures.latency_us.as_ref().map(|latency| latency.p99),
            ComparedFigure::Cpu => figures.cpu_us_per_op,
        }
    }

    /// Of the runs of a row that has figures.
    fn values(self, row: &Row) -> Vec<f64> {
        if row.figures.business_ops_per_s.is_none() {
            return Vec::new();
        }
        row.runs.iter().filter_map(|run| self.of(run)).filter(|value| *value > 0.0).collect()
    }
}

impl Difference {
    /// Compares rows of the same scenario, target and settings.
    ///
    /// # Errors
    /// When there is none in both, or one has more runs than the test takes.
    fn between(before: &[Row], after: &[Row], spread_max: f64) -> Result<Difference> {
        let mut difference = Difference { spread_max, ..Difference::default() };
        let mut rest: Vec<&Row> = after.iter().collect();
        for row in before {
            let Some(at) = rest.iter().position(|other| is_same(row, other)) else {
                difference.only_before.push(name(row));
                continue;
            };
            let other = rest.remove(at);
            let (old, new) = (&row.host, &other.host);
            if (&old.cpu, old.cores) != (&new.cpu, new.cores) {
                difference.other_machine = Some(format!(
                    "{} with {} cores before, {} with {} cores after",
                    old.cpu, old.cores, new.cpu, new.cores
                ));
            }
            for figure in ComparedFigure::ALL {
                difference.changes.extend(change(figure, row, other, spread_max)?);
            }
        }
        difference.only_after = rest.into_iter().map(name).collect();
        anyhow::ensure!(
            !difference.changes.is_empty(),
            "no row of the first file is in the second with the same scenario, target, load and \
             durability: only before: {}; only after: {}",
            difference.only_before.join(", "),
            difference.only_after.join(", ")
        );
        Ok(difference)
    }
}

/// Seconds, seeds and machines may differ.
fn is_same(a: &Row, b: &Row) -> bool {
    let key = |row: &Row| {
        let load = &row.load;
        let form = (load.sessions, load.connections, load.depth, load.accounts, load.threads);
        (form, load.rate.map(f64::to_bits), load.ops_per_session, load.door.clone(), row.replicas)
    };
    // A row that was not measured does not know its durability.
    let known = |row: &Row| row.figures.business_ops_per_s.is_some();
    (&a.scenario, &a.step, &a.target, a.acknowledged_copies, key(a))
        == (&b.scenario, &b.step, &b.target, b.acknowledged_copies, key(b))
        && (a.durability == b.durability || !known(a) || !known(b))
}

/// As a reader tells it from the others of a file.
fn name(row: &Row) -> String {
    let load = &row.load;
    let rate = load.rate.map(|rate| format!(" at {rate}/s")).unwrap_or_default();
    format!("{} {} {}x{}{rate}", row.title(), row.target, load.connections, load.depth)
}

fn change(
    figure: ComparedFigure,
    before: &Row,
    after: &Row,
    spread_max: f64,
) -> Result<Option<FigureChange>> {
    let (old, new) = (figure.values(before), figure.values(after));
    anyhow::ensure!(
        old.len().max(new.len()) <= VALUES_MAX,
        "{} has more than {VALUES_MAX} runs: give files of fewer",
        name(before)
    );
    let verdict = match (old.is_empty(), new.is_empty()) {
        // Nothing to say where neither side has it; missing rows are told once.
        (true, true) => return Ok(None),
        _ if (old.is_empty() || new.is_empty()) && figure != ComparedFigure::Throughput => {
            return Ok(None);
        }
        (true, false) => Some(Verdict::New),
        (false, true) => Some(Verdict::Lost),
        (false, false) => None,
    };
    let compared = Comparison::of(&old, &new);
    let wild = [("before", before), ("after", after)].into_iter().find_map(|(side, row)| {
        let percent = row.spread?.percent;
        (percent > spread_max).then(|| format!("runs {side} differ by {percent:.0} %"))
    });
    let verdict = match verdict {
        Some(verdict) => verdict,
        None => {
            let compared = compared.context("both sides have runs")?;
            let is_better = (compared.ratio > 1.0) == figure.is_better_when_greater();
            match wild {
                Some(_) => Verdict::NoClaim,
                None if compared.has_too_few() => Verdict::TooFewRuns,
                None if !compared.is_significant() => Verdict::NotSignificant,
                None if is_better => Verdict::Better,
                None => Verdict::Worse,
            }
        }
    };
    Ok(Some(FigureChange {
        row: name(before),
        figure: figure.name(),
        before: crate::figures::median(&old),
        after: crate::figures::median(&new),
        runs: (old.len(), new.len()),
        ratio: compared.map(|c| c.ratio),
        ratio_min: compared.map(|c| c.min),
        ratio_max: compared.map(|c| c.max),
        p: compared.map(|c| c.chance),
        verdict,
        why: wild.or_else(|| (!after.is_sound()).then(|| after.audit.clone())),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{AUDIT_OK, Figures};

    fn row(target: &str, rates: &[f64]) -> Row {
        let run = |rate: &f64| Run {
            figures: Figures { business_ops_per_s: Some(*rate), ..Figures::default() },
            audit: AUDIT_OK.to_owned(),
            ..Run::default()
        };
        let runs = rates.iter().map(run).collect();
        let mut row = Row { target: target.to_owned(), runs, ..Row::default() };
        row.conclude();
        row
    }

    fn verdict(before: &[f64], after: &[f64]) -> Verdict {
        let difference =
            Difference::between(&[row("a", before)], &[row("a", after)], 20.0).unwrap();
        difference.changes[0].verdict
    }

    #[test]
    fn a_verdict_needs_runs_that_agree_and_are_enough() {
        let steady = [100.0, 101.0, 102.0, 103.0];
        assert_eq!(verdict(&steady, &[90.0, 91.0, 92.0, 93.0]), Verdict::Worse);
        assert_eq!(verdict(&steady, &[110.0, 111.0, 112.0, 113.0]), Verdict::Better);
        assert_eq!(verdict(&steady, &[100.5, 101.5, 102.5, 99.0]), Verdict::NotSignificant);
        assert_eq!(verdict(&steady[..3], &[50.0, 50.1, 50.2]), Verdict::TooFewRuns);
        assert_eq!(verdict(&steady, &[50.0, 60.0, 70.0, 80.0]), Verdict::NoClaim);
        assert_eq!(verdict(&steady, &[]), Verdict::Lost);
        assert_eq!(verdict(&[], &steady), Verdict::New);
    }

    #[test]
    fn what_fell_below_is_named_and_chance_is_not() {
        let before = [row("a", &[100.0, 101.0, 102.0, 103.0]), row("b", &[100.0])];
        let mut after = [row("a", &[90.0, 91.0, 92.0, 93.0]), row("b", &[80.0])];
        let difference = Difference::between(&before, &after, 20.0).unwrap();
        // One run each is too few to call it chance.
        assert_eq!(difference.below(0.95).len(), 2);
        assert_eq!(difference.below(0.85).len(), 1);
        assert_eq!(difference.below(0.5), Vec::<String>::new());
        after[0] = row("a", &[99.5, 100.5, 101.5, 102.5]);
        let chance = Difference::between(&before[..1], &after[..1], 20.0).unwrap();
        assert_eq!(chance.below(1.0), Vec::<String>::new());
        after[1] = row("b", &[]);
        let lost = Difference::between(&before, &after, 20.0).unwrap();
        assert_eq!(lost.below(0.1).len(), 1);
    }

    #[test]
    fn other_settings_are_another_row() {
        let mut deep = row("a", &[1.0]);
        deep.load.depth = 64;
        let error = Difference::between(&[row("a", &[1.0])], &[deep.clone()], 20.0).unwrap_err();
        assert!(error.to_string().contains("no row of the first file"), "{error}");
        let both = Difference::between(&[row("a", &[1.0]), deep], &[row("a", &[1.0])], 20.0);
        assert_eq!(both.unwrap().only_before.len(), 1);
    }
}
