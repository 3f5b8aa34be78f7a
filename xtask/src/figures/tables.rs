//! The generated blocks of the pages, each computed only from results.

use super::format::{Table, duration, grouped, median, multiple, range};
use super::lines::{LINES, Measure, PUBLISHED, TIMES, TableFormat, TableLine, Unit};
use super::results::{RECORD, Results, list, number, word};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// File that the laboratory writes from the rows of all other results.
pub(super) const COMPARISONS: &str = "comparisons.json";
/// Figures that others have published.
const OTHERS: &str = include_str!("../../../lab/published.toml");
/// Spread of the runs, percent of the median, above which they support no claim; the same as in the laboratory.
const SPREAD_MAX: f64 = 20.0;
/// Most lost comparisons of the server's throughput that the front page shows.
const LOSSES_MAX: usize = 2;

/// Renders a block by its name.
pub(super) fn render(name: &str, results: &Results<'_>) -> Result<String> {
    match name {
        "provenance" => provenance(results),
        "losses" => losses(results),
        "rows" => rows(results),
        "times" => times(results),
        "published" => published(results),
        "front" => front(results),
        other => bail!("there is no block `{other}`"),
    }
}

/// One comparison with its figures.
pub(super) struct Compared {
    pub(super) line: &'static TableLine,
    ours: f64,
    peer: f64,
    /// How many times better ours is: the median over pairs of runs with the same number, then minimum and maximum.
    pub(super) times: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Why there is no claim; empty when there is one.
    pub(super) doubt: String,
}

/// Computes every comparison.
pub(super) fn compared(results: &Results<'_>) -> Result<Vec<Compared>> {
    LINES.iter().map(|line| compare(line, results)).collect()
}

fn compare(line: &'static TableLine, results: &Results<'_>) -> Result<Compared> {
    let rows = results.rows(line.file)?;
    let (ours, peer) = (pick(&rows, line.ours, line.file)?, pick(&rows, line.peer, line.file)?);
    let (pointer, is_more_better) = match line.measure {
        Measure::Throughput => ("/business_ops_per_s", true),
        Measure::Cpu => ("/cpu_us_per_op", false),
        Measure::DoorCpu => ("/both_us", false),
        Measure::Gap => ("/loss/gap_ms", false),
    };
    let values = |row| list(row, "runs").iter().filter_map(|run| number(run, pointer)).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = (values(ours), values(peer));
    let pairs = a.iter().zip(&b);
    let ratios: Vec<f64> = pairs.map(|(a, b)| if is_more_better { a / b } else { b / a }).collect();
    let figure = |values: &[f64]| {
        median(values).with_context(|| format!("{}: no runs with {pointer}", line.file))
    };
    let (min, max) = range(&ratios);
    let mut doubt = Vec::new();
    for (name, row, values) in [("ours", ours, &a), ("theirs", peer, &b)] {
        let (least, most) = range(values);
        let percent = 100.0 * (most - least) / figure(values)?;
        if percent > SPREAD_MAX {
            doubt.push(format!("{name} differ by {percent:.0} %"));
        }
        if row["loader_bound"] == true && line.measure == Measure::Throughput {
            doubt.push(format!("loader-bound: {name}"));
        }
    }
    let (ours, peer, times) = (figure(&a)?, figure(&b)?, figure(&ratios)?);
    Ok(Compared { line, ours, peer, times, min, max, doubt: doubt.join(", ") })
}

/// Finds the row that matches all `name=value` pairs; `_` in a value stands for a space.
fn pick<'r>(rows: &'r [Value], words: &str, file: &str) -> Result<&'r Value> {
    let is_it = |row: &&Value| {
        words.split(' ').filter_map(|word| word.split_once('=')).all(|(name, value)| {
            let found = match &row[name] {
                Value::String(text) => text.replace(' ', "_"),
                other => other.to_string(),
            };
            found == value
        })
    };
    rows.iter().find(is_it).with_context(|| format!("{file} has no row of {words}"))
}

fn shown(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Throughput => format!("{}/s", grouped(value)),
        Measure::Cpu | Measure::DoorCpu => format!("{value:.2} us"),
        Measure::Gap => duration(1e3 * value),
    }
}

fn link(file: &str) -> String {
    format!("[raw](results/{file})")
}

