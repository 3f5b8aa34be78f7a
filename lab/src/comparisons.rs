//! Writes comparisons as JSON for documents that quote them: for each file and figure, our row against the best peer
//! with the same guarantees.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use crate::figures::rounded;
use crate::peer_comparison::{Figure, Finding, Outcome, findings, promise};
use crate::row::{Report, by_load};
use crate::testbed::write_json;

/// Content of the JSON file.
#[derive(Debug, Serialize)]
struct Comparisons {
    comparisons: Vec<Compared>,
}

/// One of our rows against one peer.
#[derive(Debug, Serialize)]
struct Compared {
    /// Input file, as given on the command line.
    file: String,
    scenario: String,
    step: Option<String>,
    connections: u32,
    depth: u32,
    /// Requests per second of a paced load; None for a closed loop.
    rate: Option<f64>,
    promise: String,
    figure: &'static str,
    ours: String,
    ours_value: f64,
    peer: String,
    peer_value: f64,
    /// How many times better ours is: the median over pairs of runs.
    times: f64,
    /// Minimum over the pairs.
    min: f64,
    /// Maximum over the pairs.
    max: f64,
    pairs: usize,
    verdict: &'static str,
    /// Why no claim is made.
    why: Option<String>,
}

/// Writes the comparisons of the files.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, files: &[(PathBuf, &Report)]) -> Result<()> {
    let mut comparisons = Vec::new();
    for (file, report) in files {
        // Compares only rows of the same load, as the report page does.
        for group in by_load(&report.rows) {
            let found = findings(&group);
            comparisons.extend(found.iter().filter_map(|one| compared(file, one)));
        }
    }
    write_json(Some(path), &Comparisons { comparisons })
}

fn compared(file: &Path, found: &Finding<'_>) -> Option<Compared> {
    let Finding { ours, peer, figure, .. } = found;
    let (verdict, why) = match &found.outcome {
        Outcome::Wins => ("wins", None),
        Outcome::Loses => ("loses", None),
        Outcome::Even => ("even", None),
        Outcome::NoClaim(why) => ("no claim", Some(why.clone())),
    };
    // For figures where less is better the quotient is inverted, so minimum and maximum swap.
    let (times, min, max) = match figure {
        Figure::Throughput => (found.median, found.min, found.max),
        _ => (1.0 / found.median, 1.0 / found.max, 1.0 / found.min),
    };
    let round = |value| rounded(value, 4);
    Some(Compared {
        file: file.to_string_lossy().into_owned(),
        scenario: ours.scenario.clone(),
        step: ours.step.clone(),
        connections: ours.load.connections,
        depth: ours.load.depth,
        rate: ours.load.rate,
        promise: promise(&ours.durability).to_owned(),
        figure: figure.name(),
        ours: ours.target.clone(),
        ours_value: round(figure.of_row(ours)?),
        peer: peer.target.clone(),
        peer_value: round(figure.of_row(peer)?),
        times: round(times),
        min: round(min),
        max: round(max),
        pairs: found.pairs,
        verdict,
        why,
    })
}
