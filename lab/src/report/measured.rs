//! The measured rows, their notes and their ratios.

use super::grid::{Grid, grouped};
use crate::row::{Ratio, Row, SPREAD_PERCENT_MAX};
use crate::target::Target;

const VERDICT_CHARS_MAX: usize = 60;

const HEADINGS: &[&str] = &[
    "<scenario",
    "<target",
    "ops/s",
    "avg",
    "p50",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "max",
    "CPU %",
    "CPU us/op",
    "loader idle %",
    "rx pkt/s",
    "tx pkt/s",
    "rx kB/s",
    "tx kB/s",
    "memory MB",
    "<durability",
    "replicas",
    "<audit",
];

/// Renders the table, notes, ratios and conclusions.
pub(crate) fn render(rows: &[Row]) -> String {
    let mut grid = Grid::new(HEADINGS);
    for row in rows {
        grid.push(cells(row));
    }
    let mut out = grid.render();
    out.push_str(&behind(rows));
    out.push_str(&ratios(rows));
    out
}

/// Renders the conditions of the load and the details of each row.
fn behind(rows: &[Row]) -> String {
    let mut out = rows.first().map(conditions).unwrap_or_default();
    for row in rows {
        out.push_str(&details(row));
    }
    out
}

fn cells(row: &Row) -> Vec<String> {
    let figures = &row.figures;
    let number = |value: Option<f64>| value.map_or("-".to_owned(), grouped);
    let decimal = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let latency = figures.latency_us.as_ref();
    let mut cells = vec![row.title(), row.target.clone(), number(figures.business_ops_per_s)];
    let latencies = latency.map(|l| [l.avg, l.p50, l.p90, l.p95, l.p99, l.p999, l.max]);
    match latencies {
        Some(values) => cells.extend(values.map(duration)),
        None => cells.extend(std::iter::repeat_n("-".to_owned(), 7)),
    }
    cells.extend([
        decimal(figures.cpu_percent, 0),
        decimal(figures.cpu_us_per_op, 2),
        decimal(figures.loader_idle_percent, 0),
        number(figures.rx_packets_per_s),
        number(figures.tx_packets_per_s),
        number(figures.rx_kb_per_s),
        number(figures.tx_kb_per_s),
        decimal(figures.memory_bytes.map(|bytes| bytes as f64 / 1e6), 1),
        row.durability.clone(),
        row.replicas.to_string(),
        shortened(&row.audit),
    ]);
    cells
}

/// Shortens a verdict to the width of the table's last column; the whole text stands below.
fn shortened(verdict: &str) -> String {
    let line = verdict.lines().next().unwrap_or_default();
    if line.chars().count() <= VERDICT_CHARS_MAX && line == verdict {
        return line.to_owned();
    }
    let start: String = line.chars().take(VERDICT_CHARS_MAX).collect();
    format!("{}...", start.trim_end())
}

/// Formats a latency with its unit, three digits.
pub(crate) fn duration(micros: f64) -> String {
    match micros {
        _ if micros < 1_000.0 => format!("{micros:.0}us"),
        _ if micros < 100_000.0 => format!("{:.2}ms", micros / 1_000.0),
        _ => format!("{:.0}ms", micros / 1_000.0),
    }
}

fn conditions(row: &Row) -> String {
    let load = &row.load;
    let loop_length = load
        .ops_per_session
        .map(|count| format!(", {count} operations per session"))
        .unwrap_or_default();
    let is_search = row.runs.iter().any(|run| run.search.is_some());
    let unpaced = if is_search { "one rate by the clock after the other" } else { "closed loop" };
    let pacing = load.rate.map_or_else(
        || unpaced.to_owned(),
        |rate| {
            format!("{} requests/s by the clock, latency from when one was meant", grouped(rate))
        },
    );
    let cores = match load.loader_core {
        Some(loader) => {
            let target: Vec<String> = load.target_cores.iter().map(usize::to_string).collect();
            format!("loader on core {loader}, target on core {}", target.join(" and "))
        }
        None => "nothing bound to cores".to_owned(),
    };
    let commit = if row.host.git_commit.is_empty() {
        String::new()
    } else {
        format!(", commit {}", row.host.git_commit)
    };
    format!(
        "{} sessions over {} connections, depth {}{loop_length}, {} accounts or keys, {} s after {} s \
         of warm-up, {pacing}, {}\n{}, {} cores, Linux {}, {cores}{commit}\n",
        load.sessions,
        load.connections,
        load.depth,
        grouped(f64::from(load.accounts)),
        load.seconds,
        load.warmup_seconds,
        if row.stand.is_empty() { "loopback" } else { &row.stand },
        row.host.cpu,
        row.host.cores,
        row.host.kernel
    )
}