fn rows(results: &Results<'_>) -> Result<String> {
    let mut table = Table::new(&[
        "load",
        "Scurry",
        "beside",
        "theirs",
        "ratio, least to greatest",
        "no claim",
        "",
    ]);
    let mut last = "";
    for one in compared(results)? {
        let Compared { line, ours, peer, times, min, max, doubt } = one;
        table.push(&[
            line.load.to_owned(),
            shown(line.measure, ours),
            line.against.to_owned(),
            shown(line.measure, peer),
            format!("{} ({min:.2} to {max:.2})", multiple(times)),
            doubt,
            if last == line.file { String::new() } else { link(line.file) },
        ]);
        last = line.file;
    }
    Ok(table.render())
}

fn times(results: &Results<'_>) -> Result<String> {
    let mut table = Table::new(&["what", "measured", ""]);
    let mut last = "";
    for (what, file, pointer, unit) in TIMES {
        let value = number(&results.json(file)?, pointer)
            .with_context(|| format!("{file} has no {pointer}"))?;
        let value = match unit {
            Unit::Seconds => duration(1e6 * value),
            Unit::Milliseconds => duration(1e3 * value),
            Unit::Bytes => format!("{value:.0} bytes"),
        };
        let link = if last == *file { String::new() } else { link(file) };
        last = file;
        table.push(&[(*what).to_owned(), value, link]);
    }
    Ok(table.render())
}

/// Returns the comparisons in which ours is worse by the median, the worst first.
fn behind(results: &Results<'_>) -> Result<Vec<Value>> {
    let file = results.json(COMPARISONS)?;
    // Under a paced load, throughput only says that the rate was sustained.
    let is_clocked = |one: &Value| !one["rate"].is_null() && word(one, "figure") == "throughput";
    let is_behind =
        |one: &&Value| number(one, "/times").is_some_and(|times| times < 1.0) && !is_clocked(one);
    let mut all: Vec<Value> =
        list(&file, "comparisons").iter().filter(is_behind).cloned().collect();
    let times = |one: &Value| number(one, "/times").unwrap_or(1.0);
    all.sort_by(|a, b| times(a).total_cmp(&times(b)));
    Ok(all)
}

/// Renders the worst comparison of each load and figure, separately for the server and the module.
fn losses(results: &Results<'_>) -> Result<String> {
    let mut table =
        Table::new(&["load", "figure", "Scurry", "best peer", "ratio, least to greatest", ""]);
    let mut seen = BTreeSet::new();
    for one in behind(results)? {
        let [figure, ours, verdict] =
            ["figure", "ours", "verdict"].map(|name| word(&one, name).to_owned());
        let key = (word(&one, "scenario").to_owned(), figure.clone(), ours.contains("+module"));
        let is_small = number(&one, "/times").is_some_and(|times| times >= 0.99);
        if verdict == "even" || is_small || !seen.insert(key) {
            continue;
        }
        let side = |name: &str| {
            let value = number(&one, &format!("/{name}_value")).unwrap_or_default();
            let value = match figure.as_str() {
                "throughput" => format!("{}/s", grouped(value)),
                "p99 latency" => duration(value),
                "CPU per operation" => format!("{value:.2} us"),
                _ => format!("{} bytes", grouped(value)),
            };
            format!("{} {value}", word(&one, name))
        };
        let at = |name: &str| number(&one, name).unwrap_or(1.0);
        table.push(&[
            load(&one),
            figure
                .replace(" per operation", "")
                .replace(" latency", "")
                .replace(" per account", ""),
            side("ours"),
            side("peer"),
            format!("{} ({:.2} to {:.2})", multiple(at("/times")), at("/min"), at("/max")),
            verdict,
        ]);
    }
    Ok(table.render())
}

fn load(one: &Value) -> String {
    let step = one["step"].as_str().map(|step| format!(" {step}")).unwrap_or_default();
    let is_synced = word(one, "promise").contains("device");
    format!("{}{step}{}", word(one, "scenario"), if is_synced { ", `fsync`" } else { "" })
}

/// Renders the few figures of the front page; lost comparisons come first.
fn front(results: &Results<'_>) -> Result<String> {
    let mut table = Table::new(&["load", "Scurry", "against", "ratio"]);
    let lost = behind(results)?;
    let is_server = |one: &&Value| {
        word(one, "figure") == "throughput" && word(one, "ours").starts_with("scurry")
    };
    for one in lost.iter().filter(is_server).take(LOSSES_MAX) {
        let claim = if word(one, "verdict") == "no claim" { ", no claim" } else { "" };
        table.push(&[
            load(one),
            grouped(number(one, "/ours_value").unwrap_or_default()),
            word(one, "peer").to_owned(),
            format!("{}{claim}", multiple(number(one, "/times").unwrap_or(1.0))),
        ]);
    }
    for one in compared(results)?.iter().filter(|one| one.line.is_front) {
        let TableLine { load, against, .. } = *one.line;
        table.push(&[load.to_owned(), grouped(one.ours), against.to_owned(), multiple(one.times)]);
    }
    Ok(table.render())
}

