//! Directories that are lost or restored, and files that are damaged.

use super::{FaultContext, cut};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Checks on the first node while it is cut off.
const FOUNDER_LOOKS: u32 = 12;
/// Maximum number of checks on a node with a restored disk.
const IMAGE_LOOKS_MAX: u32 = 600;

pub(super) fn replace(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, _) = scene.parts()?;
    let node = if scene.random.one_in(3) { leader } else { one };
    replace_node(scene, node)
}

/// Replaces a node: kills it, empties its directory and starts it in its own place.
pub(super) fn replace_node(scene: &mut FaultContext<'_>, node: usize) -> Result<()> {
    let others: Vec<usize> = (0..3).filter(|other| *other != node).collect();
    let lost = match scene.group.nodes[node].status() {
        Ok(status) => status.id,
        Err(_) => missing(scene, &others)?,
    };
    scene.group.nodes[node].kill()?;
    scene.pass_ms(0, 500)?;
    scene.group.nodes[node].empty()?;
    scene.group.start_anew(node, &lost)
}

/// The founding node loses its directory while it is cut off. However it is started, it must neither acknowledge nor
/// answer any request.
pub(super) fn wipe_founder(scene: &mut FaultContext<'_>) -> Result<()> {
    let (founder, others) = (0, [1, 2]);
    let lost = scene.group.nodes[founder].status()?.id;
    scene.group.nodes[founder].kill()?;
    cut::part(scene, founder, &others)?;
    scene.group.nodes[founder].empty()?;
    scene.group.nodes[founder].may_end = true;
    scene.group.nodes[founder].start(Vec::new(), None)?;
    let status = scene.group.nodes[founder].wait()?;
    ensure!(!status.success(), "the first node, which names nobody, ended with {status}");
    scene.group.start_again(founder)?;
    for _ in 0..FOUNDER_LOOKS {
        scene.pass_ms(300, 600)?;
        let said = scene.group.nodes[founder].status();
        ensure!(said.is_err(), "the first node answers alone: {said:?}");
    }
    cut::join(scene, founder, &others)?;
    scene.group.nodes[founder].wait()?;
    let words = scene.group.nodes[founder].log_tail();
    ensure!(words.contains(&format!("--replaces {lost}")), "it is not told what to do: {words}");
    scene.group.nodes[founder].may_end = false;
    scene.group.start_anew(founder, &lost)
}

/// A machine is restored from an older image of its disk.
pub(super) fn old_image(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    let image = scene.group.nodes[one].home.join("image");
    let store = scene.group.nodes[one].store();
    scene.group.nodes[one].stop()?;
    copy(&store, &image)?;
    scene.group.start_again(one)?;
    scene.group.until_whole()?;
    scene.pass_ms(200, 2_000)?;
    scene.group.nodes[one].may_end = true;
    scene.group.nodes[one].kill()?;
    scene.group.nodes[one].empty()?;
    fs::rename(&image, &store)?;
    scene.group.start_again(one)?;
    for _ in 0..IMAGE_LOOKS_MAX {
        scene.pass_ms(50, 150)?;
        if scene.group.nodes[one].ended()?.is_some() {
            let words = scene.group.nodes[one].log_tail();
            ensure!(words.contains("this node stops for good"), "{words}");
            scene.remark("a node whose disk was put back ended for good");
            scene.group.start_again(one)?;
            let status = scene.group.nodes[one].wait()?;
            let words = scene.group.nodes[one].log_tail();
            ensure!(!status.success() && words.contains("RETIRED"), "{status}: {words}");
            scene.group.nodes[one].may_end = false;
            return replace_node(scene, one);
        }
        if has_all(scene, one) {
            // Another node has become leader since, and cannot know what this one had.
            scene.remark("a node whose disk was put back got everything again");
            break;
        }
    }
    scene.group.nodes[one].may_end = false;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-a").args([from, to]).status().context("cp")?;
    ensure!(status.success(), "{} was not copied", from.display());
    Ok(())
}

/// Reports whether a node has applied everything that the leader knows to be committed.
fn has_all(scene: &FaultContext<'_>, node: usize) -> bool {
    let Some(leader) = scene.group.leader_of(&[0, 1, 2]) else { return false };
    let [Ok(led), Ok(own)] = [leader, node].map(|at| scene.group.nodes[at].status()) else {
        return false;
    };
    // A node that has just started shows no shards yet.
    led.shards.len() == own.shards.len()
        && led.shards.iter().zip(&own.shards).all(|(led, own)| own.applied >= led.committed)
}

/// Returns the id of the member that is not in `nodes`.
fn missing(scene: &mut FaultContext<'_>, nodes: &[usize]) -> Result<String> {
    let leader = scene.group.until_leader(nodes)?;
    let status = scene.group.nodes[leader].status()?;
    let own: Vec<String> = nodes
        .iter()
        .map(|node| Ok(scene.group.nodes[*node].status()?.id))
        .collect::<Result<_>>()?;
    let lost = status.members.into_iter().find(|member| !own.contains(&member.id));
    Ok(lost.context("no member is missing")?.id)
}

pub(super) fn damage(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    scene.group.nodes[one].kill()?;
    let files = scene.group.nodes[one].files()?;
    let file = files.first().context("a log")?;
    let mut bytes = fs::read(file)?;
    let end = bytes.iter().rposition(|byte| *byte != 0).context("an empty log")?;
    ensure!(end > 100, "{} has {end} bytes", file.display());
    let at = scene.random.below(end);
    let bit = 1 << scene.random.below(8);
    bytes[at] ^= bit;
    fs::write(file, bytes)?;
    scene.group.nodes[one].may_end = true;
    scene.group.start_again(one)?;
    scene.pass_ms(1_500, 1_500)?;
    scene.group.nodes[one].may_end = false;
    let where_ = if at * 10 < end * 9 { "within" } else { "near the end of" };
    match scene.group.nodes[one].ended()? {
        Some(status) => {
            let words = scene.group.nodes[one].log_tail();
            ensure!(!status.success() && !words.contains("panicked"), "{status}: {words}");
            scene.remark(&format!("a node with damage {where_} its log did not start"));
            replace_node(scene, one)
        }
        None => {
            scene.remark(&format!("a node with damage {where_} its log started"));
            Ok(())
        }
    }
}
