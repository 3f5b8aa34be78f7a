//! What an operator sees of a registration.

use super::utc::utc_ms;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether an NRF has the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NrfState {
    /// No NRF has taken it yet.
    #[default]
    Registering,
    /// An NRF has it, and answers heartbeats.
    Registered,
    /// The NRF that had it does not answer, and no other one has taken it.
    Lost,
    /// This server ends; unless there is an error, no NRF has it.
    Deregistered,
}

impl NrfState {
    /// All states.
    pub const ALL: [NrfState; 4] =
        [NrfState::Registering, NrfState::Registered, NrfState::Lost, NrfState::Deregistered];

    /// Returns its name, for labels of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            NrfState::Registering => "registering",
            NrfState::Registered => "registered",
            NrfState::Lost => "lost",
            NrfState::Deregistered => "deregistered",
        }
    }
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NrfCounts {
    /// Registrations that an NRF has taken.
    pub registrations: u64,
    /// Registrations that an NRF has refused or not answered.
    pub registrations_failed: u64,
    /// Heartbeats that the NRF has answered.
    pub heartbeats: u64,
    /// Heartbeats that the NRF has refused or not answered.
    pub heartbeats_failed: u64,
}

/// A registration at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NrfView {
    /// Whether an NRF has the profile.
    pub state: NrfState,
    /// apiRoot of the NRF that has it, or that had it last.
    pub nrf: Option<String>,
    /// Why the last call failed; None once a registration was taken.
    pub last_error: Option<String>,
    /// Since when the profile is registered without a break, ms since 1970.
    pub registered_since_ms: Option<u64>,
    /// Interval of heartbeats that the NRF has asked for, s.
    pub heartbeat_s: Option<u32>,
    /// Counts since the start.
    pub counts: NrfCounts,
}

/// A registration, as its task and all others share it.
#[derive(Clone, Debug, Default)]
pub struct NrfStatus(Arc<Mutex<NrfView>>);

impl NrfStatus {
    /// Returns the registration as it is now.
    pub fn view(&self) -> NrfView {
        self.lock().clone()
    }

    pub(crate) fn registered(&self, nrf: &str, heartbeat_s: u32) {
        let mut view = self.lock();
        if view.state != NrfState::Registered {
            tracing::info!(nrf, heartbeat_s, "registered at the NRF");
        }
        if view.state != NrfState::Registered || view.nrf.as_deref() != Some(nrf) {
            view.registered_since_ms = Some(utc_ms());
        }
        view.state = NrfState::Registered;
        view.nrf = Some(nrf.to_owned());
        view.last_error = None;
        view.heartbeat_s = Some(heartbeat_s);
        view.counts.registrations += 1;
    }

    pub(crate) fn registration_failed(&self, nrf: &str, error: String) {
        let mut view = self.lock();
        view.counts.registrations_failed += 1;
        view.fail(nrf, error);
    }

    pub(crate) fn heartbeat_answered(&self, heartbeat_s: u32) {
        let mut view = self.lock();
        view.counts.heartbeats += 1;
        view.heartbeat_s = Some(heartbeat_s);
    }

    /// Notes that the NRF has not answered a heartbeat, or does not know the profile.
    pub(crate) fn lost(&self, nrf: &str, error: String) {
        let mut view = self.lock();
        view.counts.heartbeats_failed += 1;
        view.state = NrfState::Lost;
        view.registered_since_ms = None;
        view.fail(nrf, error);
    }

    /// Notes that the server ends. Consumers of an NRF that was not told are sent here until it notices.
    pub(crate) fn deregistered(&self, outcome: Result<(), String>) {
        let mut view = self.lock();
        if let Err(error) = &outcome {
            tracing::warn!(error, "not deregistered at the NRF");
        }
        view.state = NrfState::Deregistered;
        view.registered_since_ms = None;
        view.last_error = outcome.err();
    }

    fn lock(&self) -> MutexGuard<'_, NrfView> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NrfView {
    /// Keeps the error, and logs it unless it is the last one again.
    fn fail(&mut self, nrf: &str, error: String) {
        if self.last_error.as_ref() != Some(&error) {
            tracing::warn!(nrf, error, "not registered at the NRF");
        }
        self.last_error = Some(error);
    }
}
