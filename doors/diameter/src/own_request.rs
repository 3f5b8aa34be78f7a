//! A request of this server to a peer, in the middle of a session.

use scurry_diameter::peer::RequestRefusal;
use scurry_diameter::{ResultCode, ServerAction, ServerRequest};
use tokio::sync::oneshot;

/// A request of this server for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnRequest {
    /// Session-Id.
    pub session_id: String,
    /// Origin-Host of the session's requests.
    pub host: String,
    /// Origin-Realm of the session's requests.
    pub realm: String,
    /// What the client is asked.
    pub action: ServerAction,
}

impl OwnRequest {
    pub(crate) fn message(&self) -> ServerRequest<'_> {
        ServerRequest {
            session_id: &self.session_id,
            destination_host: &self.host,
            destination_realm: &self.realm,
            action: self.action,
        }
    }
}

/// What became of a request of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The client has answered, with this Result-Code; 5012 stands for an answer without one.
    Answered(ResultCode),
    /// The client has not answered in time, or the connection has ended: it may have carried the request out.
    Unanswered,
    /// Neither the client nor a relay is connected.
    NotConnected,
    /// The request was not sent.
    NotSent(RequestRefusal),
}

/// A request on its way to the task of its connection.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) request: OwnRequest,
    pub(crate) outcome: oneshot::Sender<RequestOutcome>,
}
