//! The client of MySQL NDB, which is a separate process beside the lab, with the charging logic in the lab. An account
//! that will not change is read without a lock, an account that may change with a lock, the ledger decides here, and
//! the account is written and committed in the transaction that holds the lock. Every request and every answer begins
//! with the session's number, so that answers may arrive in any order.

use std::collections::BTreeMap;

use super::logic::{ClientLedger, ReadOutcome};
use super::{Sink, Step, Translator};
use crate::resp::{Stop, Value, append, skip, words};

/// Translator of a connection.
#[derive(Debug, Default)]
pub(super) struct LockingTranslator {
    desk: ClientLedger,
    /// Requests without an answer, by session.
    pending: BTreeMap<u32, Pending>,
}

#[derive(Debug)]
struct Pending {
    request: Vec<u8>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Request that is no charging command: the answer of the store is passed on.
    Passed,
    /// The account is being read, and will not change.
    Reading,
    /// The account is being read with a lock, which this client then holds.
    Locking,
    /// The account is being written: this is the answer after the commit.
    Writing(Vec<u8>),
    /// The lock is being released, because nothing changes: this is the answer.
    Freeing(Vec<u8>),
}

impl LockingTranslator {
    fn send(&self, session: u32, name: &[u8], rest: &[&[u8]], out: &mut Vec<u8>) {
        let tag = session.to_string();
        let all: Vec<&[u8]> =
            [tag.as_bytes(), name].into_iter().chain(rest.iter().copied()).collect();
        append(&all, out);
    }

    /// Requests the account of a request.
    fn read(&mut self, session: u32, request: Vec<u8>, out: &mut Vec<u8>) {
        let key = self.desk.key(&request);
        let (name, stage) = match self.desk.only_reads(&request) {
            true => (&b"GET"[..], Stage::Reading),
            false => (&b"LOCK"[..], Stage::Locking),
        };
        self.send(session, name, &[&key], out);
        self.pending.insert(session, Pending { request, stage });
    }

    /// Decides over the account that was read, with or without a lock.
    fn decide(
        &mut self,
        session: u32,
        request: Vec<u8>,
        held: Value,
        is_locked: bool,
        sink: &mut Sink<'_>,
    ) -> Result<Step, Stop> {
        // A lock that was not acquired need not be released.
        let is_locked = is_locked && !matches!(held, Value::Error(_));
        let start = sink.reply.len();
        let outcome = self.desk.judge(&request, held, sink.reply)?;
        // Without a lock the answer is final; with one the transaction has to end first.
        if !is_locked {
            return Ok(Step::Answer(session));
        }
        let answer = sink.reply.split_off(start);
        let stage = match outcome {
            ReadOutcome::Changed { value, .. } => {
                self.send(session, b"PUT", &[&value], sink.again);
                Stage::Writing(answer)
            }
            ReadOutcome::Answered => {
                self.send(session, b"FREE", &[], sink.again);
                Stage::Freeing(answer)
            }
        };
        self.pending.insert(session, Pending { request, stage });
        Ok(Step::Again)
    }
}

