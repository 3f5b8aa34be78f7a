//! The seeds of the gate. What others have found has a test with a name in `stories.rs`.

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
    // They came to what they are about.
    println!("{total:?}");
    assert!(total.leaders > 1_000 && total.committed > 15_000 && total.full > 5_000, "{total:?}");
    assert!(total.crashes > 3_000 && total.awakened > 100 && total.changes > 250, "{total:?}");
    let counts = total.counts;
    assert!(
        counts.reads > 6_000 && counts.truncations > 130 && counts.snapshots > 250,
        "{total:?}"
    );
}
