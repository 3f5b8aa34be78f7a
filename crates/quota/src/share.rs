//! What one service gets.

use crate::Asked;
use scurry_ledger::{Code, Final, ItemAnswer};
use scurry_service_table::Mode;

/// What one service gets of the answer to its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The result.
    pub code: Code,
    /// Granted units, 0 for none.
    pub granted: i64,
    /// Whether these are the last units, so that the client takes the final action when they are used.
    pub is_final: bool,
}

/// What the table decides of a service without the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableResult {
    /// It has no row for the service.
    Unknown,
    /// The service is free, or recorded only: there is no quota.
    NotApplicable,
}

/// Returns what the table decides of a service. None if the store decides.
pub fn table_result(asked: &Asked<'_>) -> Option<TableResult> {
    match asked.terms.map(|terms| terms.mode) {
        None => Some(TableResult::Unknown),
        Some(Mode::Free | Mode::Record) => Some(TableResult::NotApplicable),
        Some(Mode::Charge) => None,
    }
}

impl Share {
    /// Takes what a service gets of the answer to its item, of which `left` units are left for services that share it.
    pub(crate) fn take(asked: &Asked<'_>, answer: &ItemAnswer, left: &mut i64) -> Share {
        let amount = asked.amount();
        let granted = amount.unwrap_or(0).min(*left);
        *left -= granted;
        let code = match answer.code {
            // Another service of the same item has got all of it.
            Code::Ok if granted == 0 && answer.granted > 0 && amount.is_some() => {
                Code::CreditLimitReached
            }
            code => code,
        };
        let is_final = match answer.last {
            Final::No => false,
            Final::Last => true,
            Final::Held => asked.charged().is_some_and(|terms| terms.final_while_held),
        };
        Share { code, granted, is_final }
    }
}
