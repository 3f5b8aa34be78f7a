//! Runs every script through every door, in both protocols.

use scurry_conformance::{
    Door, EngineDoor, LibraryDoor, NodeDoor, ServerDoor, Source, run, scripts, update,
};
use scurry_resp::Protocol;

/// Set to 1 to rewrite expected results in place, for review.
const UPDATE: &str = "UPDATE_SCENARIOS";

/// Runs all scripts that the door accepts, and prints how many.
fn through(door: &dyn Door) {
    let scripts = scripts().expect("the scripts are read");
    let (mut ran, mut events, mut failures) = (0, 0, Vec::new());
    for script in scripts.iter().map(|source| &source.script).filter(|script| door.takes(script)) {
        ran += 1;
        for protocol in [Protocol::Resp3, Protocol::Resp2] {
            match run(door, script, protocol) {
                Ok(outcome) => {
                    events += outcome.events;
                    failures.extend(outcome.mismatches.iter().map(ToString::to_string));
                }
                Err(error) => failures.push(format!("{error:#}")),
            }
        }
    }
    let left = scripts.len() - ran;
    println!(
        "{}: {ran} scripts in 2 protocols, {events} events ({left} scripts are not for this door)",
        door.name()
    );
    let count = failures.len();
    assert!(failures.is_empty(), "{count} results differ:\n{}", failures.join("\n"));
    assert!(ran > 0, "no script was run");
}

#[test]
fn library() {
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        for Source { path, text, script } in scripts().expect("the scripts are read") {
            if LibraryDoor.takes(&script) {
                let outcome = run(&LibraryDoor, &script, Protocol::Resp3).expect("it runs");
                let updated = update(&text, &outcome.mismatches);
                if updated != text {
                    std::fs::write(&path, updated).expect("the script is written");
                    println!("{}: {} results rewritten", script.file, outcome.mismatches.len());
                }
            }
        }
    }
    through(&LibraryDoor);
}

#[test]
fn engine() {
    through(&EngineDoor);
}

#[test]
fn server() {
    through(&ServerDoor::find().expect("a scurry binary"));
}

#[test]
fn valkey() {
    through(&NodeDoor::find("valkey").expect("libscurry.so"));
}

#[test]
fn valkey_9() {
    if let Some(door) = NodeDoor::valkey_9().expect("libscurry.so") {
        through(&door);
    }
}

#[test]
fn redis() {
    through(&NodeDoor::find("redis").expect("libscurry.so"));
}
