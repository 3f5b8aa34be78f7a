//! The connection of a shell: made ready before the first command, and made anew when the server was
//! away. A command is never sent twice: what became of it is the user's to find out. Nor is one sent on a
//! new connection that was typed for what held on the old one: outside of its MULTI it would be done.

use super::Cli;
use super::dialogue::{Dialogue, first};
use anyhow::Result;
use scurry_cluster_client::redis::Value;

pub(super) struct Connection<'a> {
    cli: &'a Cli,
    /// None while the server is away.
    dialogue: Option<Dialogue>,
    held: Held,
}

/// End of a command, as far as it is known.
pub(super) enum Outcome {
    Reply(Value),
    /// Nothing was sent: there is no server.
    NotSent(anyhow::Error),
    /// Nothing was sent: the connection has ended, and with it what was set on it.
    Gone,
    /// All or a part of it was sent.
    Unknown(anyhow::Error),
}

/// Settings of a user that hold on one connection alone.
#[derive(Default)]
struct Held {
    transaction: bool,
    others: bool,
}

impl<'a> Connection<'a> {
    pub(super) fn open(cli: &'a Cli) -> Result<Connection<'a>> {
        Ok(Connection { cli, dialogue: Some(cli.ready()?), held: Held::default() })
    }

    pub(super) fn is_open(&self) -> bool {
        self.dialogue.is_some()
    }

    /// The connection, while there is one.
    pub(super) fn dialogue(&mut self) -> Option<&mut Dialogue> {
        self.dialogue.as_mut()
    }

    /// Sends a command, on a new connection where the old one has ended; `anew` is called when it has,
    /// and `unasked` with what comes before the reply.
    pub(super) fn ask(
        &mut self,
        words: &[&[u8]],
        anew: impl FnOnce(),
        unasked: impl FnMut(&Value),
    ) -> Outcome {
        let open = self.dialogue.take().filter(|dialogue| !dialogue.has_ended());
        if open.is_none() && self.held.any() {
            self.held = Held::default();
            return Outcome::Gone;
        }
        let mut dialogue = match open {
            Some(dialogue) => dialogue,
            None => match self.cli.ready() {
                Ok(dialogue) => {
                    anew();
                    dialogue
                }
                Err(error) => return Outcome::NotSent(error),
            },
        };
        match dialogue.ask(words, unasked) {
            Ok(reply) => {
                self.dialogue = Some(dialogue);
                self.held.note(words, !matches!(reply, Value::ServerError(_)));
                Outcome::Reply(reply)
            }
            // What still comes would be taken for the reply to the next command: it is let go.
            Err(error) => {
                self.held.note(words, true);
                Outcome::Unknown(anyhow::Error::new(error))
            }
        }
    }

    /// Begins anew; whether something was set that is gone now.
    pub(super) fn renew(&mut self) -> bool {
        self.dialogue = self.cli.ready().ok();
        std::mem::take(&mut self.held).any()
    }
}

impl Held {
    fn any(&self) -> bool {
        self.transaction || self.others
    }

    /// Takes account of a command, and of whether it may have been done.
    fn note(&mut self, words: &[&[u8]], is_done: bool) {
        let name = first(words);
        let sub = first(words.get(1..).unwrap_or_default());
        match (&*name, &*sub) {
            // With an error a transaction ends, too.
            (b"EXEC" | b"DISCARD", _) => self.transaction = false,
            _ if !is_done => {}
            (b"RESET", _) => *self = Held::default(),
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
        let held = |lines: &[&str]| {
            let mut held = Held::default();
            for line in lines {
                let (line, is_done) =
                    line.strip_suffix('!').map_or((*line, true), |line| (line, false));
                held.note(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>(), is_done);
            }
            held.any()
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
        assert!(set.iter().all(|lines| held(lines)));
        let not: [&[&str]; 6] = [
            &["GET a", "HELLO", "SELECT 0", "CLIENT ID", "CLIENT"],
            &["MULTI", "EXEC"],
            &["MULTI", "EXEC!"],
            &["AUTH a!"],
            &["AUTH a", "RESET"],
            &["WATCH a", "DISCARD"],
        ];
        assert!(!not.iter().any(|lines| held(lines)));
    }
}
