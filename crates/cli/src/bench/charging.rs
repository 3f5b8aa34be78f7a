//! The charging load: sessions as in online charging. It also sums the units that the server acknowledged as consumed,
//! for the audit.

use super::client::{Task, Workload, request};
use anyhow::{Result, ensure};
use scurry_resp::client::{Stop, Template, Value, read_write_reply, skip};

const UNIT: &str = "octets";
/// Credit of each bucket, large enough never to run out.
const CREDIT: i64 = 1_000_000_000_000;
/// Units that a session requests, reports at each update, and reports at its end.
const REQUESTED: i64 = 1_000;
const USED: i64 = 900;
const USED_AT_END: i64 = 700;
/// A session's requests, in order.
const LOOP: [Step; 8] = [
    Step::Get,
    Step::Reserve,
    Step::Session,
    Step::Update,
    Step::Session,
    Step::Update,
    Step::Session,
    Step::Terminate,
];
const LAST: usize = LOOP.len() - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Get,
    Reserve,
    Session,
    Update,
    Terminate,
}

pub(super) struct Charging {
    accounts: Vec<LoadedAccount>,
    sessions: Vec<LoadedSession>,
    templates: [Template; LOOP.len()],
    begun: u64,
    fault: Option<String>,
}

struct LoadedAccount {
    name: Vec<u8>,
    /// Units whose consumption the server has acknowledged.
    consumed: i64,
}

#[derive(Clone)]
struct LoadedSession {
    account: usize,
    id: [u8; 8],
    step: usize,
    is_open: bool,
}

impl Workload for Charging {
    const REMOVALS: usize = 4;

    fn new(names: Vec<Vec<u8>>, slots: usize) -> Charging {
        let mut number = 0;
        let name = names.first().cloned().unwrap_or_default();
        let templates = LOOP.map(|step| {
            let template = template(step, &name, number);
            number += u32::from(step.writes());
            template
        });
        let accounts = names.into_iter().map(|name| LoadedAccount { name, consumed: 0 }).collect();
        let idle = LoadedSession { account: 0, id: [b'0'; 8], step: 0, is_open: false };
        Charging { accounts, sessions: vec![idle; slots], templates, begun: 0, fault: None }
    }

    fn append_next(&mut self, slot: usize, out: &mut Vec<u8>) {
        let session = &mut self.sessions[slot];
        if session.step == 0 {
            session.account = super::routes::spread(self.begun, self.accounts.len());
            session.id.copy_from_slice(format!("{:08x}", self.begun % (1 << 32)).as_bytes());
            self.begun += 1;
        }
        let account = &self.accounts[session.account].name;
        self.templates[session.step].append(out, account, &session.id);
    }

    fn append_end(&mut self, slot: usize, out: &mut Vec<u8>) -> bool {
        let session = &mut self.sessions[slot];
        if session.is_open {
            session.step = LAST;
            let account = &self.accounts[session.account].name;
            self.templates[LAST].append(out, account, &session.id);
        }
        session.is_open
    }

