//! An owned form of the ledger's [`Command`], which borrows its ids and lists: it can travel between threads.

use scurry_ledger::{
    Command, Create, ItemAmount, ItemKey, ItemRequest, Name, NewBucket, SessionRequest, Transfer,
};
use smallvec::SmallVec;

/// An owned copy of a [`Command`]: its fixed part, and the bytes and lists that it borrows. [`CommandBuf::with`] lends
/// the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandBuf {
    /// The command, with empty bytes and lists in place of the data in the fields below.
    shape: Command<'static>,
    /// The transaction id, or the session id. Empty if the command has neither.
    id: Vec<u8>,
    /// The transaction id of the debit that a refund names, or the data (blob) of a session request.
    second: Vec<u8>,
    items: SmallVec<[ItemRequest; 1]>,
    /// Boxed to keep the struct small: most commands need no list here.
    rare: Option<Box<Lists>>,
}

/// Lists that only commands without a session have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lists {
    amounts: Vec<ItemAmount>,
    payer: Vec<u8>,
    identities: Vec<(Name, Vec<u8>)>,
    buckets: Vec<NewBucket>,
    bucket_keys: Vec<(usize, ItemKey)>,
    keys: Vec<ItemKey>,
}

impl CommandBuf {
    /// Copies a command with everything that it borrows.
    pub fn new(command: &Command<'_>) -> CommandBuf {
        let mut copy = CommandBuf {
            // A placeholder: `fill` needs the other fields first, and returns the real shape.
            shape: Command::Delete { force: false, if_txn: None },
            id: Vec::new(),
            second: Vec::new(),
            items: SmallVec::new(),
            rare: None,
        };
        copy.shape = copy.fill(command);
        copy
    }

    fn keep_keys(&mut self, keys: &[ItemKey]) {
        if !keys.is_empty() {
            self.rare.get_or_insert_default().keys = keys.to_vec();
        }
    }

    /// Stores the data that a command borrows, and returns the command with empty borrows.
    fn fill(&mut self, command: &Command<'_>) -> Command<'static> {
        const NONE: &[u8] = b"";
        match *command {
            Command::Create(Create { txn, status, identities, buckets, keys }) => {
                let lists = self.keep_identities(identities);
                (lists.buckets, lists.bucket_keys) = (buckets.to_vec(), keys.to_vec());
                let txn = self.keep_optional(txn);
                Command::Create(Create { txn, status, ..Create::active(&[]) })
            }
            Command::Status { txn, status, identities } => {
                self.keep_identities(identities);
                Command::Status { txn: self.keep_optional(txn), status, identities: &[] }
            }
            Command::Delete { force, if_txn } => {
                Command::Delete { force, if_txn: self.keep_optional(if_txn) }
            }
            Command::TopUp { txn, bucket, amount, unit, attributes, keys } => {
                self.id = txn.to_vec();
                self.keep_keys(keys);
                Command::TopUp { txn: NONE, bucket, amount, unit, attributes, keys: &[] }
            }
            Command::Adjust { txn, bucket, amount } => {
                self.id = txn.to_vec();
                Command::Adjust { txn: NONE, bucket, amount }
            }
            Command::Bucket { txn, bucket, attributes, keys, remove } => {
                self.id = txn.to_vec();
                self.keep_keys(keys.unwrap_or(&[]));
                let keys = keys.map(|_| &[][..]);
                Command::Bucket { txn: NONE, bucket, attributes, keys, remove }
            }
            Command::Debit { txn, unit, amount } => {
                self.id = txn.to_vec();
                Command::Debit { txn: NONE, unit, amount }
            }
            Command::DebitItems { txn, items } => {
                self.id = txn.to_vec();
                self.rare.get_or_insert_default().amounts = items.to_vec();
                Command::DebitItems { txn: NONE, items: &[] }
            }
            Command::RefundItems { txn, debit, items, carry } => {
                (self.id, self.second) = (txn.to_vec(), debit.to_vec());
                self.rare.get_or_insert_default().amounts = items.to_vec();
                Command::RefundItems { txn: NONE, debit: NONE, items: &[], carry }
            }
            Command::Refund { txn, debit, amount, carry } => {
                (self.id, self.second) = (txn.to_vec(), debit.to_vec());
                Command::Refund { txn: NONE, debit: NONE, amount, carry }
            }
            Command::Counter { txn, counter, amount, unit, period, clock } => {
                self.id = txn.to_vec();
                Command::Counter { txn: NONE, counter, amount, unit, period, clock }
            }
            Command::Limit { txn, limit, terms } => {
                self.id = txn.to_vec();
                Command::Limit { txn: NONE, limit, terms }
            }
            Command::Transfer(Transfer { payer, id, unit, amount, payee, bucket }) => {
                (self.id, self.second) = (id.to_vec(), payee.to_vec());
                self.rare.get_or_insert_default().payer = payer.to_vec();
                let (payer, id, payee) = (NONE, NONE, NONE);
                Command::Transfer(Transfer { payer, id, unit, amount, payee, bucket })
            }
            Command::Carry(_) => unreachable!("a store carries its transfers by itself"),
            Command::Reserve(request) => Command::Reserve(self.keep_session(&request)),
            Command::Update(request) => Command::Update(self.keep_session(&request)),
            Command::Terminate(request) => Command::Terminate(self.keep_session(&request)),
            Command::Release { session, txn, cancel } => {
                (self.id, self.second) = (session.to_vec(), txn.unwrap_or_default().to_vec());
                Command::Release { session: NONE, txn: txn.map(|_| NONE), cancel }
            }
        }
    }

    fn keep_optional(&mut self, id: Option<&[u8]>) -> Option<&'static [u8]> {
        self.id = id?.to_vec();
        Some(b"")
    }

