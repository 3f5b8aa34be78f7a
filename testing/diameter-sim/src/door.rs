//! A door: the charging of the product, and a peer machine for each connection. It keeps nothing when it is killed.

use crate::answer;
use crate::fault::Fault;
use crate::link::LinkId;
use crate::side::{Side, Told};
use crate::store::SimStore;
use scurry_diameter::ccr::Scratch;
use scurry_diameter::peer::{Admission, Event, PeerIdentity, PeerSettings};
use scurry_diameter::{Message, Origin, Refusal, ResultCode, write_refusal};
use scurry_door_diameter::{Answering, Charging};
use scurry_service_table::ServiceTable;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const DRAINING: Refusal<'static> = Refusal::new(ResultCode::TOO_BUSY, "this server ends");
/// Code of CC-Request-Number.
const REQUEST_NUMBER: u32 = 415;

/// A request that is under way.
struct UnderWay {
    answer: Answering,
    /// With a bug: the number that the client gave it, and what the door remembers it by.
    client_number: Option<u32>,
    remembered: Option<(String, u32)>,
}

/// A connection of a door.
pub(crate) struct DoorSide {
    pub(crate) side: Side,
    under_way: Vec<UnderWay>,
    /// Origin-Host of the client.
    host: Option<String>,
}

pub(crate) struct Door {
    pub(crate) settings: Arc<PeerSettings>,
    origin: Origin,
    charging: Charging,
    /// Charges requests that open sessions: the same, or one with a bug.
    opening: Charging,
    pub(crate) sides: BTreeMap<LinkId, DoorSide>,
    pub(crate) is_up: bool,
    pub(crate) drain_until_ms: Option<u64>,
    fault: Fault,
    /// With a bug: answers by Origin-Host and end-to-end identifier, the last number, and an answer that is held back.
    remembered: BTreeMap<(String, u32), Vec<u8>>,
    last_number: u32,
    held: Option<(LinkId, Vec<u8>)>,
}

impl Door {
    pub(crate) fn new(
        settings: Arc<PeerSettings>,
        store: &SimStore,
        table: &ServiceTable,
        fault: Fault,
    ) -> Door {
        let opening = match fault {
            Fault::CopiesOpenAgain => store.without_sessions(),
            _ => store.clone(),
        };
        Door {
            origin: settings.origin.clone(),
            settings,
            charging: Charging::new(Arc::new(store.clone()), table.clone()),
            opening: Charging::new(Arc::new(opening), table.clone()),
            sides: BTreeMap::new(),
            is_up: true,
            drain_until_ms: None,
            fault,
            remembered: BTreeMap::new(),
            last_number: 0,
            held: None,
        }
    }

    /// Begins a connection.
    pub(crate) fn accept(&mut self, link: LinkId, side: Side) {
        self.sides.insert(link, DoorSide { side, under_way: Vec::new(), host: None });
    }

    /// Takes bytes of a client. Returns the events, and the former connections of this client that end.
    pub(crate) fn take(
        &mut self,
        link: LinkId,
        bytes: &[u8],
        now_ms: u64,
    ) -> (Vec<Told>, Vec<LinkId>) {
        let mut former = Vec::new();
        let mut stays = Vec::new();
        for (other, side) in self.sides.iter().filter(|(other, _)| **other != link) {
            let watch = &side.side.watch;
            let Some(host) = &side.host else { continue };
            let gives_way = !watch.is_usable();
            if gives_way { former.push((*other, host.clone())) } else { stays.push(host.clone()) }
        }
        let mut admit = |identity: &PeerIdentity| match stays.contains(&identity.host) {
            true => Admission::ElectionLost,
            false => Admission::Admit,
        };
        let Some(own) = self.sides.get_mut(&link) else { return (Vec::new(), Vec::new()) };
        let told = own.side.take(bytes, now_ms, &mut admit);
        let mut ended = Vec::new();
        for (event, _) in &told {
            if let Event::Up(identity) = event {
                let same = former.iter().filter(|(_, host)| *host == identity.host);
                ended.extend(same.map(|(link, _)| *link));
                own.host = Some(identity.host.clone());
            }
        }
        (told, ended)
    }

