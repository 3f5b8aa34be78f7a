//! Rows of targets that were measured side by side: their figures, their ratios, their logs and replicas.

use super::super::results::{list, number, word};
use super::format::{Table, cell, duration, grouped, multiple};
use serde_json::Value;

/// Runs that differ by more than this percentage of the median support no claim, as the laboratory has it.
const SPREAD_MAX: f64 = 20.0;

/// Throughput with its spread, latency and CPU.
pub(super) fn render(rows: &[Value]) -> String {
    let mut table =
        Table::new(&["load", "target", "operations/s", "p50", "p99", "CPU us/op", "audit"]);
    let mut last = String::new();
    for row in rows {
        let load = load(row);
        let shown = if load == last { String::new() } else { load.clone() };
        last = load;
        table.push(&[
            shown,
            target(row),
            throughput(row),
            cell(number(row, "/latency_us/p50"), duration),
            cell(number(row, "/latency_us/p99"), duration),
            cell(number(row, "/cpu_us_per_op"), |us| format!("{us:.2}")),
            audit(row),
        ]);
    }
    table.render()
}

/// Ratios of throughput of ours to the others, and of the module to its server's HSET.
pub(super) fn ratios(rows: &[Value]) -> String {
    let mut table = Table::new(&[
        "load",
        "throughput of",
        "to",
        "median over the pairs",
        "least to greatest",
        "",
    ]);
    for row in rows.iter().filter(|row| is_ours(word(row, "target"))) {
        for ratio in list(row, "ratios") {
            let to = word(ratio, "to");
            let other =
                rows.iter().find(|other| word(other, "target") == to && load(other) == load(row));
            let (Some(other), Some(median)) = (other, number(ratio, "/median")) else { continue };
            if is_ours(to) || to == "echo" || promise(other) != promise(row) {
                continue;
            }
            let ends = (number(ratio, "/min"), number(ratio, "/max"));
            let ends = match ends {
                (Some(min), Some(max)) if ratio["pairs"] != 1 => format!("{min:.2} to {max:.2}"),
                _ => "measured once".to_owned(),
            };
            table.push(&[
                load(row),
                target(row),
                to.to_owned(),
                multiple(median),
                ends,
                doubt(row, other),
            ]);
        }
    }
    table.render()
}

/// Promise of a durability, of which servers have names of their own.
fn promise(row: &Value) -> &str {
    match word(row, "durability") {
        "everysec" => "write",
        "always" => "fsync",
        other => other,
    }
}

/// Reasons why a ratio of two rows is no claim, as the laboratory gives them.
fn doubt(row: &Value, other: &Value) -> String {
    let mut reasons = Vec::new();
    for one in [row, other] {
        if let Some(spread) = number(one, "/spread/percent").filter(|spread| *spread > SPREAD_MAX) {
            reasons.push(format!("runs of {} differ by {spread:.0} %", word(one, "target")));
        }
        if one["loader_bound"] == true {
            reasons.push(format!("the loader was the limit of {}", word(one, "target")));
        }
    }
    if reasons.is_empty() { String::new() } else { format!("no claim: {}", reasons.join(", ")) }
}

/// How each durability of one target writes its log.
pub(super) fn log(rows: &[Value]) -> String {
    let mut table =
        Table::new(&["durability", "share of `none`", "bytes a change", "changes a write"]);
    for row in rows {
        let none = list(row, "ratios").iter().find(|one| word(one, "to").ends_with(":none"));
        let share = none.and_then(|one| {
            let (median, min, max) =
                (number(one, "/median")?, number(one, "/min")?, number(one, "/max")?);
            Some(format!("{:.0} % ({:.0} to {:.0})", 100.0 * median, 100.0 * min, 100.0 * max))
        });
        table.push(&[
            word(row, "durability").to_owned(),
            share.unwrap_or_default(),
            cell(number(row, "/log/bytes_per_change"), |bytes| format!("{bytes:.0}")),
            cell(number(row, "/log/changes_per_batch"), grouped),
        ]);
    }
    table.render()
}

