//! A node more is lost, as soon as the group has said that it can bear that: by `can_lose_a_node`, by the answer to a removal,
//! by the line about a vote.

use super::{Scene, cut};
use crate::client::LEASE_MAX;
use anyhow::{Result, ensure};
use std::time::Duration;

/// Time after which what has happened is seen.
const SEEN: Duration = Duration::from_secs(1);
/// The line by which a node's log says that another has a vote.
const HAS_A_VOTE: &str = "a node has a vote";

pub(super) fn second(scene: &mut Scene<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let is_cut = scene.group.nodes[one].namespace.is_some() && scene.random.one_in(2);
    // While something is written a follower that stores nothing shows by that.
    scene.signals.hold(true);
    scene.group.pass(LEASE_MAX + Duration::from_millis(300))?;
    if is_cut {
        cut::part(scene, one, &[other])?;
    } else {
        scene.group.nodes[one].pause()?;
    }
    scene.group.pass(SEEN)?;
    // A leader that was deposed by a busy machine says nothing that counts.
    let says_yes = scene.group.nodes[leader].status().is_ok_and(|it| it.serves() && it.can_lose);
    if says_yes {
        let left = if is_cut { vec![one, other] } else { vec![other] };
        lose(scene, leader, &left)?;
    }
    if is_cut {
        cut::join(scene, one, &[other])?;
    } else {
        scene.group.nodes[one].resume()?;
    }
    scene.signals.hold(false);
    deposed(scene)
}

/// A leader that was stopped goes on, and makes its memory anew; the next one is lost when it says that it can be.
fn deposed(scene: &mut Scene<'_>) -> Result<()> {
    scene.group.until_whole()?;
    let (leader, one, other) = scene.parts()?;
    scene.group.nodes[leader].pause()?;
    let new = scene.group.until_leader(&[one, other])?;
    scene.group.nodes[leader].resume()?;
    let mut new_leader = new;
    scene.group.until("it can lose a node again", |group| {
        new_leader = group.leader_of(&[leader, one, other]).unwrap_or(new_leader);
        ensure!(group.nodes[new_leader].status()?.can_lose, "{:?}", group.statuses());
        Ok(())
    })?;
    let left: Vec<usize> = (0..3).filter(|node| *node != new_leader).collect();
    lose(scene, new_leader, &left)
}

/// Kills the leader, and starts it again when one of these leads.
fn lose(scene: &mut Scene<'_>, leader: usize, left: &[usize]) -> Result<()> {
    scene.group.nodes[leader].kill()?;
    scene.group.until_leader(left)?;
    scene.group.start_again(leader)
}

pub(super) fn members(scene: &mut Scene<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let mut here = vec![leader, one, other];
    let mut gone = Vec::new();
    while here.len() > 1 {
        let leader = scene.group.until_leader(&here)?;
        here.retain(|node| *node != leader);
        let node = here.swap_remove(scene.random.below(here.len()));
        here.push(leader);
        let id = scene.group.nodes[node].status()?.id;
        scene.group.remove(&id, &here)?;
        scene.group.nodes[node].kill()?;
        scene.group.until_leader(&here)?;
        gone.push(node);
    }
    for node in gone {
        let before = votes(scene, &here);
        scene.group.start_empty(node)?;
        here.push(node);
        let count = here.len();
        scene.group.until("a node has its vote", |group| {
            let leader = group.leader_of(&here).unwrap_or(here[0]);
            let status = group.nodes[leader].status()?;
            let vote = status.members.iter().filter(|member| member.votes).count() == count;
            // A leader that was none when the change was over says nothing of it.
            let is_said = said(&group.nodes, &here) > before || status.can_lose;
            ensure!(vote && is_said, "{status:?}");
            Ok(())
        })?;
    }
    let leader = scene.group.until_leader(&here)?;
    here.retain(|node| *node != leader);
    lose(scene, leader, &here)
}

fn votes(scene: &Scene<'_>, nodes: &[usize]) -> usize {
    said(&scene.group.nodes, nodes)
}

/// How often these nodes have said that another has a vote.
fn said(all: &[crate::group::member::Member], nodes: &[usize]) -> usize {
    nodes.iter().map(|node| all[*node].said().matches(HAS_A_VOTE).count()).sum()
}
