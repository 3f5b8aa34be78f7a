//! Moves a slot from one primary to another key by key, as Valkey 8 does it.

use crate::cluster::Cluster;
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::{RequestWords, array, int, text, words};

/// Keys moved at a time.
const KEYS: usize = 2;
const MIGRATE_PATIENCE_MS: u32 = 5_000;

impl Cluster {
    /// Moves a slot. `between` is called while some of its keys are on the source and others on the target.
    pub fn move_slot(
        &self,
        slot: u16,
        from: usize,
        to: usize,
        between: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let [source, target] = [&self.nodes[from], &self.nodes[to]];
        let ids = [source.text("CLUSTER MYID")?, target.text("CLUSTER MYID")?];
        target.ask(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", ids[0]))?;
        source.ask(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", ids[1]))?;
        while self.carry_keys(slot, from, to)? {
            between()?;
        }
        // The target first, so that the slot has an owner at any time.
        for node in [target, source] {
            node.ask(&format!("CLUSTER SETSLOT {slot} NODE {}", ids[1]))?;
        }
        let moved = target.ask(&format!("CLUSTER COUNTKEYSINSLOT {slot}"))?;
        ensure!(int(&moved)? > 0, "slot {slot} was empty: nothing has moved");
        Ok(())
    }

    /// Moves some keys. Returns false if none were left.
    fn carry_keys(&self, slot: u16, from: usize, to: usize) -> Result<bool> {
        let [source, target] = [&self.nodes[from], &self.nodes[to]];
        let reply = source.ask(&format!("CLUSTER GETKEYSINSLOT {slot} {KEYS}"))?;
        let keys = array(&reply)?;
        if keys.is_empty() {
            return Ok(false);
        }
        // The empty word takes the place of a single key: the keys follow KEYS.
        let line = format!("MIGRATE {} {}  0 {MIGRATE_PATIENCE_MS} KEYS", target.host, target.port);
        let mut request: RequestWords = words(&line);
        for key in keys {
            request.push(text(key)?.into_bytes());
        }
        match source.wire()?.ask(&request)? {
            Value::Error(error) => bail!("MIGRATE of slot {slot}: {error}"),
            _ => Ok(true),
        }
    }
}
