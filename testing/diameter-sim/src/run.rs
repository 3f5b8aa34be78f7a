//! Runs one seed.

use crate::fault::Fault;
use crate::plan::Plan;
use crate::report::Report;
use crate::world::World;
use scurry_model::Random;

/// Time after the last failure within which all clients must have their answers, ms.
const PATIENCE_MS: u64 = 600_000;
/// Time within which all connections must be in order then.
const RECOVERY_MS: u64 = 120_000;

/// Runs a seed of the product as it is.
///
/// # Panics
/// When something is not as it must be; the message says what.
pub fn run(seed: u64) -> Report {
    run_with(seed, Fault::None)
}

/// Runs a seed with a bug.
///
/// # Panics
/// When the bug is found.
pub fn run_with(seed: u64, fault: Fault) -> Report {
    let mut random = Random::new(seed);
    let plan = Plan::new(&mut random);
    let validity_ms = 1_000 * u64::from(plan.validity_s);
    let mut world = World::new(plan, random, fault);
    world.begin_failures();
    world.schedule_move();
    let faulty_ms = world.plan.faulty_ms;
    while world.step(faulty_ms, true) {}
    world.heal();
    let until_ms = faulty_ms + PATIENCE_MS;
    while !is_quiet(&world) {
        assert!(world.step(until_ms, false), "requests stay unanswered: {}", open(&world));
    }
    let until_ms = world.now_ms + RECOVERY_MS;
    while world.step(until_ms, false) {}
    for client in &world.clients {
        for door in 0..2 {
            assert!(client.is_usable(door), "{} has no connection to door {door}", client.host);
        }
    }
    // Sessions that clients forgot end by themselves after twice their validity.
    let until_ms = world.now_ms + 2 * validity_ms + 1_000;
    while world.step(until_ms, false) {}
    world.store.tick(world.wall());
    let (store, now) = (world.store.clone(), world.wall());
    world.truth.check_end(&store, now, world.plan.credit);
    let lanes = world.clients.iter().flat_map(|client| &client.lanes);
    world.truth.report.abandoned = lanes.map(|lane| lane.abandoned).sum();
    world.truth.report.digest = world.random.next_u64();
    world.truth.report
}

fn is_quiet(world: &World) -> bool {
    let mut lanes = world.clients.iter().flat_map(|client| &client.lanes);
    lanes.all(|lane| lane.is_idle())
}

fn open(world: &World) -> String {
    let open = world.clients.iter().flat_map(|client| &client.open);
    let open: Vec<_> = open.map(|at| &world.truth.requests[*at].words).collect();
    format!("{open:?}")
}
