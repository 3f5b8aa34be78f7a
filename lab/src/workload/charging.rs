//! The charging workload: sessions that read, reserve, update and terminate, and the exact tally of the consumption
//! that the store acknowledged.

use anyhow::Result;

use super::Workload;
use crate::dialect::Dialect;
use crate::errors::ErrorTally;
use crate::names::{AccountText, SessionText, account_text, session_text};
use crate::random::Random;
use crate::resp::{Stop, Template, read_write_reply, skip};
use crate::routes::Owners;
use crate::scenario::{Charging, Operation};

/// Settings of the workload.
#[derive(Clone, Debug)]
pub struct ChargingPlan<'a> {
    /// Charging part of the scenario.
    pub charging: &'a Charging,
    /// Spelling of the commands.
    pub dialect: Dialect,
    /// Accounts to choose from.
    pub accounts: u32,
    /// Concurrent sessions.
    pub sessions: u32,
    /// Seed of the choice of accounts.
    pub seed: u64,
    /// True when the replies are filler, as the echo server's are: they are only skipped.
    pub opaque: bool,
    /// Owners of the accounts; a session uses only the accounts of the core that its connection goes to.
    pub routes: Option<Owners>,
}

/// Charging workload.
#[derive(Debug)]
pub struct ChargingWorkload {
    operations: Vec<String>,
    steps: Vec<TemplateStep>,
    sessions: Vec<SessionState>,
    random: Random,
    accounts: u32,
    session_counter: u64,
    opaque: bool,
    routes: Option<Owners>,
    /// Every account whose number divides by this has no credit; 0 for none.
    without_credit: u32,
    /// Accounts in use, where no two sessions may share one.
    taken: Option<Vec<bool>>,
    consumed: Vec<i64>,
    consumed_total: i128,
    replays: u64,
    errors: ErrorTally,
}

/// One operation of the loop.
#[derive(Debug)]
struct TemplateStep {
    template: Template,
    operation: u8,
    effect: Effect,
}

/// Meaning of a step's acknowledgement for the tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Read,
    Open { requested: i64 },
    Use { used: i64, requested: i64 },
    Close { used: i64 },
}

#[derive(Clone, Debug)]
struct SessionState {
    account: u32,
    step: u8,
    open: bool,
    account_text: AccountText,
    session_text: SessionText,
}

impl ChargingWorkload {
    /// Builds the templates of every step.
    ///
    /// # Errors
    /// When the scenario's loop has more steps than can be numbered.
    pub fn new(plan: &ChargingPlan<'_>) -> Result<ChargingWorkload> {
        let mut operations: Vec<String> = Vec::new();
        let mut steps = Vec::new();
        let mut request = 0u32;
        for operation in plan.charging.operations() {
            let name = operation.name().to_owned();
            let known = operations.iter().position(|known| *known == name);
            let index = known.unwrap_or(operations.len());
            if known.is_none() {
                operations.push(name);
            }
            steps.push(step(plan, operation, u8::try_from(index)?, request));
            if operation.writes() {
                request += 1;
            }
        }
        u8::try_from(steps.len())?;
        let idle = SessionState {
            account: 0,
            step: 0,
            open: false,
            account_text: account_text(0),
            session_text: session_text(0),
        };
        Ok(ChargingWorkload {
            operations,
            steps,
            sessions: vec![idle; plan.sessions as usize],
            random: Random::seeded(plan.seed),
            accounts: plan.accounts,
            session_counter: 0,
            opaque: plan.opaque,
            routes: plan.routes.clone(),
            without_credit: plan.charging.without_credit,
            taken: plan.charging.alone.then(|| vec![false; plan.accounts as usize]),
            consumed: vec![0; plan.accounts as usize],
            consumed_total: 0,
            replays: 0,
            errors: ErrorTally::default(),
        })
    }

    /// Returns the units that the store acknowledged as consumed, per account.
    pub fn consumed(&self) -> &[i64] {
        &self.consumed
    }

    /// Returns the total units that the store acknowledged as consumed.
    pub fn consumed_total(&self) -> i128 {
        self.consumed_total
    }

    /// Returns the number of acknowledgements marked as replayed. Nothing was sent twice, so any is wrong.
    pub fn replays(&self) -> u64 {
        self.replays
    }

    /// Picks the account of a new session. The loop ends: a core owns at least some of the accounts, and there are more
    /// accounts than sessions where no two may share one.
    #[inline]
    fn account(&mut self, session: u32) -> u32 {
        loop {
            let account = self.random.below(self.accounts);
            let is_other =
                self.routes.as_ref().is_some_and(|owners| !owners.serves(session, account));
            let is_taken = self.taken.as_ref().is_some_and(|taken| taken[account as usize]);
            if !is_other && !is_taken {
                if let Some(taken) = &mut self.taken {
                    taken[account as usize] = true;
                }
                return account;
            }
        }
    }

    /// Lets another session use the account of this one.
    #[inline]
    fn leave(&mut self, session: usize) {
        if let Some(taken) = &mut self.taken {
            taken[self.sessions[session].account as usize] = false;
        }
    }

