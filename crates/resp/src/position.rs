//! Positions in the stream of events, as `SCUR.WATCH` reads and writes them.

use crate::parse_integer;
use std::fmt;

/// Where a reader of events goes on: `<generation>.<thread>:<sequence>`, and `-<index>` where it is
/// within what one commit did. Each thread of each generation of a store has a log of its own, so
/// a position of another one cannot be taken for one of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// How often the store was divided anew among threads, from 1.
    pub generation: u32,
    /// The thread.
    pub thread: u16,
    /// The commit in the thread's log, from 1.
    pub sequence: u64,
    /// The event of the commit, from 0.
    pub index: u32,
}

/// Beginnings of `SCUR.WATCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// `0`: what is oldest.
    Oldest,
    /// `$`: what comes next.
    Newest,
    /// A position that a reply has said.
    At(Position),
}

impl Position {
    /// Reads the text that `Display` writes, and no other.
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
        // The first of a commit has no index.
        let is_short = !rest.contains(&b'-');
        (is_short == (position.index == 0) && position.sequence > 0).then_some(position)
    }
}

impl Start {
    /// Reads the first argument of `SCUR.WATCH`.
    pub fn parse(bytes: &[u8]) -> Option<Start> {
        match bytes {
            b"0" => Some(Start::Oldest),
            b"$" => Some(Start::Newest),
            _ => Position::parse(bytes).map(Start::At),
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

fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|&byte| byte == at)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

/// Digits without a sign and without zeros in front.
fn number<T: TryFrom<i64>>(digits: &[u8]) -> Option<T> {
    parse_integer(digits).filter(|&number| number >= 0).and_then(|number| number.try_into().ok())
}
