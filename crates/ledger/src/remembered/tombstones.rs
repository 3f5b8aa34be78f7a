//! Closed sessions that are remembered.
//!
//! Payload: kind u8 (low 2 bits) with the code's bits (next 2); then, for a kind with an
//! answer, request number u32, digest u64, items.

use super::pack::{self, Packed, Reader};
use super::records::{Records, Remembered};
use crate::{Code, Id, ItemAnswers, Time};

/// The remembered closed sessions of one account, in the order in which they are forgotten.
pub type Tombstones = Records<Tombstone>;

/// A closed session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The session's id.
    pub id: Id,
    /// When it is forgotten.
    pub forget_at: Time,
    /// How it ended.
    pub kind: TombstoneKind,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TombstoneKind {
    /// Tcc ran out.
    Expired,
    /// RELEASE.
    Released,
    /// With an answer that a duplicate gets again.
    Answered {
        /// CC-Request-Number.
        request: u32,
        /// Digest of the body it answered.
        digest: u64,
        /// OK or a denial.
        code: Code,
        /// One per item of the request, in its order.
        items: ItemAnswers,
    },
}

impl Remembered for Tombstone {
    fn id(&self) -> &Id {
        &self.id
    }

    fn forget_at(&self) -> Time {
        self.forget_at
    }

    fn pack(&self) -> Packed {
        let mut out = Packed::new();
        match &self.kind {
            TombstoneKind::Expired => out.push(0),
            TombstoneKind::Released => out.push(1),
            TombstoneKind::Answered { request, digest, code, items } => {
                out.push(2 | pack::code_bits(*code) << 2);
                out.extend_from_slice(&request.to_le_bytes());
                out.extend_from_slice(&digest.to_le_bytes());
                for item in items {
                    pack::put_item(&mut out, item);
                }
            }
        }
        out
    }

    fn unpack(id: Id, forget_at: Time, payload: &[u8]) -> Tombstone {
        let mut reader = Reader(payload);
        let bits = reader.u8();
        let kind = match bits & 3 {
            0 => TombstoneKind::Expired,
            1 => TombstoneKind::Released,
            _ => TombstoneKind::Answered {
                request: reader.u32(),
                digest: reader.word::<8>(),
                code: pack::code_from_bits(bits >> 2),
                items: pack::take_items(&mut reader),
            },
        };
        Tombstone { id, forget_at, kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, ItemAnswer};

    #[test]
    fn the_largest_tombstone_of_one_item_fits_96_bytes() {
        let item = ItemAnswer {
            code: Code::Ok,
            granted: 0,
            last: false,
            uncollected: i64::MAX,
            cause: Cause::None,
        };
        let mut tombstones = Tombstones::default();
        tombstones.insert(&Tombstone {
            id: Id::new(&[b'x'; 64]).expect("an id"),
            forget_at: Time(1_700_000_000_000),
            kind: TombstoneKind::Answered {
                request: u32::MAX,
                digest: u64::MAX,
                code: Code::Ok,
                items: [item].into(),
            },
        });
        assert!(tombstones.as_bytes().len() <= 96, "{}", tombstones.as_bytes().len());
    }

    #[test]
    fn tombstones_are_forgotten_in_the_order_of_their_times() {
        let mut tombstones = Tombstones::default();
        for (id, forget_at) in [("b", 20), ("a", 10), ("c", 30)] {
            let id = Id::new(id.as_bytes()).expect("an id");
            let kind = TombstoneKind::Expired;
            tombstones.insert(&Tombstone { id, forget_at: Time(forget_at), kind });
        }
        assert_eq!(tombstones.next_forget(), Some(Time(10)));
        let mut copy = Tombstones::default();
        assert!(copy.load(tombstones.as_bytes()));
        assert_eq!(copy, tombstones);
        tombstones.forget(Time(20));
        assert_eq!(tombstones.len(), 1);
        assert!(tombstones.find(b"c").is_some());
        assert!(!copy.load(&copy.clone().as_bytes()[..5]));
    }
}
