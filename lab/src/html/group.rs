//! Rows that were measured side by side, under one load: their charts, what follows from them, and
//! their tables.

use anyhow::Result;
use maud::{Markup, html};

use super::chart::{Axis, Bar, Line, bars, brief, decades, even, lines};
use super::curve::Curve;
use super::tables;
use crate::report::grouped;
use crate::rivals::{findings, is_measured, is_ours, is_peer};
use crate::row::{Row, Run, by_load};

/// Lines in one chart at most: more cannot be told apart.
const LINES_MAX: usize = 7;

/// Rows of one file, one scenario and one load.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) file: String,
    pub(super) rows: Vec<Row>,
    /// The part of the page that it is.
    pub(super) anchor: String,
}

impl Group {
    /// The rows of a file, by scenario and load, in the order in which they come.
    pub(super) fn of(file: &str, rows: &[Row]) -> Vec<Group> {
        let group = |rows| Group { file: file.to_owned(), rows, anchor: String::new() };
        by_load(rows).into_iter().map(group).collect()
    }

    /// The scenario and the form of its load.
    pub(super) fn title(&self) -> String {
        let row = &self.rows[0];
        let load = &row.load;
        let rate = load.rate.map(|rate| format!(" at {}/s", grouped(rate))).unwrap_or_default();
        let stand = if row.stand == "namespaces" { ", two hosts and 1 Gbit/s" } else { "" };
        format!(
            "{}{rate}: {} connections, {} in flight on each{stand}",
            row.title(),
            load.connections,
            load.depth
        )
    }

    /// The scenario: what a row of the picture has room for.
    pub(super) fn name(&self) -> String {
        let row = &self.rows[0];
        let stand = if row.stand == "namespaces" { ", two hosts" } else { "" };
        format!("{}{stand}", row.title())
    }

    /// Connections, and requests in flight on each.
    pub(super) fn form(&self) -> String {
        let load = &self.rows[0].load;
        format!("{} \u{d7} {} in flight", load.connections, load.depth)
    }

    /// Something of ours stands beside a peer, or was killed: others fold as a whole.
    pub(super) fn is_shown(&self) -> bool {
        !findings(&self.rows).is_empty() || self.rows.iter().any(|row| row.losses.is_some())
    }

    /// Charts first; load, figures, command lines and reasons fold.
    pub(super) fn render(&self) -> Result<Markup> {
        let found = findings(&self.rows);
        let measured = self.measured();
        Ok(html! {
            section id=(self.anchor) {
                h2 { (self.title()) }
                @if measured.is_empty() {
                    p { "Nothing could be measured." }
                } @else {
                    div.charts {
                        (self.throughput(&measured))
                        (self.cpu(&measured))
                        (self.packets(&measured))
                    }
                    // Many small loads are alone: their curves would outweigh the page.
                    @if self.is_shown() { (self.over_time(&measured)) }
                }
                (tables::losses(&self.rows))
                details {
                    summary { "Load, figures, command lines and reasons" }
                    p.conditions { (tables::conditions(&self.rows[0])) " From " (self.file) "." }
                    @if !found.is_empty() { (tables::findings(&found)) }
                    (tables::measured(&self.rows))
                    (tables::behind(&self.rows))
                }
            }
        })
    }

