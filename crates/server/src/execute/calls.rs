//! Requests of doors in this process, carried out without text: the same checks, counts and order as a request that
//! another core has sent (`execute/work.rs`).

use crate::durable::HeldOutput;
use crate::execute::commands::cluster;
use crate::execute::dispatch;
use crate::execute::node::{LOOKAHEAD_MAX, Node};
use crate::execute::timing::Origin;
use crate::mail::bundle::Caller;
use crate::mail::calls::{Call, CallTicket, Outcome, ReplyQueue};
use crate::measures::stopwatch;
use scurry_engine::{ChainOutcome, Key, NeededParts, Outcome as Executed, ReadError};
use scurry_ledger::{Code, Link, Rejection, SessionPage, check};
use scurry_resp::table::{Memory, Spec, find};
use scurry_resp::{
    CHAIN_CROSS_SLOT, ENDED_SESSION, OUT_OF_MEMORY, Requests, UNKNOWN_ACCOUNT, UNKNOWN_SESSION,
    UNKNOWN_TRANSACTION, WRONG_TYPE, slot,
};
use scurry_service::{
    AccountView, Answered, AuditView, HoldsView, Read, Refusal, Reply, Request, SessionView,
    TransactionView, Write, command_name, with_links,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The address that MONITOR and the slow log show for a door in this process.
const DOOR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

impl Node {
    /// Executes the waiting calls until the log is congested.
    pub(crate) fn carry_out_calls(&mut self) {
        if self.is_congested() {
            return;
        }
        let caller = Caller { peer: Some(DOOR), ..Caller::default() };
        self.requests_began();
        while !self.calls.is_empty() && !self.is_congested() {
            let ahead = self.calls.len().min(LOOKAHEAD_MAX);
            let mut hashes = [0; LOOKAHEAD_MAX];
            for (hash, call) in hashes.iter_mut().zip(&self.calls) {
                *hash = self.shard.key(call.request.account()).hash();
            }
            self.touch(hashes[..ahead].iter().copied());
            for hash in &hashes[..ahead] {
                if self.is_frame_long() {
                    break;
                }
                let Some(Call { request, ticket }) = self.calls.pop_front() else { break };
                let outcome = self.carry_out(&caller, &request, *hash);
                self.give_when_durable(ticket, outcome);
            }
            self.look_at_commits();
        }
        self.requests_ended(Origin::Core(&caller));
    }

    /// Executes one request; `hash` is the hash of its account.
    fn carry_out(&mut self, caller: &Caller, request: &Request, hash: u64) -> Outcome {
        let Some(spec) = find(request.command_name().as_bytes()) else {
            return Err(Refusal::Store("ERR unknown command".to_owned()).into());
        };
        if self.shared.is_monitored() {
            self.show_to_monitors(request);
        }
        // A chain has several commands, and so may take long.
        let alone = matches!(request, Request::Chain(_)) || stopwatch::is_alone(spec.id, 0);
        if self.slowness.stopwatch.ends_before(alone) {
            self.span_ended(Origin::Core(caller), None);
        }
        self.durable.note_shown();
        let outcome = match self.durable.trouble().and_then(|trouble| trouble.refuses(spec)) {
            Some(text) => Err(Refusal::Store(text)),
            None if !self.durable.executes() => Err(Refusal::Store(cluster::not_here(self))),
            None => self.run(spec, request, hash),
        };
        if self.tracking.is_active() {
            self.tell_changes(None, None);
        }
        if self.slowness.stopwatch.ends_after(alone, spec) {
            let mut kept = Requests::default();
            kept.push(request.arguments().iter());
            self.span_ended(Origin::Core(caller), Some((spec, kept.get(0))));
        }
        match &outcome {
            Ok(_) => dispatch::count(self, Some(spec), b""),
            Err(refusal) => dispatch::count(self, Some(spec), error_line(refusal).as_bytes()),
        }
        Ok(outcome?)
    }

    fn run(&mut self, spec: &Spec, request: &Request, hash: u64) -> Result<Reply, Refusal> {
        let key = Key::hashed(request.account(), hash);
        match request {
            Request::Write(write) => self.write(spec.memory, write, key),
            Request::Chain(links) => self.chain(links),
            Request::Read(read) => self.show(read, key),
        }
    }

    fn write(&mut self, memory: Memory, write: &Write, key: Key<'_>) -> Result<Reply, Refusal> {
        let now = self.now.time;
        let executed = write.command.with(|command| match memory {
            Memory::Free => self.shard.execute(now, key, command),
            Memory::ForNew | Memory::ForAbsent | Memory::Taken => {
                self.shard.execute_in_bounds(now, key, command)
            }
        });
        match executed {
            Executed::Answer { answer, replayed } => {
                let keys = write.command.item_keys().collect();
                Ok(Reply::Answer(Answered { answer: answer.clone(), replayed, keys }))
            }
            Executed::Reject(rejection) => Err(rejected(&rejection)),
            Executed::WrongType => Err(Refusal::Store(WRONG_TYPE.to_owned())),
            Executed::OutOfMemory => Err(Refusal::Store(OUT_OF_MEMORY.to_owned())),
        }
    }

    fn chain(&mut self, writes: &[Write]) -> Result<Reply, Refusal> {
        let slot_of = |write: &Write| slot(&write.account);
        if writes.windows(2).any(|pair| slot_of(&pair[0]) != slot_of(&pair[1])) {
            return Err(Refusal::Store(CHAIN_CROSS_SLOT.to_owned()));
        }
        let Node { shard, chain_answers: answers, now, .. } = self;
        let needs_memory = |link: &Link<'_>| {
            let spec = find(command_name(&link.command).as_bytes());
            spec.is_some_and(|spec| spec.memory != Memory::Free)
        };
        let outcome = with_links(writes, |links| match links.iter().any(needs_memory) {
            false => shard.execute_chain(now.time, links, answers),
            true => shard.execute_chain_in_bounds(now.time, links, answers),
        });
        match outcome {
            ChainOutcome::Answers { replayed } => {
                let each = writes.iter().zip(answers.iter()).map(|(write, answer)| Answered {
                    answer: answer.clone(),
                    replayed,
                    keys: write.command.item_keys().collect(),
                });
                Ok(Reply::Chain(each.collect()))
            }
            ChainOutcome::Reject(refused) => {
                let at = refused.link.and_then(|at| Some((at + 1, writes.get(at)?)));
                let rejection = &refused.rejection;
                Err(match at {
                    None => rejected(rejection),
                    Some((number, write)) => {
                        let account = write.account.escape_ascii();
                        let why = format!("command {number}, account {account}: {rejection}");
                        Refusal::Rejected { code: rejection.code, why }
                    }
                })
            }
            ChainOutcome::WrongType { link } => Err(Refusal::Store(match writes.get(link) {
                None => WRONG_TYPE.to_owned(),
                Some(write) => {
                    let account = write.account.escape_ascii();
                    format!("{WRONG_TYPE}: command {}, account {account}", link + 1)
                }
            })),
            ChainOutcome::OutOfMemory => Err(Refusal::Store(OUT_OF_MEMORY.to_owned())),
        }
    }

    fn show(&mut self, read: &Read, key: Key<'_>) -> Result<Reply, Refusal> {
        let now = self.now.time;
        let shown = read.shown();
        let needed = NeededParts::shown(&shown);
        let account = match self.shard.account_in_part(now, key, &needed) {
            Ok(account) => account,
            Err(ReadError::UnknownAccount) => {
                return Err(unknown(Code::UnknownAccount, UNKNOWN_ACCOUNT));
            }
            Err(ReadError::WrongType) => return Err(Refusal::Store(WRONG_TYPE.to_owned())),
        };
        Ok(match read {
            Read::Account { .. } => Reply::Account(Box::new(AccountView::of_account(account, now))),
            Read::Audit { .. } => Reply::Audit(Box::new(AuditView::of_account(account, now))),
            Read::Session { session: id, .. } => match account.session(id) {
                Some(session) => {
                    Reply::Session(Box::new(SessionView::of_session(account, session, now)))
                }
                None if account.has_ended(id) => {
                    return Err(unknown(Code::UnknownSession, ENDED_SESSION));
                }
                None => return Err(unknown(Code::UnknownSession, UNKNOWN_SESSION)),
            },
            Read::Holds { after, count, .. } => {
                let page = SessionPage { after, count: usize::from(*count) };
                Reply::Holds(Box::new(HoldsView::of_account(account, &page)))
            }
            Read::Transaction { txn, .. } => match TransactionView::of_account(account, txn) {
                Some(view) => Reply::Transaction(Box::new(view)),
                None => return Err(unknown(Code::UnknownTransaction, UNKNOWN_TRANSACTION)),
            },
            Read::Check { unit, item, amount, .. } => {
                Reply::Checked(check(account, (*unit, *item), *amount, now.on(Some(account))))
            }
        })
    }

    /// Gives a reply as soon as the changes that it shows are durable.
    fn give_when_durable(&mut self, ticket: CallTicket, outcome: Outcome) {
        match self.pending() {
            None => self.give(ticket, outcome),
            Some(sequence) => {
                self.durable.hold(sequence, HeldOutput::Call(Box::new((ticket, outcome))));
            }
        }
    }

    /// Gives a reply; its door is woken at the end of the turn.
    pub(crate) fn give(&mut self, ticket: CallTicket, outcome: Outcome) {
        self.answered_doors.extend(ticket.reply(outcome));
    }

    /// Wakes the doors that have replies to hand out.
    pub(crate) fn wake_doors(&mut self) {
        self.answered_doors.drain(..).for_each(|door: Arc<ReplyQueue>| door.wake());
    }

    /// Reports whether no call waits, neither to be carried out nor for the log.
    pub(crate) fn has_no_calls(&self) -> bool {
        self.calls.is_empty() && !self.mesh.intake().is_waiting() && !self.durable.holds_calls()
    }

    /// Accepts no more calls, and drops the waiting ones: their doors get the error that the server has stopped.
    pub(crate) fn end_calls(&mut self) {
        let intake = self.mesh.intake();
        intake.close();
        intake.take_calls(&mut self.calls);
        self.calls.clear();
    }

    #[cold]
    fn show_to_monitors(&mut self, request: &Request) {
        let mut shown = Requests::default();
        shown.push(request.arguments().iter());
        let time_us = self.now.time.0.saturating_mul(1_000);
        self.monitor.note(time_us, DOOR, shown.get(0));
    }
}

fn rejected(rejection: &Rejection) -> Refusal {
    Refusal::Rejected { code: rejection.code, why: rejection.to_string() }
}

fn unknown(code: Code, why: &str) -> Refusal {
    Refusal::Rejected { code, why: why.to_owned() }
}

/// Returns the refusal as its RESP error line: errors are counted by its first word.
#[cold]
fn error_line(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Rejected { code, why } => format!("-{} {} {why}", code.name(), *code as u8),
        Refusal::Store(text) => format!("-{text}"),
    }
}
