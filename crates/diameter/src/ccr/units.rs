//! Service units: what is asked for, granted and used. RFC 8506, 8.17 to 8.29.

use super::once::once;
use crate::attribute::{
    CC_INPUT_OCTETS, CC_MONEY, CC_OUTPUT_OCTETS, CC_SERVICE_SPECIFIC_UNITS, CC_TIME,
    CC_TOTAL_OCTETS, CURRENCY_CODE, EXPONENT, REPORTING_REASON, TARIFF_CHANGE_USAGE, UNIT_VALUE,
    VALUE_DIGITS,
};
use crate::avp::Avp;
use crate::avps::Avps;
use crate::dictionary::VENDOR_3GPP;
use crate::refusal::Refusal;
use crate::writer::MessageWriter;

/// Money: `digits * 10^exponent` of a currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Money {
    /// Value-Digits.
    pub digits: i64,
    /// Exponent; absent is 0.
    pub exponent: i32,
    /// Currency-Code: a number of ISO 4217.
    pub currency: Option<u32>,
}

/// Units of any kinds; a kind that is absent is `None`, and a group may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// CC-Time, seconds.
    pub time_s: Option<u32>,
    /// CC-Money.
    pub money: Option<Money>,
    /// CC-Total-Octets.
    pub total_octets: Option<u64>,
    /// CC-Input-Octets.
    pub input_octets: Option<u64>,
    /// CC-Output-Octets.
    pub output_octets: Option<u64>,
    /// CC-Service-Specific-Units.
    pub service_specific: Option<u64>,
}

/// The contents of one Used-Service-Unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedUnits {
    /// The units.
    pub units: Units,
    /// Tariff-Change-Usage: 0 before the change of tariff, 1 after it, 2 not known.
    pub tariff_change_usage: Option<u32>,
    /// Reporting-Reason of 3GPP, why these units are reported.
    pub reporting_reason: Option<u32>,
}

impl Units {
    /// Reads the AVPs of a Requested-Service-Unit.
    pub(super) fn read<'a>(group: &Avp<'a>) -> Result<Units, Refusal<'a>> {
        let mut units = Units::default();
        for avp in Avps::within(group)? {
            let avp = avp?;
            if !units.read_unit(&avp)? {
                avp.pass_over()?;
            }
        }
        Ok(units)
    }

    /// Reads one AVP if it is a unit, and reports whether it is.
    #[inline]
    fn read_unit<'a>(&mut self, avp: &Avp<'a>) -> Result<bool, Refusal<'a>> {
        if avp.vendor != 0 {
            return Ok(false);
        }
        match avp.code {
            code if code == CC_TOTAL_OCTETS.code => once(&mut self.total_octets, avp, avp.u64())?,
            code if code == CC_INPUT_OCTETS.code => once(&mut self.input_octets, avp, avp.u64())?,
            code if code == CC_OUTPUT_OCTETS.code => once(&mut self.output_octets, avp, avp.u64())?,
            code if code == CC_TIME.code => once(&mut self.time_s, avp, avp.u32())?,
            code if code == CC_SERVICE_SPECIFIC_UNITS.code => {
                once(&mut self.service_specific, avp, avp.u64())?;
            }
            code if code == CC_MONEY.code => once(&mut self.money, avp, Money::read(avp))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Writes the units that are present.
    pub(super) fn write(&self, writer: &mut MessageWriter<'_>) {
        if let Some(time_s) = self.time_s {
            writer.u32(CC_TIME, time_s);
        }
        if let Some(money) = &self.money {
            writer.group(CC_MONEY, |writer| money.write(writer));
        }
        for (attribute, value) in [
            (CC_TOTAL_OCTETS, self.total_octets),
            (CC_INPUT_OCTETS, self.input_octets),
            (CC_OUTPUT_OCTETS, self.output_octets),
            (CC_SERVICE_SPECIFIC_UNITS, self.service_specific),
        ] {
            if let Some(value) = value {
                writer.u64(attribute, value);
            }
        }
    }
}

impl UsedUnits {
    pub(super) fn read<'a>(group: &Avp<'a>) -> Result<UsedUnits, Refusal<'a>> {
        let mut used = UsedUnits::default();
        for avp in Avps::within(group)? {
            let avp = avp?;
            if used.units.read_unit(&avp)? {
                // Use of 2^63 units and more is a negative number that was written as an unsigned one.
                let is_negative = avp.data.len() == 8 && avp.u64()? > i64::MAX.unsigned_abs();
                if is_negative {
                    return Err(avp.invalid());
                }
                continue;
            }
            match (avp.vendor, avp.code) {
                (0, code) if code == TARIFF_CHANGE_USAGE.code => {
                    once(&mut used.tariff_change_usage, &avp, avp.u32())?;
                }
                // TS 32.299 lets several reasons stand for the same units.
                (VENDOR_3GPP, code) if code == REPORTING_REASON.code => {
                    let reason = avp.u32()?;
                    used.reporting_reason.get_or_insert(reason);
                }
                _ => avp.pass_over()?,
            }
        }
        Ok(used)
    }

    pub(super) fn write(&self, writer: &mut MessageWriter<'_>) {
        if let Some(usage) = self.tariff_change_usage {
            writer.u32(TARIFF_CHANGE_USAGE, usage);
        }
        self.units.write(writer);
        if let Some(reason) = self.reporting_reason {
            writer.u32(REPORTING_REASON, reason);
        }
    }
}

impl Money {
    fn read<'a>(group: &Avp<'a>) -> Result<Money, Refusal<'a>> {
        let (mut value, mut currency) = (None, None);
        for avp in Avps::within(group)? {
            let avp = avp?;
            match avp {
                _ if avp.is(UNIT_VALUE) => once(&mut value, &avp, Money::read_value(&avp))?,
                _ if avp.is(CURRENCY_CODE) => once(&mut currency, &avp, avp.u32())?,
                _ => avp.pass_over()?,
            }
        }
        let (digits, exponent) = value.ok_or(Refusal::missing(UNIT_VALUE))?;
        Ok(Money { digits, exponent, currency })
    }

    fn read_value<'a>(group: &Avp<'a>) -> Result<(i64, i32), Refusal<'a>> {
        let (mut digits, mut exponent) = (None, None);
        for avp in Avps::within(group)? {
            let avp = avp?;
            match avp {
                _ if avp.is(VALUE_DIGITS) => once(&mut digits, &avp, avp.i64())?,
                _ if avp.is(EXPONENT) => once(&mut exponent, &avp, avp.i32())?,
                _ => avp.pass_over()?,
            }
        }
        Ok((digits.ok_or(Refusal::missing(VALUE_DIGITS))?, exponent.unwrap_or_default()))
    }

    /// Writes Unit-Value and Currency-Code.
    pub(super) fn write(&self, writer: &mut MessageWriter<'_>) {
        writer.group(UNIT_VALUE, |writer| {
            writer.i64(VALUE_DIGITS, self.digits);
            if self.exponent != 0 {
                writer.i32(EXPONENT, self.exponent);
            }
        });
        if let Some(currency) = self.currency {
            writer.u32(CURRENCY_CODE, currency);
        }
    }
}
