//! Work requests that wait for the doorbell, and the chain that they become.

use scurry_rdma_proto::fabric::{Manner, Target};
use scurry_rdma_sys::verbs::{
    IBV_SEND_INLINE, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
    ibv_send_wr, ibv_sge,
};

/// The bytes of a work request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bytes<'a> {
    /// Copied here and now, and sent inline.
    Copied(&'a [u8]),
    /// Read by the device, later.
    Registered(ibv_sge),
}

/// Requests that were queued since the last doorbell.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    requests: Vec<ibv_send_wr>,
    /// One of each request.
    parts: Vec<ibv_sge>,
    /// Bytes of those that are inline.
    copies: Vec<u8>,
}

impl Postings {
    /// Nothing is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// How many are queued.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Queues a write, with an immediate in host order or without one.
    pub(crate) fn write(
        &mut self,
        number: u64,
        bytes: Bytes<'_>,
        to: Target,
        immediate: Option<u32>,
        manner: Manner,
    ) {
        let opcode = match immediate {
            Some(_) => IBV_WR_RDMA_WRITE_WITH_IMM,
            None => IBV_WR_RDMA_WRITE,
        };
        let request = self.push(number, opcode, manner.signalled);
        request.imm_data = immediate.unwrap_or(0).to_be();
        (request.remote_addr, request.rkey) = (to.address, to.key);
        self.carry(bytes);
    }

    /// Queues a message.
    pub(crate) fn send(&mut self, number: u64, bytes: Bytes<'_>, signalled: bool) {
        self.push(number, IBV_WR_SEND, signalled);
        self.carry(bytes);
    }

    fn push(&mut self, number: u64, opcode: u32, signalled: bool) -> &mut ibv_send_wr {
        let mut request = ibv_send_wr::zeroed();
        (request.wr_id, request.opcode) = (number, opcode);
        request.send_flags = if signalled { IBV_SEND_SIGNALED } else { 0 };
        self.requests.push(request);
        self.requests.last_mut().expect("it was just pushed")
    }

    /// Puts bytes into the last request.
    fn carry(&mut self, bytes: Bytes<'_>) {
        let request = self.requests.last_mut().expect("a request was queued");
        match bytes {
            Bytes::Copied(copied) => {
                request.send_flags |= IBV_SEND_INLINE;
                // The copies may still move: where they lie is known when the chain is made.
                let length = u32::try_from(copied.len()).expect("inline bytes are few");
                self.parts.push(ibv_sge { addr: self.copies.len() as u64, length, lkey: 0 });
                self.copies.extend_from_slice(copied);
            }
            Bytes::Registered(part) => self.parts.push(part),
        }
    }

    /// The first of the queued requests, each with a pointer to the next. They are valid as long as the
    /// postings is not touched. Call it once, then [`Postings::clear`].
    pub(crate) fn chain(&mut self) -> *mut ibv_send_wr {
        let copies = self.copies.as_ptr() as u64;
        let (requests, parts) = (self.requests.as_mut_ptr(), self.parts.as_mut_ptr());
        let count = self.requests.len();
        for at in 0..count {
            // SAFETY: both vectors have so many elements.
            let (request, part) = unsafe { (&mut *requests.add(at), &mut *parts.add(at)) };
            if request.send_flags & IBV_SEND_INLINE != 0 {
                part.addr += copies;
            }
            // A write of nothing has an immediate at most.
            request.num_sge = i32::from(part.length > 0);
            request.sg_list = part;
            request.next = if at + 1 < count {
                // SAFETY: as above.
                unsafe { requests.add(at + 1) }
            } else {
                std::ptr::null_mut()
            };
        }
        requests
    }

    /// Forgets them, and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.parts.clear();
        self.copies.clear();
    }
}
