//! The seeds that the gate runs, and bugs that they find.

use scurry_diameter_sim::{Fault, Report, run, run_with};
use std::panic::catch_unwind;

#[test]
fn each_request_is_charged_once_whatever_fails() {
    let mut total = Report::default();
    for seed in 0..80 {
        println!("seed {seed}");
        let report = run(seed);
        if seed < 8 {
            assert_eq!(report, run(seed), "a seed is a whole run");
        }
        total.add(&report);
    }
    // The seeds reached the cases that they are meant for.
    println!("{total:?}");
    assert!(total.requests > 10_000 && total.replays > 4_000, "{total:?}");
    assert!(total.overtaken > 400 && total.both_doors > 1_500, "{total:?}");
    assert!(total.answered_twice > 3_000 && total.late > 20, "{total:?}");
    assert!(total.debits > 300 && total.refunds > 100 && total.checks > 500, "{total:?}");
    assert!(total.settled > 300 && total.recorded > 50 && total.credits > 15, "{total:?}");
    assert!(total.refused > 500 && total.moves > 500 && total.moved_copies > 15, "{total:?}");
    assert!(total.abandoned > 100 && total.busy > 500 && total.denied > 1_000, "{total:?}");
    assert!(total.stalls > 100 && total.half_open > 100 && total.elections_lost > 50, "{total:?}");
    assert!(total.suspects > 100 && total.trusted_again > 10, "{total:?}");
    assert!(total.watchdog_closes > 50 && total.failovers > 1_000, "{total:?}");
    assert!(total.door_kills > 20 && total.door_drains > 20, "{total:?}");
}

/// Runs seeds until a bug is found. Returns what was said of it.
fn found(fault: Fault) -> String {
    for seed in 0..40 {
        let Err(why) = catch_unwind(|| run_with(seed, fault)) else { continue };
        let text = why.downcast_ref::<String>().cloned();
        return text.unwrap_or_else(|| why.downcast_ref::<&str>().unwrap_or(&"").to_string());
    }
    panic!("{fault:?} is not found")
}

#[test]
fn known_bugs_are_found() {
    for (fault, words) in [
        (Fault::DuplicatesByEndToEnd, "another answer to"),
        (Fault::CopiesGetNumbers, "another answer to"),
        // On a message: by what the machine says, or by what it does not say.
        (Fault::WatchdogStaysSuspect, "uspect"),
        (Fault::StoreForgets, "answered, and not kept"),
        (Fault::AnswersSwapped, "an answer to another"),
        (Fault::UseMiscounted, "debited, and what clients reported"),
        (Fault::NothingIsGrant, "[2001] for Words"),
        (Fault::LaterRefundsDropped, "[5004] for Words"),
        (Fault::UseBesideRequestLost, "[5007] for Words"),
        (Fault::AllCharged, "right: 4011"),
        (Fault::CopiesOpenAgain, "answered, and not kept"),
    ] {
        let why = found(fault);
        assert!(why.contains(words), "{fault:?}: {why}");
    }
}
