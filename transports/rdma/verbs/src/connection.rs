//! One connection: implements the protocol's queue with a queue pair.

use crate::completions::CompletionQueue;
use crate::counters::ConnectionCounters;
use crate::domain::Domain;
use crate::id::Id;
use crate::link::Link;
use crate::memory::{Block, Staging, Window};
use crate::os_errors::numbered;
use crate::postings::{Bytes, Postings};
use crate::registration::RegistrationAccess;
use scurry_rdma_proto::fabric::{CONTROL_LEN, Queue, SendFlags, Staging as _, Target};
use scurry_rdma_sys::inline::{ibv_post_recv, ibv_post_send};
use scurry_rdma_sys::verbs::{ibv_qp_cap, ibv_recv_wr, ibv_send_wr, ibv_sge};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

/// Sizes of a connection's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Receive entries: messages and immediates that the peer may have sent and that were not taken yet.
    pub receive_entries: u32,
    /// Work requests that may be in flight.
    pub send_entries: u32,
    /// Requested length of the longest inline request, bytes; the device may allow less.
    pub inline_max: u32,
}

impl Default for Settings {
    /// Returns the settings that an endpoint with default settings needs.
    fn default() -> Settings {
        Settings { receive_entries: 256, send_entries: 128, inline_max: 220 }
    }
}

impl Settings {
    /// Returns how many completions may be pending at a time.
    pub(crate) fn completions(&self) -> u32 {
        self.receive_entries.saturating_add(self.send_entries)
    }
}

/// One reliable connection. Dropping it tells the peer that the connection has ended.
#[derive(Debug)]
pub struct Connection {
    // Fields are dropped in this order: the queue pair goes before all other objects of the device.
    id: Id,
    link: Arc<Link>,
    /// Memory for messages in flight, used if the device's inline requests are shorter than a message.
    messages: Option<Messages>,
    domain: Arc<Domain>,
    room: ibv_qp_cap,
    postings: Postings,
    /// Why the queued requests cannot be submitted.
    fault: Option<&'static str>,
    /// Receive entries posted before the protocol asked for them.
    ahead: usize,
    entries: Vec<(ibv_recv_wr, ibv_sge)>,
}

// SAFETY: the pointers in the postings and the entries are created and used within one call; everything else
// may move between threads.
unsafe impl Send for Connection {}

/// A ring of buffers for messages. A slot is reused only after as many messages as the queue can hold.
#[derive(Debug)]
struct Messages {
    block: Block,
    next: u32,
}

/// Objects that a connection is made of.
pub(crate) struct ConnectionParts<'a> {
    pub(crate) id: Id,
    pub(crate) domain: Arc<Domain>,
    pub(crate) completions: &'a Arc<CompletionQueue>,
    pub(crate) departed: &'a Sender<u32>,
}

impl Connection {
    /// Creates the queue pair and posts all its receive entries, so that a fast peer finds them.
    pub(crate) fn new(parts: ConnectionParts<'_>, settings: &Settings) -> io::Result<Connection> {
        let ConnectionParts { mut id, domain, completions, departed } = parts;
        let room = make_queue(&mut id, &domain, completions, settings)?;
        // SAFETY: the id has had a queue pair since the line above.
        let number = unsafe { (*id.queue()).qp_num };
        let link = Link::new(number, &domain, settings.receive_entries, departed.clone())?;
        let messages = if room.max_inline_data < CONTROL_LEN as u32 {
            let len = room.max_send_wr as usize * CONTROL_LEN;
            Some(Messages {
                block: Block::new(&domain, len, RegistrationAccess::ReadOnly)?,
                next: 0,
            })
        } else {
            None
        };
        let mut connection = Connection {
            id,
            link: Arc::new(link),
            messages,
            domain,
            room,
            postings: Postings::default(),
            fault: None,
            ahead: 0,
            entries: Vec::new(),
        };
        let entries = settings.receive_entries as usize;
        connection.post(entries)?;
        connection.ahead = entries;
        Ok(connection)
    }

