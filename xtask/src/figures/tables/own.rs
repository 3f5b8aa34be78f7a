//! Tables of measurements that have results of their own shape: each layer, commands alone, the log, memory,
//! and what falls due.

use super::super::results::{Results, list, number, word};
use super::format::{Table, cell, duration, grouped, median, range};
use anyhow::{Context, Result};
use serde_json::Value;

/// CPU of a command alone and beside something.
pub(super) fn costs(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&["command", "alone", "beside", "ratio"]);
    for row in rows(results, files)? {
        let side = |index: usize, name: &str| {
            let runs: Vec<f64> = row["cpu_us"][index]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64)
                .collect();
            format!("{}: {}", word(&row, name), cell(median(&runs), |us| format!("{us:.2} us")))
        };
        let ratio: Vec<f64> = list(&row, "ratio").iter().filter_map(Value::as_f64).collect();
        let ratio = match ratio[..] {
            [median, min, max] => format!("{median:.2} ({min:.2} to {max:.2})"),
            _ => String::new(),
        };
        table.push(&[word(&row, "command").to_owned(), side(0, "base"), side(1, "beside"), ratio]);
    }
    Ok(table.render())
}

/// One layer more at a time.
pub(super) fn ladder(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table =
        Table::new(&["rung", "operations/s", "CPU us/op", "of the rung before", "of echo"]);
    for file in files {
        for rung in list(&results.json(file)?, "rungs") {
            let spread =
                cell(number(rung, "/spread/percent"), |spread| format!(" ({spread:.1} %)"));
            let below = cell(number(rung, "/percent_of_below"), |share| {
                format!("{share:.0} % of {}", word(rung, "below"))
            });
            let echo = cell(number(rung, "/percent_of_echo"), |share| {
                let times = cell(number(rung, "/cpu_times_echo"), |times| {
                    format!(", {times:.2} times its CPU")
                });
                format!("{share:.0} %{times}")
            });
            table.push(&[
                word(rung, "rung").to_owned(),
                format!("{}{spread}", cell(number(rung, "/operations_per_s"), grouped)),
                cell(number(rung, "/cpu_ns_per_op"), |ns| format!("{:.2}", ns / 1e3)),
                below,
                echo,
            ]);
        }
    }
    Ok(table.render())
}

/// The ledger's benchmark: nanoseconds and instructions of an update.
pub(super) fn ledger(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let text = text(results, files)?;
    let mut table = Table::new(&["what is done", "takes", "instructions"]);
    for (name, words) in [
        ("update/decide+apply", "decide, then apply"),
        ("update/decide_in_place", "decide in place, as the server does"),
    ] {
        let time = lines(&text, name).find_map(|line| {
            // Least, middle and greatest, each with its unit.
            let found = line.split_once('[')?.1.split_whitespace().collect::<Vec<_>>();
            let middle: f64 = found.get(2)?.parse().ok()?;
            Some(format!("{middle:.0} {}", found.get(3)?))
        });
        let count = lines(&text, name).find_map(|line| {
            let (count, _) = line.strip_prefix(": ")?.split_once(" instructions")?;
            count.parse().ok()
        });
        let count = cell(count, grouped);
        table.push(&[words.to_owned(), time.unwrap_or_default(), count]);
    }
    Ok(table.render())
}

/// Memory of the process for each account and key.
pub(super) fn memory(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let text = text(results, files)?;
    let mut table = Table::new(&["what", "bytes each"]);
    let line = |line: &str| {
        let (what, rest) = line.split_once(" of the process")?.0.rsplit_once(": ")?;
        let bytes: f64 = rest.parse().ok()?;
        Some([what.trim_start_matches("accounts: ").to_owned(), format!("{bytes:.0}")])
    };
    text.lines().filter_map(line).for_each(|row| table.push(&row));
    Ok(table.render())
}

