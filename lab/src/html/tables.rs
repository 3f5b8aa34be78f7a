//! The tables of the page: findings, measured rows, what stands behind them, and what others have
//! published, which stands apart.

use anyhow::Result;
use maud::{Markup, html};

use crate::report::{duration, grouped, published_tables_of};
use crate::rivals::{Finding, Outcome, promise, times};
use crate::row::Row;
use crate::sampler::CoreUse;

/// The load of a group in one sentence.
pub(super) fn conditions(row: &Row) -> String {
    let load = &row.load;
    let pacing = load.rate.map_or_else(
        || "closed loop".to_owned(),
        |rate| {
            format!("{} requests/s by the clock, latency from when one was meant", grouped(rate))
        },
    );
    let bound = match load.loader_core {
        Some(loader) => {
            let target: Vec<String> = load.target_cores.iter().map(usize::to_string).collect();
            format!("loader on core {loader}, target on core {}", target.join(" and "))
        }
        None => "nothing bound to cores".to_owned(),
    };
    let stand = if row.stand.is_empty() { "loopback" } else { &row.stand };
    format!(
        "{} sessions, {} accounts or keys, {} s after {} s of warm-up, {pacing}; {stand}, {bound}; {}, \
         {} cores, Linux {}, commit {}.",
        load.sessions,
        grouped(f64::from(load.accounts)),
        load.seconds,
        load.warmup_seconds,
        row.host.cpu,
        row.host.cores,
        row.host.kernel,
        row.host.git_commit
    )
}

