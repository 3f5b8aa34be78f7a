//! A bit of a node's memory flips: the nodes find it, and the node ends for good, whether it leads or not.

use super::nodes::{Client, Nodes};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

/// Keys of the store: several segments of a table.
const KEYS: usize = 2_000;
/// The key whose value is altered.
const VICTIM: &str = "key-123";
/// Greatest mapping that is searched, bytes.
const MAPPING_LEN_MAX: u64 = 1 << 30;

/// Flips a bit of a plain value that never expires, in the memory of another process. Returns the number of places.
fn flip(process: u32, key: &str, value: &str) -> io::Result<usize> {
    // An entry in memory: kind, lengths, key, value. The log has neither these lengths nor the two side by side.
    let mut entry = vec![0];
    entry.extend(u16::try_from(key.len()).expect("short").to_le_bytes());
    entry.extend(u32::try_from(value.len()).expect("short").to_le_bytes());
    entry.extend(key.as_bytes());
    entry.extend(value.as_bytes());
    let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/mem"))?;
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps"))?;
    let mut flipped = 0;
    for line in maps.lines().filter(|line| line.split(' ').nth(1) == Some("rw-p")) {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let Some((from, to)) = range.and_then(|(from, to)| Some((number(from)?, number(to)?)))
        else {
            continue;
        };
        if to - from <= MAPPING_LEN_MAX {
            flipped += flip_in(&memory, (from, to), &entry)?;
        }
    }
    Ok(flipped)
}

fn flip_in(memory: &File, (from, to): (u64, u64), entry: &[u8]) -> io::Result<usize> {
    let mut bytes = vec![0; usize::try_from(to - from).expect("64 bits")];
    // A mapping may have gone meanwhile.
    if memory.read_exact_at(&mut bytes, from).is_err() {
        return Ok(0);
    }
    let places = bytes.windows(entry.len()).enumerate().filter(|(_, window)| *window == entry);
    let mut flipped = 0;
    for (place, _) in places {
        let last = place + entry.len() - 1;
        memory.write_all_at(&[entry[entry.len() - 1] ^ 1], from + last as u64)?;
        flipped += 1;
    }
    Ok(flipped)
}

/// Fills a group, alters the memory of one node, and checks that this node ends and the others serve what is right.
fn find(is_wrong: impl Fn(&Nodes) -> usize) {
    let mut nodes = Nodes::start(3, 1);
    let value = "the value that was written";
    for number in 0..KEYS {
        nodes.execute(&["SET", &format!("key-{number}"), value]);
        if number % 3 == 0 {
            let account = format!("account-{number}");
            nodes.execute(&["SCUR.CREATE", &account, "BUCKET", "main", "cent", "100"]);
        }
    }
    nodes.wait_for_all();
    nodes.until("the nodes compare their memory", || {
        (0..3).all(|node| nodes.number(node, "compared").is_some_and(|at| at > 0)).then_some(())
    });
    let wrong = is_wrong(&nodes);
    match flip(nodes.process(wrong), VICTIM, value) {
        Ok(flipped) => assert!(flipped > 0, "the value is not where it is expected"),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            println!("left out: the memory of another process cannot be written here");
            return;
        }
        Err(error) => panic!("{error}"),
    }
    nodes.until("the node ends", || {
        nodes.log(wrong).contains("this node stops for good").then_some(())
    });
    let log = nodes.log(wrong);
    assert!(log.contains("this node's memory is wrong"), "{log}");
    assert!(log.contains(&format!("other values of \"{VICTIM}\"")), "{log}");
    let directory = nodes.directory_of(wrong);
    assert!(directory.join("RETIRED").exists());
    let kept = std::fs::read_dir(&directory).expect("its directory").flatten();
    let mut kept = kept.filter(|file| file.file_name().to_string_lossy().starts_with("memory-0-"));
    let kept = kept.next().expect("what it had in memory was kept").path();
    let text = std::fs::read_to_string(kept).expect("text");
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let altered = format!("{}{:02x}", &hex[..hex.len() - 2], b'n' ^ 1);
    assert!(text.contains(VICTIM) && text.contains(&altered), "{text}");
    let others: Vec<usize> = (0..3).filter(|node| *node != wrong).collect();
    nodes.until("the others serve what is right", || {
        let leader = nodes.leader_of(&others)?;
        let said = Client::connect(nodes.thread_port(leader))?.ask(&["GET", VICTIM]).ok()?;
        assert!(said.contains(value), "{said}");
        Some(())
    });
    for node in others {
        assert!(!nodes.directory_of(node).join("RETIRED").exists(), "{}", nodes.log(node));
    }
    // An empty node takes its place. It reads digests of the time when one node was the group, and wrong ones.
    nodes.start_anew(wrong);
    nodes.until("it takes its place, and its memory is compared", || {
        nodes.number(wrong, "compared").filter(|at| *at > 0)
    });
    nodes.wait_for_all();
    let log = nodes.log(wrong);
    assert_eq!(log.matches("this node stops for good").count(), 1, "{log}");
}

#[test]
fn a_follower_whose_memory_is_wrong_ends_for_good() {
    find(|nodes| (nodes.leader() + 1) % 3);
}

#[test]
fn a_leader_whose_memory_is_wrong_ends_for_good() {
    find(Nodes::leader);
}
