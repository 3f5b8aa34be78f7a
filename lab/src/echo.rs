//! `scurry-lab echo-server`, hidden: the upper bound that loopback allows. One thread finds the ends of requests, reads
//! only the command's name, and answers with as many bytes as the real store would. Over Diameter it grants what is
//! requested.

mod diameter;
mod framing;
mod sizes;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use anyhow::{Context, Result};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use diameter::EmptyAnswerer;
use framing::next_request;
pub use sizes::ReplySizes;

const LISTENER: u64 = u64::MAX;
const READ_BUFFER: usize = 262_144;

/// Serves until the process is killed: RESP with replies of these sizes, or Diameter.
///
/// # Errors
/// When the port is in use or the kernel refuses.
pub fn serve(address: SocketAddr, sizes: &ReplySizes, is_diameter: bool) -> Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("listening on {address}"))?;
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut server = Echo { epoll, peers: BTreeMap::new(), next: 0, buffer: vec![0; READ_BUFFER] };
    let mut events = [const { std::mem::MaybeUninit::uninit() }; 256];
    loop {
        let ready = match epoll::wait(&server.epoll, &mut events, None) {
            Ok((ready, _)) => ready,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for event in ready {
            let data = event.data;
            match data.u64() {
                LISTENER => server.accept(&listener, is_diameter)?,
                number => server.answer(number, sizes),
            }
        }
    }
}

struct Echo {
    epoll: OwnedFd,
    peers: BTreeMap<u64, Peer>,
    next: u64,
    buffer: Vec<u8>,
}

struct Peer {
    stream: TcpStream,
    unread: Vec<u8>,
    out: Vec<u8>,
    blocked: bool,
    /// None for RESP.
    diameter: Option<Box<EmptyAnswerer>>,
}

impl Echo {
    fn accept(&mut self, listener: &TcpListener, is_diameter: bool) -> Result<()> {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            epoll::add(&self.epoll, &stream, EventData::new_u64(self.next), EventFlags::IN)?;
            let diameter = is_diameter.then(|| Box::new(EmptyAnswerer::new()));
            let (unread, out) = (Vec::new(), Vec::new());
            let peer = Peer { stream, unread, out, blocked: false, diameter };
            self.peers.insert(self.next, peer);
            self.next += 1;
        }
        Ok(())
    }

    fn answer(&mut self, number: u64, sizes: &ReplySizes) {
        let Some(peer) = self.peers.get_mut(&number) else { return };
        // A peer that disconnects or breaks the framing ends only its own connection.
        if peer.turn(&mut self.buffer, sizes, &self.epoll, number).is_none() {
            self.peers.remove(&number);
        }
    }
}

impl Peer {
    fn turn(
        &mut self,
        buffer: &mut Vec<u8>,
        sizes: &ReplySizes,
        set: &OwnedFd,
        number: u64,
    ) -> Option<()> {
        let kept = self.unread.len();
        if buffer.len() < kept + READ_BUFFER {
            buffer.resize(kept + READ_BUFFER, 0);
        }
        buffer[..kept].copy_from_slice(&self.unread);
        let count = match self.stream.read(&mut buffer[kept..]) {
            Ok(0) => return None,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(_) => return None,
        };
        let bytes = &buffer[..kept + count];
        let mut at = 0;
        match &mut self.diameter {
            None => {
                while let Some(request) = next_request(&bytes[at..])? {
                    self.out.extend_from_slice(sizes.reply(request.name));
                    at += request.length;
                }
            }
            Some(diameter) => loop {
                let length = diameter.answer(&bytes[at..], &mut self.out)?;
                at += length;
                if length == 0 {
                    break;
                }
            },
        }
        self.unread.clear();
        self.unread.extend_from_slice(&bytes[at..]);
        self.flush(set, number)
    }

    fn flush(&mut self, set: &OwnedFd, number: u64) -> Option<()> {
        if self.out.is_empty() {
            return Some(());
        }
        match self.stream.write(&self.out) {
            Ok(taken) => drop(self.out.drain(..taken)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        let blocked = !self.out.is_empty();
        if blocked != self.blocked {
            self.blocked = blocked;
            let flags = if blocked { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(set, &self.stream, EventData::new_u64(number), flags).ok()?;
        }
        Some(())
    }
}