    /// Returns the number that identifies the connection in the hub's notices: that of its queue pair.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.link.number
    }

    /// Returns the peer's address.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.id.peer()
    }

    /// Returns how many bytes are pinned for the connection.
    #[must_use]
    pub fn pinned(&self) -> u64 {
        self.domain.pinned.load(Ordering::Relaxed)
    }

    /// Returns how many work requests may be in flight.
    #[must_use]
    pub fn send_entries(&self) -> u32 {
        self.room.max_send_wr
    }

    /// Accepts the connection request. [`crate::Notice::Established`] follows, or
    /// [`scurry_rdma_proto::fabric::Event::Broken`].
    ///
    /// # Errors
    /// When the peer is gone, or the device refuses.
    pub fn accept(&mut self) -> io::Result<()> {
        self.id.accept()
    }

    /// Tells the peer that the connection has ended. Data in flight is lost.
    ///
    /// # Errors
    /// When the connection was never established, or has already ended.
    pub fn disconnect(&mut self) -> io::Result<()> {
        self.id.disconnect()
    }

    pub(crate) fn id(&self) -> &Id {
        &self.id
    }

    pub(crate) fn id_mut(&mut self) -> &mut Id {
        &mut self.id
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    fn post(&mut self, count: usize) -> io::Result<()> {
        self.entries.clear();
        for slot in self.link.reserve(count)? {
            let (addr, lkey) = self.link.slot(slot);
            let (sg_list, next) = (ptr::null_mut(), ptr::null_mut());
            let entry = ibv_recv_wr { wr_id: u64::from(slot), next, sg_list, num_sge: 1 };
            self.entries.push((entry, ibv_sge { addr, length: CONTROL_LEN as u32, lkey }));
        }
        let (first, count) = (self.entries.as_mut_ptr(), self.entries.len());
        if count == 0 {
            return Ok(());
        }
        for at in 0..count {
            // SAFETY: the vector has `count` elements, which do not move before the call below returns.
            unsafe {
                (*first.add(at)).0.sg_list = &raw mut (*first.add(at)).1;
                if at + 1 < count {
                    (*first.add(at)).0.next = &raw mut (*first.add(at + 1)).0;
                }
            }
        }
        ConnectionCounters::add(&self.domain.tally.receive_doorbells, 1);
        let mut bad = ptr::null_mut();
        // SAFETY: the queue pair is alive, and the list was just built; the block that it points to outlives
        // the queue pair.
        match unsafe { ibv_post_recv(self.id.queue(), &raw mut (*first).0, &raw mut bad) } {
            0 => Ok(()),
            number => Err(numbered("cannot post receive entries", number)),
        }
    }

    /// Returns the registered bytes of a write, or why they cannot be sent.
    fn part(&self, from: &Staging, part: &Range<usize>) -> Result<ibv_sge, &'static str> {
        if !from.is_registered() {
            return Err("what is to be sent has moved away from where it was registered");
        }
        let bytes = from.bytes().get(part.clone()).ok_or("what is to be sent is not there")?;
        let length = u32::try_from(bytes.len()).map_err(|_| "more is to be sent than fits")?;
        Ok(ibv_sge { addr: bytes.as_ptr() as u64, length, lkey: from.key() })
    }
}

impl Queue for Connection {
    type Window = Window;
    type Staging = Staging;

    fn window(&mut self, len: usize) -> io::Result<Window> {
        Window::new(&self.domain, len)
    }

    fn staging(&mut self, vector: Vec<u8>) -> io::Result<Staging> {
        Staging::new(&self.domain, vector)
    }

    fn unstage(&mut self, staging: Staging) -> Vec<u8> {
        staging.into_vector()
    }

    fn inline_max(&self) -> usize {
        self.room.max_inline_data as usize
    }

    fn post_receives(&mut self, count: usize) -> io::Result<()> {
        let had = count.min(self.ahead);
        self.ahead -= had;
        self.post(count - had)
    }

    fn write(
        &mut self,
        number: u64,
        from: &Staging,
        part: Range<usize>,
        to: Target,
        immediate: Option<u32>,
        flags: SendFlags,
    ) {
        let bytes = if flags.inline {
            match from.bytes().get(part) {
                Some(bytes) if bytes.len() <= self.inline_max() => Bytes::Copied(bytes),
                Some(_) => return self.fault = Some("more is to be sent inline than fits"),
                None => return self.fault = Some("what is to be sent is not there"),
            }
        } else {
            match self.part(from, &part) {
                Ok(part) => Bytes::Registered(part),
                Err(fault) => return self.fault = Some(fault),
            }
        };
        self.postings.write(number, bytes, to, immediate, flags);
    }

    fn send(&mut self, number: u64, message: &[u8; CONTROL_LEN], signalled: bool) {
        let bytes = match &mut self.messages {
            None => Bytes::Copied(message),
            Some(messages) => {
                let at = messages.next as usize * CONTROL_LEN;
                messages.next = (messages.next + 1) % self.room.max_send_wr;
                messages.block.write(at, message);
                let (addr, lkey) =
                    (messages.block.address() + at as u64, messages.block.local_key());
                Bytes::Registered(ibv_sge { addr, length: CONTROL_LEN as u32, lkey })
            }
        };
        self.postings.send(number, bytes, signalled);
    }

    fn ring(&mut self) -> io::Result<()> {
        if let Some(fault) = self.fault {
            self.postings.clear();
            return Err(io::Error::new(io::ErrorKind::InvalidInput, fault));
        }
        if self.postings.is_empty() {
            return Ok(());
        }
        ConnectionCounters::add(&self.domain.tally.doorbells, 1);
        ConnectionCounters::add(&self.domain.tally.requests, self.postings.len() as u64);
        let mut bad: *mut ibv_send_wr = ptr::null_mut();
        // SAFETY: the queue pair is alive, and the list was just built. The call reads inline bytes;
        // registered bytes stay valid by the contract of the trait, or the device refuses them.
        let status = unsafe { ibv_post_send(self.id.queue(), self.postings.chain(), &raw mut bad) };
        self.postings.clear();
        if status == 0 { Ok(()) } else { Err(numbered("cannot post work requests", status)) }
    }
}

/// Creates the queue pair with the longest inline requests that the device accepts. Some devices refuse long
/// ones without saying what they allow, so the length is halved until one is accepted.
fn make_queue(
    id: &mut Id,
    domain: &Arc<Domain>,
    completions: &Arc<CompletionQueue>,
    settings: &Settings,
) -> io::Result<ibv_qp_cap> {
    let mut inline = settings.inline_max;
    loop {
        let room = ibv_qp_cap {
            max_send_wr: settings.send_entries,
            max_recv_wr: settings.receive_entries,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: inline,
        };
        match id.make_queue(domain, completions, room) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput && inline > 0 => inline /= 2,
            made => return made,
        }
    }
}
