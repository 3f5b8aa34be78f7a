//! Open holds of an account, and what is remembered of a transaction: the results of two reads.

use scurry_ledger::{
    Account, Bucket, Cause, Code, Id, Item, ItemKey, Name, SessionPage, Slice, Time, Transaction,
};

/// Balances and a page of open holds, from one atomic read (`SCUR.HOLDS`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldsView {
    /// Version of the account. Pages of one version together have every hold.
    pub version: u64,
    /// Balances of the buckets.
    pub buckets: Vec<BalanceView>,
    /// Holds of the sessions of the page.
    pub holds: Vec<HoldView>,
    /// Last session of the page, after which the next page begins. None on the last page.
    pub next: Option<Id>,
}

/// The balance of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceView {
    /// Id of the bucket.
    pub id: Name,
    /// Unit of its amounts.
    pub unit: Name,
    /// Minor units that can be debited or held now.
    pub available: i64,
    /// Minor units held by open sessions: the sum of the holds on the bucket.
    pub held: i64,
}

/// The hold of an item in one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldView {
    /// Id of the session.
    pub session: Id,
    /// Key of the item.
    pub key: ItemKey,
    /// Unit of the amount.
    pub unit: Name,
    /// Id of the bucket.
    pub bucket: Name,
    /// Minor units, at least 1.
    pub amount: i64,
    /// Time at which the session expires unless a request arrives first.
    pub deadline: Time,
    /// When the session was opened.
    pub opened: Time,
    /// When the last request of the session came.
    pub active: Time,
}

/// What is remembered of a transaction (`SCUR.TRANSACTION`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionView {
    /// OK or a denial.
    pub code: Code,
    /// Version of the account in the answer.
    pub version: u64,
    /// Amount in the answer.
    pub amount: i64,
    /// Cause of a denial.
    pub cause: Cause,
    /// Time at which it is forgotten.
    pub forget_at: Time,
    /// Parts of a debit; none of any other command.
    pub parts: Vec<PartView>,
}

/// The part of a debit in one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartView {
    /// Bucket and unit. None if the bucket was removed.
    pub bucket: Option<(Name, Name)>,
    /// Minor units that were debited.
    pub amount: i64,
    /// Minor units that were refunded since.
    pub refunded: i64,
    /// Item that the debit was for.
    pub item: Option<ItemKey>,
}

impl HoldsView {
    /// Returns a page of an account to which everything due was already applied.
    pub fn of_account(account: &Account, page: &SessionPage<'_>) -> HoldsView {
        let (sessions, has_more) = page.of(account);
        let items =
            sessions.iter().flat_map(|open| open.items.iter().map(move |item| (open, item)));
        let slices =
            items.flat_map(|(open, item)| item.slices.iter().map(move |of| (open, item, of)));
        let holds = slices.map(|(open, item, slice)| {
            let (Item { key, unit, .. }, Slice { bucket, amount, .. }) = (item, *slice);
            let bucket = account.bucket_no(bucket).map_or(Name::EMPTY, |bucket| bucket.id);
            HoldView {
                session: open.id.clone(),
                key: *key,
                unit: *unit,
                bucket,
                amount,
                deadline: open.deadline,
                opened: open.opened,
                active: open.active(),
            }
        });
        HoldsView {
            version: account.version,
            buckets: account.buckets.iter().map(BalanceView::of_bucket).collect(),
            holds: holds.collect(),
            next: sessions.last().filter(|_| has_more).map(|open| open.id.clone()),
        }
    }
}

impl BalanceView {
    fn of_bucket(bucket: &Bucket) -> BalanceView {
        let Bucket { id, unit, available, held, .. } = *bucket;
        BalanceView { id, unit, available, held }
    }
}

impl TransactionView {
    /// Returns what the account, to which everything due was already applied, remembers under this id.
    pub fn of_account(account: &Account, txn: &[u8]) -> Option<TransactionView> {
        let Transaction { code, version, amount, cause, forget_at, parts, items, .. } =
            account.transactions.find(txn)?;
        let parts = parts.iter().map(|part| PartView {
            bucket: account.bucket_no(part.bucket).map(|bucket| (bucket.id, bucket.unit)),
            amount: part.amount,
            refunded: part.refunded,
            item: items.get(usize::from(part.item)).map(|item| item.key),
        });
        let parts = parts.collect();
        Some(TransactionView { code, version, amount, cause, forget_at, parts })
    }
}
