//! A busy account is kept in parts: its image has what nearly every command needs, and the annex has its open sessions,
//! tombstones and transactions. A command brings in the parts that it names and those that are due, decides on the
//! account as if it were whole, and moves the remaining parts back. So its cost does not grow with the size of the
//! account (docs/adr/0025-busy-accounts.md).

mod hash;
mod ids;
mod items;
mod records;
mod sessions;

use crate::working_account::{is_for_parts, items_apart, unpack};
use hash::hash_of;
use hashbrown::HashTable;
use records::PackedRecordStore;
use scurry_codec::{IMAGE_LEN_MAX, encode_account, mark_in_parts};
use scurry_ledger::{
    Account, Command, Create, ItemRequest, LimitSubject, LimitTerms, Op, PackedRecord, RecordKind,
    Records, SessionPage, ShownParts, Status, Time, TransferStep, UnloadedPart,
};
use sessions::{LoadedItems, LoadedSession, PackedSessions};
use std::borrow::Cow;
use std::mem;
use std::slice;

/// Bytes of sessions, tombstones and transactions above which an account is kept in parts.
pub const APART_LEN: usize = 4 << 10;
/// Most bytes of them that an account may have. A snapshot has an account in one chunk, and a dump in one image; the
/// rest of that bound is for the rest of the account.
pub const ACCOUNT_LEN_MAX: usize = IMAGE_LEN_MAX / 8 * 7;

/// Sessions, tombstones and transactions of one account, stored outside its image.
#[derive(Debug, Default)]
pub struct AccountParts {
    sessions: PackedSessions,
    tombstones: PackedRecordStore,
    transactions: PackedRecordStore,
    loaded: Vec<LoadedSession>,
    loaded_tombstones: Vec<Vec<u8>>,
    loaded_transactions: Vec<Vec<u8>>,
    /// Bytes of memory at the last measurement.
    measured: usize,
}

/// Ids of the parts of an annex that a command or a Change needs.
#[derive(Clone, Debug, Default)]
pub struct NeededParts<'n> {
    /// Ids of open or closed sessions.
    pub(crate) sessions: Cow<'n, [&'n [u8]]>,
    /// Items of these sessions.
    items: NeededItems<'n>,
    /// Ids of transactions.
    pub(crate) transactions: Cow<'n, [&'n [u8]]>,
    /// A page of the open sessions, with the first session after it.
    pub(crate) page: Option<SessionPage<'n>>,
    /// Whether all parts are needed.
    pub(crate) all: bool,
}

/// Items of the sessions that are needed.
#[derive(Clone, Debug, Default)]
enum NeededItems<'n> {
    #[default]
    All,
    /// Those that the request names, of the one session.
    Named(&'n [ItemRequest]),
    /// Those at these positions, of each session.
    At(Vec<Vec<u8>>),
}

impl NeededItems<'_> {
    /// Returns those of the session at this index.
    fn of(&self, index: usize) -> LoadedItems<'_> {
        match self {
            NeededItems::All => LoadedItems::All,
            NeededItems::Named(requests) => LoadedItems::Named(requests),
            NeededItems::At(positions) => {
                LoadedItems::At(positions.get(index).map_or(&[], Vec::as_slice))
            }
        }
    }
}

