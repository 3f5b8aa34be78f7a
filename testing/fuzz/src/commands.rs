//! The grammar and the commands that it accepts: every line is a command to one store, or advances its clock. After
//! each line the accounts are valid, a rejection has changed nothing, a duplicate gets the same answer, a chain is
//! executed as a whole or not at all, replies are well-formed, images decode to the same account and totals add up.

mod chain;

use crate::image::comes_back;
use crate::wire::assert_replies;
use scurry_engine::{Config, Expiry, Outcome, ReadError, Shard};
use scurry_ledger::{
    Account, AccountContribution, Code, Command, Limits, Rejection, RequestKind, RequestName, Time,
    Totals, UnitTotals, WindowEntry, validate,
};
use scurry_resp::table::{self, CommandId, HotId, KeyId, StoreId};
use scurry_resp::{
    Args, Parsed, Parser, Protocol, Read, Reply, RequestLimits, Scratch, Write, parse_find,
    parse_list, parse_read, parse_statement, parse_write,
};
use std::collections::BTreeSet;

/// Maximum number of lines in one input.
const LINES_MAX: usize = 100;

/// Time at which an input starts, UTC ms.
const BEGIN: Time = Time(1_700_000_000_000);

/// First byte of a line that advances the clock by the milliseconds after it.
const CLOCK: u8 = b'+';

/// First line of an input that runs under narrow limits.
const NARROW: &[u8] = b"narrow\n";

/// Executes the input as lines of text, as a person would type them.
pub fn check(data: &[u8]) {
    images(data);
}

/// Checks an input, and returns the images of the accounts that it leaves.
pub fn images(data: &[u8]) -> Vec<Vec<u8>> {
    let (limits, lines) = match data.strip_prefix(NARROW) {
        Some(lines) => (narrow(), lines),
        None => (Limits::default(), data),
    };
    let mut store = Store::new(limits);
    for line in lines.split(|&byte| byte == b'\n').take(LINES_MAX) {
        store.line(line);
    }
    store.commit_due()
}

/// Returns bounds that a few lines can reach.
fn narrow() -> Limits {
    Limits {
        identities_max: 2,
        buckets_max: 3,
        counters_max: 2,
        limits_max: 2,
        sessions_max: 2,
        session_ids_max: 3,
        items_max: 3,
        answers_max: 2,
        transactions_max: 4,
        blob_len_max: 8,
        tombstone_ms: 1_000,
        transaction_ms: 2_000,
        validity_ms_default: 500,
        tcc_ms_max: 5_000,
        ..Limits::default()
    }
}

struct Store {
    shard: Shard,
    now: Time,
    /// Every account id that a command has named.
    accounts: BTreeSet<Vec<u8>>,
    scratch: Scratch<'static>,
}

impl Store {
    fn new(limits: Limits) -> Store {
        let config = Config { limits, ..Config::default() };
        let shard = Shard::new(config);
        Store { shard, now: BEGIN, accounts: BTreeSet::new(), scratch: Scratch::default() }
    }

    fn line(&mut self, line: &[u8]) {
        if let [CLOCK, digits @ ..] = line {
            let moved = scurry_resp::parse_integer(digits).unwrap_or_default();
            self.now = self.now.plus_ms(moved).clamp(Time(0), Time::LAST);
            while self.shard.tick(self.now) > 0 {}
            return;
        }
        if line.first() == Some(&b'*') {
            return;
        }
        let sent = [line, b"\n"].concat();
        let mut parser = Parser::default();
        if let Parsed::Request(_) = parser.parse(&sent, &RequestLimits::default(), true) {
            self.request(parser.args(&sent, 0));
        }
    }

