//! A connection of the ring: what it has received, what it sends, what of it is in the kernel.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};
use rustix::net::{SendFlags, send};

use super::Receive;
use super::buffers::{GROUP, LEN_MAX};
use crate::answer::Responder;

/// Both directions, as `shutdown` counts.
const SHUT_BOTH: i32 = 2;
/// `MSG_NOSIGNAL | MSG_WAITALL`: no signal when the peer has gone, and the kernel goes on until
/// all is sent.
const SEND_FLAGS: i32 = 0x4000 | 0x100;

/// How the kernel knows the socket.
pub(super) enum Descriptor {
    Owned(OwnedFd),
    Registered(u32),
}

/// One connection.
pub(super) struct Connection {
    pub(super) descriptor: Descriptor,
    /// A receive is in the kernel.
    pub(super) receiving: bool,
    /// A send of `flying` is in the kernel.
    pub(super) sending: bool,
    /// Nothing more is received or sent.
    pub(super) closing: bool,
    /// The kernel was told to end what it holds.
    pub(super) shut: bool,
    /// Settled at the end of this turn.
    pub(super) dirty: bool,
    /// The beginning of a request whose end has not arrived.
    pending: Vec<u8>,
    /// Replies that were formed while others are on their way.
    staged: Vec<u8>,
    /// Replies on their way.
    flying: Vec<u8>,
    flown: usize,
}

impl Connection {
    pub(super) fn new(descriptor: Descriptor) -> Connection {
        Connection {
            descriptor,
            receiving: false,
            sending: false,
            closing: false,
            shut: false,
            dirty: false,
            pending: Vec::new(),
            staged: Vec::new(),
            flying: Vec::new(),
            flown: 0,
        }
    }

    /// Answers in place; only the beginning of a request is copied.
    pub(super) fn receive(&mut self, bytes: &[u8], responder: &mut Responder) {
        let answered = if self.pending.is_empty() {
            let answered = responder.answer(bytes, &mut self.staged);
            self.pending.extend_from_slice(&bytes[answered.unwrap_or(bytes.len())..]);
            answered
        } else {
            self.pending.extend_from_slice(bytes);
            let answered = responder.answer(&self.pending, &mut self.staged);
            self.pending.drain(..answered.unwrap_or(self.pending.len()));
            answered
        };
        self.closing |= answered.is_err();
    }

    /// Replies can be sent now.
    pub(super) fn has_unsent(&self) -> bool {
        let formed = !self.staged.is_empty() || !self.flying.is_empty();
        formed && !self.sending
    }

    /// The submission for all that is formed; none when one is on its way, or there is nothing.
    pub(super) fn send(&mut self) -> Option<Entry> {
        self.take_off();
        let rest = &self.flying[self.flown..];
        if self.sending || self.closing || rest.is_empty() {
            return None;
        }
        self.sending = true;
        let len = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        Some(match &self.descriptor {
            Descriptor::Owned(fd) => {
                opcode::Send::new(types::Fd(fd.as_raw_fd()), rest.as_ptr(), len)
                    .flags(SEND_FLAGS)
                    .build()
            }
            Descriptor::Registered(number) => {
                opcode::Send::new(types::Fixed(*number), rest.as_ptr(), len)
                    .flags(SEND_FLAGS)
                    .build()
            }
        })
    }

    /// Sends by a system call what the socket takes at once. Returns how many calls that took.
    pub(super) fn send_now(&mut self) -> u64 {
        let Descriptor::Owned(fd) = &self.descriptor else { return 0 };
        if self.sending {
            return 0;
        }
        if self.flying.is_empty() {
            std::mem::swap(&mut self.staged, &mut self.flying);
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match send(fd, &self.flying[self.flown..], flags) {
            Ok(len) => self.flown += len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.closing = true,
        }
        self.land();
        1
    }

    /// A submitted send has ended.
    pub(super) fn sent(&mut self, result: i32) {
        self.sending = false;
        match usize::try_from(result) {
            Ok(len) if len > 0 => self.flown += len,
            _ => self.closing = true,
        }
        self.land();
    }

    fn take_off(&mut self) {
        if !self.sending && self.flying.is_empty() {
            std::mem::swap(&mut self.staged, &mut self.flying);
        }
    }

    fn land(&mut self) {
        if self.flown == self.flying.len() {
            self.flying.clear();
            self.flown = 0;
        }
    }
}

impl Descriptor {
    /// The submission that asks for what arrives.
    pub(super) fn receive(&self, how: Receive) -> Entry {
        // The kinds of descriptor share no trait that can be named outside of their crate.
        match (how, self) {
            (Receive::Multishot, Descriptor::Owned(fd)) => {
                opcode::RecvMulti::new(types::Fd(fd.as_raw_fd()), GROUP).build()
            }
            (Receive::Multishot, Descriptor::Registered(number)) => {
                opcode::RecvMulti::new(types::Fixed(*number), GROUP).build()
            }
            (Receive::Bundled, Descriptor::Owned(fd)) => {
                opcode::RecvMultiBundle::new(types::Fd(fd.as_raw_fd()), GROUP).build()
            }
            (Receive::Bundled, Descriptor::Registered(number)) => {
                opcode::RecvMultiBundle::new(types::Fixed(*number), GROUP).build()
            }
            (Receive::Single, Descriptor::Owned(fd)) => {
                let fd = types::Fd(fd.as_raw_fd());
                opcode::Recv::new(fd, null_mut(), LEN_MAX).buf_group(GROUP).build()
            }
            (Receive::Single, Descriptor::Registered(number)) => {
                let fd = types::Fixed(*number);
                opcode::Recv::new(fd, null_mut(), LEN_MAX).buf_group(GROUP).build()
            }
        }
        .flags(Flags::BUFFER_SELECT)
    }

    /// The submission that ends whatever waits on the socket.
    pub(super) fn shutdown(&self) -> Entry {
        match self {
            Descriptor::Owned(fd) => {
                opcode::Shutdown::new(types::Fd(fd.as_raw_fd()), SHUT_BOTH).build()
            }
            Descriptor::Registered(number) => {
                opcode::Shutdown::new(types::Fixed(*number), SHUT_BOTH).build()
            }
        }
    }
}
