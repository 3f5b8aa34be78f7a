//! Closed sessions that are remembered.
//!
//! Payload: kind u8 (low 2 bits) with the code's bits (next 2) and three bits that say what follows; with bit 4 the
//! last answered request, number u32 and kind u8; with bit 5 answers to late use: length u16, then the entries of a
//! window; then, for a kind with an answer, request number u32, digest u64, items, and the kind of the request in the two
//! highest bits; with bit 6, of a transfer that the payee refused, digest u64 and code u8.

use super::answers::{PackedAnswer, StoredAnswer, entries};
use super::pack::{self, PackReader, Packed};
use super::records::{RecordKind, Records};
use crate::{Code, Id, ItemAnswers, RequestKind, RequestName, Time};
use alloc::vec::Vec;

/// Remembered closed sessions of one account, in the order in which they are forgotten.
pub type Tombstones = Records<Tombstone>;

/// A closed session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Id of the session.
    pub id: Id,
    /// When it is forgotten.
    pub forget_at: Time,
    /// How it ended.
    pub kind: TombstoneKind,
    /// Last request that the session answered, in the order of names; `None` if the kind has it or it is unknown.
    pub last: Option<RequestName>,
    /// Answers to late use, in the order of the names of their requests.
    pub late: Vec<StoredAnswer>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TombstoneKind {
    /// Its Tcc ran out.
    Expired,
    /// RELEASE closed it.
    Released,
    /// It closed with an answer, which a duplicate gets again.
    Answered {
        /// CC-Request-Number and CC-Request-Type.
        request: RequestName,
        /// Digest of the answered body.
        digest: u64,
        /// OK or a denial.
        code: Code,
        /// One answer per item of the request, in its order.
        items: ItemAnswers,
    },
    /// The session was not known when late use of it was reported.
    Unknown,
    /// It was a transfer that the payee refused.
    Returned {
        /// Digest of the body of the TRANSFER.
        digest: u64,
        /// Code with which the payee refused.
        refusal: Code,
    },
}

impl Tombstone {
    /// Returns a tombstone without answers to late use.
    pub fn new(
        id: Id,
        forget_at: Time,
        kind: TombstoneKind,
        last: Option<RequestName>,
    ) -> Tombstone {
        Tombstone { id, forget_at, kind, last, late: Vec::new() }
    }

    /// Returns the stored answer to a request.
    pub(crate) fn answer_to(&self, name: RequestName) -> Option<StoredAnswer> {
        match &self.kind {
            &TombstoneKind::Answered { request, digest, code, ref items } if request == name => {
                Some(StoredAnswer { request, digest, code, version: 0, items: items.clone() })
            }
            _ => self.late.iter().find(|answer| answer.request == name).cloned(),
        }
    }

    /// Reports whether a request was never answered and its answer would be kept.
    pub(crate) fn accepts_late_use(&self, name: RequestName, answers_max: usize) -> bool {
        let is_full = self.late.len() >= answers_max;
        let is_lowest = self.late.first().is_none_or(|lowest| name < lowest.request);
        self.last_answered().is_none_or(|last| name > last) && !(is_full && is_lowest)
    }

    /// Returns the last request that may have been answered, in the order of names.
    fn last_answered(&self) -> Option<RequestName> {
        match self.kind {
            TombstoneKind::Answered { request, .. } => self.last.max(Some(request)),
            // A session that was never open has answered none.
            TombstoneKind::Unknown
            | TombstoneKind::Expired
            | TombstoneKind::Released
            | TombstoneKind::Returned { .. } => self.last,
        }
    }

    /// Stores an answer to late use. Beyond `answers_max` the lowest answer is dropped, and requests up to it count as
    /// answered.
    fn store_late(&mut self, answer: StoredAnswer, answers_max: usize) {
        let at = self.late.partition_point(|known| known.request < answer.request);
        self.late.insert(at, answer);
        while self.late.len() > answers_max.max(1) {
            let dropped = self.late.remove(0).request;
            self.last = self.last.max(Some(dropped));
        }
    }
}

