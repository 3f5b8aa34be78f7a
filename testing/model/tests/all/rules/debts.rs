//! Sections 7, 8 and 12: what a unit owes in one of its buckets counts against the credit in all.

use scurry_ledger::{
    BucketAttributes, Cause, Code, Decision, Op as Fact, Period, Posting, Time, check, decide,
};
use scurry_model::{Op, Random, Request, ScriptedPair, name};

const DAY: i64 = 86_400_000;

fn any() -> BucketAttributes {
    BucketAttributes::default()
}

fn new(txn: &str, bucket: &str, amount: i64, with: BucketAttributes) -> Op {
    let (txn, bucket, unit) = (txn.to_string(), name(bucket), Some(name("c")));
    Op::TopUp { txn, bucket, amount, unit, with, keys: vec![] }
}

/// Returns the validity of the nth of several buckets, each of which begins when the one before it ends.
fn in_turn(nth: i64) -> BucketAttributes {
    let (from, to) = (nth * DAY, (nth + 1) * DAY);
    BucketAttributes { valid_from: Some(Time(from)), valid_to: Some(Some(Time(to))), ..any() }
}

/// Grants a session up to 1,000 and ends it with a use of its grant plus what `beyond` says. Returns the grant.
fn session(script: &mut ScriptedPair, id: &str, used: impl Fn(i64) -> i64) -> i64 {
    let (code, grants) = script.grants(&Request::new(id, 0).ask(1, "c", 1_000).reserve());
    if code == Code::Ok {
        script.done(&Request::new(id, 1).used(1, "c", used(grants[0])).terminate());
    }
    grants[0]
}

/// Returns an account whose bucket of 1,000 is refilled each month, and maybe an empty one beside it.
fn monthly(beside: bool) -> ScriptedPair {
    let mut script = ScriptedPair::new(&[("plan", "c", 1_000)]);
    let monthly = BucketAttributes { period: Some(Period::Month), refill: Some(1_000), ..any() };
    script.done(&Op::bucket("set", "plan", monthly));
    if beside {
        script.done(&new("x", "topup", 1, BucketAttributes { priority: Some(5), ..any() }));
        script.done(&Op::adjust("y", "topup", -1));
    }
    script
}

#[test]
fn overrun_goes_to_the_first_bucket_that_has_an_allowance() {
    for beside in [false, true] {
        let mut script = monthly(beside);
        let mut grants = vec![];
        for (id, day) in [("s1", 0), ("s2", 31), ("s3", 59)] {
            script.now = script.now.max(day * DAY);
            grants.push(session(&mut script, id, |_| 1_500));
        }
        assert_eq!((grants, script.funds("plan")), (vec![1_000, 500, 0], (0, 0)));
    }
}

#[test]
fn each_of_five_buckets_pays_what_the_one_before_it_owes() {
    // All five are made before the first debt, or each when it begins: then new credit pays the debt first.
    for early in [true, false] {
        let mut script = ScriptedPair::new(&[]);
        let ids = ["b0", "b1", "b2", "b3", "b4"];
        let buckets: Vec<(i64, &str)> = (0..).zip(ids).collect();
        let bucket = |(nth, id): (i64, &str)| new(id, id, 1_000, in_turn(nth));
        for &one in buckets.iter().filter(|_| early) {
            script.done(&bucket(one));
        }
        let mut granted = vec![];
        for one in buckets {
            script.now = script.now.max(one.0 * DAY);
            if !early {
                script.done(&bucket(one));
            }
            granted.push(session(&mut script, one.1, |grant| grant + 500));
        }
        assert_eq!((granted.iter().sum::<i64>(), granted.len()), (3_000, 5), "{granted:?}");
    }
}

/// Returns an account with a debt of 500 in `old`, which has expired.
fn indebted() -> ScriptedPair {
    let mut script = ScriptedPair::new(&[]);
    script.done(&new("x", "old", 1_000, in_turn(0)));
    script.done(&new("y", "main", 800, in_turn(1)));
    assert_eq!(session(&mut script, "s", |_| 1_500), 1_000);
    script.now = DAY;
    assert!(script.tick());
    assert_eq!((script.funds("old"), script.funds("main")), ((-500, 0), (800, 0)));
    script
}

#[test]
fn an_expired_bucket_still_owes() {
    let mut script = indebted();
    let account = script.pair.account.as_ref().expect("an account");
    let seen = check(account, (name("c"), None), 301, Time(script.now));
    assert_eq!(
        (seen.code, seen.amount, seen.cause),
        (Code::CreditLimitReached, 300, Cause::Balance)
    );
    assert_eq!(script.amount(&Op::debit("d", "c", 301)), (Code::CreditLimitReached, 0));
    let items = Op::debit_items("i", &[(1, "c", 200), (2, "c", 101)]);
    assert_eq!(script.amount(&items), (Code::CreditLimitReached, 0));
    let reserve = Request::new("t", 0).ask(1, "c", 200).ask(2, "c", 200).ask(3, "c", 1).reserve();
    assert_eq!(script.grants(&reserve), (Code::Ok, vec![200, 100, 0]));
}