    /// Rows with figures, the fastest first.
    fn measured(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| is_measured(row)).collect();
        let rate = |row: &Row| row.figures.business_ops_per_s.unwrap_or(0.0);
        rows.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        rows
    }

    fn throughput(&self, rows: &[&Row]) -> Markup {
        let bar = |row: &&Row| {
            let value = row.figures.business_ops_per_s?;
            let label = grouped(value);
            let spread = row.spread.map(|spread| (spread.min, spread.max));
            Some(Bar { spread, ..plain(row, value, label) })
        };
        let (limits, stores): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| is_limit(row));
        let all: Vec<Bar> = stores.iter().filter_map(bar).collect();
        html! {
            div {
                (bars("Throughput", "operations/s; line: least to greatest run", &all))
                @for row in limits {
                    p.note {
                        "Off the scale: " (row.target) ", a limit and no rival, "
                        (row.figures.business_ops_per_s.map_or_else(String::new, grouped)) "."
                    }
                }
            }
        }
    }

    fn cpu(&self, rows: &[&Row]) -> Markup {
        let bar = |row: &&Row| {
            let value = row.figures.cpu_us_per_op?;
            let label = format!("{value:.2}");
            let runs = row.runs.iter().filter_map(|run| run.figures.cpu_us_per_op);
            let all: Vec<f64> = runs.collect();
            let spread = (all.len() > 1).then(|| crate::figures::range(&all));
            Some(Bar { spread, ..plain(row, value, label) })
        };
        let mut all: Vec<Bar> = rows.iter().filter_map(bar).collect();
        all.sort_by(|a, b| a.value.total_cmp(&b.value));
        if all.is_empty() {
            return html! {};
        }
        bars("CPU of the system under test", "microseconds/operation", &all)
    }

    fn packets(&self, rows: &[&Row]) -> Markup {
        let bar = |row: &&Row| {
            let (rx, tx) = (row.figures.rx_packets_per_s?, row.figures.tx_packets_per_s?);
            let rate = row.figures.business_ops_per_s.filter(|rate| *rate > 0.0)?;
            let value = (rx + tx) / rate;
            let bytes = 1_000.0 * (row.figures.rx_kb_per_s? + row.figures.tx_kb_per_s?) / rate;
            Some(plain(row, value, format!("{value:.2}, {bytes:.0} bytes")))
        };
        let mut all: Vec<Bar> = rows.iter().filter_map(bar).collect();
        all.sort_by(|a, b| a.value.total_cmp(&b.value));
        bars("Packets in and out", "per operation, with their bytes", &all)
    }

    /// Latencies by percentile, and how rate and latency went.
    fn over_time(&self, rows: &[&Row]) -> Markup {
        // Ours always, then the fastest, then the limits in a colour of their own.
        let (limits, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| is_limit(row));
        let (mut chosen, peers): (Vec<&Row>, Vec<&Row>) =
            others.into_iter().partition(|row| is_ours(row));
        chosen.extend(peers);
        let left_out: Vec<&str> =
            chosen.iter().skip(LINES_MAX).map(|row| row.target.as_str()).collect();
        chosen.truncate(LINES_MAX);
        let mut coloured: Vec<(usize, &Row)> = chosen.into_iter().enumerate().collect();
        coloured.extend(limits.first().map(|row| (LINES_MAX, *row)));
        let curves: Vec<(usize, &Row, Curve)> = coloured
            .iter()
            .filter_map(|(colour, row)| Some((*colour, *row, Curve::of(row)?)))
            .collect();
        let is_coarse = curves.iter().any(|(_, _, curve)| curve.is_coarse);
        let stores: Vec<(usize, &Row)> =
            coloured.iter().copied().filter(|(colour, _)| *colour < LINES_MAX).collect();
        html! {
            ul.legend {
                @for (colour, row) in &coloured {
                    li { span class=(format!("key c{colour}")) {} (row.target) }
                }
            }
            div.charts {
                (percentiles(&curves))
                (history(&stores, "Throughput over time", false))
                (history(&coloured, "p99 latency over time", true))
            }
            @if is_coarse {
                p.note { "Curves of results without histograms join their percentiles." }
            }
            @if !left_out.is_empty() {
                p.note { "Not drawn, in the table: " (left_out.join(", ")) "." }
            }
        }
    }
}

/// Does not do the work of the others.
fn is_limit(row: &Row) -> bool {
    !is_ours(row) && !is_peer(row)
}

fn class(row: &Row) -> &'static str {
    match row {
        row if is_ours(row) => "ours",
        row if is_peer(row) => "peer",
        _ => "limit",
    }
}

