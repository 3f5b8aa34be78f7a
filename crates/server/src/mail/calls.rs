//! Requests of doors in this process: how they reach the core of their account, and how replies return. A door's task
//! appends to the intake of a core, and the core takes all that waits once a turn. Replies of a turn return together,
//! and wake the door once.

use crate::mail::bell::CoreWaker;
use scurry_service::{CallError, Reply, Request};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Result of a call.
pub(crate) type Outcome = Result<Reply, CallError>;

/// A request, and the ticket for its reply.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request: Request,
    pub(crate) ticket: CallTicket,
}

/// Queue of calls that wait for a core. Bounded by the number of requests that doors have in flight.
pub(crate) struct CallQueue {
    state: Mutex<IntakeState>,
    /// True while calls wait: the core looks at this alone in most turns.
    waiting: AtomicBool,
    bell: Arc<CoreWaker>,
}

#[derive(Default)]
struct IntakeState {
    calls: Vec<Call>,
    /// True when the core accepts no more calls.
    closed: bool,
}

impl CallQueue {
    /// Creates an intake; `bell` wakes its core.
    pub(crate) fn new(bell: Arc<CoreWaker>) -> CallQueue {
        CallQueue { state: Mutex::default(), waiting: AtomicBool::new(false), bell }
    }

    /// Appends calls, and wakes the core if it sleeps. If the core accepts no more, each call gets the error `NotSent`.
    pub(crate) fn post(&self, calls: &mut Vec<Call>) {
        let mut state = lock(&self.state);
        if state.closed {
            drop(state);
            for Call { ticket, .. } in calls.drain(..) {
                let why = "the server stops".to_owned();
                if let Some(reply_queue) = ticket.reply(Err(CallError::NotSent(why))) {
                    reply_queue.wake();
                }
            }
            return;
        }
        let is_first = state.calls.is_empty();
        state.calls.append(calls);
        // Written under the lock, as in `take_calls`: it is never false while calls wait.
        self.waiting.store(true, Ordering::Relaxed);
        drop(state);
        if is_first {
            self.bell.ring();
        }
    }

    /// Reports whether calls wait.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Appends all waiting calls to `calls`.
    pub(crate) fn take_calls(&self, calls: &mut VecDeque<Call>) {
        let mut state = lock(&self.state);
        self.waiting.store(false, Ordering::Relaxed);
        calls.extend(state.calls.drain(..));
    }

    /// Accepts no more calls from now on.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
    }
}

/// The right to give one reply. A ticket that is dropped without a reply gives the error that the server has stopped.
#[derive(Debug)]
pub(crate) struct CallTicket {
    slot: Arc<Slot>,
    reply_queue: Arc<ReplyQueue>,
}

/// Receives one reply.
#[derive(Debug, Default)]
struct Slot(Mutex<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    outcome: Option<Outcome>,
    is_given: bool,
    waker: Option<Waker>,
}

impl CallTicket {
    /// Sends the reply. Returns the door's reply queue if this is the first reply since the tasks were woken last: the caller must
    /// then call [`ReplyQueue::wake`].
    pub(crate) fn reply(self, outcome: Outcome) -> Option<Arc<ReplyQueue>> {
        let is_first = self.put(outcome);
        is_first.then(|| Arc::clone(&self.reply_queue))
    }

    fn put(&self, outcome: Outcome) -> bool {
        let mut state = lock(&self.slot.0);
        state.outcome = Some(outcome);
        state.is_given = true;
        drop(state);
        let mut arrived = lock(&self.reply_queue.arrived);
        arrived.push(Arc::clone(&self.slot));
        arrived.len() == 1
    }
}

impl Drop for CallTicket {
    fn drop(&mut self) {
        if !lock(&self.slot.0).is_given {
            self.put(Err(CallError::Unknown("the server has stopped".to_owned())));
            self.reply_queue.wake();
        }
    }
}

/// Replies on their way to one door.
#[derive(Debug, Default)]
pub(crate) struct ReplyQueue {
    arrived: Mutex<Vec<Arc<Slot>>>,
    /// The task that hands them out.
    waker: Mutex<Option<Waker>>,
}