    fn acknowledge(&mut self, session: usize, effect: Effect, bytes: &[u8]) -> Result<usize, Stop> {
        let (length, reply) = read_write_reply(bytes)?;
        self.replays += u64::from(reply.replayed);
        let state = &mut self.sessions[session];
        if self.without_credit > 0 && state.account.is_multiple_of(self.without_credit) {
            // Its session does not open.
            if reply.ok || reply.granted != 0 {
                self.errors.add(b"an answer other than a denial for an account without credit");
            }
            return Ok(length);
        }
        let (used, requested) = match effect {
            Effect::Read => (0, 0),
            Effect::Open { requested } => {
                state.open = true;
                (0, requested)
            }
            Effect::Use { used, requested } => (used, requested),
            Effect::Close { used } => {
                state.open = false;
                (used, 0)
            }
        };
        // The accounts have enough credit, so anything but the full grant is an error.
        if !reply.ok || reply.granted != requested {
            self.errors.add(b"an answer other than OK with the full grant");
        }
        let settled = used - reply.uncollected;
        self.consumed[state.account as usize] += settled;
        self.consumed_total += i128::from(settled);
        Ok(length)
    }
}

impl Workload for ChargingWorkload {
    fn operations(&self) -> &[String] {
        &self.operations
    }

    #[inline]
    fn emit(&mut self, session: u32, out: &mut Vec<u8>) -> u8 {
        // Step 0 begins a new session, on any account.
        if self.sessions[session as usize].step == 0 {
            let account = self.account(session);
            let state = &mut self.sessions[session as usize];
            state.account = account;
            state.account_text = account_text(state.account);
            state.session_text = session_text(self.session_counter);
            self.session_counter += 1;
        }
        let state = &self.sessions[session as usize];
        let step = &self.steps[usize::from(state.step)];
        step.template.append(out, &state.account_text, &state.session_text);
        step.operation
    }

    fn emit_closing(&mut self, session: u32, out: &mut Vec<u8>) -> Option<u8> {
        let state = &mut self.sessions[session as usize];
        if !state.open {
            return None;
        }
        // The last step is TERMINATE, with a request number that this session has not used.
        let last = self.steps.len() - 1;
        state.step = u8::try_from(last).unwrap_or(u8::MAX);
        let step = &self.steps[last];
        step.template.append(out, &state.account_text, &state.session_text);
        Some(step.operation)
    }

    #[inline]
    fn accept(&mut self, session: u32, bytes: &[u8]) -> Result<usize, Stop> {
        let index = session as usize;
        let at = self.sessions[index].step;
        let effect = self.steps[usize::from(at)].effect;
        if bytes.first() == Some(&b'-') {
            let length = skip(bytes)?;
            self.errors.add(bytes);
            // The run has failed its audit: do not try forever to close a session that cannot be closed.
            let state = &mut self.sessions[index];
            (state.step, state.open) = (0, false);
            self.leave(index);
            return Ok(length);
        }
        let length = if effect == Effect::Read || self.opaque {
            skip(bytes)?
        } else {
            self.acknowledge(index, effect, bytes)?
        };
        let next = usize::from(at) + 1;
        let is_denied = matches!(effect, Effect::Open { .. }) && !self.sessions[index].open;
        let is_last = next == self.steps.len() || is_denied && !self.opaque;
        self.sessions[index].step = if is_last { 0 } else { at + 1 };
        if is_last {
            self.leave(index);
        }
        Ok(length)
    }

    fn errors(&self) -> &ErrorTally {
        &self.errors
    }
}

