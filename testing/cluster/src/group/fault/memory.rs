//! A bit of a node's memory flips. The nodes compare their memory while they run, so they find it.

use super::{FaultContext, files};
use anyhow::{Context, Result, ensure};
use scurry_conformance::Value;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

/// Value of the key that is altered.
const VALUE: &str = "the-value-that-was-written";
/// Greatest mapping that is searched, bytes.
const MAPPING_LEN_MAX: u64 = 1 << 30;
/// Exit code of a node that ends for good.
const RETIRED_CODE: i32 = 3;
/// Checks on the node until it must have ended, and the time between two, ms: a minute.
const LOOKS: u32 = 600;
const LOOK_EVERY_MS: i64 = 100;

/// Flips a bit of a key's value in the memory of the leader or of a follower. No client writes the key again, so the
/// nodes must find it. The node must end for good, and the others must show what was written.
pub(super) fn flip(scene: &mut FaultContext<'_>) -> Result<()> {
    let key = format!("flipped-{:016x}", scene.random.next_u64());
    scene.group.execute(&[0, 1, 2], &format!("SET {key} {VALUE}"))?;
    scene.group.until_whole()?;
    let (leader, one, _) = scene.parts()?;
    let wrong = if scene.random.one_in(2) { leader } else { one };
    scene.group.nodes[wrong].may_end = true;
    match flip_value(scene, wrong, &key) {
        Ok(flipped) => ensure!(flipped > 0, "the value is not where it is expected"),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            scene.group.nodes[wrong].may_end = false;
            scene.remark("left out: the memory of another process cannot be written here");
            return Ok(());
        }
        Err(error) => return Err(error).context("the memory of a node"),
    }
    until_retired(scene, wrong)?;
    let others: Vec<usize> = (0..3).filter(|node| *node != wrong).collect();
    let shown = scene.group.execute(&others, &format!("GET {key}"))?;
    ensure!(shown == Value::Word(VALUE.as_bytes().to_vec()), "the others show {shown}");
    scene.remark(if wrong == leader {
        "a leader whose memory was wrong ended for good"
    } else {
        "a follower whose memory was wrong ended for good"
    });
    scene.group.nodes[wrong].may_end = false;
    files::replace_node(scene, wrong)
}

/// Waits until the node has ended for good, with the key in its log.
fn until_retired(scene: &mut FaultContext<'_>, wrong: usize) -> Result<()> {
    for _ in 0..LOOKS {
        scene.pass_ms(LOOK_EVERY_MS, LOOK_EVERY_MS)?;
        let Some(status) = scene.group.nodes[wrong].ended()? else { continue };
        let node = &scene.group.nodes[wrong];
        let words = node.log_tail();
        ensure!(status.code() == Some(RETIRED_CODE), "it ended with {status}: {words}");
        ensure!(words.contains("this node's memory is wrong"), "{words}");
        ensure!(node.store().join("RETIRED").exists(), "it is not marked: {words}");
        return Ok(());
    }
    anyhow::bail!("a bit of {}'s memory was not found", scene.group.nodes[wrong].name())
}

/// Flips the last bit of a plain value that never expires, in the memory of a node. Returns the number of places. The
/// node is stopped for the moment of the change, because it may move its entries.
fn flip_value(scene: &mut FaultContext<'_>, node: usize, key: &str) -> io::Result<usize> {
    let member = &mut scene.group.nodes[node];
    let process = member.process().map_err(io::Error::other)?;
    let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/mem"))?;
    let entry = entry(key);
    let places = places(process, &memory, &entry)?;
    member.pause().map_err(io::Error::other)?;
    let flipped = flip_at(&memory, &places, &entry);
    member.resume().map_err(io::Error::other)?;
    flipped
}

/// Returns an entry in memory: kind, lengths, key, value. The log has neither these lengths nor the two side by side.
fn entry(key: &str) -> Vec<u8> {
    let mut entry = vec![0];
    entry.extend(u16::try_from(key.len()).unwrap_or(u16::MAX).to_le_bytes());
    entry.extend(u32::try_from(VALUE.len()).unwrap_or(u32::MAX).to_le_bytes());
    entry.extend(key.as_bytes());
    entry.extend(VALUE.as_bytes());
    entry
}

/// Returns the addresses of these bytes in the writable memory of a process.
fn places(process: u32, memory: &File, entry: &[u8]) -> io::Result<Vec<u64>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let mut found = Vec::new();
    for line in maps.lines().filter(|line| line.split(' ').nth(1) == Some("rw-p")) {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let Some((from, to)) = range.and_then(|(from, to)| Some((number(from)?, number(to)?)))
        else {
            continue;
        };
        let len = usize::try_from(to - from).unwrap_or(usize::MAX);
        let mut bytes = if to - from <= MAPPING_LEN_MAX { vec![0; len] } else { continue };
        // A mapping may have gone meanwhile.
        if memory.read_exact_at(&mut bytes, from).is_ok() {
            let windows = bytes.windows(entry.len()).zip(from..);
            found.extend(windows.filter(|(window, _)| *window == entry).map(|(_, at)| at));
        }
    }
    Ok(found)
}

/// Flips the last bit of the entry at those of the places where it still is.
fn flip_at(memory: &File, places: &[u64], entry: &[u8]) -> io::Result<usize> {
    let (last, mut flipped) = (entry.len() - 1, 0);
    for place in places {
        let mut bytes = vec![0; entry.len()];
        if memory.read_exact_at(&mut bytes, *place).is_ok() && bytes == entry {
            memory.write_all_at(&[entry[last] ^ 1], *place + last as u64)?;
            flipped += 1;
        }
    }
    Ok(flipped)
}
