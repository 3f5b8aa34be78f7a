//! Which receive entries may be posted.

#[path = "../../src/slots.rs"]
mod rules;

use rules::free_slots;

#[test]
fn an_entry_is_not_posted_over_one_that_waits() {
    assert_eq!(free_slots(8, 0, 0, 8).unwrap(), 8);
    assert_eq!(free_slots(8, 8, 0, 0).unwrap(), 0);
    assert_eq!(free_slots(8, 8, 3, 3).unwrap(), 3);
    let error = free_slots(8, 8, 3, 4).unwrap_err();
    assert!(error.to_string().contains("room for 3 of 8"), "{error}");
}