/// Builds the template and the effect of one operation.
fn step(plan: &ChargingPlan<'_>, operation: Operation, index: u8, request: u32) -> TemplateStep {
    let charging = plan.charging;
    let (account, session) = (account_text(0), session_text(0));
    let request = charging.request(operation, &charging.at(&account, &session, request));
    let arguments = plan.dialect.arguments(&request);
    let first = plan.dialect.account_index();
    let second = (operation != Operation::Get).then_some(first + 1);
    let effect = match operation {
        Operation::Get | Operation::Session => Effect::Read,
        Operation::Reserve => Effect::Open { requested: charging.requested },
        Operation::Update => {
            Effect::Use { used: charging.used_update, requested: charging.requested }
        }
        Operation::Terminate => Effect::Close { used: charging.used_terminate },
    };
    TemplateStep { template: Template::new(&arguments, first, second), operation: index, effect }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Value;
    use crate::routes::Routes;
    use crate::scenario::Scenario;

    const OK_1000: &[u8] =
        b"*4\r\n+OK\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:1000\r\n:0\r\n:0\r\n";
    const OK_CLOSED: &[u8] =
        b"*4\r\n+OK\r\n:0\r\n:0\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:0\r\n:0\r\n:0\r\n";

    fn workload() -> ChargingWorkload {
        let scenario = Scenario::built_in("moaf-scur").unwrap();
        let charging = scenario.charging.as_ref().unwrap();
        let dialect = Dialect::Scur;
        let plan = ChargingPlan {
            charging,
            dialect,
            accounts: 3,
            sessions: 1,
            seed: 1,
            opaque: false,
            routes: None,
        };
        ChargingWorkload::new(&plan).unwrap()
    }

    #[test]
    fn a_session_runs_the_loop_in_order_and_its_use_is_tallied() {
        let mut workload = workload();
        let mut names = Vec::new();
        for reply in
            [b"+OK\r\n", OK_1000, b"*0\r\n", OK_1000, b"*0\r\n", OK_1000, b"*0\r\n", OK_CLOSED]
        {
            let mut out = Vec::new();
            let operation = workload.emit(0, &mut out);
            names.push(workload.operations()[usize::from(operation)].clone());
            assert_eq!(skip(&out), Ok(out.len()));
            assert_eq!(workload.accept(0, reply), Ok(reply.len()));
        }
        let loop_names =
            ["GET", "RESERVE", "SESSION", "UPDATE", "SESSION", "UPDATE", "SESSION", "TERMINATE"];
        assert_eq!(names, loop_names);
        assert_eq!(workload.consumed_total(), 900 + 900 + 700);
        assert_eq!(workload.consumed().iter().sum::<i64>(), 2_500);
        assert_eq!(workload.errors().count, 0);
        assert_eq!(workload.emit_closing(0, &mut Vec::new()), None);
    }

    #[test]
    fn an_open_session_can_be_closed_early() {
        let mut workload = workload();
        for reply in [b"+OK\r\n", OK_1000] {
            workload.emit(0, &mut Vec::new());
            workload.accept(0, reply).unwrap();
        }
        let mut out = Vec::new();
        assert!(workload.emit_closing(0, &mut out).is_some());
        assert!(out.windows(14).any(|window| window == b"SCUR.TERMINATE"));
        workload.accept(0, OK_CLOSED).unwrap();
        assert_eq!(workload.consumed_total(), 700);
        assert_eq!(workload.emit_closing(0, &mut out), None);
    }

    #[test]
    fn a_session_that_cannot_be_closed_is_given_up() {
        let mut workload = workload();
        for reply in [b"+OK\r\n", OK_1000] {
            workload.emit(0, &mut Vec::new());
            workload.accept(0, reply).unwrap();
        }
        assert!(workload.emit_closing(0, &mut Vec::new()).is_some());
        workload.accept(0, b"-UNKNOWN_SESSION 30 no\r\n").unwrap();
        assert_eq!(workload.emit_closing(0, &mut Vec::new()), None);
        assert_eq!(workload.errors().count, 1);
    }

    #[test]
    fn a_session_uses_only_accounts_of_the_core_that_it_talks_to() {
        let scenario = Scenario::built_in("moaf-scur").unwrap();
        let reply = "*2|*3|:0|:8191|*2|$0||:7001|*3|:8192|:16383|*2|$0||:7002|";
        let (_, reply) = Value::read(reply.replace('|', "\r\n").as_bytes()).unwrap();
        let routes = Routes::read(&reply, ([127, 0, 0, 1], 7000).into()).unwrap();
        let owners = routes.owners(100, 4, account_text).unwrap();
        let mut workload = ChargingWorkload::new(&ChargingPlan {
            charging: scenario.charging.as_ref().unwrap(),
            dialect: Dialect::Scur,
            accounts: 100,
            sessions: 8,
            seed: 1,
            opaque: false,
            routes: Some(owners),
        })
        .unwrap();
        let mut seen = [0; 2];
        for session in (0..8).cycle().take(400) {
            workload.emit(session, &mut Vec::new());
            let account = workload.sessions[session as usize].account_text;
            let owner = usize::from(routes.owner_of(&account));
            assert_eq!(owner, session as usize % 4 % 2);
            seen[owner] += 1;
            // The next session starts from the beginning.
            workload.accept(session, b"-BUSY 50 later\r\n").unwrap();
        }
        assert_eq!(seen, [200, 200]);
    }

    #[test]
    fn errors_short_grants_and_replays_are_noticed() {
        let mut workload = workload();
        workload.emit(0, &mut Vec::new());
        workload.accept(0, b"-UNKNOWN_ACCOUNT 20 no\r\n").unwrap();
        assert_eq!(workload.errors().count, 1);
        workload.emit(0, &mut Vec::new());
        workload.accept(0, b"+OK\r\n").unwrap();
        workload.emit(0, &mut Vec::new());
        workload.accept(0, OK_CLOSED).unwrap();
        assert_eq!(workload.errors().count, 2);
        workload.emit(0, &mut Vec::new());
        workload.accept(0, b"*0\r\n").unwrap();
        workload.emit(0, &mut Vec::new());
        assert_eq!(workload.replays(), 0);
        let replayed = OK_1000.to_vec().escape_ascii().to_string().replacen(":0", ":1", 1);
        let replayed = replayed.replace("\\r\\n", "\r\n");
        workload.accept(0, replayed.as_bytes()).unwrap();
        assert_eq!(workload.replays(), 1);
    }
}