/// Renders every row that others have published, beside ours of the same load.
fn published(results: &Results<'_>) -> Result<String> {
    let others: toml::Table = OTHERS.parse().context("lab/published.toml")?;
    let tables = others["table"].as_array().context("lab/published.toml has no tables")?;
    let mut out = Table::new(&["comparison", "published", "figures", "Scurry here"]);
    for other in tables {
        let id = other["id"].as_str().unwrap_or_default();
        let shown = PUBLISHED.iter().find(|shown| shown.id == id);
        let shown =
            shown.with_context(|| format!("lines.rs does not show the published `{id}`"))?;
        let mut last = String::new();
        for (index, [name, figures, here]) in
            published_rows(other, shown, results)?.iter().enumerate()
        {
            let link = format!("[{id}](results/{})", shown.here.0);
            let first = if index == 0 { &*link } else { "" };
            let fresh = if *here == last { "" } else { here };
            here.clone_into(&mut last);
            out.push(&[first, name, figures, fresh]);
        }
    }
    Ok(out.render())
}

/// Returns the rows of one published table: name, figures and ours. Rows with the same name are joined.
fn published_rows(
    other: &toml::Value,
    shown: &TableFormat,
    results: &Results<'_>,
) -> Result<Vec<[String; 3]>> {
    let columns: Vec<&str> =
        other["columns"].as_array().into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let ours = results.rows(shown.here.0)?;
    let mut out: Vec<[String; 3]> = Vec::new();
    for row in other["rows"].as_array().into_iter().flatten().filter_map(toml::Value::as_array) {
        let cell = |name: &str| {
            let index = columns.iter().position(|column| *column == name);
            index.and_then(|index| row.get(index)).map(cell_text).unwrap_or_default()
        };
        let name: Vec<String> = shown.keys.iter().map(|key| cell(key)).collect();
        let before = if shown.before.is_empty() { String::new() } else { cell(shown.before) + " " };
        let (mut figures, mut here) = (Vec::new(), Vec::new());
        for (index, (column, word, unit)) in shown.values.iter().enumerate() {
            // A word that only selects our row is not shown.
            let picks = shown.here.1.contains("{value}");
            let told = if word.is_empty() || picks { String::new() } else { format!("{word} ") };
            figures.push(match cell(column).as_str() {
                "0" => format!("{told}-"),
                value => format!("{}{told}{value}{unit}", if index == 0 { &*before } else { "" }),
            });
            let mut words = shown.here.1.replace("{value}", word);
            if index > 0 && words == shown.here.1 {
                continue;
            }
            columns.iter().for_each(|one| words = words.replace(&format!("{{{one}}}"), &cell(one)));
            let found = pick(&ours, &words, shown.here.0).ok();
            if let Some(value) = found.and_then(|row| number(row, shown.here.2)) {
                let value = toml::Value::Float(value / shown.here.3);
                here.push(format!("{before}{told}{}", cell_text(&value)));
            }
        }
        let (name, figures, here) = (name.join(", "), figures.join(", "), here.join(", "));
        match out.last_mut() {
            Some(last) if last[0] == name => {
                last[1] = format!("{}; {figures}", last[1]);
                if !here.is_empty() && last[2] != here {
                    last[2] = format!("{}; {here}", last[2]);
                }
            }
            _ => out.push([name, figures, here]),
        }
    }
    Ok(out)
}

