//! Audit of the whole cluster while no request is under way: totals against accounts, replicas against their primaries,
//! and accounts of earlier rounds against their recorded state.

use crate::cluster::Cluster;
use crate::view::View;
use anyhow::{Context, Result, ensure};
use scurry_cluster_client::Totals;
use scurry_conformance::Value;
use scurry_crash::views;
use scurry_crash::wire::{RequestWords, Wire, words};
use std::collections::BTreeMap;

/// Connections to the primaries, with the slots that each owns.
pub(crate) struct Owners {
    all: Vec<(usize, View, Wire)>,
}

impl Owners {
    pub(crate) fn of(cluster: &Cluster) -> Result<Owners> {
        let views = cluster.views()?.into_iter().filter(|(_, view)| view.is_primary());
        let wired = views.map(|(index, view)| Ok((index, view, cluster.nodes[index].wire()?)));
        Ok(Owners { all: wired.collect::<Result<_>>()? })
    }

    /// Returns the connection to the owner of a key.
    pub(crate) fn wire(&mut self, key: &str) -> Result<&mut Wire> {
        let slot = scurry_resp::slot(key.as_bytes());
        let owner = self.all.iter_mut().find(|(_, view, _)| view.owns(slot));
        Ok(&mut owner.with_context(|| format!("no node owns slot {slot}"))?.2)
    }

    /// Divides keys among their owners. Returns each owner's number, its connection and its keys.
    fn shares<'k>(&mut self, keys: &[&'k str]) -> Vec<(usize, &mut Wire, Vec<&'k str>)> {
        let share = |view: &View| {
            let owned = |key: &&&str| view.owns(scurry_resp::slot(key.as_bytes()));
            keys.iter().filter(owned).copied().collect()
        };
        let all = self.all.iter_mut();
        all.map(|(index, view, wire)| (*index, wire, share(view))).collect()
    }
}

/// All accounts ever created.
#[derive(Default)]
pub(crate) struct Accounts {
    /// The AUDIT that each account must show once its round is over. None during its round.
    known: BTreeMap<String, Option<Value>>,
}

impl Accounts {
    pub(crate) fn add(&mut self, id: &str) {
        self.known.insert(id.to_owned(), None);
    }

    /// Waits until TOTALS of all primaries equal the sum over all accounts. Timers must bring that about without any
    /// command. Accounts of earlier rounds must be unchanged.
    pub(crate) fn audit(&self, cluster: &mut Cluster) -> Result<()> {
        cluster.until("totals are the sum of the accounts", |cluster| self.compare(cluster))?;
        for (id, reply) in self.look(&mut Owners::of(cluster)?)? {
            if let Some(Some(kept)) = self.known.get(&id) {
                ensure!(reply == *kept, "{id} was {kept} in its round, and is {reply}");
            }
        }
        Ok(())
    }

    /// Records the state of the accounts, which must not change from now on.
    pub(crate) fn keep(&mut self, cluster: &Cluster) -> Result<()> {
        for (id, reply) in self.look(&mut Owners::of(cluster)?)? {
            self.known.insert(id, Some(reply));
        }
        Ok(())
    }

    fn look(&self, owners: &mut Owners) -> Result<Vec<(String, Value)>> {
        let keys: Vec<&str> = self.known.keys().map(String::as_str).collect();
        let mut all = Vec::new();
        for (_, wire, keys) in owners.shares(&keys) {
            let audits: Vec<RequestWords> = keys.iter().map(|key| views::audit(key)).collect();
            let replies = wire.ask_all(&audits)?;
            all.extend(keys.into_iter().map(str::to_owned).zip(replies));
        }
        ensure!(all.len() == keys.len(), "not every key has an owner");
        Ok(all)
    }

    fn compare(&self, cluster: &Cluster) -> Result<()> {
        let mut owners = Owners::of(cluster)?;
        let mut totals = Vec::new();
        for (_, _, wire) in &mut owners.all {
            totals.push(wire.ask(&words("SCUR.TOTALS"))?);
        }
        sums_agree(&totals, &self.look(&mut owners)?)
    }

    /// Checks that every replica holds the same bytes as its primary, and no other keys.
    pub(crate) fn replicas(&self, cluster: &mut Cluster) -> Result<()> {
        cluster.until_even()?;
        let keys: Vec<&str> = self.known.keys().map(String::as_str).collect();
        let pairs: BTreeMap<usize, usize> = cluster.pairs()?.into_iter().collect();
        let mut owners = Owners::of(cluster)?;
        for (primary, wire, keys) in owners.shares(&keys) {
            let replica = *pairs.get(&primary).context("a primary without a replica")?;
            let mut copy = cluster.nodes[replica].wire()?;
            copy.ask(&words("READONLY"))?;
            let dumps = keys.iter().map(|key| words(&format!("SCUR.DUMP {key}")));
            let dumps: Vec<RequestWords> = dumps.collect();
            let (theirs, its) = (wire.ask_all(&dumps)?, copy.ask_all(&dumps)?);
            for ((key, ours), copied) in keys.iter().zip(theirs).zip(its) {
                ensure!(matches!(ours, Value::Word(_)), "{key}: {ours}");
                ensure!(
                    ours == copied,
                    "{key} at replica {replica} is not what it is at {primary}"
                );
            }
            let sizes = [wire.ask(&words("DBSIZE"))?, copy.ask(&words("DBSIZE"))?];
            ensure!(sizes[0] == sizes[1], "{primary} and {replica} have {sizes:?} keys");
        }
        Ok(())
    }
}

/// Checks that the TOTALS of all nodes with accounts equal the sums of the accounts' AUDIT, and that each AUDIT finds
/// its account intact.
pub(crate) fn sums_agree(totals: &[Value], audits: &[(String, Value)]) -> Result<()> {
    let mut all = Totals::default();
    for reply in totals {
        all.add(&views::totals_of(reply)?);
    }
    let audit = |(id, reply): &(String, Value)| views::audit_of(reply).with_context(|| id.clone());
    let audits: Vec<_> = audits.iter().map(audit).collect::<Result<_>>()?;
    views::sums_agree(&all, &audits, None)
}
