//! Memory that is not what the log says: in an ordinary run never, and in a run of its own on purpose, where the node
//! must be found.

use super::machine::Machine;
use super::plan::GroupTheme;
use super::trio::{GroupSim, NODES};
use crate::Failure;
use crate::audit::entries_of;
use crate::world::CheckResult;
use scurry_codec::{Record, encode_account};
use scurry_consensus::replica::NodeId;
use scurry_engine::{Compared, Shard};
use scurry_ledger::Time;

/// The rounds in which clients ask before the memory is altered.
const ROUNDS_BEFORE: usize = 12;
/// The rounds within which a node with altered memory must be found.
const ROUNDS_MAX: usize = 200;

/// The result of a run in which the memory of a node is altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlteredRun {
    /// There was nothing to alter, or a record has set it right before it was compared.
    Empty,
    /// The node was found; true if it led.
    Found(bool),
}

/// Runs one seed without other faults, alters one entry in the memory of a node, and checks that this node ends because
/// of it, and no other.
pub fn run_altered(seed: u64) -> Result<AlteredRun, Failure> {
    let mut trio = GroupSim::new(GroupTheme::Losses, seed);
    trio.run_altered().map_err(|why| Failure {
        why: format!("altered memory, seed {seed}: {why}"),
        tail: trio.trace.tail(),
    })
}

impl GroupSim {
    /// Checks a comparison of a node's memory with the leader's.
    pub(super) fn look_at_comparison(&mut self, id: NodeId, compared: &Compared) -> CheckResult {
        if compared.digest.node != id.get() {
            self.counts.compared += 1;
        }
        if compared.own != compared.digest.sum && self.altered.is_none() {
            return Err(format!("the memory of {id} differs from the leader's: {compared:?}"));
        }
        Ok(())
    }

    fn run_altered(&mut self) -> Result<AlteredRun, String> {
        for _ in 0..NODES {
            self.add_node()?;
        }
        self.settle()?;
        for _ in 0..ROUNDS_BEFORE {
            for client in 0..self.clients.len() {
                self.ask(client)?;
            }
            self.round()?;
        }
        let Some(id) = self.one(Machine::is_up) else { return Ok(AlteredRun::Empty) };
        let leads = self.leader() == Some(id);
        let index = self.random.next_u64();
        let Some(running) = self.machines.get_mut(&id).and_then(|it| it.running.as_mut()) else {
            return Ok(AlteredRun::Empty);
        };
        let now = Time(running.latest);
        let Some(what) = alter(&mut running.shard, index) else {
            return Ok(AlteredRun::Empty);
        };
        self.trace.add(format!("{what} is altered in the memory of {id}"));
        self.altered = Some(id);
        for _ in 0..ROUNDS_MAX {
            match self.round() {
                Ok(()) => {}
                Err(why) if why.contains(&format!("{id} stops: this node's memory is wrong")) => {
                    return Ok(AlteredRun::Found(leads));
                }
                // The simulation itself has read the entry before the nodes compared it.
                Err(why) if why.starts_with(&format!("key {:?}: shard ", what.as_bytes())) => {
                    return Ok(AlteredRun::Empty);
                }
                Err(why) => return Err(why),
            }
        }
        // A later record may have overwritten or removed the entry before it was compared.
        let shards = self.machines.values().filter_map(|machine| machine.running.as_ref());
        let mut shown = shards.map(|running| entries_of(&running.shard, now));
        let first = shown.next();
        if shown.all(|entries| Some(entries) == first) {
            return Ok(AlteredRun::Empty);
        }
        Err(format!("{what} was altered in the memory of {id}, which was not found"))
    }
}

/// Alters one entry of a shard, without a record. Returns its key; None if there is no entry.
fn alter(shard: &mut Shard, index: u64) -> Option<String> {
    let (mut keys, mut cursor) = (Vec::new(), 0);
    loop {
        cursor = shard.scan(Time(0), cursor, 100, |key, _| keys.push(Box::<[u8]>::from(key)));
        if cursor == 0 {
            break;
        }
    }
    let place = usize::try_from(index % (keys.len().max(1) as u64)).ok()?;
    let key = keys.get(place)?.clone();
    let (next, log) = (shard.sequence() + 1, shard.journal()?.is_empty());
    assert!(log, "a shard at rest has an open frame");
    let at = shard.key(&key);
    let mut image = Vec::new();
    // At an early time nothing counts as due: the account is as it is stored.
    if let Ok(Some(account)) = shard.account(Time(0), at).map(|account| Some(account.clone())) {
        let mut account = account;
        account.version ^= 1 << (index % 20);
        encode_account(&account, &mut image);
        shard.replay(&Record::Image { id: &key, image: &image }).ok()?;
    } else {
        shard.replay(&Record::Value { key: &key, expires: None, value: b"altered" }).ok()?;
    }
    assert_eq!(shard.sequence() + 1, next, "it was journaled");
    Some(key.escape_ascii().to_string())
}
