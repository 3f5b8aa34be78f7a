//! The lists of a request, in vectors that are used again for each request.

use super::once::{once, too_many};
use super::triggers::Triggers;
use super::units::{Units, UsedUnits};
use crate::attribute::{
    G_S_U_POOL_REFERENCE, RATING_GROUP, REFUND_INFORMATION, REPORTING_REASON,
    REQUESTED_SERVICE_UNIT, RESULT_CODE, SERVICE_IDENTIFIER, TRIGGER, TRIGGER_TYPE,
    USED_SERVICE_UNIT, VALIDITY_TIME,
};
use crate::avp::Avp;
use crate::avps::Avps;
use crate::dictionary::VENDOR_3GPP;
use crate::refusal::Refusal;

/// Multiple-Services-Credit-Control AVPs in one request.
pub const SERVICES_MAX: usize = 64;
/// Used-Service-Unit AVPs in one service.
pub const USED_MAX: usize = 32;
/// Service-Identifier AVPs in one service.
pub const IDENTIFIERS_MAX: usize = 32;

/// Memory for the lists of one request. The next request uses it again.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) records: Vec<Record>,
    /// Lists of all services.
    pub(super) inside: Lists,
    /// Lists of the units outside of any service.
    pub(super) outside: Lists,
}

impl Scratch {
    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.inside.clear();
        self.outside.clear();
    }

    /// Reads one Multiple-Services-Credit-Control.
    pub(super) fn read_service<'a>(&mut self, group: &Avp<'a>) -> Result<(), Refusal<'a>> {
        if self.records.len() == SERVICES_MAX {
            return Err(too_many(group));
        }
        let mut record = self.inside.record();
        for avp in Avps::within(group)? {
            let avp = avp?;
            if !record.read_member(&avp, &mut self.inside)? {
                avp.pass_over()?;
            }
        }
        self.records.push(record);
        Ok(())
    }
}

/// Lists of several services, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(super) used: Vec<UsedUnits>,
    pub(super) identifiers: Vec<u32>,
    pub(super) refunds: Vec<u8>,
}

impl Lists {
    fn clear(&mut self) {
        self.used.clear();
        self.identifiers.clear();
        self.refunds.clear();
    }

    /// Returns a record whose lists begin at the end of these.
    pub(super) fn record(&self) -> Record {
        Record {
            used: Part::end_of(&self.used),
            identifiers: Part::end_of(&self.identifiers),
            refund: Part::end_of(&self.refunds),
            ..Record::default()
        }
    }
}

/// Part of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    start: usize,
    len: usize,
}

impl Part {
    fn end_of<T>(list: &[T]) -> Part {
        Part { start: list.len(), len: 0 }
    }

    pub(super) fn of<T>(self, list: &[T]) -> &[T] {
        list.get(self.start..self.start + self.len).unwrap_or_default()
    }
}

/// A service whose lists are parts of [`Lists`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(super) requested: Option<Units>,
    pub(super) used: Part,
    pub(super) identifiers: Part,
    pub(super) rating_group: Option<u32>,
    pub(super) reporting_reason: Option<u32>,
    pub(super) triggers: Triggers,
    pub(super) validity_s: Option<u32>,
    pub(super) result_code: Option<u32>,
    pub(super) refund: Part,
    pub(super) is_pooled: bool,
}

impl Record {
    /// Reads one AVP of a service, and reports whether it is one that is known here. The lists of this record are the
    /// last ones of `lists`.
    #[inline]
    pub(super) fn read_member<'a>(
        &mut self,
        avp: &Avp<'a>,
        lists: &mut Lists,
    ) -> Result<bool, Refusal<'a>> {
        match (avp.vendor, avp.code) {
            (0, code) if code == REQUESTED_SERVICE_UNIT.code => {
                once(&mut self.requested, avp, Units::read(avp))?;
            }
            (0, code) if code == USED_SERVICE_UNIT.code => {
                if self.used.len == USED_MAX {
                    return Err(too_many(avp));
                }
                lists.used.push(UsedUnits::read(avp)?);
                self.used.len += 1;
            }
            (0, code) if code == RATING_GROUP.code => {
                once(&mut self.rating_group, avp, avp.u32())?;
            }
            (0, code) if code == SERVICE_IDENTIFIER.code => {
                if self.identifiers.len == IDENTIFIERS_MAX {
                    return Err(too_many(avp));
                }
                lists.identifiers.push(avp.u32()?);
                self.identifiers.len += 1;
            }
            (0, code) if code == VALIDITY_TIME.code => once(&mut self.validity_s, avp, avp.u32())?,
            (0, code) if code == RESULT_CODE.code => once(&mut self.result_code, avp, avp.u32())?,
            (0, code) if code == G_S_U_POOL_REFERENCE.code => self.is_pooled = true,
            (VENDOR_3GPP, code) => return self.read_3gpp(avp, code, lists),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_3gpp<'a>(
        &mut self,
        avp: &Avp<'a>,
        code: u32,
        lists: &mut Lists,
    ) -> Result<bool, Refusal<'a>> {
        if code == REPORTING_REASON.code {
            let reason = avp.u32()?;
            self.reporting_reason.get_or_insert(reason);
        } else if code == TRIGGER.code {
            for avp in Avps::within(avp)? {
                let avp = avp?;
                if avp.is(TRIGGER_TYPE) { self.triggers.add(avp.u32()?) } else { avp.pass_over()? }
            }
        } else if code == TRIGGER_TYPE.code {
            self.triggers.add(avp.u32()?);
        } else if code == REFUND_INFORMATION.code {
            if self.refund.len > 0 {
                return Err(too_many(avp));
            }
            lists.refunds.extend_from_slice(avp.data);
            self.refund.len = avp.data.len();
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}
