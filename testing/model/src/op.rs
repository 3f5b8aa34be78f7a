//! Commands that own their bytes, so that a test can store, change and print a list of them.

use scurry_ledger::{
    BucketAttributes, Code, Command, Create, ItemAmount, ItemKey, ItemRequest, LimitSubject,
    LimitTerms, Link, Name, NewBucket, Period, PeriodClock, RequestKind, RequestName,
    SessionOptions, SessionRequest, Status, Transfer, TransferStep, WindowTerms,
};

/// A [`Command`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of Command")]
pub enum Op {
    Create {
        txn: Option<String>,
        status: Status,
        identities: Vec<(Name, Vec<u8>)>,
        buckets: Vec<NewBucket>,
        keys: Vec<(usize, ItemKey)>,
    },
    Status {
        txn: Option<String>,
        status: Status,
        identities: Vec<(Name, Vec<u8>)>,
    },
    Delete {
        force: bool,
        if_txn: Option<String>,
    },
    TopUp {
        txn: String,
        bucket: Name,
        amount: i64,
        unit: Option<Name>,
        with: BucketAttributes,
        keys: Vec<ItemKey>,
    },
    Adjust {
        txn: String,
        bucket: Name,
        amount: i64,
    },
    Bucket {
        txn: String,
        bucket: Name,
        with: BucketAttributes,
        keys: Option<Vec<ItemKey>>,
        remove: bool,
    },
    Debit {
        txn: String,
        unit: Name,
        amount: i64,
    },
    DebitItems {
        txn: String,
        items: Vec<ItemAmount>,
    },
    RefundItems {
        txn: String,
        debit: String,
        items: Vec<ItemAmount>,
        carry: bool,
    },
    Refund {
        txn: String,
        debit: String,
        amount: Option<i64>,
        carry: bool,
    },
    Counter {
        txn: String,
        counter: Name,
        amount: i64,
        unit: Option<Name>,
        period: Option<Period>,
        clock: PeriodClock,
    },
    Limit {
        txn: String,
        limit: Name,
        terms: LimitTerms,
    },
    Transfer {
        payer: String,
        id: String,
        unit: Name,
        amount: i64,
        payee: String,
        bucket: Name,
    },
    Receive {
        receipt: String,
        bucket: Name,
        unit: Name,
        amount: i64,
    },
    Settle {
        id: String,
    },
    Forget {
        receipt: String,
    },
    Conclude {
        id: String,
        refusal: Option<Code>,
    },
    Reserve(Request),
    Update(Request),
    Terminate(Request),
    Release {
        session: String,
        txn: Option<String>,
        cancel: bool,
    },
}

/// Calls `run` with the borrowed commands of a chain and their accounts.
pub fn with_links<R>(chain: &[(String, Op)], run: impl FnOnce(&[Link<'_>]) -> R) -> Option<R> {
    let (mut run, mut given) = (Some(run), None);
    borrow(chain, &[], &mut |links| given = run.take().map(|run| run(links)));
    given
}

fn borrow(rest: &[(String, Op)], links: &[Link<'_>], run: &mut dyn FnMut(&[Link<'_>])) {
    match rest.split_first() {
        None => run(links),
        Some(((account, op), rest)) => op.with(|command| {
            let mut more = links.to_vec();
            more.push(Link { account: account.as_bytes(), command: *command });
            borrow(rest, &more, run);
        }),
    }
}

/// A [`SessionRequest`] that owns its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of SessionRequest")]
pub struct Request {
    pub session: String,
    pub request: u32,
    pub options: SessionOptions,
    pub blob: Option<Vec<u8>>,
    pub items: Vec<ItemRequest>,
}

/// Returns a name that is known to be valid; "?" for an invalid one.
pub fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap_or_else(|| name("?"))
}

/// Returns an item key that is known to be valid; 0 for an invalid one.
pub fn key(text: &str) -> ItemKey {
    ItemKey::new(text.as_bytes()).unwrap_or(ItemKey::Number(0))
}

