//! The third rung: request bytes in, reply bytes out, as the server does between its sockets.

use anyhow::{Context, Result, bail, ensure};
use scurry_ledger::{Account, Time};
use scurry_resp::table::{self, CommandId, ScurWriteId};
use scurry_resp::{
    Args, Parsed, Parser, Protocol, Read, Reply, RequestLimits, Scratch, Write, parse_read,
    parse_write,
};

use super::meter::{Meter, Rung, TURN};
use super::session_loop::Population;
use super::store::{BATCH, EPOCH, Outcome, ReadError, Store};
use crate::dialect::Dialect;
use crate::scenario::Charging;
use crate::workload::{ChargingPlan, ChargingWorkload, Workload};

/// The rung.
#[derive(Debug)]
pub(super) struct InProcessRung {
    pipeline: Pipeline,
    unit: String,
    workload: ChargingWorkload,
    population: Population,
    turn: u32,
    batches: Vec<Exchange>,
}

/// The requests of one connection and their replies.
#[derive(Debug, Default)]
struct Exchange {
    sessions: Vec<u32>,
    requests: Vec<u8>,
    replies: Vec<u8>,
}

/// Parser, table, grammar and shard between two sockets.
#[derive(Debug)]
struct Pipeline {
    store: Store,
    parser: Parser,
    limits: RequestLimits,
    scratch: Scratch<'static>,
}

impl InProcessRung {
    pub(super) fn new(charging: &Charging, population: Population) -> Result<InProcessRung> {
        let store = Store::with_accounts(charging, population.accounts)?;
        let workload = ChargingWorkload::new(&ChargingPlan {
            charging,
            dialect: Dialect::Scur,
            accounts: population.accounts,
            sessions: population.sessions,
            seed: population.seed,
            opaque: false,
            routes: None,
        })?;
        Ok(InProcessRung {
            pipeline: Pipeline {
                store,
                parser: Parser::default(),
                limits: RequestLimits::default(),
                scratch: Scratch::default(),
            },
            unit: charging.unit.clone(),
            workload,
            population,
            turn: 0,
            batches: (0..TURN / BATCH).map(|_| Exchange::default()).collect(),
        })
    }
}

impl Rung for InProcessRung {
    fn name(&self) -> &'static str {
        "in-process"
    }

    fn turn(&mut self, meter: &mut Meter) -> Result<()> {
        for batch in &mut self.batches {
            batch.sessions.clear();
            batch.requests.clear();
            batch.replies.clear();
            for _ in 0..BATCH {
                batch.sessions.push(self.turn);
                self.workload.emit(self.turn, &mut batch.requests);
                self.turn = (self.turn + 1) % self.population.sessions;
            }
        }
        let now = Time(EPOCH.0 + meter.elapsed_ms());
        let (pipeline, batches) = (&mut self.pipeline, &mut self.batches);
        meter.time(|| {
            batches.iter_mut().try_for_each(|batch| pipeline.batch(now, batch))?;
            pipeline.store.tick(now);
            anyhow::Ok(())
        })?;
        for batch in &self.batches {
            let mut at = 0;
            for session in &batch.sessions {
                at += self.workload.accept(*session, &batch.replies[at..])?;
            }
        }
        match self.workload.errors().describe() {
            Some(errors) => bail!("{errors}"),
            None => Ok(()),
        }
    }

    fn audit(&self) -> Result<()> {
        ensure!(self.workload.replays() == 0, "new requests were called replays");
        self.pipeline.store.audit(&self.unit, self.workload.consumed_total())
    }
}

impl Pipeline {
    fn batch(&mut self, now: Time, batch: &mut Exchange) -> Result<()> {
        let mut parser = std::mem::take(&mut self.parser);
        let mut at = 0;
        let input = &batch.requests;
        while at < input.len() {
            match parser.parse(&input[at..], &self.limits, true) {
                Parsed::Request(length) => at += length,
                other => bail!("the parser does not take the lab's request: {other:?}"),
            }
        }
        self.store.touch((0..parser.found()).map(|index| parser.args(input, index).at(1)));
        for index in 0..parser.found() {
            let mut reply = Reply::new(&mut batch.replies, Protocol::Resp2);
            self.request(now, parser.args(input, index), &mut reply)?;
        }
        parser.forget();
        self.parser = parser;
        Ok(())
    }

    #[inline]
    fn request(&mut self, now: Time, args: Args<'_>, reply: &mut Reply<'_>) -> Result<()> {
        let spec = table::find(args.at(0)).filter(|spec| spec.accepts(args.len()));
        let spec = spec.context("the command table does not know the lab's request")?;
        match spec.id {
            CommandId::ScurWrite(id) => self.write(now, id, args, reply)?,
            CommandId::ScurRead(id) => match parse_read(id, args) {
                Ok(read) => self.read(now, read, reply)?,
                Err(fault) => reply.error(fault),
            },
            _ => bail!("the lab's request is no SCUR command"),
        }
        Ok(())
    }

    #[inline]
    fn write(
        &mut self,
        now: Time,
        id: ScurWriteId,
        args: Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<()> {
        let mut scratch: Scratch<'_> = std::mem::take(&mut self.scratch).reuse();
        match parse_write(id, args, &mut scratch) {
            Ok(Write { account, command }) => match self.store.execute(now, account, &command) {
                Outcome::Answer { answer, replayed } => {
                    scurry_resp::answer(reply, &command, &answer, replayed);
                }
                Outcome::Reject(rejection) => scurry_resp::rejection(reply, &rejection),
                other => bail!("the store does not take a command: {other:?}"),
            },
            Err(fault) => reply.error(fault),
        }
        self.scratch = scratch.reuse();
        Ok(())
    }

    fn read(&mut self, now: Time, read: Read<'_>, reply: &mut Reply<'_>) -> Result<()> {
        match read {
            Read::Account(id) => {
                let account = found(self.store.account(now, id))?;
                scurry_resp::account_map(reply, account, now.on(Some(account)));
            }
            Read::Session { account: id, session } => {
                let account = found(self.store.account(now, id))?;
                let open = account.session(session).context("a session is gone")?;
                scurry_resp::session_map(reply, account, open, now.on(Some(account)));
            }
            other => bail!("the scenario has no {other:?}"),
        }
        Ok(())
    }
}

fn found(account: Result<&Account, ReadError>) -> Result<&Account> {
    account.map_err(|error| anyhow::anyhow!("an account cannot be read: {error:?}"))
}
