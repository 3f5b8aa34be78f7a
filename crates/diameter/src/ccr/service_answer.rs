//! The answer for one service: a Multiple-Services-Credit-Control of an answer. RFC 8506, 8.16 and 8.34 to 8.39, and
//! TS 32.299, 7.2 for thresholds and times of quotas.

use super::units::Units;
use crate::attribute::{
    FILTER_ID, FINAL_UNIT_ACTION, FINAL_UNIT_INDICATION, GRANTED_SERVICE_UNIT,
    QUOTA_CONSUMPTION_TIME, QUOTA_HOLDING_TIME, RATING_GROUP, REDIRECT_ADDRESS_TYPE,
    REDIRECT_SERVER, REDIRECT_SERVER_ADDRESS, REFUND_INFORMATION, RESTRICTION_FILTER_RULE,
    RESULT_CODE, SERVICE_IDENTIFIER, TARIFF_TIME_CHANGE, TIME_QUOTA_THRESHOLD,
    UNIT_QUOTA_THRESHOLD, VALIDITY_TIME, VOLUME_QUOTA_THRESHOLD,
};
use crate::result_code::ResultCode;
use crate::writer::MessageWriter;

/// Kinds of addresses that users are redirected to: Redirect-Address-Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectAddressType {
    /// An IPv4 address.
    Ipv4 = 0,
    /// An IPv6 address.
    Ipv6 = 1,
    /// A URL.
    Url = 2,
    /// A SIP URI.
    SipUri = 3,
}

/// What the client does when the last units are used: Final-Unit-Indication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalUnit<'a> {
    /// It ends the service.
    Terminate,
    /// It redirects the user.
    Redirect {
        /// The kind of the address.
        kind: RedirectAddressType,
        /// The address.
        address: &'a str,
    },
    /// It restricts the user to some destinations.
    RestrictAccess {
        /// Restriction-Filter-Rule AVPs: each an IPFilterRule.
        rules: &'a [&'a str],
        /// Filter-Id AVPs: names of filters that the client knows.
        filters: &'a [&'a str],
    },
}

/// The answer for one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceAnswer<'a> {
    /// Result-Code of this service. Clients want one in each.
    pub result: ResultCode,
    /// Granted-Service-Unit.
    pub granted: Option<Units>,
    /// Tariff-Time-Change within the granted units, seconds since 1970.
    pub tariff_change_s: Option<i64>,
    /// Service-Identifier, as the request has them.
    pub identifiers: &'a [u32],
    /// Rating-Group, as the request has it.
    pub rating_group: Option<u32>,
    /// Validity-Time, seconds.
    pub validity_s: Option<u32>,
    /// Final-Unit-Indication.
    pub final_unit: Option<FinalUnit<'a>>,
    /// Time-Quota-Threshold: seconds that are left when the client asks again.
    pub time_threshold_s: Option<u32>,
    /// Volume-Quota-Threshold: octets that are left when the client asks again.
    pub volume_threshold: Option<u32>,
    /// Unit-Quota-Threshold: units that are left when the client asks again.
    pub unit_threshold: Option<u32>,
    /// Quota-Holding-Time: seconds without traffic after which the client returns the quota.
    pub quota_holding_s: Option<u32>,
    /// Quota-Consumption-Time: seconds without traffic that still count as used time.
    pub quota_consumption_s: Option<u32>,
    /// Refund-Information of 3GPP: what a refund names of this debit; empty if there is none.
    pub refund_information: &'a [u8],
}

impl ServiceAnswer<'_> {
    /// Returns an answer with a result and nothing else.
    #[must_use]
    pub const fn new(result: ResultCode) -> ServiceAnswer<'static> {
        ServiceAnswer {
            result,
            granted: None,
            tariff_change_s: None,
            identifiers: &[],
            rating_group: None,
            validity_s: None,
            final_unit: None,
            time_threshold_s: None,
            volume_threshold: None,
            unit_threshold: None,
            quota_holding_s: None,
            quota_consumption_s: None,
            refund_information: &[],
        }
    }

    /// Writes the AVPs of the service, without the group around them.
    pub(super) fn write(&self, writer: &mut MessageWriter<'_>) {
        if let Some(granted) = &self.granted {
            writer.group(GRANTED_SERVICE_UNIT, |writer| {
                if let Some(seconds) = self.tariff_change_s {
                    writer.time(TARIFF_TIME_CHANGE, seconds);
                }
                granted.write(writer);
            });
        }
        for &identifier in self.identifiers {
            writer.u32(SERVICE_IDENTIFIER, identifier);
        }
        if let Some(rating_group) = self.rating_group {
            writer.u32(RATING_GROUP, rating_group);
        }
        if let Some(validity_s) = self.validity_s {
            writer.u32(VALIDITY_TIME, validity_s);
        }
        writer.u32(RESULT_CODE, self.result.0);
        if let Some(final_unit) = &self.final_unit {
            final_unit.write(writer);
        }
        for (attribute, value) in [
            (TIME_QUOTA_THRESHOLD, self.time_threshold_s),
            (VOLUME_QUOTA_THRESHOLD, self.volume_threshold),
            (UNIT_QUOTA_THRESHOLD, self.unit_threshold),
            (QUOTA_HOLDING_TIME, self.quota_holding_s),
            (QUOTA_CONSUMPTION_TIME, self.quota_consumption_s),
        ] {
            if let Some(value) = value {
                writer.u32(attribute, value);
            }
        }
        if !self.refund_information.is_empty() {
            writer.bytes(REFUND_INFORMATION, self.refund_information);
        }
    }
}

impl FinalUnit<'_> {
    /// Writes Final-Unit-Indication.
    pub(super) fn write(&self, writer: &mut MessageWriter<'_>) {
        let action = match self {
            FinalUnit::Terminate => 0,
            FinalUnit::Redirect { .. } => 1,
            FinalUnit::RestrictAccess { .. } => 2,
        };
        writer.group(FINAL_UNIT_INDICATION, |writer| {
            writer.u32(FINAL_UNIT_ACTION, action);
            match *self {
                FinalUnit::Terminate => {}
                FinalUnit::Redirect { kind, address } => {
                    writer.group(REDIRECT_SERVER, |writer| {
                        writer.u32(REDIRECT_ADDRESS_TYPE, kind as u32);
                        writer.bytes(REDIRECT_SERVER_ADDRESS, address.as_bytes());
                    });
                }
                FinalUnit::RestrictAccess { rules, filters } => {
                    for rule in rules {
                        writer.bytes(RESTRICTION_FILTER_RULE, rule.as_bytes());
                    }
                    for filter in filters {
                        writer.bytes(FILTER_ID, filter.as_bytes());
                    }
                }
            }
        });
    }
}
