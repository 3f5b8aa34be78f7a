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

/// A store that is written to the device under load, and comes back after a kill.
pub(super) fn revival(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table =
        Table::new(&["", "takes", "the disk alone", "bytes", "operations/s meanwhile", "p99.9"]);
    for file in files {
        for store in list(&results.json(file)?, "stores") {
            let time = |at: &str| cell(number(store, at), |seconds| duration(1e6 * seconds));
            let bytes =
                |at: &str| cell(number(store, at), |bytes| format!("{:.1} GB", bytes / 1e9));
            let load = |at: &str| {
                let p999 = number(store, &format!("{at}/latency_us/p999"));
                let rate = number(store, &format!("{at}/business_ops_per_s"));
                [cell(rate, grouped), cell(p999, duration)]
            };
            let accounts = cell(number(store, "/filling/records"), grouped);
            let mut push = |what: &str, cells: [String; 3], load: [String; 2]| {
                table.push(&[&[what.to_owned()][..], &cells, &load].concat());
            };
            let loaded = [time("/filling/seconds"), String::new(), bytes("/filling/memory_after")];
            push(&format!("{accounts} accounts are loaded"), loaded, Default::default());
            push("pipelined charging", Default::default(), load("/load"));
            let written = [
                time("/revival/snapshot_seconds"),
                time("/revival/write_alone_seconds"),
                bytes("/revival/snapshot_bytes"),
            ];
            push("the same while a snapshot is written", written, load("/revival/during"));
            let read = [
                time("/revival/start_seconds"),
                time("/revival/read_alone_seconds"),
                bytes("/revival/start_bytes"),
            ];
            push("the start after SIGKILL", read, Default::default());
        }
    }
    Ok(table.render())
}

/// Commands on one busy account, and how long another client waits meanwhile.
pub(super) fn busy_account(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let rows = rows(results, files)?;
    let mut targets: Vec<&str> = rows.iter().map(|row| word(row, "target")).collect();
    targets.dedup();
    let mut deeds: Vec<&str> = Vec::new();
    for row in &rows {
        let deed = word(row, "deed");
        if !deeds.contains(&deed) {
            deeds.push(deed);
        }
    }
    let heads =
        targets.iter().flat_map(|target| [format!("{target}: takes"), "longest wait".to_owned()]);
    let heads: Vec<String> = std::iter::once("what is done".to_owned()).chain(heads).collect();
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for deed in deeds {
        let mut cells = vec![deed.to_owned()];
        for target in &targets {
            let is_it = |row: &&Value| word(row, "deed") == deed && word(row, "target") == *target;
            let row = rows.iter().find(is_it);
            let middle = |name: &str| {
                let runs: Vec<f64> = row
                    .into_iter()
                    .flat_map(|row| list(row, name))
                    .filter_map(Value::as_f64)
                    .collect();
                cell(median(&runs), |ms| duration(1e3 * ms))
            };
            match row.and_then(|row| row["refused"].as_str()) {
                Some(_) => cells.extend(["has none".to_owned(), String::new()]),
                None if deed == "nothing" => cells.extend([String::new(), middle("longest_ms")]),
                None => cells.extend([middle("took_ms"), middle("longest_ms")]),
            }
        }
        table.push(&cells);
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

/// A healthy client of one machine and of three, with and without a slow disk.
pub(super) fn slow_disk(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let mut table = Table::new(&["", "p50", "p99", "p99.9", "longest"]);
    for row in rows(results, files)? {
        let of = |name: &str| cell(number(&row, &format!("/latency_us/{name}")), duration);
        table.push(&[word(&row, "setup").to_owned(), of("p50"), of("p99"), of("p999"), of("max")]);
    }
    Ok(table.render())
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
    fn what_a_server_refuses_has_no_time_and_nothing_has_a_wait() {
        let row = |target: &str, deed: &str, refused: &str| {
            format!(
                r#"{{"target": "{target}", "deed": "{deed}", "took_ms": [3, 1, 2], "longest_ms": [0.1, 0.3, 0.2],
                "refused": {refused}}}"#
            )
        };
        let rows = [
            row("module", "nothing", "null"),
            row("module", "DUMP", "null"),
            row("scurry", "nothing", "null"),
            row("scurry", "DUMP", "\"ERR\""),
        ];
        let text = format!(r#"{{"rows": [{}]}}"#, rows.join(","));
        let read = |_: &str| Some(text.clone());
        let table = busy_account(&Results::new(&read), &["busy-account.json"]).unwrap();
        assert!(
            table.contains("| what is done | module: takes | longest wait | scurry: takes |"),
            "{table}"
        );
        assert!(table.contains("| nothing | | 200 us | | 200 us |"), "{table}");
        assert!(table.ends_with("| DUMP | 2.00 ms | 200 us | has none | |\n"), "{table}");
    }

    #[test]
    fn a_snapshot_and_a_start_stand_beside_the_disk_alone() {
        let text = r#"{"stores": [{"filling": {"records": 1000, "seconds": 2.0, "memory_after": 3e9},
            "load": {"business_ops_per_s": 5000.0, "latency_us": {"p999": 900.0}},
            "revival": {"during": {"business_ops_per_s": 4000.0, "latency_us": {"p999": 1900.0}},
            "snapshot_bytes": 1e9, "snapshot_seconds": 30.0, "write_alone_seconds": 1.5,
            "start_bytes": 2e9, "start_seconds": 4.0, "read_alone_seconds": 2.5}}]}"#;
        let read = |_: &str| Some(text.to_owned());
        let table = revival(&Results::new(&read), &["fill-durable.json"]).unwrap();
        for line in [
            "| 1,000 accounts are loaded | 2.0 s | | 3.0 GB | | |",
            "| pipelined charging | | | | 5,000 | 900 us |",
            "| the same while a snapshot is written | 30.0 s | 1.5 s | 1.0 GB | 4,000 | 1.90 ms |",
            "| the start after SIGKILL | 4.0 s | 2.5 s | 2.0 GB | | |",
        ] {
            assert!(table.contains(line), "{line}: {table}");
        }
    }

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

    #[test]
    fn a_slow_disk_has_a_row_of_each_set_up() {
        let text = r#"{"rows": [
            {"setup": "one machine", "latency_us": {"p50": 310.0, "p99": 940.0, "p999": 2100.0, "max": 4300.0}},
            {"setup": "one machine, a slow disk", "latency_us": {"p50": 320.5, "p99": 10150.0, "p999": 12000.0}}]}"#;
        let read = |_: &str| Some(text.to_owned());
        let table = slow_disk(&Results::new(&read), &["slow-disk.json"]).unwrap();
        let expected = "| | p50 | p99 | p99.9 | longest |\n|---|---|---|---|---|\n\
            | one machine | 310 us | 940 us | 2.10 ms | 4.30 ms |\n\
            | one machine, a slow disk | 320 us | 10.2 ms | 12.0 ms | |\n";
        assert_eq!(table, expected);
    }
}
