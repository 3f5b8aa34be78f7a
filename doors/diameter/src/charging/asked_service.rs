//! One service of a request: its terms in the table of services, and the amounts in the measure that these name.

use super::units;
use scurry_diameter::ccr::{CreditControlRequest, Service, Units};
use scurry_diameter::{Refusal, ResultCode, attribute};
use scurry_quota::{Asked, TableResult, table_result};
use scurry_service_table::{ServiceTable, ServiceTerms};
use smallvec::SmallVec;
use std::sync::Arc;

/// The services of a request; one is the usual number.
pub(super) type AskedServices = SmallVec<[AskedService; 1]>;

/// One service of a request. It owns what its answer repeats.
#[derive(Clone, Debug)]
pub(super) struct AskedService {
    pub(super) rating_group: Option<u32>,
    pub(super) identifiers: SmallVec<[u32; 1]>,
    /// None if the table has no terms for the service.
    pub(super) terms: Option<Arc<ServiceTerms>>,
    /// Used units. None if the request reports none.
    pub(super) used: Option<i64>,
    /// Requested units, 0 if the client leaves the amount to the server. None if it requests none.
    pub(super) asked: Option<i64>,
    /// Whether it requests units none of which count: 0, or of another kind than that of its terms.
    pub(super) asks_none: bool,
}

impl AskedService {
    fn of(
        service: &Service<'_>,
        context: &str,
        table: &ServiceTable,
    ) -> Result<AskedService, Refusal<'static>> {
        let terms = table.find(context, service.rating_group, only(service.identifiers)).cloned();
        let mut asked = AskedService {
            rating_group: service.rating_group,
            identifiers: SmallVec::from_slice(service.identifiers),
            terms: None,
            used: None,
            asked: None,
            asks_none: false,
        };
        if let Some(terms) = terms {
            asked.used = units::used(service.used, terms.measure)?;
            if let Some(requested) = &service.requested {
                let amount = units::requested(requested, terms.measure)?;
                asked.asks_none = amount.unwrap_or(0) == 0 && *requested != Units::default();
                asked.asked = Some(amount.unwrap_or(0));
            }
            asked.terms = Some(terms);
        }
        Ok(asked)
    }

    /// Returns the services of a request, and whether they are the units outside of any
    /// Multiple-Services-Credit-Control.
    ///
    /// # Errors
    /// 5004 for an amount that cannot be counted, 5007 for units both within and outside.
    pub(super) fn all(
        request: &CreditControlRequest<'_>,
        table: &ServiceTable,
    ) -> Result<(AskedServices, bool), Refusal<'static>> {
        let (context, outside) = (request.service_context_id, &request.outside);
        if request.services.is_empty() {
            let service = AskedService::of(outside, context, table)?;
            return Ok((AskedServices::from_iter([service]), true));
        }
        if AskedService::has_units_outside(request) {
            let outside = match outside.requested {
                Some(_) => attribute::REQUESTED_SERVICE_UNIT,
                None => attribute::USED_SERVICE_UNIT,
            };
            let text = "units are both within and outside Multiple-Services-Credit-Control";
            return Err(Refusal::about(ResultCode::CONTRADICTING_AVPS, outside, text));
        }
        let services = request.services.iter();
        let services = services.map(|service| AskedService::of(&service, context, table));
        Ok((services.collect::<Result<_, _>>()?, false))
    }

    /// Reports whether a request has units outside of any Multiple-Services-Credit-Control.
    pub(super) fn has_units_outside(request: &CreditControlRequest<'_>) -> bool {
        request.outside.requested.is_some() || !request.outside.used.is_empty()
    }

    /// Reports whether it tells of use alone: that has happened, and nothing is asked for.
    pub(super) fn is_report(&self) -> bool {
        self.asked.is_none() && self.used.is_some()
    }

    /// Returns the service as the store is asked for it.
    pub(super) fn quota(&self) -> Asked<'_> {
        Asked {
            terms: self.terms.as_deref(),
            rating_group: self.rating_group,
            service: only(&self.identifiers),
            used: self.used,
            requested: self.asked,
        }
    }

    /// Returns what a service is answered without the store. None if the store decides.
    pub(super) fn settled_result(&self) -> Option<ResultCode> {
        table_result(&self.quota()).map(|result| match result {
            TableResult::Unknown => ResultCode::RATING_FAILED,
            TableResult::NotApplicable => ResultCode::CREDIT_CONTROL_NOT_APPLICABLE,
        })
    }
}

/// Returns the Service-Identifier if there is exactly one.
fn only(identifiers: &[u32]) -> Option<u32> {
    match identifiers {
        [identifier] => Some(*identifier),
        _ => None,
    }
}
