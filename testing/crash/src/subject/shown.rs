//! Formats an account as text, from the model and from the server's replies: everything that both show except times.

use crate::views;
use anyhow::{Result, ensure};
use scurry_conformance::Value;
use scurry_ledger::Zone;
use scurry_model::Snapshot;
use scurry_service::SessionView;
use std::fmt::{Display, Write as _};

/// Text for a missing account.
const ABSENT: &str = "no account";

/// Formats an account of the model. Lines of one kind are in the order of their ids.
pub fn of_model(shot: Option<&Snapshot>) -> String {
    let Some(shot) = shot else { return ABSENT.to_owned() };
    let mut lines = vec![format!("{} version {}", shot.status.name(), shot.version)];
    for (id, b) in &shot.buckets {
        lines.push(format!("bucket {id} {} floor {} priority {}", b.unit, b.floor, b.priority));
        lines.push(format!(
            "funds of {id} {}",
            numbers([
                b.available,
                b.held,
                b.credited,
                b.refunded,
                b.consumed,
                b.expired,
                b.voided,
                b.overdrawn,
            ])
        ));
    }
    for (id, (unit, period, value)) in &shot.counters {
        lines.push(format!("counter {id} {unit} {period} {value}"));
    }
    for l in &shot.limits {
        lines.push(format!(
            "limit {} {}",
            l.id,
            numbers([l.amount, l.used, l.held, l.left, l.overrun])
        ));
    }
    for (unit, amount) in &shot.uncollected {
        lines.push(format!("uncollected {unit} {amount}"));
    }
    for (id, s) in &shot.sessions {
        let last = s.last_request.map_or(-1, i128::from);
        let data = String::from_utf8_lossy(&s.blob);
        lines.push(format!("session {id} version {} last {last} data {data:?}", s.version));
        for i in &s.items {
            let outstanding = i.slices.iter().map(|slice| slice.1).sum();
            lines.push(format!(
                "item of {id} {} {} {}",
                i.key,
                i.unit,
                numbers([
                    i.granted,
                    outstanding,
                    i.used,
                    i.from_hold,
                    i.direct,
                    i.released,
                    i.uncollected,
                ])
            ));
        }
    }
    lines.sort();
    lines.join("\n")
}

/// Formats an account from the server's replies to GET, AUDIT, and SESSION for each of `sessions`. Fails if the audit
/// finds the account broken.
pub fn of_server(replies: &[Value], sessions: &[String]) -> Result<String> {
    let [get, audit, shown @ ..] = replies else { anyhow::bail!("no replies") };
    if let Value::Error(error) = get {
        ensure!(error.starts_with("UNKNOWN_ACCOUNT "), "GET: {error}");
        ensure!(matches!(audit, Value::Error(_)), "GET knows no account, AUDIT does: {audit}");
        return Ok(ABSENT.to_owned());
    }
    let (account, audit) = (views::account_of(get)?, views::audit_of(audit)?);
    let version = account.version;
    ensure!(audit.version == version, "GET and AUDIT differ: {get} {audit:?}");
    let mut lines = vec![format!("{} version {version}", account.status.name())];
    for b in &account.buckets {
        let (id, unit) = (b.id.as_str(), b.unit.as_str());
        lines.push(format!("bucket {id} {unit} floor {} priority {}", b.floor, b.priority));
    }
    for b in &audit.buckets {
        lines.push(format!(
            "funds of {} {}",
            b.id.as_str(),
            numbers([
                b.available,
                b.held,
                b.credited,
                b.refunded,
                b.consumed,
                b.expired,
                b.voided,
                b.overdrawn,
            ])
        ));
    }
    for c in &account.counters {
        let (id, unit) = (c.id.as_str(), c.unit.as_str());
        let (period, begin) = (c.cycle.period, c.cycle.begin);
        let zone = match c.cycle.zone {
            Zone::Fixed(minutes) => minutes.to_string(),
            Zone::Named(zone) => zone.name().to_owned(),
        };
        lines.push(format!("counter {id} {unit} {period} {zone} {begin} {}", c.value));
    }
    for l in &account.limits {
        lines.push(format!(
            "limit {} {}",
            l.id.as_str(),
            numbers([l.amount, l.used, l.held, l.left, l.overrun])
        ));
    }
    for one in &audit.uncollected {
        lines.push(format!("uncollected {} {}", one.unit.as_str(), one.amount));
    }
    let mut open: Vec<&[u8]> = account.sessions.iter().map(|one| one.id.as_bytes()).collect();
    for (id, reply) in sessions.iter().zip(shown) {
        if let Value::Error(error) = reply {
            ensure!(error.starts_with("UNKNOWN_SESSION "), "SESSION {id}: {error}");
            ensure!(!open.contains(&id.as_bytes()), "GET shows session {id}, SESSION does not");
        } else {
            open.retain(|one| *one != id.as_bytes());
            session(&views::session_of(reply)?, id, &mut lines);
        }
    }
    ensure!(open.is_empty(), "GET shows sessions that no command has opened: {get}");
    lines.sort();
    Ok(lines.join("\n"))
}

fn session(shown: &SessionView, id: &str, lines: &mut Vec<String>) {
    let (version, last) = (shown.row.version, shown.last_request.map_or(-1, i64::from));
    let data = String::from_utf8_lossy(&shown.blob);
    lines.push(format!("session {id} version {version} last {last} data {data:?}"));
    for i in &shown.items {
        lines.push(format!(
            "item of {id} {} {} {}",
            i.key,
            i.unit.as_str(),
            numbers([
                i.granted,
                i.outstanding,
                i.used,
                i.from_hold,
                i.direct,
                i.released,
                i.uncollected,
            ])
        ));
    }
}

fn numbers<N: Display>(of: impl IntoIterator<Item = N>) -> String {
    of.into_iter().fold(String::new(), |mut text, number| {
        write!(text, "{number} ").expect("a string takes everything");
        text
    })
}
