//! Positions in the stream of events, as `SCUR.WATCH` reads and writes them.

use std::fmt;

/// Where a reader of events continues: `<generation>.<thread>:<sequence>`, and `-<index>` if it is inside one commit's
/// events. Each thread of each generation of a store has its own log, so a position of another log is never mistaken
/// for one of this log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// How often the store was divided among threads, from 1.
    pub generation: u32,
    /// Number of the thread.
    pub thread: u16,
    /// Number of the commit in the thread's log, from 1.
    pub sequence: u64,
    /// Index of the event in its commit, from 0.
    pub index: u32,
}

/// Start positions of `SCUR.WATCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// `0`: the oldest event.
    Oldest,
    /// `$`: the next event to come.
    Newest,
    /// A position from an earlier reply.
    At(Position),
}

impl Position {
    /// Parses the text that `Display` writes, and no other.
    pub fn parse(bytes: &[u8]) -> Option<Position> {
        let (generation, rest) = split(bytes, b'.')?;
        let (thread, rest) = split(rest, b':')?;
        let (sequence, index) = split(rest, b'-').unwrap_or((rest, b"0"));
        let position = Position {
            generation: number(generation)?,
            thread: number(thread)?,
            sequence: number(sequence)?,
            index: number(index)?,
        };
        // The first event of a commit is written without an index, so that each position has one spelling.
        let is_short = !rest.contains(&b'-');
        (is_short == (position.index == 0) && position.sequence > 0).then_some(position)
    }
}

impl WatchStart {
    /// Parses the first argument of `SCUR.WATCH`.
    pub fn parse(bytes: &[u8]) -> Option<WatchStart> {
        match bytes {
            b"0" => Some(WatchStart::Oldest),
            b"$" => Some(WatchStart::Newest),
            _ => Position::parse(bytes).map(WatchStart::At),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}:{}", self.generation, self.thread, self.sequence)?;
        match self.index {
            0 => Ok(()),
            index => write!(f, "-{index}"),
        }
    }
}

impl fmt::Display for WatchStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WatchStart::Oldest => f.write_str("0"),
            WatchStart::Newest => f.write_str("$"),
            WatchStart::At(position) => position.fmt(f),
        }
    }
}

fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|&byte| byte == at)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

/// Parses digits without a sign or leading zeros. A sequence has 63 bits, as the integers of RESP have.
fn number<T: TryFrom<i64>>(digits: &[u8]) -> Option<T> {
    let has_one_spelling = match digits {
        [b'0', rest @ ..] => rest.is_empty(),
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    let text = std::str::from_utf8(digits).ok().filter(|_| has_one_spelling)?;
    text.parse::<i64>().ok()?.try_into().ok()
}
