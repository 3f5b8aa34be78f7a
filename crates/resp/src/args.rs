//! The arguments of a request, found in place: nothing is copied.

/// Arguments of one request, borrowed from the input. The first one is the command's name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Args<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) spans: &'a [ArgumentSpan],
}

impl<'a> Args<'a> {
    /// Returns the number of arguments, the command's name included.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Reports whether there are no arguments: an empty line or an empty array.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the argument at this position; `None` after the last.
    pub fn get(&self, position: usize) -> Option<&'a [u8]> {
        let span = self.spans.get(position)?;
        self.bytes.get(span.start as usize..span.start as usize + span.len as usize)
    }

    /// Returns the argument at this position, empty after the last: for commands whose arity was checked.
    pub fn at(&self, position: usize) -> &'a [u8] {
        self.get(position).unwrap_or_default()
    }

    /// Returns `len` arguments from this position on as a request of their own; `None` if there are fewer.
    pub fn part(&self, position: usize, len: usize) -> Option<Args<'a>> {
        let spans = self.spans.get(position..)?.get(..len)?;
        Some(Args { spans, ..*self })
    }

    /// Iterates over the arguments from this position on.
    pub fn iter_from(&self, position: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let args = *self;
        (position..args.len()).map(move |position| args.at(position))
    }
}

/// Position of an argument, counted from the first byte of its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArgumentSpan {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl ArgumentSpan {
    /// Builds a span. The casts cannot truncate: [`crate::Parser::parse`] bounds requests to 32 bits.
    #[expect(clippy::cast_possible_truncation, reason = "request_len_max is clamped to u32::MAX")]
    pub(crate) fn new(start: usize, len: usize) -> ArgumentSpan {
        ArgumentSpan { start: start as u32, len: len as u32 }
    }
}
