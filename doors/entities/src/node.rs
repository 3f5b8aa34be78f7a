//! One node of entities: its address, its connection, and whether its answers count.

use crate::copy::not_a_node;
use crate::step::Step;
use redis::{Cmd, RedisError, Value};
use scurry_http::now;
use scurry_ledger::Time;
use scurry_stores::PipelinedConnection;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

/// A node of entities. All requests to it share one connection.
pub(crate) struct EntityNode {
    /// `HOST:PORT`.
    pub(crate) address: String,
    seen: watch::Sender<NodeState>,
    /// How long requests wait for the node, from when its answers last counted. A restarting node is back by then, and
    /// a longer absence delays no request.
    patience: Duration,
    /// Notified to look at the node before the next interval.
    pub(crate) look: Notify,
}

/// The state of a node, and since when.
struct NodeState {
    link: NodeLink,
    /// When the node came into this state, by the clock of the door: for people.
    since: Time,
    /// Since when its answers do not count; None while they do.
    absent_since: Option<Instant>,
}

/// Whether a node can be asked.
#[derive(Clone)]
pub(crate) enum NodeLink {
    /// The node cannot be reached, for this reason.
    Away(String),
    /// The node answers, but may lack data that it should have.
    NotReady(NotReady),
    /// The node's answers count.
    Ready(PipelinedConnection),
}

/// A node that is connected but does not count yet.
#[derive(Clone)]
pub(crate) struct NotReady {
    pub(crate) lack: MissingData,
    pub(crate) connection: PipelinedConnection,
}

/// Data that a node may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingData {
    /// Everything: the node is new, or was emptied.
    Everything,
    /// Nothing that a client was promised: the node was new when all others were.
    Forming,
    /// Deletions that the other nodes have forgotten.
    Deletions,
}

impl MissingData {
    /// Returns the reason for people.
    pub(crate) fn text(self) -> &'static str {
        match self {
            MissingData::Everything => "it is empty, and not brought up to date yet",
            MissingData::Forming => "the nodes are new, and not all of them have been seen",
            MissingData::Deletions => "it was away for longer than deletions are remembered",
        }
    }
}

/// Why a node did not answer.
#[derive(Debug)]
pub(crate) enum NodeFailure {
    /// The node is not asked at present, for this reason.
    NotReady(String),
    /// The node was asked, and the outcome is unknown.
    Failed(RedisError),
    /// The node has no index of entities by value. Holds its message.
    NoIndex(String),
}

impl EntityNode {
    pub(crate) fn new(address: String, patience: Duration) -> EntityNode {
        let link = NodeLink::Away("not reached yet".to_owned());
        let (seen, _) =
            watch::channel(NodeState { link, since: now(), absent_since: Some(Instant::now()) });
        EntityNode { address, seen, patience, look: Notify::new() }
    }

    pub(crate) fn link(&self) -> NodeLink {
        self.link_since().0
    }

    /// Returns the link, and since when it is in this state.
    pub(crate) fn link_since(&self) -> (NodeLink, Time) {
        let seen = self.seen.borrow();
        (seen.link.clone(), seen.since)
    }

    /// Sets the link. Returns true when the state differs from the one before.
    pub(crate) fn set(&self, link: NodeLink, now: Time) -> bool {
        let mut has_changed = false;
        self.seen.send_modify(|seen| {
            has_changed = !seen.link.is_like(&link);
            // An absence lasts until the node is ready, through all states in between.
            seen.absent_since = match link {
                NodeLink::Ready(_) => None,
                _ => seen.absent_since.or_else(|| Some(Instant::now())),
            };
            if has_changed {
                seen.since = now;
            }
            seen.link = link;
        });
        has_changed
    }

    /// Returns how long its answers have not counted; zero while they do.
    pub(crate) fn absence(&self) -> Duration {
        self.seen.borrow().absent_since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// Returns the connection when the node's answers count. It may have ended: a command sent on it then gets no
    /// answer.
    pub(crate) fn line(&self) -> Option<PipelinedConnection> {
        match &self.seen.borrow().link {
            NodeLink::Ready(line) => Some(line.clone()),
            _ => None,
        }
    }

    /// Waits for the connection until the node's answers count. A node that was just lost, or not reached yet, is
    /// waited for until its patience is over.
    pub(crate) async fn wait(&self) -> Result<PipelinedConnection, NodeFailure> {
        let mut seen = self.seen.subscribe();
        loop {
            let until = {
                let seen = seen.borrow_and_update();
                match (&seen.link, seen.absent_since) {
                    (NodeLink::Ready(line), _) if !line.is_over() => return Ok(line.clone()),
                    // The connection has ended, and membership is about to notice.
                    (_, None) => Instant::now() + self.patience,
                    (_, Some(since)) => since + self.patience,
                }
            };
            if !matches!(timeout_at(until, seen.changed()).await, Ok(Ok(()))) {
                return Err(NodeFailure::NotReady(self.link().why()));
            }
        }
    }

    /// Lists one step of the node's entities. All steps of a walk use one connection: a cursor means nothing to a node
    /// that has restarted.
    pub(crate) async fn step(
        line: &PipelinedConnection,
        question: &Cmd,
    ) -> Result<Step, NodeFailure> {
        let answer = line.ask(question).await;
        let answer = answer.and_then(Value::extract_error).map_err(|error| {
            // Any other error may be temporary.
            if error.code() == Some("ERR") {
                NodeFailure::NoIndex(error.detail().unwrap_or_default().to_owned())
            } else {
                NodeFailure::Failed(error)
            }
        })?;
        Step::of_answer(answer).ok_or_else(|| NodeFailure::Failed(not_a_node()))
    }
}

impl NodeLink {
    /// Reports whether both are the same state, on whatever connection.
    fn is_like(&self, other: &NodeLink) -> bool {
        match (self, other) {
            (NodeLink::Away(_), NodeLink::Away(_)) | (NodeLink::Ready(_), NodeLink::Ready(_)) => {
                true
            }
            (NodeLink::NotReady(one), NodeLink::NotReady(other)) => one.lack == other.lack,
            _ => false,
        }
    }

    /// Returns why the node's answers do not count, for people.
    fn why(&self) -> String {
        match self {
            NodeLink::Away(why) => format!("away ({why})"),
            NodeLink::NotReady(lacking) => format!("not ready ({})", lacking.lack.text()),
            NodeLink::Ready(_) => "its connection has just ended".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_away_since_it_went_whatever_is_tried_meanwhile() {
        let node = EntityNode::new("a:1".to_owned(), Duration::ZERO);
        let (_, begin) = node.link_since();
        let is_news = node.set(NodeLink::Away("it refuses".to_owned()), begin.plus_ms(5));
        let (link, since) = node.link_since();
        assert!(matches!(link, NodeLink::Away(why) if why == "it refuses"));
        assert!(!is_news && since == begin);
    }
}
