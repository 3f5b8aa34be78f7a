//! The entries of a request: what each rating group reports and requests, with its terms in the table of services. What
//! an entry says wrong is left out and told, and refuses nothing else.

use crate::request::{ChargingDataRequest, MultipleUnitUsage, QuotaManagement, UsedUnitContainer};
use crate::units::{UnitAmounts, UnitKind};
use scurry_quota::Asked;
use scurry_service_table::{ServiceTable, ServiceTerms};
use serde_json::Value;
use std::sync::Arc;

/// One element of multipleUnitUsage.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) rating_group: u32,
    /// Given back as it came.
    pub(crate) upf_id: Option<Value>,
    /// What it is answered about, then use of other kinds.
    pub(crate) services: Vec<EntryService>,
    /// Whether all that it says is for charging records: there is no quota.
    pub(crate) is_offline: bool,
    /// Uplink and downlink as they were requested, if no total was.
    pub(crate) directions: Option<(i64, i64)>,
}

/// One kind of units of an entry.
#[derive(Debug)]
pub(crate) struct EntryService {
    /// None if the table has no row for the service.
    terms: Option<Arc<ServiceTerms>>,
    used: Option<i64>,
    requested: Option<i64>,
}

/// What was left out of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// JSON pointer of the member.
    pub(crate) pointer: String,
    pub(crate) reason: &'static str,
}

/// The entries of a request, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) entries: Vec<Entry>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Most units that a consumer can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrantBound(pub(crate) i64);

const WRONG_AMOUNT: &str = "is negative, no whole number, or too large: it is not counted";
const OTHER_KIND: &str = "has none of the units that this rating group is charged in";
const WRONG_GROUP: &str = "is no whole number of 32 bits: nothing of this entry is counted";

impl Entry {
    /// Returns the services as the store is asked for them.
    pub(crate) fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        self.services.iter().map(|service| Asked {
            terms: service.terms.as_deref(),
            rating_group: Some(self.rating_group),
            service: None,
            used: service.used,
            requested: service.requested,
        })
    }

    /// Reports whether it has use to be settled.
    pub(crate) fn has_use(&self) -> bool {
        self.services.iter().any(|service| service.used.is_some_and(|used| used > 0))
    }
}

impl Entries {
    /// Reads the entries of a request. A container of several kinds is read as `preferred` where the table leaves it open
    /// and the entry requests no kind.
    pub(crate) fn of(
        request: &ChargingDataRequest,
        table: &ServiceTable,
        preferred: UnitKind,
        bound: GrantBound,
    ) -> Entries {
        let mut all = Entries::default();
        for (number, usage) in request.multiple_unit_usage.iter().enumerate() {
            let place = format!("/multipleUnitUsage/{number}");
            let Some(rating_group) = usage.rating_group.u32() else {
                all.left_out(format!("{place}/ratingGroup"), WRONG_GROUP);
                continue;
            };
            let terms = match table.has_own_services() {
                true => Some(table.find(request.context(), Some(rating_group), None).cloned()),
                false => None,
            };
            let mut reader = EntryReader { place, usage, all: &mut all, bound };
            let entry = match terms {
                Some(terms) => reader.by_table(rating_group, terms),
                None => reader.by_kind(rating_group, table, preferred),
            };
            all.entries.push(entry);
        }
        all
    }

    fn left_out(&mut self, pointer: String, reason: &'static str) {
        self.left_out.push(LeftOut { pointer, reason });
    }

    /// Returns all services as the store is asked for them.
    pub(crate) fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        self.entries.iter().flat_map(Entry::asked)
    }
}

/// Returns the first kind of unit that a request asks for, or volume if it asks for none.
pub(crate) fn first_kind(request: &ChargingDataRequest) -> UnitKind {
    let asked = request.multiple_unit_usage.iter().filter_map(|usage| usage.requested_unit);
    asked.flat_map(|units| units.kinds().next()).next().unwrap_or(UnitKind::Volume)
}

/// Reads one entry.
struct EntryReader<'a> {
    place: String,
    usage: &'a MultipleUnitUsage,
    all: &'a mut Entries,
    bound: GrantBound,
}