fn plain(row: &Row, value: f64, label: String) -> Bar {
    let is_bound = row.figures.loader_bound == Some(true);
    let name = if is_bound { format!("{} (loader-bound)", row.target) } else { row.target.clone() };
    Bar { name, value, label, spread: None, class: class(row) }
}

fn percentiles(curves: &[(usize, &Row, Curve)]) -> Markup {
    let points = || curves.iter().flat_map(|(_, _, curve)| curve.points.iter());
    let nines = points().map(|point| point.0).fold(1.0, f64::max).ceil();
    let least = points().map(|point| point.1).filter(|us| *us > 0.0).fold(f64::INFINITY, f64::min);
    let most = points().map(|point| point.1).fold(1.0, f64::max);
    let names = ["0", "90", "99", "99.9", "99.99", "99.999"];
    let shares = (0_u32..).zip(names).map(|(tick, name)| (f64::from(tick), name.to_owned()));
    let x = Axis {
        title: "percentile",
        ticks: shares.take_while(|(tick, _)| *tick <= nines).collect(),
        is_log: false,
    };
    let all: Vec<Line> = curves
        .iter()
        .map(|(colour, row, curve)| Line {
            colour: *colour,
            points: curve.points.clone(),
            name: row.target.clone(),
        })
        .collect();
    lines("Latency by percentile", &x, &latency_axis(least, most), &all)
}

/// Microseconds by powers of ten, each with its unit.
fn latency_axis(least: f64, most: f64) -> Axis {
    let least = if least.is_finite() { least } else { 1.0 };
    let label = |us: f64| match us {
        us if us < 1_000.0 => format!("{}us", brief(us)),
        us if us < 1e6 => format!("{}ms", brief(us / 1e3)),
        us => format!("{}s", brief(us / 1e6)),
    };
    let ticks = decades(least, most).into_iter().map(|us| (us, label(us))).collect();
    Axis { title: "by powers of ten", ticks, is_log: true }
}

/// The run whose figures the row has.
fn median_run(row: &Row) -> Option<&Run> {
    let rate = row.figures.business_ops_per_s;
    row.runs.iter().find(|run| run.figures.business_ops_per_s == rate)
}

fn history(rows: &[(usize, &Row)], title: &str, is_latency: bool) -> Markup {
    let line = |(colour, row): &(usize, &Row)| {
        let timeline = &median_run(row)?.timeline;
        let begin = row.load.warmup_seconds;
        let value = |second: &crate::loader::Second| {
            if is_latency { second.p99_us } else { second.ops_per_s }
        };
        // A last piece of a second has too few operations to say anything.
        let is_whole = |index: usize| {
            let before = if index == 0 { begin } else { timeline[index - 1].elapsed };
            timeline[index].elapsed - before > 0.5
        };
        let points = timeline.iter().enumerate().filter(|(index, _)| is_whole(*index));
        let points = points.map(|(_, second)| (second.elapsed - begin, value(second)));
        Some(Line { colour: *colour, points: points.collect(), name: row.target.clone() })
    };
    let all: Vec<Line> = rows.iter().filter_map(line).collect();
    let all: Vec<Line> = all.into_iter().filter(|line| line.points.len() > 1).collect();
    if all.is_empty() {
        return html! {};
    }
    let points = || all.iter().flat_map(|line| line.points.iter());
    let seconds = points().map(|point| point.0).fold(1.0, f64::max);
    let least = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let most = points().map(|point| point.1).fold(0.0, f64::max);
    let plain = |ticks: Vec<f64>| ticks.into_iter().map(|tick| (tick, brief(tick))).collect();
    let x = Axis { title: "seconds of the median run", ticks: plain(even(seconds)), is_log: false };
    let y = match is_latency {
        true => latency_axis(least, most),
        false => Axis { title: "operations/s", ticks: plain(even(most)), is_log: false },
    };
    lines(title, &x, &y, &all)
}
