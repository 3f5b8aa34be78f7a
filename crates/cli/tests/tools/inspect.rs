//! `scurry inspect` on intact files.

use crate::data::{Data, files, name_of};
use crate::support::scurry;
use nix::unistd::geteuid;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

fn report(path: &Path) -> Value {
    let text = scurry(&[Path::new("inspect"), path, Path::new("--json")]).well();
    serde_json::from_str(&text).expect("JSON")
}

fn text(path: &Path) -> String {
    scurry(&[Path::new("inspect"), path]).well()
}

/// Returns the names and contents of all files.
fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = files(path, "").into_iter();
    all.flat_map(|path| match path.is_dir() {
        true => contents(&path).into_iter().collect::<Vec<_>>(),
        false => vec![(path.display().to_string(), fs::read(&path).expect("read"))],
    })
    .collect()
}

#[test]
fn a_data_directory_is_counted() {
    let mut data = Data::new(2);
    data.cores[0].fill("a", 8);
    data.cores[0].snapshot();
    data.cores[0].fill("b", 1);
    data.cores[0].mark();
    let report = report(&data.path());
    assert_eq!(report["manifest"]["threads"], 2);
    assert_eq!(report["manifest"]["store"], "0000000000c0ffee");
    let [first, second] = &report["cores"].as_array().expect("cores")[..] else { panic!("two") };
    assert_eq!(first["name"], "g1/0");
    assert_eq!(first["log_id"], "0000000000c1ffee");
    assert_eq!((&first["last_sequence"], &first["earliest_point"]), (&json!(27), &json!(0)));
    assert_eq!(first["records"], json!({"account": 18, "value": 9}));
    let segments = first["segments"].as_array().expect("segments");
    assert!(segments.len() > 1, "{segments:?}");
    assert_eq!(segments[0]["first_sequence"], 1);
    for pair in segments.windows(2) {
        assert_eq!(pair[0]["next_sequence"], pair[1]["first_sequence"]);
    }
    let sum =
        |name: &str| segments.iter().map(|of| of[name].as_u64().expect("a number")).sum::<u64>();
    assert_eq!((sum("frames"), sum("marks")), (10, 1));
    assert_eq!(segments.last().expect("one")["synced_sequence"], 27);
    assert_eq!(first["snapshots"][0]["begun_sequence"], 24);
    assert_eq!(first["snapshots"][0]["as_of_sequence"], 24);
    assert_eq!(first["snapshots"][0]["entries"], json!({"account": 8, "value": 8}));
    assert_eq!(first["problems"], json!([]));
    assert_eq!((&second["last_sequence"], &second["log_id"]), (&json!(0), &Value::Null));
    let text = text(&data.path());
    for words in [
        "store 0000000000c0ffee, generation 1, 2 threads",
        "g1/0: log 0000000000c1ffee of core 0",
        "27 records in 10 frames",
        "bytes per record: account 18, value 9",
        "begun at sequence 24, shows up to 24 in 1 range, 16 entries",
        "27 was synced",
        "2023-11-14T22:13:20.001Z",
        "every checksum holds",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[test]
fn a_core_a_segment_and_a_snapshot_are_looked_at_alone() {
    let mut data = Data::full();
    let core = data.core();
    assert!(text(&core.path).contains("every checksum holds"));
    let (logs, snapshots) = (core.files("log-"), core.files("snapshot-"));
    let segment = report(&logs[0]);
    assert_eq!(segment["cores"][0]["segments"].as_array().expect("segments").len(), 1);
    assert_eq!(segment["manifest"], Value::Null);
    let snapshot = report(&snapshots[1]);
    assert_eq!(snapshot["cores"][0]["snapshots"][0]["begun_sequence"], 72);
    // A file under another name is still recognized.
    let copy = core.path.join("copy");
    fs::copy(&logs[0], &copy).expect("copied");
    assert_eq!(report(&copy)["cores"][0]["segments"], segment["cores"][0]["segments"]);
    assert!(text(&core.path).contains("copy: ignored"));
}

#[test]
fn records_are_printed_as_facts() {
    let mut data = Data::new(1);
    data.core().create("alice", 100);
    data.core().reserve("alice", "s1", 40);
    data.core().set("greeting", "hi \"there\"\n");
    data.core().commit();
    let path = data.path();
    let inspect = |more: &[&str]| {
        let begin = ["inspect", path.to_str().expect("text"), "--records"];
        scurry(&[&begin[..], more].concat()).well()
    };
    let lines: Vec<String> = inspect(&[]).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3);
    let create = "1  2023-11-14T22:13:20.001Z  account alice  create status=active; add-bucket \
                  id=main unit=EUR priority=0";
    assert!(lines[0].starts_with(create), "{}", lines[0]);
    assert!(lines[0].ends_with("credit bucket=0 amount=100  ->  main 100 EUR"), "{}", lines[0]);
    for words in ["open-session id=s1", "hold session=0 item=0 bucket=0 amount=40", "granted=[40]"]
    {
        assert!(lines[1].contains(words), "{words:?} is not in {}", lines[1]);
    }
    assert!(lines[1].ends_with("->  main 60 EUR (held 40)"), "{}", lines[1]);
    let value = r#"3  2023-11-14T22:13:20.001Z  value greeting  "hi \"there\"\n""#;
    assert_eq!(lines[2], value);
    assert_eq!(inspect(&["--from", "2", "--count", "1"]).trim_end(), lines[1]);
    assert_eq!(inspect(&["--from", "4"]), "");
    let objects: Vec<Value> = inspect(&["--json"])
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(objects[1]["sequence"], 2);
    assert_eq!(objects[1]["balances"][0]["held"], 40);
    let hold = json!({"fact": "hold", "session": 0, "item": 0, "bucket": 0, "amount": 40});
    assert!(objects[1]["facts"].as_array().expect("facts").contains(&hold));
    assert_eq!((&objects[2]["kind"], &objects[2]["key"]), (&json!("value"), &json!("greeting")));
}

#[test]
fn records_of_several_cores_name_their_core() {
    let mut data = Data::new(2);
    for (core, key) in [(0, "a"), (1, "b")] {
        data.cores[core].set(key, "x");
        data.cores[core].commit();
    }
    let path = data.path();
    let begin = ["inspect", path.to_str().expect("text"), "--records"];
    let lines = scurry(&begin).well();
    assert!(lines.contains("0  1  ") && lines.contains("\n1  1  "), "{lines}");
    let objects = scurry(&[&begin[..], &["--json"]].concat()).well();
    let last: Value = serde_json::from_str(objects.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["core"], &last["key"]), (&json!(1), &json!("b")));
}