impl Records<Tombstone> {
    /// Notes an answer to late use of a session that is not open.
    pub(crate) fn note_late(&mut self, late: &LateAnswer) {
        let LateAnswer { session, answer, forget_at, answers_max } = late;
        let mut tombstone = match self.find(session.as_bytes()) {
            Some(known) => {
                self.remove(session.as_bytes());
                known
            }
            None => Tombstone::new(session.clone(), *forget_at, TombstoneKind::Unknown, None),
        };
        // Late use never shortens the time that a tombstone is remembered.
        tombstone.forget_at = tombstone.forget_at.max(*forget_at);
        tombstone.store_late(answer.unpack(), usize::from(*answers_max));
        self.insert(&tombstone);
    }
}

/// An answer to late use, to be stored in the tombstone of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateAnswer {
    /// Id of the session.
    pub session: Id,
    /// Packed answer.
    pub answer: PackedAnswer,
    /// Earliest time at which the tombstone may be forgotten.
    pub forget_at: Time,
    /// Number of late answers that the tombstone keeps.
    pub answers_max: u8,
}

const LAST: u8 = 1 << 4;
const LATE: u8 = 1 << 5;
const RETURNED: u8 = 1 << 6;
/// Place of the kind of the request that a kind with an answer has.
const REQUEST_SHIFT: u32 = 6;

impl RecordKind for Tombstone {
    fn id(&self) -> &Id {
        &self.id
    }

    fn forget_at(&self) -> Time {
        self.forget_at
    }

    fn pack(&self) -> Packed {
        let mut out = Packed::new();
        let kind = match &self.kind {
            TombstoneKind::Expired => 0,
            TombstoneKind::Released => 1,
            TombstoneKind::Answered { code, request, .. } => {
                2 | pack::code_bits(*code) << 2 | (request.kind as u8) << REQUEST_SHIFT
            }
            TombstoneKind::Unknown => 3,
            TombstoneKind::Returned { .. } => 3 | RETURNED,
        };
        out.push(kind);
        if let Some(last) = self.last {
            out[0] |= LAST;
            out.extend_from_slice(&last.number.to_le_bytes());
            out.push(last.kind as u8);
        }
        if !self.late.is_empty() {
            out[0] |= LATE;
            let packed: Vec<PackedAnswer> = self.late.iter().map(PackedAnswer::new).collect();
            let len: usize = packed.iter().map(|answer| answer.as_bytes().len()).sum();
            out.extend_from_slice(&u16::try_from(len).unwrap_or(u16::MAX).to_le_bytes());
            packed.iter().for_each(|answer| out.extend_from_slice(answer.as_bytes()));
        }
        if let TombstoneKind::Answered { request, digest, items, .. } = &self.kind {
            let mut head = [0; 4 + 8];
            head[..4].copy_from_slice(&request.number.to_le_bytes());
            head[4..].copy_from_slice(&digest.to_le_bytes());
            out.extend_from_slice(&head);
            for item in items {
                pack::put_item(&mut out, item);
            }
        }
        if let TombstoneKind::Returned { digest, refusal } = self.kind {
            out.extend_from_slice(&digest.to_le_bytes());
            out.push(refusal as u8);
        }
        out
    }

    fn unpack(id: Id, forget_at: Time, payload: &[u8]) -> Tombstone {
        let mut reader = PackReader(payload);
        let bits = reader.u8();
        let last = (bits & LAST != 0).then(|| name(reader.u32(), reader.u8()));
        let late = if bits & LATE == 0 {
            Vec::new()
        } else {
            let len = usize::from(reader.u16());
            entries(reader.bytes(len)).collect()
        };
        let kind = match bits & 3 {
            0 => TombstoneKind::Expired,
            1 => TombstoneKind::Released,
            3 if bits & RETURNED != 0 => TombstoneKind::Returned {
                digest: reader.word::<8>(),
                refusal: Code::from_number(reader.u8()).unwrap_or(Code::Invalid),
            },
            3 => TombstoneKind::Unknown,
            _ => TombstoneKind::Answered {
                request: name(reader.u32(), bits >> REQUEST_SHIFT),
                digest: reader.word::<8>(),
                code: pack::code_from_bits(bits >> 2),
                items: pack::take_items(&mut reader),
            },
        };
        Tombstone { id, forget_at, kind, last, late }
    }
}

