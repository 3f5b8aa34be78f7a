//! Work requests that wait for the doorbell, and the linked list that they are submitted as.

use scurry_rdma_proto::fabric::{SendFlags, Target};
use scurry_rdma_sys::verbs::{
    IBV_SEND_INLINE, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
    ibv_send_wr, ibv_sge,
};

/// The bytes of a work request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bytes<'a> {
    /// Copied when the request is queued, and sent inline.
    Copied(&'a [u8]),
    /// Read by the device later.
    Registered(ibv_sge),
}

/// Requests queued since the last doorbell.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    requests: Vec<ibv_send_wr>,
    /// One part per request.
    parts: Vec<ibv_sge>,
    /// Bytes of the inline requests.
    copies: Vec<u8>,
}

impl Postings {
    /// Reports whether no request is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Returns the number of queued requests.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Queues a write, with an immediate in host byte order or without one.
    pub(crate) fn write(
        &mut self,
        number: u64,
        bytes: Bytes<'_>,
        to: Target,
        immediate: Option<u32>,
        flags: SendFlags,
    ) {
        let opcode = match immediate {
            Some(_) => IBV_WR_RDMA_WRITE_WITH_IMM,
            None => IBV_WR_RDMA_WRITE,
        };
        let request = self.push(number, opcode, flags.signalled);
        request.imm_data = immediate.unwrap_or(0).to_be();
        (request.remote_addr, request.rkey) = (to.address, to.key);
        self.carry(bytes);
    }

    /// Queues a control message.
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

    /// Adds the bytes of the last request.
    fn carry(&mut self, bytes: Bytes<'_>) {
        let request = self.requests.last_mut().expect("a request was queued");
        match bytes {
            Bytes::Copied(copied) => {
                request.send_flags |= IBV_SEND_INLINE;
                // Store an offset: the copies may still move, and their address is final only when the
                // list is built.
                let length = u32::try_from(copied.len()).expect("inline bytes are few");
                self.parts.push(ibv_sge { addr: self.copies.len() as u64, length, lkey: 0 });
                self.copies.extend_from_slice(copied);
            }
            Bytes::Registered(part) => self.parts.push(part),
        }
    }

    /// Links the queued requests and returns the first. The list is valid until the postings are
    /// changed. Call this once, then [`Postings::clear`].
    pub(crate) fn chain(&mut self) -> *mut ibv_send_wr {
        let copies = self.copies.as_ptr() as u64;
        let (requests, parts) = (self.requests.as_mut_ptr(), self.parts.as_mut_ptr());
        let count = self.requests.len();
        for at in 0..count {
            // SAFETY: both vectors have `count` elements.
            let (request, part) = unsafe { (&mut *requests.add(at), &mut *parts.add(at)) };
            if request.send_flags & IBV_SEND_INLINE != 0 {
                part.addr += copies;
            }
            // An empty write has no part; it carries an immediate at most.
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

    /// Removes all requests and keeps the capacity.
    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.parts.clear();
        self.copies.clear();
    }
}
