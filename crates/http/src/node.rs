//! One node: where it is, and whether its answers count.

use crate::clock::now;
use crate::copy::not_a_node;
use crate::line::Line;
use crate::step::Step;
use redis::{Cmd, RedisError, Value};
use scurry_ledger::Time;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

/// How often a request is sent to a node again that ends the connection instead of answering: what it
/// is asked may be the cause.
pub(crate) const ASKED_AGAIN_MAX: usize = 16;

/// How often a node is looked at, and tried that is away.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Before one is tried again that could not be reached, at least.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// The pause before one is tried again that has been away for so long: one that restarts is tried
/// often, and one that is gone is left in peace.
pub(crate) fn pause(absence: Duration) -> Duration {
    (absence / 8).clamp(PAUSE_MIN, LOOK_EVERY)
}

/// A node of entities, reached over one connection on which requests do not wait for each other.
pub(crate) struct Node {
    /// `HOST:PORT`.
    pub(crate) address: String,
    seen: watch::Sender<Seen>,
    /// How long its answers are waited for since they counted last: a node that restarts is back by
    /// then, and one that is away for longer keeps nobody waiting.
    patience: Duration,
    /// Told when it is worth a look before its time.
    pub(crate) look: Notify,
}

/// A link, and how long it has been no better.
struct Seen {
    link: Link,
    /// Since when it is in this state, by the clock of the door: for people.
    since: Time,
    /// Since when its answers do not count; none while they do.
    absent_since: Option<Instant>,
}

/// Whether a node can be asked.
#[derive(Clone)]
pub(crate) enum Link {
    /// A node that cannot be reached; why.
    Away(String),
    /// A node that answers, and may lack what it should know.
    NotReady(NotReady),
    /// A node whose answers count.
    Ready(Line),
}

/// A node whose answers do not count yet.
#[derive(Clone)]
pub(crate) struct NotReady {
    pub(crate) lack: Lack,
    pub(crate) connection: Line,
}

/// Knowledge that a node that is not ready may lack.
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
    /// A node that is not asked at present; why.
    NotReady(String),
    /// A node that was asked, and what it did is unknown.
    Failed(RedisError),
    /// A node that lists no entities by value; what it says.
    NoIndex(String),
}

impl Node {
    pub(crate) fn new(address: String, patience: Duration) -> Node {
        let link = Link::Away("not reached yet".to_owned());
        let (seen, _) =
            watch::channel(Seen { link, since: now(), absent_since: Some(Instant::now()) });
        Node { address, seen, patience, look: Notify::new() }
    }

    pub(crate) fn link(&self) -> Link {
        self.link_since().0
    }

    /// And since when it is in this state.
    pub(crate) fn link_since(&self) -> (Link, Time) {
        let seen = self.seen.borrow();
        (seen.link.clone(), seen.since)
    }

    /// True when it is in another state than before.
    pub(crate) fn set(&self, link: Link, now: Time) -> bool {
        let mut has_changed = false;
        self.seen.send_modify(|seen| {
            has_changed = !seen.link.is_like(&link);
            seen.absent_since = match link {
                Link::Ready(_) => None,
                _ => seen.absent_since.or_else(|| Some(Instant::now())),
            };
            if has_changed {
                seen.since = now;
            }
            seen.link = link;
        });
        has_changed
    }

    /// For how long its answers have not counted.
    pub(crate) fn absence(&self) -> Duration {
        self.seen.borrow().absent_since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// The connection, when its answers count. It may be over: then nothing sent on it is answered.
    pub(crate) fn line(&self) -> Option<Line> {
        match &self.seen.borrow().link {
            Link::Ready(line) => Some(line.clone()),
            _ => None,
        }
    }

    /// The connection, once its answers count: a node that has just been lost, or that this door has
    /// not reached yet, is waited for as long as its patience is.
    pub(crate) async fn wait(&self) -> Result<Line, Missing> {
        let mut seen = self.seen.subscribe();
        loop {
            let until = {
                let seen = seen.borrow_and_update();
                match (&seen.link, seen.absent_since) {
                    (Link::Ready(line), _) if !line.is_over() => return Ok(line.clone()),
                    // Its end is about to be noticed.
                    (_, None) => Instant::now() + self.patience,
                    (_, Some(since)) => since + self.patience,
                }
            };
            if !matches!(timeout_at(until, seen.changed()).await, Ok(Ok(()))) {
                return Err(Missing::NotReady(self.link().why()));
            }
        }
    }

    /// One step through its entities. All steps of a walk are on one connection: a cursor means nothing
    /// to a node that has started anew.
    pub(crate) async fn step(line: &Line, question: &Cmd) -> Result<Step, Missing> {
        let answer = line.ask(question).await;
        let answer = answer.and_then(Value::extract_error).map_err(|error| {
            // Any other refusal may pass.
            if error.code() == Some("ERR") {
                Missing::NoIndex(error.detail().unwrap_or_default().to_owned())
            } else {
                Missing::Failed(error)
            }
        })?;
        Step::of_answer(answer).ok_or_else(|| Missing::Failed(not_a_node()))
    }
}

impl Link {
    /// The same state, whatever the connection.
    fn is_like(&self, other: &Link) -> bool {
        match (self, other) {
            (Link::Away(_), Link::Away(_)) | (Link::Ready(_), Link::Ready(_)) => true,
            (Link::NotReady(one), Link::NotReady(other)) => one.lack == other.lack,
            _ => false,
        }
    }

    /// Why its answers do not count, for people.
    fn why(&self) -> String {
        match self {
            Link::Away(why) => format!("away ({why})"),
            Link::NotReady(lacking) => format!("not ready ({})", lacking.lack.text()),
            Link::Ready(_) => "its connection has just ended".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_away_since_it_went_whatever_is_tried_meanwhile() {
        let node = Node::new("a:1".to_owned(), Duration::ZERO);
        let (_, begin) = node.link_since();
        let is_news = node.set(Link::Away("it refuses".to_owned()), begin.plus_ms(5));
        let (link, since) = node.link_since();
        assert!(matches!(link, Link::Away(why) if why == "it refuses"));
        assert!(!is_news && since == begin);
    }
}
