//! A further node is lost as soon as the group reports that it can lose one: by `can_lose_a_node`, by the answer to a
//! removal, or by the log line about a vote.

use super::{FaultContext, cut};
use crate::client::LEASE_MAX;
use anyhow::{Result, ensure};
use std::time::Duration;

/// Time after which an event is noticed.
const SEEN: Duration = Duration::from_secs(1);
/// Log line that says that another node has its vote.
const HAS_A_VOTE: &str = "a node has a vote";

pub(super) fn second(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let is_cut = scene.group.nodes[one].namespace.is_some() && scene.random.one_in(2);
    // With writes under way, a follower that stores nothing would be noticed by that, so the load pauses.
    scene.signals.hold(true);
    scene.group.pass(LEASE_MAX + Duration::from_millis(300))?;
    if is_cut {
        cut::part(scene, one, &[other])?;
    } else {
        scene.group.nodes[one].pause()?;
    }
    scene.group.pass(SEEN)?;
    // A leader that was deposed because the machine was busy makes no valid statement.
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

/// A stopped leader continues and rebuilds its memory; the next leader is killed once it reports that it can be lost.
fn deposed(scene: &mut FaultContext<'_>) -> Result<()> {
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

/// Kills the leader, and restarts it when one of the `left` nodes leads.
fn lose(scene: &mut FaultContext<'_>, leader: usize, left: &[usize]) -> Result<()> {
    scene.group.nodes[leader].kill()?;
    scene.group.until_leader(left)?;
    scene.group.start_again(leader)
}

pub(super) fn members(scene: &mut FaultContext<'_>) -> Result<()> {
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
            // A node that was not leader when the change completed does not log it.
            let is_said = said(&group.nodes, &here) > before || status.can_lose;
            ensure!(vote && is_said, "{status:?}");
            Ok(())
        })?;
    }
    let leader = scene.group.until_leader(&here)?;
    here.retain(|node| *node != leader);
    lose(scene, leader, &here)
}

fn votes(scene: &FaultContext<'_>, nodes: &[usize]) -> usize {
    said(&scene.group.nodes, nodes)
}

/// Returns how often these nodes have logged that another has its vote.
fn said(all: &[crate::group::member::Member], nodes: &[usize]) -> usize {
    nodes.iter().map(|node| all[*node].said().matches(HAS_A_VOTE).count()).sum()
}
