//! The sections of INFO that count by command and by error, in Valkey's form.

use super::Source;
use crate::execute::commands::Lines;
use crate::measures::histogram::Histogram;
use scurry_resp::table;

/// Writes the counts by command: `calls` were executed and `rejected_calls` were not. Commands that are timed together
/// share their duration equally. Nothing is timed while the slow log and the latency monitor are both off.
pub(super) fn commands(source: &Source<'_>, lines: &mut Lines) {
    for spec in table::all().flat_map(|spec| [spec].into_iter().chain(spec.subcommands)) {
        let tally = source.all.measures.counts_of(spec.id);
        if tally.calls == 0 {
            continue;
        }
        let calls = tally.calls.saturating_sub(tally.refused);
        let failed = tally.errors.saturating_sub(tally.refused);
        let us = tally.duration_ns as f64 / 1e3;
        lines.line(
            &format!("cmdstat_{}", spec.lower_name()),
            format_args!(
                "calls={calls},usec={us:.0},usec_per_call={:.2},rejected_calls={},failed_calls={failed}",
                us / calls.max(1) as f64,
                tally.refused,
            ),
        );
    }
}

pub(super) fn errors(source: &Source<'_>, lines: &mut Lines) {
    for (word, count) in &source.all.measures.errors {
        lines.line(&format!("errorstat_{word}"), format_args!("count={count}"));
    }
}

/// Returns how many durations since the start were no longer than each bound in ns, as `1024=0,2048=7,...,inf=9`.
pub(super) fn durations(of: &Histogram) -> String {
    let part = |(bound, count): (Option<f64>, u64)| match bound {
        Some(seconds) => format!("{:.0}={count}", seconds * 1e9),
        None => format!("inf={count}"),
    };
    of.cumulative().map(part).collect::<Vec<_>>().join(",")
}

/// Formats a number of bytes for people.
pub(super) fn human(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let (mut amount, mut unit) = (bytes as f64 / 1024.0, "K");
    for larger in ["M", "G", "T", "P"] {
        if amount >= 1024.0 {
            (amount, unit) = (amount / 1024.0, larger);
        }
    }
    format!("{amount:.2}{unit}")
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn bytes_are_shown_as_valkey_shows_them() {
        let shown = [0, 1023, 1024, 1_021_344, 25_276_502_016, 1 << 41].map(human);
        assert_eq!(shown, ["0B", "1023B", "1.00K", "997.41K", "23.54G", "2.00T"]);
    }
}
