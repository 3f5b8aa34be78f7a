//! How work requests become a linked list that a device follows.

#[path = "../../src/postings.rs"]
mod rules;

use rules::{Bytes, Postings};
use scurry_rdma_proto::fabric::{SendFlags, Target};
use scurry_rdma_sys::verbs::{
    IBV_SEND_INLINE, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
    ibv_sge,
};

/// A request as a device would read it: number, opcode, flags, immediate in host byte order,
/// target, bytes and key.
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

fn follow(postings: &mut Postings) -> Vec<Read> {
    let mut read = Vec::new();
    let mut next = postings.chain();
    while !next.is_null() {
        // SAFETY: the list was just built, and its parts point to memory of this test.
        let (request, part) = unsafe { (*next, *(*next).sg_list) };
        let mut bytes = Vec::new();
        if request.num_sge > 0 {
            // SAFETY: as above.
            let carried =
                unsafe { std::slice::from_raw_parts(part.addr as *const u8, part.length as usize) };
            bytes.extend_from_slice(carried);
        }
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
    let mut postings = Postings::default();
    let signalled = SendFlags { inline: false, signalled: true };
    postings.write(1, Bytes::Registered(part), TO, None, SendFlags::default());
    postings.write(2, Bytes::Copied(b"in"), TO, Some(0x0102_0304), SendFlags::default());
    postings.send(3, Bytes::Copied(&[5; 32]), true);
    postings.write(4, Bytes::Copied(b""), TO, Some(0), signalled);
    assert_eq!((postings.len(), postings.is_empty()), (4, false));

    let read = follow(&mut postings);
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
    postings.clear();
    assert!(postings.is_empty());
}

#[test]
fn what_is_inline_is_copied_when_it_is_queued() {
    let mut postings = Postings::default();
    let mut bytes = *b"before";
    postings.write(1, Bytes::Copied(&bytes), TO, None, SendFlags::default());
    bytes = *b"behind";
    // Enough requests to move the copies to other memory.
    for number in 2..200 {
        postings.write(number, Bytes::Copied(&[number as u8; 32]), TO, None, SendFlags::default());
    }
    let read = follow(&mut postings);
    assert_eq!((read.len(), read[0].bytes.as_slice()), (199, b"before".as_slice()), "{bytes:?}");
    assert!(read[1..].iter().all(|request| request.bytes == [request.number as u8; 32]));
}
