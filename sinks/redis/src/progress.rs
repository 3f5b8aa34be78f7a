//! The hash that has the store and the positions that are reached, beside the streams.
//!
//! | field | value |
//! |---|---|
//! | `store` | the store of the events |
//! | `next:<thread>` | the position of the next event, or `end` if the store no longer has the thread |
//! | `last:<thread>` | the id of the last entry that the server has confirmed |
//!
//! It is written after the entries, so it may be older than they are, and never newer: `next` counts for events that
//! were left out by a filter, and `last` shows whether the server has lost entries.

use crate::EntryId;
use crate::commands::Commands;
use crate::stream_state::bytes;
use redis::Value;
use scurry_service::Position;
use scurry_ship::StoreId;
use std::collections::BTreeMap;

/// What the hash has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) store: Option<StoreId>,
    pub(crate) threads: BTreeMap<u16, ThreadProgress>,
}

/// What the hash has of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadProgress {
    pub(crate) next: Option<Next>,
    pub(crate) last: EntryId,
}

/// Where the events of a thread continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    At(Position),
    /// The store no longer has the thread.
    End,
}

const END: &str = "end";

impl Progress {
    /// Reads the reply of HGETALL. None if it is not what a shipper has written.
    pub(crate) fn parse(reply: &Value) -> Option<Progress> {
        let Value::Array(words) = reply else { return None };
        let mut progress = Progress::default();
        let (pairs, []) = words.as_chunks::<2>() else { return None };
        for [field, value] in pairs {
            let field = std::str::from_utf8(bytes(field)?).ok()?;
            let value = std::str::from_utf8(bytes(value)?).ok()?;
            match field.split_once(':') {
                None if field == "store" => progress.store = Some(value.parse().ok()?),
                Some(("next", thread)) => {
                    let thread = thread.parse().ok()?;
                    let next = match value {
                        END => Next::End,
                        _ => Next::At(
                            Position::parse(value.as_bytes()).filter(|at| at.thread == thread)?,
                        ),
                    };
                    progress.threads.entry(thread).or_default().next = Some(next);
                }
                Some(("last", thread)) => {
                    let thread = progress.threads.entry(thread.parse().ok()?).or_default();
                    thread.last = EntryId::parse(value.as_bytes())?;
                }
                _ => return None,
            }
        }
        (progress.store.is_some() || words.is_empty()).then_some(progress)
    }

    /// Adds the command that writes the fields in which this differs from the hash. False if there are none.
    pub(crate) fn write(&self, hash: &Progress, key: &str, commands: &mut Commands) -> bool {
        let mut words = vec![b"HSET".to_vec(), key.as_bytes().to_vec()];
        let mut field =
            |name: String, value: String| words.extend([name.into_bytes(), value.into_bytes()]);
        for (thread, now) in &self.threads {
            let before = hash.threads.get(thread).copied().unwrap_or_default();
            if let Some(next) = now.next.filter(|_| now.next != before.next) {
                field(format!("next:{thread}"), next.text());
            }
            if now.last != before.last {
                field(format!("last:{thread}"), now.last.to_string());
            }
        }
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        if words.len() > 2 {
            commands.push(&words);
        }
        words.len() > 2
    }
}

impl Next {
    fn text(self) -> String {
        match self {
            Next::At(position) => position.to_string(),
            Next::End => END.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(words: &[&str]) -> Value {
        Value::Array(words.iter().map(|word| Value::BulkString(word.as_bytes().to_vec())).collect())
    }

    #[test]
    fn a_hash_is_read_as_it_was_written() {
        let words = [
            "store",
            "00c0ffee00c0ffee",
            "next:0",
            "1.0:17",
            "last:0",
            "4294967296-1",
            "next:3",
            "end",
        ];
        let progress = Progress::parse(&reply(&words)).expect("progress");
        let mut commands = Commands::default();
        assert!(progress.write(&Progress::default(), "events", &mut commands));
        let written = String::from_utf8(commands.bytes().to_vec()).expect("text");
        for word in &words[2..] {
            assert!(written.contains(&format!("\r\n{word}\r\n")), "{word}: {written}");
        }
        assert!(!progress.write(&progress.clone(), "events", &mut commands));
        assert_eq!(Progress::parse(&reply(&[])), Some(Progress::default()));
    }

    #[test]
    fn a_hash_of_another_program_is_refused() {
        let store = ["store", "00c0ffee00c0ffee"];
        for other in [
            &["name", "x"][..],
            &["store", "x"],
            &["next:0", "1.0:17"],
            &[store[0], store[1], "next:0"],
            &[store[0], store[1], "next:0", "1.1:17"],
            &[store[0], store[1], "next:0", "x"],
            &[store[0], store[1], "last:0", "x"],
            &[store[0], store[1], "last:x", "1-1"],
            &[store[0], store[1], "other:0", "1-1"],
        ] {
            assert_eq!(Progress::parse(&reply(other)), None, "{other:?}");
        }
        assert_eq!(Progress::parse(&Value::Int(1)), None);
    }
}
