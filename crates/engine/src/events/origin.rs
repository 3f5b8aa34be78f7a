//! The origin of an event: the transaction, or the session, request and item, with the session's data and the account's
//! identities. It is derived from other facts of the Change than those that move units.

use scurry_ledger::{
    BucketNo, Change, Id, Identity, ItemAt, ItemKey, Name, Op, SessionAt, Tombstone, TombstoneKind,
};
use std::sync::Arc;

/// Origin of an event, as far as known. An expiry originates from a session or from nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The transaction id of a command that has one.
    pub transaction: Option<Id>,
    /// The session.
    pub session: Option<Id>,
    /// The request number.
    pub request: Option<u32>,
    /// The item.
    pub item: Option<OriginItem>,
    /// Opaque bytes of the session; None without any.
    pub data: Option<Arc<[u8]>>,
    /// Identities of the account, of events that concern who is charged; None without any.
    pub identities: Option<Arc<[Identity]>>,
}

/// An item that an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginItem {
    /// Index among the items of its session, from 0. None for an item of no open session.
    pub place: Option<u8>,
    /// Key of the item.
    pub key: ItemKey,
    /// Unit of the item. None where another field of the event has it.
    pub unit: Option<Name>,
}

/// Origins of the facts of one Change.
pub(super) struct Origins<'c> {
    ops: &'c [Op],
    transaction: Option<Id>,
    /// Sessions by number.
    sessions: Vec<NamedSession>,
    /// Items that the facts name.
    items: Vec<(ItemAt, ItemKey, Name)>,
    identities: Option<Arc<[Identity]>>,
    /// The session and the request of use that is of no open item.
    late: Option<(Id, u32)>,
}

/// A session that the facts name.
#[derive(Clone, Default)]
struct NamedSession {
    id: Option<Id>,
    /// The request that the Change answers.
    request: Option<u32>,
    data: Option<Arc<[u8]>>,
    /// Number of items that were added so far, of a session that was opened.
    added: Option<u8>,
}

