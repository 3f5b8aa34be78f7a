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

/// What was queued since the last doorbell.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    requests: Vec<ibv_send_wr>,
    /// One of each request.
    parts: Vec<ibv_sge>,
    /// Bytes of those that are inline.
    copies: Vec<u8>,
}

impl Batch {
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

    /// What the last request carries.
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
    /// batch is not touched. Call it once, then [`Batch::clear`].
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a device would read of a request: number, opcode, flags, immediate in host order, where to,
    /// and its bytes.
    #[derive(Debug, PartialEq)]
    struct Read {
        number: u64,
        opcode: u32,
        flags: u32,
        immediate: u32,
        to: (u64, u32),
        bytes: Vec<u8>,
        key: u32,
    }

    fn follow(batch: &mut Batch) -> Vec<Read> {
        let mut read = Vec::new();
        let mut next = batch.chain();
        while !next.is_null() {
            // SAFETY: the chain was just made, and its parts point at memory of this test.
            let (request, part) = unsafe { (*next, *(*next).sg_list) };
            let bytes = match request.num_sge {
                0 => Vec::new(),
                // SAFETY: as above.
                _ => unsafe {
                    std::slice::from_raw_parts(part.addr as *const u8, part.length as usize)
                }
                .to_vec(),
            };
            read.push(Read {
                number: request.wr_id,
                opcode: request.opcode,
                flags: request.send_flags,
                immediate: u32::from_be(request.imm_data),
                to: (request.remote_addr, request.rkey),
                bytes,
                key: part.lkey,
            });
            next = request.next;
        }
        read
    }

    const TO: Target = Target { address: 0x1000, key: 7 };

    #[test]
    fn requests_leave_in_their_order_with_their_bytes() {
        let registered = b"staged".to_vec();
        let part = ibv_sge { addr: registered.as_ptr() as u64, length: 6, lkey: 9 };
        let mut batch = Batch::default();
        let signalled = Manner { inline: false, signalled: true };
        batch.write(1, Bytes::Registered(part), TO, None, Manner::default());
        batch.write(2, Bytes::Copied(b"in"), TO, Some(0x0102_0304), Manner::default());
        batch.send(3, Bytes::Copied(&[5; 32]), true);
        batch.write(4, Bytes::Copied(b""), TO, Some(0), signalled);
        assert_eq!((batch.len(), batch.is_empty()), (4, false));

        let read = follow(&mut batch);
        let expected = |number, opcode, flags, immediate, to, bytes: &[u8], key| Read {
            number,
            opcode,
            flags,
            immediate,
            to,
            bytes: bytes.to_vec(),
            key,
        };
        let inline = IBV_SEND_INLINE;
        let to = (0x1000, 7);
        let with_immediate = IBV_WR_RDMA_WRITE_WITH_IMM;
        assert_eq!(
            read,
            [
                expected(1, IBV_WR_RDMA_WRITE, 0, 0, to, b"staged", 9),
                expected(2, with_immediate, inline, 0x0102_0304, to, b"in", 0),
                expected(3, IBV_WR_SEND, inline | IBV_SEND_SIGNALED, 0, (0, 0), &[5; 32], 0),
                expected(4, with_immediate, inline | IBV_SEND_SIGNALED, 0, to, b"", 0),
            ]
        );
        batch.clear();
        assert!(batch.is_empty());
    }

    #[test]
    fn what_is_inline_is_copied_when_it_is_queued() {
        let mut batch = Batch::default();
        let mut bytes = *b"before";
        batch.write(1, Bytes::Copied(&bytes), TO, None, Manner::default());
        bytes = *b"behind";
        // Enough for the copies to move.
        for number in 2..200 {
            batch.write(number, Bytes::Copied(&[number as u8; 32]), TO, None, Manner::default());
        }
        let read = follow(&mut batch);
        assert_eq!(
            (read.len(), read[0].bytes.as_slice()),
            (199, b"before".as_slice()),
            "{bytes:?}"
        );
        assert!(read[1..].iter().all(|request| request.bytes == [request.number as u8; 32]));
    }
}
