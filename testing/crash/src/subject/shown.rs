//! Formats an account as text, from the model and from the server's replies: everything that both show except times.

use crate::wire::{array, entry, int, text};
use anyhow::{Context, Result, ensure};
use scurry_conformance::Value;
use scurry_model::Snapshot;
use std::fmt::Write as _;

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
    ensure!(int(entry(audit, "ok")?)? == 1, "the audit finds it broken: {audit}");
    let version = int(entry(get, "version")?)?;
    ensure!(int(entry(audit, "version")?)? == version, "GET and AUDIT differ: {get} {audit}");
    let mut lines = vec![format!("{} version {version}", text(entry(get, "status")?)?)];
    for bucket in array(entry(get, "buckets")?)? {
        let [id, unit, _, _, floor, priority, ..] = array(bucket)? else {
            anyhow::bail!("a bucket is {bucket}")
        };
        let (id, unit) = (text(id)?, text(unit)?);
        lines.push(format!("bucket {id} {unit} floor {} priority {}", int(floor)?, int(priority)?));
    }
    for bucket in array(entry(audit, "buckets")?)? {
        let [id, _, funds @ ..] = array(bucket)? else { anyhow::bail!("a bucket is {bucket}") };
        lines.push(format!("funds of {} {}", text(id)?, ints(funds)?));
    }
    for counter in array(entry(get, "counters")?)? {
        let [id, unit, value, period, ..] = array(counter)? else {
            anyhow::bail!("a counter is {counter}")
        };
        let (id, unit, period) = (text(id)?, text(unit)?, text(period)?);
        lines.push(format!("counter {id} {unit} {period} {}", int(value)?));
    }
    for limit in array(entry(get, "limits")?)? {
        let [id, _, _, amounts @ .., _, _, _] = array(limit)? else {
            anyhow::bail!("a limit is {limit}")
        };
        lines.push(format!("limit {} {}", text(id)?, ints(amounts)?));
    }
    for pair in array(entry(audit, "uncollected")?)? {
        let [unit, amount] = array(pair)? else { anyhow::bail!("uncollected is {pair}") };
        lines.push(format!("uncollected {} {}", text(unit)?, int(amount)?));
    }
    let mut open = Vec::new();
    for session in array(entry(get, "sessions")?)? {
        open.push(text(array(session)?.first().context("a session without an id")?)?);
    }
    for (id, reply) in sessions.iter().zip(shown) {
        if let Value::Error(error) = reply {
            ensure!(error.starts_with("UNKNOWN_SESSION "), "SESSION {id}: {error}");
            ensure!(!open.contains(id), "GET shows session {id}, SESSION does not");
        } else {
            open.retain(|one| one != id);
            session(entry(reply, "session")?, id, &mut lines)?;
        }
    }
    ensure!(open.is_empty(), "sessions that nobody has opened: {open:?}");
    lines.sort();
    Ok(lines.join("\n"))
}

fn session(shown: &Value, id: &str, lines: &mut Vec<String>) -> Result<()> {
    let field = |name| int(entry(shown, name)?);
    let (version, last) = (field("version")?, field("last_request").unwrap_or(-1));
    let data = match entry(shown, "data")? {
        Value::Nil => String::new(),
        other => text(other)?,
    };
    lines.push(format!("session {id} version {version} last {last} data {data:?}"));
    for item in array(entry(shown, "items")?)? {
        let [key, unit, amounts @ ..] = array(item)? else { anyhow::bail!("an item is {item}") };
        let key = int(key).map(|key| key.to_string()).or_else(|_| text(key))?;
        lines.push(format!("item of {id} {key} {} {}", text(unit)?, ints(amounts)?));
    }
    Ok(())
}

fn ints(values: &[Value]) -> Result<String> {
    Ok(numbers(values.iter().map(int).collect::<Result<Vec<_>>>()?))
}

fn numbers(of: impl IntoIterator<Item = i128>) -> String {
    of.into_iter().fold(String::new(), |mut text, number| {
        write!(text, "{number} ").expect("a string takes everything");
        text
    })
}
