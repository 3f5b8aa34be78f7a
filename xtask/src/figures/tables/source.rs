//! Where figures come from: machine, commit, versions and files. What differs from the rest of a page shows
//! at its table.

use super::super::parts::{PARTS, Part};
use super::super::results::{Results, list, word};
use super::super::runner;
use super::comparisons;
use anyhow::Result;
use serde_json::Value;
use std::collections::BTreeSet;

/// The sources of a table in one line.
pub(super) fn line(results: &Results<'_>, files: &[&str], base: &str) -> Result<String> {
    let mut hosts: Vec<String> = Vec::new();
    let mut versions: Vec<String> = Vec::new();
    let mut links: Vec<String> = Vec::new();
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        links.push(format!("[{name}]({base}{file})"));
        if !file.ends_with(".json") {
            once(&mut hosts, recorded(results, file));
            continue;
        }
        let json = results.json(file)?;
        let rows = list(&json, "rows");
        let named = rows.iter().chain(Some(&json)).filter(|one| !word(one, "cpu").is_empty());
        let own: Vec<String> = named.map(host).collect();
        if own.is_empty() {
            once(&mut hosts, recorded(results, file));
        }
        own.into_iter().for_each(|host| once(&mut hosts, host));
        for row in rows {
            let version = word(row, "version");
            // Ours is the commit.
            if !version.is_empty() && !version.starts_with("scurry") {
                once(&mut versions, version.to_owned());
            }
        }
    }
    hosts.retain(|host| !host.is_empty());
    let hosts = if hosts.is_empty() {
        "a machine that is not recorded".to_owned()
    } else {
        hosts.join("; ")
    };
    let versions =
        if versions.is_empty() { String::new() } else { format!("; {}", versions.join(", ")) };
    Ok(format!("*{hosts}{versions}: {}*", links.join(", ")))
}

/// Whether all tables of a page are of one run, in a sentence, by the words of its blocks.
pub(crate) fn provenance(named: &[&str], results: &Results<'_>) -> Result<String> {
    let Ok(record) = results.json(runner::RECORD) else {
        return Ok("**Not of one run yet**: `make figures` has not measured these figures. Below each table stands \
                   on what machine and at what commit it was measured.\n"
            .to_owned());
    };
    // Some tables have every comparison.
    let compared = match named.iter().any(|word| comparisons::TABLES.contains(word)) {
        true => results.json(comparisons::FILE)?,
        false => Value::Null,
    };
    let compared = list(&compared, "comparisons").iter().map(|one| word(one, "file"));
    let files: BTreeSet<&str> = named.iter().copied().chain(compared).collect();
    let of_page = |part: &&Part| part.files.iter().any(|output| files.contains(output.file));
    let (mut hosts, mut missing, mut date) = (Vec::new(), Vec::new(), "");
    for part in PARTS.iter().filter(of_page) {
        match &record["parts"][part.name] {
            Value::Null => missing.push(part.name),
            known => {
                once(&mut hosts, host(known));
                date = date.max(word(known, "date"));
            }
        }
    }
    Ok(match (hosts.as_slice(), missing.is_empty()) {
        ([one], true) => {
            format!("All tables of this page are of one run, which ended on {date}: {one}.\n")
        }
        (_, true) => format!(
            "**Of {} machines or commits, not of one**: {}.\n",
            hosts.len(),
            hosts.join("; ")
        ),
        (_, false) => format!(
            "**Not of one run**: `make figures` has not measured {} yet. Below each table stands on what machine and \
             at what commit it was measured.\n",
            missing.join(", ")
        ),
    })
}

/// The host of a file that cannot say it: that of the part which wrote it.
fn recorded(results: &Results<'_>, file: &str) -> String {
    let record = results.json(runner::RECORD).unwrap_or_default();
    let parts = record["parts"].as_object().into_iter().flatten();
    let of = |part: &Value| list(part, "files").iter().any(|name| name.as_str() == Some(file));
    parts.filter(|(_, part)| of(part)).map(|(_, part)| host(part)).next().unwrap_or_default()
}

