//! Ids of events as text.

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

    /// Returns the thread to whose subject the event goes. What is missed of a thread that the store no longer has is the last
    /// message of that subject.
    pub(crate) fn thread(self) -> u16 {
        match self {
            EventText::At(at) => at.thread,
            EventText::Missed { from, .. } => from.thread,
        }
    }

    /// Returns the position of the event after this one.
    pub(crate) fn next(self) -> Position {
        match self {
            EventText::At(at) => Position { index: at.index.saturating_add(1), ..at },
            EventText::Missed { to, .. } => to,
        }
    }

    /// Reports whether this is the last event of its thread, which the store no longer has.
    pub(crate) fn ends_thread(self) -> bool {
        matches!(self, EventText::Missed { from, to } if from.thread != to.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_its_subject_and_what_comes_next() {
        let said = |text: &str| {
            let event = EventText::parse(text).expect("an id");
            (event.thread(), event.next().to_string(), event.ends_thread())
        };
        assert_eq!(said("1.2:17-3"), (2, "1.2:17-4".to_owned(), false));
        assert_eq!(said("1.2:17..1.2:20"), (2, "1.2:20".to_owned(), false));
        assert_eq!(said("1.2:17..2.0:20"), (2, "2.0:20".to_owned(), true));
        for other in ["", "1.2", "1.2:17..", "..1.2:17", "hello"] {
            assert_eq!(EventText::parse(other), None, "{other}");
        }
    }
}
