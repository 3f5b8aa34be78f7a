//! Scripts through Nchf, over HTTP/2 with prior knowledge: RESERVE is a Create, UPDATE an Update, TERMINATE a Release, or a PEC
//! event if nothing has opened its session; DEBIT of items is an IEC event.

mod client;
mod form;

use crate::charging::run_all;
use client::Client;

/// Commands that were said in Nchf, and scripts with at least one, when this was last measured.
const SAID_MIN: usize = 275;
const SCRIPTS_MIN: usize = 31;

#[test]
fn scripts_have_the_same_results_through_nchf() {
    run_all::<Client>(SAID_MIN, SCRIPTS_MIN);
}
