//! Medians with their spread, a row per candidate.

use std::fmt::Write;

use super::Run;
use super::case::Case;
use crate::backend::Candidate;

/// A middle and what lies around it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figure {
    median: f64,
    min: f64,
    max: f64,
}

impl Figure {
    /// None without values.
    fn of(values: impl Iterator<Item = f64>) -> Option<Figure> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let (upper, lower) = (values[values.len() / 2], values[(values.len() - 1) / 2]);
        Some(Figure { median: f64::midpoint(upper, lower), min, max })
    }
}

/// The table of a case, in Markdown.
pub(super) fn of_case(case: &Case, candidates: &[Candidate], runs: &[Run]) -> String {
    let mut table = format!("{}: {}\n\n", case.name, case.about);
    table += "| candidate | CPU us/request: median (min to max) | of the first | requests/s: median (min to max) | CPU % | calls/request | requests/wait |\n";
    table += "|---|---|---|---|---|---|---|\n";
    let mut first = None;
    for candidate in candidates {
        let of = |value: fn(&Run) -> Option<f64>| {
            let mine = |run: &&Run| run.case == case.name && run.candidate == candidate.name;
            Figure::of(runs.iter().filter(mine).filter_map(value))
        };
        let Some(cpu) = of(|run| Some(run.cpu_us_per_request)) else { continue };
        let share = cpu.median / *first.get_or_insert(cpu.median) * 100.0;
        let rate = of(|run| Some(run.requests_per_s)).map_or_else(String::new, |rate| {
            format!("{:.0} ({:.0} to {:.0})", rate.median, rate.min, rate.max)
        });
        let short = |figure: Option<Figure>, digits: usize| {
            figure.map_or_else(|| "-".to_owned(), |figure| format!("{:.digits$}", figure.median))
        };
        let _ = writeln!(
            table,
            "| {} | {:.3} ({:.3} to {:.3}) | {share:.0} % | {rate} | {} | {} | {} |",
            candidate.name,
            cpu.median,
            cpu.min,
            cpu.max,
            short(of(|run| Some(run.cpu_percent)), 0),
            short(of(|run| Some(run.system_calls_per_request)), 3),
            short(of(|run| run.requests_per_wait), 1),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let figure = |values: &[f64]| Figure::of(values.iter().copied());
        assert_eq!(figure(&[3.0, 1.0, 2.0]), Some(Figure { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(figure(&[4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(figure(&[]), None);
    }
}
