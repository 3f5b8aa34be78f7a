//! A peer that uses the device directly, without the protocol.

use crate::support::LONG;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scurry_rdma::{Budget, Connection, Device, Hub, Notice, Settings};
use scurry_rdma_proto::Message;
use scurry_rdma_proto::fabric::{CONTROL_LEN, Event, Queue as _, SendFlags, Target};
use std::net::SocketAddr;

const QUEUES: Settings = Settings { receive_entries: 64, send_entries: 64, inline_max: 128 };

pub(crate) struct Raw {
    pub(crate) connection: Connection,
    hub: Hub,
    /// Window announced by the server, and its length.
    window: Option<(Target, u32)>,
    sent: u64,
    done: u64,
    broken: bool,
}

impl Raw {
    /// Connects and waits for the server's first window.
    pub(crate) fn connect(to: SocketAddr) -> Raw {
        let device = Device::of(SocketAddr::new(to.ip(), 0)).expect("a device");
        let mut hub = Hub::new(device, 256, Budget::new(1 << 20)).expect("a hub");
        let connection = hub.connect(to, &QUEUES, LONG).expect("it accepts");
        let mut raw = Raw { connection, hub, window: None, sent: 0, done: 0, broken: false };
        while raw.window.is_none() {
            raw.turn();
        }
        raw
    }

    /// Returns the server's window and its length.
    pub(crate) fn window(&self) -> (Target, u32) {
        self.window.expect("it was announced")
    }

    /// Sends a control message.
    pub(crate) fn send(&mut self, message: &[u8; CONTROL_LEN]) {
        while self.sent - self.done >= 32 && !self.broken {
            self.turn();
        }
        self.sent += 1;
        self.connection.send(self.sent, message, true);
        // A broken connection refuses this.
        let _ = self.connection.ring();
    }

    /// Announces memory that does not exist, of this length.
    pub(crate) fn announce(&mut self, length: u32) {
        let memory = scurry_rdma_proto::Memory { address: 1 << 40, length, key: 7 };
        self.send(&Message::RegisterXferMemory(memory).encode());
    }

    /// Writes bytes, and announces `told` bytes as written.
    pub(crate) fn tell(&mut self, target: Target, bytes: &[u8], told: u32) {
        // An empty buffer cannot be registered.
        let vector = [bytes, b"-"].concat();
        let staging = self.connection.staging(vector).expect("registered");
        self.sent += 1;
        let flags = SendFlags { inline: false, signalled: true };
        let part = 0..bytes.len();
        self.connection.write(self.sent, &staging, part, target, Some(told), flags);
        let _ = self.connection.ring();
        while self.done < self.sent && !self.broken {
            self.turn();
        }
        drop(self.connection.unstage(staging));
    }

    /// Waits until the server has closed the connection.
    pub(crate) fn until_closed(&mut self) {
        while !self.broken {
            self.turn();
        }
    }

    fn turn(&mut self) {
        let Raw { hub, window, done, broken, connection, .. } = self;
        let mut used = 0;
        let mut note = |_: u32, notice: Notice<'_>| match notice {
            Notice::Event(Event::Control(bytes)) => {
                used += 1;
                if let Ok(Message::RegisterXferMemory(memory)) = Message::decode(bytes) {
                    let target = Target { address: memory.address, key: memory.key };
                    *window = Some((target, memory.length));
                }
            }
            Notice::Event(Event::Immediate(_)) => used += 1,
            Notice::Event(Event::Sent(number)) => *done = number,
            Notice::Event(Event::Broken) => *broken = true,
            Notice::Established => {}
        };
        if hub.rest(&mut note).expect("it polls") == 0 {
            let fds = [hub.completions_fd(), hub.connections_fd()];
            let mut waiting = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            let timeout = Timespec::try_from(LONG).expect("a time");
            let ready = poll(&mut waiting, Some(&timeout)).expect("it waits");
            assert!(ready > 0, "nothing comes");
            let completions = !waiting[0].revents().is_empty();
            if completions {
                hub.notified().expect("it reads");
            }
            hub.poll_connections(&mut note).expect("it polls");
        }
        if used > 0 && !*broken {
            let _ = connection.post_receives(used);
        }
    }
}