/// Returns the name of a request whose kind has a stored number.
fn name(number: u32, kind: u8) -> RequestName {
    let kind = RequestKind::from_number(kind).unwrap_or(RequestKind::Reserve);
    RequestName { number, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Final, ItemAnswer};
    use alloc::vec;

    fn item(uncollected: i64) -> ItemAnswer {
        ItemAnswer { code: Code::Ok, granted: 0, last: Final::No, uncollected, cause: Cause::None }
    }

    fn answered(number: u32) -> TombstoneKind {
        let (request, items) = (terminate(number), [item(i64::MAX)].into());
        TombstoneKind::Answered { request, digest: u64::MAX, code: Code::Ok, items }
    }

    fn terminate(number: u32) -> RequestName {
        RequestName { number, kind: RequestKind::Terminate }
    }

    fn late(number: u32) -> StoredAnswer {
        let item = item(5);
        let (request, digest) = (terminate(number), u64::from(number));
        StoredAnswer { request, digest, code: Code::Ok, version: 0, items: [item].into() }
    }

    #[test]
    fn a_tombstone_of_one_item_and_an_id_of_64_bytes_fits_96_bytes() {
        let mut tombstones = Tombstones::default();
        let id = Id::new(&[b'x'; 64]).expect("an id");
        let at = Time(1_700_000_000_000);
        tombstones.insert(&Tombstone::new(id, at, answered(u32::MAX), None));
        assert!(tombstones.as_bytes().len() <= 96, "{}", tombstones.as_bytes().len());
    }

    #[test]
    fn tombstones_are_forgotten_in_the_order_of_their_times() {
        let mut tombstones = Tombstones::default();
        for (id, forget_at) in [("b", 20), ("a", 10), ("c", 30)] {
            let id = Id::new(id.as_bytes()).expect("an id");
            let kind = TombstoneKind::Expired;
            tombstones.insert(&Tombstone::new(id, Time(forget_at), kind, None));
        }
        assert_eq!(tombstones.next_forget(), Some(Time(10)));
        let mut copy = Tombstones::default();
        copy.load(tombstones.as_bytes());
        assert!(copy.are_whole());
        assert_eq!(copy, tombstones);
        tombstones.forget(Time(20));
        assert_eq!(tombstones.len(), 1);
        assert!(tombstones.find(b"c").is_some());
        copy.load(&copy.clone().as_bytes()[..5]);
        assert!(!copy.are_whole());
    }

    #[test]
    fn a_tombstone_of_every_kind_comes_back_with_its_late_answers() {
        let kinds = [
            TombstoneKind::Expired,
            TombstoneKind::Released,
            answered(7),
            TombstoneKind::Unknown,
            TombstoneKind::Returned { digest: 8, refusal: Code::UnknownAccount },
        ];
        for kind in kinds {
            for (last, late) in [
                (None, vec![]),
                (Some(terminate(9)), vec![]),
                (Some(terminate(0)), vec![late(10), late(12)]),
            ] {
                let id = Id::new(b"s").expect("an id");
                let tombstone =
                    Tombstone { late, ..Tombstone::new(id, Time(5), kind.clone(), last) };
                let mut tombstones = Tombstones::default();
                tombstones.insert(&tombstone);
                assert_eq!(tombstones.find(b"s"), Some(tombstone));
            }
        }
    }

    #[test]
    fn of_too_many_late_answers_the_lowest_goes_and_is_not_taken_again() {
        let mut tombstones = Tombstones::default();
        let session = Id::new(b"s").expect("an id");
        for (request, forget_at) in [(8, 50), (5, 90), (6, 70)] {
            let answer = PackedAnswer::new(&late(request));
            let forget_at = Time(forget_at);
            tombstones.note_late(&LateAnswer {
                session: session.clone(),
                answer,
                forget_at,
                answers_max: 2,
            });
        }
        let tombstone = tombstones.find(b"s").expect("it is there");
        assert_eq!(
            (tombstone.forget_at, tombstone.last_answered()),
            (Time(90), Some(terminate(5)))
        );
        assert_eq!(tombstone.late, [late(6), late(8)]);
        assert_eq!(tombstones.len(), 1);
    }
}
