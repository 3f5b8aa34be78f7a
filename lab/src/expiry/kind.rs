//! The kinds of things that fall due, and how each is written.

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::client::Client;
use crate::clock::unix_ms;
use crate::names::digits;
use crate::populate::fill;
use crate::resp::{Value, encode};

/// Far enough to outlast a probe, near enough to be gone before the load, ms.
const PROBE_MS: i64 = 60_000;

/// Kind of thing that falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExpiryKind {
    /// Plain keys with PXAT.
    Keys,
    /// Entities with PXAT.
    Entities,
    /// Sessions whose supervision time ends.
    Sessions,
    /// Buckets whose validity ends.
    Buckets,
}

/// When each of them falls due, ms since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    /// The first.
    pub(super) begin: i64,
    /// The last, or later.
    pub(super) end: i64,
    count: u32,
}

impl Schedule {
    pub(super) fn new(begin: i64, spread_ms: u32, count: u32) -> Schedule {
        Schedule { begin, end: begin + i64::from(spread_ms), count }
    }

    fn due(&self, number: u32) -> i64 {
        let spread = self.end - self.begin;
        self.begin + spread * i64::from(number) / i64::from(self.count.max(1))
    }
}

type ReportProgress<'a> = &'a mut dyn FnMut(usize, usize) -> Result<()>;

impl ExpiryKind {
    /// All of them, in the order of the table.
    pub const ALL: &'static [ExpiryKind] =
        &[ExpiryKind::Keys, ExpiryKind::Entities, ExpiryKind::Sessions, ExpiryKind::Buckets];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ExpiryKind::Keys => "keys",
            ExpiryKind::Entities => "entities",
            ExpiryKind::Sessions => "sessions",
            ExpiryKind::Buckets => "buckets",
        }
    }

    /// Whether the key is gone with what expired.
    pub(super) fn vanishes(self) -> bool {
        matches!(self, ExpiryKind::Keys | ExpiryKind::Entities)
    }

    /// Why the server cannot take the kind; none when it can. Leaves nothing behind.
    pub(super) fn refusal(self, client: &mut Client) -> Result<Option<String>> {
        // What expires with an account is as old as the server.
        let (put, del) = match self {
            ExpiryKind::Keys => (words(&["SET", "due:probe", "v", "PXAT"]), words(&["DEL"])),
            ExpiryKind::Entities => {
                (words(&["ENTITY.PUT", "due:probe", "v", "PXAT"]), words(&["ENTITY.DEL"]))
            }
            _ => return Ok(None),
        };
        let due = (unix_ms() + PROBE_MS).to_string();
        let reply = client.call(&[put, words(&[&due])].concat())?;
        if let Value::Error(text) = reply {
            return Ok(Some(text));
        }
        let reply = client.call(&[del, words(&["due:probe"])].concat())?;
        ensure!(!matches!(reply, Value::Error(_)), "the probe cannot be deleted: {reply}");
        Ok(None)
    }

    /// Writes what must be there before anything falls due.
    pub(super) fn prepare(
        self,
        client: &mut Client,
        count: u32,
        step: ReportProgress<'_>,
    ) -> Result<()> {
        if self != ExpiryKind::Sessions {
            return Ok(());
        }
        fill(client, count, step, |number, out| {
            let create = ["SCUR.CREATE", &id(number), "BUCKET", "main", "octets", "1000000"];
            out.extend(encode(&create));
        })
    }

    /// Writes what will fall due.
    pub(super) fn fill(
        self,
        client: &mut Client,
        schedule: &Schedule,
        step: ReportProgress<'_>,
    ) -> Result<()> {
        fill(client, schedule.count, step, |number, out| {
            out.extend(encode(&self.request(&id(number), schedule.due(number), unix_ms())));
        })
    }

    /// The request that makes one fall due then.
    fn request(self, id: &str, due: i64, now: i64) -> Vec<String> {
        let due_text = due.to_string();
        // A session's time is told as how long it lasts.
        let tcc = format!("{}ms", (due - now).max(1));
        let words: Vec<&str> = match self {
            ExpiryKind::Keys => vec!["SET", id, "0123456789", "PXAT", &due_text],
            ExpiryKind::Entities => vec!["ENTITY.PUT", id, "0123456789", "PXAT", &due_text],
            ExpiryKind::Sessions => vec![
                "SCUR.RESERVE",
                id,
                "s1",
                "0",
                "TCC",
                &tcc,
                "ITEM",
                "1",
                "octets",
                "REQUESTED",
                "1000",
            ],
            ExpiryKind::Buckets => {
                vec!["SCUR.CREATE", id, "BUCKET", "main", "octets", "1000000", "TO", &due_text]
            }
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

/// Of a width of its own, so that it is no account of the healthy client.
fn id(number: u32) -> String {
    let mut text = *b"due:0000000";
    digits(&mut text[4..], u64::from(number), 36);
    text.escape_ascii().to_string()
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_fall_due_evenly_or_all_at_once() {
        let schedule = Schedule::new(1_000, 100, 4);
        assert_eq!([0, 1, 2, 3].map(|number| schedule.due(number)), [1_000, 1_025, 1_050, 1_075]);
        assert_eq!(schedule.end, 1_100);
        let at_once = Schedule::new(1_000, 0, 4);
        assert_eq!([0, 3].map(|number| at_once.due(number)), [1_000, 1_000]);
    }

    #[test]
    fn requests_name_the_time_as_each_command_wants_it() {
        let text = |kind: ExpiryKind| kind.request("due:1", 5_000, 2_000).join(" ");
        assert_eq!(text(ExpiryKind::Keys), "SET due:1 0123456789 PXAT 5000");
        assert_eq!(text(ExpiryKind::Entities), "ENTITY.PUT due:1 0123456789 PXAT 5000");
        assert!(text(ExpiryKind::Sessions).contains(" TCC 3000ms "));
        assert!(text(ExpiryKind::Buckets).ends_with(" TO 5000"));
        for kind in ExpiryKind::ALL {
            assert_eq!(kind.to_possible_value().unwrap().get_name(), kind.name());
        }
        assert_eq!(ExpiryKind::ALL, ExpiryKind::value_variants());
    }
}
