//! What gateways and doors speak: a protocol of charging, as a client has it.

use super::door::DoorKind;
use anyhow::Result;
use scurry_diameter_sim::load::{Answer, Words};
use scurry_model::Random;
use std::net::TcpStream;
use std::{io, mem};

/// Result-Code of a request that was not carried out, or of which it is not known, in every protocol.
pub(super) const BUSY: u32 = 3004;

/// A protocol of charging, with what the client with this number remembers of it.
pub(super) trait Protocol: Send + Sized {
    /// How its doors are started.
    const DOOR: DoorKind;

    type Message: Send;
    type Connection: Connection<Message = Self::Message> + Send;

    /// Makes the protocol of the client with this number.
    fn new(number: usize, random: Random) -> Result<Self>;

    /// Returns the name of the client.
    fn host(&self) -> &str;

    /// Begins a connection.
    fn begin(&mut self, stream: TcpStream, now_ms: u64) -> io::Result<Self::Connection>;

    /// Returns the message with these words, the request with this number. Changes words that it cannot say.
    fn message(&mut self, request: u32, words: &mut Words) -> Self::Message;

    /// Reports whether copies of a message may have been served as two requests, by the rules of the protocol.
    fn may_be_two(message: &Self::Message) -> bool;

    /// Notes the first answer to a request.
    fn answered(&mut self, words: &Words, answered: &Answered);

    /// Waits for input, at most some milliseconds.
    fn wait<'c>(&self, connections: impl Iterator<Item = &'c Self::Connection>) -> Result<()>
    where
        Self::Connection: 'c;
}

/// A connection to a door.
pub(super) trait Connection {
    type Message;

    /// Reports whether requests are sent here.
    fn is_usable(&self) -> bool;

    /// Reads and writes what can be. An error is the end of the connection.
    fn work(&mut self, now_ms: u64, told: &mut Vec<Told>) -> io::Result<()>;

    /// Sends a copy of a message. Returns false if it is not taken.
    fn send(&mut self, copy: Copy, message: &mut Self::Message, now_ms: u64) -> bool;

    /// Ends the connection.
    fn end(self) -> Ended;
}

/// How a copy is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    /// Number of the copy, by which it is answered.
    pub(super) number: u64,
    /// It may have been sent before.
    pub(super) is_marked: bool,
    /// No other copy is under way, or will be.
    pub(super) is_alone: bool,
}

/// What is left of a connection.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Copies that get no answer.
    pub(super) unanswered: Vec<u64>,
    /// How many requests were under way when the client cut it. None if it did not.
    pub(super) cut_off: Option<u64>,
}

/// What a connection tells.
#[derive(Debug)]
pub(super) enum Told {
    Answer(u64, Answered),
    /// A copy gets no answer.
    Unanswered(u64),
    /// The other side does not react, or does again.
    Suspect(bool),
}

/// An answer, with its Result-Code in the terms of Diameter.
#[derive(Clone, Debug, Default)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    /// The result in the terms of the protocol.
    pub(super) label: String,
    /// Resource that was created.
    pub(super) place: Option<String>,
}

impl Answered {
    /// Takes the answer.
    pub(super) fn take(&mut self) -> Answer {
        mem::take(&mut self.answer)
    }
}