impl Request {
    /// Creates a request without items.
    pub fn new(session: &str, request: u32) -> Request {
        Request { session: session.to_string(), request, ..Request::default() }
    }

    /// Adds an item that requests `requested`.
    pub fn ask(mut self, key: impl Into<ItemKey>, unit: &str, requested: i64) -> Request {
        let (key, unit, requested) = (key.into(), name(unit), Some(requested));
        self.items.push(ItemRequest { key, unit, used: None, requested, min: None });
        self
    }

    /// Adds an item that has used `used` and requests nothing.
    pub fn used(mut self, key: impl Into<ItemKey>, unit: &str, used: i64) -> Request {
        let (key, unit, used) = (key.into(), name(unit), Some(used));
        self.items.push(ItemRequest { key, unit, used, requested: None, min: None });
        self
    }

    /// Adds an item that has used `used` and requests `requested`.
    pub fn both(
        mut self,
        key: impl Into<ItemKey>,
        unit: &str,
        used: i64,
        requested: i64,
    ) -> Request {
        let (key, unit) = (key.into(), name(unit));
        let (used, requested) = (Some(used), Some(requested));
        self.items.push(ItemRequest { key, unit, used, requested, min: None });
        self
    }

    /// Sets the least acceptable grant of the last item.
    pub fn min(mut self, min: i64) -> Request {
        self.items.iter_mut().rev().take(1).for_each(|item| item.min = Some(min));
        self
    }

    /// Adds LATEUSE.
    pub fn late(self) -> Request {
        Request { options: SessionOptions { late_use: true, ..self.options }, ..self }
    }

    /// Turns it into a RESERVE.
    pub fn reserve(self) -> Op {
        Op::Reserve(self)
    }

    /// Turns it into an UPDATE.
    pub fn update(self) -> Op {
        Op::Update(self)
    }

    /// Turns it into a TERMINATE.
    pub fn terminate(self) -> Op {
        Op::Terminate(self)
    }

    fn borrow(&self) -> SessionRequest<'_> {
        SessionRequest {
            session: self.session.as_bytes(),
            request: self.request,
            options: self.options,
            blob: self.blob.as_deref(),
            items: &self.items,
        }
    }
}

fn amounts(items: &[(u32, &str, i64)]) -> Vec<ItemAmount> {
    let one = |&(key, unit, amount): &(u32, &str, i64)| ItemAmount {
        key: key.into(),
        unit: name(unit),
        amount,
    };
    items.iter().map(one).collect()
}

impl Op {
    /// Creates an active account with buckets of (id, unit, first credit).
    pub fn create(buckets: &[(&str, &str, i64)]) -> Op {
        let new = |&(bucket, unit, amount): &(&str, &str, i64)| NewBucket {
            bucket: name(bucket),
            unit: name(unit),
            amount,
            attributes: BucketAttributes::default(),
        };
        let buckets = buckets.iter().map(new).collect();
        Op::Create { txn: None, status: Status::Active, identities: vec![], buckets, keys: vec![] }
    }

    /// Sets the status.
    pub fn status(status: Status) -> Op {
        Op::Status { txn: None, status, identities: vec![] }
    }

    /// Tops up an existing bucket.
    pub fn topup(txn: &str, bucket: &str, amount: i64) -> Op {
        let with = BucketAttributes::default();
        Op::TopUp {
            txn: txn.to_string(),
            bucket: name(bucket),
            amount,
            unit: None,
            with,
            keys: vec![],
        }
    }

    /// Changes attributes of a bucket.
    pub fn bucket(txn: &str, bucket: &str, with: BucketAttributes) -> Op {
        Op::Bucket { txn: txn.to_string(), bucket: name(bucket), with, keys: None, remove: false }
    }

