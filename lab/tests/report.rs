//! The output of the lab: one HTML page, and a comparison from the servers to the page. The results in docs/results
//! were written by several releases of the lab.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn lab(words: &[&str], files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scurry-lab")).args(words).args(files).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8([output.stdout.as_slice(), &output.stderr].concat()).unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns every committed file of rows.
fn kept() -> Vec<PathBuf> {
    let all = std::fs::read_dir(repository().join("docs/results")).unwrap();
    let mut files: Vec<PathBuf> = all
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| {
            let value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            value["rows"][0]["scenario"].is_string()
        })
        .collect();
    files.sort();
    assert!(files.len() >= 10, "docs/results has results of runs: {files:?}");
    files
}

/// Writes the page of the files and returns its path.
fn page(directory: &Path, files: &[PathBuf]) -> PathBuf {
    let page = directory.join("report.html");
    let mut paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    paths.extend([Path::new("--out"), &page]);
    let output = lab(&["report"], &paths);
    assert!(output.status.success(), "{}", said(&output));
    page
}

/// Writes the rows of one target, with these rates as its runs.
fn rows(directory: &Path, name: &str, audit: &str, rates: &[f64]) -> PathBuf {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let runs: Vec<Value> = rates
        .iter()
        .map(|rate| json!({"run": 1, "business_ops_per_s": rate, "audit": "ok"}))
        .collect();
    let row = json!({
        "scenario": "kv", "target": "scurry", "durability": "none", "version": "scurry 0.1.0",
        "audit": audit, "business_ops_per_s": sorted.get(sorted.len() / 2), "runs": runs,
        "cpu": "one", "cores": 2,
    });
    let path = directory.join(name);
    std::fs::write(&path, json!({"rows": [row]}).to_string()).unwrap();
    path
}

#[test]
fn the_page_needs_nothing_but_itself_and_hides_no_terms() {
    let directory = tempfile::tempdir().unwrap();
    let files = kept();
    let html = std::fs::read_to_string(page(directory.path(), &files)).unwrap();
    for outside in ["<script", "<link", "<img", "src=", "http:", "https:", "url(", "@import"] {
        assert!(!html.contains(outside), "the page has {outside}");
    }
    for shown in ["class=\"pairs\"", "prefers-color-scheme", "@media print"] {
        assert!(html.contains(shown), "the page lacks {shown}");
    }
    // The picture comes first, then the tables; the figures that others have published follow them.
    let places =
        ["class=\"pairs\"", "Measured here", "Published by others"].map(|part| html.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    assert!(html.rfind("Measured here") < places[2]);
    for path in files {
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        for row in value["rows"].as_array().into_iter().flatten() {
            let (target, version) =
                (row["target"].as_str().unwrap(), row["version"].as_str().unwrap());
            assert!(html.contains(version), "{}: {target}", path.display());
        }
    }
}

#[test]
fn a_row_without_its_audit_is_no_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = rows(directory.path(), "rows", "", &[1.0]);
    let output = lab(&["report", "--out", "/nowhere/x.html"], &[&path]);
    assert!(!output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("without an audit"), "{}", said(&output));
}

/// Returns the page of two targets under one load, each with these rates as its runs.
fn duel(ours: &[f64], peer: &[f64]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for (target, rates) in [("scurry", ours), ("valkey+lua", peer)] {
        let path = rows(directory.path(), "one", "ok", rates);
        let text = std::fs::read(path).unwrap();
        let mut row = serde_json::from_slice::<Value>(&text).unwrap()["rows"][0].clone();
        row["target"] = target.into();
        all.push(row);
    }
    let path = directory.path().join("both.json");
    std::fs::write(&path, json!({"rows": all}).to_string()).unwrap();
    std::fs::read_to_string(page(directory.path(), &[path])).unwrap()
}

#[test]
fn a_loss_is_said_and_wild_runs_have_no_ratio() {
    let lost = duel(&[90.0, 91.0, 92.0], &[100.0, 101.0, 102.0]);
    assert!(lost.contains("scurry loses to valkey+lua on throughput"));
    assert!(!lost.contains("beats"));
    let wild = duel(&[200.0, 300.0, 250.0], &[100.0, 101.0, 102.0]);
    assert!(wild.contains("the runs of scurry differ by 40 %, more than 20 %"));
    assert!(!wild.contains("beats") && !wild.contains("loses to"));
    // Ours loses by the median, and the large spread of its runs does not hide that.
    let behind = duel(&[60.0, 99.0, 80.0], &[100.0, 101.0, 102.0]);
    assert!(behind.contains("Scurry is behind in 1 of 1 rows"));
}

