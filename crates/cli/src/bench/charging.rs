//! The charging load: sessions as in online charging. It also sums the units that the server acknowledged as consumed,
//! for the audit.

use super::client::{Task, Workload};
use anyhow::{Result, bail, ensure};
use scurry_cluster_client::{decode, redis};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemKey, ItemRequest, Name, NewBucket, SessionRequest,
    Status,
};
use scurry_resp::client::{Stop, Template, read_write_reply, skip};
use scurry_service::{BucketTotals, Read, Reply, Request, SessionStep};

const UNIT: Name = Name::literal("octets");
const MAIN: Name = Name::literal("main");
const BONUS: Name = Name::literal("bonus");
/// Session id of the templates, which that of each session replaces.
const ID: &[u8; 8] = b"00000000";
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
        let mut write =
            |command: Command<'_>| out.extend(Request::write(name, &command).arguments().packed());
        match task {
            Task::Prepare => {
                let bucket = |bucket, priority| NewBucket {
                    bucket,
                    unit: UNIT,
                    amount: CREDIT,
                    attributes: BucketAttributes {
                        priority: Some(priority),
                        ..BucketAttributes::default()
                    },
                };
                let buckets = [bucket(MAIN, 10), bucket(BONUS, 5)];
                write(Command::Create(Create::active(&buckets)));
            }
            Task::Audit => out.extend(audit_of(name).arguments().packed()),
            Task::Remove => {
                // The bucket with the lower priority is consumed first, so `bonus` pays until it is empty.
                let of_bonus = CREDIT.min(*consumed);
                let voids = [(b"void1", BONUS, of_bonus), (b"void2", MAIN, consumed - of_bonus)];
                for (txn, bucket, consumed) in voids {
                    write(Command::Adjust { txn, bucket, amount: consumed - CREDIT });
                }
                write(Command::Status { txn: None, status: Status::Closed, identities: &[] });
                write(Command::Delete { force: true, if_txn: None });
            }
        }
    }

    fn check_audit(&self, number: usize, reply: &[u8]) -> Result<()> {
        let LoadedAccount { name, consumed } = &self.accounts[number];
        let audit = match decode(&audit_of(name), &redis::parse_redis_value(reply)?)? {
            Reply::Audit(audit) => audit,
            other => bail!("AUDIT answers {other:?}"),
        };
        let name = name.escape_ascii();
        ensure!(audit.ok, "{name}: the audit finds it broken: {audit:?}");
        let sum = |amount: fn(&BucketTotals) -> i64| -> i128 {
            audit.buckets.iter().map(|bucket| i128::from(amount(bucket))).sum()
        };
        let has = (sum(|it| it.available), sum(|it| it.held), sum(|it| it.consumed));
        let acknowledged = i128::from(*consumed);
        let left = 2 * i128::from(CREDIT) - acknowledged;
        ensure!(
            has == (left, 0, acknowledged),
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

fn audit_of(name: &[u8]) -> Request {
    Request::Read(Read::Audit { account: name.to_vec() })
}

/// Returns the request of a step on an account, in the session `ID`.
fn request_of(step: Step, name: &[u8], number: u32) -> Request {
    let account = name.to_vec();
    let session = |step: SessionStep, used, requested| {
        let items =
            [ItemRequest { key: ItemKey::Number(1), unit: UNIT, used, requested, min: None }];
        let request = number;
        let asked = SessionRequest { session: ID, request, items: &items, ..Default::default() };
        Request::write(name, &step.command(asked))
    };
    match step {
        Step::Get => Request::Read(Read::Account { account }),
        Step::Session => Request::Read(Read::Session { account, session: ID.to_vec() }),
        Step::Reserve => session(SessionStep::Reserve, None, Some(REQUESTED)),
        Step::Update => session(SessionStep::Update, Some(USED), Some(REQUESTED)),
        Step::Terminate => session(SessionStep::Terminate, Some(USED_AT_END), None),
    }
}

fn template(step: Step, name: &[u8], number: u32) -> Template {
    let arguments = request_of(step, name, number).arguments();
    let words: Vec<&[u8]> = arguments.iter().collect();
    Template::new(&words, 1, (step != Step::Get).then_some(2))
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

    /// Returns a reply to AUDIT with these sums of `bonus`, out of which all was paid.
    fn audit(consumed: i64, held: i64) -> Vec<u8> {
        let row = |id: &str, available: i64, held: i64, consumed: i64| {
            let sums = [available, held, CREDIT, 0, consumed, 0, 0, 0];
            let sums: String = sums.iter().map(|sum| format!(":{sum}\r\n")).collect();
            format!("*10\r\n+{id}\r\n+octets\r\n{sums}")
        };
        let rows =
            [row("main", CREDIT, 0, 0), row("bonus", CREDIT - consumed - held, held, consumed)];
        format!(
            "*8\r\n+ok\r\n:1\r\n+version\r\n:9\r\n+buckets\r\n*2\r\n{}+uncollected\r\n*0\r\n",
            rows.concat()
        )
        .into_bytes()
    }

    #[test]
    fn what_was_acknowledged_is_compared_to_the_unit() {
        let load = after_a_session();
        assert_eq!((load.fault(), load.accounts[0].consumed), (None, 900 + 900 + 700));
        load.check_audit(0, &audit(2_500, 0)).expect("it is exact");
        for wrong in [audit(2_499, 0), audit(2_501, 0), audit(2_500, 1), b"$-1\r\n".to_vec()] {
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
