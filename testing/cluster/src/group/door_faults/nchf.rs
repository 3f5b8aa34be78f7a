//! Nchf (TS 32.291) over HTTP/2 with prior knowledge, as an SMF speaks it. Half of the sessions are of consumers that count, the
//! others of those that write zeros, as free5GC does.

mod answer;
mod connection;
mod cut_stream;
mod message;

use super::VALIDITY_S;
use super::door::DoorKind;
use super::protocol::{Answered, Protocol};
use anyhow::Result;
use connection::NchfConnection;
use cut_stream::Budget;
use message::{Clock, Message, Resource};
use scurry_diameter_sim::load::{Kind, Quantity, Words};
use scurry_model::Random;
use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long the runtime works before the client looks at its answers.
const TURN: Duration = Duration::from_millis(2);
/// One Create in so many reports use.
const USED_BEFORE: usize = 8;

pub(super) struct Nchf {
    /// It works while the client waits.
    runtime: Runtime,
    name: String,
    clock: Clock,
    /// Open sessions, by the name that the load has for them.
    sessions: BTreeMap<String, Resource>,
    charging_ids: u32,
    random: Random,
}

/// Settings of a door.
fn settings(_: usize) -> String {
    format!("[[services]]\ncontext = '32255@'\nmeasure = 'volume'\nvalidity_s = {VALIDITY_S}\n")
}

impl Protocol for Nchf {
    const DOOR: DoorKind =
        DoorKind { command: "http", options: &["--allow-open-access"], settings };

    type Message = Message;
    type Connection = NchfConnection;

    fn new(number: usize, random: Random) -> Result<Nchf> {
        Ok(Nchf {
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            name: format!("smf-{number}"),
            clock: Clock::default(),
            sessions: BTreeMap::new(),
            charging_ids: 0,
            random,
        })
    }

    fn host(&self) -> &str {
        &self.name
    }

    fn begin(&mut self, stream: TcpStream, _: u64) -> io::Result<NchfConnection> {
        let budget = Budget::draw(&mut self.random);
        self.runtime.block_on(NchfConnection::begin(stream, budget))
    }

    fn message(&mut self, request: u32, words: &mut Words) -> Message {
        // Nchf has neither checks nor refunds of a balance.
        if matches!(words.kind, Kind::Check | Kind::Refund) {
            words.kind = Kind::Debit;
        }
        // Some begin with use that has happened, which the door settles when it has opened the session.
        if words.kind == Kind::Initial && self.random.one_in(USED_BEFORE) {
            words.parts[0].used = Some(Quantity::Octets(self.random.between(1, 700)));
        }
        if matches!(words.kind, Kind::Initial | Kind::Debit | Kind::Settle) {
            self.charging_ids += 1;
            let resource = Resource::new(self.charging_ids);
            self.sessions.insert(words.session.clone(), resource);
        }
        let resource = self.sessions.get(&words.session).cloned().unwrap_or_default();
        if !matches!(words.kind, Kind::Initial | Kind::Update) {
            self.sessions.remove(&words.session);
        }
        Message::new(request, words, resource, self.clock.next_ms())
    }

    fn may_be_two(message: &Message) -> bool {
        message.is_later_create()
    }

    fn answered(&mut self, words: &Words, answered: &Answered) {
        if words.kind == Kind::Initial
            && let Some(resource) = self.sessions.get_mut(&words.session)
        {
            resource.path.clone_from(&answered.place);
        }
    }

    fn wait<'c>(&self, _: impl Iterator<Item = &'c NchfConnection>) -> Result<()> {
        self.runtime.block_on(async { tokio::time::sleep(TURN).await });
        Ok(())
    }
}
