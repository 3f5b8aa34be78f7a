//! Logs with changed bytes.

use super::{kill, place, refusal, segment, start, under};
use std::path::Path;

const HEADER_LEN: usize = 34;

/// Makes a store with three writes, each in its own frame. Returns the offsets of the frames.
fn store(directory: &Path, mode: &str) -> Vec<usize> {
    let server = start(directory, mode);
    let mut client = server.connect();
    for key in ["one", "two", "three"] {
        client.ask(&format!("SET {key} {key}"), "+OK\r\n");
    }
    kill(server);
    let bytes = std::fs::read(segment(directory)).expect("it is read");
    let (mut at, mut frames) = (HEADER_LEN, Vec::new());
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    while word(at) > 0 {
        // A frame without records is a mark.
        if word(at + 32) > 0 {
            frames.push(at);
        }
        at += usize::try_from(word(at)).expect("a length");
    }
    assert_eq!(frames.len(), 3, "{frames:?}");
    frames
}

fn change(directory: &Path, change: impl FnOnce(&mut [u8])) {
    let segment = segment(directory);
    let mut bytes = std::fs::read(&segment).expect("it is read");
    change(&mut bytes);
    std::fs::write(&segment, bytes).expect("it is written");
}

#[test]
fn damage_in_the_middle_is_refused_with_its_place() {
    let directory = place("damaged-middle");
    let frames = store(&directory, "fsync");
    // The third frame says that the first was synced.
    change(&directory, |bytes| bytes[frames[0] + 40] ^= 1);
    let before = std::fs::read(segment(&directory)).expect("it is read");
    let said = refusal(&mut under(&[], &directory, "fsync"));
    assert!(said.contains("log-00000000000000000001 is damaged at byte 34"), "{said}");
    assert!(said.contains("sequence 1 was synced once and cannot be read"), "{said}");
    assert!(said.contains("restore from a backup"), "{said}");
    assert!(before == std::fs::read(segment(&directory)).expect("it is read"), "it was changed");
}

#[test]
fn a_damaged_end_is_cut_off_and_reported() {
    let directory = place("damaged-end");
    let frames = store(&directory, "write");
    // Half of the last frame is missing, as after a power failure during the write.
    change(&directory, |bytes| bytes[frames[2] + 20..].fill(0));
    let server = start(&directory, "write");
    let note =
        format!("not complete and had been promised to no client; cut off at byte {}", frames[2]);
    assert!(server.said.contains(&note), "{}", server.said);
    let mut client = server.connect();
    client.ask("MGET one two three", "*3\r\n$3\r\none\r\n$3\r\ntwo\r\n$-1\r\n");
    client.ask("SET four four", "+OK\r\n");
    kill(server);
    let server = start(&directory, "write");
    assert!(!server.said.contains("cut off"), "{}", server.said);
    server.connect().ask("MGET two three four", "*3\r\n$3\r\ntwo\r\n$-1\r\n$4\r\nfour\r\n");
}

#[test]
fn the_zeros_behind_a_log_are_no_damage() {
    let directory = place("clean-end");
    store(&directory, "fsync");
    let server = start(&directory, "fsync");
    assert!(!server.said.contains("cut off"), "{}", server.said);
    server.connect().ask("MGET one two three", "*3\r\n$3\r\none\r\n$3\r\ntwo\r\n$5\r\nthree\r\n");
}