fn host(value: &Value) -> String {
    let commit = match word(value, "git_commit").split_once('+') {
        None if word(value, "git_commit").is_empty() => "commit not recorded".to_owned(),
        None => format!("commit {}", word(value, "git_commit")),
        Some((commit, _)) => format!("commit {commit} with changes"),
    };
    format!(
        "{}, {} cores, Linux {}, {commit}",
        word(value, "cpu"),
        value["cores"],
        word(value, "kernel")
    )
}

fn once(all: &mut Vec<String>, one: String) {
    if !all.contains(&one) {
        all.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = r#"{"rows": [{"cpu": "one", "cores": 2, "kernel": "6", "git_commit": "abc+changes",
        "version": "valkey 9.1.2"}, {"cpu": "one", "cores": 2, "kernel": "6", "git_commit": "abc+changes",
        "version": "scurry 0.1.0"}]}"#;
    const RECORDED: &str = r#"{"parts": {"doors": {"cpu": "two", "cores": 2, "kernel": "6", "git_commit": "abd",
        "date": "2026-11-26", "files": ["charging-http.json"]}}}"#;

    #[test]
    fn a_table_names_its_machine_commit_and_versions_and_a_file_that_cannot_is_that_of_its_part() {
        let read = |name: &str| match name {
            "lab/kv.json" => Some(ROWS.to_owned()),
            "charging-http.json" => Some(r#"{"rows": []}"#.to_owned()),
            runner::RECORD => Some(RECORDED.to_owned()),
            _ => None,
        };
        let results = Results::new(&read);
        let found = line(&results, &["lab/kv.json"], "results/").unwrap();
        let expected = "*one, 2 cores, Linux 6, commit abc with changes; valkey 9.1.2: \
                        [kv.json](results/lab/kv.json)*";
        assert_eq!(found, expected);
        let found = line(&results, &["charging-http.json"], "results/").unwrap();
        assert!(found.starts_with("*two, 2 cores, Linux 6, commit abd: "), "{found}");
    }

    #[test]
    fn a_page_is_of_one_run_where_all_its_own_parts_are_and_others_do_not_count() {
        let part = |files: &str, commit: &str| {
            format!(
                r#"{{"cpu": "one", "cores": 2, "kernel": "6", "git_commit": "{commit}", "date": "2026-11-26",
                "files": {files}}}"#
            )
        };
        let record = |kv: &str| {
            let [doors, ladder, kv] = [
                part(r#"["charging-http.json"]"#, "abd"),
                part(r#"["ladder.json"]"#, "abc"),
                part(r#"["lab/kv.json"]"#, kv),
            ];
            format!(r#"{{"parts": {{"doors": {doors}, "ladder": {ladder}, "lab-kv": {kv}}}}}"#)
        };
        let told = |named: &[&str], kv: &str| {
            let read = |name: &str| match name {
                comparisons::FILE => Some(r#"{"comparisons": [{"file": "lab/kv.json"}]}"#.into()),
                runner::RECORD => Some(record(kv)),
                _ => None,
            };
            provenance(named, &Results::new(&read)).unwrap()
        };
        let of_one = told(&["provenance", "losses", "ladder", "ladder.json"], "abc");
        assert!(of_one.starts_with("All tables of this page are of one run"), "{of_one}");
        assert!(of_one.contains("on 2026-11-26: one, 2 cores, Linux 6, commit abc."), "{of_one}");
        // A comparison's file is of the page as well.
        let of_two = told(&["losses", "ladder.json"], "abe");
        assert!(of_two.starts_with("**Of 2 machines or commits, not of one**"), "{of_two}");
        let missing = told(&["rows", "durable.json", "ladder.json"], "abc");
        assert!(missing.starts_with("**Not of one run**"), "{missing}");
        assert!(missing.contains(" durable yet") && !missing.contains("pipelined"), "{missing}");
    }

    #[test]
    fn what_is_measured_stands_beside_what_is_not_yet() {
        let read = |name: &str| (name == "lab/kv.json").then(|| ROWS.to_owned());
        let files = ["lab/kv.json", "gone.json"];
        let text =
            super::super::render("failover", &files, "results/", &Results::new(&read)).unwrap();
        assert!(
            text.contains("kv.json](") && text.ends_with("`make figures`: gone.json.\n"),
            "{text}"
        );
        let text = super::super::render("failover", &files[1..], "", &Results::new(&read)).unwrap();
        assert_eq!(text, "Not measured yet by `make figures`: gone.json.\n");
    }
}
