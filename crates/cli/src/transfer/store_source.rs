//! A store as the source of a copy: lists the keys of each node with SCAN.

use super::copy::Source;
use super::item::{ItemContent, TransferItem};
use anyhow::{Context, Result, bail, ensure};
use scurry_cluster_client::Totals;
use scurry_cluster_client::redis::{Cmd, Value, cmd};
use scurry_cluster_client::{Address, Node, Store};
use scurry_codec::decode_account;
use scurry_ledger::{Account, Status, Time};
use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

/// Keys of one step.
const KEYS: usize = 512;
/// Approximate bytes read at once. A longer value is read alone.
const BYTES: u64 = 8 << 20;
/// Time that a copied deletion is remembered, ms. A Scurry server lists deletions without their time, so the default
/// setting is used. A store that reads the file goes by its own setting.
const REMEMBERED_MS: i64 = 86_400_000;

pub(super) struct StoreSource {
    nodes: Vec<Node>,
    /// Node whose keys are being listed, and its cursor. None before the first step.
    node: usize,
    cursor: Option<Vec<u8>>,
    /// True after all keys of the node are listed and its deletions follow.
    is_at_deletions: bool,
    /// Keys listed and not read yet, and the node that listed them.
    listed: VecDeque<Listed>,
    reading: usize,
    totals: Totals,
    keys: u64,
}

/// A key listed by a node.
struct Listed {
    key: Vec<u8>,
    kind: SourceKind,
    bytes: u64,
}

#[derive(Clone, Copy)]
enum SourceKind {
    Account,
    Value,
    /// Entity. Valkey may list a deleted one as a key.
    Entity,
    /// Deletion, listed as such by a Scurry server.
    Deletion,
}

impl StoreSource {
    pub(super) fn open(address: &Address) -> Result<StoreSource> {
        let mut nodes = Store::connect(address)?.primaries()?;
        let totals = Totals::of_all(&mut nodes)?;
        let keys = keys_of(&mut nodes)?;
        Ok(StoreSource {
            nodes,
            node: 0,
            cursor: None,
            is_at_deletions: false,
            listed: VecDeque::new(),
            reading: 0,
            totals,
            keys,
        })
    }

    /// Lists more keys of the current node, or moves on to the next node. Returns false at the end.
    fn list(&mut self) -> Result<bool> {
        let Some(node) = self.nodes.get_mut(self.node) else { return Ok(false) };
        let mut scan = cmd("SCAN");
        scan.arg(self.cursor.as_deref().unwrap_or(b"0")).arg("COUNT").arg(KEYS);
        if self.is_at_deletions {
            scan.arg("TYPE").arg("tombstone");
        }
        let (cursor, keys) = match node.ask_many(&[scan])?.pop().unwrap_or_default() {
            // Valkey has no such type, and has already listed its deletions as keys.
            Value::ServerError(error) if self.is_at_deletions && error.code() == "ERR" => {
                (b"0".to_vec(), Vec::new())
            }
            Value::ServerError(error) => bail!("{}: {error}", node.address().text()),
            Value::Array(reply) => match <[Value; 2]>::try_from(reply) {
                Ok([Value::BulkString(cursor), Value::Array(keys)]) => (cursor, keys),
                _ => bail!("{} lists no keys", node.address().text()),
            },
            _ => bail!("{} lists no keys", node.address().text()),
        };
        let keys: Vec<Vec<u8>> = keys.into_iter().filter_map(bytes).collect();
        if self.is_at_deletions {
            let listed = |key| Listed { key, kind: SourceKind::Deletion, bytes: 0 };
            self.listed.extend(keys.into_iter().map(listed));
        } else {
            self.add_keys(keys)?;
        }
        match (cursor == b"0", self.is_at_deletions) {
            (false, _) => self.cursor = Some(cursor),
            (true, false) => (self.cursor, self.is_at_deletions) = (None, true),
            (true, true) => {
                (self.cursor, self.is_at_deletions) = (None, false);
                self.node += 1;
            }
        }
        Ok(true)
    }

    /// Asks for the types and sizes of listed keys, and queues them.
    fn add_keys(&mut self, keys: Vec<Vec<u8>>) -> Result<()> {
        let Some(node) = self.nodes.get_mut(self.node) else { return Ok(()) };
        let mut asked = Vec::with_capacity(2 * keys.len());
        for key in &keys {
            asked.push(command("TYPE", key));
            asked.push(command("MEMORY", b"USAGE").arg(key.as_slice()).clone());
        }
        let replies = if asked.is_empty() { Vec::new() } else { node.ask_many(&asked)? };
        for (key, replies) in keys.into_iter().zip(replies.chunks_exact(2)) {
            let Some(kind) = kind_of(&key, &replies[0])? else { continue };
            let bytes = match replies[1] {
                Value::Int(bytes) => u64::try_from(bytes).unwrap_or(0),
                _ => 0,
            };
            self.listed.push_back(Listed { key, kind, bytes });
        }
        Ok(())
    }
}

impl Source for StoreSource {
    fn totals(&self) -> &Totals {
        &self.totals
    }

    fn keys(&self) -> u64 {
        self.keys
    }

    fn next(&mut self) -> Result<Option<Vec<TransferItem>>> {
        while self.listed.is_empty() {
            self.reading = self.node;
            if !self.list()? {
                return Ok(None);
            }
        }
        let (mut batch, mut sum) = (Vec::new(), 0);
        while let Some(listed) = self.listed.pop_front_if(|next| {
            batch.is_empty() || (batch.len() < KEYS && sum + next.bytes <= BYTES)
        }) {
            sum += listed.bytes;
            batch.push(listed);
        }
        read(&mut self.nodes[self.reading], batch).map(Some)
    }

