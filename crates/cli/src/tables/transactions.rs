//! Tables of remembered transactions and of what debits took.

use super::{shown, time};
use scurry_ledger::{Account, DebitPart, Transaction};
use scurry_tables::{Cell, table};

/// A remembered transaction of an account.
pub(crate) struct TransactionRow<'a> {
    pub(crate) account: &'a [u8],
    pub(crate) transaction: &'a Transaction,
}

table! {
    /// Remembered transactions.
    pub(crate) TRANSACTIONS, transaction_cells, row: TransactionRow<'a>, "transactions", "A transaction that the store remembers. docs/events.md says how to get older ones.";
    "account" Text required "Account id." => Cell::id(row.account);
    "transaction" Text required "Transaction id." => Cell::id(row.transaction.id.as_bytes());
    "code" Text required "`OK`, or the code of a denial." => Cell::text(row.transaction.code.name());
    "cause" Text optional "Cause of a denial." => Cell::of(row.transaction.cause.word(), Cell::text);
    "cause_name" Text optional "Name of the limit or the bucket that denied." => Cell::of(row.transaction.cause.name(), |name| shown(name.as_str()));
    "allowed_at" Time optional "When the limit allows it." => Cell::of(row.transaction.cause.allowed_at(), time);
    "version" Int required "Version of the account in the answer." => Cell::number(row.transaction.version);
    "amount" Int required "Amount in the answer." => Cell::Int(row.transaction.amount);
    "debited" Int required "Sum of its `debits`; 0 if it is no debit." => row.sum(|part| part.amount);
    "refunded" Int required "Part of it that was refunded." => row.sum(|part| part.refunded);
    "forget_at" Time required "When the store forgets it." => time(row.transaction.forget_at);
}

impl<'a> TransactionRow<'a> {
    fn sum(&self, of: impl Fn(&DebitPart) -> i64) -> Cell<'a> {
        let parts = self.transaction.parts.iter();
        Cell::Int(parts.fold(0, |sum, part| sum.saturating_add(of(part))))
    }
}

/// What a remembered debit took from one bucket.
pub(crate) struct DebitRow<'a> {
    pub(crate) id: &'a [u8],
    pub(crate) account: &'a Account,
    pub(crate) transaction: &'a Transaction,
    pub(crate) part: &'a DebitPart,
}

table! {
    /// Parts of remembered debits.
    pub(crate) DEBITS, debit_cells, row: DebitRow<'a>, "debits", "What a remembered debit took from one bucket.";
    "account" Text required "Account id." => Cell::id(row.id);
    "transaction" Text required "Transaction id." => Cell::id(row.transaction.id.as_bytes());
    "item" Text optional "Key of the item; null for a debit without items." => row.item();
    "bucket" Text optional "Name of the bucket; null if it was removed." => Cell::of(row.account.bucket_no(row.part.bucket), |bucket| Cell::text(bucket.id.as_str()));
    "bucket_no" Int required "Number of the bucket." => Cell::Int(row.part.bucket.0.into());
    "unit" Text optional "Unit; null if the bucket was removed." => Cell::of(row.account.bucket_no(row.part.bucket), |bucket| Cell::text(bucket.unit.as_str()));
    "amount" Int required "Amount debited." => Cell::Int(row.part.amount);
    "refunded" Int required "Amount refunded since." => Cell::Int(row.part.refunded);
}

impl<'a> DebitRow<'a> {
    fn item(&self) -> Cell<'a> {
        let item = self.transaction.items.get(usize::from(self.part.item));
        Cell::of(item, |item| shown(item.key))
    }
}