    fn keep_identities(&mut self, identities: &[(Name, &[u8])]) -> &mut Lists {
        let lists = self.rare.get_or_insert_default();
        let owned = identities.iter().map(|(kind, value)| (*kind, value.to_vec()));
        lists.identities = owned.collect();
        lists
    }

    fn keep_session(&mut self, request: &SessionRequest<'_>) -> SessionRequest<'static> {
        self.id = request.session.to_vec();
        self.second = request.blob.unwrap_or_default().to_vec();
        self.items = SmallVec::from_slice(request.items);
        SessionRequest {
            session: b"",
            request: request.request,
            options: request.options,
            blob: request.blob.map(|_| &b""[..]),
            items: &[],
        }
    }

    /// Calls `run` with the command, and returns its result.
    pub fn with<R>(&self, run: impl FnOnce(&Command<'_>) -> R) -> R {
        run(&self.borrow(&self.identities()))
    }

    /// Returns the identities in the form in which [`CommandBuf::borrow`] needs them.
    pub(crate) fn identities(&self) -> SmallVec<[(Name, &[u8]); 4]> {
        match &self.rare {
            Some(lists) => lists.identities.iter().map(|(kind, id)| (*kind, &id[..])).collect(),
            None => SmallVec::new(),
        }
    }

    /// Returns the keys of a session request's items, in their order. Empty for commands without a session.
    pub fn item_keys(&self) -> impl Iterator<Item = scurry_ledger::ItemKey> {
        self.items.iter().map(|item| item.key)
    }

    pub(crate) fn borrow<'a>(&'a self, identities: &'a [(Name, &'a [u8])]) -> Command<'a> {
        let (id, second) = (&self.id[..], &self.second[..]);
        let lists = self.rare.as_deref();
        let amounts = lists.map_or(&[][..], |lists| &lists.amounts);
        let keys = lists.map_or(&[][..], |lists| &lists.keys);
        let session = |request: SessionRequest<'a>| SessionRequest {
            session: id,
            // `shape` has `Some` with empty bytes where the command had a blob.
            blob: request.blob.map(|_| second),
            items: &self.items,
            ..request
        };
        match self.shape {
            Command::Create(create) => Command::Create(Create {
                txn: create.txn.map(|_| id),
                identities,
                buckets: lists.map_or(&[], |lists| &lists.buckets),
                keys: lists.map_or(&[], |lists| &lists.bucket_keys),
                ..create
            }),
            Command::Status { txn, status, .. } => {
                Command::Status { txn: txn.map(|_| id), status, identities }
            }
            Command::Delete { force, if_txn } => {
                Command::Delete { force, if_txn: if_txn.map(|_| id) }
            }
            Command::TopUp { bucket, amount, unit, attributes, .. } => {
                Command::TopUp { txn: id, bucket, amount, unit, attributes, keys }
            }
            Command::Adjust { bucket, amount, .. } => Command::Adjust { txn: id, bucket, amount },
            Command::Bucket { bucket, attributes, keys: given, remove, .. } => {
                let keys = given.map(|_| keys);
                Command::Bucket { txn: id, bucket, attributes, keys, remove }
            }
            Command::Debit { unit, amount, .. } => Command::Debit { txn: id, unit, amount },
            Command::DebitItems { .. } => Command::DebitItems { txn: id, items: amounts },
            Command::RefundItems { carry, .. } => {
                Command::RefundItems { txn: id, debit: second, items: amounts, carry }
            }
            Command::Refund { amount, carry, .. } => {
                Command::Refund { txn: id, debit: second, amount, carry }
            }
            Command::Counter { counter, amount, unit, period, clock, .. } => {
                Command::Counter { txn: id, counter, amount, unit, period, clock }
            }
            Command::Limit { limit, terms, .. } => Command::Limit { txn: id, limit, terms },
            Command::Transfer(transfer) => Command::Transfer(Transfer {
                payer: lists.map_or(&[], |lists| &lists.payer),
                id,
                payee: second,
                ..transfer
            }),
            Command::Carry(step) => Command::Carry(step),
            Command::Reserve(request) => Command::Reserve(session(request)),
            Command::Update(request) => Command::Update(session(request)),
            Command::Terminate(request) => Command::Terminate(session(request)),
            Command::Release { txn, cancel, .. } => {
                Command::Release { session: id, txn: txn.map(|_| second), cancel }
            }
        }
    }
}
