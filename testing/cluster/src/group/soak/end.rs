//! The end of a piece: audits of the group as it runs, of its stopped directories, and of each node as it leads after a
//! start on its directory.

use super::acknowledged::{Acknowledged, Findings};
use super::audit::audit;
use super::backups;
use super::request::{BRIEF_MS, VALUE_MS_MAX};
use crate::group::same::Known;
use crate::group::{Group, NODES};
use anyhow::{Context, Result};
use scurry_crash::Binary;
use std::path::Path;
use std::time::Duration;

/// Time beyond the last deadline.
const SLACK: Duration = Duration::from_secs(2);
/// Attempts at an audit that an election may interrupt.
const TRIES: usize = 3;

/// Audits everything and stops the group. Returns what each audit of all accounts found.
pub(super) fn end(
    binary: &Binary,
    mut group: Group,
    acknowledged: &Acknowledged,
) -> Result<Vec<Findings>> {
    // By then the sessions that were left to expire and the plain values are gone.
    let longest_ms = u64::from(VALUE_MS_MAX).max(BRIEF_MS.unsigned_abs());
    group.pass(Duration::from_millis(longest_ms) + SLACK)?;
    group.until_whole()?;
    let (leader, _) = group.parts()?;
    let mut audits = vec![of_leader(&mut group, leader, acknowledged)?];
    eprintln!("all accounts show what was acknowledged");
    stop(&mut group)?;
    let stores: Vec<_> = group.nodes.iter().map(|node| node.store()).collect();
    let words = [Path::new("replica"), Path::new("verify")];
    let words: Vec<&Path> = words.into_iter().chain(stores.iter().map(|it| it.as_path())).collect();
    backups::run(binary, &words).context("the stopped nodes differ")?;
    eprintln!("the directories of the stopped nodes have the same");
    (0..NODES).try_for_each(|node| group.start_again(node))?;
    group.until_whole().context("the group does not start again")?;
    for node in 0..NODES {
        audits.push(of_leader(&mut group, node, acknowledged)?);
        eprintln!("node {node} leads, and all accounts show what was acknowledged");
    }
    let known = Known { accounts: Vec::new(), values: vec!["old-reads".to_owned()] };
    known.same_everywhere(&mut group)?;
    group.until_whole()?;
    stop(&mut group)?;
    Ok(audits)
}

/// Audits a node, which is made leader for that.
fn of_leader(group: &mut Group, node: usize, acknowledged: &Acknowledged) -> Result<Findings> {
    let mut outcome = Ok(Findings::default());
    for _ in 0..TRIES {
        group.transfer(node)?;
        let led = |group: &Group| group.nodes[node].status().ok()?.led();
        let before = led(group);
        outcome = audit(&group.nodes[node], acknowledged);
        if outcome.is_ok() || (before.is_some() && before == led(group)) {
            break;
        }
    }
    outcome.with_context(|| format!("node {node} leads"))
}

/// Stops all nodes, as an operator does.
fn stop(group: &mut Group) -> Result<()> {
    let (leader, others) = group.parts()?;
    others.into_iter().chain([leader]).try_for_each(|node| group.nodes[node].stop())
}