impl<'n> NeededParts<'n> {
    /// Returns the need for all parts.
    pub fn all() -> NeededParts<'n> {
        NeededParts { all: true, ..NeededParts::default() }
    }

    /// Returns the need for one session, open or closed.
    pub(crate) fn session(id: &'n [u8]) -> NeededParts<'n> {
        NeededParts { sessions: Cow::Owned(vec![id]), ..NeededParts::default() }
    }

    /// Returns the parts that a read needs.
    pub fn shown(shown: &'n ShownParts<'n>) -> NeededParts<'n> {
        let needed = NeededParts::default();
        match shown {
            ShownParts::None => needed,
            ShownParts::All => NeededParts::all(),
            ShownParts::Session(id) => {
                NeededParts { sessions: Cow::Borrowed(slice::from_ref(id)), ..needed }
            }
            ShownParts::Transaction(id) => {
                NeededParts { transactions: Cow::Borrowed(slice::from_ref(id)), ..needed }
            }
            ShownParts::Page(page) => NeededParts { page: Some(*page), ..needed },
        }
    }

    /// Returns the parts that a command names. Of the account only the part in its image is at hand.
    pub(crate) fn by(command: &Command<'n>, account: &Account) -> NeededParts<'n> {
        let mut needed = NeededParts::default();
        match command {
            Command::Reserve(request) => {
                needed.sessions.to_mut().push(request.session);
                needed.items = NeededItems::Named(&[]);
            }
            Command::Update(request) => {
                needed.sessions.to_mut().push(request.session);
                // Otherwise the session may be closed, and each item returns what it holds.
                if account.status == Status::Active && !request.options.close_on_denial {
                    needed.items = NeededItems::Named(request.items);
                }
            }
            Command::Terminate(request) => needed.sessions.to_mut().push(request.session),
            Command::Transfer(transfer) => needed.sessions.to_mut().push(transfer.id),
            Command::Carry(
                TransferStep::Receive { receipt, .. } | TransferStep::Forget { receipt },
            ) => needed.transactions.to_mut().push(receipt),
            Command::Carry(TransferStep::Settle { id } | TransferStep::Conclude { id, .. }) => {
                needed.sessions.to_mut().push(id)
            }
            Command::Release { session, txn, .. } => {
                needed.sessions.to_mut().push(session);
                needed.transactions.to_mut().extend(*txn);
            }
            Command::Refund { txn, debit, .. } | Command::RefundItems { txn, debit, .. } => {
                needed.transactions.to_mut().extend([*txn, *debit]);
            }
            Command::TopUp { txn, .. }
            | Command::Adjust { txn, .. }
            | Command::Bucket { txn, .. }
            | Command::Debit { txn, .. }
            | Command::DebitItems { txn, .. }
            | Command::Counter { txn, .. } => needed.transactions.to_mut().push(txn),
            Command::Limit { txn, limit, terms } => {
                needed.transactions.to_mut().push(txn);
                // A new limit starts with the holds of all sessions.
                let counts_units =
                    matches!(terms, LimitTerms::Set { counted: LimitSubject::Units { .. }, .. });
                needed.all = counts_units && account.limit(*limit).is_none();
            }
            Command::Create(Create { txn, .. }) | Command::Status { txn, .. } => {
                needed.transactions.to_mut().extend(*txn);
            }
            Command::Delete { if_txn, .. } => needed.transactions.to_mut().extend(*if_txn),
        }
        needed
    }

    /// Returns the parts that the facts of a Change name.
    pub(crate) fn by_facts(ops: &'n [Op]) -> NeededParts<'n> {
        let mut needed = NeededParts::default();
        let mut items: Vec<Vec<u8>> = Vec::new();
        // Indexes of the sessions of the Change among those that are needed.
        let mut indexes: Vec<Option<usize>> = Vec::new();
        for op in ops {
            match op {
                Op::NameSession(id) => {
                    indexes.push(Some(needed.sessions.len()));
                    needed.sessions.to_mut().push(id.as_bytes());
                    items.resize(needed.sessions.len(), Vec::new());
                }
                Op::OpenSession { .. } => indexes.push(None),
                Op::Hold(at, _)
                | Op::Grant { at, .. }
                | Op::FallShort(at, _)
                | Op::Settle(at, _)
                | Op::Release(at, _)
                | Op::ReleaseExpired(at, _)
                | Op::Use { at, .. } => {
                    let index = indexes.get(at.session.0 as usize).copied().flatten();
                    if let Some(positions) = index.and_then(|index| items.get_mut(index))
                        && !positions.contains(&at.item)
                    {
                        positions.push(at.item);
                    }
                }
                Op::StoreTombstone(tombstone) => {
                    needed.sessions.to_mut().push(tombstone.id.as_bytes())
                }
                Op::NoteLate(late) => needed.sessions.to_mut().push(late.session.as_bytes()),
                Op::NoteRefund { debit: id, .. } | Op::ForgetReceipt(id) => {
                    needed.transactions.to_mut().push(id.as_bytes());
                }
                _ => {}
            }
        }
        needed.items = NeededItems::At(items);
        needed
    }
}

impl AccountParts {
    /// Moves the parts of a whole account into a new annex. It is kept in parts because they exceed `apart_len`.
    pub(crate) fn of(account: &mut Account, apart_len: usize) -> AccountParts {
        let sessions = PackedSessions::new(items_apart(apart_len));
        let mut annex = AccountParts { sessions, ..AccountParts::default() };
        annex.unload_parts(account);
        annex
    }

    /// Encodes an account, and moves its parts into an annex when they exceed `apart_len`.
    pub fn divided(account: &mut Account, apart_len: usize) -> (Vec<u8>, Option<AccountParts>) {
        let annex = is_for_parts(account, apart_len).then(|| AccountParts::of(account, apart_len));
        let mut image = Vec::new();
        encode_account(account, &mut image);
        if annex.is_some() {
            mark_in_parts(&mut image);
        }
        (image, annex)
    }

    /// Returns the number of sessions, tombstones and transactions in the annex.
    pub fn len(&self) -> usize {
        self.sessions.len() + self.tombstones.len() + self.transactions.len()
    }

    /// Reports whether the annex is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the encoded bytes of the parts.
    pub(crate) fn bytes(&self) -> usize {
        self.sessions.bytes() + self.tombstones.bytes() + self.transactions.bytes()
    }

    /// Reports whether a session has many items.
    pub(crate) fn has_many_items(&self) -> bool {
        self.sessions.has_many_items()
    }

    /// Returns the approximate bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        size_of::<AccountParts>()
            + self.sessions.memory_bytes()
            + self.tombstones.memory_bytes()
            + self.transactions.memory_bytes()
    }

    /// Loads the needed parts, and the sessions that are due at its time `now`, into an account that has all of its
    /// parts in the annex.
    pub(crate) fn load_parts(
        &mut self,
        account: &mut Account,
        needed: &NeededParts<'_>,
        now: Time,
    ) {
        let AccountParts { sessions, tombstones, transactions, loaded, .. } = self;
        loaded.clear();
        let mut named: Vec<u64> = Vec::new();
        if needed.all {
            let all = sessions.numbers();
            loaded.extend(all.map(|at| sessions.load(at, LoadedItems::All, &mut account.sessions)));
        } else {
            for (index, id) in needed.sessions.iter().enumerate() {
                if let Some(number) = sessions.find(id)
                    && !named.contains(&number)
                {
                    let items = needed.items.of(index);
                    let one = sessions.load(number, items, &mut account.sessions);
                    if one.is_due(now) {
                        account.sessions.pop();
                    } else {
                        loaded.push(one);
                        named.push(number);
                    }
                }
            }
            let page = needed.page.map_or(Vec::new(), |page| sessions.page(&page, now));
            let mut load = |at| sessions.load(at, LoadedItems::All, &mut account.sessions);
            loaded.extend(page.iter().map(|&at| load(at)));
            named.extend(page);
            // In reverse order, so that closing the first due session moves no other.
            loaded.extend(sessions.due(now).rev().map(load));
        }
        self.loaded_tombstones =
            load_records(tombstones, &needed.sessions, &mut account.tombstones);
        self.loaded_transactions =
            load_records(transactions, &needed.transactions, &mut account.transactions);
        let mut unloaded = UnloadedPart {
            sessions: self.sessions.len() - self.loaded.len(),
            first_deadline: self.sessions.first_deadline(now, &named).filter(|_| !needed.all),
            tombstones: self.tombstones.sums(now),
            transactions: self.transactions.sums(now),
        };
        let Account { tombstones, transactions, .. } = account;
        let times = tombstones.iter_packed().map(|record| record.forget_at);
        unloaded.tombstones.subtract_loaded(times, now);
        let times = transactions.iter_packed().map(|record| record.forget_at);
        unloaded.transactions.subtract_loaded(times, now);
        **account.unloaded.get_or_insert_default() = unloaded;
    }

    /// Moves the parts that were loaded, and new ones, from the account back into the annex after a Commit, and
    /// drops the parts that are due to be forgotten. The account has no parts afterwards.
    pub(crate) fn unload_parts(&mut self, account: &mut Account) {
        let now = account.changed_at;
        self.sessions.unload(&self.loaded, &mut account.sessions, now);
        self.loaded.clear();
        unload_records(
            &mut self.tombstones,
            &mut self.loaded_tombstones,
            &mut account.tombstones,
            now,
        );
        unload_records(
            &mut self.transactions,
            &mut self.loaded_transactions,
            &mut account.transactions,
            now,
        );
        **account.unloaded.get_or_insert_default() = self.sums();
    }

    /// Copies all parts into an account that has none; the annex keeps them.
    pub fn copy_to(&self, account: &mut Account) {
        for number in self.sessions.numbers() {
            self.sessions.load(number, LoadedItems::All, &mut account.sessions);
        }
        self.tombstones.copy_to(&mut account.tombstones);
        self.transactions.copy_to(&mut account.transactions);
        account.unloaded = None;
    }

    /// Returns the image of the whole account, given the image without the parts.
    pub fn whole_image(&self, part: &[u8]) -> Vec<u8> {
        let mut account = None;
        unpack(part, &mut account);
        let mut image = Vec::new();
        if let Some(account) = &mut account {
            self.copy_to(account);
            encode_account(account, &mut image);
        }
        image
    }

    /// Returns the sums of the annex, when nothing is loaded and nothing counts as due.
    pub fn sums(&self) -> UnloadedPart {
        let never = Time(i64::MIN);
        UnloadedPart {
            sessions: self.sessions.len(),
            first_deadline: self.sessions.first_deadline(never, &[]),
            tombstones: self.tombstones.sums(never),
            transactions: self.transactions.sums(never),
        }
    }
}

