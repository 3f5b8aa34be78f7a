//! The latency curve of a row: from the histograms of its runs, or, in results that have none, from
//! the percentiles that they have.

use crate::latency::LatencyRecorder;
use crate::row::Row;

/// Points of a curve: how many nines of the share that is at or below (0 is none, 1 is 90 %, 2 is
/// 99 %), and the latency in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) points: Vec<(f64, f64)>,
    /// Whether the curve joins a handful of percentiles.
    pub(super) is_coarse: bool,
}

/// Points per nine.
const STEPS: u32 = 10;
/// 99.999 %.
const NINES_MAX: u32 = 5;
/// A share above which fewer requests than this lie is not shown.
const REQUESTS_MIN: f64 = 10.0;

impl Curve {
    /// None of a row without figures.
    pub(super) fn of(row: &Row) -> Option<Curve> {
        let summary = row.figures.latency_us.as_ref()?;
        let mut all = LatencyRecorder::new().ok()?;
        for run in &row.runs {
            // One that cannot be read is as one that is not there.
            if let Some(Ok(own)) = run.histogram.as_deref().map(LatencyRecorder::decode) {
                all.add(&own);
            }
        }
        if all.count() == 0 {
            let l = summary;
            let shares =
                [(0.5, l.p50), (0.9, l.p90), (0.95, l.p95), (0.99, l.p99), (0.999, l.p999)];
            let points = shares.map(|(share, us)| (nines(share), us)).to_vec();
            return Some(Curve { points, is_coarse: true });
        }
        let count = all.count() as f64;
        let points = (0..=NINES_MAX * STEPS)
            .map(|step| f64::from(step) / f64::from(STEPS))
            .take_while(|nines| count * 10f64.powf(-nines) >= REQUESTS_MIN)
            .map(|nines| (nines, all.quantile_us(1.0 - 10f64.powf(-nines))))
            .collect();
        Some(Curve { points, is_coarse: false })
    }
}

fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::LatencySummary;
    use crate::row::{Figures, Run};

    fn row(histograms: &[Option<String>]) -> Row {
        let summary = LatencySummary { p50: 50.0, p999: 999.0, ..LatencySummary::default() };
        let figures = Figures { latency_us: Some(summary), ..Figures::default() };
        let run =
            |histogram: &Option<String>| Run { histogram: histogram.clone(), ..Run::default() };
        Row { figures, runs: histograms.iter().map(run).collect(), ..Row::default() }
    }

    #[test]
    fn a_curve_joins_the_histograms_of_all_runs() {
        let histogram = |micros: std::ops::Range<u64>| {
            let mut recorder = LatencyRecorder::new().unwrap();
            micros.for_each(|micros| recorder.record(micros * 1_000));
            Some(recorder.encode().unwrap())
        };
        let curve = Curve::of(&row(&[histogram(0..500), histogram(500..1_000)])).unwrap();
        let (nines, us) = curve.points[10];
        assert!((nines - 1.0).abs() < 1e-9 && (us - 900.0).abs() < 2.0, "{nines} {us}");
        // Above 99 % there are only ten requests.
        assert!((curve.points.last().unwrap().0 - 2.0).abs() < 1e-9);
        assert!(!curve.is_coarse);
    }

    #[test]
    fn without_a_histogram_the_percentiles_are_joined() {
        let curve = Curve::of(&row(&[None])).unwrap();
        assert!(curve.is_coarse);
        assert_eq!(curve.points.len(), 5);
        assert!((curve.points[4].0 - 3.0).abs() < 1e-9 && curve.points[4].1 == 999.0);
        assert!(Curve::of(&Row::default()).is_none());
    }
}
