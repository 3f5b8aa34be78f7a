//! The tools next to a server that writes.

use crate::data::{Core, Data};
use crate::support::scurry;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Snapshots written while a tool runs. Fewer than the number of times that a tool lets itself be overtaken, so that it
/// ends on the slowest machine.
const ROUNDS: usize = 15;

#[test]
fn a_store_that_is_written_is_whole_and_copied() {
    let mut data = Data::new(1);
    data.core().fill("first", 4);
    let (path, manifest) = (data.path(), data.manifest);
    let copies: Vec<_> = (0..6).map(|at| data.beside(&format!("copy-{at}"))).collect();
    let started = data.core().last();
    let (go, begun) = sync_channel(0);
    let (done, ended) = sync_channel(1);
    let written = thread::scope(|scope| {
        let core = data.core();
        let writer = scope.spawn(move || {
            for tool in begun {
                for round in 0..ROUNDS {
                    core.fill(&format!("{tool}-{round}-"), 20);
                    // Snapshots are written and removed, and segments with them.
                    core.snapshot();
                }
                done.send(()).expect("somebody waits");
            }
            core.last()
        });
        let beside = |tool: &str, work: &dyn Fn()| {
            go.send(tool.to_owned()).expect("the writer is there");
            work();
            ended.recv().expect("it wrote");
        };
        let mut before = started;
        for (at, copy) in copies.iter().enumerate() {
            beside(&format!("inspect-{at}"), &|| {
                scurry(&[Path::new("inspect"), &path]).well();
            });
            beside(&format!("records-{at}"), &|| print_records(&path));
            beside(&format!("backup-{at}"), &|| {
                scurry(&[Path::new("backup"), &path, Path::new("--to"), copy]).well();
            });
            scurry(&[Path::new("inspect"), copy]).well();
            let last = Core::start(copy, &manifest, 0).last();
            assert!(last >= before, "{last} after {before}");
            before = last;
        }
        drop(go);
        let written = writer.join().expect("it wrote");
        assert!(before > started && written >= before, "{started} {before} {written}");
        written
    });
    // A copy contains the state at its sequence.
    let last = Core::start(&copies[5], &manifest, 0);
    assert!(last.last() <= written);
    let (from, to) = (data.path(), data.beside("again"));
    if scurry_reaches(&from, last.last()) {
        let sequence = last.last().to_string();
        let words = [Path::new("restore"), &from, Path::new("--to"), &to];
        scurry(&[&words[..], &[Path::new("--sequence"), Path::new(&sequence)]].concat()).well();
        assert_eq!(Core::start(&to, &manifest, 0).image(), last.image());
    }
}

/// Prints records until it succeeds: when a store writes snapshots all the time, its log files may be removed while
/// they are read, which the tool reports.
fn print_records(path: &Path) {
    loop {
        let said = scurry(&[Path::new("inspect"), path, Path::new("--records")]);
        if said.code == 0 {
            return;
        }
        said.refused(&["files were removed"]);
    }
}

/// Reports whether the log goes back to this sequence.
fn scurry_reaches(path: &Path, sequence: u64) -> bool {
    let text = scurry(&[Path::new("inspect"), path, Path::new("--json")]).well();
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    report["cores"][0]["earliest_point"].as_u64().expect("a number") <= sequence
}
