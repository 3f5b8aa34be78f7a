//! What a client asks: one request, of which it may send several copies.

use crate::answer::Answer;
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
    /// Refunds a debit.
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

    /// Returns the command in the store; none for a read.
    pub fn command(self) -> Option<&'static str> {
        match self {
            Kind::Initial => Some("reserve"),
            Kind::Update => Some("update"),
            Kind::Termination | Kind::Settle => Some("terminate"),
            Kind::Debit => Some("debit"),
            Kind::Refund => Some("refund"),
            Kind::Check => None,
        }
    }

    /// Reports whether it belongs to no session.
    pub fn is_event(self) -> bool {
        self.request_type() == RequestType::Event
    }
}

/// Units of one service in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Rating-Group.
    pub rating_group: u32,
    /// Reported octets.
    pub used: Option<i64>,
    /// Octets that are asked for.
    pub asked: Option<i64>,
}

/// What a request says.
#[derive(Clone, Debug)]
pub struct Words {
    /// Origin-Host.
    pub host: String,
    /// Subscription-Id.
    pub imsi: String,
    /// Session-Id.
    pub session: String,
    /// What it does.
    pub kind: Kind,
    /// CC-Request-Number.
    pub number: u32,
    /// Its services.
    pub parts: Vec<Part>,
    /// Refund-Information.
    pub refund: Vec<u8>,
}

/// A request, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) words: Words,
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

fn octets(amount: i64) -> Units {
    Units { total_octets: u64::try_from(amount).ok(), ..Units::default() }
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
        request.subscription(&SubscriptionId { kind: SubscriptionKind::Imsi, data: &self.imsi });
        for part in &self.parts {
            let used =
                part.used.map(|used| [UsedUnits { units: octets(used), ..UsedUnits::default() }]);
            let service = Service {
                rating_group: Some(part.rating_group),
                requested: part.asked.map(octets),
                used: used.as_ref().map_or(&[], |used| used),
                refund_information: &self.refund,
                ..Service::default()
            };
            request.service(&service);
        }
        request.finish();
        out
    }

    /// Returns the name that the ledger has for the request: session and number, or the transaction.
    pub fn ledger_id(&self) -> (Vec<u8>, u32) {
        let Words { session, number, kind, .. } = self;
        match kind {
            Kind::Initial | Kind::Update | Kind::Termination => (session.clone().into(), *number),
            Kind::Settle => (format!("{session}/{number}").into(), *number),
            Kind::Debit | Kind::Refund | Kind::Check => (format!("{session}/{number}").into(), 0),
        }
    }

    /// Returns the account's id.
    pub fn account(&self) -> Vec<u8> {
        format!("imsi-{}", self.imsi).into_bytes()
    }

    /// Returns the sum of the units that are reported.
    pub fn used(&self) -> i64 {
        self.parts.iter().filter_map(|part| part.used).sum()
    }

    /// Returns the sum of the units that are asked for.
    pub fn asked(&self) -> i64 {
        self.parts.iter().filter_map(|part| part.asked).sum()
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
