//! A connection that commands are sent on. What a server sends unasked, as it does in RESP3 and to who
//! watches, is told apart from the replies: one that is taken for a reply moves all that follow.

use crate::server_address::{Stream, read, send};
use scurry_cluster_client::redis::{Parser, PushKind, Value};
use std::io;

pub(super) struct Dialogue {
    stream: Box<dyn Stream>,
    /// Reader that keeps what has come behind a reply.
    parser: Parser,
    has_answered: bool,
}

impl Dialogue {
    pub(super) fn new(stream: Box<dyn Stream>) -> Dialogue {
        Dialogue { stream, parser: Parser::new(), has_answered: false }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.stream.has_ended()
    }

    /// Whether anything has come on this connection: what answers speaks RESP.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// Sends a command and waits for its reply; `unasked` gets what comes before it.
    pub(super) fn ask(
        &mut self,
        words: &[&[u8]],
        mut unasked: impl FnMut(&Value),
    ) -> io::Result<Value> {
        send(&mut *self.stream, words.iter().copied())?;
        let mut left = replies(words);
        loop {
            let value = self.next(|| false)?;
            let is_reply = match &value {
                Value::Push { kind, .. } => is_of_subscriptions(words) && confirms(kind),
                _ => true,
            };
            // An error stands for all of them.
            left -= usize::from(is_reply);
            if is_reply && (left == 0 || matches!(value, Value::ServerError(_))) {
                return Ok(value);
            }
            unasked(&value);
        }
    }

    /// The next value, whatever it is. A signal ends the wait for it where it is over then.
    pub(super) fn next(&mut self, is_over: impl Fn() -> bool) -> io::Result<Value> {
        let value = read(&mut self.parser, &mut *self.stream, is_over)?;
        self.has_answered = true;
        Ok(value)
    }
}

/// Whether values come from now on without being asked for.
pub(super) fn begins_to_watch(words: &[&[u8]], reply: &Value) -> bool {
    match &*first(words) {
        b"MONITOR" => *reply == Value::Okay,
        b"SUBSCRIBE" | b"PSUBSCRIBE" => matches!(reply, Value::Array(_) | Value::Push { .. }),
        _ => false,
    }
}

/// Replies to a command: one, but one for each name of a subscription.
fn replies(words: &[&[u8]]) -> usize {
    if is_of_subscriptions(words) { words.len().saturating_sub(1).max(1) } else { 1 }
}

fn is_of_subscriptions(words: &[&[u8]]) -> bool {
    matches!(&*first(words), b"SUBSCRIBE" | b"PSUBSCRIBE" | b"UNSUBSCRIBE" | b"PUNSUBSCRIBE")
}

fn confirms(kind: &PushKind) -> bool {
    use PushKind::{PSubscribe, PUnsubscribe, Subscribe, Unsubscribe};
    matches!(kind, Subscribe | PSubscribe | Unsubscribe | PUnsubscribe)
}

pub(super) fn first(words: &[&[u8]]) -> Vec<u8> {
    words.first().map(|word| word.to_ascii_uppercase()).unwrap_or_default()
}
