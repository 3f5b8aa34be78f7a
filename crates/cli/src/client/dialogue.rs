//! A connection that commands are sent on. It keeps values that a server sends unasked (in RESP3, or to a client that
//! watches) apart from replies: if one were taken for a reply, every later reply would be assigned to the wrong
//! command.

use crate::server_address::{Stream, read, send};
use scurry_cluster_client::redis::{Parser, PushKind, Value};
use std::io;

pub(super) struct Dialogue {
    stream: Box<dyn Stream>,
    /// Parser, which keeps the bytes received after a reply.
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

    /// Reports whether any value has arrived on this connection, so that the peer is known to speak RESP.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// Sends a command and waits for its reply. `on_push` gets the values that arrive before it.
    pub(super) fn ask(
        &mut self,
        words: &[&[u8]],
        mut on_push: impl FnMut(&Value),
    ) -> io::Result<Value> {
        send(&mut *self.stream, words.iter().copied())?;
        let mut left = replies(words);
        loop {
            let value = self.next(|| false)?;
            let is_reply = match &value {
                Value::Push { kind, .. } => is_of_subscriptions(words) && confirms(kind),
                _ => true,
            };
            // An error takes the place of all remaining replies.
            left -= usize::from(is_reply);
            if is_reply && (left == 0 || matches!(value, Value::ServerError(_))) {
                return Ok(value);
            }
            on_push(&value);
        }
    }

    /// Returns the next value of any kind. A signal interrupts the wait if `is_over` is true then.
    pub(super) fn next(&mut self, is_over: impl Fn() -> bool) -> io::Result<Value> {
        let value = read(&mut self.parser, &mut *self.stream, is_over)?;
        self.has_answered = true;
        Ok(value)
    }
}

/// Reports whether the server sends values unasked from now on.
pub(super) fn begins_to_watch(words: &[&[u8]], reply: &Value) -> bool {
    match &*first(words) {
        b"MONITOR" => *reply == Value::Okay,
        b"SUBSCRIBE" | b"PSUBSCRIBE" => matches!(reply, Value::Array(_) | Value::Push { .. }),
        _ => false,
    }
}

/// Returns the number of replies to a command: one, or one per name for commands of subscriptions.
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
