//! Readers of events: one for each thread follows SCUR.WATCH during a round, from node to node, and keeps what it was shown.
//! Afterwards the events are compared with what clients were told: each acknowledged change is there once and in its order,
//! nothing else is, each balance is the sum of its changes, and SCUR.STATEMENT shows the same.

use super::client::{FailoverConnection, Sent};
use crate::route::{Signals, TRY_EVERY};
use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::{Wire, array, entry, int, text, words};
use scurry_model::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Time for which a request waits for events, ms.
const BLOCK_MS: u32 = 200;
/// One of so many requests goes to the next node, at the position where the last one ended.
const REQUESTS: usize = 8;
/// Events of a debit account that are no debit.
const BEGINNING: [&str; 3] = ["created", "bucket-added", "credited"];

/// Place of an event in the order of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    generation: u64,
    thread: u64,
    sequence: u64,
    index: u64,
}

impl Position {
    /// Reads `<generation>.<thread>:<sequence>[-<index>]`.
    fn read(text: &str) -> Result<Position> {
        let parts = || {
            let (generation, rest) = text.split_once('.')?;
            let (thread, rest) = rest.split_once(':')?;
            let (sequence, index) = rest.split_once('-').unwrap_or((rest, "0"));
            let number = |text: &str| text.parse::<u64>().ok();
            let [generation, thread] = [number(generation)?, number(thread)?];
            let [sequence, index] = [number(sequence)?, number(index)?];
            Some(Position { generation, thread, sequence, index })
        };
        parts().with_context(|| format!("{text} is no position"))
    }
}

/// An event as it was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownEvent {
    position: Position,
    fields: BTreeMap<String, Value>,
}

impl ShownEvent {
    /// Reads an event. None for `missed`: the reader was too late.
    fn read(shown: &Value) -> Result<Option<ShownEvent>> {
        let [id, fields] = array(shown)? else { bail!("no event: {shown}") };
        let fields: BTreeMap<String, Value> = array(fields)?
            .chunks(2)
            .map(|pair| Ok((text(&pair[0])?, pair.get(1).context("a field")?.clone())))
            .collect::<Result<_>>()?;
        if fields.get("event") == Some(&Value::Word(b"missed".to_vec())) {
            return Ok(None);
        }
        Ok(Some(ShownEvent { position: Position::read(&text(id)?)?, fields }))
    }

    /// Returns a field that is a word. Empty without it.
    fn word(&self, name: &str) -> String {
        self.fields.get(name).and_then(|value| text(value).ok()).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Result<i128> {
        int(self.fields.get(name).with_context(|| format!("no {name} in {self:?}"))?)
    }
}

/// A reader of one thread's events.
pub(crate) struct EventReader {
    connection: FailoverConnection,
    random: Random,
    /// Position from which it goes on.
    next: String,
    events: Vec<ShownEvent>,
    /// How often it was told that it has missed events.
    missed: u64,
}

/// Requests in a row without an event, at the end.
const ENDS_MIN: u32 = 10;

impl EventReader {
    /// Begins after the last event of now.
    pub(crate) fn start(
        thread: u16,
        connection: FailoverConnection,
        random: Random,
        signals: &Signals,
    ) -> Result<EventReader> {
        let (next, events) = (format!("$ THREAD {thread}"), Vec::new());
        let mut reader = EventReader { connection, random, next, events, missed: 0 };
        while reader.next.starts_with('$') {
            reader.read(signals)?;
        }
        Ok(reader)
    }

    /// Reads events until the load is over.
    pub(crate) fn load(&mut self, signals: &Signals) -> Result<()> {
        while !signals.is_over() {
            self.read(signals)?;
        }
        Ok(())
    }

    /// Reads until the end of the events, when no request is under way any more. An event is shown a moment after its
    /// change was acknowledged, so the end counts after several requests without one.
    pub(crate) fn finish(&mut self, signals: &Signals) -> Result<()> {
        let mut ends = 0;
        while ends < ENDS_MIN {
            ends = if self.read(signals)? { ends + 1 } else { 0 };
        }
        Ok(())
    }

    /// Sends one request. Returns whether it reached the end of the events.
    fn read(&mut self, signals: &Signals) -> Result<bool> {
        if self.random.one_in(REQUESTS) {
            self.connection.leave();
        }
        let request = words(&format!("SCUR.WATCH {} COUNT 1000 BLOCK {BLOCK_MS}", self.next));
        match self.connection.send(&request) {
            Sent::Clear(reply) => {
                let at = self.next.clone();
                self.take(&reply).with_context(|| format!("the events from {at} on"))
            }
            Sent::Refused | Sent::InDoubt => {
                signals.go_on()?;
                std::thread::sleep(TRY_EVERY); // tidy: allow (a group says nothing when it is ready again)
                Ok(false)
            }
        }
    }

    fn take(&mut self, reply: &Value) -> Result<bool> {
        for shown in array(entry(reply, "events")?)? {
            let Some(event) = ShownEvent::read(shown)? else {
                self.missed += 1;
                continue;
            };
            if let Some(last) = self.events.last() {
                let (before, now) = (last.position, event.position);
                ensure!(before < now, "{now:?} comes after {before:?}");
            }
            self.events.push(event);
        }
        self.next = text(entry(reply, "next")?)?;
        Ok(self.next == text(entry(reply, "end")?)?)
    }
}

/// What readers of all threads were shown.
pub(crate) struct ShownEvents<'r> {
    readers: &'r [EventReader],
}

