//! Writes to K of M copies: a command, followed by WAIT for a number of replicas on the same connection to the node
//! that owns the key.

use crate::{Address, ClientError, Node};
use redis::{Cmd, ServerErrorKind, Value, cmd};
use std::collections::BTreeMap;
use std::time::Duration;

/// Most redirections that a command follows.
const REDIRECTIONS_MAX: usize = 8;
/// Most nodes that are remembered.
const MEMBERS_MAX: usize = 1_024;
/// Least time that the client waits for WAIT's reply beyond WAIT's own timeout.
const WAIT_SLACK: Duration = Duration::from_secs(1);

/// Outcome of a command that was to reach a number of copies.
#[derive(Clone, Debug, PartialEq)]
pub enum CopiesOutcome {
    /// The server refused it, and nothing was written.
    Refused(Value),
    /// Enough copies have it, counting the primary.
    Enough {
        /// The reply.
        reply: Value,
        /// Copies that have it.
        copies: u32,
    },
    /// The write was done, but too few replicas confirmed it in time: a failover may lose it. Send it again, with the
    /// same request number or transaction id, until enough copies have it.
    NotEnough {
        /// The reply.
        reply: Value,
        /// Copies that have it.
        copies: u32,
        /// Copies that were asked for.
        wanted: u32,
    },
}

/// Connections to the nodes that own keys.
pub struct Copies {
    seed: Address,
    /// All known nodes, the seed first: any of them may be down.
    members: Vec<String>,
    /// Index of the member to ask when a slot's owner is not known.
    turn: usize,
    /// Known owners of slots.
    owners: BTreeMap<u16, String>,
    nodes: BTreeMap<String, Node>,
    wanted: u32,
    timeout_ms: u64,
}

impl Copies {
    /// Creates a client for commands that must reach `wanted` copies, at least 1, within `timeout_ms` milliseconds. A
    /// general cluster client sends WAIT to every primary and reports the worst result, so replicas of nodes that do
    /// not own the key would decide.
    pub fn new(seed: &Address, wanted: u32, timeout_ms: u64) -> Copies {
        // WAIT may use its whole timeout before it replies.
        let patience = seed.patience().max(Duration::from_millis(timeout_ms) + WAIT_SLACK);
        Copies {
            seed: seed.clone().with_patience(patience),
            members: vec![seed.text().to_owned()],
            turn: 0,
            owners: BTreeMap::new(),
            nodes: BTreeMap::new(),
            wanted: wanted.max(1),
            timeout_ms,
        }
    }

    /// Runs a command on one key. After an error it may have been executed: send it again with the same id.
    pub fn run(&mut self, key: &[u8], command: &Cmd) -> Result<CopiesOutcome, ClientError> {
        let slot = scurry_resp::slot(key);
        let mut asking = None;
        for _ in 0..REDIRECTIONS_MAX {
            let is_asking = asking.is_some();
            let owner = asking.take().or_else(|| self.owners.get(&slot).cloned());
            let at = owner.unwrap_or_else(|| self.members[self.turn].clone());
            let (reply, replicas) = self.run_at(&at, is_asking, command).inspect_err(|_| {
                // By the next attempt another node may own the slot, so another member is asked for the owner.
                self.owners.remove(&slot);
                self.nodes.remove(&at);
                self.turn = (self.turn + 1) % self.members.len();
            })?;
            let Value::ServerError(error) = &reply else { return Ok(self.kept(reply, replicas)) };
            let to = error.details().and_then(|details| details.split_whitespace().last());
            let to = to.map(|to| complete(to, &at));
            match (error.kind(), to) {
                (Some(ServerErrorKind::Moved), Some(to)) => {
                    self.owners.insert(slot, to);
                }
                (Some(ServerErrorKind::Ask), Some(to)) => asking = Some(to),
                (kind, _) => {
                    if kind.is_some_and(|kind| kind != ServerErrorKind::ResponseError) {
                        // A node that does not serve the key now may not own it any more.
                        self.owners.remove(&slot);
                    }
                    return Ok(CopiesOutcome::Refused(reply));
                }
            }
        }
        Err(ClientError::Moving)
    }

    /// Runs the command on one node. Returns the reply, and how many replicas have it.
    fn run_at(
        &mut self,
        at: &str,
        asking: bool,
        command: &Cmd,
    ) -> Result<(Value, u32), ClientError> {
        if !self.nodes.contains_key(at) {
            let mut node = Node::connect(&self.seed.at(at))?;
            self.meet(&mut node);
            self.nodes.insert(at.to_owned(), node);
        }
        let Some(node) = self.nodes.get_mut(at) else { return Err(ClientError::Moving) };
        let mut commands = Vec::new();
        if asking {
            commands.push(cmd("ASKING"));
        }
        commands.push(command.clone());
        if self.wanted > 1 {
            // On the same connection, because WAIT covers the writes of its own connection.
            let mut wait = cmd("WAIT");
            wait.arg(self.wanted - 1).arg(self.timeout_ms);
            commands.push(wait);
        }
        let mut replies = node.ask_many(&commands)?.into_iter().skip(usize::from(asking));
        let reply = replies.next().unwrap_or_default();
        match (self.wanted, replies.next()) {
            (1, _) => Ok((reply, 0)),
            (_, Some(Value::Int(replicas))) => {
                Ok((reply, u32::try_from(replicas).unwrap_or_default()))
            }
            _ if matches!(reply, Value::ServerError(_)) => Ok((reply, 0)),
            (_, Some(Value::ServerError(error))) => {
                Err(ClientError::Failed(at.to_owned(), error.into()))
            }
            _ => Err(ClientError::Foreign(at.to_owned(), "WAIT")),
        }
    }

    /// Remembers the nodes that this one knows, in case it is down later.
    fn meet(&mut self, node: &mut Node) {
        // A node that does not list others is used all the same.
        for member in node.members().unwrap_or_default() {
            if self.members.len() < MEMBERS_MAX && self.members.iter().all(|m| m != member.text()) {
                self.members.push(member.text().to_owned());
            }
        }
    }

    fn kept(&self, reply: Value, replicas: u32) -> CopiesOutcome {
        let (copies, wanted) = (replicas + 1, self.wanted);
        if copies >= wanted {
            CopiesOutcome::Enough { reply, copies }
        } else {
            CopiesOutcome::NotEnough { reply, copies, wanted }
        }
    }
}

/// Returns the address in a redirection; without a host it is on the redirecting node's host.
fn complete(to: &str, from: &str) -> String {
    match (to.strip_prefix(':'), from.rsplit_once(':')) {
        (Some(port), Some((host, _))) => format!("{host}:{port}"),
        _ => to.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn a_redirection_without_a_host_stays_on_the_host() {
        assert_eq!(complete(":7001", "127.0.0.1:7000"), "127.0.0.1:7001");
        assert_eq!(complete("10.0.0.2:7001", "127.0.0.1:7000"), "10.0.0.2:7001");
    }
}