    fn finish(&mut self) -> Result<Totals> {
        let now = Totals::of_all(&mut self.nodes)?;
        if let Some(change) = now.changed_since(&self.totals) {
            bail!(
                "the source was written to while it was copied ({change}): what was copied is not \
                 to be used. Stop all clients, and copy again with --replace"
            );
        }
        Ok(now)
    }
}

/// Returns the total number of keys of the nodes.
pub(super) fn keys_of(nodes: &mut [Node]) -> Result<u64> {
    let mut keys = 0;
    for node in nodes {
        match node.ask(&cmd("DBSIZE"))? {
            Value::Int(count) => keys += u64::try_from(count)?,
            _ => bail!("{} does not count its keys", node.address().text()),
        }
    }
    Ok(keys)
}

fn command(name: &str, key: &[u8]) -> Cmd {
    let mut command = cmd(name);
    command.arg(key);
    command
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    }
}

fn kind_of(key: &[u8], reply: &Value) -> Result<Option<SourceKind>> {
    let kind = match reply {
        Value::SimpleString(kind) => kind.as_str(),
        Value::ServerError(error) => bail!("{}: {error}", key.escape_ascii()),
        _ => "unknown",
    };
    Ok(Some(match kind {
        "scurryacc" => SourceKind::Account,
        "scurryent" => SourceKind::Entity,
        "string" => SourceKind::Value,
        // The key has expired meanwhile.
        "none" => return Ok(None),
        other => bail!(
            "the key {} holds a {other}: accounts, entities and strings can be moved. Delete or \
             move it by other means first",
            key.escape_ascii()
        ),
    }))
}

/// Reads the contents of keys. A key that is gone meanwhile is left out.
fn read(node: &mut Node, listed: Vec<Listed>) -> Result<Vec<TransferItem>> {
    // All requests go in one batch. The second loop takes the replies in the same order.
    let mut asked = Vec::new();
    for Listed { key, kind, .. } in &listed {
        match kind {
            SourceKind::Account => asked.push(command("SCUR.DUMP", key)),
            SourceKind::Entity => {
                asked.push(command("ENTITY.GET", key).arg("WITHVERSION").clone());
                asked.push(command("PEXPIRETIME", key));
            }
            SourceKind::Deletion => {
                asked.push(command("ENTITY.GET", key).arg("WITHVERSION").clone())
            }
            SourceKind::Value => {
                asked.push(command("PEXPIRETIME", key));
                asked.push(command("GET", key));
            }
        }
    }
    let mut replies = node.ask_many(&asked)?.into_iter();
    let mut items = Vec::with_capacity(listed.len());
    for Listed { key, kind, .. } in listed {
        let mut reply = || replies.next().context("a reply is missing");
        let content = match kind {
            SourceKind::Account => account(reply()?),
            SourceKind::Entity => {
                let content = reply()?;
                entity(content, &reply()?)
            }
            SourceKind::Deletion => entity(reply()?, &Value::Int(wall_ms()? + REMEMBERED_MS)),
            SourceKind::Value => {
                let expires = reply()?;
                value(&expires, reply()?)
            }
        };
        let content = content.with_context(|| {
            format!("the key {} of {} cannot be read", key.escape_ascii(), node.address().text())
        })?;
        items.extend(content.map(|content| TransferItem { key, content }));
    }
    Ok(items)
}

fn account(reply: Value) -> Result<Option<ItemContent>> {
    match reply {
        Value::BulkString(image) => {
            let mut account = Account::empty(Status::Active);
            decode_account(&image, &mut account)?;
            // No store would take it.
            ensure!(
                !account.has_transfers(),
                "a transfer of or to the account is under way: try again when SCUR.HOLDS of the payer shows it no \
                 more"
            );
            Ok(Some(ItemContent::Account { image }))
        }
        Value::ServerError(error) if error.code() == "UNKNOWN_ACCOUNT" => Ok(None),
        Value::ServerError(error) => bail!("{error}"),
        _ => bail!("SCUR.DUMP answers with something else"),
    }
}

/// Reads the reply about an entity. `until` is when the node removes the key.
fn entity(reply: Value, until: &Value) -> Result<Option<ItemContent>> {
    match reply {
        Value::Nil => Ok(None),
        Value::ServerError(error) => bail!("{error}"),
        Value::Array(parts) => match <[Value; 3]>::try_from(parts) {
            Ok([Value::Int(version), Value::BulkString(value), Value::Int(expires)]) => {
                let expires = time(expires);
                Ok(Some(ItemContent::Entity { version: u64::try_from(version)?, expires, value }))
            }
            // A deletion that is no longer remembered is left out.
            Ok([Value::Int(version), Value::Nil, _]) => {
                let Value::Int(until) = until else { return Ok(None) };
                let version = u64::try_from(version)?;
                Ok(time(*until).map(|forget_at| ItemContent::Deleted { version, forget_at }))
            }
            _ => bail!("ENTITY.GET answers with something else"),
        },
        _ => bail!("ENTITY.GET answers with something else"),
    }
}

fn value(expires: &Value, reply: Value) -> Result<Option<ItemContent>> {
    match (expires, reply) {
        (Value::Int(expires), Value::BulkString(value)) => {
            Ok(Some(ItemContent::Value { expires: time(*expires), value }))
        }
        (_, Value::Nil) => Ok(None),
        (Value::ServerError(error), _) => bail!("{error}"),
        (_, Value::ServerError(error)) => bail!("{error}"),
        _ => bail!("GET answers with something else"),
    }
}

fn wall_ms() -> Result<i64> {
    #[expect(clippy::disallowed_methods, reason = "a tool, and a time that nothing is decided by")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    Ok(i64::try_from(since.as_millis())?)
}

fn time(ms: i64) -> Option<Time> {
    (ms >= 0).then_some(Time(ms))
}
