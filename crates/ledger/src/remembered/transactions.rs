//! Remembered transaction ids with their answers, and the parts of debits.
//!
//! Payload: digest u64, code (low 2 bits) and number of the cause of a denial u8, account version LEB128, amount LEB128
//! zigzag, the length and the id of a limit or bucket that denied, and a time LEB128, then the parts of a debit: bucket u16, debited LEB128,
//! refunded LEB128. In place of a bucket, 65535 begins an item: a length byte and the text of its key, a length byte
//! and its unit.

use super::pack::{self, PackReader, Packed};
use super::records::{RecordKind, Records};
use crate::{BucketNo, Cause, Code, Id, ItemKey, Name, Posting, Time};
use alloc::string::ToString;
use alloc::vec::Vec;

/// A number that no bucket has: [`crate::Account::next_bucket`] stops here.
const ITEM_BEGINS: u16 = u16::MAX;

/// Bits of the code in the byte that also has the number of the cause.
const CAUSE_SHIFT: u32 = 2;

/// Remembered transactions of one account, in the order in which they are forgotten.
pub type Transactions = Records<Transaction>;

/// A committed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Id of the transaction.
    pub id: Id,
    /// When it is forgotten.
    pub forget_at: Time,
    /// Digest of the answered body.
    pub digest: u64,
    /// OK or a denial.
    pub code: Code,
    /// Version of the account in the answer.
    pub version: u64,
    /// Amount in the answer.
    pub amount: i64,
    /// Cause of a denial.
    pub cause: Cause,
    /// Buckets that a debit took from; empty for all other commands. The parts of an item are consecutive.
    pub parts: Vec<DebitPart>,
    /// Items of a debit of several items, in the order in which they were listed.
    pub items: Vec<DebitedItem>,
}

/// Key and unit of an item of a debit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebitedItem {
    /// Key of the item.
    pub key: ItemKey,
    /// Unit of its amount.
    pub unit: Name,
}

/// The part of a debit in one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebitPart {
    /// Index of its item in [`Transaction::items`]; 0 for a debit without items.
    pub item: u8,
    /// Serial number of the bucket.
    pub bucket: BucketNo,
    /// Amount debited from the bucket.
    pub amount: i64,
    /// Amount refunded to the bucket so far.
    pub refunded: i64,
}

impl DebitPart {
    /// Returns the amount that was not refunded.
    pub fn left(&self) -> i64 {
        self.amount - self.refunded
    }
}

impl Records<Transaction> {
    /// Notes a refund with its remembered debit.
    pub(crate) fn refund(&mut self, id: &[u8], item: u8, posting: &Posting) {
        let Some(mut transaction) = self.find(id) else { return };
        self.remove(id);
        for part in &mut transaction.parts {
            if part.item == item && part.bucket == posting.bucket {
                part.refunded += posting.amount;
            }
        }
        self.insert(&transaction);
    }
}

impl RecordKind for Transaction {
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
        pack::put_named(&mut out, self.cause);
        let mut begun = 0;
        for part in &self.parts {
            // The header of an item comes before its first part.
            while begun < self.items.len() && begun <= usize::from(part.item) {
                let DebitedItem { key, unit } = self.items[begun];
                let key = key.to_string();
                out.extend_from_slice(&ITEM_BEGINS.to_le_bytes());
                out.push(key.len() as u8);
                out.extend_from_slice(key.as_bytes());
                out.push(unit.byte_len() as u8);
                out.extend_from_slice(unit.as_bytes());
                begun += 1;
            }
            out.extend_from_slice(&part.bucket.0.to_le_bytes());
            pack::put_amount(&mut out, part.amount);
            pack::put_amount(&mut out, part.refunded);
        }
        out
    }

    fn unpack(id: Id, forget_at: Time, payload: &[u8]) -> Transaction {
        let mut reader = PackReader(payload);
        let mut transaction = Transaction {
            id,
            forget_at,
            digest: reader.word::<8>(),
            code: Code::Ok,
            version: 0,
            amount: 0,
            cause: Cause::None,
            parts: Vec::new(),
            items: Vec::new(),
        };
        let bits = reader.u8();
        transaction.code = pack::code_from_bits(bits);
        (transaction.version, transaction.amount) = (reader.varint(), reader.signed());
        transaction.cause = pack::take_cause(&mut reader, bits >> CAUSE_SHIFT, transaction.code);
        while !reader.0.is_empty() {
            let bucket = reader.u16();
            if bucket == ITEM_BEGINS {
                let len = usize::from(reader.u8());
                let key = ItemKey::new(reader.bytes(len)).unwrap_or(ItemKey::Number(0));
                let len = usize::from(reader.u8());
                let unit = Name::new(reader.bytes(len)).unwrap_or(Name::EMPTY);
                transaction.items.push(DebitedItem { key, unit });
                continue;
            }
            let item = u8::try_from(transaction.items.len().saturating_sub(1)).unwrap_or(u8::MAX);
            transaction.parts.push(DebitPart {
                item,
                bucket: BucketNo(bucket),
                amount: reader.amount(),
                refunded: reader.amount(),
            });
        }
        transaction
    }
}
