//! The terms of one service.

use crate::{FinalAction, Measure, Threshold};
use scurry_ledger::{ItemKey, Name};
use serde::Deserialize;

/// How a service is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Units are reserved and debited.
    #[default]
    Charge,
    /// Nothing is reserved or debited: Result-Code 4011.
    Free,
    /// Nothing is reserved. Reported use becomes an item in [`ServiceTerms::unit`], of which the account has no bucket, so
    /// that events and statements have it and no balance changes.
    Record,
}

/// The terms of one service. Amounts are minor units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceTerms {
    /// What it is measured in.
    pub measure: Measure,
    /// Unit of the account's buckets.
    pub unit: Name,
    /// How it is charged.
    pub mode: Mode,
    /// What a client gets that does not say how much.
    pub grant: i64,
    /// Least grant. Below it there is none, and the request is denied.
    pub grant_min: i64,
    /// Largest grant.
    pub grant_max: i64,
    /// Validity of a grant, seconds.
    pub validity_s: u32,
    /// Units that are left when the client asks again; see [`ServiceTerms::threshold_of`].
    pub(crate) threshold: Option<Threshold>,
    /// Seconds without traffic after which the client returns the quota.
    pub quota_holding_s: Option<u32>,
    /// Seconds without traffic that still count as used time.
    pub quota_consumption_s: Option<u32>,
    /// What the client does when the last units are used.
    pub final_action: FinalAction,
    /// Whether it does so also if other sessions hold what is left.
    pub final_while_held: bool,
    /// Whether a session stays open whose first request is denied.
    pub keep_when_denied: bool,
    /// Bucket of a refund that names no debit.
    pub refund_bucket: Option<Name>,
    /// Whether the service is an item of its own in its rating group.
    pub(crate) is_own_item: bool,
}

impl ServiceTerms {
    /// Returns the terms that hold for a measure where a row says nothing else.
    pub(crate) fn standard(measure: Measure) -> ServiceTerms {
        const MIB: i64 = 1 << 20;
        let (unit, grant, grant_max) = match measure {
            Measure::Volume => (const { Name::literal("octet") }, 10 * MIB, i64::MAX),
            // CC-Time has 32 bits.
            Measure::Time => (const { Name::literal("second") }, 600, i64::from(u32::MAX)),
            Measure::Units => (const { Name::literal("unit") }, 1, i64::MAX),
            Measure::Money { decimals, .. } => {
                let one = 10_i64.checked_pow(u32::from(decimals)).unwrap_or(i64::MAX);
                (const { Name::literal("minor") }, one, i64::MAX)
            }
        };
        ServiceTerms {
            measure,
            unit,
            mode: Mode::Charge,
            grant,
            grant_min: 1,
            grant_max,
            validity_s: ServiceTerms::VALIDITY_S,
            threshold: None,
            quota_holding_s: None,
            quota_consumption_s: None,
            final_action: FinalAction::Terminate,
            final_while_held: false,
            keep_when_denied: false,
            refund_bucket: None,
            is_own_item: false,
        }
    }

    /// Validity of a grant where a row says nothing else, seconds.
    pub(crate) const VALIDITY_S: u32 = 600;

    /// Returns how much to reserve for a client that asks for `asked` units; None or 0 if it does not say.
    pub fn amount(&self, asked: Option<i64>) -> i64 {
        asked.filter(|asked| *asked > 0).unwrap_or(self.grant).clamp(self.grant_min, self.grant_max)
    }

    /// Returns the units that are left of a grant when the client asks again. None if it asks when all are used.
    pub fn threshold_of(&self, granted: i64) -> Option<i64> {
        self.threshold.and_then(|threshold| threshold.of(granted))
    }

    /// Returns the key of the session's item: the rating group, with the service identifier if the terms are of that
    /// service alone; `-` without a rating group.
    pub fn item(&self, rating_group: Option<u32>, service: Option<u32>) -> ItemKey {
        let service = service.filter(|_| self.is_own_item);
        match (rating_group, service) {
            (Some(group), None) => ItemKey::Number(group),
            (Some(group), Some(service)) => key(&format!("{group}.{service}")),
            (None, Some(service)) => key(&format!("-.{service}")),
            (None, None) => key("-"),
        }
    }
}

fn key(text: &str) -> ItemKey {
    ItemKey::new(text.as_bytes()).unwrap_or_else(|| unreachable!("at most 21 printable bytes"))
}