    /// Adjusts a bucket.
    pub fn adjust(txn: &str, bucket: &str, amount: i64) -> Op {
        Op::Adjust { txn: txn.to_string(), bucket: name(bucket), amount }
    }

    /// Debits a unit directly.
    pub fn debit(txn: &str, unit: &str, amount: i64) -> Op {
        Op::Debit { txn: txn.to_string(), unit: name(unit), amount }
    }

    /// Debits items of (key, unit, amount) directly.
    pub fn debit_items(txn: &str, items: &[(u32, &str, i64)]) -> Op {
        Op::DebitItems { txn: txn.to_string(), items: amounts(items) }
    }

    /// Refunds items of a debit.
    pub fn refund_items(txn: &str, debit: &str, items: &[(u32, &str, i64)]) -> Op {
        let (txn, debit, items) = (txn.to_string(), debit.to_string(), amounts(items));
        Op::RefundItems { txn, debit, items, carry: false }
    }

    /// Refunds a debit; None refunds everything that is left.
    pub fn refund(txn: &str, debit: &str, amount: Option<i64>) -> Op {
        Op::Refund { txn: txn.to_string(), debit: debit.to_string(), amount, carry: false }
    }

    /// Counts with a counter.
    pub fn counter(txn: &str, counter: &str, amount: i64, period: Option<Period>) -> Op {
        let (txn, counter, clock) = (txn.to_string(), name(counter), PeriodClock::NONE);
        Op::Counter { txn, counter, amount, unit: None, period, clock }
    }

    /// Sets a limit on all use of a unit.
    pub fn limit(txn: &str, limit: &str, unit: &str, amount: i64, period: Option<Period>) -> Op {
        let counted = LimitSubject::Units { unit: name(unit), item: None };
        let window = WindowTerms::Period { period, clock: PeriodClock::NONE };
        let terms = LimitTerms::Set { counted, amount, window };
        Op::Limit { txn: txn.to_string(), limit: name(limit), terms }
    }

    /// Sets a limit on open sessions.
    pub fn session_limit(txn: &str, limit: &str, amount: i64) -> Op {
        let counted = LimitSubject::Sessions;
        let terms = LimitTerms::Set { counted, amount, window: WindowTerms::UNSAID };
        Op::Limit { txn: txn.to_string(), limit: name(limit), terms }
    }

    /// Releases a session, as an operator does to abort it.
    pub fn release(session: &str) -> Op {
        Op::Release { session: session.to_string(), txn: None, cancel: false }
    }

    /// Deletes the account.
    pub fn delete(force: bool) -> Op {
        Op::Delete { force, if_txn: None }
    }

    /// Reports whether the command has an id by which a duplicate is recognized.
    pub fn has_id(&self) -> bool {
        match self {
            Op::Create { txn, .. } | Op::Status { txn, .. } => txn.is_some(),
            Op::Delete { .. } => false,
            _ => true,
        }
    }

    /// Reports whether it is a step in which a host carries a transfer, for which no door has a word.
    pub fn is_transfer_step(&self) -> bool {
        matches!(
            self,
            Op::Receive { .. } | Op::Settle { .. } | Op::Forget { .. } | Op::Conclude { .. }
        )
    }

    /// Returns the request of a RESERVE, UPDATE or TERMINATE.
    pub fn request(&self) -> Option<&Request> {
        match self {
            Op::Reserve(request) | Op::Update(request) | Op::Terminate(request) => Some(request),
            _ => None,
        }
    }

    /// Returns the name of the request of a RESERVE, UPDATE or TERMINATE.
    pub fn request_name(&self) -> Option<RequestName> {
        let kind = match self {
            Op::Update(_) => RequestKind::Update,
            Op::Terminate(_) => RequestKind::Terminate,
            _ => RequestKind::Reserve,
        };
        self.request().map(|request| RequestName { number: request.request, kind })
    }

