//! The seeds that the gate runs. Bugs that other seeds found have named tests in `stories.rs`.

use scurry_replicas::{Report, run};

#[test]
fn nodes_agree_whatever_fails() {
    let mut total = Report::default();
    for seed in 0..400 {
        println!("seed {seed}");
        let report = run(seed);
        if seed < 40 {
            assert_eq!(report, run(seed), "a seed is a whole run");
        }
        total.add(&report);
    }
    // The seeds reached the cases that they are meant for.
    println!("{total:?}");
    assert!(total.leaders > 1_500 && total.committed > 20_000 && total.full > 4_000, "{total:?}");
    assert!(total.crashes > 1_500 && total.awakened > 200 && total.changes > 400, "{total:?}");
    assert!(total.yields > 1_000, "{total:?}");
    let counts = total.counts;
    assert!(counts.reads > 15_000 && counts.overtaken > 5, "{total:?}");
    assert!(counts.truncations > 100 && counts.snapshots > 250, "{total:?}");
}
