//! Names of files.

use scurry_service::Position;
use scurry_ship::StoreId;
use std::fmt;

/// What a name says of its file. Names of one thread are in the order of their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// First word of the name, for example `events`.
    pub kind: FileKind,
    /// Store of the events.
    pub store: StoreId,
    /// First position of the range.
    pub from: Position,
    /// First position after the range, of the same thread.
    pub to: Position,
    /// Ending of the name, for example `jsonl`.
    pub extension: String,
}

/// First word of a file's name: small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind(pub &'static str);

impl FileName {
    /// Parses the text that `Display` writes, and no other. None for files of another kind.
    pub fn parse(kind: FileKind, text: &str) -> Option<FileName> {
        let mut words = text.strip_prefix(kind.0)?.strip_prefix('-')?.splitn(4, '-');
        let store = words.next()?.parse().ok()?;
        let log = words.next()?;
        let from = place(log, words.next()?)?;
        let mut last = words.next()?.splitn(3, '.');
        let to = place(log, &format!("{}.{}", last.next()?, last.next()?))?;
        let extension = last.next()?;
        let name = FileName { kind, store, from, to, extension: extension.to_owned() };
        (name.to_string() == text).then_some(name)
    }
}

fn place(log: &str, place: &str) -> Option<Position> {
    let (generation, thread) = log.split_once('.')?;
    let (sequence, index) = place.split_once('.')?;
    Some(Position {
        generation: generation.parse().ok()?,
        thread: thread.parse().ok()?,
        sequence: sequence.parse().ok()?,
        index: index.parse().ok()?,
    })
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileName { kind, store, from, to, extension } = self;
        let Position { generation, thread, .. } = to;
        write!(
            f,
            "{}-{store}-{generation}.{thread}-{:020}.{}-{:020}.{}.{extension}",
            kind.0, from.sequence, from.index, to.sequence, to.index
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_its_file_has() {
        let kind = FileKind("events");
        let text =
            "events-00c0ffee00c0ffee-2.1-00000000000000000017.3-00000000000000004711.0.jsonl";
        let name = FileName::parse(kind, text).expect("a name");
        assert_eq!(name.from, Position { generation: 2, thread: 1, sequence: 17, index: 3 });
        assert_eq!(name.to, Position { generation: 2, thread: 1, sequence: 4_711, index: 0 });
        assert_eq!((name.extension.as_str(), name.to_string().as_str()), ("jsonl", text));
        for other in [
            "events-00c0ffee00c0ffee-2.1-17.3-4711.0.jsonl",
            "usage-00c0ffee00c0ffee-2.1-00000000000000000017.3-00000000000000004711.0.jsonl",
            "events-00c0ffee00c0ffee-2.1-00000000000000000017.3-00000000000000004711.0",
            "events-00c0ffee00c0ffee-2.1-00000000000000000017.3.jsonl",
            "events.jsonl",
        ] {
            assert_eq!(FileName::parse(kind, other), None, "{other}");
        }
    }
}
