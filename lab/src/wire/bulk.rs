//! Logic in the client, many accounts at a time. All requests that a connection has at once become one read of all
//! their accounts (MGET). The ledger decides each request here, and changed accounts are written back in one call
//! (`swap_all`), each only if nothing has written it since. Requests that lose this race are read again with the next
//! ones.

use std::collections::VecDeque;

use super::logic::{ClientLedger, ReadOutcome};
use super::{Sink, Step, Translator};
use crate::resp::{Stop, Value, append, skip};

/// Translator of a connection.
#[derive(Debug)]
pub(super) struct BatchCasTranslator {
    /// Translator of the target's protocol; None for RESP.
    inner: Option<Box<dyn Translator>>,
    desk: ClientLedger,
    /// Requests that wait for their accounts to be read.
    fresh: Vec<QueuedRequest>,
    /// Accounts that are to be written back.
    writes: Vec<Write>,
    /// Requests that the target has not answered, oldest first, by number.
    sent: VecDeque<(u32, Sent)>,
    number: u32,
    /// Answers that have not been handed out, and the length of the reply that they came with.
    ready: VecDeque<(u32, Vec<u8>)>,
    ready_len: usize,
    /// Request or reply between the two translators.
    between: Vec<u8>,
}

#[derive(Debug)]
struct QueuedRequest {
    session: u32,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Write {
    request: QueuedRequest,
    /// Version that was read.
    version: Vec<u8>,
    value: Vec<u8>,
    /// Answer to give if the write succeeds.
    answer: Vec<u8>,
}

#[derive(Debug)]
enum Sent {
    /// Request that is no charging command: the target's answer is passed on.
    Passed(u32),
    Reads(Vec<QueuedRequest>),
    Writes(Vec<Write>),
}

impl BatchCasTranslator {
    pub(super) fn new(inner: Option<Box<dyn Translator>>) -> BatchCasTranslator {
        BatchCasTranslator {
            inner,
            desk: ClientLedger::default(),
            fresh: Vec::new(),
            writes: Vec::new(),
            sent: VecDeque::new(),
            number: 0,
            ready: VecDeque::new(),
            ready_len: 0,
            between: Vec::new(),
        }
    }

    fn send(&mut self, sent: Sent, request: &[u8], out: &mut Vec<u8>) {
        let number = self.number;
        self.number = number.wrapping_add(1);
        match &mut self.inner {
            Some(inner) => inner.request(number, request, out),
            None => out.extend_from_slice(request),
        }
        self.sent.push_back((number, sent));
    }

    fn send_reads(&mut self, out: &mut Vec<u8>) {
        let requests = std::mem::take(&mut self.fresh);
        let mut words = vec![b"MGET".to_vec()];
        words.extend(requests.iter().map(|request| self.desk.key(&request.bytes)));
        let mut encoded = Vec::new();
        append(&words, &mut encoded);
        self.send(Sent::Reads(requests), &encoded, out);
    }

    fn send_writes(&mut self, out: &mut Vec<u8>) {
        let writes = std::mem::take(&mut self.writes);
        let keys: Vec<Vec<u8>> =
            writes.iter().map(|write| self.desk.key(&write.request.bytes)).collect();
        let mut words: Vec<&[u8]> = Vec::new();
        let count = writes.len().to_string();
        // The Redis function takes all keys first; Tarantool's procedure takes triples.
        if self.inner.is_none() {
            words.extend([b"FCALL".as_slice(), b"swap_all", count.as_bytes()]);
            words.extend(keys.iter().map(Vec::as_slice));
            words.extend(writes.iter().flat_map(|write| [&*write.version, &*write.value]));
        } else {
            words.push(b"SWAP_ALL");
            for (key, write) in keys.iter().zip(&writes) {
                words.extend([key.as_slice(), &write.version, &write.value]);
            }
        }
        let mut encoded = Vec::new();
        append(&words, &mut encoded);
        self.send(Sent::Writes(writes), &encoded, out);
    }

    /// Reads the reply at the start of `bytes`, in RESP, and returns its length and the request that it answers.
    fn next(&mut self, bytes: &[u8]) -> Result<(usize, Option<Sent>), Stop> {
        self.between.clear();
        let Some(inner) = &mut self.inner else {
            let length = skip(bytes)?;
            self.between.extend_from_slice(&bytes[..length]);
            // RESP replies arrive in the order of the requests, so the oldest request is answered.
            let (_, sent) = self.sent.pop_front().ok_or(Stop::Malformed)?;
            return Ok((length, Some(sent)));
        };
        let mut none = Vec::new();
        let mut sink = Sink { reply: &mut self.between, again: &mut none };
        let (length, step) = inner.reply(bytes, &mut sink)?;
        let Step::Answer(number) = step else { return Ok((length, None)) };
        let at = self.sent.iter().position(|(one, _)| *one == number);
        let sent = at.and_then(|at| self.sent.remove(at)).map(|(_, sent)| sent);
        Ok((length, Some(sent.ok_or(Stop::Malformed)?)))
    }