#[test]
fn the_picture_shows_losses_in_a_colour_of_their_own_and_marks_what_supports_no_claim() {
    let bars = |ours: &[f64], peer: &[f64]| {
        let html = duel(ours, peer);
        let from = html.find("class=\"pairs\"").expect("a picture");
        html[from..from + html[from..].find("</ol>").unwrap()].to_owned()
    };
    let peer = [100.0, 101.0, 102.0];
    for (ours, class, own, other, said) in [
        (&[400.0, 404.0, 408.0][..], "bar-ours", "100.0", "25.0", "4.00\u{d7}"),
        (&[80.0, 81.0, 82.0], "bar-ours lost", "80.2", "100.0", "80 %"),
        (&[60.0, 99.0, 80.0], "bar-ours lost doubt", "78.4", "100.0", "78 %"),
        (&[200.0], "bar-ours doubt", "100.0", "50.0", "measured once"),
    ] {
        let picture = bars(ours, if ours.len() > 1 { &peer } else { &peer[..1] });
        for shown in [
            format!("<span class=\"{class}\" style=\"width:{own}%\">"),
            format!("<span class=\"bar-peer\" style=\"width:{other}%\">"),
            said.to_owned(),
        ] {
            assert!(picture.contains(&shown), "{ours:?}: no {shown} in {picture}");
        }
    }
}

#[test]
fn a_comparison_writes_its_rows_and_its_page() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let words = "compare kv --runs 2 --target redis --target dragonfly --target echo --out";
    let words: Vec<&str> = words.split(' ').collect();
    let rest = "-- --sessions 8 --connections 4 --depth 2 --seconds 1 --accounts 1000";
    let rest: Vec<&Path> = rest.split(' ').map(Path::new).collect();
    let output = lab(&words, &[&[out.as_path()], rest.as_slice()].concat());
    assert!(output.status.success(), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("not measured here\n  dragonfly: "), "{text}");
    // Without a terminal the live line is not written.
    assert!(!text.contains("measuring") && !text.contains('\u{1b}'), "{text}");
    let json = std::fs::read(out.join("kv.json")).unwrap();
    let report: Value = serde_json::from_slice(&json).unwrap();
    let redis = &report["rows"][0];
    assert_eq!(redis["runs"].as_array().unwrap().len(), 2);
    assert!(redis["configuration"][0] == "redis-server" && redis["stand"] == "loopback", "{redis}");
    assert!(!redis["core_use"].as_array().unwrap().is_empty());
    let html = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(html.contains("redis-server --bind 127.0.0.1") && html.contains("dragonfly"));
}

#[test]
fn all_scenarios_have_the_same_cores_and_end_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    // A target that only two scenarios can measure, which keeps this short.
    let words = "compare --all --runs 3 --within 0.02 --target valkey+hset --out";
    let words: Vec<&str> = words.split(' ').collect();
    let rest = "-- --sessions 20 --connections 5 --seconds 0.2 --warmup 0 --accounts 1000";
    let rest: Vec<&Path> = rest.split(' ').map(Path::new).collect();
    let output = lab(&words, &[&[out.as_path()], rest.as_slice()].concat());
    assert!(output.status.success(), "{}", said(&output));
    let rows = |name: &str| {
        let json = std::fs::read(out.join(format!("{name}.json"))).unwrap();
        let report: Value = serde_json::from_slice(&json).unwrap();
        report["rows"].as_array().unwrap().clone()
    };
    let [first, second] = ["moaf-scur", "moaf-scur-pipelined"].map(|name| rows(name)[0].clone());
    assert_eq!((&first["audit"], &second["audit"]), (&"ok".into(), &"ok".into()));
    // The core binding of one scenario does not affect the next one.
    for name in ["loader_core", "target_cores"] {
        assert_eq!(first[name], second[name], "{name}");
    }
    // No time is left for another round, and the first is run all the same.
    assert_eq!(first["runs"].as_array().unwrap().len(), 1, "{first}");
    // The log shows where the time goes.
    assert!(said(&output).contains("moaf-scur, valkey+hset, run 1/3: ok, "), "{}", said(&output));
}

#[test]
fn an_open_loop_shows_what_correction_hides() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    // Far more than one connection with one request in flight can carry, so that requests wait.
    let words = "run kv --target echo --rate 1000000 --sessions 1 --connections 1 --depth 1 --seconds 1 \
                 --warmup 0 --accounts 100 --quiet --json";
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = lab(&words, &[&json]);
    assert!(output.status.success(), "{}", said(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let row = &report["rows"][0];
    let p50 = |figures: &str| row[figures]["p50"].as_f64().unwrap();
    // Half a second of waiting is in the corrected figure and not in the other.
    assert!(p50("latency_us") > 100_000.0, "{row}");
    assert!(p50("latency_uncorrected_us") < 50_000.0, "{row}");
}

#[test]
fn a_terminal_shows_how_a_run_goes() {
    let lab = env!("CARGO_BIN_EXE_scurry-lab");
    let run = format!(
        "{lab} run kv --target echo --sessions 4 --connections 2 --seconds 3 --warmup 0 --accounts 100"
    );
    // util-linux's `script` gives the lab a terminal.
    let output = match Command::new("script").args(["-qec", &run, "/dev/null"]).output() {
        Ok(output) => output,
        Err(why) => {
            println!("skipped: `script` does not run: {why}");
            return;
        }
    };
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for shown in ["measuring 1 of 3 s", "ops/s, p99", "0 errors", "0:02 left"] {
        assert!(text.contains(shown), "{shown}: {text:?}");
    }
}
