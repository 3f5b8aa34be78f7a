//! What an event must do, worked out from its words alone, as docs/diameter.md has it: what each request does in the
//! store, the modes of services, and the result codes.

use crate::request::{Kind, Part, Words};
use crate::services::{GRANT, NO_REFUNDS, RECORDED, is_charged};
use std::collections::{BTreeMap, BTreeSet};

/// Result-Codes.
pub(crate) const SUCCESS: u32 = 2001;
pub(crate) const NOT_APPLICABLE: u32 = 4011;
pub(crate) const INVALID_VALUE: u32 = 5004;
pub(crate) const MISSING: u32 = 5005;
pub(crate) const CONTRADICTING: u32 = 5007;
pub(crate) const UNABLE: u32 = 5012;

/// Octets by rating group.
pub(crate) type Octets = BTreeMap<u32, i64>;

/// What a request must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It belongs to a session.
    Session,
    /// Nothing. The answer is one of these.
    Nothing(Vec<u32>),
    /// All of these are debited, or none.
    Debit(Octets),
    /// Use that has happened is debited, and recorded.
    Settle { debited: i64, recorded: i64 },
    /// These are refunded of a debit, or all that is left of it; nothing if less is left.
    Refund { debit: Vec<u8>, items: Option<Octets> },
    /// These are credited.
    Credit(i64),
    /// Nothing: the balance is compared with them.
    Check,
}

impl Effect {
    /// Works out what a request must do.
    pub(crate) fn of(words: &Words) -> Effect {
        let action = match words.kind {
            Kind::Initial | Kind::Update | Kind::Termination => return Effect::Session,
            Kind::Debit | Kind::Settle => debit,
            Kind::Refund => refund,
            Kind::Check => check,
        };
        let mut refusals = BTreeSet::new();
        let parts = &words.parts;
        // Units that the service does not count, or none.
        if parts.iter().any(|part| part.asked() == 0 && is_said(part)) {
            refusals.insert(INVALID_VALUE);
        }
        // Use beside a request for units.
        if parts.iter().any(|part| part.used() > 0) && !parts.iter().all(is_report) {
            refusals.insert(CONTRADICTING);
        }
        let effect = action(words, &mut refusals);
        if refusals.is_empty() { effect } else { Effect::Nothing(refusals.into_iter().collect()) }
    }

    /// Returns the command in the store; none for what changes nothing.
    pub(crate) fn command(&self, kind: Kind) -> Option<&'static str> {
        match (self, kind) {
            (Effect::Session, Kind::Initial) => Some("reserve"),
            (Effect::Session, Kind::Update) => Some("update"),
            (Effect::Session, _) | (Effect::Settle { .. }, _) => Some("terminate"),
            (Effect::Debit(_), _) => Some("debit"),
            (Effect::Refund { .. }, _) => Some("refund"),
            (Effect::Credit(_), _) => Some("topup"),
            (Effect::Nothing(_) | Effect::Check, _) => None,
        }
    }

    /// Returns the name that the ledger has for the request: session and number, or the transaction.
    pub(crate) fn ledger_id(&self, words: &Words) -> (Vec<u8>, u32) {
        let Words { session, number, .. } = words;
        match self {
            Effect::Session => (session.clone().into(), *number),
            Effect::Settle { .. } => (format!("{session}/{number}").into(), *number),
            _ => (format!("{session}/{number}").into(), 0),
        }
    }
}

/// Reports whether a service says what it asks for, be it nothing.
fn is_said(part: &Part) -> bool {
    !matches!(part.asked, None | Some(crate::request::Quantity::Unsaid))
}

/// Reports whether a service tells of use alone.
fn is_report(part: &Part) -> bool {
    part.asked.is_none() && part.used.is_some()
}

/// Returns what a service asks for: the table's grant if it does not say.
pub(crate) fn wanted(part: &Part) -> i64 {
    if part.asked() > 0 { part.asked() } else { GRANT }
}

/// Returns the services that are charged.
fn charged(words: &Words) -> impl Iterator<Item = &Part> + Clone {
    words.parts.iter().filter(|part| is_charged(part.rating_group))
}

fn sums<'a>(parts: impl Iterator<Item = &'a Part>, amount: fn(&Part) -> i64) -> Octets {
    let mut sums = Octets::new();
    for part in parts.filter(|part| amount(part) > 0) {
        *sums.entry(part.rating_group).or_default() += amount(part);
    }
    sums
}

/// Returns what a request that moves nothing is answered: success if one of its services is charged.
pub(crate) fn result(words: &Words) -> u32 {
    if charged(words).next().is_some() { SUCCESS } else { NOT_APPLICABLE }
}

fn debit(words: &Words, _: &mut BTreeSet<u32>) -> Effect {
    let parts = &words.parts;
    let is_recorded = |part: &&Part| part.rating_group == RECORDED;
    let is_use = parts.iter().all(is_report);
    let amount = |part: &Part| if is_report(part) { part.used() } else { wanted(part) };
    let (mut debited, mut recorded) = (0, 0);
    if is_use {
        debited = charged(words).map(Part::used).sum();
    } else if charged(words).next().is_some() {
        let items = sums(charged(words).filter(|part| !is_report(part)), wanted);
        return if items.is_empty() {
            Effect::Nothing(vec![SUCCESS])
        } else {
            Effect::Debit(items)
        };
    }
    recorded += parts.iter().filter(is_recorded).map(amount).sum::<i64>();
    match debited + recorded {
        0 => Effect::Nothing(vec![result(words)]),
        _ => Effect::Settle { debited, recorded },
    }
}

fn refund(words: &Words, refusals: &mut BTreeSet<u32>) -> Effect {
    if words.parts.iter().any(is_report) {
        refusals.insert(MISSING);
    }
    let name =
        |part: &Part| if part.refund.is_empty() { &words.refund } else { &part.refund }.clone();
    let mut names: BTreeSet<Vec<u8>> = words.parts.iter().map(name).collect();
    if !words.refund.is_empty() {
        names.insert(words.refund.clone());
    }
    if names.len() > 1 {
        refusals.insert(INVALID_VALUE);
    }
    let debit = names.pop_first().unwrap_or_default();
    if charged(words).next().is_none() {
        return Effect::Nothing(vec![NOT_APPLICABLE]);
    }
    if debit.is_empty() {
        let items = sums(charged(words), wanted);
        let is_possible = items.len() == 1 && !items.contains_key(&NO_REFUNDS);
        let octets = items.values().sum();
        return if is_possible { Effect::Credit(octets) } else { Effect::Nothing(vec![UNABLE]) };
    }
    let is_whole = charged(words).all(|part| part.asked() == 0);
    if !is_whole && charged(words).any(|part| part.asked() == 0) {
        refusals.insert(MISSING);
    }
    let items = sums(charged(words), Part::asked);
    Effect::Refund { debit, items: (!is_whole).then_some(items) }
}

fn check(words: &Words, _: &mut BTreeSet<u32>) -> Effect {
    match result(words) {
        SUCCESS => Effect::Check,
        other => Effect::Nothing(vec![other]),
    }
}