impl ReplyQueue {
    /// Wakes the task that hands replies out.
    pub(crate) fn wake(&self) {
        let waker = lock(&self.waker).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Prepares a call: its ticket for the core, and the future of its reply for the door.
    pub(crate) fn prepare(self: &Arc<ReplyQueue>) -> (CallTicket, PendingReply) {
        let slot = Arc::new(Slot::default());
        let ticket = CallTicket { slot: Arc::clone(&slot), reply_queue: Arc::clone(self) };
        (ticket, PendingReply(slot))
    }

    /// Wakes the tasks for which replies have arrived. Always pending: the door polls it in a separate task, so that a
    /// core wakes one task a turn and not one for each reply.
    pub(crate) fn wake_tasks(&self, context: &Context<'_>) -> Poll<()> {
        {
            let mut waker = lock(&self.waker);
            if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                *waker = Some(context.waker().clone());
            }
        }
        let arrived = std::mem::take(&mut *lock(&self.arrived));
        for slot in arrived {
            let waker = lock(&slot.0).waker.take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        Poll::Pending
    }
}

/// Future of the reply to a call.
#[derive(Debug)]
pub struct PendingReply(Arc<Slot>);

impl Future for PendingReply {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = lock(&self.0.0);
        match state.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::Token;
    use scurry_service::Read;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    /// Counts how often a task is woken.
    #[derive(Default)]
    struct WakeCount(AtomicUsize);

    impl Wake for WakeCount {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl WakeCount {
        fn times(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn request() -> Request {
        Request::Read(Read::Account { account: b"a".to_vec() })
    }

    fn refusal() -> Outcome {
        Err(CallError::NotSent("an example".to_owned()))
    }

    fn intake() -> (mio::Poll, CallQueue) {
        let poll = mio::Poll::new().expect("a poller");
        let waker = mio::Waker::new(poll.registry(), Token(0)).expect("a waker");
        (poll, CallQueue::new(Arc::new(CoreWaker::new(Arc::new(waker)))))
    }

    #[test]
    fn replies_of_a_turn_wake_their_door_once_and_each_its_task() {
        let reply_queue: Arc<ReplyQueue> = Arc::default();
        let door = Arc::new(WakeCount::default());
        let door_waker = Waker::from(Arc::clone(&door));
        let wake_tasks =
            || assert!(reply_queue.wake_tasks(&Context::from_waker(&door_waker)).is_pending());
        wake_tasks();
        let mut tasks = Vec::new();
        let mut doors = Vec::new();
        for _ in 0..3 {
            let (ticket, mut reply) = reply_queue.prepare();
            let task = Arc::new(WakeCount::default());
            let waker = Waker::from(Arc::clone(&task));
            let first = Pin::new(&mut reply).poll(&mut Context::from_waker(&waker));
            assert!(first.is_pending());
            doors.extend(ticket.reply(refusal()));
            tasks.push((task, waker, reply));
        }
        assert_eq!(doors.len(), 1, "the first reply alone asks for a wake-up");
        doors[0].wake();
        assert_eq!(door.times(), 1);
        wake_tasks();
        for (task, waker, mut reply) in tasks {
            assert_eq!(task.times(), 1);
            let outcome = Pin::new(&mut reply).poll(&mut Context::from_waker(&waker));
            assert_eq!(outcome, Poll::Ready(refusal()));
        }
        assert_eq!(reply_queue.prepare().0.reply(refusal()).map(|_| ()), Some(()), "the next turn");
    }

    #[test]
    fn a_call_that_is_dropped_says_that_the_server_has_stopped() {
        let reply_queue: Arc<ReplyQueue> = Arc::default();
        let (ticket, mut reply) = reply_queue.prepare();
        drop(Call { request: request(), ticket });
        let outcome = Pin::new(&mut reply).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Err(CallError::Unknown(_)))), "{outcome:?}");
    }

    #[test]
    fn an_intake_gives_all_that_waits_and_takes_nothing_once_it_is_closed() {
        let (_poll, intake) = intake();
        let reply_queue: Arc<ReplyQueue> = Arc::default();
        let call = || Call { request: request(), ticket: reply_queue.prepare().0 };
        assert!(!intake.is_waiting());
        intake.post(&mut vec![call(), call()]);
        assert!(intake.is_waiting());
        let mut calls = VecDeque::new();
        intake.take_calls(&mut calls);
        assert_eq!((calls.len(), intake.is_waiting()), (2, false));
        intake.close();
        let (ticket, mut reply) = reply_queue.prepare();
        intake.post(&mut vec![Call { request: request(), ticket }]);
        assert!(!intake.is_waiting());
        let outcome = Pin::new(&mut reply).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Err(CallError::NotSent(_)))), "{outcome:?}");
    }
}
