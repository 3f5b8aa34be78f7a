//! Control messages of RESP over RDMA: an accepted message has one meaning, and is written with reserved bytes set to
//! 0; all other bytes are rejected.

use scurry_rdma_proto::{Fault, Message};

/// Decodes the input as a message.
pub fn check(data: &[u8]) {
    match Message::decode(data) {
        Ok(message) => {
            let written = message.encode();
            assert_eq!(Message::decode(&written).ok(), Some(message), "it is read as it was");
            assert_eq!(data[..2], written[..2], "the kind stays");
            assert_eq!(u16::from_be_bytes([data[0], data[1]]), message.opcode());
            assert_eq!(data.len(), 32);
            for (at, (read, written)) in data.iter().zip(written).enumerate() {
                assert!(written == *read || is_reserved(message.opcode(), at), "byte {at}");
            }
        }
        Err(Fault::ControlLength(len)) => assert!(len == data.len() && len != 32),
        Err(Fault::Opcode(opcode)) => assert!(opcode > 3 && data.len() == 32),
        Err(fault) => panic!("{fault:?} is none of a message"),
    }
}

/// Implements the layout a second time: reports whether a byte is reserved.
fn is_reserved(opcode: u16, at: usize) -> bool {
    match opcode {
        0 | 1 => (4..24).contains(&at),
        2 => at >= 2,
        _ => (2..16).contains(&at),
    }
}
