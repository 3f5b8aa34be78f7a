//! Usage reports and refills: each user has one account with one session, which the first report opens. A user has at
//! most one request in flight, so the expected state of each account is known to the unit: credit, consumption and
//! holds.

use super::Workload;
use super::commands::{Commands, RequestId};
use crate::dialect::Dialect;
use crate::errors::ErrorTally;
use crate::names::{account_text, digits, session_text};
use crate::random::Random;
use crate::requests::MAIN;
use crate::resp::{Stop, read_amount_reply, read_write_reply, skip};
use crate::routes::Owners;
use crate::scenario::Usage;

const RESERVE: u8 = 0;
const UPDATE: u8 = 1;
const TOPUP: u8 = 2;

/// Usage workload.
#[derive(Debug)]
pub struct UsageWorkload {
    operations: Vec<String>,
    commands: Commands,
    plan: Usage,
    random: Random,
    users: Vec<User>,
    /// Request in flight of each session of the load, at most one.
    in_flight: Vec<InFlight>,
    refills: u64,
    denials: u64,
    replays: u64,
    errors: ErrorTally,
    routes: Option<Owners>,
}

/// State of one user. There are many users, so it is small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Credit that was added.
    pub refilled: i64,
    /// Units that were consumed.
    pub consumed: i64,
    /// Units that are held.
    pub held: u32,
    /// Next request number of the session; 0 before it is open.
    next_request: u32,
    /// True while a request is in flight.
    is_busy: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    user: u32,
    operation: u8,
    /// Units reported as used, or credit that is added.
    amount: i64,
}

impl UsageWorkload {
    /// Creates a load of `accounts` users.
    pub fn new(
        plan: &Usage,
        dialect: Dialect,
        accounts: u32,
        sessions: u32,
        seed: u64,
    ) -> UsageWorkload {
        UsageWorkload {
            operations: ["RESERVE", "UPDATE", "TOPUP"].map(str::to_owned).to_vec(),
            commands: Commands::new(dialect, plan.item_key, plan.unit, MAIN),
            plan: plan.clone(),
            random: Random::seeded(seed),
            users: vec![User::default(); accounts as usize],
            in_flight: vec![InFlight::default(); sessions as usize],
            refills: 0,
            denials: 0,
            replays: 0,
            errors: ErrorTally::default(),
            routes: None,
        }
    }

    /// Lets each session use only accounts of the node that its connection goes to.
    pub fn route(&mut self, owners: Owners) {
        self.routes = Some(owners);
    }

    /// Returns the state that the store must hold, by account.
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// Returns the number of reports for which nothing was granted.
    pub fn denials(&self) -> u64 {
        self.denials
    }

    /// Returns the number of answers marked as replayed. Nothing was sent twice, so any is wrong.
    pub fn replays(&self) -> u64 {
        self.replays
    }

    /// Picks a user without a request in flight. The loop ends, because there are more users than sessions.
    #[inline]
    fn user(&mut self, session: u32) -> u32 {
        let count = u32::try_from(self.users.len()).unwrap_or(u32::MAX);
        loop {
            let user = self.random.below(count);
            let is_served = self.routes.as_ref().is_none_or(|owners| owners.serves(session, user));
            if is_served && !self.users[user as usize].is_busy {
                return user;
            }
        }
    }

    fn refill(&mut self) -> i64 {
        let range = self.plan.refill_max - self.plan.refill_min + 1;
        i64::from(self.plan.refill_min + self.random.below(range))
    }

    fn reported(&mut self, sent: InFlight, bytes: &[u8]) -> Result<usize, Stop> {
        let (length, reply) = read_write_reply(bytes)?;
        let user = &mut self.users[sent.user as usize];
        user.consumed += sent.amount - reply.uncollected;
        match u32::try_from(reply.granted) {
            Ok(granted) => user.held = granted,
            Err(_) => self.errors.add(b"a grant that nobody has asked for"),
        }
        user.next_request += 1;
        self.replays += u64::from(reply.replayed);
        self.denials += u64::from(!reply.ok);
        if sent.operation == RESERVE && reply.version == 0 {
            self.errors.add(b"a session that was not opened: give every account a first credit");
        }
        Ok(length)
    }

    fn refilled(&mut self, sent: InFlight, bytes: &[u8]) -> Result<usize, Stop> {
        let (length, reply) = read_amount_reply(bytes)?;
        self.replays += u64::from(reply.replayed);
        if reply.ok {
            self.users[sent.user as usize].refilled += sent.amount;
        } else {
            self.errors.add(b"a refill that was denied");
        }
        Ok(length)
    }
}

impl Workload for UsageWorkload {
    fn operations(&self) -> &[String] {
        &self.operations
    }

