//! All peers: who is admitted, which connection each has, and what its former connections did.

mod known;

use crate::clock::utc_ms;
use crate::link::{ConnectionState, Link};
use crate::log_name::LogName;
use crate::own_counts::OwnCounts;
use crate::own_request::{OwnRequest, Posted, RequestOutcome};
use crate::peer_rule::{PEERS_MAX, PeerRule};
use crate::peer_view::PeerView;
use crate::refusal_log::RefusalLog;
use crate::remote::Remote;
use crate::settings::{UnknownPeers, UnknownPolicy};
use known::{Connected, Known};
use scurry_diameter::ResultCode;
use scurry_diameter::peer::{Admission, PeerCounts, PeerIdentity, RequestRefusal};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// Requests of this server that wait until the task of a connection takes them.
pub(crate) const POSTED_MAX: usize = 256;

/// A connection that asks to be admitted.
pub(crate) struct Newcomer<'a> {
    pub(crate) link: &'a Arc<Link>,
    pub(crate) remote: &'a Remote,
    pub(crate) requests: &'a mpsc::Sender<Posted>,
}

/// The peers of a door.
#[derive(Debug)]
pub struct PeerTable {
    unknown: UnknownPolicy,
    refusals: RefusalLog,
    peers: Mutex<Peers>,
}

/// Peers by Origin-Host in lower case.
#[derive(Debug, Default)]
struct Peers {
    rules: BTreeMap<String, PeerRule>,
    known: BTreeMap<String, Known>,
    /// Totals of peers that are not remembered any more.
    forgotten: PeerCounts,
    /// Requests to clients that are no peers.
    to_strangers: OwnCounts,
}

impl PeerTable {
    pub(crate) fn new(rules: Vec<PeerRule>, unknown: UnknownPolicy) -> PeerTable {
        let refusals = RefusalLog::default();
        let table = PeerTable { unknown, refusals, peers: Mutex::default() };
        table.replace_rules(rules);
        table
    }

    fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges peers that connect from now on by other rules. Connections that are open stay.
    pub(crate) fn replace_rules(&self, rules: Vec<PeerRule>) {
        let mut peers = self.peers();
        for rule in &rules {
            let absent = || Known::absent(&rule.host);
            peers.known.entry(key(&rule.host)).or_insert_with(absent);
        }
        peers.rules = rules.into_iter().map(|rule| (key(&rule.host), rule)).collect();
        peers.forget();
    }

    /// Decides on a peer that has sent its capabilities. If it is admitted, the connection is that of the peer from now
    /// on, and another one ends.
    pub(crate) fn admit(&self, identity: &PeerIdentity, newcomer: &Newcomer<'_>) -> Admission {
        let mut peers = self.peers();
        match peers.check(self.unknown, identity, newcomer) {
            Ok(()) => {
                peers.connect(identity, newcomer);
                Admission::Admit
            }
            Err((admission, why)) => {
                let host = identity.host.as_str();
                let address = newcomer.remote.address;
                if let Some(untold) = self.refusals.note(why) {
                    let host = LogName(host);
                    tracing::info!(%host, %address, untold, "a Diameter peer is refused: {why}");
                }
                if let Some(known) = peers.known.get_mut(&key(host)) {
                    known.last_error = Some(why.to_owned());
                }
                admission
            }
        }
    }

    /// Notes the end of a connection that was admitted.
    pub(crate) fn ended(&self, host: &str, link: &Link, why: String) {
        let (mut peers, totals) = (self.peers(), link.totals());
        let Some(known) = peers.known.get_mut(&key(host)) else {
            return peers.forgotten.add(&totals.counts);
        };
        known.totals.add(&totals);
        if known.connected.as_ref().is_some_and(|connected| connected.link.id == link.id) {
            known.connected = None;
            known.last_error = Some(why);
            known.since_ms = utc_ms();
        }
        peers.forget();
    }

    /// Returns all peers that are remembered, in the order of their names.
    pub fn views(&self) -> Vec<PeerView> {
        self.peers().known.values().map(Known::view).collect()
    }

    /// Returns the totals of all peers together, also of those that are not remembered any more.
    pub fn totals(&self) -> PeerCounts {
        let peers = self.peers();
        let mut totals = peers.forgotten;
        peers.known.values().for_each(|known| totals.add(&known.all_totals().counts));
        totals
    }

    /// Reports whether a peer may have clients asked: its rule says so. Without rules a peer of this machine may.
    pub(crate) fn may_ask(&self, host: &str, remote: &Remote) -> bool {
        let peers = self.peers();
        let is_local = remote.ip().is_loopback();
        peers.rules.get(&key(host)).map_or(peers.rules.is_empty() && is_local, |rule| rule.may_ask)
    }

    /// Reports whether a client can be asked now: it is connected, or a relay is.
    pub(crate) fn has_way_to(&self, host: &str) -> bool {
        self.peers().way_to(host).is_some()
    }

