//! The connection of a shell. It is made ready before the first command, and replaced when the server was unreachable.
//!
//! A command is never sent twice: whether it was executed is for the user to find out. A command that relies on the
//! state of the old connection is not sent on a new one: outside of its MULTI, for example, it would be executed at
//! once.

use super::Cli;
use super::dialogue::{Dialogue, first};
use anyhow::Result;
use scurry_cluster_client::redis::Value;

pub(super) struct Connection<'a> {
    cli: &'a Cli,
    /// None while the server is unreachable.
    dialogue: Option<Dialogue>,
    state: ConnectionState,
}

/// Outcome of a command that the client knows.
pub(super) enum Outcome {
    Reply(Value),
    /// Nothing was sent: the server is unreachable.
    NotSent(anyhow::Error),
    /// Nothing was sent: the connection has ended, and the settings made on it are lost.
    Gone,
    /// The command was sent in whole or in part, and no reply was read.
    Unknown(anyhow::Error),
}

/// State that the user has set on the current connection and that ends with it.
#[derive(Default)]
struct ConnectionState {
    transaction: bool,
    others: bool,
}

impl<'a> Connection<'a> {
    pub(super) fn open(cli: &'a Cli) -> Result<Connection<'a>> {
        Ok(Connection { cli, dialogue: Some(cli.ready()?), state: ConnectionState::default() })
    }

    pub(super) fn is_open(&self) -> bool {
        self.dialogue.is_some()
    }

    /// Returns the connection while it is open.
    pub(super) fn dialogue(&mut self) -> Option<&mut Dialogue> {
        self.dialogue.as_mut()
    }

    /// Sends a command, on a new connection if the old one has ended. Calls `on_reconnect` after a reconnect, and
    /// `on_push` with each value that arrives before the reply.
    pub(super) fn ask(
        &mut self,
        words: &[&[u8]],
        on_reconnect: impl FnOnce(),
        on_push: impl FnMut(&Value),
    ) -> Outcome {
        let open = self.dialogue.take().filter(|dialogue| !dialogue.has_ended());
        if open.is_none() && self.state.any() {
            self.state = ConnectionState::default();
            return Outcome::Gone;
        }
        let mut dialogue = match open {
            Some(dialogue) => dialogue,
            None => match self.cli.ready() {
                Ok(dialogue) => {
                    on_reconnect();
                    dialogue
                }
                Err(error) => return Outcome::NotSent(error),
            },
        };
        match dialogue.ask(words, on_push) {
            Ok(reply) => {
                self.dialogue = Some(dialogue);
                self.state.note(words, !matches!(reply, Value::ServerError(_)));
                Outcome::Reply(reply)
            }
            // A late reply on this connection would be taken for the reply to the next command, so the connection is
            // dropped.
            Err(error) => {
                self.state.note(words, true);
                Outcome::Unknown(anyhow::Error::new(error))
            }
        }
    }

    /// Reconnects. Reports whether settings of the old connection were lost.
    pub(super) fn renew(&mut self) -> bool {
        self.dialogue = self.cli.ready().ok();
        std::mem::take(&mut self.state).any()
    }
}

impl ConnectionState {
    fn any(&self) -> bool {
        self.transaction || self.others
    }

    /// Notes a command's effect on the state of the connection. `is_done` says that the command may have been executed.
    fn note(&mut self, words: &[&[u8]], is_done: bool) {
        let name = first(words);
        let sub = first(words.get(1..).unwrap_or_default());
        match (&*name, &*sub) {
            // EXEC and DISCARD end a transaction even if they answer an error.
            (b"EXEC" | b"DISCARD", _) => self.transaction = false,
            _ if !is_done => {}
            (b"RESET", _) => *self = ConnectionState::default(),
            (b"MULTI" | b"WATCH", _) => self.transaction = true,
            (b"AUTH" | b"READONLY" | b"ASKING", _) => self.others = true,
            (b"HELLO", sub) => self.others |= !sub.is_empty(),
            (b"SELECT", sub) => self.others |= sub != b"0",
            (b"CLIENT", b"SETNAME" | b"SETINFO" | b"TRACKING" | b"CACHING" | b"REPLY") => {
                self.others = true;
            }
            (b"CLIENT", b"NO-EVICT" | b"NO-TOUCH") => self.others = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_on_a_connection_alone_is_known() {
        let state = |lines: &[&str]| {
            let mut state = ConnectionState::default();
            for line in lines {
                let (line, is_done) =
                    line.strip_suffix('!').map_or((*line, true), |line| (line, false));
                state.note(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>(), is_done);
            }
            state.any()
        };
        let set: [&[&str]; 7] = [
            &["multi", "INCR a"],
            &["WATCH a"],
            &["AUTH a b"],
            &["HELLO 3"],
            &["select 1"],
            &["client setname a"],
            &["AUTH a", "MULTI", "EXEC"],
        ];
        assert!(set.iter().all(|lines| state(lines)));
        let not: [&[&str]; 6] = [
            &["GET a", "HELLO", "SELECT 0", "CLIENT ID", "CLIENT"],
            &["MULTI", "EXEC"],
            &["MULTI", "EXEC!"],
            &["AUTH a!"],
            &["AUTH a", "RESET"],
            &["WATCH a", "DISCARD"],
        ];
        assert!(!not.iter().any(|lines| state(lines)));
    }
}