    fn request(&mut self, args: Args<'_>) {
        let Some(spec) = table::find(args.at(0)).filter(|spec| spec.accepts(args.len())) else {
            return;
        };
        let mut scratch: Scratch<'_> = std::mem::take(&mut self.scratch).reuse();
        match spec.id {
            CommandId::ScurWrite(id) => match parse_write(id, args, &mut scratch) {
                Ok(Write { account, command }) => self.write(account, &command),
                Err(fault) => well_formed(|reply| reply.error(fault)),
            },
            CommandId::ScurRead(id) => match parse_read(id, args) {
                Ok(read) => self.read(read),
                Err(fault) => well_formed(|reply| reply.error(fault)),
            },
            CommandId::ScurChain(_) => self.chain(args),
            CommandId::Store(StoreId::List) => {
                if let Err(fault) = parse_list(args) {
                    well_formed(|reply| reply.error(fault));
                }
            }
            CommandId::Store(StoreId::Find) => {
                if let Err(fault) = parse_find(args) {
                    well_formed(|reply| reply.error(fault));
                }
            }
            CommandId::Store(StoreId::Statement) => {
                if let Err(fault) = parse_statement(args) {
                    well_formed(|reply| reply.error(fault));
                }
            }
            CommandId::Store(StoreId::Totals) => {
                well_formed(|reply| scurry_resp::totals_map(reply, self.shard.totals()));
            }
            id => self.plain(id, args),
        }
        self.scratch = scratch.reuse();
    }

    fn write(&mut self, id: &[u8], command: &Command<'_>) {
        self.accounts.insert(id.to_vec());
        let key = self.shard.key(id);
        let before = self.valid_account(id);
        let is_below = is_below(before.as_ref(), command);
        let outcome = self.shard.execute(self.now, key, command);
        let after = self.valid_account(id);
        match &outcome {
            Outcome::Answer { answer, replayed } => {
                well_formed(|reply| scurry_resp::answer(reply, command, answer, *replayed));
                if *replayed {
                    assert_eq!(before, after, "a duplicate changed the account: {command:?}");
                }
            }
            Outcome::Reject(rejection) => {
                well_formed(|reply| scurry_resp::rejection(reply, rejection));
                assert_eq!(before, after, "a refusal changed the account: {command:?}");
            }
            Outcome::WrongType => assert_eq!((before, &after), (None, &None)),
            Outcome::OutOfMemory => panic!("there is no bound on memory"),
        }
        // A command whose answer is stored is replayed when it is repeated, and changes nothing.
        if let (Outcome::Answer { answer, .. }, true) = (&outcome, is_remembered(command)) {
            let again = self.shard.execute(self.now, key, command);
            let expected = Outcome::Answer { answer: answer.clone(), replayed: true };
            let out = |again: &Outcome| {
                matches!(again, Outcome::Reject(Rejection { code: Code::OutOfWindow, .. }))
            };
            // Below the window only the number is remembered, not the answer.
            let forgotten = is_below && out(&again);
            assert!(forgotten || again == expected, "not the same again: {command:?}: {again:?}");
            assert_eq!(self.valid_account(id), after, "the same again: {command:?}");
        }
    }

    fn read(&mut self, read: Read<'_>) {
        let id = read.account();
        let Some(account) = self.valid_account(id) else { return };
        let now = self.now.on(Some(&account));
        well_formed(|reply| match read {
            Read::Audit(_) => scurry_resp::audit_map(reply, &account, true),
            Read::Session { session, .. } => match account.session(session) {
                Some(session) => scurry_resp::session_map(reply, &account, session, now),
                None => reply.null(),
            },
            Read::Check { unit, item, amount, .. } => {
                let checked = scurry_ledger::check(&account, (unit, item), amount, now);
                assert!(checked.amount >= 0, "{checked:?}");
                let suffices = checked.amount >= amount || checked.code == Code::ServiceDenied;
                assert_eq!(checked.code != Code::CreditLimitReached, suffices, "{checked:?}");
                scurry_resp::check_answer(reply, checked);
            }
            Read::Transaction { txn, .. } if account.transactions.find(txn).is_none() => {
                reply.null();
            }
            Read::Holds { .. } | Read::Transaction { .. } => read.answer(reply, &account, now),
            Read::Account(_) => scurry_resp::account_map(reply, &account, now),
        });
    }

