//! Requests of our own that wait for answers. All wait for the same time, so the oldest is the next to expire.

use std::collections::VecDeque;

/// The name that the host gives a request of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

/// One request that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) hop_by_hop: u32,
    pub(super) command: u32,
    pub(super) token: Token,
    pub(super) deadline_ms: u64,
}

/// Bounded table, from the oldest request to the newest.
#[derive(Debug)]
pub(super) struct OwnRequests {
    waiting: VecDeque<Waiting>,
    max: usize,
}

impl OwnRequests {
    pub(super) fn new(max: usize) -> OwnRequests {
        OwnRequests { waiting: VecDeque::new(), max }
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.max
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn add(&mut self, request: Waiting) {
        assert!(!self.is_full(), "the caller has asked for room");
        self.waiting.push_back(request);
    }

    /// Takes the request that this answer belongs to. Answers come mostly in the order of the requests.
    pub(super) fn answered(&mut self, hop_by_hop: u32, command: u32) -> Option<Token> {
        let is_it = |request: &Waiting| request.hop_by_hop == hop_by_hop;
        let at = self.waiting.iter().position(is_it)?;
        if self.waiting[at].command != command {
            return None;
        }
        self.waiting.remove(at).map(|request| request.token)
    }

    /// Takes the oldest request if its time is over.
    pub(super) fn expired(&mut self, now_ms: u64) -> Option<Token> {
        self.waiting.pop_front_if(|request| request.deadline_ms <= now_ms).map(|gone| gone.token)
    }

    /// Takes the oldest request.
    pub(super) fn abandoned(&mut self) -> Option<Token> {
        self.waiting.pop_front().map(|request| request.token)
    }

    pub(super) fn next_deadline_ms(&self) -> Option<u64> {
        self.waiting.front().map(|request| request.deadline_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(count: u32) -> OwnRequests {
        let mut table = OwnRequests::new(4);
        for hop_by_hop in 0..count {
            let (token, deadline_ms) = (Token(hop_by_hop.into()), 100 + u64::from(hop_by_hop));
            table.add(Waiting { hop_by_hop, command: 258, token, deadline_ms });
        }
        table
    }

    #[test]
    fn answers_find_their_requests_in_any_order_once() {
        let mut table = table(4);
        assert!(table.is_full());
        for (hop_by_hop, command, expected) in [
            (2, 274, None),
            (2, 258, Some(Token(2))),
            (2, 258, None),
            (9, 258, None),
            (0, 258, Some(Token(0))),
            (3, 258, Some(Token(3))),
            (1, 258, Some(Token(1))),
        ] {
            assert_eq!(table.answered(hop_by_hop, command), expected, "{hop_by_hop}");
        }
        assert_eq!((table.len(), table.next_deadline_ms()), (0, None));
    }

    #[test]
    fn the_oldest_expires_first() {
        let mut table = table(3);
        assert_eq!((table.expired(99), table.next_deadline_ms()), (None, Some(100)));
        assert_eq!((table.expired(101), table.expired(101)), (Some(Token(0)), Some(Token(1))));
        assert_eq!((table.expired(101), table.abandoned()), (None, Some(Token(2))));
        assert_eq!(table.abandoned(), None);
    }
}
