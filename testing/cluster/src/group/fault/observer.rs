//! A node without a vote behind a thin link. It takes the log at its own pace, and nothing that happens to it may be
//! noticed by the others: they commit, elect a leader and can lose a node as if it were not there.

use super::{FaultContext, cut, join};
use crate::group::THREADS;
use crate::group::member::Member;
use crate::namespaces::Namespace;
use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::words;
use std::sync::atomic::Ordering;

/// Rates of its link, kbit/s.
const RATES: [i64; 2] = [512, 1_024];
/// Values that take longer on its link than between the others, and the number of keys for them.
const VALUE_LEN: usize = 32 << 10;
const VALUES: usize = 24;
const KEYS: usize = 8;
/// Values that are written at most until the log no longer reaches back to where it stopped.
const VALUES_MAX: usize = 800;
/// Waits of 10 to 100 s, in each of which it must have made progress.
const WAITS_MAX: usize = 24;
/// Its data must be seen to be this old, ms.
const AGE_MS: u64 = 1_000;
const NODES: [usize; 3] = [0, 1, 2];

/// What may happen to an observer.
#[derive(Clone, Copy, Debug)]
enum Blow {
    Killed,
    Stopped,
    Cut,
    Wiped,
}

/// Runs an observer through all of it, in an order that is drawn.
pub(super) fn thin(scene: &mut FaultContext<'_>) -> Result<()> {
    let before_ns = silence_ns(scene, |scene| scene.pass_ms(2_000, 4_000))?;
    let kbit = scene.random.pick(&RATES);
    scene.group.prepare_fourth()?;
    network(scene.group.fourth()?)?.thin(kbit)?;
    scene.group.start_fourth(&["--observer"])?;
    let mut id = until_observes(scene)?;
    let with_ns = silence_ns(scene, |scene| fall_behind(scene, &id))?;
    let mut blows = vec![Blow::Killed, Blow::Stopped, Blow::Cut, Blow::Wiped];
    let blows_ns = silence_ns(scene, |scene| {
        while !blows.is_empty() {
            let blow = blows.swap_remove(scene.random.below(blows.len()));
            id = strike(scene, blow, &id).with_context(|| format!("{blow:?}"))?;
        }
        Ok(())
    })?;
    leave_behind(scene, &id)?;
    let shown = [before_ns, with_ns, blows_ns].map(|ns| ns / 1_000_000);
    let [before, with, blows] = shown;
    scene.remark(&format!(
        "{kbit} kbit/s: silence of {before} ms without it, {with} ms with it, {blows} ms while it was struck"
    ));
    join::remove_fourth(scene, &id)?;
    network(scene.group.fourth()?)?.widen()?;
    scene.served()
}

fn network(observer: &Member) -> Result<&Namespace> {
    observer.namespace.as_ref().context("it has its own network")
}

/// Returns the longest silence of all clients meanwhile, ns.
fn silence_ns(
    scene: &mut FaultContext<'_>,
    meanwhile: impl FnOnce(&mut FaultContext<'_>) -> Result<()>,
) -> Result<i64> {
    let before = scene.signals.gap_ns.swap(0, Ordering::Relaxed);
    let outcome = meanwhile(scene);
    let own = scene.signals.gap_ns.fetch_max(before, Ordering::Relaxed);
    outcome.map(|()| own)
}

/// Waits until the leader says that a node observes. Returns its id.
fn until_observes(scene: &mut FaultContext<'_>) -> Result<String> {
    let mut id = String::new();
    scene.group.until("a node observes", |group| {
        let leader = group.leader_of(&NODES).context("no node leads")?;
        let status = group.nodes[leader].status()?;
        let own = status.members.iter().find(|member| member.observes && member.connected);
        own.with_context(|| format!("{:?}", status.members))?.id.clone_into(&mut id);
        Ok(())
    })?;
    Ok(id)
}

/// Writes more than its link carries. The leader must show how far it is behind, and the observer how old its data are,
/// while the group can lose a node.
fn fall_behind(scene: &mut FaultContext<'_>, id: &str) -> Result<()> {
    let terms = |scene: &FaultContext<'_>| {
        let leader = scene.group.leader_of(&NODES)?;
        scene.group.nodes[leader].status().ok()?.led()
    };
    let before = terms(scene);
    let mut lag = 0;
    for number in 0..VALUES {
        write_value(scene, number)?;
        lag = lag.max(scene.group.lag_of(id).unwrap_or(0));
    }
    ensure!(lag > 0, "the leader has not shown that the observer is behind");
    let mut age_ms = 0;
    scene.group.until("the observer shows that its data are old", |group| {
        // Its answer comes through the thin link, too.
        let fourth = group.fourth.as_ref().context("there is no observer")?;
        let shards = fourth.status()?.shards;
        age_ms = shards.iter().filter_map(|shard| shard.age_ms).max().unwrap_or(0);
        ensure!(age_ms > AGE_MS, "{shards:?}");
        Ok(())
    })?;
    until_can_lose(scene)?;
    scene.remark(&format!("{lag} entries and {age_ms} ms behind"));
    if before != terms(scene) {
        scene.remark("there was an election beside the observer");
    }
    Ok(())
}

