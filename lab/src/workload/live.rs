//! Live charging sessions: they share accounts, send some requests twice, and spend all the credit. Denials are valid
//! answers here, and so is BUSY when an account has no room for one more session.

use serde::{Deserialize, Serialize};

use super::Workload;
use super::commands::{Commands, RequestId};
use super::pick::Pick;
use crate::dialect::Dialect;
use crate::errors::ErrorTally;
use crate::names::{account_text, session_text};
use crate::random::Random;
use crate::requests::MAIN;
use crate::resp::{Stop, read_write_reply, skip};
use crate::routes::Owners;
use crate::scenario::Live;

const RESERVE: u8 = 0;
const UPDATE: u8 = 1;
const TERMINATE: u8 = 2;

const PER_MILLE: u32 = 1_000;

/// Counts of the requests over the whole load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveCounts {
    /// Answers that denied a request because the credit was used up.
    pub denials: u64,
    /// Grants below the requested amount.
    pub partial: u64,
    /// Requests that were sent again after they were answered.
    pub duplicates: u64,
    /// Answers marked as replayed.
    pub replays: u64,
    /// Sessions for which an account had no room.
    pub busy: u64,
}

/// Live workload.
#[derive(Debug)]
pub struct LiveWorkload {
    operations: Vec<String>,
    commands: Commands,
    plan: Live,
    pick: Pick,
    random: Random,
    sessions: Vec<LiveSession>,
    session_counter: u64,
    consumed: Vec<i64>,
    counts: LiveCounts,
    /// Duplicates with a wrong answer, and new requests with an answer that only a duplicate may have.
    wrong: u64,
    errors: ErrorTally,
    routes: Option<Owners>,
}

/// One session of the load: its current charging session, and its last request.
#[derive(Clone, Copy, Debug, Default)]
struct LiveSession {
    account: u32,
    number: u64,
    is_open: bool,
    /// True when the next request ends it.
    is_ending: bool,
    held: i64,
    next_request: u32,
    last: LiveRequest,
    /// True when the last request is to be sent again.
    again: bool,
    /// True when the request in flight is a duplicate.
    is_again: bool,
    granted: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct LiveRequest {
    operation: u8,
    number: u32,
    used: i64,
}

impl LiveWorkload {
    /// Creates a load of `sessions` sessions on `accounts` accounts.
    pub fn new(
        plan: &Live,
        dialect: Dialect,
        accounts: u32,
        sessions: u32,
        seed: u64,
    ) -> LiveWorkload {
        LiveWorkload {
            operations: ["RESERVE", "UPDATE", "TERMINATE"].map(str::to_owned).to_vec(),
            commands: Commands::new(dialect, plan.item_key, plan.unit, MAIN),
            plan: plan.clone(),
            pick: Pick::new(plan, accounts),
            random: Random::seeded(seed),
            sessions: vec![LiveSession::default(); sessions as usize],
            session_counter: 0,
            consumed: vec![0; accounts as usize],
            counts: LiveCounts::default(),
            wrong: 0,
            errors: ErrorTally::default(),
            routes: None,
        }
    }

    /// Lets each session use only accounts of the node that its connection goes to.
    pub fn route(&mut self, owners: Owners) {
        self.routes = Some(owners);
    }

    /// Returns the units that the store acknowledged as consumed, by account.
    pub fn consumed(&self) -> &[i64] {
        &self.consumed
    }

    /// Returns the counts of the requests.
    pub fn counts(&self) -> LiveCounts {
        self.counts
    }

    /// Returns the number of duplicates with another answer than the first, and of first requests answered as
    /// duplicates.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Picks the account of a new session. If the first draw belongs to another node, the following ones are uniform
    /// until one belongs to this node.
    fn account(&mut self, session: u32) -> u32 {
        let count = u32::try_from(self.consumed.len()).unwrap_or(u32::MAX);
        let mut account = self.pick.draw(&mut self.random);
        while self.routes.as_ref().is_some_and(|owners| !owners.serves(session, account)) {
            account = self.random.below(count);
        }
        account
    }

    /// Returns the next new request of a session.
    fn next(&mut self, session: u32) -> LiveRequest {
        let index = session as usize;
        if !self.sessions[index].is_open {
            let account = self.account(session);
            let number = self.session_counter;
            self.session_counter += 1;
            self.sessions[index] = LiveSession { account, number, ..LiveSession::default() };
            return LiveRequest { operation: RESERVE, number: 0, used: 0 };
        }
        let state = &self.sessions[index];
        let ends = state.is_ending || state.next_request > self.plan.updates;
        let used = state.held * i64::from(self.plan.used_percent) / 100;
        let operation = if ends { TERMINATE } else { UPDATE };
        LiveRequest { operation, number: state.next_request, used }
    }

    fn write(&self, session: u32, request: LiveRequest, out: &mut Vec<u8>) {
        let state = &self.sessions[session as usize];
        let (account, text) = (account_text(state.account), session_text(state.number));
        let place = RequestId { account: &account, session: &text, request: request.number };
        match request.operation {
            RESERVE => self.commands.reserve(out, &place, self.plan.requested),
            UPDATE => self.commands.update(out, &place, request.used, self.plan.requested),
            _ => self.commands.terminate(out, &place, request.used),
        }
    }

