//! Logic in the client: the account is read, the ledger decides here, and the account is written back if nothing has
//! written it since. A SCUR command becomes a GET and, if it changes the account, a call of `swap`; when that loses a
//! race, everything starts over.

use std::collections::VecDeque;

use scurry_codec::{decode_account, encode_account};
use scurry_ledger::{Account, Decision, Limits, Op, Status, Time, decide_with, view_in_place};
use scurry_resp::table::{self, CommandId, ScurReadId, ScurWriteId};
use scurry_resp::{
    Args, Parsed, Parser, Protocol, Reply, RequestLimits, Scratch, parse_read, parse_write,
    unknown_account,
};

use super::{Sink, Step, Translator};
use crate::clock::unix_ms;
use crate::resp::{Stop, Value, append, skip};

/// Bytes of the version before an account's image.
const VERSION_LEN: usize = 8;
const PREFIX: &[u8] = b"SCUR.";

/// Translator of a connection. Its buffers are reused from one request to the next.
#[derive(Debug)]
pub(super) struct CasTranslator {
    /// Translator of the target's protocol; None for RESP.
    inner: Option<Box<dyn Translator>>,
    /// Requests without an answer, oldest first.
    pending: VecDeque<Pending>,
    desk: ClientLedger,
    /// Request or reply between the two translators.
    between: Vec<u8>,
}

/// Request that the target has not answered.
#[derive(Debug)]
struct Pending {
    session: u32,
    request: Vec<u8>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Request that is no charging command: the target's answer is passed on.
    Passed,
    /// The account has been requested.
    Reading,
    /// The account has been sent back; this is the answer if the write succeeds.
    Writing(Vec<u8>),
}

/// Buffers that a decision needs.
#[derive(Debug, Default)]
pub(super) struct ClientLedger {
    parser: Parser,
    request_limits: RequestLimits,
    limits: Limits,
    account: Option<Account>,
    ops: Vec<Op>,
    scratch: Scratch<'static>,
}

/// Outcome of a command.
enum Decided {
    /// Nothing is to be written.
    Answered,
    /// The account in the buffer is to be written.
    Changed,
}

impl CasTranslator {
    pub(super) fn new(inner: Option<Box<dyn Translator>>) -> CasTranslator {
        CasTranslator {
            inner,
            pending: VecDeque::new(),
            desk: ClientLedger::default(),
            between: Vec::new(),
        }
    }

    /// Sends a command for a session.
    fn send(&mut self, session: u32, words: &[&[u8]], out: &mut Vec<u8>) {
        let Some(inner) = &mut self.inner else { return append(words, out) };
        self.between.clear();
        append(words, &mut self.between);
        inner.request(session, &self.between, out);
    }

    /// Requests the account of a request.
    fn read(&mut self, session: u32, request: Vec<u8>, out: &mut Vec<u8>) {
        let key = self.desk.key(&request);
        self.send(session, &[b"GET", &key], out);
        self.pending.push_back(Pending { session, request, stage: Stage::Reading });
    }

    /// Reads the reply at the start of `bytes`, in RESP, and returns its length and its session.
    fn next(&mut self, bytes: &[u8]) -> Result<(usize, Option<u32>), Stop> {
        self.between.clear();
        let Some(inner) = &mut self.inner else {
            let length = skip(bytes)?;
            self.between.extend_from_slice(&bytes[..length]);
            // RESP replies arrive in the order of the requests, so the oldest request is answered.
            let oldest = self.pending.front().ok_or(Stop::Malformed)?;
            return Ok((length, Some(oldest.session)));
        };
        let mut none = Vec::new();
        let mut sink = Sink { reply: &mut self.between, again: &mut none };
        let (length, step) = inner.reply(bytes, &mut sink)?;
        Ok((
            length,
            match step {
                Step::Answer(session) => Some(session),
                Step::Nothing | Step::Again => None,
            },
        ))
    }

    /// Decides over the account that was read, and writes it back or answers.
    fn decide(
        &mut self,
        session: u32,
        request: Vec<u8>,
        held: Value,
        sink: &mut Sink<'_>,
    ) -> Result<Step, Stop> {
        let start = sink.reply.len();
        let verdict = self.desk.judge(&request, held, sink.reply)?;
        let ReadOutcome::Changed { version, value } = verdict else {
            return Ok(Step::Answer(session));
        };
        let key = self.desk.key(&request);
        self.send(session, &[b"FCALL", b"swap", b"1", &key, &version, &value], sink.again);
        // The answer counts only if the write succeeds, so keep it back.
        let stage = Stage::Writing(sink.reply.split_off(start));
        self.pending.push_back(Pending { session, request, stage });
        Ok(Step::Again)
    }
}

impl Translator for CasTranslator {
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>) {
        let request = request.to_vec();
        if self.desk.is_charging(&request) {
            return self.read(session, request, out);
        }
        match &mut self.inner {
            Some(inner) => inner.request(session, &request, out),
            None => out.extend_from_slice(&request),
        }
        self.pending.push_back(Pending { session, request, stage: Stage::Passed });
    }

    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop> {
        let (length, session) = self.next(bytes)?;
        let Some(session) = session else { return Ok((length, Step::Nothing)) };
        let at = self.pending.iter().position(|pending| pending.session == session);
        let pending = at.and_then(|at| self.pending.remove(at)).ok_or(Stop::Malformed)?;
        let step = match pending.stage {
            Stage::Passed => {
                sink.reply.extend_from_slice(&self.between);
                Step::Answer(session)
            }
            Stage::Reading => {
                let (_, held) = Value::read(&self.between)?;
                self.decide(session, pending.request, held, sink)?
            }
            // Another client has written the account first, so everything starts over.
            Stage::Writing(_) if self.between == b":0\r\n" => {
                self.read(session, pending.request, sink.again);
                Step::Again
            }
            Stage::Writing(answer) => {
                let taken = self.between == b":1\r\n";
                sink.reply.extend_from_slice(if taken { &answer } else { &self.between });
                Step::Answer(session)
            }
        };
        Ok((length, step))
    }
}

