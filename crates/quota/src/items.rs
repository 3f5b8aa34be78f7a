//! The items of a session command for the services of a request.

use crate::{Asked, Share};
use scurry_ledger::{ItemAnswer, ItemRequest};
use scurry_service::SessionStep;
use scurry_service_table::Mode;
use smallvec::SmallVec;

/// The items of a command. Services with one key and unit share an item, which has the sums.
#[derive(Clone, Debug, Default)]
pub struct Items {
    items: SmallVec<[ItemRequest; 1]>,
    /// Index of the item of each service.
    item_of: SmallVec<[Option<usize>; 1]>,
}

/// Use that cannot be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongUse {
    /// Units are used before the session is open.
    BeforeStart,
    /// The sum is above 63 bits.
    TooMuch,
}

impl Items {
    /// Returns the items of a request with these services.
    ///
    /// # Errors
    /// When reported use cannot be settled.
    pub fn of<'a>(
        step: SessionStep,
        services: impl Iterator<Item = Asked<'a>>,
    ) -> Result<Items, WrongUse> {
        let mut items = Items::default();
        for service in services {
            let item = item(step, &service)?;
            let at = item.map(|item| items.add(item)).transpose()?;
            items.item_of.push(at);
        }
        Ok(items)
    }

    fn add(&mut self, item: ItemRequest) -> Result<usize, WrongUse> {
        let is_same = |other: &ItemRequest| other.key == item.key && other.unit == item.unit;
        let Some(at) = self.items.iter().position(is_same) else {
            self.items.push(item);
            return Ok(self.items.len() - 1);
        };
        let shared = &mut self.items[at];
        let sum = |one: Option<i64>, other: Option<i64>| match (one, other) {
            (Some(one), Some(other)) => one.checked_add(other).map(Some),
            (one, other) => Some(one.or(other)),
        };
        shared.used = sum(shared.used, item.used).ok_or(WrongUse::TooMuch)?;
        shared.requested = sum(shared.requested, item.requested).unwrap_or(Some(i64::MAX));
        shared.min = shared.min.min(item.min).or(shared.min).or(item.min);
        Ok(at)
    }

    /// Returns the items, in the order of their first services.
    pub fn as_slice(&self) -> &[ItemRequest] {
        &self.items
    }

    /// Divides the answers of the items among the same services. A service without an item gets None.
    pub fn divide<'a>(
        &self,
        answers: &[ItemAnswer],
        services: impl Iterator<Item = Asked<'a>>,
    ) -> SmallVec<[Option<Share>; 1]> {
        let mut left: SmallVec<[i64; 1]> = answers.iter().map(|answer| answer.granted).collect();
        let shares = services.zip(&self.item_of).map(|(service, at)| {
            let at = (*at)?;
            Some(Share::take(&service, answers.get(at)?, left.get_mut(at)?))
        });
        shares.collect()
    }
}

/// Returns the item of a service. None if it neither reports nor requests.
fn item(step: SessionStep, service: &Asked<'_>) -> Result<Option<ItemRequest>, WrongUse> {
    let (Some(terms), Some(key)) = (service.terms, service.key()) else { return Ok(None) };
    let used = service.used.filter(|_| terms.mode != Mode::Free);
    let used = match step {
        SessionStep::Reserve if used.is_some_and(|used| used > 0) => {
            return Err(WrongUse::BeforeStart);
        }
        SessionStep::Reserve => None,
        SessionStep::Update | SessionStep::Terminate => used,
    };
    let requested = service.amount().filter(|_| step != SessionStep::Terminate);
    let min = requested.map(|_| terms.grant_min);
    let item = ItemRequest { key, unit: terms.unit, used, requested, min };
    Ok((used.is_some() || requested.is_some()).then_some(item))
}