impl Translator for LockingTranslator {
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>) {
        let request = request.to_vec();
        if self.desk.is_charging(&request) {
            return self.read(session, request, out);
        }
        let mut rest = words(&request);
        let name = rest.next().unwrap_or_default();
        self.send(session, name, &rest.collect::<Vec<_>>(), out);
        self.pending.insert(session, Pending { request: Vec::new(), stage: Stage::Passed });
    }

    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop> {
        let (begin, tag) = Value::read(bytes)?;
        let length = begin + skip(&bytes[begin..])?;
        let reply = &bytes[begin..length];
        let session = tag.integer().and_then(|tag| u32::try_from(tag).ok());
        let session = session.ok_or(Stop::Malformed)?;
        let pending = self.pending.remove(&session).ok_or(Stop::Malformed)?;
        let step = match pending.stage {
            Stage::Passed => {
                sink.reply.extend_from_slice(reply);
                Step::Answer(session)
            }
            Stage::Reading | Stage::Locking => {
                let is_locked = matches!(pending.stage, Stage::Locking);
                let (_, held) = Value::read(reply)?;
                self.decide(session, pending.request, held, is_locked, sink)?
            }
            // The commit failed and the transaction with its lock is gone, so start over.
            Stage::Writing(_) if reply == b":0\r\n" => {
                self.read(session, pending.request, sink.again);
                Step::Again
            }
            Stage::Writing(answer) => {
                let is_taken = reply == b":1\r\n";
                sink.reply.extend_from_slice(if is_taken { &answer } else { reply });
                Step::Answer(session)
            }
            Stage::Freeing(answer) => {
                sink.reply.extend_from_slice(&answer);
                Step::Answer(session)
            }
        };
        Ok((length, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::encode;

    fn ask(client: &mut LockingTranslator, session: u32, line: &str) -> String {
        let mut out = Vec::new();
        client.request(session, &encode(&line.split(' ').collect::<Vec<_>>()), &mut out);
        shown(&out)
    }

    fn shown(request: &[u8]) -> String {
        let words: Vec<String> =
            words(request).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        words.join(" ")
    }

    /// Returns the step, answer and next request that the client makes of a reply.
    fn reply_to(client: &mut LockingTranslator, bytes: &[u8]) -> (Step, String, Vec<u8>) {
        let (mut reply, mut again) = (Vec::new(), Vec::new());
        let mut sink = Sink { reply: &mut reply, again: &mut again };
        let (length, step) = client.reply(bytes, &mut sink).unwrap();
        assert_eq!(length, bytes.len());
        (step, String::from_utf8(reply).unwrap(), again)
    }

    /// Returns the value that a PUT writes.
    fn put(request: &[u8], session: &str) -> Vec<u8> {
        let words: Vec<&[u8]> = words(request).collect();
        assert_eq!(words[..2], [session.as_bytes(), b"PUT"]);
        words[2].to_vec()
    }

    fn held(session: u32, value: &[u8]) -> Vec<u8> {
        [format!(":{session}\r\n${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
    }

    #[test]
    fn what_may_change_is_read_with_a_lock_and_written_under_it() {
        let mut client = LockingTranslator::default();
        assert_eq!(ask(&mut client, 3, "SCUR.CREATE a BUCKET main u 100"), "3 LOCK a");
        let (step, _, again) = reply_to(&mut client, b":3\r\n$-1\r\n");
        assert_eq!(step, Step::Again);
        let value = put(&again, "3");
        // Another client has created the account meanwhile, so everything starts over.
        let (step, _, again) = reply_to(&mut client, b":3\r\n:0\r\n");
        assert_eq!((step, shown(&again)), (Step::Again, "3 LOCK a".to_owned()));
        reply_to(&mut client, b":3\r\n$-1\r\n");
        let (step, answer, again) = reply_to(&mut client, b":3\r\n:1\r\n");
        assert_eq!((step, again.len()), (Step::Answer(3), 0));
        assert_eq!(answer, "*2\r\n+OK\r\n:1\r\n");
        // A refused command releases its lock before it is answered.
        assert_eq!(ask(&mut client, 4, "SCUR.CREATE a BUCKET main u 1"), "4 LOCK a");
        let (step, answer, again) = reply_to(&mut client, &held(4, &value));
        assert_eq!((step, answer.as_str(), shown(&again)), (Step::Again, "", "4 FREE".to_owned()));
        let (step, answer, _) = reply_to(&mut client, b":4\r\n+OK\r\n");
        assert!(step == Step::Answer(4) && answer.starts_with("-ACCOUNT_EXISTS"), "{answer}");
    }

    #[test]
    fn reads_lock_nothing_and_answers_come_in_any_order() {
        let mut client = LockingTranslator::default();
        assert_eq!(ask(&mut client, 1, "SCUR.GET a"), "1 GET a");
        assert_eq!(ask(&mut client, 2, "GET key:1"), "2 GET key:1");
        assert_eq!(ask(&mut client, 5, "PING"), "5 PING");
        assert_eq!(reply_to(&mut client, b":2\r\n$1\r\nv\r\n").1, "$1\r\nv\r\n");
        assert_eq!(reply_to(&mut client, b":5\r\n+PONG\r\n").0, Step::Answer(5));
        let (step, answer, _) = reply_to(&mut client, b":1\r\n$-1\r\n");
        assert!(step == Step::Answer(1) && answer.starts_with("-UNKNOWN_ACCOUNT"), "{answer}");
    }

    #[test]
    fn a_lock_that_was_not_had_is_an_error_and_nothing_more() {
        let mut client = LockingTranslator::default();
        ask(&mut client, 7, "SCUR.CREATE a BUCKET main u 100");
        let (step, answer, again) = reply_to(&mut client, b":7\r\n-ERR NDB 4009 no cluster\r\n");
        assert_eq!((step, again.len()), (Step::Answer(7), 0));
        assert!(answer.starts_with("-ERR") && answer.contains("4009"), "{answer}");
    }

    #[test]
    fn a_reply_that_is_cut_off_takes_nothing() {
        let mut client = LockingTranslator::default();
        ask(&mut client, 1, "GET a");
        let (mut reply, mut again) = (Vec::new(), Vec::new());
        let mut sink = Sink { reply: &mut reply, again: &mut again };
        for bytes in [&b":1"[..], b":1\r\n", b":1\r\n$5\r\nab"] {
            assert_eq!(client.reply(bytes, &mut sink), Err(Stop::Incomplete));
        }
        assert_eq!(reply_to(&mut client, b":1\r\n$2\r\nab\r\n").0, Step::Answer(1));
    }
}