/// Annexes of a shard's accounts, by account id.
#[derive(Debug, Default)]
pub(crate) struct AccountPartsMap {
    annexes: HashTable<(Box<[u8]>, Box<AccountParts>)>,
    memory_bytes: usize,
}

impl AccountPartsMap {
    /// Returns the annex of an account that is kept in parts.
    pub(crate) fn parts_of(&self, id: &[u8]) -> &AccountParts {
        self.get(id).expect("an account that is kept in parts has an annex")
    }

    pub(crate) fn get(&self, id: &[u8]) -> Option<&AccountParts> {
        let found = self.annexes.find(hash_of(id), |(of, _)| **of == *id);
        found.map(|(_, annex)| &**annex)
    }

    pub(crate) fn get_mut(&mut self, id: &[u8]) -> Option<&mut AccountParts> {
        let found = self.annexes.find_mut(hash_of(id), |(of, _)| **of == *id);
        found.map(|(_, annex)| annex.as_mut())
    }

    pub(crate) fn set(&mut self, id: &[u8], annex: Option<AccountParts>) {
        self.remove(id);
        if let Some(annex) = annex {
            let annexed = (id.into(), Box::new(annex));
            self.annexes.insert_unique(hash_of(id), annexed, |(of, _)| hash_of(of));
            self.measure(id);
        }
    }

