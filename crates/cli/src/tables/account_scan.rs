//! Reads all accounts of a live store: lists them with SCAN and reads each with SCUR.DUMP, node by node, in steps whose
//! number of accounts and of bytes is bounded.

use anyhow::{Context, Result, bail};
use scurry_cluster_client::redis::{Value, cmd};
use scurry_cluster_client::{Address, Node, Store, Totals};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

/// Accounts of one step.
const ACCOUNTS: usize = 512;
/// Approximate bytes read at once. A longer account is read alone.
const BYTES: u64 = 8 << 20;

/// An account as a store gives it: its id and its image.
pub(crate) type Image = (Vec<u8>, Vec<u8>);

/// All accounts of a store.
pub(crate) struct AccountScan {
    nodes: Vec<Node>,
    /// Node whose accounts are being listed, and its cursor. None before the first step.
    node: usize,
    cursor: Option<Vec<u8>>,
    /// Accounts that are listed and not read, with their sizes, and the node that listed them.
    listed: VecDeque<(Vec<u8>, u64)>,
    reading: usize,
    seen: Option<SeenIds>,
}

/// Ids that were seen, for stores whose SCAN may show a key twice: a hash of 128 bits each.
struct SeenIds {
    hashes: hashbrown::HashSet<(u64, u64)>,
    with: [RandomState; 2],
}

impl SeenIds {
    /// Reports whether an id is seen for the first time.
    fn add(&mut self, id: &[u8]) -> bool {
        let [first, second] = &self.with;
        self.hashes.insert((first.hash_one(id), second.hash_one(id)))
    }
}

impl AccountScan {
    /// Connects to all nodes of a store that have accounts.
    pub(crate) fn open(address: &Address) -> Result<AccountScan> {
        let nodes = Store::connect(address)?.primaries()?;
        let (listed, seen) = (VecDeque::new(), None);
        Ok(AccountScan { nodes, node: 0, cursor: None, listed, reading: 0, seen })
    }

    /// Leaves out accounts that were already read.
    pub(crate) fn once_each(&mut self) {
        let with = [RandomState::new(), RandomState::new()];
        self.seen = Some(SeenIds { hashes: hashbrown::HashSet::new(), with });
    }

    /// Returns the nodes.
    pub(crate) fn nodes(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// Returns the number of accounts at this moment.
    pub(crate) fn accounts(&mut self) -> Result<u64> {
        Ok(Totals::of_all(&mut self.nodes)?.accounts)
    }

    /// Returns the next accounts. None at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Image>>> {
        while self.listed.is_empty() {
            self.reading = self.node;
            if !self.list()? {
                return Ok(None);
            }
        }
        let (mut batch, mut sum) = (Vec::new(), 0);
        while let Some((id, bytes)) =
            self.listed.pop_front_if(|(_, bytes)| batch.is_empty() || sum + *bytes <= BYTES)
        {
            sum += bytes;
            batch.push(id);
        }
        self.read(batch).map(Some)
    }

    /// Lists more accounts of the current node, or moves on to the next node. Returns false at the end.
    fn list(&mut self) -> Result<bool> {
        let Some(node) = self.nodes.get_mut(self.node) else { return Ok(false) };
        let mut scan = cmd("SCAN");
        scan.arg(self.cursor.as_deref().unwrap_or(b"0")).arg("COUNT").arg(ACCOUNTS);
        scan.arg("TYPE").arg("scurryacc");
        let Value::Array(reply) = node.ask(&scan)? else {
            bail!("{} lists no keys", node.address().text());
        };
        let Ok([Value::BulkString(cursor), Value::Array(ids)]) = <[Value; 2]>::try_from(reply)
        else {
            bail!("{} lists no keys", node.address().text());
        };
        let mut ids: Vec<Vec<u8>> = ids.into_iter().filter_map(bytes).collect();
        if let Some(seen) = &mut self.seen {
            ids.retain(|id| seen.add(id));
        }
        let size = |id: &Vec<u8>| cmd("MEMORY").arg("USAGE").arg(id.as_slice()).clone();
        let asked: Vec<_> = ids.iter().map(size).collect();
        let sizes = if asked.is_empty() { Vec::new() } else { node.ask_many(&asked)? };
        for (id, size) in ids.into_iter().zip(sizes) {
            match size {
                Value::Int(size) => self.listed.push_back((id, u64::try_from(size).unwrap_or(0))),
                Value::ServerError(error) => bail!("{}: {error}", node.address().text()),
                // It was deleted meanwhile.
                _ => {}
            }
        }
        match cursor == b"0" {
            false => self.cursor = Some(cursor),
            true => (self.cursor, self.node) = (None, self.node + 1),
        }
        Ok(true)
    }

    /// Reads accounts. One that is gone meanwhile is left out.
    fn read(&mut self, ids: Vec<Vec<u8>>) -> Result<Vec<Image>> {
        let node = &mut self.nodes[self.reading];
        let asked: Vec<_> =
            ids.iter().map(|id| cmd("SCUR.DUMP").arg(id.as_slice()).clone()).collect();
        let mut replies = node.ask_many(&asked)?.into_iter();
        let mut images = Vec::with_capacity(ids.len());
        for id in ids {
            match replies.next().context("a reply is missing")? {
                Value::BulkString(image) => images.push((id, image)),
                Value::ServerError(error) if error.code() == "UNKNOWN_ACCOUNT" => {}
                Value::ServerError(error) => bail!(
                    "the account {} of {} cannot be read: {error}",
                    id.escape_ascii(),
                    node.address().text()
                ),
                _ => bail!("{} answers SCUR.DUMP with something else", node.address().text()),
            }
        }
        Ok(images)
    }
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    }
}
