//! What became of the requests of this server, for metrics.

use crate::code_counts::CodeCounts;
use crate::own_request::RequestOutcome;
use scurry_diameter::ServerAction;
use scurry_diameter::peer::CommandKind;

/// Outcomes of requests of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Answered, by Result-Code.
    pub answered: CodeCounts,
    /// Not answered in time, or before the connection ended.
    pub unanswered: u64,
    /// Neither the client nor a relay was connected.
    pub not_connected: u64,
    /// Not sent.
    pub not_sent: u64,
}

/// Outcomes of the requests to one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnCounts {
    /// Of Re-Auth-Requests.
    pub re_auth: OutcomeCounts,
    /// Of Abort-Session-Requests.
    pub abort: OutcomeCounts,
}

impl OwnCounts {
    /// Returns the outcomes by the name of the command.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &OutcomeCounts)> {
        let (re_auth, abort) = (CommandKind::ReAuth.name(), CommandKind::AbortSession.name());
        [(re_auth, &self.re_auth), (abort, &self.abort)].into_iter()
    }

    pub(crate) fn note(&mut self, action: ServerAction, outcome: RequestOutcome) {
        let counts = match action {
            ServerAction::ReAuth { .. } => &mut self.re_auth,
            ServerAction::Abort => &mut self.abort,
        };
        match outcome {
            RequestOutcome::Answered(result) => counts.answered.note(result),
            RequestOutcome::Unanswered => counts.unanswered += 1,
            RequestOutcome::NotConnected => counts.not_connected += 1,
            RequestOutcome::NotSent(_) => counts.not_sent += 1,
        }
    }
}