    fn answered(&mut self, session: u32, bytes: &[u8]) -> Result<usize, Stop> {
        let (length, reply) = read_write_reply(bytes)?;
        let state = &mut self.sessions[session as usize];
        self.counts.replays += u64::from(reply.replayed);
        // A duplicate must get the stored answer, marked as replayed.
        if state.is_again {
            state.is_again = false;
            self.wrong += u64::from(!reply.replayed || reply.granted != state.granted);
            return Ok(length);
        }
        self.wrong += u64::from(reply.replayed);
        let LiveRequest { operation, number, used } = state.last;
        let settled = used - reply.uncollected;
        self.consumed[state.account as usize] += settled;
        self.counts.denials += u64::from(!reply.ok);
        let is_short = operation != TERMINATE && reply.granted < self.plan.requested;
        self.counts.partial += u64::from(is_short && reply.ok);
        // Version 0 says that the session is not open.
        state.is_open = reply.version != 0;
        // After a partial grant the credit is used up, so the next request ends the session.
        state.is_ending = is_short;
        (state.held, state.granted) = (reply.granted, reply.granted);
        state.next_request = number + 1;
        state.again = self.random.below(PER_MILLE) < self.plan.duplicates_per_mille;
        Ok(length)
    }
}

impl Workload for LiveWorkload {
    fn operations(&self) -> &[String] {
        &self.operations
    }

    fn emit(&mut self, session: u32, out: &mut Vec<u8>) -> u8 {
        let index = session as usize;
        if self.sessions[index].again {
            let state = &mut self.sessions[index];
            (state.again, state.is_again) = (false, true);
            self.counts.duplicates += 1;
        } else {
            let request = self.next(session);
            self.sessions[index].last = request;
        }
        let request = self.sessions[index].last;
        self.write(session, request, out);
        request.operation
    }

    fn emit_closing(&mut self, session: u32, out: &mut Vec<u8>) -> Option<u8> {
        let state = &mut self.sessions[session as usize];
        (state.again, state.is_ending) = (false, true);
        if !state.is_open {
            return None;
        }
        Some(self.emit(session, out))
    }

    fn accept(&mut self, session: u32, bytes: &[u8]) -> Result<usize, Stop> {
        if bytes.first() != Some(&b'-') {
            return self.answered(session, bytes);
        }
        let length = skip(bytes)?;
        let state = &mut self.sessions[session as usize];
        // BUSY is a valid answer when the account has no room for one more session.
        let is_busy = bytes.starts_with(b"-BUSY ") && !state.is_open && !state.is_again;
        if is_busy {
            self.counts.busy += 1;
        } else {
            self.errors.add(bytes);
        }
        *state = LiveSession::default();
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
    use crate::scenario::{AccountChoice, Scenario};

    fn workload(duplicates_per_mille: u32) -> LiveWorkload {
        let mut plan = Scenario::built_in("charging-live").unwrap().live.unwrap();
        (plan.updates, plan.requested, plan.used_percent) = (1, 100, 90);
        (plan.accounts, plan.duplicates_per_mille) = (AccountChoice::Uniform, duplicates_per_mille);
        LiveWorkload::new(&plan, Dialect::Scur, 1, 1, 1)
    }

    fn reply(replayed: u8, version: u8, granted: i64, code: &str) -> Vec<u8> {
        format!(
            "*4\r\n+{code}\r\n:{replayed}\r\n:{version}\r\n*1\r\n*5\r\n:1\r\n+{code}\r\n:{granted}\r\n:0\r\n:0\r\n"
        )
        .into_bytes()
    }

    fn step(workload: &mut LiveWorkload, reply: &[u8]) -> String {
        let mut out = Vec::new();
        workload.emit(0, &mut out);
        assert_eq!(workload.accept(0, reply), Ok(reply.len()));
        let words: Vec<String> = words(&out).map(|word| word.escape_ascii().to_string()).collect();
        format!("{} {}", words[0], words[3])
    }

    #[test]
    fn a_session_that_is_denied_ends_and_what_it_used_is_tallied() {
        let mut workload = workload(0);
        assert_eq!(step(&mut workload, &reply(0, 1, 100, "OK")), "SCUR.RESERVE 0");
        let denied = reply(0, 2, 0, "CREDIT_LIMIT_REACHED");
        assert_eq!(step(&mut workload, &denied), "SCUR.UPDATE 1");
        assert_eq!(step(&mut workload, &reply(0, 0, 0, "OK")), "SCUR.TERMINATE 2");
        assert_eq!(step(&mut workload, &reply(0, 0, 0, "CREDIT_LIMIT_REACHED")), "SCUR.RESERVE 0");
        // The session was not opened, so another begins.
        assert_eq!(step(&mut workload, b"-BUSY 50 later\r\n"), "SCUR.RESERVE 0");
        assert_eq!(workload.consumed(), [90]);
        let expected = LiveCounts { denials: 2, busy: 1, ..LiveCounts::default() };
        assert_eq!((workload.counts(), workload.wrong()), (expected, 0));
        assert_eq!(workload.errors().count, 0);
    }

    #[test]
    fn a_duplicate_must_have_the_answer_of_the_first() {
        for (second, wrong) in
            [(reply(1, 1, 100, "OK"), 0), (reply(0, 1, 100, "OK"), 1), (reply(1, 1, 99, "OK"), 1)]
        {
            let mut workload = workload(1_000);
            let (mut first, mut again) = (Vec::new(), Vec::new());
            workload.emit(0, &mut first);
            workload.accept(0, &reply(0, 1, 100, "OK")).unwrap();
            workload.emit(0, &mut again);
            assert_eq!(first, again);
            workload.accept(0, &second).unwrap();
            assert_eq!((workload.wrong(), workload.counts().duplicates), (wrong, 1));
            // A request is sent again only once.
            assert_eq!(step(&mut workload, &reply(0, 2, 100, "OK")), "SCUR.UPDATE 1");
        }
    }
}
