//! How large the completion queues of a hub become.

/// Completions that the first queue has room for.
const FIRST: u32 = 4096;

/// The room of the next queue, with so much in those before: as much again, and enough for what is
/// wanted; none when that is more than is allowed, together or of one.
pub(crate) fn next_room(made: u32, wanted: u32, room: u32, most: u32) -> Option<u32> {
    let left = room.saturating_sub(made).min(most);
    (left >= wanted).then(|| made.max(FIRST).max(wanted).min(left))
}
