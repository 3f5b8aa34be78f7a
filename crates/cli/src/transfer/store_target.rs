//! A store as the target of a copy.

use super::copy::{Moved, Target};
use super::item::{ItemContent, TransferItem};
use super::store_source::keys_of;
use anyhow::{Result, bail, ensure};
use scurry_cluster_client::Totals;
use scurry_cluster_client::redis::{Cmd, Value, cmd};
use scurry_cluster_client::{Address, Store};

/// Approximate bytes sent at once.
const BYTES: usize = 8 << 20;

pub(super) struct StoreTarget {
    store: Store,
}

impl StoreTarget {
    /// Opens a store. It must be empty, unless its keys may be overwritten.
    pub(super) fn open(address: &Address, replace: bool) -> Result<StoreTarget> {
        let store = Store::connect(address)?;
        let keys = keys_of(&mut store.primaries()?)?;
        ensure!(
            keys == 0 || replace,
            "{} has {keys} keys: move into an empty store, or say --replace to go on after an \
             attempt that was broken off",
            address.text()
        );
        Ok(StoreTarget { store })
    }

    fn send(&mut self, items: &[TransferItem]) -> Result<()> {
        let replies = self.store.ask_many(items.iter().map(write_of).collect());
        let replies = replies.map_err(|error| explained(error.into(), items))?;
        ensure!(replies.len() == items.len(), "a reply is missing");
        for (item, reply) in items.iter().zip(replies) {
            check(item, &reply)?;
        }
        Ok(())
    }
}

impl Target for StoreTarget {
    fn put(&mut self, items: &[TransferItem]) -> Result<()> {
        let (mut begin, mut bytes) = (0, 0);
        for (at, item) in items.iter().enumerate() {
            let len = item.key.len() + len_of(item);
            if bytes + len > BYTES && begin < at {
                self.send(&items[begin..at])?;
                (begin, bytes) = (at, 0);
            }
            bytes += len;
        }
        self.send(&items[begin..])
    }

    fn finish(self, totals: &Totals, moved: &Moved) -> Result<()> {
        let mut nodes = self.store.primaries()?;
        let here = Totals::of_all(&mut nodes)?;
        println!("target: {here}");
        if let Some(difference) = here.contradicts(totals) {
            bail!(
                "the totals do not agree, source and target: {difference}. Do not switch: empty \
                 the target and copy again"
            );
        }
        let (keys, (fewest, most)) = (keys_of(&mut nodes)?, moved.expected());
        ensure!(
            (fewest..=most).contains(&keys),
            "{most} keys were copied, and the target has {keys}: something else writes there, or \
             it had other keys. Do not switch: empty the target and copy again"
        );
        Ok(())
    }
}

/// Adds the advice for an account that is longer than the target's bound of an argument. Other values are bounded by
/// the store that they come from.
fn explained(error: anyhow::Error, items: &[TransferItem]) -> anyhow::Error {
    if !format!("{error:#}").contains("invalid bulk length") {
        return error;
    }
    let longest = items.iter().map(len_of).max().unwrap_or(0);
    error.context(format!(
        "an account of {longest} bytes is longer than an argument may be there: start the target with \
         a greater --max-argument and --max-request, or set proto-max-bulk-len of a cluster, and import \
         again with --replace"
    ))
}

fn len_of(item: &TransferItem) -> usize {
    match &item.content {
        ItemContent::Account { image } => image.len(),
        ItemContent::Value { value, .. } | ItemContent::Entity { value, .. } => value.len(),
        ItemContent::Deleted { .. } => 0,
    }
}

/// Returns the command that writes a key. Each command may be executed twice: it is repeated when the cluster changes
/// its primaries.
fn write_of(item: &TransferItem) -> Cmd {
    let key = item.key.as_slice();
    let mut command;
    let expires = match &item.content {
        ItemContent::Account { image } => {
            command = cmd("SCUR.LOAD");
            command.arg(key).arg(image.as_slice()).arg("REPLACE");
            None
        }
        ItemContent::Value { expires, value } => {
            command = cmd("SET");
            command.arg(key).arg(value.as_slice());
            *expires
        }
        ItemContent::Entity { version, expires, value } => {
            command = cmd("ENTITY.PUT");
            command.arg(key).arg(value.as_slice()).arg("VERSION").arg(*version);
            *expires
        }
        ItemContent::Deleted { version, .. } => {
            command = cmd("ENTITY.DEL");
            command.arg(key).arg("VERSION").arg(*version);
            None
        }
    };
    if let Some(expires) = expires {
        command.arg("PXAT").arg(expires.0);
    }
    command
}

fn check(item: &TransferItem, reply: &Value) -> Result<()> {
    let key = item.key.escape_ascii();
    match (&item.content, reply) {
        (ItemContent::Account { .. } | ItemContent::Value { .. }, Value::Okay) => Ok(()),
        (
            ItemContent::Entity { version, .. } | ItemContent::Deleted { version, .. },
            Value::Array(written),
        ) => {
            let stored = written.get(1);
            let is_this =
                matches!(stored, Some(Value::Int(it)) if u64::try_from(*it) == Ok(*version));
            ensure!(is_this, "the entity {key} is newer in the target: empty it and copy again");
            Ok(())
        }
        _ => bail!("the key {key} is answered with something else"),
    }
}
