//! The audit of key-value stores: each key, record or hash holds its last acknowledged write.

use anyhow::{Result, ensure};

use super::{SAMPLE, sample};
use crate::client::Client;
use crate::names::account_text;
use crate::random::Random;
use crate::resp::{Value, encode};
use crate::workload::{HashFieldsWorkload, IndexWorkload, KeyCheck, KeyValueWorkload, names_only};

/// Audits a key-value store: each key holds its last acknowledged write.
///
/// # Errors
/// The first difference, or why the store could not be queried.
pub fn audit_key_value(client: &mut Client, workload: &KeyValueWorkload, seed: u64) -> Result<()> {
    ensure!(workload.wrong() == 0, "{} GET replies were no value of this load", workload.wrong());
    let keys = looked_at(workload, seed);
    let append = |index: usize, out: &mut Vec<u8>| {
        out.extend(encode(&[b"GET".as_slice(), &crate::names::key_text(keys[index])]));
    };
    client.pipeline(keys.len(), append, |index, reply| {
        let (_, value) = Value::read(reply)?;
        let expected = match workload.check(keys[index]) {
            KeyCheck::Unknown => return Ok(()),
            KeyCheck::Absent => Value::Nil,
            KeyCheck::Value(bytes) => Value::Bulk(bytes),
        };
        ensure!(
            value == expected,
            "key {} holds {value}, but {expected} was acknowledged",
            keys[index]
        );
        Ok(())
    })
}

/// Returns each key that the load has changed, up to a bound, and a sample of the others. So a load that changes few of
/// many keys is not audited for longer than it ran.
fn looked_at(workload: &KeyValueWorkload, seed: u64) -> Vec<u32> {
    let (changed, others): (Vec<u32>, Vec<u32>) =
        (0..workload.keys()).partition(|key| workload.is_changed(*key));
    let count = u32::try_from(changed.len()).unwrap_or(u32::MAX);
    let mut keys: Vec<u32> =
        sample(count, seed).into_iter().map(|index| changed[index as usize]).collect();
    if others.len() <= SAMPLE as usize {
        keys.extend(others);
        return keys;
    }
    let mut random = Random::seeded(seed ^ 0xA0D2);
    let count = u32::try_from(others.len()).unwrap_or(u32::MAX);
    keys.extend((0..SAMPLE).map(|_| others[random.below(count) as usize]));
    keys
}

/// Audits an index: the last acknowledged value of each record finds that record alone, and an earlier value finds
/// nothing.
///
/// # Errors
/// The first difference, or why the store could not be queried.
pub fn audit_index(client: &mut Client, workload: &IndexWorkload, seed: u64) -> Result<()> {
    ensure!(workload.wrong() == 0, "{} FINDs did not give their record", workload.wrong());
    let mut questions: Vec<(u32, Option<Vec<u8>>, Vec<u8>)> = Vec::new();
    for key in sample(workload.keys(), seed) {
        let mut request = Vec::new();
        if let Some(value) = workload.append_check(key, &mut request) {
            questions.push((key, Some(value), std::mem::take(&mut request)));
        }
        if workload.append_check_old(key, &mut request) {
            questions.push((key, None, request));
        }
    }
    let append = |index: usize, out: &mut Vec<u8>| out.extend_from_slice(&questions[index].2);
    client.pipeline(questions.len(), append, |index, reply| {
        let (key, value, _) = &questions[index];
        let shown = || reply.escape_ascii().to_string();
        match value {
            Some(value) => ensure!(
                names_only(reply, *key),
                "{} finds {}, but record {key} has it",
                value.escape_ascii(),
                shown()
            ),
            None => ensure!(
                !reply.windows(4).any(|window| window == b"key:"),
                "the first value of record {key} still finds {}",
                shown()
            ),
        }
        Ok(())
    })
}

/// Audits the yardstick: each account holds its last acknowledged fields.
///
/// # Errors
/// The first difference, or why the store could not be queried.
pub fn audit_hash_fields(
    client: &mut Client,
    workload: &HashFieldsWorkload,
    seed: u64,
) -> Result<()> {
    let accounts = sample(workload.accounts(), seed);
    let append = |index: usize, out: &mut Vec<u8>| {
        let account = account_text(accounts[index]);
        let words: [&[u8]; 6] =
            [b"HMGET", &account, b"available", b"held", b"consumed", b"version"];
        out.extend(encode(&words));
    };
    client.pipeline(accounts.len(), append, |index, reply| {
        let (_, value) = Value::read(reply)?;
        let account = accounts[index];
        let Some(fields) = workload.check(account) else { return Ok(()) };
        let expected = Value::Array(fields.into_iter().map(Value::Bulk).collect());
        ensure!(value == expected, "account {account} holds {value}, but {expected} was written");
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::KeyValue;

    #[test]
    fn every_changed_key_is_looked_at_and_some_of_the_others() {
        let plan = KeyValue { keys: 50_000, value_size: 10, ..KeyValue::default() };
        let mut workload = KeyValueWorkload::new(&plan, 1, 1, false);
        for key in (7..50_000).step_by(10_000) {
            workload.append_first(key, &mut Vec::new());
        }
        let keys = looked_at(&workload, 3);
        assert_eq!(keys[..5], [7, 10_007, 20_007, 30_007, 40_007]);
        assert_eq!(keys.len(), 5 + SAMPLE as usize);
        assert!(keys[5..].iter().all(|key| key % 10_000 != 7 && *key < 50_000));
        assert!(keys[5..].iter().any(|key| *key > 25_000), "from everywhere");
    }
}