    /// Begins a request of a client, or refuses it.
    pub(crate) fn begin(&mut self, link: LinkId, bytes: &[u8]) {
        let Some(own) = self.sides.get_mut(&link) else { return };
        let message = Message::read(bytes).expect("a request");
        if self.drain_until_ms.is_some() {
            return refuse(&mut own.side, &message, &self.origin, &DRAINING);
        }
        let sent = message;
        let mut bytes = bytes.to_vec();
        let (mut client_number, mut remembered) = (None, None);
        match self.fault {
            Fault::DuplicatesByEndToEnd => {
                let key = (own.host.clone().unwrap_or_default(), message.header.end_to_end);
                if let Some(answer) = self.remembered.get(&key) {
                    let start = own.side.out.len();
                    own.side.out.extend_from_slice(answer);
                    let hop_by_hop = message.header.hop_by_hop.to_be_bytes();
                    own.side.out[start + 12..start + 16].copy_from_slice(&hop_by_hop);
                    return own.side.answer_sent();
                }
                remembered = Some(key);
                self.last_number += 1;
                client_number = Some(set_number(&mut bytes, self.last_number));
            }
            Fault::CopiesGetNumbers if message.header.flags.is_retransmitted() => {
                self.last_number += 1;
                client_number = Some(set_number(&mut bytes, 1_000 + self.last_number));
            }
            _ => {}
        }
        let message = Message::read(&bytes).expect("a request");
        let mut scratch = Scratch::default();
        let is_opening = answer::is_opening(&message);
        let charging = if is_opening { &self.opening } else { &self.charging };
        match charging.begin(&message, &mut scratch) {
            Ok(answer) => own.under_way.push(UnderWay { answer, client_number, remembered }),
            Err(refusal) => refuse(&mut own.side, &sent, &self.origin, &refusal),
        }
    }

    /// Asks the store what was not asked yet, and writes the answers that are ready.
    pub(crate) fn poll(&mut self) {
        let mut task = Context::from_waker(Waker::noop());
        for (link, own) in &mut self.sides {
            let DoorSide { side, under_way, .. } = own;
            under_way.retain_mut(|one| {
                let Poll::Ready(answer) = one.answer.as_mut().poll(&mut task) else { return true };
                let mut bytes = Vec::new();
                answer.write(&self.origin, &mut bytes);
                if let Some(number) = one.client_number {
                    set_number(&mut bytes, number);
                }
                if let Some(key) = one.remembered.take() {
                    self.remembered.insert(key, bytes.clone());
                }
                match self.held.take() {
                    Some((other, mut held)) if other == *link => {
                        held[12..20].swap_with_slice(&mut bytes[12..20]);
                        side.out.extend_from_slice(&held);
                    }
                    _ if self.fault == Fault::AnswersSwapped => {
                        self.held = Some((*link, bytes));
                        side.answer_sent();
                        return false;
                    }
                    _ => {}
                }
                side.out.extend_from_slice(&bytes);
                side.answer_sent();
                false
            });
        }
    }

    /// Reports whether no request of a connection is under way.
    pub(crate) fn has_answered(&self, link: LinkId) -> bool {
        self.sides.get(&link).is_none_or(|own| own.under_way.is_empty())
    }
}

fn refuse(side: &mut Side, message: &Message<'_>, origin: &Origin, refusal: &Refusal<'_>) {
    write_refusal(&mut side.out, message, origin, refusal);
    side.answer_sent();
}

/// Replaces CC-Request-Number of a message. Returns the one that it had.
fn set_number(message: &mut [u8], number: u32) -> u32 {
    let word = |message: &[u8], at: usize| {
        u32::from_be_bytes(message[at..at + 4].try_into().expect("four bytes"))
    };
    let mut at = 20;
    while word(message, at) != REQUEST_NUMBER {
        let len = (word(message, at + 4) & 0x00ff_ffff) as usize;
        at += len.next_multiple_of(4);
    }
    let before = word(message, at + 8);
    message[at + 8..at + 12].copy_from_slice(&number.to_be_bytes());
    before
}