    fn accept(&mut self, slot: usize, reply: &[u8]) -> Result<usize, Stop> {
        let session = &mut self.sessions[slot];
        let step = LOOP[session.step];
        if reply.first() == Some(&b'-') || !step.writes() {
            let length = skip(reply)?;
            if reply[0] == b'-' && self.fault.is_none() {
                let text = reply[1..length].trim_ascii_end().escape_ascii();
                self.fault = Some(format!("the server refuses {step:?}: {text}"));
            }
            session.step = (session.step + 1) % LOOP.len();
            return Ok(length);
        }
        let (length, answer) = read_write_reply(reply)?;
        let (used, requested) = match step {
            Step::Reserve => (0, REQUESTED),
            Step::Update => (USED, REQUESTED),
            _ => (USED_AT_END, 0),
        };
        if (!answer.ok || answer.replayed || answer.granted != requested) && self.fault.is_none() {
            self.fault =
                Some(format!("{step:?} was not granted in full, or not at once: {answer:?}"));
        }
        session.is_open = step != Step::Terminate;
        session.step = (session.step + 1) % LOOP.len();
        // Uncollected use was debited from no bucket, so the audit does not expect it as consumed.
        self.accounts[session.account].consumed += used - answer.uncollected;
        Ok(length)
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn len(&self) -> usize {
        self.accounts.len()
    }

    fn append_task(&self, task: Task, number: usize, out: &mut Vec<u8>) {
        let LoadedAccount { name, consumed } = &self.accounts[number];
        match task {
            Task::Prepare => {
                let credit = CREDIT.to_string();
                let (unit, credit) = (UNIT.as_bytes(), credit.as_bytes());
                request(
                    out,
                    &[
                        b"SCUR.CREATE",
                        name,
                        b"BUCKET",
                        b"main",
                        unit,
                        credit,
                        b"PRIORITY",
                        b"10",
                        b"BUCKET",
                        b"bonus",
                        unit,
                        credit,
                        b"PRIORITY",
                        b"5",
                    ],
                );
            }
            Task::Audit => request(out, &[b"SCUR.AUDIT", name]),
            Task::Remove => {
                // The bucket with the lower priority is consumed first, so `bonus` pays until it is empty.
                let of_bonus = CREDIT.min(*consumed);
                for (txn, bucket, consumed) in
                    [(b"void1", &b"bonus"[..], of_bonus), (b"void2", b"main", consumed - of_bonus)]
                {
                    let void = (consumed - CREDIT).to_string();
                    request(out, &[b"SCUR.ADJUST", name, txn, bucket, void.as_bytes()]);
                }
                request(out, &[b"SCUR.STATUS", name, b"closed"]);
                request(out, &[b"SCUR.DELETE", name, b"FORCE"]);
            }
        }
    }

    fn check_audit(&self, number: usize, reply: &Value) -> Result<()> {
        let LoadedAccount { name, consumed } = &self.accounts[number];
        let name = name.escape_ascii();
        ensure!(reply.entry("ok") == &Value::Integer(1), "{name}: AUDIT answers {reply}");
        let buckets = reply.entry("buckets").elements();
        // The columns of a bucket: id, unit, available, held, credited, refunded, consumed.
        let sum = |column: usize| -> Option<i128> {
            buckets.iter().map(|bucket| bucket.elements().get(column)?.big()).sum()
        };
        let has = (sum(2), sum(3), sum(6));
        let acknowledged = i128::from(*consumed);
        let left = 2 * i128::from(CREDIT) - acknowledged;
        ensure!(
            has == (Some(left), Some(0), Some(acknowledged)),
            "{name}: {acknowledged} were acknowledged as consumed and the server has available, held, consumed: {has:?}"
        );
        Ok(())
    }
}

impl Step {
    fn writes(self) -> bool {
        !matches!(self, Step::Get | Step::Session)
    }
}

fn template(step: Step, name: &[u8], number: u32) -> Template {
    let number = number.to_string();
    let (requested, used, at_end) =
        (REQUESTED.to_string(), USED.to_string(), USED_AT_END.to_string());
    let id = "00000000";
    let words: Vec<&str> = match step {
        Step::Get => vec!["SCUR.GET", ""],
        Step::Session => vec!["SCUR.SESSION", "", id],
        Step::Reserve => {
            vec!["SCUR.RESERVE", "", id, &number, "ITEM", "1", UNIT, "REQUESTED", &requested]
        }
        Step::Update => {
            vec![
                "SCUR.UPDATE",
                "",
                id,
                &number,
                "ITEM",
                "1",
                UNIT,
                "USED",
                &used,
                "REQUESTED",
                &requested,
            ]
        }
        Step::Terminate => {
            vec!["SCUR.TERMINATE", "", id, &number, "ITEM", "1", UNIT, "USED", &at_end]
        }
    };
    let mut words: Vec<Vec<u8>> = words.into_iter().map(|word| word.as_bytes().to_vec()).collect();
    words[1] = name.to_vec();
    let session = (words.len() > 2).then_some(2);
    Template::new(&words, 1, session)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANTED: &[u8] =
        b"*4\r\n+OK\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:1000\r\n:0\r\n:0\r\n";
    const CLOSED: &[u8] = b"*4\r\n+OK\r\n:0\r\n:0\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:0\r\n:0\r\n:0\r\n";

    /// Returns the load after one complete session on one account.
    fn after_a_session() -> Charging {
        let mut load = Charging::new(vec![b"bench-1".to_vec()], 1);
        for reply in [b"*0\r\n", GRANTED, b"*0\r\n", GRANTED, b"*0\r\n", GRANTED, b"*0\r\n", CLOSED]
        {
            let mut out = Vec::new();
            load.append_next(0, &mut out);
            assert_eq!(skip(&out), Ok(out.len()), "{}", out.escape_ascii());
            assert_eq!(load.accept(0, reply), Ok(reply.len()));
        }
        load
    }

    fn audit(consumed: i64, held: i64) -> Value {
        let row = |id: &str, available: i64, held: i64, consumed: i64| {
            let numbers = [available, held, CREDIT, 0, consumed].map(Value::Integer);
            Value::Array(
                [id, UNIT]
                    .map(|word| Value::Simple(word.to_owned()))
                    .into_iter()
                    .chain(numbers)
                    .collect(),
            )
        };
        let key = |name: &str| Value::Simple(name.to_owned());
        let buckets =
            vec![row("main", CREDIT, 0, 0), row("bonus", CREDIT - consumed - held, held, consumed)];
        Value::Array(vec![key("ok"), Value::Integer(1), key("buckets"), Value::Array(buckets)])
    }

    #[test]
    fn what_was_acknowledged_is_compared_to_the_unit() {
        let load = after_a_session();
        assert_eq!((load.fault(), load.accounts[0].consumed), (None, 900 + 900 + 700));
        load.check_audit(0, &audit(2_500, 0)).expect("it is exact");
        for wrong in [audit(2_499, 0), audit(2_501, 0), audit(2_500, 1), Value::Nil] {
            load.check_audit(0, &wrong).expect_err("it is not");
        }
    }

    #[test]
    fn a_session_that_is_open_is_ended_and_counts() {
        let mut load = after_a_session();
        for reply in [b"*0\r\n", GRANTED] {
            load.append_next(0, &mut Vec::new());
            load.accept(0, reply).expect("a reply");
        }
        let mut out = Vec::new();
        assert!(load.append_end(0, &mut out));
        assert!(out.windows(14).any(|window| window == b"SCUR.TERMINATE"));
        load.accept(0, CLOSED).expect("a reply");
        assert_eq!(load.accounts[0].consumed, 2_500 + 700);
        assert!(!load.append_end(0, &mut out));
    }

    #[test]
    fn refusals_short_grants_and_replays_are_faults() {
        let replayed =
            GRANTED.escape_ascii().to_string().replacen(":0", ":1", 1).replace("\\r\\n", "\r\n");
        for reply in [b"-BUSY 50 later\r\n", CLOSED, replayed.as_bytes()] {
            let mut load = after_a_session();
            load.append_next(0, &mut Vec::new());
            load.accept(0, b"*0\r\n").expect("a reply");
            load.append_next(0, &mut Vec::new());
            assert_eq!(load.accept(0, reply), Ok(reply.len()));
            assert!(
                load.fault().is_some_and(|fault| fault.contains("Reserve")),
                "{:?}",
                load.fault()
            );
        }
    }
}
