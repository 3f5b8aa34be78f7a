//! Capacities of a hub's completion queues.

#[path = "../../src/completion_queue_capacity.rs"]
mod rules;

use rules::next_room;

#[test]
fn each_queue_is_as_large_as_all_before_it_within_what_is_allowed() {
    assert_eq!(next_room(0, 384, 1 << 20, 1 << 22), Some(4096));
    assert_eq!(next_room(4096, 384, 1 << 20, 1 << 22), Some(4096));
    assert_eq!(next_room(8192, 384, 1 << 20, 1 << 22), Some(8192));
    assert_eq!(next_room(4096, 5000, 1 << 20, 1 << 22), Some(5000), "what is wanted fits");
    assert_eq!(next_room(65_536, 384, 1 << 20, 32_767), Some(32_767), "the device's most");
    assert_eq!(next_room(4096, 384, 4480, 1 << 22), Some(384), "the last of what is allowed");
    assert_eq!(next_room(4096, 385, 4480, 1 << 22), None);
    assert_eq!(next_room(0, 40_000, 1 << 20, 32_767), None, "more than one can hold");
}
