//! Diameter (RFC 8506), by the product's codec and peer machine.

mod connection;

use super::door::DoorKind;
use super::protocol::{Answered, Protocol};
use super::{ANSWER_MS, VALIDITY_S};
use anyhow::Result;
use connection::DiameterConnection;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use scurry_crash::clock;
use scurry_diameter::Origin;
use scurry_diameter::peer::{PeerSettings, Start};
use scurry_diameter_sim::load::Words;
use scurry_model::Random;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

pub(super) struct Diameter {
    host: String,
    settings: Arc<PeerSettings>,
    random: Random,
}

/// Settings of a door.
fn settings(number: usize) -> String {
    format!(
        "[diameter]\norigin_host = 'ocs{number}.ocs.example'\norigin_realm = 'ocs.example'\n\
         watchdog_s = 6\nunknown_peers = 'admit'\n\n[[services]]\ncontext = '32251@'\n\
         measure = 'volume'\nvalidity_s = {VALIDITY_S}\n"
    )
}

impl Protocol for Diameter {
    const DOOR: DoorKind = DoorKind { command: "diameter", options: &[], settings };

    type Message = Vec<u8>;
    type Connection = DiameterConnection;

    fn new(number: usize, random: Random) -> Result<Diameter> {
        let host = format!("pgw{number}.visited.example");
        let origin = Origin::new(&host, "visited.example", None);
        let settings = PeerSettings {
            watchdog_ms: 6_000,
            answer_ms: ANSWER_MS,
            requests_max: 4_096,
            ..PeerSettings::new(origin)
        };
        Ok(Diameter { host, settings: settings.into_shared(), random })
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn begin(&mut self, stream: TcpStream, now_ms: u64) -> io::Result<DiameterConnection> {
        let wall_s = u64::try_from(clock::wall_ms() / 1_000).unwrap_or(0);
        let start = Start { now_ms, jitter_ms: 0, wall_s, random: self.random.next_u64() };
        DiameterConnection::begin(stream, &self.settings, &start)
    }

    fn message(&mut self, request: u32, words: &mut Words) -> Vec<u8> {
        words.write(request)
    }

    fn may_be_two(_: &Vec<u8>) -> bool {
        false
    }

    fn answered(&mut self, _: &Words, _: &Answered) {}

    fn wait<'c>(&self, connections: impl Iterator<Item = &'c DiameterConnection>) -> Result<()> {
        let sockets = connections.map(DiameterConnection::socket);
        let mut sockets: Vec<PollFd<'_>> =
            sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
        poll(&mut sockets, PollTimeout::from(2_u8))?;
        Ok(())
    }
}
