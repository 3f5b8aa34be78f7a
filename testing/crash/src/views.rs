//! Requests that read accounts, and their replies as views: by the encoder and the decoder of programs.

use crate::wire::RequestWords;
use anyhow::{Context, Result, bail, ensure};
use scurry_cluster_client::redis;
use scurry_cluster_client::{Sums, Totals, decode};
use scurry_conformance::Value;
use scurry_service::{AccountView, AuditView, Read, Reply, Request, SessionView};
use std::collections::BTreeMap;

/// Returns the request of SCUR.GET.
pub fn get(account: &str) -> RequestWords {
    words_of(Read::Account { account: account.into() })
}

/// Returns the request of SCUR.AUDIT.
pub fn audit(account: &str) -> RequestWords {
    words_of(Read::Audit { account: account.into() })
}

/// Returns the requests that show an account: GET, AUDIT, and SESSION for each of `sessions`.
pub fn state_requests(account: &str, sessions: &[String]) -> Vec<RequestWords> {
    let session = |session: &String| {
        words_of(Read::Session { account: account.into(), session: session.as_bytes().to_vec() })
    };
    [get(account), audit(account)].into_iter().chain(sessions.iter().map(session)).collect()
}

fn words_of(read: Read) -> RequestWords {
    Request::Read(read).arguments().iter().map(<[u8]>::to_vec).collect()
}

/// Reads the reply to SCUR.GET.
pub fn account_of(reply: &Value) -> Result<AccountView> {
    match decoded(Read::Account { account: Vec::new() }, reply)? {
        Reply::Account(view) => Ok(*view),
        other => bail!("GET answers {other:?}"),
    }
}

/// Reads the reply to SCUR.AUDIT. Fails if the audit finds the account broken.
pub fn audit_of(reply: &Value) -> Result<AuditView> {
    match decoded(Read::Audit { account: Vec::new() }, reply)? {
        Reply::Audit(view) => {
            ensure!(view.ok, "the audit finds it broken: {reply}");
            Ok(*view)
        }
        other => bail!("AUDIT answers {other:?}"),
    }
}

/// Reads the reply to SCUR.SESSION.
pub fn session_of(reply: &Value) -> Result<SessionView> {
    match decoded(Read::Session { account: Vec::new(), session: Vec::new() }, reply)? {
        Reply::Session(view) => Ok(*view),
        other => bail!("SESSION answers {other:?}"),
    }
}

/// Reads the reply to SCUR.TOTALS.
pub fn totals_of(reply: &Value) -> Result<Totals> {
    Totals::read(&plain(reply)?).with_context(|| format!("TOTALS answers {reply}"))
}

fn decoded(read: Read, reply: &Value) -> Result<Reply> {
    decode(&Request::Read(read), &plain(reply)?).with_context(|| reply.to_string())
}

/// Converts a reply of the tests to one of programs.
fn plain(reply: &Value) -> Result<redis::Value> {
    Ok(match reply {
        Value::Int(number) => match i64::try_from(*number) {
            Ok(number) => redis::Value::Int(number),
            // A number that is too wide for the protocol's integer is sent as text.
            Err(_) => redis::Value::BulkString(number.to_string().into_bytes()),
        },
        Value::Word(bytes) => redis::Value::BulkString(bytes.clone()),
        Value::Nil => redis::Value::Nil,
        Value::Array(items) => redis::Value::Array(items.iter().map(plain).collect::<Result<_>>()?),
        Value::Map(entries) => {
            let pair = |(key, value): &(Value, Value)| Ok((plain(key)?, plain(value)?));
            redis::Value::Map(entries.iter().map(pair).collect::<Result<_>>()?)
        }
        Value::Error(text) => redis::parse_redis_value(format!("-{text}\r\n").as_bytes())?,
    })
}

/// Checks that totals are the sums of all accounts, but for a unit whose sums change by themselves.
pub fn sums_agree(totals: &Totals, audits: &[AuditView], moving_unit: Option<&str>) -> Result<()> {
    let (counted, made) = (totals.accounts, audits.len() as u64);
    ensure!(counted == made, "TOTALS counts {counted} accounts, {made} were made");
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for bucket in audits.iter().flat_map(|audit| &audit.buckets) {
        let sum = sums.entry(bucket.unit.as_str().to_owned()).or_default();
        for (sum, amount) in [
            (&mut sum.available, bucket.available),
            (&mut sum.held, bucket.held),
            (&mut sum.credited, bucket.credited),
            (&mut sum.refunded, bucket.refunded),
            (&mut sum.consumed, bucket.consumed),
            (&mut sum.expired, bucket.expired),
            (&mut sum.voided, bucket.voided),
            (&mut sum.overdrawn, bucket.overdrawn),
        ] {
            *sum += i128::from(amount);
        }
    }
    let mut shown = totals.units.clone();
    // No bucket has uncollected use.
    shown.values_mut().for_each(|sums| sums.uncollected = 0);
    for of in [&mut sums, &mut shown] {
        of.retain(|unit, sums| Some(unit.as_str()) != moving_unit && *sums != Sums::default());
    }
    ensure!(shown == sums, "TOTALS shows {shown:?}, the accounts sum up to {sums:?}");
    Ok(())
}