fn details(row: &Row) -> String {
    let mut parts = Vec::new();
    if shortened(&row.audit) != row.audit {
        parts.push(row.audit.clone());
    }
    if !row.version.is_empty() {
        parts.push(row.version.clone());
    }
    if let Some(bytes) = row.figures.memory_bytes_per_account {
        parts.push(format!("{bytes:.0} bytes per account or key"));
    }
    if let Some(threads) = row.load.threads {
        parts.push(format!("{threads} threads"));
    }
    if let Some(spread) = row.spread {
        parts.push(format!(
            "median of {} runs, {} to {} ops/s ({:.1} %)",
            row.runs.len(),
            grouped(spread.min),
            grouped(spread.max),
            spread.percent
        ));
    }
    parts.extend(row.notes.iter().cloned());
    let step = row.step.as_ref().map(|step| format!("{step}, ")).unwrap_or_default();
    if parts.is_empty() {
        return String::new();
    }
    format!("{step}{}: {}\n", row.target, parts.join("; "))
}

/// Renders the ratio of each pair once, in the order of the rows. Echo is a limit, not a rival.
fn ratios(rows: &[Row]) -> String {
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let later = || rows[index + 1..].iter().filter(|other| other.step == row.step);
        for ratio in &row.ratios {
            let Some(other) = later().find(|other| other.target == ratio.to) else { continue };
            out.push_str(&ratio_line(row, other, ratio));
        }
    }
    out
}

fn ratio_line(row: &Row, other: &Row, ratio: &Ratio) -> String {
    let echo = Target::Echo.name();
    if row.target == echo {
        let reverse = other.ratios.iter().find(|ratio| ratio.to == echo);
        return reverse.map(|reverse| ratio_line(other, row, reverse)).unwrap_or_default();
    }
    let times =
        |value: f64| if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") };
    let step = row.step.as_ref().map(|step| format!("{step}, ")).unwrap_or_default();
    let mut line = if other.target == echo {
        format!(
            "{step}{} = {:.0} % of the echo server, the limit of this loopback",
            row.target,
            100.0 * ratio.median
        )
    } else {
        let range = if ratio.pairs > 1 {
            format!(" ({}-{} over {} pairs)", times(ratio.min), times(ratio.max), ratio.pairs)
        } else {
            " (one run each: no claim)".to_owned()
        };
        format!("{step}{} / {} = {}x{range}", row.target, other.target, times(ratio.median))
    };
    for row in [row, other] {
        if row.spread.is_some_and(|spread| spread.percent > SPREAD_PERCENT_MAX) {
            line.push_str(&format!("; no claim: the runs of {} differ too much", row.target));
        }
        if row.figures.loader_bound == Some(true) {
            line.push_str(&format!("; {} is loader-bound", row.target));
        }
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{AUDIT_OK, Figures, Run, compare};

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

    #[test]
    fn ratios_are_printed_once_per_pair_with_their_range() {
        let mut rows = [
            row("scurry", &[700.0, 760.0]),
            row("echo", &[1400.0, 1400.0]),
            row("valkey+lua", &[100.0, 100.0]),
        ];
        compare(&mut rows);
        let text = ratios(&rows);
        let expected = "scurry = 50 % of the echo server, the limit of this loopback\n\
            scurry / valkey+lua = 7.00x (7.00-7.60 over 2 pairs)\n\
            valkey+lua = 7 % of the echo server, the limit of this loopback\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn runs_that_differ_too_much_support_no_claim() {
        let mut rows = [row("a", &[100.0, 200.0]), row("b", &[100.0, 100.0])];
        compare(&mut rows);
        assert!(ratios(&rows).contains("no claim: the runs of a differ too much"));
    }

    #[test]
    fn a_row_without_figures_has_dashes_and_its_reason() {
        let row = Row { audit: "not measured here: x".into(), ..Row::default() };
        let cells = cells(&row);
        assert_eq!(cells.len(), HEADINGS.len());
        assert_eq!(cells[2], "-");
        assert_eq!(cells.last().unwrap(), "not measured here: x");
    }

    #[test]
    fn a_long_verdict_is_whole_below_the_table() {
        let audit = format!("failed audit: {}", "x".repeat(100));
        let row = Row { target: "a".into(), audit: audit.clone(), ..Row::default() };
        assert!(cells(&row).last().unwrap().ends_with("xxx..."));
        assert!(details(&row).contains(&audit));
    }

    #[test]
    fn durations_carry_their_unit() {
        assert_eq!([12.3, 1_234.5, 123_456.0].map(duration), ["12us", "1.23ms", "123ms"]);
    }
}
