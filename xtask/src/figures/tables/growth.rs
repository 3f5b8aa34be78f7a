//! How cost grows: with accounts, sessions and connections as measured, and with threads as measured on the
//! cores that there are and computed beyond, from the measured cost of passing requests on.

use super::super::results::{Results, list, number, word};
use super::format::{Table, cell, duration, grouped, median, range};
use super::rows::throughput;
use anyhow::{Context, Result};
use serde_json::Value;

/// Numbers of threads of which the first are measured and the others computed.
const THREADS: [f64; 4] = [1.0, 2.0, 16.0, 64.0];

/// One step of a scenario that grows a line.
pub(super) fn growth(rows: &[Value]) -> String {
    let of = match rows.first().map(|row| word(row, "scenario")) {
        Some("growth-sessions") => "sessions of an account",
        Some("growth-connections") => "connections",
        _ => "accounts",
    };
    let mut table = Table::new(&[
        of,
        "operations/s",
        "CPU us/op",
        "p50",
        "p99",
        "server's core busy",
        "loader's core busy",
        "audit",
    ]);
    for row in rows {
        let busy =
            cell(number(row, "/loader_idle_percent"), |idle| format!("{:.0} %", 100.0 - idle));
        table.push(&[
            word(row, "step").to_owned(),
            throughput(row),
            cpu(row),
            cell(number(row, "/latency_us/p50"), duration),
            cell(number(row, "/latency_us/p99"), duration),
            cell(number(row, "/cpu_percent"), |percent| format!("{percent:.0} %")),
            busy,
            word(row, "audit").lines().next().unwrap_or_default().to_owned(),
        ]);
    }
    table.render()
}

/// CPU of an operation: the median of the runs, with the least and the greatest.
fn cpu(row: &Value) -> String {
    let runs: Vec<f64> =
        list(row, "runs").iter().filter_map(|run| number(run, "/cpu_us_per_op")).collect();
    let (least, greatest) = range(&runs);
    cell(median(&runs), |middle| format!("{middle:.2} ({least:.2} to {greatest:.2})"))
}

/// Threads: the measured beside the model, and the model beyond.
pub(super) fn threads(results: &Results<'_>, files: &[&str]) -> Result<String> {
    let rows = results.rows(files)?;
    let model = Model::fit(&rows)?;
    Ok(format!("{}\n{}\n{}", model.words(), model.checked(&rows)?, model.beyond(&rows)?))
}

/// Cost of a hand-over, microseconds: of each request that another thread executes, and of each bundle of
/// them. Two loads with bundles of different lengths tell them apart.
#[derive(Debug, PartialEq)]
struct Model {
    request: f64,
    bundle: f64,
    /// Requests in flight on a connection in the two loads.
    deep: f64,
    shallow: f64,
}

impl Model {
    fn fit(rows: &[Value]) -> Result<Model> {
        let depths = depths(rows);
        let (deep, shallow) =
            depths.first().copied().zip(depths.last().copied()).context("no rows")?;
        // What a request more costs on the main port than on its thread's own, both beside the loader.
        let more = |depth| {
            Ok::<_, anyhow::Error>(us(rows, 2.0, "main", depth)? - us(rows, 2.0, "cores", depth)?)
        };
        let (of_deep, of_shallow) = (more(deep)?, more(shallow)?);
        let bundle = (of_shallow - of_deep) / (bundles(2.0, shallow) - bundles(2.0, deep));
        let request = (of_deep - bundle * bundles(2.0, deep)) / passed(2.0);
        // A difference of noise costs nothing.
        Ok(Model { request: request.max(0.0), bundle: bundle.max(0.0), deep, shallow })
    }

    /// CPU of an operation on the main port of so many threads, where it takes so much on its own thread.
    fn main(&self, own: f64, threads: f64, depth: f64) -> f64 {
        own + self.request * passed(threads) + self.bundle * bundles(threads, depth)
    }

