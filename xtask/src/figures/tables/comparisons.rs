//! Ours beside the best peer that promises the same, as the laboratory compares them: what is lost, and every
//! scenario.

use super::super::results::{Results, list, number, word};
use super::format::{Table, duration, grouped, multiple};
use anyhow::Result;
use serde_json::Value;

/// The laboratory writes it, from the rows of all other results.
pub(crate) const FILE: &str = "comparisons.json";
/// Tables of every comparison, whose blocks name no file.
pub(super) const TABLES: [&str; 2] = ["losses", "beside"];

/// Every comparison of any figure in which ours is behind, the worst first.
pub(super) fn losses(results: &Results<'_>, base: &str) -> Result<String> {
    let all = behind(results)?;
    let mut table = Table::new(&[
        "load",
        "figure",
        "Scurry",
        "best peer",
        "ratio",
        "least to greatest",
        "claim",
        "source",
    ]);
    for one in &all {
        let source = word(one, "file");
        let name = source.rsplit('/').next().unwrap_or(source);
        table.push(&[
            load(one),
            figure(one).to_owned(),
            side(one, "ours"),
            side(one, "peer"),
            multiple(number(one, "/times").unwrap_or(1.0)),
            ends(one),
            claim(one),
            format!("[{name}]({base}{source})"),
        ]);
    }
    if all.is_empty() {
        return Ok("In no comparison of these results.\n".to_owned());
    }
    Ok(table.render())
}

/// The comparisons that are lost, by their medians, the worst first.
pub(super) fn behind(results: &Results<'_>) -> Result<Vec<Value>> {
    let file = results.json(FILE)?;
    // Where a clock sets the rate, throughput says only that it was kept.
    let is_clocked = |one: &Value| !one["rate"].is_null() && word(one, "figure") == "throughput";
    let is_behind =
        |one: &&Value| number(one, "/times").is_some_and(|times| times < 1.0) && !is_clocked(one);
    let mut all: Vec<Value> =
        list(&file, "comparisons").iter().filter(is_behind).cloned().collect();
    let times = |one: &Value| number(one, "/times").unwrap_or(1.0);
    all.sort_by(|a, b| times(a).total_cmp(&times(b)));
    Ok(all)
}

/// Every scenario of the laboratory: throughput, and where a clock sets the rate CPU.
pub(super) fn beside(results: &Results<'_>, base: &str) -> Result<String> {
    let file = results.json(FILE)?;
    let mut table = Table::new(&[
        "load",
        "promise",
        "Scurry",
        "best peer",
        "ratio",
        "least to greatest",
        "claim",
    ]);
    let mut sources: Vec<&str> = Vec::new();
    for one in list(&file, "comparisons") {
        let shown = if one["rate"].is_null() { "throughput" } else { "CPU per operation" };
        if !word(one, "file").starts_with("lab/") || word(one, "figure") != shown {
            continue;
        }
        if !sources.contains(&word(one, "file")) {
            sources.push(word(one, "file"));
        }
        table.push(&[
            load(one),
            word(one, "promise").to_owned(),
            side(one, "ours"),
            side(one, "peer"),
            multiple(number(one, "/times").unwrap_or(1.0)),
            ends(one),
            claim(one),
        ]);
    }
    let line = super::source::line(results, &sources, base)?;
    Ok(format!("{}\n{line}\n", table.render()))
}

/// The load without the words that every row has.
pub(super) fn load(one: &Value) -> String {
    super::rows::load(one)
}

fn figure(one: &Value) -> &str {
    match word(one, "figure") {
        "CPU per operation" => "CPU an operation",
        other => other,
    }
}

fn side(one: &Value, side: &str) -> String {
    let value = number(one, &format!("/{side}_value")).unwrap_or_default();
    let value = match word(one, "figure") {
        "throughput" => grouped(value),
        "p99 latency" => duration(value),
        "CPU per operation" => format!("{value:.2} us"),
        _ => format!("{} bytes", grouped(value)),
    };
    format!("{value} {}", word(one, side))
}

pub(super) fn ends(one: &Value) -> String {
    match (number(one, "/min"), number(one, "/max"), number(one, "/pairs")) {
        (Some(min), Some(max), Some(pairs)) if pairs > 1.0 => format!("{min:.2} to {max:.2}"),
        _ => String::new(),
    }
}

pub(super) fn claim(one: &Value) -> String {
    match (word(one, "verdict"), word(one, "why")) {
        ("no claim", "one run each") => "measured once".to_owned(),
        ("no claim", why) => format!("none: {}", why.split(", more than").next().unwrap_or(why)),
        (verdict, _) => verdict.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses_of(times: &[f64]) -> String {
        let one = |times: &f64| {
            format!(
                r#"{{"file": "lab/kv.json", "scenario": "kv", "ours": "scurry", "peer": "valkey", "times": {times},
                "figure": "throughput", "ours_value": 9000, "peer_value": 10000, "min": 0.5, "max": 1.5,
                "pairs": 3, "verdict": "loses", "promise": "kept in memory"}}"#
            )
        };
        let all: Vec<String> = times.iter().map(one).collect();
        let text = format!(r#"{{"comparisons": [{}]}}"#, all.join(", "));
        let read = move |name: &str| (name == FILE).then(|| text.clone());
        losses(&Results::new(&read), "results/").unwrap()
    }

    #[test]
    fn every_lost_comparison_stands_and_the_worst_first() {
        let text = losses_of(&[0.9, 1.2, 0.64]);
        assert_eq!(text.lines().count(), 4, "{text}");
        let worst = text.find("| 64 % | 0.50 to 1.50 | loses | [kv.json](results/lab/kv.json) |");
        assert!(worst.unwrap() < text.find("| 90 % |").unwrap(), "{text}");
        assert!(losses_of(&[1.2]).contains("In no comparison"));
    }
}
