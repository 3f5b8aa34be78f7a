//! `scurry report`: what a source lacks is said, and what is wrong with it is refused. DuckDB compares the rows with queries
//! in the tests of clusters.

use crate::data::{Data, START, flip};
use crate::support::{Said, scurry};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Less than the time after which a session without a request expires.
const PAUSE_MS: i64 = 600_000;

/// Two accounts on two threads, with a hold ten minutes old and a new one each.
fn data() -> Data {
    let mut data = Data::new(2);
    for (core, account) in ["alice", "bob"].into_iter().enumerate() {
        let core = &mut data.cores[core];
        core.create(account, 100);
        core.commit();
        core.reserve(account, "s2", 40);
        core.commit();
        core.now = core.now.plus_ms(PAUSE_MS);
        core.reserve(account, "s1", 30);
        core.commit();
        core.mark();
    }
    data
}

fn report(words: &[&str], source: &[&str]) -> Said {
    scurry(&[&["report"], words, source].concat())
}

fn answer(words: &[&str], source: &[&str]) -> Value {
    let said = report(words, &[source, &["--format", "json"]].concat()).well();
    serde_json::from_str(&said).expect("JSON")
}

/// Ships the events of a data directory in this form.
fn ship(data: &Data, to: &str, form: &str, options: &[&str]) -> PathBuf {
    let (from, to) = (data.path(), data.beside(to));
    let words =
        ["ship", "files", text(&to), "--format", form, "--log", "off", "--backup", text(&from)];
    scurry(&[&words[..], options].concat()).well();
    to
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Returns these columns of the rows, with commas between.
fn rows(answer: &Value, columns: &[&str]) -> Vec<String> {
    let cell = |row: &Value, name: &&str| match &row[*name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let row = |row| columns.iter().map(|name| cell(row, name)).collect::<Vec<_>>().join(",");
    answer["rows"].as_array().expect("rows").iter().map(row).collect()
}

/// Returns the files of events.
fn files_of(directory: &Path) -> Vec<PathBuf> {
    let mut files = crate::data::files(directory, "events-");
    files.retain(|path| fs::metadata(path).is_ok_and(|found| found.len() > 0));
    files
}

/// Divides the first file of a directory into one for each of its three commits.
fn divided(directory: PathBuf) -> PathBuf {
    let whole = files_of(&directory).swap_remove(0);
    let lines = fs::read_to_string(&whole).expect("text");
    for commit in 1..=3 {
        let is_own = |line: &&str| {
            [format!("\"1.0:{commit}\""), format!("\"1.0:{commit}-")]
                .iter()
                .any(|id| line.contains(id))
        };
        let own: String = lines.lines().filter(is_own).map(|line| format!("{line}\n")).collect();
        assert!(!own.is_empty(), "{lines}");
        let name = format!("events-0000000000c0ffee-1.0-{commit:020}.0-{:020}.0.jsonl", commit + 1);
        fs::write(directory.join(name), own).expect("written");
    }
    fs::remove_file(whole).expect("removed");
    directory
}

#[test]
fn holds_are_chosen_by_their_age_from_all_sources() {
    let data = data();
    let path = data.path();
    let mut sources = vec![vec!["--backup".to_owned(), text(&path).to_owned()]];
    for form in ["json", "protobuf", "parquet"] {
        let files = ship(&data, form, form, &[]);
        sources.push(vec!["--files".to_owned(), text(&files).to_owned()]);
    }
    for source in &sources {
        let source: Vec<&str> = source.iter().map(String::as_str).collect();
        let columns = ["account", "session", "item", "unit", "bucket", "amount", "opened"];
        let all = answer(&["holds"], &source);
        assert_eq!(all["complete"], true, "{all}");
        assert_eq!(rows(&all, &columns).len(), 4);
        let old = answer(&["holds", "--older", "9m", "--account", "bob"], &source);
        assert_eq!(rows(&old, &columns), ["bob,s2,1,EUR,main,40,2023-11-14T22:13:20.001Z"]);
        assert_eq!(old["totals"][0]["amount"], 40);
        let sums = answer(&["holds", "--by", "unit", "--zone", "Europe/Berlin"], &source);
        let expected = ["EUR,4,140,2023-11-14T23:13:20.001+01:00"];
        assert_eq!(rows(&sums, &["unit", "holds", "amount", "oldest"]), expected);
        let sums = answer(&["conservation"], &source);
        let columns = ["unit", "available", "held", "credited", "consumed", "conserves"];
        assert_eq!(rows(&sums, &columns), ["EUR,60,140,200,0,true"], "{source:?}");
    }
}

#[test]
fn statements_of_several_accounts_have_the_balances_around_their_period() {
    let data = data();
    let files = ship(&data, "events", "json", &[]);
    let list = data.beside("accounts");
    fs::write(&list, "bob\n\n").expect("written");
    // The time after the pause, in Berlin, where it is an hour later.
    let words = [
        "statement",
        "alice",
        "--accounts-file",
        text(&list),
        "--from",
        "2023-11-14T23:20",
        "--zone",
        "Europe/Berlin",
    ];
    for source in [["--files", text(&files)], ["--backup", text(&data.path())]] {
        let found = answer(&words, &source);
        let expected = |id: &str| {
            [
                format!("{id},opening,60,40"),
                format!("{id},session-opened,null,null"),
                format!("{id},item-added,null,null"),
                format!("{id},reserved,30,70"),
                format!("{id},closing,30,70"),
            ]
        };
        let all = [expected("alice"), expected("bob")].concat();
        assert_eq!(rows(&found, &["account", "event", "available", "held"]), all);
        assert_eq!(found["complete"], true, "{found}");
    }
    let found = answer(&["statement", "alice", "carol"], &["--files", text(&files)]);
    assert_eq!(found["missing"][0], "these accounts have no event: carol");
    let said = report(&["statement"], &["--files", text(&files)]);
    said.refused(&["no account is given: name some, or give --accounts-file or --account-prefix"]);
}

#[test]
fn an_answer_that_lacks_events_says_so() {
    // Snapshots have let the oldest events go.
    let data = Data::full();
    let path = data.path();
    let source = ["--backup", text(&path)];
    let words = |words: &[&str]| {
        let found = answer(words, &source);
        assert_eq!(found["complete"], found["missing"] == serde_json::json!([]), "{found}");
        found["missing"].to_string()
    };
    let missing = words(&["spend"]);
    assert!(missing.contains("thread 0 has events from 2023-11-14T22:13:20."), "{missing}");
    assert_eq!(words(&["spend", "--from", "2023-11-15"]), "[]", "after all of it");
    let missing = words(&["denied", "--day", "2023-11-13"]);
    assert!(missing.contains("thread 0 has no events of the period"), "{missing}");
    // The state has no such gap.
    assert_eq!(words(&["holds"]), "[]");
    assert_eq!(words(&["conservation"]), "[]");
    let files = ship(&data, "events", "json", &[]);
    let found = answer(&["conservation"], &["--files", text(&files)]);
    assert!(found["missing"].to_string().contains("earlier ones are not kept"), "{found}");
    let said = report(&["spend"], &["--files", text(&files), "--format", "csv"]);
    assert!(said.err.contains("NOT COMPLETE: thread 0 has events from"), "{said:?}");
    assert!(!said.well().contains("NOT COMPLETE"), "the rows are apart from it");

    // What was chosen when the files were shipped is not all.
    let whole = self::data();
    let some = ship(&whole, "some", "json", &["--event", "reserved"]);
    let found = answer(&["spend"], &["--files", text(&some)]);
    assert!(
        found["missing"].to_string().contains("were shipped with --event or --unit"),
        "{found}"
    );
    let found = answer(&["conservation"], &["--files", text(&some)]);
    let words = "the movements of 2 buckets do not add up to their balances";
    assert!(found["missing"].to_string().contains(words), "{found}");
    let part = files_of(&some)[0].with_extension("jsonl.part");
    fs::write(&part, "{").expect("written");
    let found = answer(&["spend"], &["--files", text(&some)]);
    assert!(found["missing"].to_string().contains("1 file is not complete yet (.part)"), "{found}");
}

#[test]
fn files_that_do_not_fit_together_are_refused_in_words() {
    let data = data();
    let refused = |files: &Path, words: &[&str]| {
        report(&["spend"], &["--files", text(files)]).refused(words);
    };
    let empty = data.beside("empty");
    fs::create_dir(&empty).expect("made");
    refused(&empty, &["empty has no files of events: write some with `scurry ship files DIR`"]);
    refused(&data.beside("none"), &["cannot read", "none"]);
    let small = |name: &str| divided(ship(&data, name, "json", &[]));
    let files = small("gap");
    let of_thread = files_of(&files);
    report(&["spend"], &["--files", text(&files)]).well();
    fs::remove_file(&of_thread[1]).expect("removed");
    let words = ["the file between events-0000000000c0ffee-1.0-", "is missing: bring it back"];
    refused(&files, &words);
    // Old files may be removed, the oldest first.
    fs::remove_file(&of_thread[0]).expect("removed");
    let found = answer(&["spend"], &["--files", text(&files)]);
    assert!(found["missing"].to_string().contains("earlier ones are not kept"), "{found}");

    let files = small("twice");
    let whole = ship(&data, "whole", "json", &[]);
    let name = |path: &Path| crate::data::name_of(path);
    let one = &files_of(&whole)[0];
    fs::copy(one, files.join(name(one))).expect("copied");
    refused(&files, &["have the same events: remove one of them"]);

    let files = small("stores");
    let one = &files_of(&files)[0];
    let other = name(one).replace("c0ffee", "c0ffef");
    fs::copy(one, files.join(&other)).expect("copied");
    refused(&files, &["has events of the stores", "give a directory that has those of one"]);
    fs::remove_file(one).expect("removed");
    files_of(&files).iter().filter(|path| name(path) != other).for_each(|path| {
        fs::remove_file(path).expect("removed");
    });
    refused(
        &files,
        &["is of the store 0000000000c0ffee, and the file's name has 0000000000c0ffef"],
    );
}

#[test]
fn files_that_are_damaged_are_refused_in_words() {
    let data = data();
    for (form, at, words) in [
        ("json", 0, "line 1 cannot be read"),
        ("protobuf", 1, "cannot be read"),
        ("parquet", 4, "cannot be read"),
    ] {
        let files = ship(&data, form, form, &[]);
        let refused = |words: &[&str]| {
            report(&["spend"], &["--files", text(&files)]).refused(words);
        };
        let file = &files_of(&files)[0];
        let whole = fs::read(file).expect("read");
        fs::write(file, &whole[..whole.len() - 2]).expect("written");
        refused(&["cannot be read", "Remove the directory, and ship into another one"]);
        fs::write(file, &whole).expect("written");
        report(&["spend"], &["--files", text(&files)]).well();
        flip(file, at);
        refused(&[words, "events-0000000000c0ffee-1.0-"]);
        fs::write(file, &whole).expect("written");
        // An event of another file: this one was renamed.
        let name = crate::data::name_of(file).replace("-1.0-", "-1.7-");
        fs::rename(file, files.join(name)).expect("renamed");
        refused(&["is not one of this file, or not in its order"]);
    }
    let path = data.path();
    let backup = ["--backup", text(&path)];
    for (words, why) in [
        (&["spend", "--zone", "europe/berlin"][..], "\"europe/berlin\" is no time zone"),
        (&["spend", "--from", "today", "--to", "yesterday"], "give --to a later time than --from"),
        (&["denied", "--from", "29.11.2026"], "is no date or time: write 2026-11-29"),
    ] {
        report(words, &backup).refused(&[why]);
    }
    let said = report(&["holds", "--older", "1 hour"], &backup);
    assert!(said.err.contains("is no span of time: write 90s, 30m, 1h or 2d"), "{said:?}");
    flip(&data.cores[1].files("log-")[0], 60);
    for words in ["spend", "holds", "conservation"] {
        report(&[words], &backup).refused(&["is damaged"]);
    }
    assert_eq!(START.0, 1_700_000_000_000, "the dates above are of this time");
}
