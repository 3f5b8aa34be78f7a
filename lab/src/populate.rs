//! Fills a store before the load: accounts, or the first value of every key.

use anyhow::{Result, bail};
use scurry_service::Request;

use crate::client::Client;
use crate::dialect::Dialect;
use crate::names::account_text;
use crate::resp::{Template, Value};
use crate::scenario::Charging;
use crate::workload::{HashFieldsWorkload, IndexWorkload, KeyValueWorkload};

/// Records between two updates of the progress.
const STEP: usize = 50_000;

/// Creates every account; `create` is the CREATE of the first.
///
/// # Errors
/// When an account cannot be created, or the first error of `progress`.
pub fn create_accounts(
    client: &mut Client,
    dialect: Dialect,
    create: &Request,
    accounts: u32,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    each_account(client, dialect, create, accounts, progress)
}

/// Creates the accounts of a charging loop, with and without credit.
///
/// # Errors
/// As [`create_accounts`].
pub fn create_charging_accounts(
    client: &mut Client,
    dialect: Dialect,
    charging: &Charging,
    accounts: u32,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let [rich, poor] = [true, false].map(|has_credit| {
        let create = charging.create(&account_text(0), has_credit);
        Template::new(&dialect.arguments(&create), dialect.account_index(), None)
    });
    fill(client, accounts, progress, |number, out| {
        let create = if charging.has_credit(number) { &rich } else { &poor };
        create.append(out, &account_text(number), &[]);
    })
}

/// Adds the counters to every account, one after the other.
///
/// # Errors
/// As [`create_accounts`].
pub fn add_counters(
    client: &mut Client,
    dialect: Dialect,
    charging: &Charging,
    accounts: u32,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    for counter in charging.create_counters(&account_text(0)) {
        each_account(client, dialect, &counter, accounts, progress)?;
    }
    Ok(())
}

/// Sends the same command for every account; `first` is the one for the first account.
fn each_account(
    client: &mut Client,
    dialect: Dialect,
    first: &Request,
    accounts: u32,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let template = Template::new(&dialect.arguments(first), dialect.account_index(), None);
    fill(client, accounts, progress, |number, out| {
        template.append(out, &account_text(number), &[]);
    })
}

/// Copies the first account to all others in its stored form, which it returns. Where the rules are a library, creating
/// each account by a call would take longer than the measurement.
///
/// # Errors
/// When the first account does not exist, a copy cannot be written, or the first error of `progress`.
pub fn copy_account(
    client: &mut Client,
    accounts: u32,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<Vec<u8>> {
    let first = account_text(0);
    let kept = match client.call(&[b"DUMP", &first[..]])? {
        Value::Bulk(kept) => kept,
        other => bail!("DUMP of the first account answers {other}"),
    };
    let restore = [b"RESTORE".to_vec(), first.to_vec(), b"0".to_vec(), kept.clone()];
    let template = Template::new(&restore, 1, None);
    fill(client, accounts - 1, progress, |number, out| {
        template.append(out, &account_text(number + 1), &[]);
    })?;
    Ok(kept)
}

/// Writes the first value of every key that exists at the start.
///
/// # Errors
/// When a key cannot be set, or the first error of `progress`.
pub fn set_keys(
    client: &mut Client,
    workload: &mut KeyValueWorkload,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let keys = workload.filled();
    fill(client, keys, progress, |number, out| workload.append_first(number, out))
}

/// Writes every record of an index.
///
/// # Errors
/// When a record cannot be written, or the first error of `progress`.
pub fn put_records(
    client: &mut Client,
    workload: &mut IndexWorkload,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let keys = workload.keys();
    fill(client, keys, progress, |number, out| workload.append_first(number, out))
}

/// Writes the first fields of every account of the yardstick.
///
/// # Errors
/// When an account cannot be set, or the first error of `progress`.
pub fn set_hashes(
    client: &mut Client,
    workload: &mut HashFieldsWorkload,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let accounts = workload.accounts();
    fill(client, accounts, progress, |number, out| workload.append_first(number, out))
}

/// Sends one request per record, pipelined; none may be answered with an error.
///
/// # Errors
/// The first error reply, or the first error of `progress`.
pub fn fill(
    client: &mut Client,
    count: u32,
    progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    mut append: impl FnMut(u32, &mut Vec<u8>),
) -> Result<()> {
    let total = count as usize;
    let append = |index: usize, out: &mut Vec<u8>| {
        append(u32::try_from(index).unwrap_or(u32::MAX), out);
    };
    client.widen()?;
    client.pipeline(total, append, |index, reply| {
        if reply.starts_with(b"-") {
            bail!("filling the store: {}", reply.trim_ascii_end().escape_ascii());
        }
        if (index + 1) % STEP == 0 || index + 1 == total {
            progress(index + 1, total)?;
        }
        Ok(())
    })?;
    client.narrow();
    Ok(())
}