    fn emit(&mut self, session: u32, out: &mut Vec<u8>) -> u8 {
        let number = self.user(session);
        let account = account_text(number);
        let shares = self.plan.report_share + self.plan.refill_share;
        let is_report = self.random.below(shares) < self.plan.report_share;
        let user = self.users[number as usize];
        let (operation, amount) = if is_report {
            let wanted = i64::from(1 + self.random.below(self.plan.wanted_max));
            let session = session_text(u64::from(number));
            let place =
                RequestId { account: &account, session: &session, request: user.next_request };
            if user.next_request == 0 {
                self.commands.reserve(out, &place, wanted);
                (RESERVE, 0)
            } else {
                let used = u64::from(user.held) * u64::from(self.plan.used_percent) / 100;
                let used = i64::try_from(used).unwrap_or(0);
                self.commands.update(out, &place, used, wanted);
                (UPDATE, used)
            }
        } else {
            let amount = self.refill();
            let mut txn = *b"t00000000";
            digits(&mut txn[1..], self.refills, 36);
            self.refills += 1;
            self.commands.topup(out, &account, &txn, amount);
            (TOPUP, amount)
        };
        self.users[number as usize].is_busy = true;
        self.in_flight[session as usize] = InFlight { user: number, operation, amount };
        operation
    }

    fn emit_closing(&mut self, _session: u32, _out: &mut Vec<u8>) -> Option<u8> {
        // Sessions stay open, as in the published benchmark; the audit knows their holds.
        None
    }

    fn accept(&mut self, session: u32, bytes: &[u8]) -> Result<usize, Stop> {
        let sent = self.in_flight[session as usize];
        let length = match bytes.first() {
            Some(b'-') => {
                let length = skip(bytes)?;
                self.errors.add(bytes);
                length
            }
            _ if sent.operation == TOPUP => self.refilled(sent, bytes)?,
            _ => self.reported(sent, bytes)?,
        };
        self.users[sent.user as usize].is_busy = false;
        Ok(length)
    }

    fn errors(&self) -> &ErrorTally {
        &self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::words;
    use scurry_ledger::Name;

    fn workload(report_share: u32, refill_share: u32) -> UsageWorkload {
        let plan = Usage {
            unit: Name::literal("units"),
            item_key: 1,
            credit: 1_000,
            report_share,
            refill_share,
            used_percent: 90,
            wanted_max: 1,
            refill_min: 5,
            refill_max: 5,
            totals_seconds: 0.0,
        };
        UsageWorkload::new(&plan, Dialect::Scur, 2, 1, 1)
    }

    fn granted(amount: i64, ok: &str) -> Vec<u8> {
        format!("*4\r\n+{ok}\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+{ok}\r\n:{amount}\r\n:0\r\n:0\r\n")
            .into_bytes()
    }

    #[test]
    fn the_first_report_opens_the_session_and_the_next_settles_what_is_held() {
        let mut workload = workload(1, 0);
        workload.users.truncate(1);
        let mut names = Vec::new();
        for reply in [granted(100, "OK"), granted(50, "OK"), granted(0, "CREDIT_LIMIT_REACHED")] {
            let mut out = Vec::new();
            let operation = workload.emit(0, &mut out);
            names.push(workload.operations()[usize::from(operation)].clone());
            assert_eq!(workload.accept(0, &reply), Ok(reply.len()));
        }
        assert_eq!(names, ["RESERVE", "UPDATE", "UPDATE"]);
        let user = workload.users()[0];
        assert_eq!((user.consumed, user.held, workload.denials()), (90 + 45, 0, 1));
        assert_eq!(workload.errors().count, 0);
    }

    #[test]
    fn refills_have_ids_of_their_own_and_are_tallied() {
        let mut workload = workload(0, 1);
        let mut ids = Vec::new();
        for _ in 0..2 {
            let mut out = Vec::new();
            assert_eq!(workload.emit(0, &mut out), TOPUP);
            ids.push(words(&out).nth(2).unwrap().to_vec());
            workload.accept(0, b"*4\r\n+OK\r\n:0\r\n:1\r\n:1005\r\n").unwrap();
        }
        assert_ne!(ids[0], ids[1]);
        assert_eq!(workload.users().iter().map(|user| user.refilled).sum::<i64>(), 10);
        workload.emit(0, &mut Vec::new());
        workload.accept(0, b"*4\r\n+OK\r\n:1\r\n:1\r\n:1005\r\n").unwrap();
        assert_eq!(workload.replays(), 1);
    }

    #[test]
    fn a_user_has_one_request_on_its_way() {
        let mut workload = workload(0, 1);
        workload.in_flight.push(InFlight::default());
        workload.emit(0, &mut Vec::new());
        workload.emit(1, &mut Vec::new());
        assert_ne!(workload.in_flight[0].user, workload.in_flight[1].user);
    }
}
