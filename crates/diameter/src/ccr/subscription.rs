//! Who is charged: Subscription-Id (RFC 8506, 8.46) and Subscription-Id-Extension (8.58).

use super::once::{once, too_many};
use crate::attribute::{SUBSCRIPTION_ID_DATA, SUBSCRIPTION_ID_TYPE};
use crate::avp::Avp;
use crate::avps::Avps;
use crate::refusal::Refusal;
use std::fmt;

/// Subscription-Id AVPs in one request.
pub const SUBSCRIPTION_IDS_MAX: usize = 8;

/// Kinds of identifiers: Subscription-Id-Type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubscriptionKind {
    /// A telephone number.
    #[default]
    E164,
    /// An IMSI.
    Imsi,
    /// A SIP URI.
    SipUri,
    /// A network access identifier.
    Nai,
    /// An identifier that only the client and the server know.
    Private,
    /// A kind of a later specification.
    Other(u32),
}

impl SubscriptionKind {
    /// Returns the kind with this number.
    #[must_use]
    pub const fn of(number: u32) -> SubscriptionKind {
        match number {
            0 => SubscriptionKind::E164,
            1 => SubscriptionKind::Imsi,
            2 => SubscriptionKind::SipUri,
            3 => SubscriptionKind::Nai,
            4 => SubscriptionKind::Private,
            other => SubscriptionKind::Other(other),
        }
    }

    /// Returns its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            SubscriptionKind::E164 => 0,
            SubscriptionKind::Imsi => 1,
            SubscriptionKind::SipUri => 2,
            SubscriptionKind::Nai => 3,
            SubscriptionKind::Private => 4,
            SubscriptionKind::Other(number) => number,
        }
    }
}

/// One identifier of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionId<'a> {
    /// Its kind.
    pub kind: SubscriptionKind,
    /// Its text.
    pub data: &'a str,
}

impl<'a> SubscriptionId<'a> {
    pub(super) fn read(group: &Avp<'a>) -> Result<SubscriptionId<'a>, Refusal<'a>> {
        let (mut kind, mut data) = (None, None);
        for avp in Avps::within(group)? {
            let avp = avp?;
            match avp {
                _ if avp.is(SUBSCRIPTION_ID_TYPE) => once(&mut kind, &avp, avp.u32())?,
                _ if avp.is(SUBSCRIPTION_ID_DATA) => once(&mut data, &avp, avp.text())?,
                _ => avp.pass_over()?,
            }
        }
        let kind = SubscriptionKind::of(kind.ok_or(Refusal::missing(SUBSCRIPTION_ID_TYPE))?);
        Ok(SubscriptionId { kind, data: data.ok_or(Refusal::missing(SUBSCRIPTION_ID_DATA))? })
    }

    /// Reads a Subscription-Id-Extension, whose AVPs 660 to 664 have the kind in their code.
    pub(super) fn read_extension(
        group: &Avp<'a>,
    ) -> Result<Option<SubscriptionId<'a>>, Refusal<'a>> {
        let mut found = None;
        for avp in Avps::within(group)? {
            let avp = avp?;
            match (avp.vendor, avp.code) {
                (0, code @ 660..=664) => {
                    let kind = SubscriptionKind::of(code - 660);
                    let id = avp.text().map(|data| SubscriptionId { kind, data });
                    once(&mut found, &avp, id)?;
                }
                _ => avp.pass_over()?,
            }
        }
        Ok(found)
    }
}

/// The identifiers of a request, without an allocation.
#[derive(Clone, Copy, Default)]
pub struct SubscriptionIds<'a> {
    ids: [SubscriptionId<'a>; SUBSCRIPTION_IDS_MAX],
    len: usize,
}

impl<'a> SubscriptionIds<'a> {
    /// Returns the identifiers, in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[SubscriptionId<'a>] {
        self.ids.get(..self.len).unwrap_or_default()
    }

    /// Returns the first identifier of this kind.
    #[must_use]
    pub fn find(&self, kind: SubscriptionKind) -> Option<&'a str> {
        self.as_slice().iter().find(|id| id.kind == kind).map(|id| id.data)
    }

    pub(super) fn add(&mut self, avp: &Avp<'a>, id: SubscriptionId<'a>) -> Result<(), Refusal<'a>> {
        *self.ids.get_mut(self.len).ok_or_else(|| too_many(avp))? = id;
        self.len += 1;
        Ok(())
    }
}

impl fmt::Debug for SubscriptionIds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}
