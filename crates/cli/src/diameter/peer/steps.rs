//! Steps that every command with a Diameter server has.

use super::answer::{Answer, Server};
use super::dialog::{Dialog, Outcome};
use super::report::{Step, Verdict};
use anyhow::{Result, anyhow};
use scurry_diameter::peer::{CloseReason, DisconnectCause, Event};

/// Exchanges capabilities. Returns the server if it has admitted the probe.
pub(crate) fn capabilities(dialog: &mut Dialog, tell: &mut dyn FnMut(Step)) -> Option<Server> {
    let Outcome { event, message, took } = match dialog.wait() {
        Ok(outcome) => outcome,
        Err(error) => {
            let cure = if dialog.is_tls() {
                "is this a port of Diameter?"
            } else {
                "is this a port of Diameter, and one without TLS (--tls)?"
            };
            let step = Step::new("CER", Verdict::Failed, format!("{error:#}"));
            tell(Step { cure: Some(cure.to_owned()), ..step });
            return None;
        }
    };
    let Answer { server, code, error, .. } = Answer::read(&message);
    let verdict = if matches!(event, Event::Up(_)) { Verdict::Ok } else { Verdict::Failed };
    let text = match &event {
        Event::Close(reason) if !matches!(reason, CloseReason::RefusedByPeer(_)) => {
            reason.to_string()
        }
        _ => format!(
            "{} in the realm {}, product {}, {}",
            server.host,
            server.realm,
            server.product,
            server.applications_in_words()
        ),
    };
    let step = Step::new("CER", verdict, text).took(took);
    let step = match code {
        Some(code) => step.with_code(code, server.is_scurry(), error.as_deref()),
        None => step,
    };
    tell(Step { server: Some(server.clone()), ..step });
    (verdict == Verdict::Ok).then_some(server)
}

/// Tells the answer to a request. Returns false if there was none.
pub(crate) fn answered(
    name: &'static str,
    outcome: Result<Outcome>,
    server: &Server,
    tell: &mut dyn FnMut(Step),
    words: impl Fn(&Answer) -> String,
) -> bool {
    let outcome = outcome.and_then(|outcome| match outcome.event {
        Event::Close(reason) => Err(anyhow!("the connection has ended: {reason}")),
        _ => Ok(outcome),
    });
    let Outcome { message, took, .. } = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            tell(Step::new(name, Verdict::Failed, format!("{error:#}")));
            return false;
        }
    };
    let answer = Answer::read(&message);
    let is_success = answer.code.is_some_and(|code| code / 1000 == 2);
    let verdict = if is_success { Verdict::Ok } else { Verdict::Failed };
    let mut text = if is_success { words(&answer) } else { String::new() };
    if let Some(code) = answer.services.iter().find(|code| **code / 1000 != 2) {
        text += &format!(" ({code} for the service)");
    }
    let step = Step::new(name, verdict, text.trim()).took(took);
    tell(match answer.code {
        Some(code) => step.with_code(code, server.is_scurry(), answer.error.as_deref()),
        None => Step { text: "the answer has no Result-Code".to_owned(), ..step },
    });
    true
}

/// Asks the server to disconnect.
pub(crate) fn disconnect(dialog: &mut Dialog, tell: &mut dyn FnMut(Step)) {
    let (peer, now_ms, out) = dialog.parts();
    // The event of a connection that has already ended is told by `wait`.
    peer.drain(now_ms, DisconnectCause::DoNotWantToTalkToYou, out, &mut Vec::new());
    let step = match dialog.wait() {
        Ok(Outcome { event: Event::Close(CloseReason::Disconnected), took, .. }) => {
            Step::new("DPR", Verdict::Ok, "it has agreed to disconnect").took(took)
        }
        Ok(Outcome { event: Event::Close(reason), took, .. }) => {
            Step::new("DPR", Verdict::Failed, reason.to_string()).took(took)
        }
        Ok(Outcome { took, .. }) => {
            Step::new("DPR", Verdict::Failed, "another answer has come").took(took)
        }
        Err(error) => Step::new("DPR", Verdict::Failed, format!("{error:#}")),
    };
    tell(step);
}
