//! The seeds that the gate runs. A failure that other seeds found gets a named test in
//! `techniques/`.

use scurry_rdma_fabric::{Report, run};

#[test]
fn what_is_said_is_heard() {
    let mut total = Report::default();
    for seed in 0..400 {
        println!("seed {seed}");
        let report = run(seed);
        if seed < 20 {
            assert_eq!(report, run(seed), "a seed is a whole run");
        }
        total.add(&report);
    }
    assert!(total.whole > 500 && total.faulty > 100 && total.silent > 100, "{total:?}");
    // The runs reached the situations that they are meant to test.
    assert!(total.stalls[0] > 500 && total.stalls[1] > 2_000, "{total:?}");
    assert!(total.copied[0] > 1_000_000 && total.copied[1] > 1_000_000, "{total:?}");
    assert!(total.writes[1] + 100 < total.writes[0], "{total:?}");
    assert!(total.reregistrations > 500 && total.announcements > 3_000, "{total:?}");
}