    fn words(&self) -> String {
        format!(
            "A request that another thread executes costs {:.2} us more, and each bundle of them {:.2} us \
             more: told apart by the loads with {:.0} requests in flight on a connection and with {:.0}.\n",
            self.request, self.bundle, self.deep, self.shallow
        )
    }

    /// Every measured load with two threads beside what the model makes of the one with one thread.
    fn checked(&self, rows: &[Value]) -> Result<String> {
        let mut table = Table::new(&[
            "in flight on a connection",
            "CPU us/op, 1 thread",
            "2 threads, own ports",
            "model",
            "2 threads, main port",
            "model",
        ]);
        for depth in depths(rows) {
            let one = us(rows, 1.0, "main", depth)?;
            let (own, main) = (us(rows, 2.0, "cores", depth)?, us(rows, 2.0, "main", depth)?);
            let beside = |model: f64, measured: f64| {
                format!("{model:.2}, {:+.0} %", 100.0 * (model / measured - 1.0))
            };
            table.push(&[
                format!("{depth:.0}"),
                format!("{one:.2}"),
                format!("{own:.2}"),
                beside(one, own),
                format!("{main:.2}"),
                beside(self.main(one, 2.0, depth), main),
            ]);
        }
        Ok(table.render())
    }

    /// Throughput of a machine whose every thread has a core of its own.
    fn beyond(&self, rows: &[Value]) -> Result<String> {
        let mut table = Table::new(&[
            "in flight on a connection",
            "threads",
            "own ports, operations/s",
            "main port, CPU us/op",
            "main port, operations/s",
            "of the own ports",
            "network of the own ports",
            "",
        ]);
        for depth in [self.deep, self.shallow] {
            let own = us(rows, 1.0, "main", depth)?;
            let row = find(rows, 1.0, "main", depth)?;
            let rate = number(row, "/business_ops_per_s").context("a row without throughput")?;
            let bytes = 1e3 * number(row, "/rx_kb_per_s").unwrap_or_default() / rate;
            for threads in THREADS {
                let main = self.main(own, threads, depth);
                let most = 1e6 * threads / own;
                let seen = match threads {
                    1.0 => format!("measured: {}", throughput(row)),
                    2.0 => "CPU measured, above".to_owned(),
                    _ => "**computed, not measured**".to_owned(),
                };
                table.push(&[
                    format!("{depth:.0}"),
                    format!("{threads:.0}"),
                    grouped(most),
                    format!("{main:.2}"),
                    grouped(1e6 * threads / main),
                    format!("{:.0} %", 100.0 * own / main),
                    format!("{:.1} Gbit/s", most * bytes * 8.0 / 1e9),
                    seen,
                ]);
            }
        }
        Ok(table.render())
    }
}

/// Share of the requests on a connection to the main port that another thread executes.
fn passed(threads: f64) -> f64 {
    (threads - 1.0) / threads
}

/// Bundles for each operation: a turn of a connection has so many requests, and a bundle for each other thread
/// that owns the key of one of them.
fn bundles(threads: f64, depth: f64) -> f64 {
    (threads - 1.0) * (1.0 - passed(threads).powf(depth)) / depth
}

/// From the greatest to the least.
fn depths(rows: &[Value]) -> Vec<f64> {
    let mut all: Vec<f64> = rows.iter().filter_map(|row| number(row, "/depth")).collect();
    all.sort_by(|a, b| b.total_cmp(a));
    all.dedup();
    all
}

fn find<'r>(rows: &'r [Value], threads: f64, door: &str, depth: f64) -> Result<&'r Value> {
    let is = |row: &&Value| {
        number(row, "/threads") == Some(threads)
            && word(row, "door") == door
            && number(row, "/depth") == Some(depth)
    };
    let found = rows.iter().find(is);
    found.with_context(|| format!("no row of {threads} threads, door {door}, depth {depth}"))
}

