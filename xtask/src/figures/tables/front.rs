//! The few figures of the front page: what is lost first, then each load once.

use super::super::results::{Results, list, number, word};
use super::comparisons::{behind, claim};
use super::format::{Table, grouped, multiple};
use anyhow::{Context, Result};
use serde_json::Value;

/// Lost comparisons of the server's throughput on the front page at most: the page behind it has all.
const LOSSES_MAX: usize = 2;

/// Load in words, file, ours, whom it stands beside, and that in words.
const ROWS: &[[&str; 5]] = &[
    [
        "the module, charging, pipelined",
        PIPELINED,
        "valkey+module",
        "valkey+hset",
        "a plain HSET in Valkey",
    ],
    ["SET and GET, single", "kv-published.json", "scurry", "valkey", "Valkey"],
    ["SET and GET, pipelined", "kv-pipelined.json", "scurry", "valkey", "Valkey"],
    [
        "charging, single",
        "moaf-scur-published.json",
        "scurry",
        "valkey+lua",
        "the rules in Lua in Valkey",
    ],
    ["charging, pipelined", PIPELINED, "scurry", "valkey+lua", "the same"],
    [
        "charging, pipelined, `fsync`",
        "durable-peers.json",
        "scurry:fsync",
        "valkey+lua:always",
        "the same, `always`",
    ],
];

const PIPELINED: &str = "moaf-scur-pipelined.json";

pub(super) fn render(results: &Results<'_>) -> Result<String> {
    let mut table = Table::new(&["load", "Scurry", "against", "ratio"]);
    let lost = behind(results)?;
    let is_server = |one: &&Value| {
        word(one, "figure") == "throughput" && word(one, "ours").starts_with("scurry")
    };
    for one in lost.iter().filter(is_server).take(LOSSES_MAX) {
        let claim = match claim(one) {
            claim if claim.starts_with("none") => ", no claim".to_owned(),
            claim if claim == "loses" => String::new(),
            claim => format!(", {claim}"),
        };
        table.push(&[
            short(one),
            cell(number(one, "/ours_value")),
            word(one, "peer").to_owned(),
            format!("{}{claim}", multiple(number(one, "/times").unwrap_or(1.0))),
        ]);
    }
    for [load, file, ours, other, words] in ROWS {
        let rows = results.rows(&[file])?;
        let row = rows.iter().find(|row| word(row, "target") == *ours);
        let row = row.with_context(|| format!("{file} has no row of {ours}"))?;
        let ratio = list(row, "ratios").iter().find(|ratio| word(ratio, "to") == *other);
        let ratio = ratio.with_context(|| format!("{file} has no ratio of {ours} to {other}"))?;
        let rate = cell(number(row, "/business_ops_per_s"));
        table.push(&[
            (*load).to_owned(),
            rate,
            (*words).to_owned(),
            multiple(number(ratio, "/median").unwrap_or(1.0)),
        ]);
    }
    Ok(table.render())
}

fn short(one: &Value) -> String {
    let step = one["step"].as_str().map(|step| format!(" {step}")).unwrap_or_default();
    let is_synced = word(one, "promise").contains("device");
    format!("{}{step}{}", word(one, "scenario"), if is_synced { ", `fsync`" } else { "" })
}

fn cell(rate: Option<f64>) -> String {
    super::format::cell(rate, grouped)
}
