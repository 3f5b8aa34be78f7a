//! The ledger alone: time of an UPDATE on an account with two buckets and one open session, ns.

mod charging;

use charging::{NOW, account, items, update};
use criterion::{Criterion, criterion_group, criterion_main};
use scurry_ledger::{Decision, Limits, apply, decide, decide_in_place};
use std::hint::black_box;

fn bench(criterion: &mut Criterion) {
    let limits = Limits::default();
    let items = items();

    let mut state = Some(account(&limits));
    let mut request = 8;
    criterion.bench_function("update/decide+apply", |bencher| {
        bencher.iter(|| {
            let command = update(request, &items);
            let decision = decide(state.as_ref(), black_box(&command), NOW, &limits);
            let Decision::Commit(change, answer) = decision else { panic!("{decision:?}") };
            apply(&mut state, &change);
            request += 1;
            answer
        });
    });

    let mut state = Some(account(&limits));
    let mut request = 8;
    criterion.bench_function("update/decide_in_place", |bencher| {
        bencher.iter(|| {
            let command = update(request, &items);
            let decision = decide_in_place(&mut state, black_box(&command), NOW, &limits);
            assert!(matches!(decision, Decision::Commit(..)));
            request += 1;
            decision
        });
    });

    let state = account(&limits);
    criterion.bench_function("update/copy of the account", |bencher| {
        bencher.iter(|| black_box(&state).clone());
    });

    let mut replayed = Some(account(&limits));
    criterion.bench_function("update/replay", |bencher| {
        bencher.iter(|| {
            let decision = decide_in_place(&mut replayed, &update(7, &items), NOW, &limits);
            assert!(matches!(decision, Decision::Replay(_)));
            decision
        });
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
