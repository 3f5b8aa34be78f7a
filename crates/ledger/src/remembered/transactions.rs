//! Transaction ids that are remembered with their answers, and for a debit its parts.
//!
//! Payload: digest u64, code u8, account version LEB128, amount LEB128 zigzag, then the parts
//! of a debit: bucket u16, debited LEB128, refunded LEB128.

use super::pack::{self, Packed, Reader};
use super::records::{Record, Records};
use crate::{BucketNo, Code, Id, Time};
use alloc::vec::Vec;

/// The remembered transactions of one account, in the order in which they are forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transactions(Records);

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

impl Transactions {
    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when none is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packed bytes, for codecs.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Replaces the content by bytes that [`Transactions::as_bytes`] gave; false, and empty,
    /// when they are not whole.
    #[inline]
    pub fn load(&mut self, bytes: &[u8]) -> bool {
        self.0.load(bytes)
    }

    /// The transaction of this id.
    pub fn find(&self, id: &[u8]) -> Option<Transaction> {
        self.0.find(id).and_then(unpack)
    }

    /// When the first is forgotten.
    pub fn next_forget(&self) -> Option<Time> {
        self.0.next_forget()
    }

    pub(crate) fn insert(&mut self, transaction: &Transaction) {
        let mut out = Packed::new();
        out.extend_from_slice(&transaction.digest.to_le_bytes());
        out.push(pack::code_bits(transaction.code));
        pack::put_varint(&mut out, transaction.version);
        pack::put_signed(&mut out, transaction.amount);
        for part in &transaction.parts {
            out.extend_from_slice(&part.bucket.0.to_le_bytes());
            pack::put_amount(&mut out, part.amount);
            pack::put_amount(&mut out, part.refunded);
        }
        self.0.insert(transaction.forget_at, transaction.id.as_bytes(), &out);
    }

    /// Notes a refund of a remembered debit.
    pub(crate) fn refund(&mut self, id: &[u8], bucket: BucketNo, amount: i64) {
        let Some(mut transaction) = self.find(id) else { return };
        self.0.remove(id);
        for part in &mut transaction.parts {
            if part.bucket == bucket {
                part.refunded += amount;
            }
        }
        self.insert(&transaction);
    }

    pub(crate) fn forget(&mut self, now: Time) {
        self.0.forget(now);
    }
}

fn unpack(record: Record<'_>) -> Option<Transaction> {
    let mut reader = Reader(record.payload);
    let mut transaction = Transaction {
        id: Id::new(record.id)?,
        forget_at: record.forget_at,
        digest: reader.word::<8>(),
        code: pack::code_from_bits(reader.u8()),
        version: reader.varint(),
        amount: reader.signed(),
        parts: Vec::new(),
    };
    while !reader.0.is_empty() {
        transaction.parts.push(DebitPart {
            bucket: BucketNo(reader.u16()),
            amount: reader.amount(),
            refunded: reader.amount(),
        });
    }
    Some(transaction)
}
