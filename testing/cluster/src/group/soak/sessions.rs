//! Which request comes next: the mix of the load, and its sessions, of which each has one request under way.

use super::request::{Asked, Request};
use scurry_model::Random;
use std::collections::VecDeque;

/// Open sessions at most, beside those that are left to expire.
const OPEN_MAX: usize = 20_000;
/// Open sessions at most for each request in a second: with 30 of 100 requests each session has one every 100 s, long
/// before its Tcc.
const OPEN_MAX_OF_RATE: usize = 30;
/// Of so many new sessions one is left to expire.
const BRIEF_ONE_IN: usize = 5;
/// Accounts for each plain key.
const ACCOUNTS_OF_KEY: u32 = 10;

/// An open session and its next request.
#[derive(Clone, Copy, Debug)]
struct OpenSession {
    account: u32,
    serial: u64,
    next: Asked,
}

/// The sessions of a load.
#[derive(Debug)]
pub(super) struct Sessions {
    accounts: u32,
    /// Number of the next id.
    serial: u64,
    /// Sessions whose last request is answered.
    ready: VecDeque<OpenSession>,
    /// Sessions that are not terminated yet.
    open: usize,
    open_max: usize,
}

impl Sessions {
    /// Makes none yet, on so many accounts. Ids have numbers from `serial` on.
    pub(super) fn new(accounts: u32, serial: u64) -> Sessions {
        let open_max = OPEN_MAX.min(accounts as usize);
        Sessions { accounts, serial, ready: VecDeque::new(), open: 0, open_max }
    }

    /// Bounds the open sessions to those that a load of this rate serves in time.
    pub(super) fn bound(&mut self, rate: u32) {
        self.open_max = self.open_max.min(rate as usize * OPEN_MAX_OF_RATE);
    }

    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    /// Reports whether a session waits for its next request.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns a request of the mix: of 100 45 debits, 30 of sessions, 15 reads of accounts, 5 writes and 5 reads of
    /// plain values.
    pub(super) fn mixed(&mut self, random: &mut Random, due_ns: i64) -> Request {
        let account = self.below(random, self.accounts);
        let key = self.below(random, self.accounts.div_ceil(ACCOUNTS_OF_KEY));
        match random.below(100) {
            0..45 => self.new_id(Asked::Debit, account, due_ns),
            45..75 => self.of_session(random, account, due_ns),
            75..83 => Request::new(Asked::Get, account, 0, due_ns),
            83..90 => Request::new(Asked::Check, account, 0, due_ns),
            90..95 => self.new_id(Asked::Set, key, due_ns),
            _ => Request::new(Asked::GetValue, key, 0, due_ns),
        }
    }

    fn below(&self, random: &mut Random, count: u32) -> u32 {
        u32::try_from(random.below(count as usize)).unwrap_or(0)
    }

    fn new_id(&mut self, asked: Asked, account: u32, due_ns: i64) -> Request {
        self.serial += 1;
        Request::new(asked, account, self.serial, due_ns)
    }

    /// Returns the next request of a session, or opens one.
    fn of_session(&mut self, random: &mut Random, account: u32, due_ns: i64) -> Request {
        if self.open < self.open_max {
            if random.one_in(BRIEF_ONE_IN) {
                return self.new_id(Asked::ReserveBriefly, account, due_ns);
            }
            self.open += 1;
            return self.new_id(Asked::Reserve, account, due_ns);
        }
        match self.ready.pop_front() {
            Some(open) => Request::new(open.next, open.account, open.serial, due_ns),
            None => self.new_id(Asked::Debit, account, due_ns),
        }
    }

    /// Returns the end of a session that is open. None if none is left.
    pub(super) fn end(&mut self, now_ns: i64) -> Option<Request> {
        let open = self.ready.pop_front()?;
        Some(Request::new(Asked::Terminate, open.account, open.serial, now_ns))
    }

    /// Takes note of an answer.
    pub(super) fn done(&mut self, request: &Request) {
        let next = match request.asked {
            Asked::Reserve => Asked::Update,
            Asked::Update => Asked::Terminate,
            Asked::Terminate => {
                self.open -= 1;
                return;
            }
            _ => return,
        };
        let (account, serial) = (request.account, request.serial);
        self.ready.push_back(OpenSession { account, serial, next });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn each_session_has_its_requests_in_order_and_all_end() {
        let (mut sessions, mut random) = (Sessions::new(10, 0), Random::new(1));
        let mut last: BTreeMap<u64, Asked> = BTreeMap::new();
        let mut note = |request: &Request| {
            let before = last.insert(request.serial, request.asked);
            match request.asked {
                Asked::Update => assert_eq!(before, Some(Asked::Reserve)),
                Asked::Terminate => {
                    assert!(matches!(before, Some(Asked::Reserve | Asked::Update)));
                }
                Asked::Debit | Asked::Reserve | Asked::ReserveBriefly | Asked::Set => {
                    assert_eq!(before, None, "an id is used once");
                }
                _ => {}
            }
        };
        for _ in 0..5_000 {
            let request = sessions.mixed(&mut random, 0);
            assert!(request.account < 10);
            note(&request);
            sessions.done(&request);
        }
        while let Some(request) = sessions.end(0) {
            note(&request);
            sessions.done(&request);
        }
        assert_eq!((sessions.open, sessions.has_ready()), (0, false));
        let is_open = |asked: &&Asked| matches!(asked, Asked::Reserve | Asked::Update);
        assert_eq!(last.values().filter(is_open).count(), 0);
        assert!(last.values().any(|asked| *asked == Asked::ReserveBriefly));
    }
}