fn us(rows: &[Value], threads: f64, door: &str, depth: f64) -> Result<f64> {
    let row = find(rows, threads, door, depth)?;
    number(row, "/cpu_us_per_op").context("a row without CPU: its audit failed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(threads: u32, door: &str, depth: u32, us: f64) -> Value {
        json!({"threads": threads, "door": door, "depth": depth, "cpu_us_per_op": us,
            "business_ops_per_s": 1e6 / us, "rx_kb_per_s": 0.35 * 1e6 / us, "spread": {"percent": 2.0}})
    }

    /// Loads in which a passed request costs 0.5 us, and a bundle 2 us.
    fn rows() -> Vec<Value> {
        let mut all = Vec::new();
        for (depth, own) in [(64, 1.0), (8, 1.5), (1, 5.0)] {
            let more = 0.5 * 0.5 + 2.0 * (1.0 - 0.5_f64.powi(depth)) / f64::from(depth);
            all.push(row(1, "main", depth.unsigned_abs(), own));
            all.push(row(2, "cores", depth.unsigned_abs(), own + 0.1));
            all.push(row(2, "main", depth.unsigned_abs(), own + 0.1 + more));
        }
        all
    }

    #[test]
    fn the_costs_of_a_request_and_of_a_bundle_are_told_apart() {
        let model = Model::fit(&rows()).unwrap();
        assert!(
            (model.request - 0.5).abs() < 1e-9 && (model.bundle - 2.0).abs() < 1e-9,
            "{model:?}"
        );
        let table = model.checked(&rows()).unwrap();
        // The load between is predicted: too low by what two threads take more on their own ports.
        assert!(table.contains("| 8 | 1.50 | 1.60 | 1.50, -6 % | 2.10 | 2.00, -5 % |"), "{table}");
    }

    #[test]
    fn bundles_are_those_of_the_threads_that_a_turn_asks() {
        assert_eq!(bundles(1.0, 64.0), 0.0);
        assert_eq!(bundles(2.0, 1.0), 0.5);
        assert!((bundles(2.0, 64.0) - 1.0 / 64.0).abs() < 1e-9);
        // Requests one by one: each that is passed on is a bundle.
        assert!((bundles(16.0, 1.0) - passed(16.0)).abs() < 1e-9);
        assert!((0.62..0.64).contains(&bundles(64.0, 64.0)), "{}", bundles(64.0, 64.0));
    }

    #[test]
    fn what_is_computed_says_so() {
        let table = Model::fit(&rows()).unwrap().beyond(&rows()).unwrap();
        let line =
            |begin: &str| table.lines().find(|line| line.starts_with(begin)).unwrap().to_owned();
        let one = line("| 64 | 1 |");
        assert!(
            one.contains(
                "| 1,000,000 | 1.00 | 1,000,000 | 100 % | 2.8 Gbit/s | measured: 1,000,000"
            ),
            "{one}"
        );
        assert!(line("| 64 | 64 |").contains("| 64,000,000 | 2.74 | 23,"), "{table}");
        assert_eq!(table.matches("computed, not measured").count(), 4, "{table}");
        let failed =
            Model::fit(&rows()[1..]).unwrap().checked(&rows()[1..]).unwrap_err().to_string();
        assert!(failed.contains("no row of 1 threads, door main, depth 64"), "{failed}");
    }

    #[test]
    fn a_step_shows_its_cost_and_who_was_busy() {
        let row = json!({"scenario": "growth-connections", "step": "10,000", "business_ops_per_s": 200_000.0,
            "spread": {"percent": 1.0}, "latency_us": {"p50": 900.0, "p99": 2_000.0}, "cpu_percent": 99.0,
            "loader_idle_percent": 12.0, "audit": "ok",
            "runs": [{"cpu_us_per_op": 5.0}, {"cpu_us_per_op": 4.0}, {"cpu_us_per_op": 4.5}]});
        let text = growth(&[row]);
        assert!(text.starts_with("| connections |"), "{text}");
        let line = "| 10,000 | 200,000 (1.0 %) | 4.50 (4.00 to 5.00) | 900 us | 2.00 ms | 99 % | 88 % | ok |";
        assert!(text.contains(line), "{text}");
    }
}
