//! Ids of events as the field `id` of an entry has them.

use crate::EntryId;
use scurry_service::Position;

/// What the id of an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventText {
    /// An event at a position.
    At(Position),
    /// `missed`: the events from one position to another.
    Missed { from: Position, to: Position },
}

impl EventText {
    /// Parses `1.0:17-2` or `1.0:3..1.0:17`. None for other texts.
    pub(crate) fn parse(text: &str) -> Option<EventText> {
        match text.split_once("..") {
            Some((from, to)) => Some(EventText::Missed {
                from: Position::parse(from.as_bytes())?,
                to: Position::parse(to.as_bytes())?,
            }),
            None => Position::parse(text.as_bytes()).map(EventText::At),
        }
    }

    /// Returns the thread in whose stream the event is. What is missed of a thread that the store no longer has ends
    /// the stream of that thread.
    pub(crate) fn thread(self) -> u16 {
        match self {
            EventText::At(at) => at.thread,
            EventText::Missed { from, .. } => from.thread,
        }
    }

    /// Reports whether this is the last event of its thread, which the store no longer has.
    pub(crate) fn ends_thread(self) -> bool {
        matches!(self, EventText::Missed { from, to } if from.thread != to.thread)
    }

    /// Returns the id of the entry. None if it is no position that a store has.
    pub(crate) fn entry_id(self) -> Option<EntryId> {
        match self {
            EventText::At(at) => EntryId::event(at),
            EventText::Missed { to, .. } => EntryId::missed(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_its_stream() {
        let event = EventText::parse("1.2:17-3").expect("an id");
        assert_eq!((event.thread(), event.ends_thread()), (2, false));
        let missed = EventText::parse("1.2:17..1.2:20").expect("an id");
        assert_eq!((missed.thread(), missed.ends_thread()), (2, false));
        let last = EventText::parse("1.2:17..2.0:20").expect("an id");
        assert_eq!((last.thread(), last.ends_thread()), (2, true));
        assert!(last.entry_id() > event.entry_id());
        for other in ["", "1.2", "1.2:17..", "..1.2:17", "hello"] {
            assert_eq!(EventText::parse(other), None, "{other}");
        }
    }
}
