//! The client at the other end of a connection.

use crate::client_errors::ClientFault;
use crate::request_handler::RequestHandler;
use crate::stop::DoorStop;
use crate::traffic::{DoorMetrics, HttpVersion};
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

pub(crate) type ConnectionEnd = Result<(), Box<dyn Error + Send + Sync>>;

/// Changes once, when the door is stopped.
pub(crate) type Draining = watch::Receiver<()>;

/// The client at the other end of a connection, and the routes that serve it.
pub(crate) struct Client {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) ways: Arc<RequestHandler>,
    pub(crate) traffic: Arc<DoorMetrics>,
    pub(crate) stop: DoorStop,
}

impl Client {
    pub(crate) fn tell(&self, misdeed: ClientFault) {
        self.traffic.misdeeds.tell(misdeed, self.address);
    }

    /// Logs the client error that ended the connection, if it was one.
    pub(crate) fn tell_of_end(&self, error: &(dyn Error + 'static)) {
        if let Some(misdeed) = ClientFault::of_end(error) {
            self.tell(misdeed);
        }
    }

    /// Returns the answer to a request, and logs the client error that it shows.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        version: HttpVersion,
    ) -> Response {
        self.traffic.request_of(version);
        let mut answer = self.ways.answer(request, &self.stop).await;
        if let Some(misdeed) = answer.extensions_mut().remove::<ClientFault>() {
            self.tell(misdeed);
        }
        answer
    }
}
