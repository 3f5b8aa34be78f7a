//! Which slots of a block of receive entries are free.

use std::io;

/// Returns `count` if at least as many slots are free, that is, their entry was used or never
/// posted.
pub(crate) fn free_slots(entries: u32, posted: u64, used: u64, count: usize) -> io::Result<u64> {
    let free = u64::from(entries) - (posted - used);
    let count = count as u64;
    if count > free {
        let what = format!("{count} more receive entries: there is room for {free} of {entries}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(count)
}
