//! Requests and their answers on the connection of a client, by the peer machine.

use super::wire::{Wire, is_late, now, seconds};
use anyhow::{Result, anyhow, bail};
use scurry_diameter::peer::{Admission, Event, Peer, PeerSettings, Start};
use scurry_diameter::{Frame, frame};
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes of an answer in another protocol that are shown.
const SHOWN_LEN_MAX: usize = 40;

/// What has ended a step, with the message that has caused it.
pub(crate) struct Outcome {
    pub(crate) event: Event,
    pub(crate) message: Vec<u8>,
    pub(crate) took: Duration,
}

/// A connection on which one request waits for its answer at a time.
pub(crate) struct Dialog {
    wire: Wire,
    peer: Peer,
    input: Vec<u8>,
    output: Vec<u8>,
    patience: Duration,
    begun: Instant,
}

impl Dialog {
    /// Begins, with the request for capabilities to be sent.
    pub(crate) fn new(wire: Wire, settings: PeerSettings, patience: Duration) -> Dialog {
        let mut output = Vec::new();
        let wall = wall();
        let start = Start {
            wall_s: wall.as_secs(),
            random: u64::from(wall.subsec_nanos()) << 32 | u64::from(std::process::id()),
            ..Start::default()
        };
        let peer = Peer::connect(settings.into_shared(), &start, &mut output);
        Dialog { wire, peer, input: Vec::new(), output, patience, begun: now() }
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.wire.is_tls()
    }

    /// Returns the peer machine, the time of its clock, and the bytes to be sent, to add a request.
    pub(crate) fn parts(&mut self) -> (&mut Peer, u64, &mut Vec<u8>) {
        let now_ms = self.now_ms();
        (&mut self.peer, now_ms, &mut self.output)
    }

    /// Sends what is to be sent, and waits until capabilities are exchanged, a request of ours has its answer, or the
    /// connection ends.
    ///
    /// # Errors
    /// In words: no answer in time, the server has closed the connection, or what came is not Diameter.
    pub(crate) fn wait(&mut self) -> Result<Outcome> {
        let begun = now();
        self.wire.set_deadline(begun + self.patience);
        loop {
            // An error is no reason to stop: the server may have answered before it closed the connection.
            let _ = self.wire.send(&std::mem::take(&mut self.output));
            if let Some((event, message)) = self.take_messages()? {
                return Ok(Outcome { event, message, took: now().duration_since(begun) });
            }
            self.receive().map_err(|error| self.in_words(&error))?;
        }
    }

    /// Takes whole messages until one of them causes an event that ends the wait.
    fn take_messages(&mut self) -> Result<Option<(Event, Vec<u8>)>> {
        loop {
            let len = match frame(&self.input, self.peer.message_len_max()) {
                Ok(Frame::Message(len)) => len,
                Ok(Frame::Needs(_)) => return Ok(None),
                Err(fault) => {
                    let shown = self.input[..self.input.len().min(SHOWN_LEN_MAX)].escape_ascii();
                    bail!(
                        "it does not speak Diameter ({fault}): its answer begins with \"{shown}\""
                    );
                }
            };
            let message: Vec<u8> = self.input.drain(..len).collect();
            let (now_ms, mut events) = (self.now_ms(), Vec::new());
            let mut admit = |_: &_| Admission::Admit;
            self.peer.on_message(&message, now_ms, &mut admit, &mut self.output, &mut events);
            let is_end = |event: &Event| {
                matches!(event, Event::Up(_) | Event::Answer { .. } | Event::Close(_))
            };
            if let Some(event) = events.into_iter().find(is_end) {
                return Ok(Some((event, message)));
            }
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut part = [0; 4096];
        match self.wire.receive(&mut part)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            len => {
                self.input.extend_from_slice(&part[..len]);
                Ok(())
            }
        }
    }

    fn in_words(&self, error: &io::Error) -> anyhow::Error {
        let answer = if self.input.is_empty() { "an answer" } else { "a whole answer" };
        if is_late(error) {
            return anyhow!("it has not sent {answer} within {}", seconds(self.patience));
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => {
                anyhow!("it has closed the connection without {answer}")
            }
            _ => anyhow!("the connection is lost: {error}"),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(now().duration_since(self.begun).as_millis()).unwrap_or(u64::MAX)
    }
}

/// Returns the time since 1970.
#[expect(clippy::disallowed_methods, reason = "a tool: identifiers that differ from run to run")]
pub(crate) fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
