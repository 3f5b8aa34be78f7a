//! Ids of entries: a whole position in the 128 bits of an id, so ids rise with positions.
//!
//! ```text
//! first  generation: 32 | sequence, high half: 32
//! second sequence, low half: 32 | index: 31 | 1 for an event, 0 for missed
//! ```
//!
//! The position of `missed` is the one at which reading continues, and the event at that position comes after it: the
//! last bit keeps the two apart.

use scurry_service::Position;
use std::fmt;

/// The id of an entry. The order of ids is that of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId {
    first: u64,
    second: u64,
}

impl EntryId {
    /// Returns the id of the event at a position. None if its index has more than 31 bits, which no commit reaches.
    pub fn event(at: Position) -> Option<EntryId> {
        EntryId::pack(at, 1)
    }

    /// Returns the id of `missed` after which reading continues at a position.
    pub fn missed(to: Position) -> Option<EntryId> {
        EntryId::pack(to, 0)
    }

    fn pack(at: Position, kind: u64) -> Option<EntryId> {
        let Position { generation, sequence, index, .. } = at;
        (index < 1 << 31).then_some(EntryId {
            first: u64::from(generation) << 32 | sequence >> 32,
            second: sequence << 32 | u64::from(index) << 1 | kind,
        })
    }

    /// Returns the position of the event after this entry.
    pub fn next(self, thread: u16) -> Position {
        let EntryId { first, second } = self;
        let low = u64::from(u32::MAX);
        // An event's last bit is set, and adding 1 goes on to the next index.
        let index = ((second & low) + 1) >> 1;
        Position {
            generation: (first >> 32) as u32,
            thread,
            sequence: (first & low) << 32 | second >> 32,
            index: index as u32,
        }
    }

    /// Parses the text that `Display` writes.
    pub fn parse(bytes: &[u8]) -> Option<EntryId> {
        let (first, second) = std::str::from_utf8(bytes).ok()?.split_once('-')?;
        Some(EntryId { first: first.parse().ok()?, second: second.parse().ok()? })
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(generation: u32, sequence: u64, index: u32) -> Position {
        Position { generation, thread: 3, sequence, index }
    }

    #[test]
    fn ids_rise_with_positions() {
        let positions = [
            at(1, 1, 0),
            at(1, 1, 1),
            at(1, 1, (1 << 31) - 1),
            at(1, 2, 0),
            at(1, (1 << 32) - 1, 7),
            at(1, 1 << 32, 0),
            at(1, u64::MAX, 0),
            at(2, 1, 0),
            at(u32::MAX, u64::MAX, (1 << 31) - 1),
        ];
        let ids: Vec<EntryId> = positions
            .into_iter()
            .flat_map(|at| [EntryId::missed(at), EntryId::event(at)])
            .map(|id| id.expect("an id"))
            .collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        for id in ids {
            assert_eq!(EntryId::parse(id.to_string().as_bytes()), Some(id));
        }
        assert_eq!(EntryId::event(at(1, 1, 1 << 31)), None);
    }

    #[test]
    fn reading_continues_after_an_event_and_at_the_end_of_a_gap() {
        let place = at(2, (5 << 32) | 9, 4);
        let id = EntryId::event(place).expect("an id");
        assert_eq!(id.next(3), at(2, (5 << 32) | 9, 5));
        let missed = EntryId::missed(place).expect("an id");
        assert_eq!(missed.next(3), place);
        let last = EntryId::event(at(1, 1, (1 << 31) - 1)).expect("an id");
        assert_eq!(last.next(3), at(1, 1, 1 << 31));
    }

    #[test]
    fn the_bytes_of_ids_stay_the_same() {
        let id = EntryId::event(at(1, 17, 2)).expect("an id");
        assert_eq!(id.to_string(), "4294967296-73014444037");
        for other in ["", "1", "1-", "-1", "1-x", "1-1-1", "18446744073709551616-0"] {
            assert_eq!(EntryId::parse(other.as_bytes()), None, "{other}");
        }
    }
}
