//! Requests of the peer that are under way: each is asked of the store at once, and answered when it is ready.

use super::forwarded::Forwarded;
use crate::answerer::{AnswerFuture, Answerer, FormedAnswer};
use crate::code_counts::CodeCounts;
use crate::host::Host;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use scurry_diameter::ccr::Scratch;
use scurry_diameter::peer::Peer;
use scurry_diameter::{Message, Refusal, ResultCode, ServerRequest, write_refusal};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

const TOO_MANY: Refusal<'static> =
    Refusal::new(ResultCode::TOO_BUSY, "too many requests of this connection are under way");
const DRAINING: Refusal<'static> =
    Refusal::new(ResultCode::TOO_BUSY, "this server ends: ask another one");

const MAY_NOT_ASK: Refusal<'static> = Refusal::new(
    ResultCode::AUTHORIZATION_REJECTED,
    "this peer may not have clients asked: set may_ask in its [[diameter.peers]]",
);

/// One request that is under way.
struct UnderWay<T> {
    answer: AnswerFuture<T>,
    command: u32,
    /// When it was read, µs.
    read_us: u64,
}

impl<T> Future for UnderWay<T> {
    type Output = (T, u32, u64);

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(self.answer.as_mut().poll(task));
        Poll::Ready((answer, self.command, self.read_us))
    }
}

/// The requests of one connection.
pub(super) struct Requests<A: Answerer> {
    host: Arc<Host<A>>,
    scratch: Scratch,
    under_way: FuturesUnordered<UnderWay<A::Answer>>,
    forwarded: Forwarded,
    /// Answers by Result-Code.
    pub(super) answers: CodeCounts,
    /// True when the door ends: new requests are refused.
    pub(super) is_draining: bool,
}

impl<A: Answerer> Requests<A> {
    pub(super) fn new(host: Arc<Host<A>>) -> Requests<A> {
        Requests {
            host,
            scratch: Scratch::default(),
            under_way: FuturesUnordered::new(),
            forwarded: Forwarded::default(),
            answers: CodeCounts::default(),
            is_draining: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty() && self.forwarded.is_empty()
    }

    /// Begins a request, or answers it at once with a refusal.
    pub(super) fn begin(
        &mut self,
        message: &Message<'_>,
        read_us: u64,
        peer: &mut Peer,
        out: &mut Vec<u8>,
    ) {
        let Requests { host, scratch, under_way, answers, .. } = self;
        let command = message.header.command;
        let begun = if self.is_draining {
            Err(DRAINING)
        } else if under_way.len() >= host.settings.requests_max {
            Err(TOO_MANY)
        } else {
            let checked = host.destination.check(message);
            checked.and_then(|()| host.answerer.begin(message, scratch))
        };
        match begun {
            Ok(answer) => under_way.push(UnderWay { answer, command, read_us }),
            Err(refusal) => {
                write_refusal(out, message, &host.origin, &refusal);
                count(host, answers, peer, (command, refusal.result, None));
            }
        }
    }

    /// Has the client of a session asked (RAR, ASR), or answers at once with a refusal.
    pub(super) fn forward(
        &mut self,
        message: &Message<'_>,
        may_ask: bool,
        peer: &mut Peer,
        out: &mut Vec<u8>,
    ) {
        let begun = match ServerRequest::read(message) {
            _ if !may_ask => Err(MAY_NOT_ASK),
            _ if self.is_draining => Err(DRAINING),
            _ if self.forwarded.is_full() => Err(TOO_MANY),
            read => read.map(|request| {
                self.forwarded.begin(&self.host.peers, message.header, &request);
            }),
        };
        if let Err(refusal) = begun {
            write_refusal(out, message, &self.host.origin, &refusal);
            let what = (message.header.command, refusal.result, None);
            count(&self.host, &mut self.answers, peer, what);
        }
    }

    /// Asks the store for all requests that were not begun yet, and writes the next answer that is ready.
    pub(super) fn poll_answer(
        &mut self,
        now_us: u64,
        peer: &mut Peer,
        out: &mut Vec<u8>,
        task: &mut Context<'_>,
    ) -> bool {
        let Requests { host, forwarded, answers, .. } = self;
        if let Some((command, result)) = forwarded.poll_answer(&host.origin, out, task) {
            count(host, answers, peer, (command, result, None));
            return true;
        }
        let Poll::Ready(Some(ready)) = self.under_way.poll_next_unpin(task) else { return false };
        let (answer, command, read_us) = ready;
        answer.write(&host.origin, out);
        let duration_us = now_us.saturating_sub(read_us);
        count(host, answers, peer, (command, answer.result(), Some(duration_us)));
        true
    }
}

/// Counts an answer that is written: its command, its Result-Code, and how long it took, µs.
fn count<A>(
    host: &Host<A>,
    answers: &mut CodeCounts,
    peer: &mut Peer,
    (command, result, duration_us): (u32, ResultCode, Option<u64>),
) {
    peer.answer_sent(command);
    answers.note(result);
    host.metrics.answered(command, result, duration_us);
}
