//! Directories that are lost, and files that are damaged.

use super::Scene;
use anyhow::{Context, Result, ensure};
use std::fs;

pub(super) fn replace(scene: &mut Scene<'_>) -> Result<()> {
    let (leader, one, _) = scene.parts()?;
    let node = if scene.random.one_in(3) { leader } else { one };
    anew(scene, node)
}

/// A node loses everything, and an empty one takes its place.
fn anew(scene: &mut Scene<'_>, node: usize) -> Result<()> {
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

/// The member that none of these nodes is.
fn missing(scene: &mut Scene<'_>, nodes: &[usize]) -> Result<String> {
    let leader = scene.group.until_leader(nodes)?;
    let status = scene.group.nodes[leader].status()?;
    let own: Vec<String> = nodes
        .iter()
        .map(|node| Ok(scene.group.nodes[*node].status()?.id))
        .collect::<Result<_>>()?;
    let lost = status.members.into_iter().find(|member| !own.contains(&member.id));
    Ok(lost.context("no member is missing")?.id)
}

pub(super) fn damage(scene: &mut Scene<'_>) -> Result<()> {
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
            let words = scene.group.nodes[one].last_words();
            ensure!(!status.success() && !words.contains("panicked"), "{status}: {words}");
            scene.remark(&format!("a node with damage {where_} its log did not start"));
            anew(scene, one)
        }
        None => {
            scene.remark(&format!("a node with damage {where_} its log started"));
            Ok(())
        }
    }
}
