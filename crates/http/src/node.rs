//! One node: where it is, and whether its answers count.

use crate::clock::now;
use crate::copy::not_a_node;
use crate::line::Line;
use crate::step::Step;
use redis::{RedisError, Value};
use scurry_ledger::Time;
use std::mem::discriminant;
use std::sync::{PoisonError, RwLock};
use tokio::sync::Notify;

/// A node of entities, reached over one connection on which requests do not wait for each other.
pub(crate) struct Node {
    /// `HOST:PORT`.
    pub(crate) address: String,
    /// And since when it is in this state.
    link: RwLock<(Link, Time)>,
    /// Told when a request finds the connection broken.
    pub(crate) lost: Notify,
}

/// Whether a node can be asked.
#[derive(Clone)]
pub(crate) enum Link {
    /// It cannot be reached; why.
    Away(String),
    /// It answers, and may lack what it should know.
    NotReady(NotReady),
    /// Its answers count.
    Ready(Line),
}

/// A node whose answers do not count yet.
#[derive(Clone)]
pub(crate) struct NotReady {
    pub(crate) lack: Lack,
    pub(crate) connection: Line,
}

/// What a node that is not ready may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Everything: it is new, or was emptied.
    Everything,
    /// Nothing that anybody was promised: it was new when all others were.
    Forming,
    /// Deletions that others have forgotten.
    Deletions,
}

impl Lack {
    /// For people.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Lack::Everything => "it is empty, and not brought up to date yet",
            Lack::Forming => "the nodes are new, and not all of them have been seen",
            Lack::Deletions => "it was away for longer than deletions are remembered",
        }
    }
}

/// Why a node did not answer.
#[derive(Debug)]
pub(crate) enum Missing {
    /// It is not asked at present.
    NotReady,
    /// It was asked, and what it did is unknown.
    Failed(RedisError),
    /// It lists no entities by value; what it says.
    NoIndex(String),
}

impl Node {
    pub(crate) fn new(address: String) -> Node {
        let link = RwLock::new((Link::Away("not reached yet".to_owned()), now()));
        Node { address, link, lost: Notify::new() }
    }

    pub(crate) fn link(&self) -> Link {
        self.link_since().0
    }

    pub(crate) fn link_since(&self) -> (Link, Time) {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, link: Link, now: Time) {
        let mut kept = self.link.write().unwrap_or_else(PoisonError::into_inner);
        // The reason may change while it is away.
        let is_news = discriminant(&kept.0) != discriminant(&link);
        *kept = (link, if is_news { now } else { kept.1 });
    }

    /// The connection, when its answers count.
    pub(crate) fn line(&self) -> Option<Line> {
        match &self.link.read().unwrap_or_else(PoisonError::into_inner).0 {
            Link::Ready(line) => Some(line.clone()),
            _ => None,
        }
    }

    /// One step through its entities whose value this is.
    pub(crate) async fn find(&self, value: &[u8], cursor: &[u8]) -> Result<Step, Missing> {
        let line = self.line().ok_or(Missing::NotReady)?;
        let answer = line.ask(&Step::question(value, cursor)).await;
        let answer = answer.and_then(Value::extract_error).map_err(|error| {
            // Any other refusal may pass.
            if error.code() == Some("ERR") {
                Missing::NoIndex(error.detail().unwrap_or_default().to_owned())
            } else {
                self.failed(error)
            }
        })?;
        Step::of_answer(answer).ok_or_else(|| Missing::Failed(not_a_node()))
    }

    /// Asked, and not answered: somebody looks whether the connection is broken.
    pub(crate) fn failed(&self, error: RedisError) -> Missing {
        if error.is_connection_dropped() || error.is_io_error() && !error.is_timeout() {
            self.lost.notify_one();
        }
        Missing::Failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_away_since_it_went_whatever_is_tried_meanwhile() {
        let node = Node::new("a:1".to_owned());
        let away = |why: &str| Link::Away(why.to_owned());
        let (_, begin) = node.link_since();
        node.set(away("it refuses"), begin.plus_ms(5));
        let (link, since) = node.link_since();
        assert!(matches!(link, Link::Away(why) if why == "it refuses") && since == begin);
    }
}
