//! One service of a request: a Multiple-Services-Credit-Control (RFC 8506, 8.16), or the units outside of any.

use super::lists::{Lists, Record};
use super::triggers::Triggers;
use super::units::{Units, UsedUnits};
use crate::attribute::{
    RATING_GROUP, REFUND_INFORMATION, REPORTING_REASON, REQUESTED_SERVICE_UNIT, RESULT_CODE,
    SERVICE_IDENTIFIER, TRIGGER, TRIGGER_TYPE, USED_SERVICE_UNIT, VALIDITY_TIME,
};
use crate::writer::MessageWriter;

/// A service and its units. Which AVPs were present is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service<'a> {
    /// Requested-Service-Unit. An empty group asks for as much as the server decides.
    pub requested: Option<Units>,
    /// Used-Service-Unit, each of them.
    pub used: &'a [UsedUnits],
    /// Service-Identifier, each of them.
    pub identifiers: &'a [u32],
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// Reporting-Reason of 3GPP, why the units are reported.
    pub reporting_reason: Option<u32>,
    /// Trigger-Type of 3GPP: which triggers have made the client ask.
    pub triggers: Triggers,
    /// Validity-Time, seconds.
    pub validity_s: Option<u32>,
    /// Result-Code, by which some clients repeat the last answer.
    pub result_code: Option<u32>,
    /// Refund-Information of 3GPP; empty if there is none.
    pub refund_information: &'a [u8],
    /// True if there is a G-S-U-Pool-Reference.
    pub is_pooled: bool,
}

impl<'a> Service<'a> {
    pub(super) fn of(record: &Record, lists: &'a Lists) -> Service<'a> {
        Service {
            requested: record.requested,
            used: record.used.of(&lists.used),
            identifiers: record.identifiers.of(&lists.identifiers),
            rating_group: record.rating_group,
            reporting_reason: record.reporting_reason,
            triggers: record.triggers,
            validity_s: record.validity_s,
            result_code: record.result_code,
            refund_information: record.refund.of(&lists.refunds),
            is_pooled: record.is_pooled,
        }
    }

    /// Writes the AVPs of the service, without a group around them. A pool is not written.
    pub(super) fn write(&self, writer: &mut MessageWriter<'_>) {
        if let Some(requested) = &self.requested {
            writer.group(REQUESTED_SERVICE_UNIT, |writer| requested.write(writer));
        }
        for used in self.used {
            writer.group(USED_SERVICE_UNIT, |writer| used.write(writer));
        }
        for &identifier in self.identifiers {
            writer.u32(SERVICE_IDENTIFIER, identifier);
        }
        for (attribute, value) in [
            (RATING_GROUP, self.rating_group),
            (VALIDITY_TIME, self.validity_s),
            (RESULT_CODE, self.result_code),
            (REPORTING_REASON, self.reporting_reason),
        ] {
            if let Some(value) = value {
                writer.u32(attribute, value);
            }
        }
        if !self.triggers.is_empty() {
            writer.group(TRIGGER, |writer| {
                for trigger_type in (0..128).filter(|value| self.triggers.contains(*value)) {
                    writer.u32(TRIGGER_TYPE, trigger_type);
                }
            });
        }
        if !self.refund_information.is_empty() {
            writer.bytes(REFUND_INFORMATION, self.refund_information);
        }
    }
}

/// The services of a request, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Services<'a> {
    pub(super) records: &'a [Record],
    pub(super) lists: &'a Lists,
}

impl<'a> Services<'a> {
    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Reports whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the services.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Service<'a>> + use<'a> {
        let lists = self.lists;
        self.records.iter().map(move |record| Service::of(record, lists))
    }
}