/// Costs of replicas, CPU of the primaries and of the replicas apart, beside rows that promise as much.
pub(super) fn replicas(rows: &[Value]) -> String {
    let mut table = Table::new(&[
        "load",
        "target",
        "replicas",
        "acknowledged on",
        "operations/s",
        "p50",
        "p99",
        "CPU us/op",
        "of the replicas",
        "not on enough copies",
    ]);
    let promise = |row: &Value| row["durability"].clone();
    let replicated = rows.iter().filter(|row| number(row, "/replicas").is_some_and(|n| n > 0.0));
    let promised: Vec<Value> = replicated.map(promise).collect();
    for row in rows.iter().filter(|row| promised.contains(&promise(row))) {
        table.push(&[
            load(row),
            target(row),
            cell(number(row, "/replicas"), grouped),
            cell(number(row, "/acknowledged_copies"), |copies| format!("{copies:.0} copies")),
            throughput(row),
            cell(number(row, "/latency_us/p50"), duration),
            cell(number(row, "/latency_us/p99"), duration),
            cell(number(row, "/cpu_us_per_op"), |us| format!("{us:.2}")),
            cell(number(row, "/replica_cpu_us_per_op"), |us| format!("{us:.2}")),
            cell(number(row, "/not_enough_copies"), grouped),
        ]);
    }
    table.render()
}

/// The scenario, its step, and the form of the load.
pub(super) fn load(row: &Value) -> String {
    let step = row["step"].as_str().map(|step| format!(" {step}")).unwrap_or_default();
    let rate =
        number(row, "/rate").map(|rate| format!(", {} requests/s by the clock", grouped(rate)));
    let form = match (number(row, "/connections"), number(row, "/depth")) {
        (Some(connections), Some(depth)) => format!(", {} x {depth:.0}", grouped(connections)),
        _ => String::new(),
    };
    format!("{}{step}{form}{}", word(row, "scenario"), rate.unwrap_or_default())
}

/// The target, and that the loader was its limit.
pub(super) fn target(row: &Value) -> String {
    let threads = number(row, "/threads")
        .map(|threads| format!(", {threads:.0} threads"))
        .unwrap_or_default();
    let bound = if row["loader_bound"] == true { ", loader-bound" } else { "" };
    format!("{}{threads}{bound}", word(row, "target"))
}

pub(super) fn throughput(row: &Value) -> String {
    let Some(rate) = number(row, "/business_ops_per_s") else { return "-".to_owned() };
    let spread = match number(row, "/spread/percent") {
        Some(percent) if percent > SPREAD_MAX => format!(" ({percent:.0} %: no claim)"),
        Some(percent) => format!(" ({percent:.1} %)"),
        None => " (once)".to_owned(),
    };
    format!("{}{spread}", grouped(rate))
}

pub(super) fn is_ours(target: &str) -> bool {
    target.starts_with("scurry") || target.contains("+module")
}

fn audit(row: &Value) -> String {
    row["not_measured"].as_str().map_or_else(
        || word(row, "audit").lines().next().unwrap_or_default().to_owned(),
        |why| format!("not measured: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(target: &str, rate: f64, spread: f64) -> Value {
        json!({
            "scenario": "kv", "target": target, "business_ops_per_s": rate, "connections": 50, "depth": 64,
            "latency_us": {"p50": 640.0, "p99": 1210.0}, "cpu_us_per_op": 0.31, "audit": "ok",
            "spread": {"percent": spread}, "runs": [{}, {}],
            "ratios": [{"to": "valkey", "median": 4.52, "min": 4.45, "max": 4.58, "pairs": 2}],
        })
    }

    #[test]
    fn what_replicas_cost_stands_beside_what_promises_as_much() {
        let of = |target: &str, durability: &str, replicas: u32| {
            let mut row = row(target, 10_000.0, 1.0);
            row["durability"] = durability.into();
            row["replicas"] = replicas.into();
            row
        };
        let rows = [of("alone", "fsync", 0), of("group", "fsync", 2), of("memory", "none", 0)];
        let text = replicas(&rows);
        assert!(text.contains("| alone | 0 |") && text.contains("| group | 2 |"), "{text}");
        assert!(!text.contains("memory"), "{text}");
    }

    #[test]
    fn a_row_shows_its_spread_and_what_supports_no_claim() {
        let text = render(&[row("scurry", 3_251_956.0, 1.5), row("valkey", 721_832.0, 23.0)]);
        assert!(
            text.contains(
                "| kv, 50 x 64 | scurry | 3,251,956 (1.5 %) | 640 us | 1.21 ms | 0.31 | ok |"
            ),
            "{text}"
        );
        assert!(text.contains("| | valkey | 721,832 (23 %: no claim)"), "{text}");
    }

    #[test]
    fn a_ratio_of_wild_runs_says_that_it_is_no_claim() {
        let text = ratios(&[row("scurry", 3_251_956.0, 1.5), row("valkey", 721_832.0, 23.0)]);
        assert!(
            text.contains(
                "| valkey | 4.52 times | 4.45 to 4.58 | no claim: runs of valkey differ by 23 % |"
            ),
            "{text}"
        );
        assert_eq!(text.lines().count(), 3, "a peer has no ratio of its own: {text}");
    }
}