    /// Returns what became of requests to clients that are no peers and behind no relay.
    pub(crate) fn requests_to_strangers(&self) -> OwnCounts {
        self.peers().to_strangers.clone()
    }

    /// Sends a request of this server to the client of a session: over its own connection, or over that of a relay.
    /// It is sent when the future is first polled, and counted when its outcome is known.
    pub async fn request(&self, request: OwnRequest) -> RequestOutcome {
        let (action, way) = (request.action, self.peers().way_to(&request.host));
        let (peer, connection) = match way {
            Some((peer, connection)) => (peer, Some(connection)),
            None => (key(&request.host), None),
        };
        let outcome = match connection {
            None => RequestOutcome::NotConnected,
            Some(connection) => PeerTable::send(request, &connection).await,
        };
        let mut peers = self.peers();
        let Peers { known, to_strangers, .. } = &mut *peers;
        known.get_mut(&peer).map_or(to_strangers, |known| &mut known.own).note(action, outcome);
        outcome
    }

    async fn send(request: OwnRequest, connection: &mpsc::Sender<Posted>) -> RequestOutcome {
        let (outcome, heard) = oneshot::channel();
        match connection.try_send(Posted { request, outcome }) {
            Ok(()) => heard.await.unwrap_or(RequestOutcome::Unanswered),
            Err(mpsc::error::TrySendError::Full(_)) => {
                RequestOutcome::NotSent(RequestRefusal::Full)
            }
            Err(mpsc::error::TrySendError::Closed(_)) => RequestOutcome::NotConnected,
        }
    }
}

impl Peers {
    fn check(
        &self,
        unknown: UnknownPolicy,
        identity: &PeerIdentity,
        newcomer: &Newcomer<'_>,
    ) -> Result<(), (Admission, &'static str)> {
        let rule = self.rules.get(&key(&identity.host));
        let UnknownPolicy { without_rules, with_rules } = unknown;
        let unknown = if self.rules.is_empty() { without_rules } else { with_rules };
        match (rule, unknown) {
            (Some(rule), _) => rule.check(identity, newcomer.remote)?,
            (None, UnknownPeers::Admit) => {}
            (None, UnknownPeers::Refuse) => {
                return Err((Admission::UnknownPeer, "it is not among the peers of the settings"));
            }
        }
        let name = rule.and_then(|rule| rule.certificate.as_deref()).unwrap_or(&identity.host);
        if !newcomer.remote.may_be(name) {
            let refused = Admission::Refuse(ResultCode::AUTHORIZATION_REJECTED);
            return Err((refused, "its certificate is not valid for its name"));
        }
        let known = self.known.get(&key(&identity.host));
        match known.and_then(|known| known.connected.as_ref()) {
            Some(former) if !former.gives_way(identity) => {
                Err((Admission::ElectionLost, "it is connected already"))
            }
            _ => Ok(()),
        }
    }

    /// Makes the newcomer the connection of its peer.
    fn connect(&mut self, identity: &PeerIdentity, newcomer: &Newcomer<'_>) {
        let known = self.known.entry(key(&identity.host));
        let known = known.or_insert_with(|| Known::absent(&identity.host));
        let connected = Connected {
            link: Arc::clone(newcomer.link),
            requests: newcomer.requests.clone(),
            state_id: identity.state_id,
            is_relay: identity.is_relay,
        };
        if let Some(former) = known.connected.replace(connected) {
            former.link.end();
        }
        known.host.clone_from(&identity.host);
        known.realm.clone_from(&identity.realm);
        known.address = Some(newcomer.remote.address);
        known.tls = newcomer.remote.is_tls;
        known.since_ms = utc_ms();
    }

    /// Returns the way to a client: its own connection, or that of a relay, with the key of the peer.
    fn way_to(&self, host: &str) -> Option<(String, mpsc::Sender<Posted>)> {
        let connected = |(key, known): (&'_ String, &'_ Known)| {
            known.connected.as_ref().map(|connected| (key.clone(), connected.requests.clone()))
        };
        let is_relay = |(_, known): &(&String, &Known)| {
            known.connected.as_ref().is_some_and(|connected| {
                connected.is_relay && connected.link.state() == ConnectionState::Open
            })
        };
        let own = self.known.get_key_value(&key(host)).and_then(connected);
        own.or_else(|| self.known.iter().find(is_relay).and_then(connected))
    }

    /// Forgets those absent peers without a rule that are absent for longest, until there is room.
    fn forget(&mut self) {
        while self.known.len() > PEERS_MAX {
            let (rules, known) = (&self.rules, &self.known);
            let is_gone = |(key, known): &(&String, &Known)| {
                known.connected.is_none() && !rules.contains_key(*key)
            };
            let oldest = known.iter().filter(is_gone).min_by_key(|(_, known)| known.since_ms);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            if let Some(gone) = self.known.remove(&oldest) {
                self.forgotten.add(&gone.totals.counts);
            }
        }
    }
}

fn key(host: &str) -> String {
    host.to_ascii_lowercase()
}
