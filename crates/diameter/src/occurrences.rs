//! AVPs of one kind that are copied as they are, such as Proxy-Info. Only where they lie is kept.

use crate::attribute::Attribute;
use crate::avp::Avp;
use crate::avps::Avps;
use std::fmt;

/// The AVPs of one name in a message, in their order.
#[derive(Clone, Copy)]
pub struct Occurrences<'a> {
    attribute: Attribute,
    /// From the first to the last of them, with all others in between.
    region: &'a [u8],
}

impl<'a> Occurrences<'a> {
    /// Returns the AVPs of that name in a region of whole AVPs. A door that answers later keeps a copy of
    /// [`Occurrences::region`].
    #[must_use]
    pub fn new(attribute: Attribute, region: &'a [u8]) -> Occurrences<'a> {
        Occurrences { attribute, region }
    }

    /// Returns the bytes that contain them.
    #[must_use]
    pub fn region(&self) -> &'a [u8] {
        self.region
    }

    /// Returns the AVPs.
    pub fn iter(&self) -> impl Iterator<Item = Avp<'a>> + use<'a> {
        let attribute = self.attribute;
        let avps = Avps::new(self.region).map_while(Result::ok);
        avps.filter(move |avp| avp.is(attribute))
    }
}

impl fmt::Debug for Occurrences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|avp| avp.data)).finish()
    }
}

/// Collects where occurrences lie while the AVPs of a message are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Region {
    from: usize,
    to: usize,
}

impl Region {
    /// Includes the AVP that ends where `rest_len` bytes of the body remain.
    pub(crate) fn include(&mut self, body: &[u8], avp: &Avp<'_>, rest_len: usize) {
        let to = body.len() - rest_len;
        if self.to == 0 {
            self.from = to.saturating_sub(avp.bytes.len().next_multiple_of(4));
        }
        self.to = to;
    }

    pub(crate) fn of<'a>(&self, body: &'a [u8], attribute: Attribute) -> Occurrences<'a> {
        Occurrences::new(attribute, body.get(self.from..self.to).unwrap_or_default())
    }
}
