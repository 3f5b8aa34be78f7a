//! Capacities of a hub's completion queues.

/// Capacity of the first queue, completions.
const FIRST: u32 = 4096;

/// Returns the capacity of the next queue when the earlier ones hold `made` completions: as much
/// again, and at least `wanted`. `None` when `wanted` exceeds the rest of the total `room`, or
/// `most`, the device's limit for one queue.
pub(crate) fn next_room(made: u32, wanted: u32, room: u32, most: u32) -> Option<u32> {
    let left = room.saturating_sub(made).min(most);
    (left >= wanted).then(|| made.max(FIRST).max(wanted).min(left))
}
