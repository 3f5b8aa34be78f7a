//! Damage is found, and distinguished from an end of the log that was never acknowledged.

use crate::data::{Data, flip, name_of};
use crate::support::{Said, scurry};
use std::fs;
use std::path::Path;

fn inspect(path: &Path) -> Said {
    scurry(&[Path::new("inspect"), path])
}

#[test]
fn every_synced_byte_of_a_log_is_watched() {
    let data = Data::full();
    let segment = data.cores[0].files("log-")[0].clone();
    let whole = fs::read(&segment).expect("read");
    let end = whole.iter().rposition(|&byte| byte != 0).expect("bytes") + 1;
    // In a header, in frames, in the last frame.
    for at in [3, 20, 34, 40, 60, 300, end - 1] {
        flip(&segment, at);
        let name = name_of(&segment);
        let said = inspect(&data.path()).refused(&["WRONG", &name]);
        assert!(at < 34 || said.out.contains("is damaged at byte "), "{at}: {said:?}");
        fs::write(&segment, &whole).expect("written");
    }
    inspect(&data.path()).well();
}

#[test]
fn what_follows_damage_is_still_read() {
    let data = Data::full();
    let segments = data.cores[0].files("log-");
    flip(&segments[0], 60);
    flip(&segments[2], 60);
    let said = inspect(&data.path()).refused(&["2 things are wrong", "is damaged at byte 34"]);
    for bad in [&segments[0], &segments[2]] {
        assert!(said.out.contains(&format!("WRONG: {} is damaged", name_of(bad))), "{said:?}");
    }
}

#[test]
fn every_byte_of_a_snapshot_is_watched() {
    let data = Data::full();
    let snapshot = data.cores[0].files("snapshot-")[1].clone();
    let whole = fs::read(&snapshot).expect("read");
    for at in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        flip(&snapshot, at);
        inspect(&data.path()).refused(&["WRONG", &name_of(&snapshot)]);
        inspect(&snapshot).refused(&["is wrong with"]);
        fs::write(&snapshot, &whole).expect("written");
    }
    for len in [0, 10, 50, whole.len() / 2, whole.len() - 1] {
        fs::write(&snapshot, &whole[..len]).expect("written");
        inspect(&data.path()).refused(&["WRONG", &name_of(&snapshot)]);
    }
}

#[test]
fn files_that_are_gone_are_missed() {
    for gone in ["log-first", "log-middle", "snapshots", "core"] {
        let data = Data::full();
        let core = &data.cores[0];
        let segments = core.files("log-");
        let words = match gone {
            "log-first" => {
                fs::remove_file(&segments[0]).expect("removed");
                "files were removed"
            }
            "log-middle" => {
                fs::remove_file(&segments[2]).expect("removed");
                "was synced once and cannot be read"
            }
            "snapshots" => {
                for snapshot in core.files("snapshot-") {
                    fs::remove_file(snapshot).expect("removed");
                }
                "there is no good snapshot before it"
            }
            _ => {
                fs::remove_dir_all(&core.path).expect("removed");
                "g1/0 is missing"
            }
        };
        inspect(&data.path()).refused(&["WRONG", words]);
    }
}

#[test]
fn a_log_whose_end_is_gone_is_known_by_the_snapshot() {
    let data = Data::full();
    let segments = data.cores[0].files("log-");
    for segment in &segments[1..] {
        fs::remove_file(segment).expect("removed");
    }
    inspect(&data.path()).refused(&["the log ends at sequence", "its end was lost"]);
    // On its own the segment is intact.
    inspect(&segments[0]).well();
}

#[test]
fn a_segment_beside_the_next_has_to_reach_it() {
    let data = Data::full();
    let segments = data.cores[0].files("log-");
    inspect(&segments[0]).well();
    let whole = fs::read(&segments[0]).expect("read");
    fs::write(&segments[0], &whole[..700]).expect("written");
    inspect(&segments[0]).refused(&["what is between is damaged or missing"]);
}

#[test]
fn an_end_that_was_never_synced_is_no_damage() {
    let mut data = Data::new(1);
    data.core().fill("a", 2);
    let segment = data.core().files("log-").pop().expect("one");
    let mut bytes = fs::read(&segment).expect("read");
    let end = bytes.iter().rposition(|&byte| byte != 0).expect("bytes") + 1;
    bytes[end + 5..end + 12].fill(7);
    fs::write(&segment, bytes).expect("written");
    let text = inspect(&data.path()).well();
    assert!(text.contains("bytes behind the last good frame"), "{text}");
    assert!(text.contains("every checksum holds"), "{text}");
}

#[test]
fn files_of_two_stores_are_told_apart() {
    let mut data = Data::full();
    // The last segment has commits and not only the mark.
    data.core().fill("d", 1);
    let mut other = Data::new(2);
    other.cores[1].fill("x", 1);
    let foreign = other.cores[1].files("log-")[0].clone();
    let last = data.cores[0].files("log-").pop().expect("one");
    let place = data.cores[0].path.join(format!("log-{:020}", data.cores[0].last() + 1));
    fs::copy(foreign, &place).expect("copied");
    assert!(place > last);
    inspect(&data.path()).refused(&["belongs to another log"]);
}
