//! The state of a live store as events: `--from-state`.

use crate::tables::AccountScan;
use anyhow::{Context, Result};
use scurry_cluster_client::Address;
use scurry_codec::decode_account;
use scurry_ledger::{Account, Bucket, Session, Status};
use scurry_ship::{Record, ShipError, State};
use scurry_tables::text_of;

/// A store whose accounts are read one after the other, each as of one moment.
pub(super) struct LiveState {
    /// The nodes, of which the first that answers tells where the accounts are.
    pub(super) nodes: Vec<Address>,
}

impl LiveState {
    fn scan(&self) -> Result<AccountScan> {
        let mut outcome = Err(anyhow::anyhow!("no node is named"));
        for node in &self.nodes {
            outcome = AccountScan::open(node);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }
}

impl State for LiveState {
    fn read(
        &mut self,
        each: &mut dyn FnMut(Record) -> Result<(), ShipError>,
    ) -> Result<(), ShipError> {
        let fault = |error: anyhow::Error| ShipError::State(format!("{error:#}"));
        let mut scan = self.scan().map_err(fault)?;
        let mut account = Account::empty(Status::Active);
        while let Some(images) = scan.next().map_err(fault)? {
            for (id, image) in &images {
                decode_account(image, &mut account)
                    .with_context(|| format!("the account {} cannot be read", id.escape_ascii()))
                    .map_err(fault)?;
                for record in records(id, &account) {
                    each(record)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the events that tell the state of an account.
fn records<'a>(id: &'a [u8], account: &'a Account) -> impl Iterator<Item = Record> {
    let of = Record {
        id: format!("state:{}:{}", text_of(id), account.version),
        event: "account-state".to_owned(),
        account: text_of(id).into_owned(),
        version: Some(account.version),
        time_ms: account.changed_at.0,
        ..Record::default()
    };
    let identities = account.identities.iter().map(|identity| {
        let value = text_of(identity.value.as_bytes()).into_owned();
        (identity.kind.as_str().to_owned(), value)
    });
    let whole = Record {
        status: Some(account.status.name().to_owned()),
        identities: identities.collect(),
        ..of.clone()
    };
    let buckets = account.buckets.iter().map({
        let of = of.clone();
        move |bucket| bucket_record(of.clone(), account, bucket)
    });
    let sessions = account.sessions.iter().map(move |session| session_record(of.clone(), session));
    std::iter::once(whole).chain(buckets).chain(sessions)
}

fn bucket_record(of: Record, account: &Account, bucket: &Bucket) -> Record {
    let keys = account.bucket_keys.iter().filter(|key| key.bucket == bucket.no);
    let items: Vec<String> = keys.map(|key| key.key.to_string()).collect();
    Record {
        id: format!("{}:bucket:{}", of.id, bucket.no.0),
        event: "bucket-state".to_owned(),
        bucket: Some(bucket.id.as_str().to_owned()),
        bucket_no: Some(u32::from(bucket.no.0)),
        unit: Some(bucket.unit.as_str().to_owned()),
        available: Some(bucket.available),
        held: Some(bucket.held),
        priority: Some(i64::from(bucket.priority)),
        valid_from: Some(bucket.valid_from.0),
        valid_to: bucket.valid_to.map(|time| time.0),
        floor: Some(bucket.floor),
        items: Some(items.join(" ")),
        ..of
    }
}

fn session_record(of: Record, session: &Session) -> Record {
    let id = text_of(session.id.as_bytes()).into_owned();
    Record {
        id: format!("{}:session:{id}", of.id),
        event: "session-state".to_owned(),
        session: Some(id),
        time_ms: session.opened.0,
        data: Some(session.blob.as_slice().to_vec()).filter(|data| !data.is_empty()),
        ..of
    }
}
