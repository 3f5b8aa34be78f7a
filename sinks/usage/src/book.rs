//! Makes usage records of events, in the order in which a thread of a store has them.

use crate::record::{Ending, Kind, UsageRecord};
use crate::session::{OpenSession, Sums};
use scurry_service::Position;
use scurry_ship::Record;
use std::collections::BTreeMap;

/// Name of an open session: its account and its id.
pub(crate) type SessionKey = (String, String);

/// The open sessions of one thread.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) open: BTreeMap<SessionKey, OpenSession>,
    /// Events of the last commit, as far as they were read.
    commit: Vec<Record>,
    /// Sequence of the last commit.
    sequence: u64,
    /// Length of a period of open sessions, ms. None for no records of open ones.
    period_ms: Option<i64>,
    /// Number of the period that the events are in.
    pub(crate) period: Option<i64>,
}

impl Book {
    pub(crate) fn new(period_ms: Option<i64>) -> Book {
        Book { period_ms, ..Book::default() }
    }

    /// Reads an event, and passes on the records that commits before it have made.
    pub(crate) fn read(&mut self, at: Position, event: &Record, tell: &mut dyn FnMut(UsageRecord)) {
        if at.sequence != self.sequence || event.event == "missed" {
            self.settle(tell);
            self.sequence = at.sequence;
        }
        self.commit.push(event.clone());
    }

    /// Passes on the records of the commits that were read to their end, and returns up to where that is. `next` is the
    /// position of the next event.
    pub(crate) fn settle_before(
        &mut self,
        next: Position,
        tell: &mut dyn FnMut(UsageRecord),
    ) -> Position {
        if next.index > 0 && next.sequence == self.sequence && !self.commit.is_empty() {
            return Position { index: 0, ..next };
        }
        self.settle(tell);
        next
    }

    fn settle(&mut self, tell: &mut dyn FnMut(UsageRecord)) {
        let commit = std::mem::take(&mut self.commit);
        let mut commands: Vec<UsageRecord> = Vec::new();
        for event in &commit {
            self.begin_period(event, tell);
            self.settle_event(event, &mut commands, tell);
        }
        commands.into_iter().for_each(tell);
    }

    fn settle_event(
        &mut self,
        event: &Record,
        commands: &mut Vec<UsageRecord>,
        tell: &mut dyn FnMut(UsageRecord),
    ) {
        match event.event.as_str() {
            // Sessions may have ended meanwhile, and others begun.
            "missed" => self.open.clear(),
            "cleared" => self.abort(event, |_| true, tell),
            "loaded" => self.abort(event, |account| account == event.account, tell),
            "session-opened" => {
                if let Some(key) = key(event) {
                    self.open.insert(key, OpenSession::of(event));
                }
            }
            "session-closed" | "session-released" | "session-expired" | "session-returned" => {
                if let Some(key) = key(event) {
                    let session = self.open.remove(&key).unwrap_or_default();
                    tell(record_of(event, &session, Kind::Session, Some(ending(event))));
                }
            }
            _ => self.add(event, commands),
        }
    }

    fn add(&mut self, event: &Record, commands: &mut Vec<UsageRecord>) {
        if let Some(key) = key(event)
            && (self.open.contains_key(&key) || event.item_no.is_some())
        {
            // A session that is not known began before the first event that was read.
            self.open.entry(key).or_default().sums.add(event);
            return;
        }
        let kind = match event.event.as_str() {
            "refunded" | "refunded-expired" => Kind::Refund,
            "debited" | "overdrawn" if event.session.is_none() => Kind::Debit,
            "debited" | "overdrawn" | "late-use" => Kind::LateUse,
            _ => return,
        };
        let place = commands.iter().position(|of| of.kind == kind).unwrap_or_else(|| {
            commands.push(UsageRecord { kind, complete: true, ..head(event) });
            commands.len() - 1
        });
        let mut sums = Sums(std::mem::take(&mut commands[place].items));
        sums.add(event);
        commands[place].items = sums.0;
    }

    /// Ends the periods of open sessions if the event is in a later one.
    fn begin_period(&mut self, event: &Record, tell: &mut dyn FnMut(UsageRecord)) {
        let Some(period_ms) = self.period_ms.filter(|_| event.time_ms > 0) else { return };
        let period = event.time_ms.div_euclid(period_ms);
        // The clock may be set back: a period that has ended does not begin again.
        if self.period.is_some_and(|known| period <= known) {
            return;
        }
        let is_first = self.period.replace(period).is_none();
        if is_first {
            return;
        }
        let end = period * period_ms;
        let keys: Vec<SessionKey> = self.open.keys().cloned().collect();
        for key in keys {
            let Some(mut session) = self.open.remove(&key) else { continue };
            if !session.sums.0.is_empty() {
                let of = Record { time_ms: end, ..session.as_event(&key, event) };
                tell(record_of(&of, &session, Kind::Period, None));
                session.parts += 1;
                session.since = Some(end);
                session.sums = Sums::default();
            }
            self.open.insert(key, session);
        }
    }

    fn abort(
        &mut self,
        event: &Record,
        is_of: impl Fn(&str) -> bool,
        tell: &mut dyn FnMut(UsageRecord),
    ) {
        let keys: Vec<SessionKey> =
            self.open.keys().filter(|(account, _)| is_of(account)).cloned().collect();
        for key in keys {
            let session = self.open.remove(&key).unwrap_or_default();
            let of = session.as_event(&key, event);
            tell(record_of(&of, &session, Kind::Session, Some(Ending::Aborted)));
        }
    }
}

fn record_of(
    event: &Record,
    session: &OpenSession,
    kind: Kind,
    cause: Option<Ending>,
) -> UsageRecord {
    UsageRecord {
        kind,
        cause,
        opened: session.opened.map(date),
        since: session.since.map(date),
        part: session.parts + 1,
        complete: session.opened.is_some(),
        items: session.sums.0.clone(),
        ..head(event)
    }
}

fn key(event: &Record) -> Option<SessionKey> {
    Some((event.account.clone(), event.session.clone()?))
}

fn ending(event: &Record) -> Ending {
    match (event.event.as_str(), event.code.as_deref()) {
        ("session-released", _) => Ending::Released,
        ("session-expired", _) => Ending::Expired,
        ("session-returned", _) => Ending::Returned,
        (_, None | Some("OK")) => Ending::Terminated,
        (_, Some(_)) => Ending::Denied,
    }
}

/// Returns a record with what the event says of itself.
fn head(event: &Record) -> UsageRecord {
    let mut record = UsageRecord {
        id: event.id.clone(),
        store: event.store.clone(),
        account: event.account.clone(),
        identities: event.identities.clone(),
        session: event.session.clone(),
        transaction: event.transaction.clone(),
        data: event.data.as_deref().map(scurry_ship::base64),
        closed: date(event.time_ms),
        ..UsageRecord::default()
    };
    let words = event.data.as_deref().and_then(|data| std::str::from_utf8(data).ok());
    match words.map(|words| words.splitn(4, ' ').collect::<Vec<_>>()).as_deref() {
        // The Session-Id is the last word if the session of the ledger has another id.
        Some(["diameter", _host, _realm, session_id]) => {
            record.diameter_session_id = Some((*session_id).to_owned());
        }
        Some(["diameter", _host, _realm]) => record.diameter_session_id = event.session.clone(),
        Some(["nchf", _version, charging_id, ..]) if *charging_id != "-" => {
            record.nchf_charging_id = Some((*charging_id).to_owned());
        }
        _ => {}
    }
    record
}

fn date(time_ms: i64) -> String {
    scurry_ship::date(time_ms)
}