#[test]
fn entries_of_a_snapshot_are_printed() {
    let mut data = Data::new(1);
    data.core().create("alice", 100);
    data.core().commit();
    data.core().snapshot();
    let path = &data.core().files("snapshot-")[0];
    let path = path.to_str().expect("text");
    let line = scurry(&["inspect", path, "--records"]).well();
    assert_eq!(line, "account alice  active version 1, main 100 EUR (held 0)\n");
    scurry(&["inspect", path, "--records", "--from", "1"]).refused(&["leave --from out"]);
}

#[test]
fn a_log_that_begins_later_says_from_where() {
    let mut data = Data::full();
    let path = data.core().path.clone();
    let first = name_of(&data.core().files("log-")[0]);
    let first: u64 = first["log-".len()..].parse().expect("a number");
    assert!(first > 1);
    scurry(&["inspect", path.to_str().expect("text"), "--records", "--from", "1"])
        .refused(&[&format!("the log begins with sequence {first} now: give --from {first}")]);
}

#[test]
fn nothing_is_changed() {
    let mut data = Data::full();
    let core = data.core();
    // A server has created the next segment and not written to it yet.
    let handle_missing_header = core.path.join(format!("log-{:020}", core.last() + 1));
    fs::write(&handle_missing_header, []).expect("written");
    fs::write(core.path.join("snapshot-00000000000000000107.new"), b"half").expect("written");
    let before = contents(&data.path());
    let text = text(&data.path());
    assert!(text.contains("a snapshot that is not finished"), "{text}");
    let path = data.path();
    scurry(&["inspect", path.to_str().expect("text"), "--records"]).well();
    assert_eq!(contents(&data.path()), before);
}

#[test]
fn other_paths_are_refused_in_words() {
    let mut data = Data::new(1);
    data.core().fill("a", 1);
    let refuse = |path: &Path, words: &[&str]| {
        scurry(&[Path::new("inspect"), path]).refused(words);
    };
    refuse(&data.beside("none"), &["there is no ", "/none: check the path"]);
    let empty = data.beside("empty");
    fs::create_dir(&empty).expect("made");
    refuse(&empty, &["is no data directory: it has no MANIFEST"]);
    let file = data.beside("file");
    fs::write(&file, "text").expect("written");
    refuse(&file, &["is neither a log segment nor a snapshot"]);
    // Sets the formats of the header and of the manifest to a later version.
    let segment = &data.core().files("log-")[0];
    let mut bytes = fs::read(segment).expect("read");
    bytes[8] = 9;
    fs::write(segment, bytes).expect("written");
    refuse(segment, &["written by a newer Scurry (format 9)"]);
    refuse(&data.core().path.clone(), &["written by a newer Scurry (format 9)"]);
    fs::remove_file(data.path().join("MANIFEST")).expect("removed");
    refuse(&data.path(), &["has data (g1) but no MANIFEST"]);
}

#[test]
fn whoever_may_not_read_is_told_who_may() {
    let data = Data::full();
    let path = data.path();
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.arg("inspect").arg(&path);
    if geteuid().is_root() {
        // Root may read everything, so this runs as another user.
        fs::set_permissions(data.place.path(), Permissions::from_mode(0o755)).expect("open");
        command.uid(65_534);
    } else {
        fs::set_permissions(&path, Permissions::from_mode(0o000)).expect("closed");
    }
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            eprintln!("skipped: nobody may not run {}", env!("CARGO_BIN_EXE_scurry"));
            return;
        }
        output => output.expect("it runs"),
    };
    fs::set_permissions(&path, Permissions::from_mode(0o700)).expect("open again");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("(run this as the user that scurry runs as)"), "{said}");
}
