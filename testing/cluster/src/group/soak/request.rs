//! Requests of the load, and what their replies must be.

use super::acknowledged::CREDIT;
use crate::route::is_undone;
use scurry_conformance::Value;
use scurry_resp::client::{self, Stop, read_amount_reply, read_write_reply, skip};

/// Units that a session asks for at a time.
const HELD: i64 = 100;
/// Tcc of a session that is left to expire, ms.
pub(super) const BRIEF_MS: i64 = 5_000;
/// Longest time of a plain value, ms.
pub(super) const VALUE_MS_MAX: u32 = 30_000;

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Create,
    Debit,
    Reserve,
    /// A session that is left to expire.
    ReserveBriefly,
    Update,
    Terminate,
    Get,
    /// Shows what is available: at most what was left when the request was sent.
    Check,
    Set,
    GetValue,
}

/// A request, from when it is due until it has a clear answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) asked: Asked,
    /// Account, or plain key.
    pub(super) account: u32,
    /// Number in the id of its transaction or session.
    pub(super) serial: u64,
    /// Time at which it was due, for one that is sent once more the second time, ns.
    pub(super) due_ns: i64,
    /// Time at which it was first due, ns.
    pub(super) begun_ns: i64,
    /// Time at which it was last sent, ns.
    pub(super) sent_ns: i64,
    /// Units that the account had used when it was first sent.
    pub(super) used: Option<u32>,
    /// True if it was sent before, and has no answer to that.
    pub(super) is_in_doubt: bool,
    /// True if it was acknowledged before, so that it must get its stored answer.
    pub(super) is_repeat: bool,
}

/// What a reply means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It was done; of a charge now for the first time, or earlier with its answer lost.
    Done,
    /// A node refused it without executing it.
    Undone,
    /// No right reply to this request.
    Wrong(String),
}

impl Request {
    /// Makes a request that is due at this time.
    pub(super) fn new(asked: Asked, account: u32, serial: u64, due_ns: i64) -> Request {
        Request {
            asked,
            account,
            serial,
            due_ns,
            begun_ns: due_ns,
            sent_ns: 0,
            used: None,
            is_in_doubt: false,
            is_repeat: false,
        }
    }

    /// Returns the same request to send once more from this time on, after it was acknowledged.
    pub(super) fn repeated(self, due_ns: i64) -> Request {
        Request { due_ns, is_repeat: true, is_in_doubt: false, ..self }
    }

    /// Reports whether a request that is sent again must get its stored answer.
    pub(super) fn has_id(&self) -> bool {
        use Asked::{Debit, Reserve, ReserveBriefly, Terminate, Update};
        matches!(self.asked, Debit | Reserve | ReserveBriefly | Update | Terminate)
    }

    /// Returns the units that it charges: other ones for other requests, so that a lost one and one that was made twice
    /// do not look like none.
    pub(super) fn units(&self) -> u32 {
        let step = match self.asked {
            Asked::Debit => 0,
            Asked::Update => 1,
            Asked::Terminate => 2,
            _ => return 0,
        };
        let mixed = (self.serial * 3 + step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        1 + u32::try_from((mixed >> 33) % 100).unwrap_or(0)
    }

    /// Appends its bytes.
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        let (account, id) = (format!("a{}", self.account), format!("{:x}", self.serial));
        let (units, held) = (self.units().to_string(), HELD.to_string());
        let brief = format!("{BRIEF_MS}ms");
        let item = ["ITEM", "1", "cent"];
        let reserve = |tcc: &[&str], out: &mut Vec<u8>| {
            let head = ["SCUR.RESERVE", &account, &id, "0", "TCC"];
            client::append(&[&head, tcc, &item, &["REQUESTED", &held]].concat(), out);
        };
        match self.asked {
            Asked::Create => {
                let credit = CREDIT.to_string();
                let words = ["SCUR.CREATE", &account, "BUCKET", "main", "cent", &credit];
                client::append(&words, out);
            }
            Asked::Debit => client::append(&["SCUR.DEBIT", &account, &id, "cent", &units], out),
            Asked::Reserve => reserve(&["10m"], out),
            Asked::ReserveBriefly => reserve(&[&brief], out),
            Asked::Update => {
                let head = ["SCUR.UPDATE", &account, &id, "1"];
                let tail = ["USED", &units, "REQUESTED", &held];
                client::append(&[&head[..], &item, &tail].concat(), out);
            }
            Asked::Terminate => {
                let head = ["SCUR.TERMINATE", &account, &id, "2"];
                client::append(&[&head[..], &item, &["USED", &units]].concat(), out);
            }
            Asked::Get => client::append(&["SCUR.GET", &account], out),
            Asked::Check => {
                client::append(&["SCUR.CHECK", &account, "cent", &CREDIT.to_string()], out);
            }
            Asked::Set => {
                let (key, ms) = (self.key(), 1_000 + self.serial % u64::from(VALUE_MS_MAX - 1_000));
                let value = format!("{key}:{:064x}", self.serial);
                client::append(&["SET", &key, &value, "PX", &ms.to_string()], out);
            }
            Asked::GetValue => client::append(&["GET", &self.key()], out),
        }
    }

