//! The audit of a node that leads: each account shows what was acknowledged, and the totals are the sum.

use super::acknowledged::{Acknowledged, CREDIT, Findings};
use crate::group::member::Member;
use anyhow::{Context, Result, anyhow, ensure};
use scurry_crash::views;
use scurry_crash::wire::words;
use std::ops::Range;
use std::thread;

/// Connections of an audit.
const WIRES: u32 = 4;
/// Accounts whose replies are compared at a time.
const STEP: u32 = 4_096;

/// Compares all accounts of a node with what was acknowledged, while no request is under way. Fails if an account is
/// broken, or the totals are not the sum.
pub(crate) fn audit(node: &Member, acknowledged: &Acknowledged) -> Result<Findings> {
    let accounts = acknowledged.accounts();
    let share = accounts.div_ceil(WIRES);
    let mut findings = Findings::default();
    thread::scope(|scope| {
        let range = |wire: u32| wire * share..accounts.min((wire + 1) * share);
        let all = (0..WIRES).map(range).filter(|range| !range.is_empty());
        let threads: Vec<_> =
            all.map(|range| scope.spawn(move || look(node, acknowledged, range))).collect();
        for thread in threads {
            findings.add(thread.join().map_err(|_| anyhow!("an audit has panicked")).flatten()?);
        }
        anyhow::Ok(())
    })?;
    // What is lost or was made twice is wrong in the totals too, and is told by account.
    findings.ensure_none()?;
    totals(node, acknowledged)?;
    Ok(findings)
}

fn look(node: &Member, acknowledged: &Acknowledged, accounts: Range<u32>) -> Result<Findings> {
    let (mut wire, mut findings) = (node.wire()?, Findings::default());
    for first in accounts.clone().step_by(STEP as usize) {
        let some = first..accounts.end.min(first + STEP);
        let audits: Vec<_> = some.map(|account| views::audit(&format!("a{account}"))).collect();
        findings.add(acknowledged.judge(first, &wire.ask_all(&audits)?)?);
    }
    Ok(findings)
}

/// Checks that the totals are those of accounts that were credited once and charged.
fn totals(node: &Member, acknowledged: &Acknowledged) -> Result<()> {
    let totals = views::totals_of(&node.wire()?.ask(&words("SCUR.TOTALS"))?)?;
    let accounts = acknowledged.accounts();
    ensure!(totals.accounts == u64::from(accounts), "totals count {} accounts", totals.accounts);
    let cent = totals.units.get("cent").context("totals have no cent")?;
    let credited = i128::from(CREDIT) * i128::from(accounts);
    let used = i128::from(acknowledged.total());
    ensure!(
        cent.credited == credited
            && cent.consumed == used
            && cent.available == credited - used
            && cent.held == 0,
        "{used} were acknowledged, and totals show {cent:?}"
    );
    Ok(())
}
