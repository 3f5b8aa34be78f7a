//! How far a sink has been given the events of a store.

use scurry_service::Position;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The random number that identifies a store and its copies. As text it is 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreId(pub u64);

/// Where each thread's events continue, and of which store. Its text is that of the store and of each position, with
/// spaces between: `00c0ffee00c0ffee 1.0:17 1.1:20-3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions {
    store: StoreId,
    /// The position of the next event, by thread.
    next: BTreeMap<u16, Position>,
}

/// Why a text is not that of positions.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a store and its positions, for example 00c0ffee00c0ffee 1.0:17 1.1:20-3")]
pub struct ParsePositionsError(String);

impl Positions {
    /// Returns the positions of a store of which nothing was delivered yet.
    pub fn none(store: StoreId) -> Positions {
        Positions { store, next: BTreeMap::new() }
    }

    /// Returns the store.
    pub fn store(&self) -> StoreId {
        self.store
    }

    /// Returns where the events of a thread continue. None if nothing of the thread was delivered.
    pub fn next(&self, thread: u16) -> Option<Position> {
        self.next.get(&thread).copied()
    }

    /// Sets where the events of the position's thread continue.
    pub fn set(&mut self, next: Position) {
        self.next.insert(next.thread, next);
    }

    /// Removes the position of a thread that the store no longer has.
    pub fn remove(&mut self, thread: u16) {
        self.next.remove(&thread);
    }

    /// Returns the positions, in the order of the threads.
    pub fn iter(&self) -> impl Iterator<Item = Position> {
        self.next.values().copied()
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for StoreId {
    type Err = ParsePositionsError;

    fn from_str(text: &str) -> Result<StoreId, ParsePositionsError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let number = u64::from_str_radix(text, 16).ok();
        let number = number.filter(|_| text.len() == 16 && text.bytes().all(is_digit));
        number.map(StoreId).ok_or_else(|| ParsePositionsError(text.to_owned()))
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)?;
        self.iter().try_for_each(|position| write!(f, " {position}"))
    }
}

impl FromStr for Positions {
    type Err = ParsePositionsError;

    fn from_str(text: &str) -> Result<Positions, ParsePositionsError> {
        let fault = || ParsePositionsError(text.to_owned());
        let mut words = text.split(' ');
        let store = words.next().unwrap_or_default().parse().map_err(|_| fault())?;
        let mut positions = Positions::none(store);
        for word in words {
            let position = Position::parse(word.as_bytes()).ok_or_else(fault)?;
            if positions.next.insert(position.thread, position).is_some() {
                return Err(fault());
            }
        }
        Ok(positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_one_spelling() {
        for text in
            ["00c0ffee00c0ffee", "00c0ffee00c0ffee 1.0:17", "ffffffffffffffff 2.0:1-4 2.7:9"]
        {
            let positions: Positions = text.parse().expect(text);
            assert_eq!(positions.to_string(), text);
        }
        for other in [
            "",
            "c0ffee",
            "00C0FFEE00C0FFEE",
            "+0c0ffee00c0ffee",
            "00c0ffee00c0ffee ",
            "00c0ffee00c0ffee 1.0",
            "00c0ffee00c0ffee 1.0:1 1.0:2",
        ] {
            assert!(other.parse::<Positions>().is_err(), "{other}");
        }
    }
}
