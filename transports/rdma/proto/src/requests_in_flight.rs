//! Requests in flight: their numbers, which of them are signalled, and how many messages the peer has
//! not answered.

use crate::fault::Fault;
use crate::settings::{CONTROL_RESERVE, Settings};
use std::collections::VecDeque;

/// A request to be posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// True when the request uses a receive entry of the peer.
    pub(crate) message: bool,
    /// True when the caller waits for its completion.
    pub(crate) awaited: bool,
}

/// A signalled request that is not known to be complete.
#[derive(Clone, Copy, Debug)]
struct Mark {
    number: u64,
    /// Number of messages posted with it and before it.
    messages: u64,
}

/// Bookkeeping of a send queue. Requests are numbered from 1.
#[derive(Debug)]
pub(crate) struct RequestsInFlight {
    depth: usize,
    signal_every: usize,
    messages_max: u64,
    /// True when a completion counts as the peer's answer, which is the case without probes.
    completes: bool,
    posted: u64,
    done: u64,
    messages: u64,
    answered: u64,
    /// Requests posted since the last signalled one.
    silent: usize,
    marks: VecDeque<Mark>,
}

impl RequestsInFlight {
    pub(crate) fn new(settings: &Settings) -> RequestsInFlight {
        RequestsInFlight {
            depth: settings.send_depth,
            signal_every: settings.signal_every,
            messages_max: settings.in_flight_max as u64,
            completes: !settings.probes,
            posted: 0,
            done: 0,
            messages: 0,
            answered: 0,
            silent: 0,
            marks: VecDeque::with_capacity(settings.send_depth),
        }
    }

    /// Returns the number of requests not known to be complete.
    pub(crate) fn queued(&self) -> usize {
        usize::try_from(self.posted - self.done).unwrap_or(usize::MAX)
    }

    /// Reports whether this many requests with data can be posted, one of which is a message.
    pub(crate) fn has_room(&self, requests: usize) -> bool {
        self.queued() + requests + CONTROL_RESERVE <= self.depth
            && self.unanswered() < self.messages_max
    }

    /// Reports whether a control message can be posted.
    pub(crate) fn has_control_room(&self) -> bool {
        self.queued() < self.depth
    }

    /// Numbers a request. Returns the number, and whether the request is signalled.
    pub(crate) fn post(&mut self, request: Request) -> (u64, bool) {
        self.posted += 1;
        self.messages += u64::from(request.message);
        self.silent += 1;
        let signalled = request.awaited || self.silent >= self.signal_every;
        if signalled {
            self.silent = 0;
            self.marks.push_back(Mark { number: self.posted, messages: self.messages });
        }
        (self.posted, signalled)
    }

    /// Records that the signalled request of this number and all before it are complete.
    pub(crate) fn done(&mut self, number: u64) -> Result<(), Fault> {
        while let Some(mark) = self.marks.front().filter(|mark| mark.number <= number) {
            let mark = *mark;
            self.marks.pop_front();
            self.done = mark.number;
            // With probes only the peer's answer counts, not the completion.
            if self.completes {
                self.answered = mark.messages;
            }
        }
        // A device must report signalled requests only, each of them once.
        if self.done == number { Ok(()) } else { Err(Fault::Completion(number)) }
    }

    /// Returns the number of messages posted so far.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Records that the peer has released the receive entries of the first `messages` messages.
    pub(crate) fn answer(&mut self, messages: u64) {
        if !self.completes {
            self.answered = self.answered.max(messages);
        }
    }

    pub(crate) fn unanswered(&self) -> u64 {
        self.messages - self.answered
    }

    /// Reports whether the unanswered messages are at least half of the allowed number.
    pub(crate) fn is_half_full(&self) -> bool {
        2 * self.unanswered() >= self.messages_max
    }

    /// Returns the number of the last request known to be complete; all before it are complete as
    /// well.
    pub(crate) fn known(&self) -> u64 {
        self.done
    }

    /// Reports whether a signalled request is in flight.
    pub(crate) fn is_awaiting(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Reports whether the last requests are not signalled, so that no completion will report them.
    pub(crate) fn has_silent_tail(&self) -> bool {
        self.silent > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Role;

    const DATA: Request = Request { message: true, awaited: false };
    const AWAITED: Request = Request { message: true, awaited: true };

    fn flight(settings: Settings) -> RequestsInFlight {
        RequestsInFlight::new(&settings.bounded(Role::Client))
    }

    #[test]
    fn every_nth_request_is_signalled_and_every_one_that_is_awaited() {
        let mut flight = flight(Settings { signal_every: 3, ..Settings::default() });
        let told: Vec<bool> = (0..4).map(|_| flight.post(DATA).1).collect();
        assert_eq!(told, [false, false, true, false]);
        assert_eq!(flight.post(AWAITED), (5, true));
        let told: Vec<bool> = (0..3).map(|_| flight.post(DATA).1).collect();
        assert_eq!(told, [false, false, true]);
    }

    #[test]
    fn a_full_queue_has_always_a_signalled_request() {
        for (send_depth, in_flight_max) in [(0, 512), (16, 512), (40, 512), (128, 1), (128, 7)] {
            let settings =
                Settings { send_depth, in_flight_max, signal_every: 1_000, ..Settings::default() };
            let mut flight = flight(settings);
            let mut last = None;
            for _ in 0..1_000 {
                while flight.has_room(1) {
                    let (number, signalled) = flight.post(DATA);
                    last = if signalled { Some(number) } else { last };
                }
                let told = last.take().expect("something tells when there is room again");
                flight.done(told).expect("it is under way");
            }
        }
    }

    #[test]
    fn data_leaves_room_for_control_messages() {
        let mut flight = flight(Settings { send_depth: 20, ..Settings::default() });
        while flight.has_room(1) {
            flight.post(DATA);
        }
        assert_eq!(flight.queued(), 20 - CONTROL_RESERVE);
        for _ in 0..CONTROL_RESERVE {
            assert!(flight.has_control_room());
            flight.post(AWAITED);
        }
        assert!(!flight.has_control_room());
    }

    #[test]
    fn what_is_not_under_way_is_not_done() {
        let mut flight = flight(Settings { signal_every: 2, ..Settings::default() });
        flight.post(DATA);
        flight.post(DATA);
        assert!(matches!(flight.done(1), Err(Fault::Completion(1))));
        assert!(flight.done(2).is_ok());
        assert!(matches!(flight.done(3), Err(Fault::Completion(3))));
    }

    #[test]
    fn with_probes_a_completion_is_no_answer() {
        let settings = Settings { probes: true, in_flight_max: 4, ..Settings::default() };
        let mut flight = flight(settings);
        for _ in 0..4 {
            let (number, _) = flight.post(AWAITED);
            flight.done(number).expect("it is under way");
        }
        assert!(!flight.has_room(1));
        flight.answer(1);
        assert!(flight.has_room(1) && flight.unanswered() == 3);
    }
}