impl<'c> Origins<'c> {
    pub(super) fn from_change(change: &'c Change) -> Origins<'c> {
        let mut origins = Origins {
            ops: &change.ops,
            transaction: None,
            sessions: Vec::new(),
            items: Vec::new(),
            identities: None,
            late: None,
        };
        for (at, op) in change.ops.iter().enumerate() {
            origins.note(at, op);
        }
        // Use of an item for which its open session has no room: the request is that of the session.
        let answered = |of: &NamedSession| Some((of.id.clone()?, of.request?));
        origins.late = origins.late.or(origins.sessions.iter().rev().find_map(answered));
        origins
    }

    fn note(&mut self, at: usize, op: &Op) {
        match op {
            Op::NameSession(id) => {
                let named = NamedSession { id: Some(id.clone()), ..NamedSession::default() };
                self.sessions.push(named);
            }
            Op::OpenSession { id, .. } => {
                let (id, added) = (Some(id.clone()), Some(0));
                self.sessions.push(NamedSession { id, added, ..NamedSession::default() });
            }
            Op::AddItem { session, key, unit } => {
                let added = self.session(*session).and_then(|of| {
                    let place = of.added?;
                    of.added = Some(place.saturating_add(1));
                    Some(place)
                });
                if let Some(item) = added {
                    self.items.push((ItemAt { session: *session, item }, *key, *unit));
                }
            }
            Op::NameItem { at, key, unit } => self.items.push((*at, *key, *unit)),
            Op::NameBlob(session, blob) | Op::SetBlob(session, blob) => {
                if let Some(of) = self.session(*session) {
                    of.data = Some(blob.as_slice().into()).filter(|_| !blob.is_empty());
                }
            }
            Op::NameIdentities(identities) => self.identities = Some(Arc::from(&identities[..])),
            Op::StoreAnswer { session, answer, .. } => {
                self.note_request(*session, Some(answer.request().number));
            }
            Op::CloseSession(session) => {
                let ends = self.ops[at + 1..].iter().find_map(tombstone);
                self.note_request(*session, ends.and_then(closing_request));
            }
            Op::Remember(transaction) => self.transaction = Some(transaction.id.clone()),
            Op::NoteLate(late) => {
                self.late = Some((late.session.clone(), late.answer.request().number));
            }
            _ => {}
        }
    }

    fn session(&mut self, at: SessionAt) -> Option<&mut NamedSession> {
        self.sessions.get_mut(at.0 as usize)
    }

    fn note_request(&mut self, at: SessionAt, request: Option<u32>) {
        if let Some(known) = self.session(at) {
            known.request = request.or(known.request);
        }
    }

    /// Returns the origin of the fact at this index.
    pub(super) fn of_fact(&self, at: usize) -> Origin {
        match &self.ops[at] {
            Op::Hold(item, _)
            | Op::Settle(item, _)
            | Op::Release(item, _)
            | Op::ReleaseExpired(item, _)
            | Op::Use { at: item, .. } => self.of_item(*item),
            Op::AddItem { session, .. } => self.of_session(*session),
            Op::CloseSession(session) => self.identified(self.of_session(*session)),
            Op::OpenSession { id, .. } => {
                let is_it = |named: &&NamedSession| named.id.as_ref() == Some(id);
                let opened = self.sessions.iter().rfind(is_it).cloned().unwrap_or_default();
                let NamedSession { request, data, .. } = opened;
                let session = Some(id.clone());
                self.identified(Origin { session, request, data, ..Origin::default() })
            }
            // Expiry and refill have no origin.
            Op::Expire(_) => Origin::default(),
            Op::Credit(_) if self.is_refill(at) => Origin::default(),
            Op::Debit(_) | Op::Overdraw(_) => self.of_use(at, self.ops[at..].iter()),
            Op::Refund(_) | Op::RefundExpired(_) => self.of_transaction(at),
            Op::LateUse { key, unit, .. } => self.identified(self.of_late(*key, *unit)),
            Op::ReachThreshold { .. } => {
                self.identified(self.of_use(at, self.ops[..at].iter().rev()))
            }
            Op::CrossMark { bucket, .. } => self.identified(self.of_crossing(at, *bucket)),
            Op::Deny(_) => self.identified(self.of_denial(at)),
            _ => Origin { transaction: self.transaction.clone(), ..Origin::default() },
        }
    }

    fn identified(&self, origin: Origin) -> Origin {
        Origin { identities: self.identities.clone(), ..origin }
    }

    /// Returns the origin of a debit or of a threshold: the use after a debit, or the use before a threshold, or else
    /// the transaction.
    fn of_use(&self, at: usize, mut ops: impl Iterator<Item = &'c Op>) -> Origin {
        let used = ops.find_map(|op| match op {
            Op::Use { at: item, .. } => Some(self.of_item(*item)),
            Op::LateUse { key, unit, .. } => Some(self.identified(self.of_late(*key, *unit))),
            _ => None,
        });
        used.unwrap_or_else(|| self.of_transaction(at))
    }

    /// Returns the origin of a debit or a refund of a command with a transaction id.
    fn of_transaction(&self, at: usize) -> Origin {
        let item = self.ops[..at].iter().rev().find_map(|op| match op {
            Op::NameKey(key) => Some(OriginItem { place: None, key: *key, unit: None }),
            _ => None,
        });
        let transaction = self.transaction.clone();
        self.identified(Origin { transaction, item, ..Origin::default() })
    }

    /// Returns the origin of a crossing of a mark: that of the last movement of the bucket's available units, or else the
    /// transaction, which has set the mark.
    fn of_crossing(&self, at: usize, bucket: BucketNo) -> Origin {
        let moves = |op: &Op| op.added_to_available().is_some_and(|(no, _)| no == bucket);
        match self.ops[..at].iter().rposition(moves) {
            Some(moved) => self.of_fact(moved),
            None => Origin { transaction: self.transaction.clone(), ..Origin::default() },
        }
    }

    /// Returns the origin of a denial: what stores the answer comes after it.
    fn of_denial(&self, at: usize) -> Origin {
        let answered = self.ops[at..].iter().find_map(|op| match op {
            Op::StoreAnswer { session, .. } => Some(self.of_session(*session)),
            Op::CloseSession(session) => Some(self.of_session(*session)),
            Op::StoreTombstone(tombstone) => Some(Origin {
                session: Some(tombstone.id.clone()),
                request: closing_request(tombstone),
                ..Origin::default()
            }),
            _ => None,
        });
        answered.unwrap_or(Origin { transaction: self.transaction.clone(), ..Origin::default() })
    }

    /// Reports whether a credit is a refill: it follows the beginning of a period, with only expiries in between.
    pub(super) fn is_refill(&self, at: usize) -> bool {
        let mut before = self.ops[..at].iter().rev().skip_while(|op| matches!(op, Op::Expire(_)));
        matches!(before.next(), Some(Op::BeginPeriod { .. }))
    }

    /// Returns the origin of a fact of a session. Only a RELEASE has a transaction id as well.
    fn of_session(&self, at: SessionAt) -> Origin {
        let NamedSession { id, request, data, .. } =
            self.sessions.get(at.0 as usize).cloned().unwrap_or_default();
        Origin {
            transaction: self.transaction.clone(),
            session: id,
            request,
            data,
            ..Origin::default()
        }
    }

    fn of_item(&self, at: ItemAt) -> Origin {
        let found = self.items.iter().find(|(known, ..)| *known == at);
        let item =
            found.map(|&(_, key, unit)| OriginItem { place: Some(at.item), key, unit: Some(unit) });
        Origin { item, ..self.of_session(at.session) }
    }

    fn of_late(&self, key: ItemKey, unit: Name) -> Origin {
        let (session, request) = self.late.clone().unzip();
        let item = Some(OriginItem { place: None, key, unit: Some(unit) });
        Origin { session, request, item, ..Origin::default() }
    }
}

/// Returns the tombstone that a fact stores.
pub(super) fn tombstone(op: &Op) -> Option<&Tombstone> {
    match op {
        Op::StoreTombstone(tombstone) => Some(tombstone),
        _ => None,
    }
}

/// Returns the request that closed a session.
fn closing_request(tombstone: &Tombstone) -> Option<u32> {
    match tombstone.kind {
        TombstoneKind::Answered { request, .. } => Some(request.number),
        TombstoneKind::Expired
        | TombstoneKind::Released
        | TombstoneKind::Unknown
        | TombstoneKind::Returned { .. } => None,
    }
}
