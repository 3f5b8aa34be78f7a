//! Control messages: 32 bytes each, big-endian, sent separately from the stream of data.

use crate::fabric::CONTROL_LEN;
use crate::fault::Fault;

/// A window of the sender's memory, into which the receiver of the message may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Address of the first byte.
    pub address: u64,
    /// Length in bytes.
    pub length: u32,
    /// The key that permits writing (`rkey`).
    pub key: u32,
}

/// Features that a peer asks for or sets. The standard defines none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feature {
    /// Index of the feature word.
    pub select: u16,
    /// The feature word, one bit per feature.
    pub features: u64,
}

/// A control message. The opcodes are the standard's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// 0: a client asks which features are available; the server answers with the same opcode.
    GetServerFeature(Feature),
    /// 1: a client sets the features that it will use. It gets no answer.
    SetClientFeature(Feature),
    /// 2: the sender is alive. It gets no answer.
    Keepalive,
    /// 3: the receiver writes into this window from now on, from its first byte to its last.
    RegisterXferMemory(Memory),
}

impl Message {
    /// Returns the opcode.
    #[must_use]
    pub fn opcode(&self) -> u16 {
        match self {
            Message::GetServerFeature(_) => 0,
            Message::SetClientFeature(_) => 1,
            Message::Keepalive => 2,
            Message::RegisterXferMemory(_) => 3,
        }
    }

    /// Returns the encoded message. Reserved bytes are 0.
    #[must_use]
    pub fn encode(&self) -> [u8; CONTROL_LEN] {
        let mut bytes = [0; CONTROL_LEN];
        bytes[..2].copy_from_slice(&self.opcode().to_be_bytes());
        match self {
            Message::GetServerFeature(feature) | Message::SetClientFeature(feature) => {
                bytes[2..4].copy_from_slice(&feature.select.to_be_bytes());
                bytes[24..].copy_from_slice(&feature.features.to_be_bytes());
            }
            Message::Keepalive => {}
            Message::RegisterXferMemory(memory) => {
                bytes[16..24].copy_from_slice(&memory.address.to_be_bytes());
                bytes[24..28].copy_from_slice(&memory.length.to_be_bytes());
                bytes[28..].copy_from_slice(&memory.key.to_be_bytes());
            }
        }
        bytes
    }

    /// Decodes a message. Reserved bytes are ignored.
    ///
    /// # Errors
    /// [`Fault::ControlLength`] when it is not 32 bytes long, [`Fault::Opcode`] when its opcode is
    /// unknown.
    pub fn decode(bytes: &[u8]) -> Result<Message, Fault> {
        let Ok(bytes) = <&[u8; CONTROL_LEN]>::try_from(bytes) else {
            return Err(Fault::ControlLength(bytes.len()));
        };
        let feature =
            || Feature { select: u16::from_be_bytes(part(bytes, 2)), features: word(bytes, 24) };
        match u16::from_be_bytes(part(bytes, 0)) {
            0 => Ok(Message::GetServerFeature(feature())),
            1 => Ok(Message::SetClientFeature(feature())),
            2 => Ok(Message::Keepalive),
            3 => Ok(Message::RegisterXferMemory(Memory {
                address: word(bytes, 16),
                length: u32::from_be_bytes(part(bytes, 24)),
                key: u32::from_be_bytes(part(bytes, 28)),
            })),
            opcode => Err(Fault::Opcode(opcode)),
        }
    }
}

fn word(bytes: &[u8; CONTROL_LEN], at: usize) -> u64 {
    u64::from_be_bytes(part(bytes, at))
}

/// Returns `N` bytes from offset `at`, which lie within the message.
fn part<const N: usize>(bytes: &[u8; CONTROL_LEN], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the bytes of a message from its parts by offset; everything else is 0.
    fn golden(parts: &[(usize, &[u8])]) -> [u8; CONTROL_LEN] {
        let mut bytes = [0; CONTROL_LEN];
        for (at, part) in parts {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        bytes
    }

    #[test]
    fn messages_have_the_bytes_of_the_standard() {
        let feature = Feature { select: 0x0102, features: 0x1122_3344_5566_7788 };
        let features: (usize, &[u8]) = (24, &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
        let memory =
            Memory { address: 0x7f01_0203_0405_0607, length: 0x0010_0000, key: 0xa1b2_c3d4 };
        for (message, bytes) in [
            (Message::GetServerFeature(feature), golden(&[(2, &[1, 2]), features])),
            (Message::SetClientFeature(feature), golden(&[(0, &[0, 1, 1, 2]), features])),
            (Message::Keepalive, golden(&[(0, &[0, 2])])),
            (
                Message::RegisterXferMemory(memory),
                golden(&[
                    (0, &[0, 3]),
                    (16, &[0x7f, 1, 2, 3, 4, 5, 6, 7]),
                    (24, &[0, 0x10, 0, 0]),
                    (28, &[0xa1, 0xb2, 0xc3, 0xd4]),
                ]),
            ),
        ] {
            assert_eq!(message.encode(), bytes, "{message:?}");
            assert_eq!(Message::decode(&bytes).ok(), Some(message));
        }
    }

    #[test]
    fn what_is_reserved_is_not_looked_at() {
        let mut bytes = [0xff; CONTROL_LEN];
        bytes[..2].copy_from_slice(&[0, 2]);
        assert_eq!(Message::decode(&bytes).ok(), Some(Message::Keepalive));
    }

    #[test]
    fn every_other_length_is_refused() {
        for len in (0..100).filter(|len| *len != CONTROL_LEN) {
            let found = Message::decode(&vec![0; len]);
            assert!(matches!(found, Err(Fault::ControlLength(told)) if told == len), "{found:?}");
        }
    }

    #[test]
    fn every_other_opcode_is_refused() {
        for opcode in 4..=u16::MAX {
            let found = Message::decode(&golden(&[(0, &opcode.to_be_bytes())]));
            assert!(matches!(found, Err(Fault::Opcode(told)) if told == opcode), "{found:?}");
        }
    }
}
