//! `scurry diameter probe`: connects to a Diameter server as a client would, and says what came back.

use super::peer::{Dialog, PeerOptions, Server, Step, Verdict, answered, disconnect, wall};
use anyhow::{Result, bail, ensure};
use clap::Args;
use scurry_diameter::ccr::{
    RequestHead, RequestType, RequestWriter, RequestedAction, Service, SubscriptionId,
    SubscriptionKind, Units,
};
use scurry_diameter::peer::Token;
use scurry_diameter::{Flags, Header, MessageWriter, Origin, application, command};
use std::str::FromStr;

const EXAMPLES: &str = "Examples:
  scurry diameter probe 127.0.0.1
  scurry diameter probe ocs.example.net:3868 --subscriber imsi:001010000000001 --rating-group 100
  scurry diameter probe ocs.example.net --tls --cacert ca.pem --json | jq .text

The exit code is 0 when every step is ok. A subscriber who has too little credit is no failure.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Probe {
    #[command(flatten)]
    peer: PeerOptions,

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
        self.peer.run("probe", |dialog, origin, server, tell| {
            if !watchdog(dialog, origin, server, tell) {
                return;
            }
            match &self.subscriber {
                None => {
                    let text = "no balance is checked without --subscriber TYPE:ID";
                    tell(Step::new("CCR-E", Verdict::LeftOut, text));
                }
                Some(subscriber) => {
                    if !self.balance(dialog, origin, server, subscriber, tell) {
                        return;
                    }
                }
            }
            disconnect(dialog, tell);
        })
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
