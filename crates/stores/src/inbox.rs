//! Replies to the commands of one request, from several nodes and in any order.

use futures_util::task::AtomicWaker;
use redis::{RedisError, RedisResult, Value};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// Replies that have arrived and were not taken yet.
#[derive(Default)]
pub struct Inbox {
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    replies: VecDeque<(usize, RedisResult<Value>)>,
    /// Number of replies at which the waiting task is woken: with fewer it cannot continue.
    wanted: usize,
    /// One of the replies is an error, which wakes the task at once.
    has_failed: bool,
}

/// The right to deliver one reply. When it is dropped unused, it delivers the error that the connection ended.
pub struct Ticket {
    inbox: Arc<Inbox>,
    number: usize,
    is_used: bool,
}

impl Inbox {
    /// Returns the ticket for one reply, which will arrive with this number.
    pub fn ticket(self: &Arc<Inbox>, number: usize) -> Ticket {
        Ticket { inbox: Arc::clone(self), number, is_used: false }
    }

    /// Returns the next reply, once `wanted` replies have arrived or one is an error. Waits for ever when fewer than
    /// `wanted` tickets are out.
    pub async fn next(&self, wanted: usize) -> (usize, RedisResult<Value>) {
        poll_fn(|context| {
            if let Some(reply) = self.state().take_reply(wanted) {
                return Poll::Ready(reply);
            }
            self.waker.register(context.waker());
            // A reply may have arrived before the waker was registered.
            self.state().take_reply(wanted).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Returns a reply that has arrived, without waiting.
    pub fn try_next(&self) -> Option<(usize, RedisResult<Value>)> {
        self.state().take_reply(0)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_enough(&self) -> bool {
        self.has_failed || self.replies.len() >= self.wanted
    }

    fn take_reply(&mut self, wanted: usize) -> Option<(usize, RedisResult<Value>)> {
        self.wanted = wanted;
        if !self.is_enough() {
            return None;
        }
        let reply = self.replies.pop_front();
        self.has_failed &= !self.replies.is_empty();
        reply
    }
}

impl Ticket {
    /// Delivers the reply.
    pub fn give(mut self, reply: RedisResult<Value>) {
        self.put(reply);
    }

    fn put(&mut self, reply: RedisResult<Value>) {
        self.is_used = true;
        let mut state = self.inbox.state();
        state.has_failed |= reply.is_err();
        state.replies.push_back((self.number, reply));
        let is_enough = state.is_enough();
        drop(state);
        if is_enough {
            self.inbox.waker.wake();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_used {
            self.put(Err(ended()));
        }
    }
}

/// Returns the error for a reply that will not arrive.
pub fn ended() -> RedisError {
    io::Error::new(io::ErrorKind::BrokenPipe, "the connection ended").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn each_ticket_brings_one_reply_also_when_it_is_lost() {
        let inbox = Arc::new(Inbox::default());
        let (first, second) = (inbox.ticket(1), inbox.ticket(2));
        let waits = tokio::spawn({
            let inbox = Arc::clone(&inbox);
            async move { (inbox.next(1).await, inbox.next(1).await) }
        });
        tokio::task::yield_now().await;
        second.give(Ok(Value::Int(7)));
        drop(first);
        let ((one, reply), (other, lost)) = waits.await.expect("it ends");
        assert_eq!((one, reply.expect("a reply")), (2, Value::Int(7)));
        assert!(other == 1 && lost.is_err_and(|error| error.is_connection_dropped()));
    }

    #[tokio::test]
    async fn nobody_is_woken_for_fewer_than_are_wanted_but_for_a_loss() {
        let inbox = Arc::new(Inbox::default());
        let tickets: Vec<Ticket> = (0..4).map(|number| inbox.ticket(number)).collect();
        let mut tickets = tickets.into_iter();
        let mut next = Box::pin(inbox.next(2));
        assert!((&mut next).now_or_never().is_none());
        tickets.next().expect("a ticket").give(Ok(Value::Nil));
        assert!((&mut next).now_or_never().is_none());
        tickets.next().expect("a ticket").give(Ok(Value::Nil));
        assert_eq!(next.await.0, 0);
        assert_eq!(inbox.next(1).await.0, 1);
        let mut next = Box::pin(inbox.next(2));
        assert!((&mut next).now_or_never().is_none());
        drop(tickets.next());
        assert!(next.await.1.is_err());
        let mut next = Box::pin(inbox.next(2));
        assert!((&mut next).now_or_never().is_none(), "the loss was taken");
    }
}