    /// Decides the requests over the accounts that were read.
    fn decide(&mut self, requests: Vec<QueuedRequest>) -> Result<(), Stop> {
        let (_, reply) = Value::read(&self.between)?;
        let Value::Array(held) = reply else { return self.fail(requests, &reply) };
        if held.len() != requests.len() {
            return Err(Stop::Malformed);
        }
        for (request, held) in requests.into_iter().zip(held) {
            let mut answer = Vec::new();
            match self.desk.judge(&request.bytes, held, &mut answer)? {
                ReadOutcome::Answered => self.ready.push_back((request.session, answer)),
                ReadOutcome::Changed { version, value } => {
                    self.writes.push(Write { request, version, value, answer });
                }
            }
        }
        Ok(())
    }

    /// Hands out the answers of the accounts that were written; requests that lost the race are read again.
    fn settle(&mut self, writes: Vec<Write>) -> Result<(), Stop> {
        let (_, reply) = Value::read(&self.between)?;
        let Value::Array(taken) = reply else {
            return self.fail(writes.into_iter().map(|write| write.request).collect(), &reply);
        };
        if taken.len() != writes.len() {
            return Err(Stop::Malformed);
        }
        for (write, taken) in writes.into_iter().zip(taken) {
            if taken == Value::Integer(1) {
                self.ready.push_back((write.request.session, write.answer));
            } else {
                // Another client has written the account first: read it again.
                self.fresh.push(write.request);
            }
        }
        Ok(())
    }

    /// Answers all requests with the target's error.
    fn fail(&mut self, requests: Vec<QueuedRequest>, reply: &Value) -> Result<(), Stop> {
        let error = format!("-ERR {reply}\r\n").into_bytes();
        self.ready.extend(requests.into_iter().map(|request| (request.session, error.clone())));
        Ok(())
    }

    /// Hands out the oldest answer. The reply that it came with is consumed with its last answer.
    fn hand_out(&mut self, sink: &mut Sink<'_>) -> Option<(usize, Step)> {
        let (session, answer) = self.ready.pop_front()?;
        sink.reply.extend_from_slice(&answer);
        let length = if self.ready.is_empty() { std::mem::take(&mut self.ready_len) } else { 0 };
        Some((length, Step::Answer(session)))
    }
}

impl Translator for BatchCasTranslator {
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>) {
        if self.desk.is_charging(request) {
            self.fresh.push(QueuedRequest { session, bytes: request.to_vec() });
        } else {
            self.send(Sent::Passed(session), request, out);
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if !self.fresh.is_empty() {
            self.send_reads(out);
        }
        if !self.writes.is_empty() {
            self.send_writes(out);
        }
    }

    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop> {
        if let Some(handed) = self.hand_out(sink) {
            return Ok(handed);
        }
        let (length, sent) = self.next(bytes)?;
        match sent {
            None => return Ok((length, Step::Nothing)),
            Some(Sent::Passed(session)) => {
                sink.reply.extend_from_slice(&self.between);
                return Ok((length, Step::Answer(session)));
            }
            Some(Sent::Reads(requests)) => self.decide(requests)?,
            Some(Sent::Writes(writes)) => self.settle(writes)?,
        }
        self.ready_len = length;
        let handed = self.hand_out(sink);
        if handed.is_none() {
            self.ready_len = 0;
        }
        Ok(handed.unwrap_or((length, Step::Again)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::{encode, words};

    const CREATE: &[&str] = &["SCUR.CREATE", "a", "BUCKET", "main", "u", "100"];

    /// Returns all answers that a reply brings.
    fn take(bulk: &mut BatchCasTranslator, bytes: &[u8]) -> Vec<(u32, String)> {
        let (mut at, mut all) = (0, Vec::new());
        while at < bytes.len() {
            let (mut reply, mut again) = (Vec::new(), Vec::new());
            let mut sink = Sink { reply: &mut reply, again: &mut again };
            let (length, step) = bulk.reply(&bytes[at..], &mut sink).unwrap();
            at += length;
            if let Step::Answer(session) = step {
                all.push((session, String::from_utf8(reply).unwrap()));
            }
        }
        all
    }

    #[test]
    fn accounts_are_read_and_written_together_and_who_comes_late_reads_again() {
        let mut bulk = BatchCasTranslator::new(None);
        let mut out = Vec::new();
        let other = [&["SCUR.CREATE", "b"], &CREATE[2..]].concat();
        bulk.request(1, &encode(CREATE), &mut out);
        bulk.request(2, &encode(&other), &mut out);
        bulk.request(3, &encode(&["SCUR.GET", "c"]), &mut out);
        bulk.flush(&mut out);
        assert_eq!(out, encode(&["MGET", "a", "b", "c"]));
        out.clear();
        let answers = take(&mut bulk, b"*3\r\n$-1\r\n$-1\r\n$-1\r\n");
        assert_eq!(answers.len(), 1);
        assert!(answers[0].0 == 3 && answers[0].1.starts_with("-UNKNOWN_ACCOUNT"), "{answers:?}");
        bulk.flush(&mut out);
        let sent: Vec<Vec<u8>> = words(&out).map(<[u8]>::to_vec).collect();
        assert_eq!(sent[..5], [&b"FCALL"[..], b"swap_all", b"2", b"a", b"b"]);
        assert_eq!((sent.len(), sent[5].len()), (9, 0));
        out.clear();
        let answers = take(&mut bulk, b"*2\r\n:1\r\n:0\r\n");
        assert_eq!(answers, [(1, "*2\r\n+OK\r\n:1\r\n".to_owned())]);
        bulk.flush(&mut out);
        assert_eq!(out, encode(&["MGET", "b"]));
    }
}
