//! One service of a request, as both protocols have it.

use scurry_ledger::ItemKey;
use scurry_service_table::{Mode, ServiceTerms};

/// One service of a request: its terms, and amounts in the measure that these name.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// None if the table has no terms for the service.
    pub terms: Option<&'a ServiceTerms>,
    /// The rating group.
    pub rating_group: Option<u32>,
    /// The service identifier, if there is exactly one.
    pub service: Option<u32>,
    /// Used units. None if the request reports none.
    pub used: Option<i64>,
    /// Requested units, 0 if the client leaves the amount to the server. None if it requests none.
    pub requested: Option<i64>,
}

impl<'a> Asked<'a> {
    /// Returns the terms if the service is charged.
    pub fn charged(&self) -> Option<&'a ServiceTerms> {
        self.terms.filter(|terms| terms.mode == Mode::Charge)
    }

    /// Returns the key of the service's item. None if the table has no terms for it.
    pub fn key(&self) -> Option<ItemKey> {
        Some(self.terms?.item(self.rating_group, self.service))
    }

    /// Returns how much the store is asked for. None if nothing is requested.
    pub(crate) fn amount(&self) -> Option<i64> {
        let terms = self.charged()?;
        self.requested.map(|requested| terms.amount(Some(requested)))
    }

    /// Returns how much an event debits: what it asks for, or the grant if the client leaves it to the server. None if
    /// nothing is requested.
    pub fn debit(&self) -> Option<i64> {
        let terms = self.charged()?;
        self.requested.map(|asked| if asked > 0 { asked } else { terms.grant })
    }

    /// Reports whether the session stays open if all services that are charged are denied at its start: this one goes on
    /// without units, or waits for credit.
    pub fn keeps_session(&self) -> bool {
        self.terms.is_some_and(|terms| terms.mode != Mode::Charge || terms.keep_when_denied)
    }
}
