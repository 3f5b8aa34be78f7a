//! Tables of a live store. Each account is as it is at one moment, with all of its rows. Accounts are read one after the
//! other, so that the tables have everything before the positions at the begin, and of what follows up to those at the end
//! some. If both are equal, all is as of one position.

use super::account_scan::{AccountScan, Image};
use super::writer::{TablesOf, TablesWriter};
use crate::key_progress::KeyProgress;
use anyhow::{Context, Result, bail};
use scurry_cluster_client::redis::{Value, cmd};
use scurry_cluster_client::{Address, ClientError, Node, decode_events};
use scurry_codec::decode_account;
use scurry_ledger::{Account, Status, Time};
use scurry_ship::{Positions, StoreId};
use scurry_tables::Format;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Steps that wait to be written while more are read.
const STEPS_AHEAD: usize = 4;

/// Writes the tables of a live store to a directory.
pub(crate) fn export_store(address: &Address, to: &Path, format: Format) -> Result<()> {
    let mut scan = AccountScan::open(address)?;
    let mut writer = TablesWriter::open(to, format)?;
    let time = clock(scan.nodes())?;
    let from = positions(scan.nodes())?;
    if from.is_none() {
        // A Valkey server may list a key twice while its table grows.
        scan.once_each();
    }
    let mut progress = KeyProgress::new("accounts", scan.accounts()?);
    let (tell, steps) = sync_channel::<Vec<Image>>(STEPS_AHEAD);
    let mut scan = thread::scope(|scope| -> Result<AccountScan> {
        let reader = scope.spawn(move || -> Result<AccountScan> {
            while let Some(images) = scan.next()? {
                if tell.send(images).is_err() {
                    break;
                }
            }
            Ok(scan)
        });
        let mut account = Account::empty(Status::Active);
        // The receiver goes with the first error, and the reader ends.
        for images in steps {
            for (id, image) in &images {
                decode_account(image, &mut account)
                    .with_context(|| format!("the account {} cannot be read", id.escape_ascii()))?;
                writer.push(id, &account, time)?;
            }
            progress.add(images.len() as u64);
        }
        match reader.join() {
            Ok(scan) => scan,
            Err(_) => bail!("the reader of the store has panicked: please report this"),
        }
    })?;
    progress.end();
    let end = positions(scan.nodes())?;
    let of = TablesOf {
        source: "live",
        store: from.as_ref().map(|from| from.store().to_string()),
        positions: from.as_ref().zip(end.as_ref()).map(|(from, end)| (text(from), text(end))),
        time,
    };
    let rows = writer.finish(&of)?;
    println!("{rows}");
    println!("written to {}. {}", to.display(), consistency(&of));
    Ok(())
}

/// Says of which moment the tables are.
fn consistency(of: &TablesOf) -> String {
    match &of.positions {
        Some((from, end)) if from == end => format!("All is as of the positions {from}"),
        Some((from, end)) => format!(
            "Each account is as of a moment between the positions {from} and {end}: nothing was stopped meanwhile. For \
             one position take --backup"
        ),
        None => {
            "Each account is as of a moment of the export: nothing was stopped meanwhile".to_owned()
        }
    }
}

fn text(positions: &Positions) -> String {
    let places: Vec<String> = positions.iter().map(|place| place.to_string()).collect();
    places.join(" ")
}

/// Returns where the events of each thread end. None if the store has no events.
fn positions(nodes: &mut [Node]) -> Result<Option<Positions>> {
    let mut positions: Option<Positions> = None;
    // The port of a thread has the thread's own events, and the main port those of all.
    let is_main = nodes.len() == 1;
    for node in nodes {
        for thread in 0_u16.. {
            let mut watch = cmd("SCUR.WATCH");
            watch.arg("$").arg("COUNT").arg(1);
            if is_main {
                watch.arg("THREAD").arg(thread);
            }
            let reply = match node.ask(&watch) {
                Ok(reply) => reply,
                // There is no such thread, no log, or no such command.
                Err(ClientError::Failed(_, error)) if error.code() == Some("ERR") => break,
                Err(error) => return Err(error.into()),
            };
            let events = decode_events(reply).with_context(|| {
                format!("{} answers SCUR.WATCH with something else", node.address().text())
            })?;
            positions.get_or_insert_with(|| Positions::none(StoreId(events.store))).set(events.end);
            if !is_main {
                break;
            }
        }
    }
    Ok(positions)
}

/// Returns the clock of the first node.
fn clock(nodes: &mut [Node]) -> Result<Time> {
    let node = nodes.first_mut().context("the store has no node with accounts")?;
    let number = |value: &Value| match value {
        Value::BulkString(digits) => str::from_utf8(digits).ok()?.parse::<i64>().ok(),
        Value::Int(number) => Some(*number),
        _ => None,
    };
    let time = match node.ask(&cmd("TIME"))? {
        Value::Array(parts) => match parts.as_slice() {
            [seconds, micros] => number(seconds).zip(number(micros)),
            _ => None,
        },
        _ => None,
    };
    let (seconds, micros) = time
        .with_context(|| format!("{} answers TIME with something else", node.address().text()))?;
    Ok(Time(seconds.saturating_mul(1_000).saturating_add(micros / 1_000)))
}
