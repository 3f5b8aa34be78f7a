//! Keeps the profile of this server at one of several NRFs: TS 29.510, 5.2.2.

use super::backoff::delay;
use super::section::{HEARTBEAT_S_MAX, NrfSettings, instance_uri};
use super::view::NrfStatus;
use crate::client::{Answer, Call, Client};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// Longest text of a peer in an error, bytes.
const PEER_WORDS_LEN_MAX: usize = 256;
const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";

/// How fast a registration acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// 1 s, and less in tests: heartbeats and delays are counted in it.
    pub(crate) second: Duration,
    /// How long the NRF may take to answer a deregistration.
    pub(crate) deregistration_max: Duration,
}

impl Pace {
    const REAL: Pace =
        Pace { second: Duration::from_secs(1), deregistration_max: Duration::from_secs(1) };
}

/// A profile that is kept registered while [`Registration::run`] runs.
#[derive(Debug)]
pub struct Registration {
    client: Client,
    settings: NrfSettings,
    status: NrfStatus,
    pub(crate) pace: Pace,
}

/// Number of an NRF in the list of the settings.
#[derive(Clone, Copy, Debug)]
struct NrfIndex(usize);

/// What an NRF has answered to a registration.
#[derive(Clone, Copy, Debug)]
struct Registered {
    nrf: NrfIndex,
    heartbeat_s: u32,
}

/// Whether the server ends: its other half is dropped then.
type Stopping = watch::Receiver<()>;

impl Registration {
    /// Prepares a registration by the client of [`NrfSettings::client`].
    pub fn new(client: Client, settings: NrfSettings) -> Registration {
        let status = NrfStatus::default();
        Registration { client, settings, status, pace: Pace::REAL }
    }

    /// Returns what others see of it.
    pub fn status(&self) -> NrfStatus {
        self.status.clone()
    }

    /// Keeps the profile registered until `stopped` ends, and then deregisters it, which takes a second at most. An NRF
    /// that does not answer is called again after 1 s, 2 s and so on, up to a minute; the first in the list that
    /// answers has the profile, and keeps it while it answers.
    pub async fn run(self, stopped: impl Future<Output = ()>) {
        let (stop, stopping) = watch::channel(());
        let mut keep = pin!(self.keep(stopping));
        let stop_then = async {
            stopped.await;
            drop(stop);
        };
        let ended = tokio::select! {
            // In this order, so that a server that ends at once registers nowhere.
            biased;
            () = stop_then => None,
            last = &mut keep => Some(last),
        };
        // A call under way ends first: its effect must not come after that of the deregistration.
        let end = async {
            let last = match ended {
                Some(last) => last,
                None => keep.await,
            };
            match last {
                Some(nrf) => self.deregister(nrf).await,
                None => Ok(()),
            }
        };
        let late = |_| Err("the NRF has not answered the deregistration in time".to_owned());
        self.status
            .deregistered(timeout(self.pace.deregistration_max, end).await.unwrap_or_else(late));
    }

    /// Registers, and sends heartbeats, until the server ends. Returns the NRF that was sent the profile last.
    async fn keep(&self, mut stopping: Stopping) -> Option<NrfIndex> {
        let mut last = None;
        let mut failures = 0_u32;
        while !is_over(&stopping) {
            match self.register(&stopping, &mut last).await {
                Some(registered) => {
                    failures = 0;
                    if let Err(error) = self.keep_at(registered, &mut stopping).await {
                        self.status.lost(self.uri(registered.nrf), error);
                    }
                }
                None => {
                    failures = failures.saturating_add(1);
                    // Without random bits of the system all servers call at once, which is allowed.
                    let random = getrandom::u64().unwrap_or_default();
                    pause(delay(failures, random, self.pace.second), &mut stopping).await;
                }
            }
        }
        last
    }

