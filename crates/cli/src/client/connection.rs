//! The connection of a shell: made ready before the first command, and made anew when the server was
//! away. A command is never sent twice: what became of it is the user's to find out.

use super::Cli;
use crate::server_address::{Stream, ask};
use anyhow::Result;
use scurry_cluster_client::redis::Value;

pub(super) struct Connection<'a> {
    cli: &'a Cli,
    /// None while the server is away.
    stream: Option<Box<dyn Stream>>,
}

/// End of a command, as far as it is known.
pub(super) enum Outcome {
    Reply(Value),
    /// Nothing was sent: there is no server.
    NotSent(anyhow::Error),
    /// All or a part of it was sent.
    Unknown(anyhow::Error),
}

impl<'a> Connection<'a> {
    pub(super) fn open(cli: &'a Cli) -> Result<Connection<'a>> {
        Ok(Connection { cli, stream: Some(cli.ready()?) })
    }

    pub(super) fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// Sends a command, on a new connection where the old one has ended; `anew` is called when it has.
    pub(super) fn ask<'w>(
        &mut self,
        words: impl IntoIterator<Item = &'w [u8]>,
        anew: impl FnOnce(),
    ) -> Outcome {
        let mut stream = match self.stream.take() {
            Some(stream) if !stream.has_ended() => stream,
            _ => match self.cli.ready() {
                Ok(stream) => {
                    anew();
                    stream
                }
                Err(error) => return Outcome::NotSent(error),
            },
        };
        match ask(&mut *stream, words) {
            Ok(reply) => {
                self.stream = Some(stream);
                Outcome::Reply(reply)
            }
            // What still comes would be taken for the reply to the next command: it is let go.
            Err(error) => Outcome::Unknown(anyhow::Error::new(error)),
        }
    }
}
