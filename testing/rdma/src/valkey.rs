//! A peer that behaves like valkey-server and libvalkey, according to their sources: one window,
//! announced again when it is full and read; a write with an immediate for each piece; the server
//! answers feature messages, and the client refuses them.

use crate::fabric::Fabric;
use crate::net::SimEvent;
use crate::queue::SimWindow;
use crate::raw::Raw;
use crate::stream::Stream;
use scurry_rdma_proto::fabric::{Target, Window};
use scurry_rdma_proto::{Feature, Memory, Message, Role};

/// Receive entries of both.
pub const ENTRIES: usize = 1024;
/// Default length of both windows, bytes.
pub const WINDOW_LEN: usize = 1024 * 1024;

/// A program over such a peer.
#[derive(Debug)]
pub struct Valkey {
    raw: Raw,
    role: Role,
    window: SimWindow,
    /// Bytes that have arrived in the window; all of them are read at once.
    filled: usize,
    /// The other end's window, and the number of bytes written to it.
    theirs: Option<(Memory, usize)>,
    /// Received bytes that are not a whole request yet.
    heard: Vec<u8>,
    /// Formed bytes that are not written yet.
    unsent: Vec<u8>,
    requests_out: Stream,
    requests_in: Stream,
    /// True when the connection is broken.
    pub broken: bool,
}

impl Valkey {
    /// Creates a program at this end. The connection is established.
    #[must_use]
    pub fn new(
        fabric: &Fabric,
        end: usize,
        role: Role,
        window_len: usize,
        streams: [Stream; 2],
    ) -> Valkey {
        let mut raw = Raw::new(fabric, end, ENTRIES);
        let window = raw.window(window_len);
        raw.announce_window(&window);
        let [requests_out, requests_in] = streams;
        Valkey {
            raw,
            role,
            window,
            filled: 0,
            theirs: None,
            heard: Vec::new(),
            unsent: Vec::new(),
            requests_out,
            requests_in,
            broken: false,
        }
    }

    /// Handles all events, reads, and writes as much as possible. Returns true when anything happened.
    ///
    /// # Panics
    /// When the other end does something that a Valkey peer would not accept, or a byte is wrong.
    pub fn turn(&mut self) -> bool {
        let mut changed = self.raw.flush();
        while let Some(told) = self.raw.next_event() {
            self.listen(&told);
            changed = true;
        }
        changed | self.read() | (!self.broken && self.write())
    }

    /// Reports whether it has sent and received everything.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.requests_out.next().is_none()
            && self.requests_in.next().is_none()
            && self.unsent.is_empty()
    }

    fn listen(&mut self, told: &SimEvent) {
        match told {
            SimEvent::Control(bytes) => {
                match Message::decode(bytes).expect("32 bytes, a known kind") {
                    Message::RegisterXferMemory(memory) => self.theirs = Some((memory, 0)),
                    Message::Keepalive => {}
                    Message::GetServerFeature(feature) if self.role == Role::Server => {
                        let none = Feature { select: feature.select, features: 0 };
                        self.raw.send(&Message::GetServerFeature(none));
                    }
                    Message::SetClientFeature(_) if self.role == Role::Server => {}
                    message => panic!("libvalkey gives up at {message:?}"),
                }
            }
            SimEvent::Immediate(len) => {
                self.window.refresh();
                let from = self.filled;
                self.filled += *len as usize;
                assert!(self.filled <= self.window.bytes().len(), "valkey-server asserts this");
                self.heard.extend_from_slice(&self.window.bytes()[from..self.filled]);
            }
            SimEvent::Sent(_) => {}
            SimEvent::Broken => self.broken = true,
        }
    }

    /// Reads whole requests, and announces the window again when it is full.
    fn read(&mut self) -> bool {
        let mut done = 0;
        while Stream::is_whole(&self.heard[done..]) {
            let next = self.requests_in.next().expect("no more is said than is to be heard");
            assert!(self.heard[done..].starts_with(next), "another request");
            done += next.len();
            self.requests_in.pass();
        }
        self.heard.drain(..done);
        let full = self.filled == self.window.bytes().len() && !self.broken;
        if full {
            self.filled = 0;
            self.raw.announce_window(&self.window);
        }
        done > 0 || full
    }

    /// Writes one request at a time, each piece with its own immediate.
    fn write(&mut self) -> bool {
        let mut wrote = false;
        loop {
            if self.unsent.is_empty() {
                let Some(next) = self.requests_out.next() else { return wrote };
                self.unsent.extend_from_slice(next);
                self.requests_out.pass();
            }
            let Some((memory, written)) = &mut self.theirs else { return wrote };
            let len = self.unsent.len().min(memory.length as usize - *written);
            if len == 0 {
                return wrote;
            }
            let to = Target { address: memory.address + *written as u64, key: memory.key };
            *written += len;
            let piece: Vec<u8> = self.unsent.drain(..len).collect();
            self.raw.write(&piece, to, Some(u32::try_from(len).expect("short")));
            wrote = true;
        }
    }
}
