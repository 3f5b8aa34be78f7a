//! A comparison of two files as text and as JSON. docs/lab.md describes the fields.

use serde::Serialize;

use crate::report::{Grid, grouped};
use crate::statistics::CHANCE_MAX;

/// All of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Difference {
    /// Rows of both files, one line per figure.
    pub changes: Vec<FigureChange>,
    /// Rows of the first file that the second has not.
    pub only_before: Vec<String>,
    /// The other way round.
    pub only_after: Vec<String>,
    /// The files are of machines that differ.
    pub other_machine: Option<String>,
    /// Runs that differ by more percent support no claim.
    pub spread_max: f64,
}

/// One figure of one row.
#[derive(Clone, Debug, Serialize)]
pub struct FigureChange {
    /// Scenario, target and load.
    pub row: String,
    /// Name of the figure.
    pub figure: &'static str,
    /// Median of the runs before.
    pub before: Option<f64>,
    /// Median of the runs after.
    pub after: Option<f64>,
    /// Runs before and after.
    pub runs: (usize, usize),
    /// After as a multiple of before: median over all pairs of runs.
    pub ratio: Option<f64>,
    /// The least of these.
    pub ratio_min: Option<f64>,
    /// The greatest.
    pub ratio_max: Option<f64>,
    /// How probable such a difference is by chance (Mann-Whitney, exact, two-sided).
    pub p: Option<f64>,
    /// Conclusion from the runs.
    pub verdict: Verdict,
    /// Remark that a reader of the verdict needs.
    pub why: Option<String>,
}

/// Conclusion from a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better, by more than chance.
    Better,
    /// Worse, by more than chance.
    Worse,
    /// Chance may have done it.
    NotSignificant,
    /// So few runs show nothing, however they come out: four of each are the least.
    TooFewRuns,
    /// Runs of one side differ too much among themselves.
    NoClaim,
    /// Measured before and not after.
    Lost,
    /// Measured after and not before.
    New,
}

impl Verdict {
    fn words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "WORSE",
            Verdict::NotSignificant => "not significant",
            Verdict::TooFewRuns => "too few runs to tell (4 each)",
            Verdict::NoClaim => "no claim",
            Verdict::Lost => "NO FIGURES ANY MORE",
            Verdict::New => "new",
        }
    }
}

impl Difference {
    /// As text.
    pub(super) fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "<row",
            "<figure",
            "before",
            "after",
            "after/before",
            "least",
            "greatest",
            "runs",
            "p",
            "<verdict",
        ]);
        let times = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
        let figure = |value: Option<f64>| match value {
            None => "-".to_owned(),
            Some(value) if value >= 1_000.0 => grouped(value),
            Some(value) => format!("{value:.2}"),
        };
        for change in &self.changes {
            let why = change.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            grid.push(vec![
                change.row.clone(),
                change.figure.to_owned(),
                figure(change.before),
                figure(change.after),
                times(change.ratio),
                times(change.ratio_min),
                times(change.ratio_max),
                format!("{}/{}", change.runs.0, change.runs.1),
                times(change.p),
                format!("{}{why}", change.verdict.words()),
            ]);
        }
        let mut out = format!("\n{}", grid.render());
        out.push_str(&format!(
            "medians of the runs; p by the exact Mann-Whitney test, two-sided, significant at {CHANCE_MAX} \
             or below, each figure by itself; no claim where runs differ by more than {} %\n",
            self.spread_max
        ));
        if let Some(machines) = &self.other_machine {
            out.push_str(&format!("NOT THE SAME MACHINE: {machines}\n"));
        }
        for (side, rows) in [("before", &self.only_before), ("after", &self.only_after)] {
            if !rows.is_empty() {
                out.push_str(&format!("only {side}: {}\n", rows.join(", ")));
            }
        }
        out
    }

    /// Rows whose throughput fell below this multiple and not by chance, or that have none any
    /// more, in words. With too few runs the ratio alone decides.
    pub(super) fn below(&self, ratio: f64) -> Vec<String> {
        let is_throughput = |change: &&FigureChange| change.figure == "ops/s";
        let line = |change: &FigureChange| match (change.verdict, change.ratio) {
            (Verdict::Lost, _) => Some(format!("{} has no figures any more", change.row)),
            (Verdict::NotSignificant | Verdict::New, _) => None,
            (_, Some(found)) if found < ratio => {
                Some(format!("{} does {found:.3} of what it did, below {ratio}", change.row))
            }
            _ => None,
        };
        self.changes.iter().filter(is_throughput).filter_map(line).collect()
    }
}