    /// Registers at the first NRF that takes the profile.
    async fn register(
        &self,
        stopping: &Stopping,
        last: &mut Option<NrfIndex>,
    ) -> Option<Registered> {
        let profile = serde_json::to_vec(&self.settings.profile).expect("texts are its keys");
        for nrf in (0..self.settings.uris.len()).map(NrfIndex) {
            if is_over(stopping) {
                return None;
            }
            *last = Some(nrf);
            match self.call(nrf, Method::PUT, Some((JSON, profile.clone()))).await {
                Ok(answer) if answer.status.is_success() => {
                    let own = self.settings.profile.heart_beat_timer;
                    let heartbeat_s = heartbeat_of(&answer).unwrap_or(own);
                    self.status.registered(self.uri(nrf), heartbeat_s);
                    return Some(Registered { nrf, heartbeat_s });
                }
                Ok(answer) => self.status.registration_failed(self.uri(nrf), words(&answer)),
                Err(error) => self.status.registration_failed(self.uri(nrf), error),
            }
        }
        None
    }

    /// Sends heartbeats until the server ends.
    ///
    /// # Errors
    /// Why a heartbeat was not answered with success.
    async fn keep_at(
        &self,
        Registered { nrf, mut heartbeat_s }: Registered,
        stopping: &mut Stopping,
    ) -> Result<(), String> {
        let patch = json!([{ "op": "replace", "path": "/nfStatus", "value": "REGISTERED" }]);
        let patch = patch.to_string().into_bytes();
        loop {
            pause(self.pace.second * heartbeat_s, stopping).await;
            if is_over(stopping) {
                return Ok(());
            }
            let answer = self.call(nrf, Method::PATCH, Some((JSON_PATCH, patch.clone()))).await?;
            if !answer.status.is_success() {
                return Err(words(&answer));
            }
            heartbeat_s = heartbeat_of(&answer).unwrap_or(heartbeat_s);
            self.status.heartbeat_answered(heartbeat_s);
        }
    }

    async fn deregister(&self, nrf: NrfIndex) -> Result<(), String> {
        let answer = self.call(nrf, Method::DELETE, None).await?;
        match answer.status {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(words(&answer)),
        }
    }

    fn uri(&self, nrf: NrfIndex) -> &str {
        &self.settings.uris[nrf.0]
    }

    async fn call(
        &self,
        nrf: NrfIndex,
        method: Method,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<Answer, String> {
        let uri = instance_uri(self.uri(nrf), &self.settings.profile.nf_instance_id);
        let body = body.map(|(content_type, body)| (content_type, body.into()));
        let call = Call { method, uri: &uri, headers: HeaderMap::new(), body };
        self.client.send(call).await.map_err(|error| error.to_string())
    }
}

/// Waits, but not longer than the server runs.
async fn pause(time: Duration, stopping: &mut Stopping) {
    // An error means that the server ends.
    let _ = timeout(time, stopping.changed()).await;
}

fn is_over(stopping: &Stopping) -> bool {
    stopping.has_changed().is_err()
}

/// Returns the interval of heartbeats in an answer, s; None without a usable one.
fn heartbeat_of(answer: &Answer) -> Option<u32> {
    let profile: Value = serde_json::from_slice(&answer.body).ok()?;
    let seconds = profile.get("heartBeatTimer")?.as_u64()?;
    u32::try_from(seconds).ok().filter(|seconds| (1..=HEARTBEAT_S_MAX).contains(seconds))
}

/// Describes an answer that is no success by its ProblemDetails (TS 29.571, 5.2.4.1).
fn words(answer: &Answer) -> String {
    let status = answer.status;
    if status.is_redirection() {
        return format!(
            "the NRF answered {status}, and redirections are not followed: write the URI that it names"
        );
    }
    let problem: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let mut parts: Vec<&str> =
        ["cause", "detail"].iter().filter_map(|name| problem.get(name)?.as_str()).collect();
    if let Some(param) = problem.pointer("/invalidParams/0") {
        parts.extend(["param", "reason"].iter().filter_map(|name| param.get(name)?.as_str()));
    }
    let text: String = parts.join(": ").replace(char::is_control, " ");
    let text = &text[..text.floor_char_boundary(PEER_WORDS_LEN_MAX)];
    if text.is_empty() {
        return format!("the NRF answered {status}");
    }
    format!("the NRF answered {status}: {text}")
}
