//! The origin of an event: the transaction, or the session, request and item. It is derived from other facts of the
//! Change than those that move units, so it takes no space in the log.

use scurry_ledger::{Change, Id, ItemKey, Op, SessionAt, Tombstone, TombstoneKind};

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
}

/// An item of a session, as the Change identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginItem {
    /// Index among the items of its session, from 0.
    Place(u8),
    /// Key of the item, for a session that is not open.
    Key(ItemKey),
}

/// Origins of the facts of one Change.
pub(super) struct Origins<'c> {
    ops: &'c [Op],
    transaction: Option<Id>,
    /// Sessions by number, with the request that the Change answers.
    sessions: Vec<(Id, Option<u32>)>,
    /// The session and the request of use that is of no open item.
    late: Option<(Id, u32)>,
}

impl<'c> Origins<'c> {
    pub(super) fn from_change(change: &'c Change) -> Origins<'c> {
        let ops = &change.ops;
        let mut origins = Origins { ops, transaction: None, sessions: Vec::new(), late: None };
        for (at, op) in ops.iter().enumerate() {
            match op {
                Op::NameSession(id) | Op::OpenSession { id, .. } => {
                    origins.sessions.push((id.clone(), None));
                }
                Op::StoreAnswer { session, answer, .. } => {
                    origins.note_request(*session, Some(answer.request().number));
                }
                Op::CloseSession(session) => {
                    origins.note_request(*session, closing_request(ops.get(at + 1)));
                }
                Op::Remember(transaction) => origins.transaction = Some(transaction.id.clone()),
                Op::NoteLate(late) => {
                    origins.late = Some((late.session.clone(), late.answer.request().number))
                }
                _ => {}
            }
        }
        // Use of an item for which its open session has no room: the request is that of the session.
        let answered =
            origins.sessions.iter().rev().find_map(|(id, request)| Some((id.clone(), (*request)?)));
        origins.late = origins.late.or(answered);
        origins
    }

    /// Returns the origin of the fact at this index.
    pub(super) fn of_fact(&self, at: usize) -> Origin {
        match &self.ops[at] {
            Op::Hold(item, _)
            | Op::Settle(item, _)
            | Op::Release(item, _)
            | Op::ReleaseExpired(item, _)
            | Op::Use { at: item, .. } => self.of_item(item.session, item.item),
            Op::AddItem { session, .. } | Op::CloseSession(session) => self.of_session(*session),
            Op::OpenSession { id, .. } => {
                let opened = self.sessions.iter().rfind(|(session, _)| session == id);
                let request = opened.and_then(|(_, request)| *request);
                Origin { session: Some(id.clone()), request, ..Origin::default() }
            }
            // Expiry and refill have no origin.
            Op::Expire(_) => Origin::default(),
            Op::Credit(_) if self.is_refill(at) => Origin::default(),
            Op::Debit(_) | Op::Overdraw(_) => self.of_use(self.ops[at..].iter()),
            Op::LateUse { key, .. } => self.of_late(*key),
            Op::ReachThreshold { .. } => self.of_use(self.ops[..at].iter().rev()),
            _ => Origin { transaction: self.transaction.clone(), ..Origin::default() },
        }
    }

    /// Returns the origin of a debit or of a threshold: the use after a debit, or the use before a threshold, or else
    /// the transaction.
    fn of_use(&self, mut ops: impl Iterator<Item = &'c Op>) -> Origin {
        let used = ops.find_map(|op| match op {
            Op::Use { at: item, .. } => Some(self.of_item(item.session, item.item)),
            Op::LateUse { key, .. } => Some(self.of_late(*key)),
            _ => None,
        });
        used.unwrap_or(Origin { transaction: self.transaction.clone(), ..Origin::default() })
    }

    /// Reports whether a credit is a refill: it follows the beginning of a period, with only expiries in between.
    fn is_refill(&self, at: usize) -> bool {
        let mut before = self.ops[..at].iter().rev().skip_while(|op| matches!(op, Op::Expire(_)));
        matches!(before.next(), Some(Op::BeginPeriod { .. }))
    }

    fn of_session(&self, at: SessionAt) -> Origin {
        let found = self.sessions.get(at.0 as usize);
        let (session, request) =
            found.map_or((None, None), |(id, request)| (Some(id.clone()), *request));
        Origin { session, request, ..Origin::default() }
    }

    fn of_item(&self, session: SessionAt, place: u8) -> Origin {
        Origin { item: Some(OriginItem::Place(place)), ..self.of_session(session) }
    }

    fn of_late(&self, key: ItemKey) -> Origin {
        let (session, request) = self.late.clone().unzip();
        Origin { session, request, item: Some(OriginItem::Key(key)), transaction: None }
    }

    fn note_request(&mut self, at: SessionAt, request: Option<u32>) {
        if let Some(known) = self.sessions.get_mut(at.0 as usize) {
            known.1 = request.or(known.1);
        }
    }
}

/// Returns the request that closed a session, from the fact after its end.
fn closing_request(behind: Option<&Op>) -> Option<u32> {
    let Some(Op::StoreTombstone(tombstone)) = behind else { return None };
    match **tombstone {
        Tombstone { kind: TombstoneKind::Answered { request, .. }, .. } => Some(request.number),
        Tombstone { kind: TombstoneKind::Expired, .. }
        | Tombstone { kind: TombstoneKind::Released, .. }
        | Tombstone { kind: TombstoneKind::Unknown | TombstoneKind::Returned { .. }, .. } => None,
    }
}
