//! `/v1/console/diameter`: the peers of the door in this process, for the console.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use scurry_door_diameter::{DoorView, PeerView};
use scurry_http::Gate;
use scurry_resp::table::Role;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

#[derive(Serialize)]
struct Peers {
    peers: Vec<Peer>,
}

/// One peer. Counts are since the door was opened; those that are 0 are left out.
#[derive(Serialize)]
struct Peer {
    host: String,
    realm: String,
    address: Option<SocketAddr>,
    tls: bool,
    /// `absent`, `open`, `suspect` or `closing`.
    state: &'static str,
    /// When it connected or disconnected last, ms.
    since_ms: u64,
    /// By command.
    requests: BTreeMap<&'static str, u64>,
    /// Of the application, by Result-Code.
    answers: BTreeMap<u32, u64>,
    dropped_answers: u64,
    /// Requests of this server to it, by command.
    own_requests: BTreeMap<&'static str, u64>,
    errors: BTreeMap<&'static str, u64>,
    last_error: Option<String>,
}

impl From<PeerView> for Peer {
    fn from(peer: PeerView) -> Peer {
        let is_there = |&(_, count): &(&'static str, u64)| count > 0;
        Peer {
            requests: peer.requests().filter(is_there).collect(),
            answers: peer.totals.answers.iter().map(|(code, count)| (code.0, count)).collect(),
            dropped_answers: peer.totals.dropped_answers,
            own_requests: peer.own_requests().filter(is_there).collect(),
            errors: peer.errors().filter(is_there).collect(),
            host: peer.host,
            realm: peer.realm,
            address: peer.address,
            tls: peer.tls,
            state: peer.state.name(),
            since_ms: peer.since_ms,
            last_error: peer.last_error,
        }
    }
}

/// Returns the route, for users with the role read.
pub(crate) fn routes(view: DoorView, gate: &Arc<Gate>) -> Router {
    let route = Router::new().route("/v1/console/diameter", get(peers)).with_state(view);
    gate.guard(Role::Read, route)
}

/// Answers 200 with all peers that are remembered, in the order of their names.
async fn peers(State(view): State<DoorView>) -> Json<Peers> {
    Json(Peers { peers: view.peers().into_iter().map(Peer::from).collect() })
}
