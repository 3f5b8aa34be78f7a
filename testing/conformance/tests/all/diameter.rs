//! Scripts through the Diameter door of a server: RESERVE is CCR-I, UPDATE CCR-U, TERMINATE CCR-T; DEBIT, REFUND and CHECK of
//! items are CCR-E.

mod client;
mod form;

use crate::charging::run_all;
use client::Client;

/// Commands that were said in Diameter, and scripts with at least one, when this was last measured.
const SAID_MIN: usize = 337;
const SCRIPTS_MIN: usize = 32;

#[test]
fn scripts_have_the_same_results_through_the_diameter_door() {
    run_all::<Client>(SAID_MIN, SCRIPTS_MIN);
}
