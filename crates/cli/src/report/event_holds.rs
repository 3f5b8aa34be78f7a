//! Open holds as events tell them, from the begin of a store on.

use super::hold::Hold;
use scurry_ship::Record;
use std::collections::BTreeMap;

/// An open session.
#[derive(Clone, Debug, Default)]
struct Open {
    opened: i64,
    has_ended: bool,
    /// Holds by item and number of the bucket.
    holds: BTreeMap<(String, u32), Hold>,
}

/// Holds of the open sessions.
#[derive(Debug, Default)]
pub(crate) struct EventHolds {
    /// By account and session.
    sessions: BTreeMap<(String, String), Open>,
}

impl EventHolds {
    /// Takes note of an event.
    pub(crate) fn see(&mut self, event: &Record) {
        match event.event.as_str() {
            "cleared" => return self.sessions.clear(),
            "deleted" | "loaded" => {
                self.sessions.retain(|(account, _), _| *account != event.account);
                return;
            }
            _ => {}
        }
        let Some(session) = &event.session else { return };
        let key = (event.account.clone(), session.clone());
        if event.event == "session-opened" {
            self.sessions.insert(key, Open { opened: event.time_ms, ..Open::default() });
            return;
        }
        let Some(open) = self.sessions.get_mut(&key) else { return };
        let ends = ["session-closed", "session-released", "session-expired", "session-returned"];
        open.has_ended |= ends.contains(&event.event.as_str());
        if let Some((change, number)) = event.held_change.zip(event.bucket_no)
            && change != 0
        {
            open.add(&key.0, session, event, (change, number));
        }
        if open.has_ended && open.holds.is_empty() {
            self.sessions.remove(&key);
        }
    }

    /// Returns the holds.
    pub(crate) fn all(self) -> Vec<Hold> {
        self.sessions.into_values().flat_map(|open| open.holds.into_values()).collect()
    }
}

impl Open {
    fn add(&mut self, account: &str, session: &str, event: &Record, (change, number): (i64, u32)) {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let place = (text(&event.item), number);
        let hold = self.holds.entry(place.clone()).or_insert_with(|| Hold {
            account: account.to_owned(),
            session: session.to_owned(),
            item: text(&event.item),
            unit: text(&event.unit),
            bucket: text(&event.bucket),
            amount: 0,
            opened: self.opened,
        });
        hold.amount += change;
        if hold.amount == 0 {
            self.holds.remove(&place);
        }
    }
}
