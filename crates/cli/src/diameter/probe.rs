//! `scurry diameter probe`: connects to a Diameter server as a client would, and says what came back.

mod answer;
mod dialog;
mod report;
mod wire;

use crate::option_values::Number;
use crate::tls_options::TlsOptions;
use answer::{Answer, Server};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use dialog::{Dialog, Outcome, wall};
use report::{Step, Verdict};
use scurry_diameter::ccr::{
    RequestHead, RequestType, RequestWriter, RequestedAction, Service, SubscriptionId,
    SubscriptionKind, Units,
};
use scurry_diameter::peer::{CloseReason, DisconnectCause, Event, PeerSettings, Token};
use scurry_diameter::{Flags, Header, MessageWriter, Origin, application, command};
use std::str::FromStr;
use std::time::Duration;
use wire::{Wire, now};

/// Ports of Diameter: RFC 6733, 11.4.
const PORT: u16 = 3_868;
const TLS_PORT: u16 = 5_868;
/// Where Linux says the name of the machine.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

const EXAMPLES: &str = "Examples:
  scurry diameter probe 127.0.0.1
  scurry diameter probe ocs.example.net:3868 --subscriber imsi:001010000000001 --rating-group 100
  scurry diameter probe ocs.example.net --tls --cacert ca.pem --json | jq .text

The exit code is 0 when every step is ok. A subscriber who has too little credit is no failure.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Probe {
    /// The server; without a port 3868, with --tls 5868
    #[arg(value_name = "HOST[:PORT]")]
    server: String,

    /// Origin-Host of the probe, which the server may have to know [default: scurry-probe. and the name of this
    /// machine]
    #[arg(long, value_name = "NAME")]
    origin_host: Option<String>,

    /// Origin-Realm of the probe [default: its host after the first dot]
    #[arg(long, value_name = "NAME")]
    realm: Option<String>,

    /// Destination-Realm of the balance check [default: the realm of the server, by its answer]
    #[arg(long, value_name = "NAME")]
    destination_realm: Option<String>,

    /// Check the balance of this subscriber: imsi:ID, e164:ID, sip_uri:ID, nai:ID or private:ID. Nothing is charged
    /// [default: no balance check]
    #[arg(long, value_name = "TYPE:ID")]
    subscriber: Option<Subscriber>,

    /// Service-Context-Id of the balance check
    #[arg(long, value_name = "CONTEXT", default_value = "32251@3gpp.org")]
    context: String,

    /// Rating-Group of the balance check [default: none]
    #[arg(long, value_name = "N")]
    rating_group: Option<u32>,

    /// Units of the balance check: octets [default: as many as the server grants to a client that does not say]
    #[arg(long, value_name = "OCTETS")]
    octets: Option<u64>,

    /// How long each step may take, seconds
    #[arg(long, value_name = "SECONDS", default_value = "5")]
    timeout: Number<u64, 1, 3_600>,

    #[command(flatten)]
    tls: TlsOptions,

    /// One JSON object a step
    #[arg(long)]
    json: bool,
}

/// An identifier of a subscriber.
#[derive(Clone, Debug)]
struct Subscriber {
    kind: SubscriptionKind,
    id: String,
}

impl FromStr for Subscriber {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Subscriber> {
        let (kind, id) = text.split_once(':').unwrap_or((text, ""));
        let kind = match kind {
            "imsi" => SubscriptionKind::Imsi,
            "e164" => SubscriptionKind::E164,
            "sip_uri" => SubscriptionKind::SipUri,
            "nai" => SubscriptionKind::Nai,
            "private" => SubscriptionKind::Private,
            other => bail!("{other:?} is none of imsi, e164, sip_uri, nai and private"),
        };
        ensure!(!id.is_empty(), "write TYPE:ID, as imsi:001010000000001");
        Ok(Subscriber { kind, id: id.to_owned() })
    }
}

