//! Events that say little, much, or what contradicts itself: amounts of 0, of another kind or none, use beside requests
//! for units, several services, refunds of one debit or of two. `effect.rs` says what each must do.

use crate::answer::Answer;
use crate::plan::ASKED_MAX;
use crate::request::{Kind, Part, Quantity, Subscriber, Words};
use crate::services::{FREE, GROUPS, RECORDED};
use scurry_model::Random;

/// A debit that may be refunded.
#[derive(Clone, Debug)]
pub(crate) struct Debit {
    /// Its Refund-Information.
    pub(crate) name: Vec<u8>,
    pub(crate) of: Subscriber,
    /// What was debited: rating group and octets.
    parts: Vec<(u32, i64)>,
}

impl Debit {
    /// Returns the debit that an answer tells of.
    pub(crate) fn of(words: &Words, answer: &Answer) -> Option<Debit> {
        let debited = answer.services.iter().filter(|service| !service.refund.is_empty());
        let parts: Vec<(u32, i64)> =
            debited.clone().map(|service| (service.rating_group, service.granted)).collect();
        let name = debited.map(|service| service.refund.clone()).next()?;
        Some(Debit { name, of: words.subscriber.clone(), parts })
    }
}

/// What an event says.
pub(crate) struct Event {
    pub(crate) kind: Kind,
    /// The subscriber, if it is that of a debit.
    pub(crate) of: Option<Subscriber>,
    pub(crate) parts: Vec<Part>,
    /// Refund-Information outside of the services.
    pub(crate) refund: Vec<u8>,
}

/// Draws an event. `debits` are those of the lane, the latest last.
pub(crate) fn draw(debits: &[Debit], random: &mut Random) -> Event {
    let kind = random.pick(&[Kind::Debit, Kind::Debit, Kind::Refund, Kind::Refund, Kind::Check]);
    let groups = [GROUPS[0], GROUPS[0], GROUPS[1], GROUPS[2], RECORDED, FREE];
    let count = 1 + random.pick(&[0, 0, 1, 1, 2]);
    let mut parts: Vec<Part> = (0..count)
        .map(|_| Part { rating_group: random.pick(&groups), ..Part::default() })
        .collect();
    quantities(&mut parts, random);
    let (mut of, mut refund) = (None, Vec::new());
    if kind == Kind::Refund {
        let first = debits.len().checked_sub(1 + random.below(2)).map(|at| &debits[at]);
        if let Some(debit) = first {
            of = Some(debit.of.clone());
            if random.one_in(2) {
                amounts_of(debit, &mut parts, random);
            }
        }
        refund = names(first, debits, &mut parts, random);
    }
    Event { kind, of, parts, refund }
}

/// Draws what the services ask for and report: mostly all of them the same.
fn quantities(parts: &mut [Part], random: &mut Random) {
    let manner = random.below(5);
    for part in parts {
        let some = Quantity::Octets(random.between(1, ASKED_MAX));
        let nothing = random.pick(&[Quantity::Octets(0), Quantity::Seconds(7)]);
        let used = if random.one_in(3) { nothing } else { some };
        (part.used, part.asked) = match manner {
            0 => (Some(used), None),
            1 => (None, Some(some)),
            2 => (None, random.pick(&[Some(some), Some(Quantity::Unsaid), None])),
            3 => (random.pick(&[None, None, Some(nothing)]), Some(some)),
            _ => (
                random.pick(&[None, Some(used)]),
                random.pick(&[None, Some(some), Some(nothing), Some(Quantity::Unsaid)]),
            ),
        };
    }
}

/// Has services ask for a part of what was debited for them, or not say how much.
fn amounts_of(debit: &Debit, parts: &mut Vec<Part>, random: &mut Random) {
    parts.clear();
    let is_whole = random.one_in(3);
    for (rating_group, octets) in &debit.parts {
        let asked = (!is_whole).then(|| Quantity::Octets(random.between(1, *octets)));
        parts.push(Part { rating_group: *rating_group, asked, ..Part::default() });
    }
    if parts.len() > 1 && random.one_in(3) {
        parts.pop();
    }
    if random.one_in(6) {
        parts.push(Part { rating_group: FREE, asked: parts[0].asked, ..Part::default() });
    }
}

/// Names the debits of a refund. Returns the name outside of the services.
fn names(
    first: Option<&Debit>,
    debits: &[Debit],
    parts: &mut [Part],
    random: &mut Random,
) -> Vec<u8> {
    let unknown = b"unknown/0".to_vec();
    let name = first.map_or(unknown.clone(), |debit| debit.name.clone());
    let other = debits.iter().find(|debit| debit.name != name);
    let other = other.map_or(unknown, |debit| debit.name.clone());
    let manner = random.below(8);
    for (at, part) in parts.iter_mut().enumerate() {
        part.refund = match manner {
            0 | 2 => Vec::new(),
            4 if at % 2 == 1 => other.clone(),
            5 | 6 if at % 2 == 1 => Vec::new(),
            _ => name.clone(),
        };
    }
    match manner {
        2 | 6 => name,
        3 => other,
        _ => Vec::new(),
    }
}