#[test]
fn a_limit_is_the_cause_only_if_it_leaves_less_than_is_grantable() {
    for (limit, cause) in
        [(299, Cause::Limit { id: name("l"), allowed_at: None }), (300, Cause::Balance)]
    {
        let mut script = indebted();
        script.done(&Op::limit("l", "l", "c", limit, None));
        let (_, items) = script.items(&Request::new("t", 0).ask(1, "c", 301).min(301).reserve());
        assert_eq!(items[0].cause, cause);
    }
}

#[test]
fn reported_use_is_settled_from_credit_that_cannot_be_granted() {
    let mut script = indebted();
    assert_eq!(session(&mut script, "t", |_| 700), 300);
    assert_eq!((script.funds("main"), script.bucket("main").overdrawn), ((100, 0), 0));
    assert_eq!(session(&mut script, "u", |_| 0), 0);
}

/// Returns the credits of the Change that a command makes.
fn credits(script: &ScriptedPair, op: &Op) -> Vec<i64> {
    let account = script.pair.account.as_ref();
    let limits = &script.pair.limits;
    let decision = op.with(|command| decide(account, command, Time(script.now), limits));
    let Decision::Commit(change, _) = decision else { panic!("{op:?}: {decision:?}") };
    let credit = |fact: &Fact| match fact {
        Fact::Credit(Posting { amount, .. }) => Some(*amount),
        _ => None,
    };
    change.ops.iter().filter_map(credit).collect()
}

#[test]
fn new_credit_pays_debts_first_in_burn_order() {
    let mut script = ScriptedPair::new(&[("last", "v", 9)]);
    for (nth, id, priority) in [(0, "a", 0), (1, "b", -1)] {
        let with = BucketAttributes { priority: Some(priority), floor: Some(-10), ..in_turn(nth) };
        script.done(&new(id, id, 1, with));
    }
    for (nth, id) in [(0, "a"), (1, "b")] {
        script.now = script.now.max(nth * DAY);
        script.done(&Request::new(id, 0).ask(1, "v", 1).reserve());
        script.done(&Request::new(id, 1).used(2, "c", 511).terminate());
    }
    assert_eq!((script.funds("a"), script.funds("b")), ((-510, 0), (-510, 0)));
    script.now = 2 * DAY;
    script.tick();
    // `b` comes first by its priority. A debt ends at the floor.
    let first = new("t", "main", 600, any());
    assert_eq!(credits(&script, &first), [500, 100]);
    assert_eq!(script.amount(&first), (Code::Ok, 0));
    assert_eq!((script.funds("b"), script.funds("a")), ((-10, 0), (-410, 0)));
    // An adjustment credits its bucket alone; the rest of a top-up goes where it says.
    assert_eq!(script.amount(&Op::adjust("j", "main", 7)), (Code::Ok, 7));
    assert_eq!(session(&mut script, "s", |_| 0), 0);
    let second = Op::topup("u", "main", 1_000);
    assert_eq!(credits(&script, &second), [400, 600]);
    assert_eq!(script.amount(&second), (Code::Ok, 607));
    assert_eq!(session(&mut script, "r", |grant| grant), 607);
}

/// Draws a command of an account with several buckets of one unit, whose sessions often use more than it has.
fn drawn(random: &mut Random, step: u32) -> Op {
    let txn = format!("t{step}");
    let bucket = random.pick(&["a", "b", "d", "plan"]);
    let session = random.pick(&["s", "t", "u"]);
    let amount = random.between(1, 40);
    match random.below(12) {
        0..3 => Request::new(session, 0).ask(1, "c", amount).ask(2, "c", 5).reserve(),
        3..5 => Request::new(session, step).both(1, "c", random.between(0, 90), amount).update(),
        5..7 => Request::new(session, step).used(1, "c", random.between(0, 90)).terminate(),
        7 => Op::debit(&txn, "c", amount),
        8 => Op::adjust(&txn, bucket, random.pick(&[30, 60, -5])),
        9 => Op::refund(&txn, &format!("t{}", step.saturating_sub(2)), None),
        10 => Op::release(session),
        _ => Op::topup(&txn, bucket, amount),
    }
}

#[test]
fn nothing_is_granted_that_is_owed() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut script = ScriptedPair::new(&[("plan", "c", 20)]);
        let daily = BucketAttributes { period: Some(Period::Day), refill: Some(20), ..any() };
        // Without an allowance overrun goes to a bucket that will expire.
        let first = BucketAttributes { priority: Some(-2), ..any() };
        script.done(&Op::bucket("set", "plan", if seed % 2 == 0 { daily } else { first }));
        for (id, nth) in [("a", 0), ("b", 1), ("d", 2)] {
            let floor = Some(random.pick(&[0, 0, -20]));
            let priority = Some(random.pick(&[-1, 0, 1]));
            let with = BucketAttributes { floor, priority, ..in_turn(nth) };
            let with =
                if random.one_in(2) { with } else { BucketAttributes { valid_from: None, ..with } };
            script.done(&new(id, id, random.between(1, 60), with));
        }
        for step in 1..40 {
            script.now += random.pick(&[0, 0, 1, DAY / 4, DAY]);
            // The pair checks I22 after every step.
            script.run(&drawn(&mut random, step));
        }
    }
}
