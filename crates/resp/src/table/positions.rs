//! Where the keys of a request are.

use crate::{Args, parse_integer};

/// Positions of the keys of a request.
#[derive(Clone, Debug)]
pub struct KeyPositions<'a> {
    pub(super) args: Args<'a>,
    pub(super) next: usize,
    pub(super) end: usize,
    /// From one to the next; none where the arguments say it.
    pub(super) step: Option<usize>,
}

impl Iterator for KeyPositions<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let position = self.next;
        if position >= self.end {
            return None;
        }
        self.next = match self.step {
            Some(step) => position + step,
            None => {
                behind(self.args.get(position + 1), position, self.args.len()).unwrap_or(self.end)
            }
        };
        Some(position)
    }
}

/// The position behind the command of a chain whose account is at a position, by the word behind the
/// account, which says how many words it has; none where it does not say that, or there are fewer.
pub fn behind(count: Option<&[u8]>, position: usize, arguments: usize) -> Option<usize> {
    let count = usize::try_from(parse_integer(count?)?).ok()?;
    let end = count.checked_add(position + 2)?;
    (count > 0 && end <= arguments).then_some(end)
}