/// Filling, and the load that follows.
pub(super) fn fill(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&[
        "accounts",
        "loaded in",
        "memory",
        "bytes each",
        "operations/s after it",
        "p99",
    ]);
    for file in files {
        for store in list(&results.json(file)?, "stores") {
            table.push(&[
                cell(number(store, "/filling/records"), grouped),
                cell(number(store, "/filling/seconds"), |seconds| duration(1e6 * seconds)),
                cell(number(store, "/filling/memory_after"), |bytes| {
                    format!("{:.2} GB", bytes / 1e9)
                }),
                cell(number(store, "/bytes_per_account"), |bytes| format!("{bytes:.0}")),
                cell(number(store, "/load/business_ops_per_s"), |rate| {
                    format!("{} (once)", grouped(rate))
                }),
                cell(number(store, "/load/latency_us/p99"), duration),
            ]);
        }
    }
    Ok(table.render())
}

/// A commit at half of the highest rate, beside the device alone.
pub(super) fn commit(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&["", "p50", "p99", "p99.9"]);
    for file in files {
        let json = results.json(file)?;
        let runs = list(&json, "runs");
        let rate = cell(number(&json, "/rate"), grouped);
        for (what, at) in [
            (format!("an UPDATE at {rate} requests/s"), "/update_us"),
            ("a bare writer of the same batches".to_owned(), "/bare_writer/latency_us"),
            ("a commit that comes to it at any moment".to_owned(), "/bare_writer/arrival_us"),
            ("the device alone, as many bytes".to_owned(), "/device_batch/latency_us"),
            ("the device alone, a page".to_owned(), "/device_page/latency_us"),
        ] {
            let percentile = |name: &str| spread(runs, &format!("{at}/{name}"));
            table.push(&[what, percentile("p50"), percentile("p99"), percentile("p999")]);
        }
    }
    Ok(table.render())
}

/// Latencies while snapshots are written, and the longest steps of one.
pub(super) fn snapshots(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&["", "p50", "p99", "p99.9"]);
    let mut steps = Table::new(&["snapshot of", "longest step"]);
    for file in files {
        if !file.ends_with(".json") {
            for line in results.text(file)?.lines() {
                let found =
                    line.strip_prefix("snapshot of ").and_then(|line| line.split_once(" accounts"));
                let longest = line.split("longest ").nth(1).and_then(|rest| rest.split(',').next());
                if let (Some((count, _)), Some(longest)) = (found, longest) {
                    let count = cell(count.parse().ok(), grouped);
                    steps.push(&[format!("{count} accounts"), step(longest)]);
                }
            }
            continue;
        }
        let json = results.json(file)?;
        for (is_with, what) in [(false, "no snapshot"), (true, "snapshots, one after the other")] {
            let runs: Vec<Value> = list(&json, "runs")
                .iter()
                .filter(|run| run["with_snapshots"] == is_with)
                .cloned()
                .collect();
            let percentile = |name: &str| spread(&runs, &format!("/latency_us/{name}"));
            table.push(&[
                what.to_owned(),
                percentile("p50"),
                percentile("p99"),
                percentile("p999"),
            ]);
        }
    }
    Ok(format!("{}\n{}", table.render(), steps.render()))
}

/// A duration as Rust shows it, as others here are shown.
fn step(shown: &str) -> String {
    let micros = |text: &str, scale: f64| text.parse::<f64>().ok().map(|value| value * scale);
    let us = shown.strip_suffix("\u{b5}s").and_then(|text| micros(text, 1.0));
    us.or_else(|| shown.strip_suffix("ms").and_then(|text| micros(text, 1e3)))
        .map_or(shown.to_owned(), duration)
}

/// Reading a log and a snapshot back.
pub(super) fn recovery(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&[
        "what is read",
        "accounts",
        "changes",
        "CPU",
        "accounts or changes a second of CPU",
    ]);
    for row in rows(results, files)? {
        let is_log = word(&row, "what") == "log";
        let (cpu, rate) = match is_log {
            true => ("/log_cpu_seconds", "/changes_per_cpu_s"),
            false => ("/snapshot_cpu_seconds", "/entries_per_cpu_s"),
        };
        let passes = list(&row, "passes");
        let cpu = median(&passes.iter().filter_map(|pass| number(pass, cpu)).collect::<Vec<_>>());
        let rates: Vec<f64> = passes.iter().filter_map(|pass| number(pass, rate)).collect();
        let (least, greatest) = range(&rates);
        table.push(&[
            word(&row, "what").to_owned(),
            cell(number(&row, "/accounts"), grouped),
            cell(number(&row, "/records"), grouped),
            cell(cpu, |seconds| duration(1e6 * seconds)),
            cell(median(&rates), |rate| {
                format!("{} ({} to {})", grouped(rate), grouped(least), grouped(greatest))
            }),
        ]);
    }
    Ok(table.render())
}