impl Probe {
    /// Runs all steps that can be run.
    ///
    /// # Errors
    /// When a step has failed; what has failed is printed before.
    pub(crate) fn run(self) -> Result<()> {
        self.tls.check()?;
        let origin = self.origin()?;
        let mut has_failed = false;
        let address = with_port(&self.server, if self.tls.is_on() { TLS_PORT } else { PORT });
        let mut tell = |step: Step| {
            has_failed |= step.verdict == Verdict::Failed;
            step.print(self.json);
        };
        self.steps(&address, &origin, &mut tell);
        ensure!(!has_failed, "the probe of {address} has failed");
        Ok(())
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout.0)
    }

    /// Returns who the probe says that it is.
    fn origin(&self) -> Result<Origin> {
        let host = match &self.origin_host {
            Some(host) => host.clone(),
            None => {
                let name = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
                let name = name.trim();
                format!("scurry-probe.{}", if name.is_empty() { "localdomain" } else { name })
            }
        };
        let of_host = || host.split_once('.').map(|(_, realm)| realm.to_owned());
        let realm = self.realm.clone().or_else(of_host);
        let realm = realm.filter(|realm| !realm.is_empty());
        let realm = realm.with_context(|| format!("{host:?} has no realm: say --realm"))?;
        Ok(Origin::new(&host, &realm, None))
    }

    fn steps(&self, address: &str, origin: &Origin, tell: &mut dyn FnMut(Step)) {
        let begun = now();
        let wire = match Wire::connect(address, &self.tls, self.patience()) {
            Ok(wire) => wire,
            Err(error) => {
                return tell(Step::new("connect", Verdict::Failed, format!("{error:#}")));
            }
        };
        let over = if wire.is_tls() { " over TLS" } else { "" };
        let connected = Step::new("connect", Verdict::Ok, format!("{address}{over}"));
        tell(connected.took(now().duration_since(begun)));
        let mut dialog = Dialog::new(wire, PeerSettings::new(origin.clone()), self.patience());
        let Some(server) = capabilities(&mut dialog, tell) else { return };
        if !watchdog(&mut dialog, origin, &server, tell) {
            return;
        }
        match &self.subscriber {
            None => {
                let text = "no balance is checked without --subscriber TYPE:ID";
                tell(Step::new("CCR-E", Verdict::LeftOut, text));
            }
            Some(subscriber) => {
                if !self.balance(&mut dialog, origin, &server, subscriber, tell) {
                    return;
                }
            }
        }
        disconnect(&mut dialog, tell);
    }

    /// Checks the balance. Returns false if the connection has ended.
    fn balance(
        &self,
        dialog: &mut Dialog,
        origin: &Origin,
        server: &Server,
        subscriber: &Subscriber,
        tell: &mut dyn FnMut(Step),
    ) -> bool {
        let wall = wall();
        let session_id =
            format!("{};{};{};probe", origin.host(), wall.as_secs(), wall.subsec_nanos());
        let head = RequestHead {
            session_id: &session_id,
            origin_host: origin.host(),
            origin_realm: origin.realm(),
            destination_realm: self.destination_realm.as_deref().unwrap_or(&server.realm),
            service_context_id: &self.context,
            request_type: RequestType::Event,
            request_number: 0,
        };
        let (peer, now_ms, out) = dialog.parts();
        let sent = peer.request(now_ms, Token(2), out, |out, ids| {
            let mut request = RequestWriter::begin(out, ids, &head);
            let id = SubscriptionId { kind: subscriber.kind, data: &subscriber.id };
            request.subscription(&id);
            request.action(RequestedAction::CheckBalance);
            let requested = Some(Units { total_octets: self.octets, ..Units::default() });
            let rating_group = self.rating_group;
            request.service(&Service { rating_group, requested, ..Service::default() });
            request.finish();
        });
        let outcome = sent.map_err(anyhow::Error::from).and_then(|()| dialog.wait());
        answered("CCR-E", outcome, server, tell, |answer| match answer.balance {
            Some(0) => "the balance covers it".to_owned(),
            Some(_) => "the balance does not cover it".to_owned(),
            None => "it does not say whether the balance covers it".to_owned(),
        })
    }
}

/// Returns `HOST:PORT`.
fn with_port(server: &str, default: u16) -> String {
    let has_port = |(host, port): (&str, &str)| {
        port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
    };
    match server.rsplit_once(':') {
        Some(parts) if has_port(parts) => server.to_owned(),
        Some(_) if !server.starts_with('[') => format!("[{server}]:{default}"),
        _ => format!("{server}:{default}"),
    }
}

/// Exchanges capabilities. Returns the server if it has admitted the probe.
fn capabilities(dialog: &mut Dialog, tell: &mut dyn FnMut(Step)) -> Option<Server> {
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

/// Sends a watchdog. Returns false if the connection has ended.
fn watchdog(
    dialog: &mut Dialog,
    origin: &Origin,
    server: &Server,
    tell: &mut dyn FnMut(Step),
) -> bool {
    let (peer, now_ms, out) = dialog.parts();
    let sent = peer.request(now_ms, Token(1), out, |out, ids| {
        let header = Header {
            flags: Flags(Flags::REQUEST),
            command: command::DEVICE_WATCHDOG,
            application: application::BASE,
            hop_by_hop: ids.hop_by_hop,
            end_to_end: ids.end_to_end,
        };
        let mut request = MessageWriter::begin(out, header);
        origin.write(&mut request);
        request.finish();
    });
    let outcome = sent.map_err(anyhow::Error::from).and_then(|()| dialog.wait());
    answered("DWR", outcome, server, tell, |_| String::new())
}

/// Tells the answer to a request. Returns false if there was none.
fn answered(
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
fn disconnect(dialog: &mut Dialog, tell: &mut dyn FnMut(Step)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_a_port_has_the_port_of_diameter() {
        for (server, expected) in [
            ("ocs.example", "ocs.example:3868"),
            ("ocs.example:1", "ocs.example:1"),
            ("10.0.0.1", "10.0.0.1:3868"),
            ("::1", "[::1]:3868"),
            ("[::1]", "[::1]:3868"),
            ("[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(with_port(server, PORT), expected);
        }
    }
}