impl<'r> ShownEvents<'r> {
    pub(crate) fn new(readers: &'r [EventReader]) -> ShownEvents<'r> {
        ShownEvents { readers }
    }

    /// Returns how often readers were too late. What they have missed cannot be checked.
    pub(crate) fn missed(&self) -> u64 {
        self.readers.iter().map(|reader| reader.missed).sum()
    }

    fn of<'s>(&'s self, account: &'s str) -> impl Iterator<Item = &'s ShownEvent> {
        let all = self.readers.iter().flat_map(|reader| &reader.events);
        all.filter(move |event| event.word("account") == account)
    }

    /// Checks the events of an account whose only changes are debits with these ids, which were acknowledged in this
    /// order.
    pub(crate) fn audit(&self, account: &str, acknowledged: &[String]) -> Result<()> {
        let mut debits = Vec::new();
        for event in self.of(account) {
            let name = event.word("event");
            if name == "debited" {
                debits.push(event.word("transaction"));
            } else {
                ensure!(BEGINNING.contains(&name.as_str()), "no client asked for {event:?}");
            }
        }
        if self.missed() == 0 {
            let same = debits.iter().zip(acknowledged).take_while(|(one, other)| one == other);
            let at = same.count();
            ensure!(
                debits == acknowledged,
                "{} debits were acknowledged and {} shown; from number {at} on {:?} and {:?}",
                acknowledged.len(),
                debits.len(),
                acknowledged.get(at),
                debits.get(at)
            );
        }
        let mut rest = acknowledged.iter();
        ensure!(debits.iter().all(|id| rest.any(|one| one == id)), "{debits:?} are shown");
        Ok(())
    }

    /// Checks that each balance after a commit is that before it and the changes of the commit. Returns the number of
    /// movements.
    pub(crate) fn add_up(&self) -> Result<u64> {
        let mut movements = 0;
        for reader in self.readers.iter().filter(|reader| reader.missed == 0) {
            let mut balances: BTreeMap<(String, i128), [i128; 2]> = BTreeMap::new();
            // Accounts that are known from their beginning.
            let mut created = BTreeSet::new();
            let commits = reader.events.chunk_by(|one, next| {
                one.position.sequence == next.position.sequence
                    && one.position.generation == next.position.generation
            });
            for commit in commits {
                let mut after = BTreeMap::new();
                for event in commit {
                    let account = event.word("account");
                    match event.word("event").as_str() {
                        "created" => {
                            created.insert(account.clone());
                        }
                        "cleared" => created.clear(),
                        "loaded" | "deleted" => {
                            created.remove(&account);
                        }
                        _ => {}
                    }
                    if !event.fields.contains_key("change") || !created.contains(&account) {
                        balances.retain(|(of, _), _| created.contains(of));
                        continue;
                    }
                    movements += 1;
                    let bucket = (account, event.number("bucket_no")?);
                    let own = balances.entry(bucket.clone()).or_default();
                    own[0] += event.number("change")?;
                    own[1] += event.number("held_change")?;
                    let shown = [event.number("available")?, event.number("held")?];
                    after.insert(bucket, (shown, event));
                }
                for (bucket, (shown, event)) in after {
                    let sum = balances[&bucket];
                    ensure!(sum == shown, "the changes sum up to {sum:?}: {event:?}");
                }
            }
        }
        Ok(movements)
    }

    /// Checks that the statement of an account has the same events, as far as the log reaches back.
    pub(crate) fn compare_statement(&self, account: &str, wire: &mut Wire) -> Result<()> {
        let (mut entries, mut is_complete) = (Vec::new(), true);
        let mut cursor = String::new();
        loop {
            let request = format!("SCUR.STATEMENT {account} COUNT 1000{cursor}");
            let reply = wire.ask(&words(&request))?;
            for shown in array(entry(&reply, "entries")?)? {
                entries.extend(ShownEvent::read(shown)?);
            }
            is_complete &= *entry(&reply, "complete")? == Value::Int(1);
            match entry(&reply, "next")? {
                Value::Nil => break,
                next => cursor = format!(" CURSOR {}", text(next)?),
            }
        }
        if self.missed() > 0 {
            return Ok(());
        }
        let watched: Vec<&ShownEvent> = self.of(account).collect();
        let kept = watched.len().checked_sub(entries.len());
        let first = kept.context("a statement has more than was watched")?;
        ensure!(first == 0 || !is_complete, "a complete statement lacks {first} events");
        for (one, other) in watched[first..].iter().zip(&entries) {
            ensure!(*one == other, "{one:?} was watched, and a statement has {other:?}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_the_order_of_their_numbers() {
        let read = |text| Position::read(text).expect("a position");
        assert!(read("1.0:9") < read("1.0:10"));
        assert!(read("1.0:9") < read("1.0:9-1"));
        assert!(read("1.0:9-2") < read("2.0:1"));
        assert!(Position::read("$").is_err() && Position::read("1.0:x").is_err());
    }
}
