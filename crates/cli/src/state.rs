//! `scurry state`: shows accounts as they were at a point of the log, and open holds of all accounts by age. It reads files
//! and asks no server, so that a backup or any node answers.

use crate::store::{
    DataDirectory, Progress, StatePoint, account_line, core_at, core_name, time_text,
};
use anyhow::{Context, Result, bail, ensure};
use clap::{ArgGroup, Args};
use scurry_disk::Manifest;
use scurry_ledger::{Account, SessionPage, Time};
use scurry_service::{HoldView, HoldsView, Position};
use serde_json::json;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  scurry state /backup/scurry-monday --holds --count 20
  scurry state /var/lib/scurry --holds --json | jq 'select(.amount > 100000)'
  scurry state /backup/scurry-monday --account alice
  scurry state /backup/scurry-monday --account alice --until 1700000000000
  scurry state /backup/scurry-monday --account alice --position 1.0:4711

An entry of SCUR.STATEMENT has the position.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, group(ArgGroup::new("shown").required(true).args(["account", "holds"])))]
pub(crate) struct State {
    /// The backup, or any data directory
    #[arg(value_name = "BACKUP")]
    path: PathBuf,

    /// Show this account and its open holds
    #[arg(long, value_name = "ID")]
    account: Option<String>,

    /// Show each open hold of all accounts, one a line, the oldest first
    #[arg(long, conflicts_with_all = ["account", "position"])]
    holds: bool,

    /// After the commit at this position of the account's log [default: the end of the log]
    #[arg(long, value_name = "POSITION", conflicts_with = "until")]
    position: Option<String>,

    /// After the last commit that was written at this time or before, ms of the UNIX epoch
    #[arg(long, value_name = "MS")]
    until: Option<i64>,

    /// Print so many holds at most
    #[arg(long, value_name = "N", requires = "holds")]
    count: Option<usize>,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// An open hold, with its account.
struct AgedHold {
    account: Vec<u8>,
    hold: HoldView,
}

impl State {
    pub(crate) fn run(self) -> Result<()> {
        let source = DataDirectory::open(&self.path)?;
        let manifest = source.manifest()?;
        source.ensure_begun()?;
        let (only, point) = self.point(&manifest)?;
        let mut bar = Progress::new();
        let (mut holds, mut account) = (Vec::new(), None);
        for (core, (_, path)) in (0..).zip(source.cores()) {
            if only.is_some_and(|only| only != core) {
                continue;
            }
            let files = (&*path, source.least(core)?);
            let seen = core_at(files, (&manifest, core), point, &mut bar).and_then(|state| {
                state.each_account(&mut |id, found| {
                    match self.account.as_ref().map(String::as_bytes) {
                        Some(wanted) if wanted != id => {}
                        Some(_) => account = Some(found.clone()),
                        None => holds.extend(holds_of(id, found)),
                    }
                    Ok(())
                })
            });
            seen.with_context(|| core_name(manifest.generation, core))?;
        }
        let mut out = BufWriter::new(io::stdout().lock());
        if let Some(id) = &self.account {
            let Some(account) = account else { bail!("there was no account {id} then") };
            writeln!(out, "{}", account_line(id.as_bytes(), &account, self.json))?;
            holds = holds_of(id.as_bytes(), &account);
        }
        holds.sort_by(|a, b| (a.hold.opened, &a.account).cmp(&(b.hold.opened, &b.account)));
        for hold in holds.iter().take(self.count.unwrap_or(usize::MAX)) {
            writeln!(out, "{}", if self.json { hold.json() } else { hold.text() })?;
        }
        Ok(out.flush()?)
    }

    /// Returns the only core to read, if the position names it, and the point.
    fn point(&self, manifest: &Manifest) -> Result<(Option<u16>, StatePoint)> {
        if let Some(until) = self.until {
            return Ok((None, StatePoint::Time(Time(until))));
        }
        let Some(text) = &self.position else { return Ok((None, StatePoint::End)) };
        let position = Position::parse(text.as_bytes()).with_context(|| {
            format!("{text:?} is no position: an entry of SCUR.STATEMENT has one, as 1.0:4711")
        })?;
        ensure!(
            position.generation == manifest.generation_of_events()
                && position.thread < manifest.threads,
            "{text} is a position of another log: this is the data of generation {}, threads 0 to {}",
            manifest.generation_of_events(),
            manifest.threads - 1
        );
        Ok((Some(position.thread), StatePoint::Sequence(position.sequence)))
    }
}

/// Returns the open holds of an account.
fn holds_of(id: &[u8], account: &Account) -> Vec<AgedHold> {
    let page = SessionPage { after: b"", count: usize::MAX };
    let all = HoldsView::of_account(account, &page).holds.into_iter();
    all.map(|hold| AgedHold { account: id.to_vec(), hold }).collect()
}

impl AgedHold {
    fn text(&self) -> String {
        let HoldView { session, key, unit, bucket, amount, deadline, .. } = &self.hold;
        format!(
            "{}  {}  {session:?}  {key}  {bucket:?} {amount} {unit:?}, until {}",
            time_text(self.hold.opened),
            self.account.escape_ascii(),
            time_text(*deadline)
        )
    }

    fn json(&self) -> String {
        let HoldView { session, key, unit, bucket, amount, deadline, opened, active } = &self.hold;
        let object = json!({
            "kind": "hold",
            "account": self.account.escape_ascii().to_string(),
            "session": format!("{session:?}"),
            "item": key.to_string(),
            "unit": unit.as_str(),
            "bucket": bucket.as_str(),
            "amount": amount,
            "opened_ms": opened.0,
            "active_ms": active.0,
            "deadline_ms": deadline.0,
        });
        object.to_string()
    }
}
