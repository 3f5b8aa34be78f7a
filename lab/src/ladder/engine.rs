//! The second rung: a shard with many accounts, so that finding, unpacking and packing them
//! and the caches' misses are added.

use anyhow::{Result, ensure};
use scurry_ledger::Time;

use super::ledger::{answers, is_there};
use super::meter::{Meter, Rung, TURN};
use super::session_loop::{LoopRequest, Population, SessionLoop};
use super::store::{BATCH, EPOCH, Outcome, Store};
use crate::scenario::Charging;

/// The rung.
#[derive(Debug)]
pub(super) struct EngineRung {
    store: Store,
    unit: String,
    sessions: SessionLoop,
    requests: Vec<LoopRequest>,
}

impl EngineRung {
    pub(super) fn new(charging: &Charging, population: Population) -> Result<EngineRung> {
        Ok(EngineRung {
            store: Store::with_accounts(charging, population.accounts)?,
            unit: charging.unit.clone(),
            sessions: SessionLoop::new(charging, population)?,
            requests: Vec::with_capacity(TURN),
        })
    }
}

impl Rung for EngineRung {
    fn name(&self) -> &'static str {
        "engine"
    }

    fn turn(&mut self, meter: &mut Meter) -> Result<()> {
        self.requests.clear();
        self.requests.extend((0..TURN).map(|_| self.sessions.next()));
        let now = Time(EPOCH.0 + meter.elapsed_ms());
        let EngineRung { store, requests, .. } = self;
        let wrong = meter.time(|| {
            let mut wrong = 0u64;
            for (index, request) in requests.iter().enumerate() {
                if index % BATCH == 0 {
                    let batch = requests[index..].iter().take(BATCH);
                    store.touch(batch.map(|request| request.account.as_slice()));
                }
                let right = match request.command() {
                    Some(command) => match store.execute(now, &request.account, &command) {
                        Outcome::Answer { answer, replayed: false } => {
                            answers(&answer, request.granted())
                        }
                        _ => false,
                    },
                    None => is_there(store.account(now, &request.account).ok(), request),
                };
                wrong += u64::from(!right);
            }
            store.tick(now);
            wrong
        });
        ensure!(
            wrong == 0,
            "{wrong} of {TURN} answers were not OK with the full grant: use more --accounts if \
             sessions are refused as BUSY"
        );
        Ok(())
    }

    fn audit(&self) -> Result<()> {
        self.store.audit(&self.unit, self.sessions.consumed())
    }
}
