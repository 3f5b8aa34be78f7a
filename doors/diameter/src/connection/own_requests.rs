//! Requests of this server on a connection, until their answers. The peer machine bounds their number and times.

use crate::own_request::{Posted, RequestOutcome};
use scurry_diameter::peer::{Peer, Token};
use scurry_diameter::{ClientAnswer, Message, Origin, ResultCode};
use std::collections::BTreeMap;
use std::task::{Context, Poll};
use tokio::sync::{mpsc, oneshot};

/// Requests of this server.
#[derive(Debug)]
pub(super) struct OwnRequests {
    posted: mpsc::Receiver<Posted>,
    waiting: BTreeMap<Token, oneshot::Sender<RequestOutcome>>,
    next_token: u64,
}

impl OwnRequests {
    pub(super) fn new(posted: mpsc::Receiver<Posted>) -> OwnRequests {
        OwnRequests { posted, waiting: BTreeMap::new(), next_token: 0 }
    }

    /// Writes the next request that is to be sent. Returns false if there is none.
    pub(super) fn poll_send(
        &mut self,
        now_ms: u64,
        peer: &mut Peer,
        origin: &Origin,
        out: &mut Vec<u8>,
        task: &mut Context<'_>,
    ) -> bool {
        let Poll::Ready(Some(posted)) = self.posted.poll_recv(task) else { return false };
        let token = Token(self.next_token);
        self.next_token += 1;
        let message = posted.request.message();
        let sent = peer.request(now_ms, token, out, |out, ids| {
            message.write(out, ids, origin);
        });
        match sent {
            Ok(()) => {
                self.waiting.insert(token, posted.outcome);
            }
            Err(refusal) => tell(posted.outcome, RequestOutcome::NotSent(refusal)),
        }
        true
    }

    /// Takes the answer to a request.
    pub(super) fn answered(&mut self, token: Token, bytes: &[u8]) {
        let message = Message::read(bytes).ok();
        let answer = message.and_then(|message| ClientAnswer::read(&message).ok());
        let result = answer.and_then(|answer| answer.result);
        let result = result.unwrap_or(ResultCode::UNABLE_TO_COMPLY);
        self.ended(token, RequestOutcome::Answered(result));
    }

    pub(super) fn unanswered(&mut self, token: Token) {
        self.ended(token, RequestOutcome::Unanswered);
    }

    fn ended(&mut self, token: Token, outcome: RequestOutcome) {
        if let Some(sender) = self.waiting.remove(&token) {
            tell(sender, outcome);
        }
    }

    /// Ends those that were not sent yet. The connection has ended.
    pub(super) fn abandon(&mut self) {
        self.posted.close();
        while let Ok(posted) = self.posted.try_recv() {
            tell(posted.outcome, RequestOutcome::NotConnected);
        }
    }
}

fn tell(sender: oneshot::Sender<RequestOutcome>, outcome: RequestOutcome) {
    // An error means that the asker does not wait any more.
    let _ = sender.send(outcome);
}
