//! Transaction ids that are remembered with their answers, and for a debit its parts.
//!
//! Payload: digest u64, code (low 2 bits) and number of the cause of a denial u8, account version
//! LEB128, amount LEB128 zigzag, the length and the id of a limit that denied, then the parts of a
//! debit: bucket u16, debited LEB128, refunded LEB128.

use super::pack::{self, Packed, Reader};
use super::records::{Records, Remembered};
use crate::{BucketNo, Cause, Code, Id, Time};
use alloc::vec::Vec;

/// Where the number of the cause stands beside the code.
const CAUSE_SHIFT: u32 = 2;

/// The remembered transactions of one account, in the order in which they are forgotten.
pub type Transactions = Records<Transaction>;

/// A transaction that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Id of the transaction.
    pub id: Id,
    /// When it is forgotten.
    pub forget_at: Time,
    /// Digest of the body it answered.
    pub digest: u64,
    /// OK or a denial.
    pub code: Code,
    /// The account's version in the answer.
    pub version: u64,
    /// The amount in the answer.
    pub amount: i64,
    /// Cause of a denial.
    pub cause: Cause,
    /// Where a debit came from; empty for everything else.
    pub parts: Vec<DebitPart>,
}

/// The part of a debit in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebitPart {
    /// The bucket.
    pub bucket: BucketNo,
    /// Debited from it.
    pub amount: i64,
    /// Refunded to it since.
    pub refunded: i64,
}

impl Records<Transaction> {
    /// Notes a refund of a remembered debit.
    pub(crate) fn refund(&mut self, id: &[u8], bucket: BucketNo, amount: i64) {
        let Some(mut transaction) = self.find(id) else { return };
        self.remove(id);
        for part in &mut transaction.parts {
            if part.bucket == bucket {
                part.refunded += amount;
            }
        }
        self.insert(&transaction);
    }
}

impl Remembered for Transaction {
    fn id(&self) -> &Id {
        &self.id
    }

    fn forget_at(&self) -> Time {
        self.forget_at
    }

    fn pack(&self) -> Packed {
        let mut out = Packed::new();
        out.extend_from_slice(&self.digest.to_le_bytes());
        out.push(pack::code_bits(self.code) | self.cause.number(self.code) << CAUSE_SHIFT);
        pack::put_varint(&mut out, self.version);
        pack::put_signed(&mut out, self.amount);
        pack::put_limit(&mut out, self.cause);
        for part in &self.parts {
            out.extend_from_slice(&part.bucket.0.to_le_bytes());
            pack::put_amount(&mut out, part.amount);
            pack::put_amount(&mut out, part.refunded);
        }
        out
    }

    fn unpack(id: Id, forget_at: Time, payload: &[u8]) -> Transaction {
        let mut reader = Reader(payload);
        let mut transaction = Transaction {
            id,
            forget_at,
            digest: reader.word::<8>(),
            code: Code::Ok,
            version: 0,
            amount: 0,
            cause: Cause::None,
            parts: Vec::new(),
        };
        let bits = reader.u8();
        transaction.code = pack::code_from_bits(bits);
        (transaction.version, transaction.amount) = (reader.varint(), reader.signed());
        transaction.cause = pack::take_cause(&mut reader, bits >> CAUSE_SHIFT, transaction.code);
        while !reader.0.is_empty() {
            transaction.parts.push(DebitPart {
                bucket: BucketNo(reader.u16()),
                amount: reader.amount(),
                refunded: reader.amount(),
            });
        }
        transaction
    }
}