    /// Executes commands on plain values, which share the keys with the accounts.
    fn plain(&mut self, id: CommandId, args: Args<'_>) {
        let (now, key) = (self.now, self.shard.key(args.at(1)));
        let is_account = self.valid_account(args.at(1)).is_some();
        match id {
            CommandId::Hot(HotId::Set) if args.len() == 3 => {
                let set = self.shard.set(now, key, args.at(2), Expiry::Never);
                assert_eq!(set.is_err(), is_account);
                if !is_account {
                    let value = self.shard.value(now, key).expect("it is no account");
                    assert_eq!(value.map(|value| value.bytes), Some(args.at(2)), "as it was set");
                }
            }
            CommandId::Key(KeyId::Del) => assert_eq!(self.shard.del(now, key).is_err(), is_account),
            CommandId::Hot(HotId::Get) => {
                assert_eq!(self.shard.value(now, key).is_err(), is_account)
            }
            _ => {}
        }
    }

    /// Returns the current account after validation; None when it does not exist.
    fn valid_account(&mut self, id: &[u8]) -> Option<Account> {
        match self.shard.account(self.now, self.shard.key(id)) {
            Ok(account) => {
                let now = self.now.on(Some(account));
                assert_eq!(validate(account, now), Ok(()), "{account:?}");
                comes_back(account);
                Some(account.clone())
            }
            Err(ReadError::UnknownAccount | ReadError::WrongType) => None,
        }
    }

    /// Commits everything that is due, after which the totals are the sum of the accounts. Returns their images.
    fn commit_due(&mut self) -> Vec<Vec<u8>> {
        let mut images = Vec::new();
        while self.shard.tick(self.now) > 0 {}
        let mut sum = Totals::default();
        for id in std::mem::take(&mut self.accounts) {
            self.commit_refills(&id);
            let account = self.valid_account(&id);
            sum.replace(&AccountContribution::default(), account.as_ref());
            images.extend(account.as_ref().map(comes_back));
        }
        let kept = self.shard.totals();
        assert_eq!((kept.accounts, kept.sessions), (sum.accounts, sum.sessions));
        assert_eq!(units(kept), units(&sum), "totals are not the sum of the accounts");
        assert!(kept.units.iter().all(UnitTotals::conserves), "{kept:?}");
        images
    }

    /// Commits refills: no timer runs for a refill alone, but any Commit does the due refills.
    fn commit_refills(&mut self, id: &[u8]) {
        let Some(account) = self.valid_account(id) else { return };
        if !account.allowances.is_empty() {
            let same = Command::Status { txn: None, status: account.status, identities: &[] };
            let outcome = self.shard.execute(self.now, self.shard.key(id), &same);
            assert!(matches!(outcome, Outcome::Answer { .. }), "{outcome:?}: {account:?}");
        }
    }
}

/// Returns the units in a fixed order, without units that have no amounts left.
fn units(totals: &Totals) -> Vec<String> {
    let mut units: Vec<String> = totals
        .units
        .iter()
        .filter(|unit| unit.credited != 0 || unit.uncollected != 0 || unit.consumed != 0)
        .map(|unit| format!("{unit:?}"))
        .collect();
    units.sort();
    units
}

/// Reports whether an update is new but below the window of its session: its answer is not stored.
fn is_below(account: Option<&Account>, command: &Command<'_>) -> bool {
    let Command::Update(request) = command else { return false };
    let open = account.and_then(|account| account.session(request.session));
    let name = RequestName { number: request.request, kind: RequestKind::Update };
    let known = open.map(|open| open.answers.look_up(name, narrow().answers_max, open.version));
    known == Some(WindowEntry::Late)
}

/// Reports whether the command's answer is stored by request number or transaction id.
fn is_remembered(command: &Command<'_>) -> bool {
    match command {
        Command::Create(_) | Command::Status { .. } | Command::Delete { .. } => false,
        Command::Release { .. } | Command::Carry(_) => false,
        Command::Transfer(_)
        | Command::TopUp { .. }
        | Command::Adjust { .. }
        | Command::Bucket { .. }
        | Command::Debit { .. }
        | Command::DebitItems { .. }
        | Command::Refund { .. }
        | Command::RefundItems { .. }
        | Command::Counter { .. }
        | Command::Limit { .. }
        | Command::Reserve(_)
        | Command::Update(_)
        | Command::Terminate(_) => true,
    }
}

/// Checks that one reply is complete in either protocol.
fn well_formed(write: impl Fn(&mut Reply<'_>)) {
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut out = Vec::new();
        write(&mut Reply::new(&mut out, protocol));
        assert_replies(&out, protocol, 1);
    }
}
