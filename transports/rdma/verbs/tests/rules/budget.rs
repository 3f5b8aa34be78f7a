//! The limit on pinned memory, and how pinned bytes are counted.

#[path = "../../src/budget.rs"]
#[expect(dead_code, unreachable_pub, reason = "the crate uses the rest")]
mod rules;

use rules::{Budget, pinned_bytes};
use std::io;

#[test]
fn a_budget_is_taken_to_its_last_byte_and_given_back() {
    let budget = Budget::new(3 * 4096);
    let first = budget.reserve_bytes(2 * 4096).unwrap();
    let error = budget.reserve_bytes(4096 + 1).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
    assert!(error.to_string().contains("8192 of 12288"), "{error}");
    let second = budget.reserve_bytes(4096).unwrap();
    assert_eq!((budget.used(), second.bytes()), (3 * 4096, 4096));
    drop(first);
    assert_eq!(budget.used(), 4096);
    assert!(budget.reserve_bytes(u64::MAX).is_err());
    assert_eq!(budget.used(), 4096, "a refusal takes nothing");
}

#[test]
fn pages_are_pinned_whole() {
    assert_eq!(pinned_bytes(0x1000, 1), 4096);
    assert_eq!(pinned_bytes(0x1000, 4096), 4096);
    assert_eq!(pinned_bytes(0x1fff, 2), 8192);
    assert_eq!(pinned_bytes(0x1fff, 4098), 3 * 4096);
}