impl EntryReader<'_> {
    /// Returns the entry of a service whose row in the table says what it is measured in.
    fn by_table(&mut self, rating_group: u32, terms: Option<Arc<ServiceTerms>>) -> Entry {
        // Nchf has no units of money, so such a row is none for it.
        let terms = terms.filter(|terms| UnitKind::of(terms.measure).is_some());
        let kind = terms.as_ref().and_then(|terms| UnitKind::of(terms.measure));
        let order: Vec<UnitKind> = kind.into_iter().collect();
        let used = kind.and_then(|kind| self.used(&order, kind));
        let requested = self.requested(kind);
        let services = vec![EntryService { terms, used, requested }];
        self.entry(rating_group, services)
    }

    /// Returns the entry of a service that is measured in what it asks for. A container may have several kinds of units,
    /// but is debited once: in the first kind of an order that it has.
    fn by_kind(&mut self, rating_group: u32, table: &ServiceTable, preferred: UnitKind) -> Entry {
        let asked = self.usage.requested_unit.and_then(|units| units.kinds().next());
        let mut order = vec![asked.unwrap_or(preferred), preferred];
        order.extend(UnitKind::ALL);
        let counted: Vec<UnitAmounts> =
            self.counted().map(|(_, container)| container.units).collect();
        let kind_of = |units: &UnitAmounts| order.iter().copied().find(|kind| units.has(*kind));
        let place_of = |kind: UnitKind| order.iter().position(|other| *other == kind);
        // Without a requested kind, the entry is of the reported kind that is first in the order.
        let first = counted.iter().filter_map(kind_of).min_by_key(|kind| place_of(*kind));
        let kind = asked.or(first).unwrap_or(preferred);
        let requested = self.requested(Some(kind));
        let mut services = Vec::new();
        for one in [kind].into_iter().chain(UnitKind::ALL.into_iter().filter(|one| *one != kind)) {
            let used = self.used(&order, one);
            let requested = requested.filter(|_| one == kind);
            if one == kind || used.is_some() {
                let terms = Some(Arc::clone(table.standard_terms(one.measure())));
                services.push(EntryService { terms, used, requested });
            }
        }
        self.entry(rating_group, services)
    }

    fn entry(&mut self, rating_group: u32, services: Vec<EntryService>) -> Entry {
        let mut containers = self.usage.used_unit_container.iter();
        let is_offline = !self.usage.used_unit_container.is_empty()
            && containers.all(|container| container.management() == QuotaManagement::Offline)
            && services.iter().all(|service| service.requested.is_none());
        Entry {
            rating_group,
            upf_id: self.usage.upf_id.clone(),
            services,
            is_offline,
            directions: self.usage.requested_unit.and_then(|units| units.directions()),
        }
    }

    /// Returns the containers that are debited, with their indices.
    fn counted(&self) -> impl Iterator<Item = (usize, &UsedUnitContainer)> {
        let containers = self.usage.used_unit_container.iter().enumerate();
        containers.filter(|(_, container)| container.management() != QuotaManagement::Offline)
    }

    /// Returns the use in a kind: of the containers for which it is the first kind of the order. None if there is none.
    fn used(&mut self, order: &[UnitKind], kind: UnitKind) -> Option<i64> {
        let mut left_out = Vec::new();
        let mut sum = None;
        for (number, container) in self.counted() {
            let pointer = || format!("{}/usedUnitContainer/{number}", self.place);
            match order.iter().copied().find(|kind| container.units.has(*kind)) {
                Some(first) if first != kind => {}
                Some(_) => match container.units.used(kind) {
                    Ok(amount) => sum = Some(sum.unwrap_or(0_i64) + amount.unwrap_or(0)),
                    Err(_) => {
                        let member = container.units.wrong_member(kind);
                        left_out.push((format!("{}/{member}", pointer()), WRONG_AMOUNT));
                    }
                },
                // The client reports in units that are not charged here, or an empty container, which reports nothing.
                None if UnitKind::ALL.into_iter().any(|kind| container.units.has(kind)) => {
                    left_out.push((pointer(), OTHER_KIND));
                }
                None => sum = Some(sum.unwrap_or(0)),
            }
        }
        for (pointer, reason) in left_out {
            self.all.left_out(pointer, reason);
        }
        sum
    }

    /// Returns the requested units of a kind, 0 if the amount is left to the server. None if there is no request: also
    /// one of no units, beside use that is for charging records only, or while quota management is suspended.
    fn requested(&mut self, kind: Option<UnitKind>) -> Option<i64> {
        let units = self.usage.requested_unit?;
        let containers = &self.usage.used_unit_container;
        let is = |management| containers.iter().any(|one| one.management() == management);
        let is_empty = units.kinds().next().is_none();
        let is_offline = !containers.is_empty()
            && !is(QuotaManagement::Online)
            && !is(QuotaManagement::Suspended);
        if is(QuotaManagement::Suspended) || is_offline && is_empty {
            return None;
        }
        let Some(kind) = kind else { return Some(0) };
        match units.amount_of(kind) {
            Ok(Some(0)) => None,
            Ok(amount) => Some(amount.unwrap_or(0).min(self.bound.0)),
            Err(_) => {
                let member = units.wrong_member(kind);
                self.all.left_out(format!("{}/requestedUnit/{member}", self.place), WRONG_AMOUNT);
                None
            }
        }
    }
}
