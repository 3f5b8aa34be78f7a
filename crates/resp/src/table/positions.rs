//! Finds the keys of a request.

use crate::{Args, parse_integer};

/// Iterator over the positions of a request's keys.
#[derive(Clone, Debug)]
pub struct KeyPositions<'a> {
    pub(super) args: Args<'a>,
    pub(super) next: usize,
    pub(super) end: usize,
    /// Distance between keys; `None` if it depends on the arguments.
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
            None => chain_link_end(self.args.get(position + 1), position, self.args.len())
                .unwrap_or(self.end),
        };
        Some(position)
    }
}

/// Returns the position after a command of a chain. `position` is that of its account, and `count` the word after the
/// account, which states the number of the command's words. `None` if it is not a number or there are fewer words.
pub fn chain_link_end(count: Option<&[u8]>, position: usize, arguments: usize) -> Option<usize> {
    let count = usize::try_from(parse_integer(count?)?).ok()?;
    let end = count.checked_add(position + 2)?;
    (count > 0 && end <= arguments).then_some(end)
}
