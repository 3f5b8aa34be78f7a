//! Migration of slots: their accounts, with open sessions, move key by key to another primary and back.

use super::FaultContext;
use crate::cluster::Cluster;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::time::Duration;

/// Slots moved at most.
const SLOTS_MAX: usize = 12;

pub(super) fn there_and_back(scene: &mut FaultContext<'_>) -> Result<()> {
    let slots: BTreeSet<u16> =
        scene.keys.iter().map(|key| scurry_resp::slot(key.as_bytes())).collect();
    let mut shares = Vec::new();
    for (index, view) in scene.cluster.views()?.into_iter().filter(|(_, view)| view.is_primary()) {
        let own: Vec<u16> = slots.iter().copied().filter(|&slot| view.owns(slot)).collect();
        shares.push((index, own));
    }
    let full: Vec<usize> = (0..shares.len()).filter(|&at| !shares[at].1.is_empty()).collect();
    ensure!(!full.is_empty() && shares.len() > 1, "there is nothing to move: {shares:?}");
    let at = scene.random.pick(&full);
    let other = (at + 1 + scene.random.below(shares.len() - 1)) % shares.len();
    let (from, to) = (shares[at].0, shares[other].0);
    let moving = &shares[at].1[..shares[at].1.len().min(SLOTS_MAX)];
    for (from, to) in [(from, to), (to, from)] {
        for &slot in moving {
            let (cluster, random): (&Cluster, _) = (scene.cluster, &mut *scene.random);
            cluster.move_slot(slot, from, to, &mut || {
                let ms = u64::try_from(random.between(0, 60))?;
                cluster.pass(Duration::from_millis(ms))
            })?;
        }
    }
    Ok(())
}
