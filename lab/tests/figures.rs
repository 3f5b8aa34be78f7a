//! The path from the programs to the documents: parts of `cargo xtask figures` at a tiny size, their results, and the
//! tables that are written from these.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const PAGES: [&str; 2] = ["README.md", "docs/performance.md"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let into = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &into);
        } else {
            std::fs::copy(&path, &into).unwrap();
        }
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_kept_comparisons_are_those_of_the_kept_rows() {
    let results = repository().join("docs/results");
    let kept = json(&results.join("comparisons.json"));
    let mut files: Vec<&str> = Vec::new();
    for one in kept["comparisons"].as_array().unwrap() {
        let file = one["file"].as_str().unwrap();
        if !files.contains(&file) {
            files.push(file);
        }
    }
    assert!(files.len() > 10, "{files:?}");
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .arg("report")
        .args(&files)
        .arg("--out")
        .arg(path("x.html"))
        .arg("--comparisons")
        .arg(path("x.json"))
        .current_dir(&results)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(json(&path("x.json")), kept, "cargo xtask figures writes docs/results anew");
}

#[test]
fn parts_are_measured_written_into_documents_and_a_table_that_is_tampered_with_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (results, into) = (directory.path().join("results"), directory.path().join("into"));
    copy(&repository().join("docs/results"), &results);
    // Forget the previous record, so that exactly two parts are recorded.
    std::fs::remove_file(results.join("figures.json")).unwrap();
    std::fs::create_dir_all(into.join("docs")).unwrap();
    for page in PAGES {
        std::fs::copy(repository().join(page), into.join(page)).unwrap();
    }
    let figures = |words: &[&str]| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        command.args(["run", "--quiet", "--package", "xtask", "--", "figures"]).args(words);
        command.arg("--results").arg(&results).arg("--into").arg(&into);
        command.env("SCURRY_LAB", env!("CARGO_BIN_EXE_scurry-lab"));
        // The binary beside the lab, as the lab's other tests find it.
        let beside = Path::new(env!("CARGO_BIN_EXE_scurry-lab")).with_file_name("scurry");
        command.env("SCURRY_BIN", std::env::var_os("SCURRY_BIN").unwrap_or(beside.into()));
        command.current_dir(repository()).output().unwrap()
    };
    let before = std::fs::read_to_string(into.join("docs/performance.md")).unwrap();
    let output = figures(&["--tiny", "--only", "kv-pipelined,lab/kv"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(!said(&output).contains("FAILED"), "{}", said(&output));

    // The parts and their machine are recorded, and the rows are newly measured.
    let record = json(&results.join("figures.json"));
    for part in ["kv-pipelined.json", "lab/kv.json"] {
        let known = &record["files"][part];
        assert!(known["git_commit"].is_string() && known["seconds"].is_u64(), "{part}: {record}");
    }
    let rows = json(&results.join("kv-pipelined.json"));
    let row = &rows["rows"][0];
    assert_eq!((&row["accounts"], &row["audit"]), (&1_000.into(), &"ok".into()), "{row}");
    let comparisons = json(&results.join("comparisons.json"));
    let ours = comparisons["comparisons"].as_array().unwrap().iter();
    let ours: Vec<&Value> = ours.filter(|one| one["file"] == "lab/kv.json").collect();
    assert!(ours.iter().any(|one| one["connections"] == 4), "{ours:?}");

    // The documents contain the figures, and name their commit beside that of the others.
    let path = into.join("docs/performance.md");
    let page = std::fs::read_to_string(&path).unwrap();
    assert_ne!(page, before);
    assert!(page.contains(": kv-pipelined.json, lab/kv.json\n"), "{page}");
    let rate = thousands(row["business_ops_per_s"].as_f64().unwrap());
    assert!(page.contains(&format!("| SET and GET, pipelined | {rate}/s | Valkey |")), "{rate}");
    let output = figures(&["--check"]);
    assert!(output.status.success(), "{}", said(&output));

    std::fs::write(&path, page.replace(&rate, "99,999,999")).unwrap();
    let output = figures(&["--check"]);
    assert!(!output.status.success(), "a tampered table passes");
    assert!(said(&output).contains("differs from what the results give"), "{}", said(&output));
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let pieces: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|piece| std::str::from_utf8(piece).unwrap())
        .collect();
    pieces.join(",")
}
