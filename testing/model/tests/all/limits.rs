//! Retries after a change of the configuration: none gets another answer, and none is executed twice.

use scurry_ledger::{Code, Decision, Limits, Overrun, Time, decide};
use scurry_model::{CommandOrTick, Event, Generator, Op, Pair, Random};

/// Draws bounds and defaults that are independent of the previous ones.
fn others(random: &mut Random) -> Limits {
    Limits {
        identities_max: random.below(3),
        buckets_max: random.below(5),
        counters_max: random.below(4),
        limits_max: random.below(4),
        sessions_max: random.below(4),
        session_ids_max: random.below(9),
        items_max: random.below(9),
        session_items_max: random.below(9),
        answers_max: 1 + random.below(8),
        transactions_max: random.below(14),
        denials_max: 16,
        blob_len_max: random.below(4),
        tombstone_ms: random.pick(&[0, 1, 40, 240]),
        transaction_ms: random.pick(&[1, 30, 1_000]),
        validity_ms_default: random.pick(&[1, 10, 300]),
        tcc_ms_max: random.pick(&[1, 60, 1_000]),
        overrun_default: random.pick(&[Overrun::Overdraw, Overrun::Clamp]),
    }
}

/// Reports whether the request's session has answered more than it keeps.
fn has_dropped(pair: &Pair, op: &Op) -> bool {
    let open = op
        .request()
        .zip(pair.account.as_ref())
        .and_then(|(request, account)| account.session(request.session.as_bytes()));
    open.is_some_and(|open| open.version > open.answers.len() as u64)
}

/// Reports whether the request's session is still open, but ends before the request is executed: only then is it
/// decided how long it is remembered.
fn ends_first(pair: &Pair, op: &Op, at: i64) -> bool {
    let session = op.request().map(|request| request.session.as_bytes());
    let account = pair.account.as_ref();
    let open = session.zip(account).and_then(|(id, account)| account.session(id));
    open.is_some_and(|open| open.deadline <= Time(at).on(account))
}

#[test]
fn no_change_of_limits_changes_what_a_retry_gets() {
    let (mut replays, mut below) = (0, 0);
    for seed in 0..400 {
        let (limits, mut generator) = Generator::new(seed);
        let mut random = Random::new(seed + 1_000_000);
        let mut pair = Pair::new(limits);
        pair.thorough = false;
        let mut sent: Vec<Op> = vec![];
        for _ in 0..60 {
            let event = generator.next(&pair);
            pair.step(&event).expect("ledger and model agree");
            let Event { at, what: CommandOrTick::Do(op) } = event else { continue };
            sent.extend(op.has_id().then_some(op));
            let changed = others(&mut random);
            for op in &sent {
                let under = |limits: &Limits| {
                    op.with(|command| decide(pair.account.as_ref(), command, Time(at), limits))
                };
                let tombstone_ms = if ends_first(&pair, op, at) {
                    pair.limits.tombstone_ms
                } else {
                    changed.tombstone_ms
                };
                let changed = Limits { tombstone_ms, ..changed };
                let told = || format!("seed {seed}: {op:?} under {changed:?}");
                match under(&pair.limits) {
                    Decision::Replay(answer) => {
                        replays += 1;
                        assert_eq!(under(&changed), Decision::Replay(answer), "{}", told());
                    }
                    // Below a window that has dropped nothing no number was ever answered.
                    Decision::Reject(refused)
                        if refused.code == Code::OutOfWindow && has_dropped(&pair, op) =>
                    {
                        below += 1;
                        let again = under(&changed);
                        assert!(matches!(again, Decision::Reject(_)), "{again:?}: {}", told());
                    }
                    Decision::Reject(_) | Decision::Commit(..) => {}
                }
            }
        }
    }
    assert!(replays > 10_000 && below > 100, "{replays} replays, {below} below a window");
}
