//! Requests to a store. Each names the accounts that it is about.

use crate::CommandBuf;
use scurry_ledger::{
    Command, Create, ItemKey, Link, Name, SessionPage, SessionRequest, ShownParts,
};

/// One request. It owns its data, so that it can wait in a queue and travel to another thread.
#[expect(clippy::large_enum_variant, reason = "nearly every request is a command")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A command that the ledger decides.
    Write(Write),
    /// Commands on several accounts of one hash slot: all are carried out, or none (docs/ledger.md section 15).
    Chain(Vec<Write>),
    /// A read of one account.
    Read(Read),
}

/// A command and the account that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Account id, 1 to [`scurry_ledger::ACCOUNT_ID_LEN_MAX`] bytes.
    pub account: Vec<u8>,
    /// The command.
    pub command: CommandBuf,
}

/// An atomic read of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// `SCUR.GET`: the account.
    Account {
        /// Account id.
        account: Vec<u8>,
    },
    /// `SCUR.SESSION`: an open session and its account.
    Session {
        /// Account id.
        account: Vec<u8>,
        /// Session id.
        session: Vec<u8>,
    },
    /// `SCUR.AUDIT`: the conservation totals of the account.
    Audit {
        /// Account id.
        account: Vec<u8>,
    },
    /// `SCUR.CHECK`: whether an amount could be reserved now (RFC 8506 section 6.2).
    Check {
        /// Account id.
        account: Vec<u8>,
        /// Unit of the amount.
        unit: Name,
        /// Item that would get it; none for a debit without an item.
        item: Option<ItemKey>,
        /// Minor units, at least 1.
        amount: i64,
    },
    /// `SCUR.HOLDS`: balances and a page of open holds.
    Holds {
        /// Account id.
        account: Vec<u8>,
        /// Last session of the page before; empty for the first page.
        after: Vec<u8>,
        /// Most sessions of the page, at least 1.
        count: u16,
    },
    /// `SCUR.TRANSACTION`: what is remembered of a transaction.
    Transaction {
        /// Account id.
        account: Vec<u8>,
        /// Transaction id.
        txn: Vec<u8>,
    },
}

impl Write {
    /// Copies a command, with the id of its account.
    pub fn new(account: &[u8], command: &Command<'_>) -> Write {
        Write { account: account.to_vec(), command: CommandBuf::new(command) }
    }
}

impl Read {
    /// Returns the id of the account to read.
    pub fn account(&self) -> &[u8] {
        match self {
            Read::Account { account }
            | Read::Session { account, .. }
            | Read::Audit { account }
            | Read::Holds { account, .. }
            | Read::Transaction { account, .. }
            | Read::Check { account, .. } => account,
        }
    }

    /// Returns the parts of the account that the read shows.
    pub fn shown(&self) -> ShownParts<'_> {
        match self {
            Read::Account { .. } | Read::Audit { .. } => ShownParts::All,
            Read::Session { session, .. } => ShownParts::Session(session),
            Read::Transaction { txn, .. } => ShownParts::Transaction(txn),
            Read::Holds { after, count, .. } => {
                ShownParts::Page(SessionPage { after, count: usize::from(*count) })
            }
            Read::Check { .. } => ShownParts::None,
        }
    }
}

impl Request {
    /// Returns the request for a command to an account.
    pub fn write(account: &[u8], command: &Command<'_>) -> Request {
        Request::Write(Write::new(account, command))
    }

    /// Returns the id of the account whose core executes the request. For a chain it is the first account, or an empty
    /// id if the chain is empty.
    pub fn account(&self) -> &[u8] {
        match self {
            Request::Write(write) => &write.account,
            Request::Chain(links) => links.first().map_or(b"", |link| &link.account),
            Request::Read(read) => read.account(),
        }
    }

    /// Reports whether the request may be sent again when its reply did not arrive: it changes nothing, or the store
    /// recognizes the duplicate by a transaction id or request number. Other requests may get a different answer the
    /// second time.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Request::Write(write) => write.command.with(|command| match command {
                Command::Create(Create { txn, .. }) | Command::Status { txn, .. } => txn.is_some(),
                Command::Delete { if_txn, .. } => if_txn.is_some(),
                Command::Release { txn, .. } => txn.is_some(),
                _ => true,
            }),
            Request::Chain(_) | Request::Read(_) => true,
        }
    }

    /// Returns the command's name in the command table, for example `SCUR.DEBIT`.
    pub fn command_name(&self) -> &'static str {
        match self {
            Request::Write(write) => write.command.with(command_name),
            Request::Chain(_) => "SCUR.CHAIN",
            Request::Read(Read::Account { .. }) => "SCUR.GET",
            Request::Read(Read::Session { .. }) => "SCUR.SESSION",
            Request::Read(Read::Audit { .. }) => "SCUR.AUDIT",
            Request::Read(Read::Check { .. }) => "SCUR.CHECK",
            Request::Read(Read::Holds { .. }) => "SCUR.HOLDS",
            Request::Read(Read::Transaction { .. }) => "SCUR.TRANSACTION",
        }
    }
}

/// The session commands that carry a [`SessionRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStep {
    /// The command that opens the session (CCR-INITIAL).
    Reserve,
    /// The command that reports use and asks for more units (CCR-UPDATE).
    Update,
    /// The command that ends the session (CCR-TERMINATION).
    Terminate,
}

impl SessionStep {
    /// Returns this command with the given request.
    pub fn command(self, request: SessionRequest<'_>) -> Command<'_> {
        match self {
            SessionStep::Reserve => Command::Reserve(request),
            SessionStep::Update => Command::Update(request),
            SessionStep::Terminate => Command::Terminate(request),
        }
    }
}

/// Calls `run` with the links of a chain, and returns its result.
pub fn with_links<R>(writes: &[Write], run: impl FnOnce(&[Link<'_>]) -> R) -> R {
    let identities: Vec<_> = writes.iter().map(|write| write.command.identities()).collect();
    let links = writes.iter().zip(&identities).map(|(write, identities)| Link {
        account: &write.account,
        command: write.command.borrow(identities),
    });
    run(&links.collect::<Vec<Link<'_>>>())
}

/// Returns a command's name in the command table.
pub fn command_name(command: &Command<'_>) -> &'static str {
    match command {
        Command::Create(_) => "SCUR.CREATE",
        Command::Status { .. } => "SCUR.STATUS",
        Command::Delete { .. } => "SCUR.DELETE",
        Command::TopUp { .. } => "SCUR.TOPUP",
        Command::Adjust { .. } => "SCUR.ADJUST",
        Command::Bucket { .. } => "SCUR.BUCKET",
        Command::Debit { .. } | Command::DebitItems { .. } => "SCUR.DEBIT",
        Command::Refund { .. } | Command::RefundItems { .. } => "SCUR.REFUND",
        Command::Counter { .. } => "SCUR.COUNTER",
        Command::Limit { .. } => "SCUR.LIMIT",
        Command::Transfer(_) => "SCUR.TRANSFER",
        Command::Carry(_) => unreachable!("a store carries its transfers by itself"),
        Command::Reserve(_) => "SCUR.RESERVE",
        Command::Update(_) => "SCUR.UPDATE",
        Command::Terminate(_) => "SCUR.TERMINATE",
        Command::Release { .. } => "SCUR.RELEASE",
    }
}