    fn key(&self) -> String {
        format!("k{}", self.account)
    }

    /// Reads the reply at the start of these bytes. Returns its length too.
    pub(super) fn read(&self, bytes: &[u8], now_ns: i64) -> Result<(usize, Meaning), Stop> {
        if bytes.first() == Some(&b'-') {
            let len = skip(bytes)?;
            let text = String::from_utf8_lossy(bytes[1..len].trim_ascii_end()).into_owned();
            return Ok((len, self.refused(text, now_ns)));
        }
        let (len, is_right) = match self.asked {
            Asked::Debit => {
                let (len, reply) = read_amount_reply(bytes)?;
                (len, reply.ok && self.may_be_replayed(reply.replayed))
            }
            Asked::Reserve | Asked::ReserveBriefly | Asked::Update | Asked::Terminate => {
                let (len, reply) = read_write_reply(bytes)?;
                let granted = if self.asked == Asked::Terminate { 0 } else { HELD };
                let is_whole = reply.granted == granted && reply.uncollected == 0;
                (len, reply.ok && is_whole && self.may_be_replayed(reply.replayed))
            }
            _ => {
                let len = skip(bytes)?;
                (len, self.is_shown_right(&bytes[..len]))
            }
        };
        if is_right {
            return Ok((len, Meaning::Done));
        }
        let shown = bytes[..len].escape_ascii();
        Ok((len, Meaning::Wrong(format!("{self:?} is answered {shown}"))))
    }

    /// Reports whether an answer may be a stored one, or a first one.
    fn may_be_replayed(&self, replayed: bool) -> bool {
        if self.is_repeat { replayed } else { !replayed || self.is_in_doubt }
    }

    fn is_shown_right(&self, reply: &[u8]) -> bool {
        match self.asked {
            Asked::Create | Asked::Get => reply[0] == b'*',
            Asked::Set => reply == b"+OK\r\n",
            Asked::GetValue => Value::read_whole(reply).is_ok_and(|value| match value {
                Value::Word(text) => text.starts_with(format!("{}:", self.key()).as_bytes()),
                other => other == Value::Nil,
            }),
            _ => {
                let left = i128::from(CREDIT) - i128::from(self.used.unwrap_or(0));
                let is_new = |value: Value| match value {
                    Value::Array(parts) => {
                        matches!(parts.get(1), Some(Value::Int(available)) if *available <= left)
                    }
                    _ => false,
                };
                Value::read_whole(reply).is_ok_and(is_new)
            }
        }
    }

