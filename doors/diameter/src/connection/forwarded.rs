//! Requests that an operator's tool has this door send to a client, until the client's answer goes back.

use crate::own_request::{OwnRequest, RequestOutcome};
use crate::peer_table::PeerTable;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use scurry_diameter::{Header, Origin, ResultCode, ServerRequest};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Most requests of one connection that are under way.
const UNDER_WAY_MAX: usize = 64;

type Forwarding = Pin<Box<dyn Future<Output = (Header, OwnRequest, RequestOutcome)> + Send>>;

/// The forwarded requests of one connection.
#[derive(Default)]
pub(super) struct Forwarded(FuturesUnordered<Forwarding>);

impl Forwarded {
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= UNDER_WAY_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends a request to the client of its session.
    pub(super) fn begin(
        &self,
        peers: &Arc<PeerTable>,
        header: Header,
        request: &ServerRequest<'_>,
    ) {
        let own = OwnRequest {
            session_id: request.session_id.to_owned(),
            host: request.destination_host.to_owned(),
            realm: request.destination_realm.to_owned(),
            action: request.action,
        };
        let peers = Arc::clone(peers);
        self.0.push(Box::pin(async move {
            let outcome = peers.request(own.clone()).await;
            (header, own, outcome)
        }));
    }

    /// Writes the next answer that is ready. Returns its command and result; None if there is none.
    pub(super) fn poll_answer(
        &mut self,
        origin: &Origin,
        out: &mut Vec<u8>,
        task: &mut Context<'_>,
    ) -> Option<(u32, ResultCode)> {
        let Poll::Ready(Some(ready)) = self.0.poll_next_unpin(task) else { return None };
        let (header, own, outcome) = ready;
        let (result, text) = answer(outcome);
        own.message().write_answer(out, &header, origin, (result, text));
        Some((header.command, result))
    }
}

/// Returns Result-Code and Error-Message of the answer: those of the client, or why there are none.
fn answer(outcome: RequestOutcome) -> (ResultCode, &'static str) {
    match outcome {
        RequestOutcome::Answered(result) => (result, ""),
        RequestOutcome::NotConnected => {
            (ResultCode::UNABLE_TO_DELIVER, "the client is not connected to this door")
        }
        RequestOutcome::Unanswered => {
            (ResultCode::UNABLE_TO_DELIVER, "the client has not answered")
        }
        RequestOutcome::NotSent(_) => {
            (ResultCode::TOO_BUSY, "too many requests wait for this client")
        }
    }
}
