//! Verifies a store after a restart: everything acknowledged is there and complete, and nothing else.

use crate::clock::wall_ms;
use crate::load::Client;
use crate::report::Report;
use crate::shared::Shared;
use crate::subject::ReplyTimes;
use crate::views;
use crate::wire::{RequestWords, Wire, text, words};
use anyhow::{Context, Result, ensure};
use scurry_conformance::Value;
use scurry_model::Random;
use std::collections::BTreeSet;

/// Number in the histories of the client that makes this check.
const CLIENT: usize = 1_000;
/// Unit of accounts whose sessions expire or whose buckets are refilled, so that its totals change at any time.
const MOVING_UNIT: &str = "sec";

/// Compares everything that the clients know with a restarted server. `since` is the start of the last round's load,
/// ns.
pub(crate) fn verify(
    port: u16,
    clients: &mut [Client],
    shared: &Shared,
    known: &mut BTreeSet<String>,
    since: i64,
    random: &mut Random,
) -> Result<Report> {
    let mut report = Report::default();
    let mut wire = Wire::connect(port)?;
    for client in &mut *clients {
        let looks: Vec<Vec<RequestWords>> =
            client.subjects.iter().map(|own| own.state_requests()).collect();
        let from_ms = wall_ms();
        let mut replies = wire.ask_all(&looks.concat())?.into_iter();
        let asked = ReplyTimes { from_ms, to_ms: wall_ms() };
        for (own, looks) in client.subjects.iter_mut().zip(looks) {
            let replies: Vec<Value> = replies.by_ref().take(looks.len()).collect();
            for (look, reply) in looks.iter().zip(&replies) {
                if let ([command, id], Value::Map(_)) = (&look[..], reply)
                    && command == b"SCUR.GET"
                {
                    known.insert(String::from_utf8_lossy(id).into_owned());
                }
            }
            let doubt = own.check_state(&replies, asked).with_context(|| own.key().to_owned())?;
            report.in_doubt += doubt.requests as u64;
            report.applied += doubt.applied as u64;
            report.keys += 1;
        }
    }
    known.extend(shared.accounts().map(str::to_owned));
    totals(&mut wire, known)?;
    for (pending, words) in shared.reads(CLIENT) {
        let reply = wire.ask(&words)?;
        shared.returned(pending, &reply)?;
    }
    for client in &mut *clients {
        for own in &mut client.subjects {
            let before = own.counts().replays;
            let again = own.repeat_requests(random);
            for reply in wire.ask_all(&again)? {
                own.replied(&reply).with_context(|| format!("{} once more", own.key()))?;
            }
            report.replays += own.counts().replays - before;
        }
    }
    for (pending, words) in shared.repeat_requests(CLIENT, since, random) {
        let reply = wire.ask(&words)?;
        shared.returned(pending, &reply)?;
    }
    let info = text(&wire.ask(&words("INFO persistence"))?)?;
    ensure!(info.contains("snapshot"), "INFO persistence says nothing of snapshots: {info}");
    Ok(report)
}

/// Checks that TOTALS are the sum of all accounts, and that no unknown account exists.
fn totals(wire: &mut Wire, known: &mut BTreeSet<String>) -> Result<()> {
    let ids: Vec<String> = known.iter().cloned().collect();
    let requests: Vec<RequestWords> = ids.iter().map(|id| views::audit(id)).collect();
    let mut audits = Vec::new();
    for (id, reply) in ids.iter().zip(wire.ask_all(&requests)?) {
        if matches!(reply, Value::Error(_)) {
            // The account is gone. The checks of its client decide whether that is right.
            known.remove(id);
        } else {
            audits.push(views::audit_of(&reply).with_context(|| id.clone())?);
        }
    }
    let totals = views::totals_of(&wire.ask(&words("SCUR.TOTALS"))?)?;
    views::sums_agree(&totals, &audits, Some(MOVING_UNIT))
}