fn cell_text(value: &toml::Value) -> String {
    match value {
        toml::Value::Integer(number) if *number < 1_000 => number.to_string(),
        toml::Value::Integer(number) => grouped(*number as f64),
        toml::Value::Float(number) if *number < 1_000.0 => {
            format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        toml::Value::Float(number) => grouped(*number),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

/// Lists the machines and commits of everything on the page.
fn provenance(results: &Results<'_>) -> Result<String> {
    let compared = results.json(COMPARISONS)?;
    let mut files: BTreeSet<&str> =
        list(&compared, "comparisons").iter().map(|one| word(one, "file")).collect();
    files.extend(LINES.iter().map(|line| line.file));
    files.extend(TIMES.iter().map(|(_, file, ..)| *file));
    files.extend(PUBLISHED.iter().map(|shown| shown.here.0));
    let record = results.json(RECORD).unwrap_or_default();
    let (mut hosts, mut versions) = (BTreeMap::<String, Vec<&str>>::new(), BTreeSet::new());
    for file in files {
        let json = results.json(file)?;
        let rows = list(&json, "rows");
        let known = rows.iter().chain([&json, &record["files"][file]]);
        let known = known.filter(|one| !word(one, "cpu").is_empty()).map(host).next();
        let known = known.unwrap_or_else(|| "a machine that is not recorded".to_owned());
        hosts.entry(known).or_default().push(file);
        let of_peers = rows.iter().map(|row| word(row, "version"));
        versions.extend(
            of_peers.filter(|one| !one.is_empty() && !one.starts_with("scurry")).map(str::to_owned),
        );
    }
    let mut hosts: Vec<(String, Vec<&str>)> = hosts.into_iter().collect();
    hosts.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    let mut lines = hosts.iter().map(|(host, files)| {
        if files.len() * 2 > hosts.iter().map(|(_, files)| files.len()).sum::<usize>() {
            format!("- {host}: all that is not named below\n")
        } else {
            format!("- {host}: {}\n", files.join(", "))
        }
    });
    let versions: Vec<String> = versions.into_iter().collect();
    Ok(format!("{}- Peers: {}\n", lines.by_ref().collect::<String>(), versions.join(", ")))
}

fn host(value: &Value) -> String {
    format!(
        "{}, {} cores, Linux {}, commit {}",
        word(value, "cpu"),
        value["cores"],
        word(value, "kernel"),
        word(value, "git_commit")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lost_comparison_is_there_and_the_worst_comes_first() {
        let one = |times: f64, verdict: &str, load: &str| {
            format!(
                r#"{{"file": "x.json", "scenario": "{load}", "ours": "scurry", "peer": "valkey", "times": {times},
                "figure": "throughput", "ours_value": 9000, "peer_value": 10000, "min": 0.5, "max": 1.5,
                "verdict": "{verdict}", "promise": "kept in memory"}}"#
            )
        };
        let all = [
            one(0.9, "loses", "a"),
            one(1.2, "wins", "b"),
            one(0.64, "no claim", "c"),
            one(0.7, "no claim", "a"),
            one(0.999, "even", "d"),
        ];
        let text = format!(r#"{{"comparisons": [{}]}}"#, all.join(", "));
        let read = move |name: &str| (name == COMPARISONS).then(|| text.clone());
        let text = losses(&Results::new(&read)).unwrap();
        assert_eq!(text.lines().count(), 4, "{text}");
        let worst = text.find("| 64 % (0.50 to 1.50) | no claim |");
        assert!(worst.unwrap() < text.find("| 70 % ").unwrap(), "{text}");
    }

    #[test]
    fn a_ratio_is_over_pairs_of_runs_and_wild_runs_are_no_claim() {
        let line = LINES.iter().find(|line| line.file == "kv-published.json").unwrap();
        let rows = r#"{"rows": [
            {"target": "scurry", "runs": [{"business_ops_per_s": 300.0}, {"business_ops_per_s": 200.0}]},
            {"target": "valkey", "loader_bound": true,
             "runs": [{"business_ops_per_s": 100.0}, {"business_ops_per_s": 100.0}]}]}"#;
        let read = |_: &str| Some(rows.to_owned());
        let found = compare(line, &Results::new(&read)).unwrap();
        assert_eq!([found.times, found.min, found.max], [2.0, 2.0, 3.0]);
        assert_eq!(found.doubt, "ours differ by 50 %, loader-bound: theirs");
    }

    #[test]
    fn every_published_row_is_shown() {
        let others: toml::Table = OTHERS.parse().unwrap();
        let none = |_: &str| Some(r#"{"rows": []}"#.to_owned());
        let text = published(&Results::new(&none)).unwrap();
        for table in others["table"].as_array().unwrap() {
            let shown = PUBLISHED.iter().find(|shown| Some(shown.id) == table["id"].as_str());
            let shown = shown.unwrap_or_else(|| panic!("{table:?} is not shown"));
            let columns = table["columns"].as_array().unwrap();
            let at = columns.iter().position(|column| column.as_str() == Some(shown.values[0].0));
            for row in table["rows"].as_array().unwrap() {
                let value = cell_text(&row[at.unwrap()]);
                assert!(value == "0" || text.contains(&value), "{value} of {}", shown.id);
            }
        }
    }
}