    /// Calls `run` with the borrowed command.
    pub fn with<R>(&self, run: impl FnOnce(&Command<'_>) -> R) -> R {
        let pairs: Vec<(Name, &[u8])> = match self {
            Op::Create { identities, .. } | Op::Status { identities, .. } => {
                identities.iter().map(|(kind, value)| (*kind, value.as_slice())).collect()
            }
            _ => vec![],
        };
        run(&match self {
            Op::Create { txn, status, buckets, keys, .. } => Command::Create(Create {
                txn: txn.as_ref().map(String::as_bytes),
                status: *status,
                identities: &pairs,
                buckets,
                keys,
            }),
            Op::Status { txn, status, .. } => Command::Status {
                txn: txn.as_ref().map(String::as_bytes),
                status: *status,
                identities: &pairs,
            },
            Op::Delete { force, if_txn } => {
                Command::Delete { force: *force, if_txn: if_txn.as_ref().map(String::as_bytes) }
            }
            Op::TopUp { txn, bucket, amount, unit, with, keys } => Command::TopUp {
                txn: txn.as_bytes(),
                bucket: *bucket,
                amount: *amount,
                unit: *unit,
                attributes: *with,
                keys,
            },
            Op::Adjust { txn, bucket, amount } => {
                Command::Adjust { txn: txn.as_bytes(), bucket: *bucket, amount: *amount }
            }
            Op::Bucket { txn, bucket, with, keys, remove } => Command::Bucket {
                txn: txn.as_bytes(),
                bucket: *bucket,
                attributes: *with,
                keys: keys.as_deref(),
                remove: *remove,
            },
            Op::Debit { txn, unit, amount } => {
                Command::Debit { txn: txn.as_bytes(), unit: *unit, amount: *amount }
            }
            Op::DebitItems { txn, items } => Command::DebitItems { txn: txn.as_bytes(), items },
            Op::RefundItems { txn, debit, items, carry } => {
                let (txn, debit) = (txn.as_bytes(), debit.as_bytes());
                Command::RefundItems { txn, debit, items, carry: *carry }
            }
            Op::Refund { txn, debit, amount, carry } => {
                let (txn, debit) = (txn.as_bytes(), debit.as_bytes());
                Command::Refund { txn, debit, amount: *amount, carry: *carry }
            }
            Op::Counter { txn, counter, amount, unit, period, clock } => Command::Counter {
                txn: txn.as_bytes(),
                counter: *counter,
                amount: *amount,
                unit: *unit,
                period: *period,
                clock: *clock,
            },
            Op::Limit { txn, limit, terms } => {
                Command::Limit { txn: txn.as_bytes(), limit: *limit, terms: *terms }
            }
            Op::Transfer { payer, id, unit, amount, payee, bucket } => {
                Command::Transfer(Transfer {
                    payer: payer.as_bytes(),
                    id: id.as_bytes(),
                    unit: *unit,
                    amount: *amount,
                    payee: payee.as_bytes(),
                    bucket: *bucket,
                })
            }
            Op::Receive { receipt, bucket, unit, amount } => {
                Command::Carry(TransferStep::Receive {
                    receipt: receipt.as_bytes(),
                    bucket: *bucket,
                    unit: *unit,
                    amount: *amount,
                })
            }
            Op::Settle { id } => Command::Carry(TransferStep::Settle { id: id.as_bytes() }),
            Op::Forget { receipt } => {
                Command::Carry(TransferStep::Forget { receipt: receipt.as_bytes() })
            }
            Op::Conclude { id, refusal } => {
                Command::Carry(TransferStep::Conclude { id: id.as_bytes(), refusal: *refusal })
            }
            Op::Reserve(request) => Command::Reserve(request.borrow()),
            Op::Update(request) => Command::Update(request.borrow()),
            Op::Terminate(request) => Command::Terminate(request.borrow()),
            Op::Release { session, txn, cancel } => Command::Release {
                session: session.as_bytes(),
                txn: txn.as_ref().map(String::as_bytes),
                cancel: *cancel,
            },
        })
    }
}
