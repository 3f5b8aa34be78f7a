//! What a client asks: one request, of which it may send several copies.

use crate::answer::Answer;
use scurry_diameter::attribute::REFUND_INFORMATION;
use scurry_diameter::ccr::{
    RequestHead, RequestType, RequestWriter, RequestedAction, Service, SubscriptionId,
    SubscriptionKind, Units, UsedUnits,
};
use scurry_diameter::{Flags, MessageIds};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens a session.
    Initial,
    /// Reports use, and asks for more.
    Update,
    /// Reports use, and ends a session.
    Termination,
    /// Debits units.
    Debit,
    /// Refunds a debit, or credits units.
    Refund,
    /// Use that has happened already, without a session.
    Settle,
    /// Tells whether units could be debited.
    Check,
}

impl Kind {
    /// Returns CC-Request-Type.
    pub fn request_type(self) -> RequestType {
        match self {
            Kind::Initial => RequestType::Initial,
            Kind::Update => RequestType::Update,
            Kind::Termination => RequestType::Termination,
            Kind::Debit | Kind::Refund | Kind::Settle | Kind::Check => RequestType::Event,
        }
    }

    /// Reports whether it belongs to no session.
    pub fn is_event(self) -> bool {
        self.request_type() == RequestType::Event
    }
}

/// The content of a Requested-Service-Unit or a Used-Service-Unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// CC-Total-Octets.
    Octets(i64),
    /// CC-Time: seconds, which no service of the table counts.
    Seconds(u32),
    /// Nothing: the client leaves it to the server.
    Unsaid,
}

impl Quantity {
    /// Returns the octets; 0 if it has none.
    #[must_use]
    pub fn octets(self) -> i64 {
        match self {
            Quantity::Octets(octets) => octets,
            Quantity::Seconds(_) | Quantity::Unsaid => 0,
        }
    }

    fn units(self) -> Units {
        match self {
            Quantity::Octets(octets) => {
                Units { total_octets: u64::try_from(octets).ok(), ..Units::default() }
            }
            Quantity::Seconds(seconds) => Units { time_s: Some(seconds), ..Units::default() },
            Quantity::Unsaid => Units::default(),
        }
    }
}

/// Units of one service in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Rating-Group.
    pub rating_group: u32,
    /// Used-Service-Unit.
    pub used: Option<Quantity>,
    /// Requested-Service-Unit.
    pub asked: Option<Quantity>,
    /// Refund-Information; empty for none.
    pub refund: Vec<u8>,
}

impl Part {
    /// Returns the octets that are asked for; 0 for none.
    #[must_use]
    pub fn asked(&self) -> i64 {
        self.asked.map_or(0, Quantity::octets)
    }

    /// Returns the octets that are reported; 0 for none.
    #[must_use]
    pub fn used(&self) -> i64 {
        self.used.map_or(0, Quantity::octets)
    }
}

/// Subscription-Id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscriber {
    /// An IMSI, which is in the id of its account.
    Imsi(String),
    /// A number, which is an identity of the account that has it now.
    Number(String),
}

/// What a request says.
#[derive(Clone, Debug)]
pub struct Words {
    /// Origin-Host.
    pub host: String,
    /// Subscription-Id.
    pub subscriber: Subscriber,
    /// Session-Id.
    pub session: String,
    /// What it does.
    pub kind: Kind,
    /// CC-Request-Number.
    pub number: u32,
    /// Its services.
    pub parts: Vec<Part>,
    /// Refund-Information outside of the services; empty for none.
    pub refund: Vec<u8>,
}

/// A request, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) words: Words,
    /// The account that it is for, or the accounts that one of is.
    pub(crate) accounts: Vec<Vec<u8>>,
    pub(crate) client: usize,
    pub(crate) lane: usize,
    /// The message, with an end-to-end identifier and without a hop-by-hop identifier.
    pub(crate) bytes: Vec<u8>,
    pub(crate) end_to_end: u32,
    /// The answer by which the client goes on: the first that is not 3004.
    pub(crate) answer: Option<Answer>,
    /// Answers other than 3004.
    pub(crate) answers: u32,
    pub(crate) copies: u32,
    /// Copies that are neither answered nor given up.
    pub(crate) waiting: u32,
    /// Connection at which the next copy is tried first.
    pub(crate) next_door: usize,
    /// When the next copy is sent, if no answer comes before.
    pub(crate) next_ms: u64,
    /// Doors at which copies have arrived, and the copy that was the first to arrive.
    pub(crate) seen_at: [bool; 2],
    pub(crate) first_seen: Option<u32>,
}

impl Words {
    /// Returns the message.
    pub fn write(&self, end_to_end: u32) -> Vec<u8> {
        let head = RequestHead {
            session_id: &self.session,
            origin_host: &self.host,
            origin_realm: "visited.example",
            destination_realm: "ocs.example",
            service_context_id: "32251@3gpp.org",
            request_type: self.kind.request_type(),
            request_number: self.number,
        };
        let mut out = Vec::new();
        let ids = MessageIds { hop_by_hop: 0, end_to_end };
        let mut request = RequestWriter::begin(&mut out, ids, &head);
        let action = match self.kind {
            Kind::Initial | Kind::Update | Kind::Termination => None,
            Kind::Debit | Kind::Settle => Some(RequestedAction::DirectDebiting),
            Kind::Refund => Some(RequestedAction::RefundAccount),
            Kind::Check => Some(RequestedAction::CheckBalance),
        };
        if let Some(action) = action {
            request.action(action);
        }
        let (kind, data) = match &self.subscriber {
            Subscriber::Imsi(imsi) => (SubscriptionKind::Imsi, imsi),
            Subscriber::Number(number) => (SubscriptionKind::E164, number),
        };
        request.subscription(&SubscriptionId { kind, data });
        for part in &self.parts {
            let used =
                part.used.map(|used| [UsedUnits { units: used.units(), ..UsedUnits::default() }]);
            let service = Service {
                rating_group: Some(part.rating_group),
                requested: part.asked.map(Quantity::units),
                used: used.as_ref().map_or(&[], |used| used),
                refund_information: &part.refund,
                ..Service::default()
            };
            request.service(&service);
        }
        if !self.refund.is_empty() {
            request.writer().bytes(REFUND_INFORMATION, &self.refund);
        }
        request.finish();
        out
    }

    /// Returns the account's id. None if the subscriber is a number, which may move from account to account.
    pub fn account(&self) -> Option<Vec<u8>> {
        match &self.subscriber {
            Subscriber::Imsi(imsi) => Some(format!("imsi-{imsi}").into_bytes()),
            Subscriber::Number(_) => None,
        }
    }

    /// Returns the first debit that a refund names; empty for none.
    pub fn refunded(&self) -> &[u8] {
        let within = self.parts.iter().map(|part| &part.refund[..]);
        let named = within.chain([&self.refund[..]]).find(|refund| !refund.is_empty());
        named.unwrap_or_default()
    }

    /// Returns the sum of the octets that are reported.
    pub fn used(&self) -> i64 {
        self.parts.iter().map(Part::used).sum()
    }

    /// Returns the sum of the octets that are asked for.
    pub fn asked(&self) -> i64 {
        self.parts.iter().map(Part::asked).sum()
    }
}

/// Writes a copy of a message, with this identifier, and with the T flag if it may have been sent before.
pub fn write_copy(message: &[u8], hop_by_hop: u32, is_marked: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(message);
    if is_marked {
        out[start + 4] |= Flags::RETRANSMITTED;
    }
    out[start + 12..start + 16].copy_from_slice(&hop_by_hop.to_be_bytes());
}
