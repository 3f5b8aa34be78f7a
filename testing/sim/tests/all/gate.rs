//! The seeds of `cargo xtask ci`: a number for each theme, each run twice, which must end in the same way. Each test
//! also checks that its runs had enough of the theme's events.

use scurry_sim::{Counts, Theme, run};

/// Runs the seeds of a theme. Returns the sum of the counts.
fn explore(theme: Theme, seeds: u64) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..seeds {
        let (first, second) = (run(theme, seed), run(theme, seed));
        match (first, second) {
            (Ok(first), Ok(second)) => {
                assert_eq!(first, second, "{theme:?} seed {seed} does not end as it did before");
                counts.add(&first.counts);
            }
            (Err(failure), _) | (_, Err(failure)) => {
                panic!(
                    "{}{}\nreplay: cargo xtask sim --theme {} --seed {seed}",
                    failure.tail,
                    failure.why,
                    theme.name()
                )
            }
        }
    }
    assert!(counts.recoveries > seeds && counts.answers > 20 * seeds, "{counts:?}");
    assert!(counts.duplicates > seeds && counts.releases > seeds, "{counts:?}");
    counts
}

#[test]
fn what_was_acknowledged_survives_a_power_failure() {
    let counts = explore(Theme::Power, 150);
    assert!(counts.cuts > 5 && counts.lost > 100 && counts.from_snapshot > 100, "{counts:?}");
    assert!(counts.reused > 100 && counts.filled > 100, "{counts:?}");
}

#[test]
fn what_was_acknowledged_survives_a_killed_process() {
    let counts = explore(Theme::Kill, 100);
    assert!(counts.lost > 50 && counts.from_snapshot > 100, "{counts:?}");
}

#[test]
fn what_was_synced_behind_survives_a_power_failure() {
    let counts = explore(Theme::Write, 120);
    assert!(counts.cuts > 20 && counts.snapshots > 20, "{counts:?}");
}

#[test]
fn nothing_is_acknowledged_after_a_write_or_a_sync_has_failed() {
    let counts = explore(Theme::Errors, 180);
    assert!(counts.failures > 60 && counts.full > 100, "{counts:?}");
}

#[test]
fn what_is_accepted_finds_room() {
    let counts = explore(Theme::Room, 120);
    assert!(counts.no_room > 1_000 && counts.full == 0, "{counts:?}");
    assert!(counts.snapshots > 100 && counts.filled > 10, "{counts:?}");
}

#[test]
fn damage_is_refused_or_an_older_snapshot_is_used() {
    let counts = explore(Theme::Damage, 150);
    assert!(counts.refused > 50 && counts.passed_over > 5, "{counts:?}");
}

#[test]
fn what_cannot_be_read_is_named_and_not_passed_over() {
    explore(Theme::Reads, 100);
}

#[test]
fn what_goes_missing_between_two_runs_is_missed() {
    let counts = explore(Theme::Missing, 150);
    assert!(counts.stops > 120 && counts.tampered > 120 && counts.missed > 60, "{counts:?}");
}

#[test]
fn all_of_a_chain_survives_or_nothing() {
    let counts = explore(Theme::Chains, 150);
    assert!(counts.chains > 300 && counts.lost > 100, "{counts:?}");
}

/// A power failure lost the link of a file. Its rename then moved an older file of the same name. This was a fault of
/// the simulator.
#[test]
fn room_1314_a_rename_moves_the_file_that_it_was_called_on() {
    if let Err(failure) = run(Theme::Room, 1314) {
        panic!("{}{}", failure.tail, failure.why);
    }
}
