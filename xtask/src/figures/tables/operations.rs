//! Tables of several machines and doors: entities over HTTP, charging over HTTP, nodes that are killed.

use super::super::results::{Results, list, number, word};
use super::format::{Table, cell, duration, grouped, median, range};
use anyhow::Result;
use serde_json::Value;

/// Requests of entities by operation, copies and overwriting, for each number of connections.
pub(super) fn entities(rows: &[Value]) -> String {
    let mut table = Table::new(&[
        "",
        "1 connection",
        "p99",
        "of the bare answer",
        "2",
        "p99",
        "of the bare answer",
        "4",
        "p99",
        "of the bare answer",
    ]);
    let mut seen: Vec<&str> = Vec::new();
    for row in rows {
        let Some((name, _)) = word(row, "step").rsplit_once(" x") else { continue };
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let mut cells = vec![name.to_owned()];
        for connections in [1, 2, 4] {
            let step = format!("{name} x{connections}");
            let of = |target: &str| {
                rows.iter().find(|row| {
                    word(row, "step") == step && word(row, "target").starts_with(target)
                })
            };
            let Some(door) = of("scurry-http") else {
                cells.extend(vec![String::new(); 3]);
                continue;
            };
            let bare = of("http-echo").and_then(|bare| number(bare, "/business_ops_per_s"));
            let rate = number(door, "/business_ops_per_s");
            let share = rate.zip(bare).map(|(rate, bare)| format!("{:.0} %", 100.0 * rate / bare));
            cells.push(super::rows::throughput(door));
            cells.push(cell(number(door, "/latency_us/p99"), duration));
            cells.push(share.unwrap_or_default());
        }
        table.push(&cells);
    }
    table.render()
}

/// Fate of requests when something became of a node.
pub(super) fn failover(rows: &[Value]) -> String {
    let mut table = Table::new(&[
        "scenario",
        "target",
        "accounts",
        "runs",
        "lost",
        "done twice",
        "no answers, median",
        "at most",
        "together again",
        "p99 until then",
        "p99 before",
    ]);
    for row in rows.iter().filter(|row| row.get("lost").is_some()) {
        let ms = |name: &str| cell(number(row, name), |ms| duration(1e3 * ms));
        let us = |name: &str| cell(number(row, name), duration);
        table.push(&[
            word(row, "scenario").to_owned(),
            word(row, "target").to_owned(),
            cell(number(row, "/accounts"), grouped),
            list(row, "runs").len().to_string(),
            cell(number(row, "/lost"), grouped),
            cell(number(row, "/done_twice"), grouped),
            ms("/gap_ms_median"),
            ms("/gap_ms_max"),
            ms("/whole_ms_median"),
            us("/p99_meanwhile_us_median"),
            us("/p99_before_us_median"),
        ]);
    }
    table.render()
}

/// CPU of an operation over each door.
pub(super) fn doors(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&["interface", "CPU us/op", "of the door", "of the store", "runs"]);
    for file in files {
        let json = results.json(file)?;
        for row in list(&json, "rows") {
            let all = |name: &str| -> Vec<f64> {
                list(row, "runs").iter().filter_map(|run| number(run, name)).collect()
            };
            let shown = |name: &str| {
                let values = all(name);
                let (least, greatest) = range(&values);
                cell(median(&values), |middle| format!("{middle:.1} ({least:.1} to {greatest:.1})"))
            };
            let count = list(row, "runs").len().to_string();
            let name = word(row, "interface").to_owned();
            table.push(&[name, shown("/both_us"), shown("/door_us"), shown("/store_us"), count]);
        }
    }
    Ok(table.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entity_has_its_share_of_the_bare_answer() {
        let row = |target: &str, step: &str, rate: f64| {
            json!({"target": target, "step": step, "business_ops_per_s": rate,
                   "latency_us": {"p99": 210.0}, "spread": {"percent": 12.0}})
        };
        let rows = [
            row("scurry-http:write", "GET 3/3 overwrite no x1", 6_678.0),
            row("http-echo", "GET 3/3 overwrite no x1", 27_869.0),
        ];
        let text = entities(&rows);
        assert!(
            text.contains("| GET 3/3 overwrite no | 6,678 (12.0 %) | 210 us | 24 % | | |"),
            "{text}"
        );
    }

    #[test]
    fn a_killed_node_has_what_it_took_with_it() {
        let rows = [
            json!({"scenario": "charging-failover", "target": "scurry+replicas", "accounts": 6000,
            "runs": [{}, {}], "lost": 0, "done_twice": 3, "gap_ms_median": 408.0, "gap_ms_max": 652.0,
            "whole_ms_median": 600.0, "p99_meanwhile_us_median": 900.0, "p99_before_us_median": 800.0}),
        ];
        let cells = "| 6,000 | 2 | 0 | 3 | 408 ms | 652 ms | 600 ms | 900 us | 800 us |";
        assert!(failover(&rows).contains(cells), "{}", failover(&rows));
    }
}