/// Things that fall due together.
pub(super) fn expiry(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&[
        "what falls due",
        "how many",
        "over",
        "p99 before",
        "p99 meanwhile",
        "gone after",
    ]);
    for file in files {
        let json = results.json(file)?;
        for row in list(&json, "rows") {
            table.push(&[
                word(row, "kind").to_owned(),
                cell(number(&json, "/plan/count"), grouped),
                cell(number(&json, "/plan/spread_ms"), |ms| duration(1e3 * ms)),
                cell(number(row, "/before/latency_us/p99"), duration),
                cell(number(row, "/during/latency_us/p99"), duration),
                cell(number(row, "/gone_after_ms"), |ms| duration(1e3 * ms)),
            ]);
        }
    }
    Ok(table.render())
}

/// A healthy client beside others.
pub(super) fn neighbours(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&["neighbour", "p99", "server memory, MB"]);
    for row in rows(results, files)? {
        let words = match word(&row, "neighbour") {
            "none" => "nobody",
            "idle" => "10,000 connections that open, idle, and then all ask at once",
            "slow-reader" => "slow readers of large answers",
            "no-reader" => "clients that never read",
            "half-closed" => "half-closed connections",
            "one-byte" => "clients that send a byte at a time",
            "pipeline" => "pipelines of 1,000,000 commands",
            "giant" => "SETs of 1 MiB",
            "too-big" => "requests beyond the limits",
            "storm" => "connecting and leaving, 100,000 times",
            other => other,
        };
        let failed = row["failed"].as_str().map(|why| format!("failed: {why}"));
        let p99 = failed.unwrap_or_else(|| cell(number(&row, "/during/latency_us/p99"), duration));
        let peak = number(&row, "/memory/rss_peak");
        table.push(&[words.to_owned(), p99, cell(peak, |bytes| format!("{:.1}", bytes / 1e6))]);
    }
    Ok(table.render())
}

fn rows(results: &Results<'_>, files: &[&str]) -> Result<Vec<Value>> {
    results.rows(files)
}

fn text(results: &Results<'_>, files: &[&str]) -> Result<String> {
    results.text(files.first().context("a table of a file")?)
}

fn lines<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.strip_prefix(name))
}

/// The median of the runs, with the least and the greatest.
fn spread(runs: &[Value], at: &str) -> String {
    let values: Vec<f64> = runs.iter().filter_map(|run| number(run, at)).collect();
    let (least, greatest) = range(&values);
    cell(median(&values), |middle| match values.len() {
        1 => format!("{} (once)", duration(middle)),
        _ => format!("{} ({} to {})", duration(middle), duration(least), duration(greatest)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_s_lines_become_a_table() {
        let text = "update/decide+apply     time:   [359.39 ns 360.24 ns 361.10 ns]\n\
            update/decide_in_place  time:   [254.50 ns 255.62 ns 256.88 ns]\n\
            update/decide+apply: 6058 instructions; of these, callees included:\n\
            accounts: two buckets: 163.5 of the process; the shard counts 163.2\n";
        let read = |_: &str| Some(text.to_owned());
        let table = ledger(&Results::new(&read), &["ledger.txt"]).unwrap();
        assert!(table.contains("| decide, then apply | 360 ns | 6,058 |"), "{table}");
        assert!(table.contains("| decide in place, as the server does | 256 ns | |"), "{table}");
        let table = memory(&Results::new(&read), &["ledger.txt"]).unwrap();
        assert!(table.ends_with("| two buckets | 164 |\n"), "{table}");
    }
}