/// Writes a long value under one of a few keys, which lie on both threads.
fn write_value(scene: &mut FaultContext<'_>, number: usize) -> Result<()> {
    let key = format!("long-{}", number % KEYS).into_bytes();
    scene.group.write_anywhere(vec![b"SET".to_vec(), key, vec![b'v'; VALUE_LEN]])
}

/// Waits until the group can lose a node, whatever the observer does.
fn until_can_lose(scene: &mut FaultContext<'_>) -> Result<()> {
    scene.group.until("the group can lose a node", |group| {
        let leader = group.leader_of(&NODES).context("no node leads")?;
        ensure!(group.nodes[leader].status()?.can_lose, "{:?}", group.statuses());
        Ok(())
    })
}

/// Does one thing to the observer, undoes it, and returns its id.
fn strike(scene: &mut FaultContext<'_>, blow: Blow, id: &str) -> Result<String> {
    match blow {
        Blow::Killed => {
            scene.group.fourth()?.kill()?;
            go_on(scene)?;
            scene.group.start_fourth_again(None)?;
        }
        Blow::Stopped => {
            scene.group.fourth()?.pause()?;
            go_on(scene)?;
            // No election depends on it, and it never leads.
            let (leader, one, other) = scene.parts()?;
            scene.group.nodes[leader].kill()?;
            scene.group.until_leader(&[one, other])?;
            scene.group.start_again(leader)?;
            scene.group.fourth()?.resume()?;
        }
        Blow::Cut => {
            let nodes = cut::places(scene, &NODES)?;
            network(scene.group.fourth()?)?.part_from(&nodes)?;
            go_on(scene)?;
            network(scene.group.fourth()?)?.join_again(&nodes)?;
        }
        Blow::Wiped => {
            let observer = scene.group.fourth()?;
            observer.kill()?;
            observer.empty()?;
            go_on(scene)?;
            scene.group.start_fourth_again(Some(id))?;
        }
    }
    let own = until_observes(scene)?;
    ensure!(matches!(blow, Blow::Wiped) || own == id, "{own} observes, and it was {id}");
    Ok(own)
}

/// Lets the load go on for a moment. The group must say that it can lose a node.
fn go_on(scene: &mut FaultContext<'_>) -> Result<()> {
    scene.pass_ms(500, 2_000)?;
    until_can_lose(scene)
}

/// Stops the observer until the log no longer has what it lacks: it must take a snapshot through the thin link, and then
/// everything that follows.
fn leave_behind(scene: &mut FaultContext<'_>, id: &str) -> Result<()> {
    let mut applied = Vec::new();
    scene.group.until("the observer shows its log", |group| {
        let observer = group.fourth.as_ref().context("there is no observer")?;
        applied = observer.status()?.shards.iter().map(|shard| shard.applied).collect();
        ensure!(applied.len() == usize::from(THREADS), "it shows {} shards", applied.len());
        Ok(())
    })?;
    let bases = |member: &Member| -> Result<Vec<u64>> {
        Ok(member.status()?.shards.iter().map(|shard| shard.base).collect())
    };
    let beyond = |bases: &[u64]| bases.iter().zip(&applied).all(|(base, own)| base > own);
    scene.group.fourth()?.kill()?;
    for number in 0.. {
        ensure!(number < VALUES_MAX, "the log still has what the observer lacks: {applied:?}");
        write_value(scene, number)?;
        let leader = scene.group.until_leader(&NODES)?;
        if bases(&scene.group.nodes[leader]).is_ok_and(|bases| beyond(&bases)) {
            break;
        }
    }
    scene.group.execute(&NODES, "SET observed written")?;
    scene.group.start_fourth_again(None)?;
    scene.signals.hold(true);
    catch_up(scene, id)?;
    let bases = bases(scene.group.fourth()?)?;
    ensure!(beyond(&bases), "its log is kept from {bases:?}, and it had {applied:?}");
    shows_all(scene)?;
    scene.signals.hold(false);
    Ok(())
}

/// Waits until it has everything, for as long as it comes nearer.
fn catch_up(scene: &mut FaultContext<'_>, id: &str) -> Result<()> {
    let mut lag = u64::MAX;
    for _ in 0..WAITS_MAX {
        let before = lag;
        scene.group.until("the observer comes nearer", |group| {
            let now = group.lag_of(id).context("its lag is unknown")?;
            let own = group.fourth.as_ref().map(Member::status);
            ensure!(now == 0 || now < before, "{now} entries: {own:?}, {:?}", group.statuses());
            lag = now;
            Ok(())
        })?;
        if lag == 0 {
            return Ok(());
        }
        scene.pass_ms(10_000, 10_000)?;
    }
    bail!("the observer is {lag} entries behind")
}

/// Reads what was written last at the port of the thread that has the key; the other one answers MOVED.
fn shows_all(scene: &mut FaultContext<'_>) -> Result<()> {
    let expected = Value::Word(b"written".to_vec());
    scene.group.until("the observer shows what was written last", |group| {
        let observer = group.fourth.as_ref().context("there is no observer")?;
        let mut shown = Vec::new();
        for thread in 0..THREADS {
            let mut wire = observer.wire_of_thread(thread)?;
            wire.ask(&words("READONLY"))?;
            shown.push(wire.ask(&words("GET observed"))?);
        }
        ensure!(shown.contains(&expected), "it shows {shown:?}");
        Ok(())
    })
}
