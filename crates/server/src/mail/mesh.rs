//! Mail between cores: bounded mailboxes, many messages in one packet, and a wake-up only for a core that sleeps.
//! Nothing else passes from core to core while commands run.

use crate::mail::bell::CoreWaker;
use crate::mail::calls::CallQueue;
use crate::mail::message::Message;
use mio::Waker;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Maximum number of packets in one core's mailbox. A sender that finds it full keeps its messages and tries again. The
/// number of messages is bounded by the connections, each of which waits for its answer.
const MAILBOX_PACKETS_MAX: usize = 256;

type Packet = Vec<Message>;

/// The sending side to another core.
struct Peer {
    mailbox: SyncSender<Packet>,
    bell: Arc<CoreWaker>,
    /// Messages since the last delivery.
    outbox: Packet,
}

/// The sending side to a core for threads outside of the mesh.
pub(crate) struct MailboxSender {
    mailbox: SyncSender<Packet>,
    bell: Arc<CoreWaker>,
}

impl MailboxSender {
    /// Sends a core a message; returns it when the core's mailbox is full or the core has ended.
    pub(crate) fn post(&self, message: Message) -> Result<(), Box<Message>> {
        match self.mailbox.try_send(vec![message]) {
            Ok(()) => {
                self.bell.ring();
                Ok(())
            }
            Err(TrySendError::Full(mut packet) | TrySendError::Disconnected(mut packet)) => {
                Err(Box::new(packet.pop().expect("the message is in it")))
            }
        }
    }
}

impl Peer {
    fn letterbox(&self) -> MailboxSender {
        MailboxSender { mailbox: self.mailbox.clone(), bell: self.bell.clone() }
    }
}

/// One core's end of the mesh.
pub(crate) struct Mesh {
    core: u16,
    mailbox: Receiver<Packet>,
    bell: Arc<CoreWaker>,
    /// Calls of doors in this process.
    intake: Arc<CallQueue>,
    /// Peers by core. The core's own entry is for threads outside of the mesh.
    peers: Vec<Peer>,
    /// A packet taken out of the mailbox while falling asleep.
    stash: Option<Packet>,
    /// Emptied packets for reuse.
    spare: Vec<Packet>,
}

/// Maximum number of empty packets that are kept.
const SPARE_MAX: usize = 64;
/// A packet with a larger capacity is not kept, messages.
const SPARE_MESSAGES_MAX: usize = 1024;

impl Mesh {
    /// Creates one end per waker; each waker belongs to its core's poller.
    pub(crate) fn places(wakers: Vec<Arc<Waker>>) -> Vec<Mesh> {
        let bell = |waker| Arc::new(CoreWaker::new(waker));
        let bells: Vec<Arc<CoreWaker>> = wakers.into_iter().map(bell).collect();
        let (senders, receivers): (Vec<_>, Vec<_>) =
            bells.iter().map(|_| sync_channel(MAILBOX_PACKETS_MAX)).unzip();
        let place = |(core, mailbox): (usize, Receiver<Packet>)| Mesh {
            core: u16::try_from(core).unwrap_or_default(),
            mailbox,
            bell: bells[core].clone(),
            intake: Arc::new(CallQueue::new(bells[core].clone())),
            peers: senders
                .iter()
                .zip(&bells)
                .map(|(mailbox, bell)| Peer {
                    mailbox: mailbox.clone(),
                    bell: bell.clone(),
                    outbox: Packet::new(),
                })
                .collect(),
            stash: None,
            spare: Vec::new(),
        };
        receivers.into_iter().enumerate().map(place).collect()
    }

    /// Returns the other cores.
    pub(crate) fn others(&self) -> impl Iterator<Item = u16> + use<> {
        let (core, cores) = (self.core, u16::try_from(self.peers.len()).unwrap_or(u16::MAX));
        (0..cores).filter(move |&other| other != core)
    }

    /// Returns a letterbox to every core, by core.
    pub(crate) fn letterboxes(&self) -> Vec<MailboxSender> {
        self.peers.iter().map(Peer::letterbox).collect()
    }

    /// Returns a letterbox to this core.
    pub(crate) fn own_letterbox(&self) -> MailboxSender {
        self.peers[usize::from(self.core)].letterbox()
    }

    /// Calls of doors that wait for this core.
    pub(crate) fn intake(&self) -> &Arc<CallQueue> {
        &self.intake
    }

    /// Returns the bell that wakes this core.
    pub(crate) fn bell(&self) -> Arc<CoreWaker> {
        self.bell.clone()
    }

    /// Queues a message; [`Mesh::deliver`] sends it.
    pub(crate) fn send(&mut self, core: u16, message: Message) {
        debug_assert_ne!(core, self.core, "nobody writes to itself");
        if let Some(peer) = self.peers.get_mut(usize::from(core)) {
            peer.outbox.push(message);
        }
    }

    /// Delivers the queued messages; false when some mailbox was full and must be tried again.
    pub(crate) fn deliver(&mut self) -> bool {
        let mut all = true;
        for peer in &mut self.peers {
            if peer.outbox.is_empty() {
                continue;
            }
            let packet = std::mem::replace(&mut peer.outbox, self.spare.pop().unwrap_or_default());
            match peer.mailbox.try_send(packet) {
                Ok(()) => peer.bell.ring(),
                // The messages stay in the outbox, in order, and the loop tries again.
                Err(TrySendError::Full(packet)) => {
                    peer.outbox = packet;
                    all = false;
                }
                // That core has ended: the server stops, and no one waits for an answer.
                Err(TrySendError::Disconnected(_)) => {}
            }
        }
        all
    }

    /// Returns the next packet; give it back with [`Mesh::recycle`].
    pub(crate) fn receive(&mut self) -> Option<Packet> {
        self.stash.take().or_else(|| self.mailbox.try_recv().ok())
    }

    /// Keeps an emptied packet for reuse.
    pub(crate) fn recycle(&mut self, packet: Packet) {
        debug_assert!(packet.is_empty());
        if self.spare.len() < SPARE_MAX && packet.capacity() <= SPARE_MESSAGES_MAX {
            self.spare.push(packet);
        }
    }

    /// Makes deliveries ring the bell from now on. False when there is mail: then the core must not sleep.
    pub(crate) fn fall_asleep(&mut self) -> bool {
        self.bell.fall_asleep();
        if self.stash.is_none() {
            self.stash = self.mailbox.try_recv().ok();
        }
        let sleeps = self.stash.is_none() && !self.intake.is_waiting();
        if !sleeps {
            self.wake_up();
        }
        sleeps
    }

    /// Ends the sleep: deliveries need not ring from now on.
    pub(crate) fn wake_up(&self) {
        self.bell.wake_up();
    }
}

/// Creates a waker of this poller for the token.
pub(crate) fn waker(poll: &mio::Poll, token: mio::Token) -> io::Result<Waker> {
    Waker::new(poll.registry(), token)
}