    pub(crate) fn remove(&mut self, id: &[u8]) {
        if let Ok(found) = self.annexes.find_entry(hash_of(id), |(of, _)| **of == *id) {
            let ((_, annex), _) = found.remove();
            self.memory_bytes -= annex.measured;
        }
    }

    /// Measures the memory of an annex that has changed.
    pub(crate) fn measure(&mut self, id: &[u8]) {
        if let Some(annex) = self.get_mut(id) {
            let now = annex.memory_bytes();
            let before = mem::replace(&mut annex.measured, now);
            self.memory_bytes = self.memory_bytes + now - before;
        }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes as u64
    }
}

/// Copies the records of these ids into the account, and returns them to detect changes later.
fn load_records<T: RecordKind>(
    apart: &PackedRecordStore,
    ids: &[&[u8]],
    records: &mut Records<T>,
) -> Vec<Vec<u8>> {
    let mut loaded: Vec<Vec<u8>> = Vec::new();
    for record in ids.iter().filter_map(|id| apart.find(id)) {
        if loaded.iter().all(|known| known != record.bytes) {
            records.insert_packed(record);
            loaded.push(record.bytes.to_vec());
        }
    }
    loaded
}

fn unload_records<T: RecordKind>(
    apart: &mut PackedRecordStore,
    loaded: &mut Vec<Vec<u8>>,
    records: &mut Records<T>,
    now: Time,
) {
    apart.forget(now);
    for before in loaded.drain(..) {
        let before = PackedRecord::first_of(&before).expect("it was a record");
        let after = records.iter_packed().find(|record| record.id == before.id);
        if after.is_none_or(|after| after != before) {
            apart.remove(before.id);
        }
    }
    for record in records.iter_packed() {
        if apart.find(record.id).is_none() {
            apart.insert(record);
        }
    }
    records.clear();
}