/// Outcome of a decision over a value that was read.
pub(super) enum ReadOutcome {
    /// The answer is written, and nothing changes.
    Answered,
    /// The value is to be replaced if it still has this version; the answer counts only then.
    Changed { version: Vec<u8>, value: Vec<u8> },
}

impl ClientLedger {
    /// Decides a request over the value that the target holds, and writes the answer.
    pub(super) fn judge(
        &mut self,
        request: &[u8],
        held: Value,
        out: &mut Vec<u8>,
    ) -> Result<ReadOutcome, Stop> {
        let version = match held {
            // No account is stored under this key.
            Value::Nil => {
                self.account = None;
                Vec::new()
            }
            Value::Bulk(mut value) => {
                let image = value.split_off(VERSION_LEN.min(value.len()));
                let account = self.account.get_or_insert_with(|| Account::empty(Status::Active));
                decode_account(&image, account).map_err(|_| Stop::Malformed)?;
                value
            }
            other => {
                out.extend_from_slice(format!("-ERR {other}\r\n").as_bytes());
                return Ok(ReadOutcome::Answered);
            }
        };
        let decided = self.decide(request, out)?;
        let (Decided::Changed, Some(account)) = (decided, &self.account) else {
            return Ok(ReadOutcome::Answered);
        };
        let mut value = account.version.to_be_bytes().to_vec();
        encode_account(account, &mut value);
        Ok(ReadOutcome::Changed { version, value })
    }

    /// Reports whether a request is a charging command.
    pub(super) fn is_charging(&mut self, request: &[u8]) -> bool {
        self.with(request, |_, args| args.at(0).starts_with(PREFIX)).unwrap_or(false)
    }

    /// Reports whether a charging command is read-only.
    pub(super) fn only_reads(&mut self, request: &[u8]) -> bool {
        let id = |args: Args<'_>| table::find(args.at(0)).map(|spec| spec.id);
        self.with(request, |_, args| matches!(id(args), Some(CommandId::ScurRead(_))))
            .unwrap_or(false)
    }

    /// Returns the account of a charging command.
    pub(super) fn key(&mut self, request: &[u8]) -> Vec<u8> {
        self.with(request, |_, args| args.at(1).to_vec()).unwrap_or_default()
    }

    /// Executes a request on the account in the buffer, and writes the answer.
    fn decide(&mut self, request: &[u8], out: &mut Vec<u8>) -> Result<Decided, Stop> {
        let mut reply = Reply::new(out, Protocol::Resp2);
        self.with(request, |desk, args| desk.run(args, &mut reply)).ok_or(Stop::Malformed)
    }

    fn with<R>(
        &mut self,
        request: &[u8],
        work: impl FnOnce(&mut ClientLedger, Args<'_>) -> R,
    ) -> Option<R> {
        let mut parser = std::mem::take(&mut self.parser);
        let parsed = parser.parse(request, &self.request_limits, true);
        let done = match parsed {
            Parsed::Request(_) => Some(work(self, parser.args(request, 0))),
            _ => None,
        };
        parser.forget();
        self.parser = parser;
        done
    }

    fn run(&mut self, args: Args<'_>, reply: &mut Reply<'_>) -> Decided {
        let Some(spec) = table::find(args.at(0)).filter(|spec| spec.accepts(args.len())) else {
            reply.error("ERR no such command");
            return Decided::Answered;
        };
        let now = Time(unix_ms());
        match spec.id {
            CommandId::ScurWrite(id) => return self.write(now, id, args, reply),
            CommandId::ScurRead(id) => self.read(now, id, args, reply),
            _ => reply.error("ERR not a charging command"),
        }
        Decided::Answered
    }

    fn write(
        &mut self,
        now: Time,
        id: ScurWriteId,
        args: Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Decided {
        let mut scratch: Scratch<'_> = std::mem::take(&mut self.scratch).reuse();
        let mut decided = Decided::Answered;
        match parse_write(id, args, &mut scratch).map(|write| write.command) {
            Ok(command) => {
                match decide_with(&mut self.ops, &mut self.account, &command, now, &self.limits) {
                    Decision::Replay(answer) => {
                        scurry_resp::answer(reply, &command, &answer, true);
                    }
                    Decision::Reject(rejection) => scurry_resp::rejection(reply, &rejection),
                    Decision::Commit(change, answer) => {
                        self.ops = change.ops;
                        scurry_resp::answer(reply, &command, &answer, false);
                        decided = Decided::Changed;
                    }
                }
            }
            Err(fault) => reply.error(fault),
        }
        self.scratch = scratch.reuse();
        decided
    }

    fn read(&mut self, now: Time, id: ScurReadId, args: Args<'_>, reply: &mut Reply<'_>) {
        match parse_read(id, args) {
            Ok(read) => {
                view_in_place(&mut self.account, now, &self.limits);
                match &self.account {
                    Some(account) => read.answer(reply, account, now),
                    None => unknown_account(reply),
                }
            }
            Err(fault) => reply.error(fault),
        }
    }
}

#[cfg(test)]
mod tests;
