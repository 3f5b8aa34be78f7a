//! The seeds of `cargo xtask ci` for three nodes in one simulation: a number for each theme, some of them run twice,
//! which must end in the same way. Each test also checks that its runs had enough of the theme's events. The tests
//! with names at the end are seeds that have found faults.

use scurry_sim::group::{AlteredRun, GroupCounts, GroupReport, GroupTheme, run, run_altered};

/// The number of seeds of each theme.
const SEEDS: u64 = 300;

fn must_run(theme: GroupTheme, seed: u64) -> GroupReport {
    run(theme, seed).unwrap_or_else(|failure| {
        panic!(
            "{}{}\nreplay: cargo xtask sim --theme {} --seed {seed}",
            failure.tail,
            failure.why,
            theme.name()
        )
    })
}

/// Runs the seeds of a theme in which clients must get answers. Returns the sum of the counts.
fn explore(theme: GroupTheme) -> GroupCounts {
    let counts = explore_silence(theme);
    assert!(counts.answers > 6 * SEEDS && counts.reads > 10 * SEEDS, "{counts:?}");
    assert!(counts.again > 5 * SEEDS && counts.leads > SEEDS, "{counts:?}");
    counts
}

/// Runs the seeds of a theme in which faults may last so long that clients get few answers.
fn explore_silence(theme: GroupTheme) -> GroupCounts {
    let mut counts = GroupCounts::default();
    for seed in 0..SEEDS {
        let report = must_run(theme, seed);
        if seed % 20 == 0 {
            let again = must_run(theme, seed);
            assert_eq!(again, report, "{theme:?} seed {seed} does not end as it did before");
        }
        counts.add(&report.counts);
    }
    println!("{counts:?}");
    counts
}

#[test]
fn what_was_answered_survives_crashes_of_nodes() {
    let counts = explore(GroupTheme::Crashes);
    assert!(counts.crashes > SEEDS && counts.snapshots > SEEDS, "{counts:?}");
    assert!(counts.caught_up > 10, "{counts:?}");
}

#[test]
fn answers_are_the_newest_whatever_the_network_does() {
    let counts = explore(GroupTheme::Cuts);
    assert!(counts.resigned > 40 && counts.replaced > 40 && counts.lost > SEEDS, "{counts:?}");
    assert!(counts.chains > 10 && counts.releases > SEEDS, "{counts:?}");
}

#[test]
fn a_leader_that_stood_still_shows_nothing_old() {
    let counts = explore(GroupTheme::Pauses);
    assert!(
        counts.resumed_leaders > 100 && counts.resigned > 200 && counts.transfers > 100,
        "{counts:?}"
    );
}

#[test]
fn clocks_that_jump_change_no_answer() {
    let counts = explore(GroupTheme::Clocks);
    assert!(counts.transfers > 150 && counts.releases > 200, "{counts:?}");
}

#[test]
fn disks_that_fail_or_are_full_lose_nothing_that_was_answered() {
    let counts = explore(GroupTheme::Disks);
    assert!(counts.failed > 5, "{counts:?}");
}

#[test]
fn nodes_that_come_and_go_take_nothing_along() {
    let counts = explore(GroupTheme::Members);
    assert!(counts.joined > 30 && counts.caught_up > 40 && counts.crashes > 100, "{counts:?}");
}

#[test]
fn one_that_has_its_memory_serves_while_another_makes_its_own_anew() {
    let counts = explore(GroupTheme::Rebuilds);
    assert!(counts.resigned > 40 && counts.beside > 10, "{counts:?}");
}

#[test]
fn whoever_can_be_lost_is_lost_and_the_others_serve() {
    let counts = explore_silence(GroupTheme::Losses);
    assert!(counts.tolerated_losses > 50 && counts.warned > 50, "{counts:?}");
}

#[test]
fn all_of_it_together_loses_nothing() {
    let counts = explore(GroupTheme::All);
    assert!(
        counts.replaced > 50 && counts.joined > 10 && counts.resumed_leaders > 50,
        "{counts:?}"
    );
}

/// A node's snapshot may show more than the marks of its log say is committed. The replica was started with the marks,
/// so the host waited forever for the replica's commit index to reach the shard's.
#[test]
fn crashes_5_a_node_starts_whose_snapshot_shows_more_than_its_log() {
    must_run(GroupTheme::Crashes, 5);
}

/// A leader with a slow device commits a change of members through the other nodes. The engine ends the change only
/// when this device has stored its beginning. By then the core was executing again, so two entries had the same
/// sequence, and the leader stopped.
#[test]
fn members_52_a_leader_waits_for_its_device_to_end_a_change_of_members() {
    must_run(GroupTheme::Members, 52);
}

/// A deposed leader was recovered from its device while entries that were to be cut off were still there, since they
/// had been stored up to the index at which the new ones were committed. It then followed with uncommitted records.
#[test]
fn pauses_632_a_deposed_leader_is_not_recovered_from_entries_that_are_to_be_cut_off() {
    must_run(GroupTheme::Pauses, 632);
}

/// A deposed leader, before it was recovered, began a snapshot of memory that showed uncommitted records. When the
/// other nodes had committed as many records, the snapshot was used, and the node was recovered from it.
#[test]
fn all_3231_no_snapshot_is_made_of_what_may_not_be_committed() {
    must_run(GroupTheme::All, 3_231);
}

/// Expired keys were removed without a record. A leader with a clock that was ahead removed one and was deposed. It
/// stopped when it received a change to this key from a leader that still had it.
#[test]
fn clocks_2029_what_expires_is_let_go_by_all_nodes_at_one_place_of_the_log() {
    must_run(GroupTheme::Clocks, 2_029);
}

/// A second offer arrived during the exchange of the log for one that begins with the first offer's snapshot. It
/// removed that snapshot's file.
#[test]
fn all_3479_an_offer_during_an_exchange_takes_no_file_away() {
    must_run(GroupTheme::All, 3_479);
}

/// Two snapshots that were begun at the same sequence have the same name. The offer described the older one, but the
/// newer one was sent, which showed more than the receiver waited for.
#[test]
fn members_748_an_offer_tells_what_the_file_shows_that_is_sent() {
    must_run(GroupTheme::Members, 748);
}

/// A leader that had lost its memory passed leadership to the first voter that lacks few entries, which had no memory
/// either, and not to the one that could serve.
#[test]
fn losses_700227_leadership_goes_to_a_node_that_has_its_memory() {
    must_run(GroupTheme::Losses, 700_227);
}

#[test]
fn a_node_whose_memory_is_altered_is_found() {
    let (mut leaders, mut followers) = (0, 0);
    for seed in 0..SEEDS {
        match run_altered(seed) {
            Ok(AlteredRun::Empty) => {}
            Ok(AlteredRun::Found(true)) => leaders += 1,
            Ok(AlteredRun::Found(false)) => followers += 1,
            Err(failure) => panic!("{}{}", failure.tail, failure.why),
        }
    }
    assert!(leaders > SEEDS / 5 && followers > SEEDS / 3, "{leaders} {followers}");
}