/// Ours against the best of the others.
pub(super) fn findings(all: &[Finding<'_>]) -> Markup {
    html! {
        div.scroll {
            table.findings {
                caption { "Ours as a multiple of the best peer that promises the same" }
                thead {
                    tr {
                        th.text scope="col" { "ours" }
                        th.text scope="col" { "figure" }
                        th.text scope="col" { "best peer" }
                        th scope="col" { "ours / peer" }
                        th scope="col" { "least to greatest" }
                        th.text scope="col" { "verdict" }
                    }
                }
                tbody {
                    @for one in all {
                        tr {
                            th scope="row" { (one.ours.target) }
                            td.text { (one.figure.name()) ", " (promise(&one.ours.durability)) }
                            td.text { (one.peer.target) }
                            @if let Outcome::NoClaim(why) = &one.outcome {
                                td { "-" }
                                td { "-" }
                                td.text { "no claim: " (why) }
                            } @else {
                                td { (times(one.median)) }
                                td { (times(one.min)) " to " (times(one.max)) }
                                @match &one.outcome {
                                    Outcome::Wins => td.text.wins { "wins" },
                                    Outcome::Loses => td.text.loses { "loses" },
                                    _ => td.text { "even" },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The measured rows with every figure, and those that could not be measured with the reason.
pub(super) fn measured(rows: &[Row]) -> Markup {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), grouped);
    let decimal = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let latencies = |row: &Row| {
        let latency = row.figures.latency_us.as_ref();
        let values = latency.map(|l| [l.avg, l.p50, l.p90, l.p95, l.p99, l.p999, l.max]);
        values.map_or_else(|| vec!["-".to_owned(); 7], |values| values.map(duration).to_vec())
    };
    let headings = [
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
        "bytes/account",
    ];
    html! {
        div.scroll {
            table.wide {
                caption { "Measured here" }
                thead {
                    tr {
                        th.text scope="col" { "target" }
                        th.text scope="col" { "durability" }
                        th scope="col" { "replicas" }
                        th.text scope="col" { "audit" }
                        @for heading in headings { th scope="col" { (heading) } }
                    }
                }
                tbody {
                    @for row in rows {
                        @let figures = &row.figures;
                        @if let Some(why) = &row.not_measured {
                            tr {
                                th scope="row" { (row.target) }
                                td.text colspan=(headings.len() + 3) { "not measured here: " (why) }
                            }
                        } @else {
                            tr {
                                th scope="row" { (row.target) }
                                td.text { (row.durability) }
                                td { (row.replicas) }
                                td.text { (row.audit) }
                                td { (number(figures.business_ops_per_s)) }
                                @for latency in latencies(row) { td { (latency) } }
                                td { (decimal(figures.cpu_percent, 0)) }
                                td { (decimal(figures.cpu_us_per_op, 2)) }
                                td { (decimal(figures.loader_idle_percent, 0)) }
                                td { (number(figures.rx_packets_per_s)) }
                                td { (number(figures.tx_packets_per_s)) }
                                td { (number(figures.rx_kb_per_s)) }
                                td { (number(figures.tx_kb_per_s)) }
                                td { (decimal(figures.memory_bytes.map(|b| b as f64 / 1e6), 1)) }
                                td { (decimal(figures.memory_bytes_per_account, 0)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Requests that a node took with it, and what clients felt, where something became of one.
pub(super) fn losses(rows: &[Row]) -> Markup {
    let killed: Vec<_> = rows.iter().filter_map(|row| Some((row, row.losses?))).collect();
    html! {
        @if !killed.is_empty() {
            div.scroll {
                table {
                    caption { "What became of a node in each run" }
                    thead {
                        tr {
                            th.text scope="col" { "target" }
                            th scope="col" { "runs" }
                            th scope="col" { "lost" }
                            th scope="col" { "done twice" }
                            th scope="col" { "no answers, median" }
                            th scope="col" { "no answers, at most" }
                            th scope="col" { "together again" }
                            th scope="col" { "p99 until then" }
                            th scope="col" { "p99 before" }
                        }
                    }
                    tbody {
                        @for (row, losses) in killed {
                            tr {
                                th scope="row" { (row.target) }
                                td { (row.runs.len()) }
                                td { (losses.lost) }
                                td { (losses.done_twice) }
                                td { (duration(1_000.0 * losses.gap_ms_median)) }
                                td { (duration(1_000.0 * losses.gap_ms_max)) }
                                td { (duration(1_000.0 * losses.whole_ms_median)) }
                                td { (duration(losses.p99_meanwhile_us_median)) }
                                td { (duration(losses.p99_before_us_median)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Use of each core, where the results have it.
fn cores(row: &Row) -> Markup {
    // A machine of many cores has its figures in the JSON.
    let core = |one: &CoreUse| {
        let role = match row.load.loader_core {
            Some(loader) if loader == one.core => " (the loader's)",
            _ if row.load.target_cores.contains(&one.core) => " (the target's)",
            _ => "",
        };
        format!(
            "core {}{role} {:.0} % busy, {:.0} % in interrupts",
            one.core, one.busy_percent, one.interrupts_percent
        )
    };
    let all: Vec<String> = row.figures.core_use.iter().take(16).map(core).collect();
    html! { @if !all.is_empty() { "; " (all.join(", ")) } }
}

/// Settings and machine behind each row.
pub(super) fn behind(rows: &[Row]) -> Markup {
    let measured: Vec<&Row> = rows.iter().filter(|row| row.not_measured.is_none()).collect();
    html! {
        @if !measured.is_empty() {
            h3 { "What each row ran with" }
            dl {
                @for row in measured {
                    dt { (row.target) ": " (row.version) }
                    dd {
                        "audit " (row.audit) "; durability " (row.durability) "; "
                        (row.replicas) " replicas"
                        @if let Some(copies) = row.acknowledged_copies {
                            ", acknowledged on " (copies) " copies"
                        }
                        @if let Some(spread) = row.spread {
                            "; median of " (row.runs.len()) " runs, which differ by "
                            (format!("{:.1}", spread.percent)) " %"
                        } @else { "; one run" }
                        @if let Some(latency) = &row.figures.latency_uncorrected_us {
                            "; uncorrected, from when a request was written: p50 " (duration(latency.p50))
                            ", p99 " (duration(latency.p99)) ", max " (duration(latency.max))
                        }
                        (cores(row))
                        @for note in &row.notes { "; " (note) }
                        "."
                        @if row.configuration.is_empty() {
                            br;
                            "Started with: not kept by the lab of then, or not started by it."
                        } @else {
                            br;
                            code { (row.configuration.join(" ")) }
                        }
                    }
                }
            }
        }
    }
}

/// Published tables for these scenarios.
pub(super) fn published<'a>(scenarios: impl Iterator<Item = &'a str>) -> Result<Markup> {
    let mut tables = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for scenario in scenarios {
        if !seen.contains(&scenario) {
            seen.push(scenario);
            tables.extend(published_tables_of(scenario)?);
        }
    }
    Ok(html! {
        @if !tables.is_empty() {
            section.published {
                details {
                summary { "Published by others" }
                p { "Other hardware, other years, other loaders: never part of a ratio." }
                @for table in &tables {
                    h3 { (table.scenario) ": " (table.source) }
                    p.conditions { (table.hardware) }
                    div.scroll {
                        table {
                            thead {
                                tr {
                                    @for (column, name) in table.columns.iter().enumerate() {
                                        th.text[table.is_text(column)] scope="col" { (name) }
                                    }
                                }
                            }
                            tbody {
                                @for row in table.cells() {
                                    tr {
                                        @for (column, cell) in row.iter().enumerate() {
                                            td.text[table.is_text(column)] { (cell) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
                }
            }
        }
    })
}