    fn refused(&self, text: String, now_ns: i64) -> Meaning {
        let error = Value::Error(text);
        if is_undone(&error) {
            return Meaning::Undone;
        }
        let begins = |code: &str| matches!(&error, Value::Error(text) if text.starts_with(code));
        let was_sent = self.is_in_doubt || self.is_repeat;
        // A session that was left to expire may have done so before this answer.
        let is_over = now_ns - self.begun_ns >= BRIEF_MS * 1_000_000;
        let is_right = match self.asked {
            Asked::Create => was_sent && begins("ACCOUNT_EXISTS "),
            Asked::ReserveBriefly => was_sent && is_over && begins("SESSION_EXISTS "),
            _ => false,
        };
        if is_right { Meaning::Done } else { Meaning::Wrong(format!("{self:?} gets {error}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &[u8] = b"*4\r\n+OK\r\n:0\r\n:7\r\n:5\r\n";
    const STORED: &[u8] = b"*4\r\n+OK\r\n:1\r\n:7\r\n:5\r\n";

    fn meaning(request: &Request, reply: &[u8]) -> Meaning {
        let (len, meaning) = request.read(reply, 6_000_000_000).expect("a whole reply");
        assert_eq!(len, reply.len());
        for end in 0..len {
            assert_eq!(request.read(&reply[..end], 0), Err(Stop::Incomplete), "cut at {end}");
        }
        meaning
    }

    #[test]
    fn a_stored_answer_is_right_only_where_the_request_was_sent_before() {
        let first = Request::new(Asked::Debit, 1, 2, 0);
        let in_doubt = Request { is_in_doubt: true, ..first };
        let repeat = Request { is_repeat: true, ..first };
        let is_done = |request, reply| meaning(request, reply) == Meaning::Done;
        assert!(is_done(&first, NEW) && !is_done(&first, STORED));
        assert!(is_done(&in_doubt, NEW) && is_done(&in_doubt, STORED));
        assert!(!is_done(&repeat, NEW) && is_done(&repeat, STORED));
    }

    #[test]
    fn a_check_shows_no_more_than_was_left_when_it_was_sent() {
        let check = Request { used: Some(30), ..Request::new(Asked::Check, 1, 2, 0) };
        let reply = |left: i64| {
            format!("*3\r\n+CREDIT_LIMIT_REACHED\r\n:{left}\r\n+balance\r\n").into_bytes()
        };
        assert_eq!(meaning(&check, &reply(CREDIT - 30)), Meaning::Done);
        assert_eq!(meaning(&check, &reply(CREDIT - 31)), Meaning::Done);
        assert!(matches!(meaning(&check, &reply(CREDIT - 29)), Meaning::Wrong(_)));
    }

    #[test]
    fn errors_are_refusals_wrong_or_what_a_second_attempt_may_get() {
        let debit = Request::new(Asked::Debit, 1, 2, 0);
        assert_eq!(meaning(&debit, b"-CLUSTERDOWN no node leads\r\n"), Meaning::Undone);
        assert!(matches!(meaning(&debit, b"-UNKNOWN_ACCOUNT 20 none\r\n"), Meaning::Wrong(_)));
        let create = Request::new(Asked::Create, 1, 0, 0);
        let exists = b"-ACCOUNT_EXISTS 21 an account with this id exists\r\n";
        assert!(matches!(meaning(&create, exists), Meaning::Wrong(_)));
        assert_eq!(meaning(&Request { is_in_doubt: true, ..create }, exists), Meaning::Done);
        let brief = Request { is_in_doubt: true, ..Request::new(Asked::ReserveBriefly, 1, 2, 0) };
        let ended = b"-SESSION_EXISTS 31 it has ended\r\n";
        assert_eq!(meaning(&brief, ended), Meaning::Done);
        let young = Request::new(Asked::ReserveBriefly, 1, 2, 2_000_000_000);
        let young = Request { is_in_doubt: true, ..young };
        assert!(matches!(meaning(&young, ended), Meaning::Wrong(_)));
        assert_eq!(meaning(&brief.repeated(2_000_000_000), ended), Meaning::Done);
        assert!(matches!(meaning(&young.repeated(3_000_000_000), ended), Meaning::Wrong(_)));
    }

    #[test]
    fn charges_have_from_1_to_100_units_and_reads_none() {
        let units = |asked, serial| Request::new(asked, 1, serial, 0).units();
        let all: Vec<u32> = (0..10_000).map(|serial| units(Asked::Debit, serial)).collect();
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&1), Some(&100)));
        assert_eq!(units(Asked::Check, 3), 0);
    }
}
