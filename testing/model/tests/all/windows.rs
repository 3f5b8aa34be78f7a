//! Properties of moved windows, checked by books that are kept beside the ledger: moving a window never frees use, and
//! an allowance of n a period never gives more than n for a period, and none is lost, also over holds and refunds across
//! periods. SCURRY_SEEDS sets the number of
//! seeds.

use scurry_ledger::{
    Answer, BucketAttributes, Code, LimitSubject, LimitTerms, Limits, Overrun, Period, PeriodClock,
    SessionOptions, Time, WindowTerms, view,
};
use scurry_model::{CommandOrTick, Event, Op, Pair, Random, Request, StepResult, name};
use std::collections::BTreeMap;
use std::mem;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
const PERIODS: [Period; 4] = [Period::Hour, Period::Day, Period::Week, Period::Month];
const STEPS: usize = 60;

/// A seeded run.
struct Run {
    seed: u64,
    random: Random,
    pair: Pair,
    now: i64,
    count: usize,
}

impl Run {
    /// Begins a run shortly before or after a midnight, with one bucket.
    fn new(seed: u64, with: BucketAttributes, amount: i64) -> Run {
        let limits = Limits { transaction_ms: 1, tombstone_ms: 1, ..Limits::default() };
        Run::within(limits, seed, with, amount)
    }

    /// Begins a run under these limits.
    fn within(limits: Limits, seed: u64, with: BucketAttributes, amount: i64) -> Run {
        let mut random = Random::new(seed);
        // Midnights before a Tuesday, a Monday and the first of a month.
        let midnight = random.pick(&[1_700_006_400_000, 1_708_905_600_000, 1_709_251_200_000]);
        let now = midnight + random.between(-20, 20) * HOUR / 4;
        let mut run = Run { seed, random, pair: Pair::new(limits), now, count: 0 };
        let (bucket, unit) = (name("a"), name("u"));
        let buckets = vec![scurry_ledger::NewBucket { bucket, unit, amount, attributes: with }];
        let status = scurry_ledger::Status::Active;
        run.done(Op::Create { txn: None, status, identities: vec![], buckets, keys: vec![] });
        run
    }

    fn done(&mut self, op: Op) -> Answer {
        let told = format!("seed {}: {op:?} at {}", self.seed, self.now);
        match self.pair.step(&Event { at: self.now, what: CommandOrTick::Do(op) }) {
            Ok(StepResult::Commit(answer)) => answer,
            other => panic!("{told}: {other:?}"),
        }
    }

    fn txn(&mut self) -> String {
        self.count += 1;
        format!("t{}", self.count)
    }

    /// Lets some time pass: mostly less than an hour, now and then more than a day.
    fn wait(&mut self) {
        self.now += match self.random.below(12) {
            0..5 => self.random.between(0, HOUR / 2),
            5..8 => self.random.between(0, 3) * HOUR,
            8 => self.random.between(0, 2) * DAY,
            9 => self.random.between(0, 9) * DAY,
            _ => 0,
        };
    }

    fn offset(&mut self) -> i16 {
        self.random.pick(&[-840, -480, -60, 0, 30, 60, 120, 345, 840])
    }
}

fn seeds() -> u64 {
    std::env::var("SCURRY_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(400)
}

/// The use that a reader of one limit has seen since it was last reset.
#[derive(Default)]
struct UseBook {
    used: i64,
    /// When the use resets, as the reader was last told.
    until: i64,
    /// Number of the period that ends then, on the clock of the zone in force.
    number: i64,
}

#[test]
fn moving_a_window_never_frees_use() {
    for seed in 0..seeds() {
        let mut run = Run::new(seed, BucketAttributes::default(), 1_000_000);
        let period = run.random.pick(&PERIODS);
        let amount = run.random.between(0, 100);
        let set = |txn: String, period, offset: i16| {
            let counted = LimitSubject::Units { unit: name("u"), item: None };
            let clock = PeriodClock::with_offset(offset.into());
            let terms =
                LimitTerms::Set { counted, amount, window: WindowTerms::Period { period, clock } };
            Op::Limit { txn, limit: name("l"), terms }
        };
        let (txn, mut offset) = (run.txn(), run.offset());
        run.done(set(txn, Some(period), offset));
        let until = run.shown().1;
        let mut book = UseBook { used: 0, until, number: number(period, offset, until - 1) };
        let mut session = 0;
        for _ in 0..STEPS {
            run.wait();
            let is_over = run.now >= book.until;
            if is_over {
                book.used = 0;
            }
            let held = run.held();
            match run.random.below(5) {
                0 | 1 => {
                    offset = run.offset();
                    let txn = run.txn();
                    run.done(set(txn, None, offset));
                }
                2 => {
                    let (txn, asked) = (run.txn(), run.random.between(1, 60));
                    let answer = run.done(Op::debit(&txn, "u", asked));
                    let fits = book.used + held + asked <= amount;
                    assert_eq!(answer.code() == Code::Ok, fits, "seed {seed}: {asked} granted");
                    book.used += if fits { asked } else { 0 };
                }
                3 if run.pair.account.as_ref().is_some_and(|a| a.sessions.len() < 2) => {
                    session += 1;
                    let asked = run.random.between(1, 60);
                    let tcc_ms = Some(run.random.between(1, 3) * DAY);
                    let id = format!("s{session}");
                    let reserve = Request {
                        options: SessionOptions { tcc_ms, ..SessionOptions::default() },
                        ..Request::new(&id, 0).ask(1, "u", asked)
                    }
                    .reserve();
                    let Answer::Session { items, .. } = run.done(reserve) else { panic!() };
                    let most = (amount - book.used - held).clamp(0, asked);
                    assert_eq!(items[0].granted, most, "seed {seed}");
                }
                _ => {
                    // Use is reported of a hold, never above it, so that nothing is overrun.
                    let open = run.open();
                    if let Some((id, hold)) = open.filter(|(_, hold)| *hold > 0) {
                        let used = run.random.between(0, hold);
                        run.done(Request::new(&id, 1).used(1, "u", used).terminate());
                        book.used += used;
                    }
                }
            }
            let (used, until) = run.shown();
            assert_eq!(
                used, book.used,
                "seed {seed}: use was freed, or lasts longer than was told"
            );
            // Each period of the calendar of the zone in force has the amount once.
            let number = number(period, offset, until - 1);
            let before = book.number + i64::from(is_over);
            assert!(number >= before, "seed {seed}: a period begins twice");
            (book.until, book.number) = (until, number);
        }
    }
}

impl Run {
    /// Returns what is used of the limit, and when it resets.
    fn shown(&self) -> (i64, i64) {
        let account = self.pair.account.as_ref().expect("an account");
        let (limit, now) = (&account.limits[0], Time(self.now));
        let resets_at = account.limit_resets_at(limit, now);
        (account.limit_at(limit, now).used, resets_at.map_or(i64::MAX, |time| time.0))
    }

    /// Returns what open sessions hold at present.
    fn held(&self) -> i64 {
        let account = self.pair.account.as_ref().expect("an account");
        let open = account.sessions.iter().filter(|session| session.deadline.0 > self.now);
        open.flat_map(|session| &session.items).map(|item| item.outstanding()).sum()
    }

    /// Returns the first open session and its hold.
    fn open(&self) -> Option<(String, i64)> {
        let account = self.pair.account.as_ref().expect("an account");
        let open = account.sessions.iter().find(|session| session.deadline.0 > self.now)?;
        let id = String::from_utf8_lossy(open.id.as_bytes()).to_string();
        Some((id, open.items.iter().map(|item| item.outstanding()).sum()))
    }
}

/// Returns the number of the period that a clock of this zone shows.
fn number(period: Period, offset: i16, now: i64) -> i64 {
    let minutes = i64::from(offset);
    let day = (now + minutes * 60_000).div_euclid(DAY);
    match period {
        Period::Hour => (now + minutes.rem_euclid(60) * 60_000).div_euclid(HOUR),
        Period::Day => day,
        Period::Week => (day + 3).div_euclid(7),
        Period::Month => {
            // The first days of months since 1 November 2023; the runs end within a year and a half.
            let lengths = [30, 31, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 28, 31, 30];
            let mut first = 19_662;
            let begun = lengths.iter().take_while(|&&length| {
                first += length;
                first <= day
            });
            i64::try_from(begun.count()).unwrap_or(0)
        }
        _ => 0,
    }
}

#[test]
fn an_allowance_of_n_a_period_never_gives_more_than_n_for_a_period_and_none_is_lost() {
    for seed in 0..seeds() {
        let period = PERIODS[usize::try_from(seed % 4).unwrap_or(0)];
        let with = BucketAttributes {
            period: Some(period),
            clock: PeriodClock::with_offset(0),
            floor: Some(-50),
            ..Default::default()
        };
        let mut run = Run::new(seed, with, 10);
        let mut offset = 0;
        let first = number(period, 0, run.now);
        // The last period for which the bucket was credited.
        let mut last = first;
        for _ in 0..STEPS {
            run.wait();
            last = last.max(number(period, offset, run.now));
            let txn = run.txn();
            match run.random.below(4) {
                0 | 1 => {
                    offset = run.offset();
                    let with = BucketAttributes {
                        period: Some(period),
                        clock: PeriodClock::with_offset(offset.into()),
                        ..Default::default()
                    };
                    run.done(Op::bucket(&txn, "a", with));
                    last = last.max(number(period, offset, run.now));
                }
                2 => {
                    let amount = run.random.between(1, 9);
                    run.done(Op::debit(&txn, "u", amount));
                }
                _ => {
                    let with = BucketAttributes { priority: Some(1), ..Default::default() };
                    run.done(Op::bucket(&txn, "a", with));
                }
            }
            let account = run.pair.account.as_ref().expect("an account");
            let seen = view(account, Time(run.now), &run.pair.limits);
            let credited = seen.buckets[0].credited;
            assert_eq!(
                credited,
                10 * (1 + last - first),
                "seed {seed}: refilled for other periods"
            );
            assert!(seen.buckets[0].available <= 10, "seed {seed}: more than one period's amount");
        }
    }
}

/// The books of one allowance: what was taken from each of its periods.
struct AllowanceBook {
    amount: i64,
    /// The last period for which the bucket was refilled.
    present: i64,
    /// Units used and held of each period.
    taken: BTreeMap<i64, i64>,
    /// Units of refunds that a business has carried into each period.
    carried: BTreeMap<i64, i64>,
    /// Sessions with the period from which they hold, the hold, and the deadline.
    holds: BTreeMap<String, (i64, i64, i64)>,
    /// Debits with their period and what is left of them.
    debits: Vec<(String, i64, i64)>,
}

impl AllowanceBook {
    /// Returns what the present period has left.
    fn left(&self) -> i64 {
        let of = |book: &BTreeMap<i64, i64>| book.get(&self.present).copied().unwrap_or(0);
        self.amount + of(&self.carried) - of(&self.taken)
    }

    /// Takes units from a period, or gives them back to it.
    fn take(&mut self, period: i64, amount: i64) {
        *self.taken.entry(period).or_default() += amount;
    }

    /// Ends the sessions whose time is over: each period gets back what is still held of it.
    fn end_sessions(&mut self, now: i64) {
        let over = self.holds.extract_if(.., |_, (_, _, deadline)| *deadline <= now);
        for (_, (period, hold, _)) in over.collect::<Vec<_>>() {
            self.take(period, -hold);
        }
    }

    /// Reports use of a session, which is taken from its hold, then from the present period, as far as that goes. The
    /// rest of the hold goes back to its period.
    fn settle(&mut self, id: &str, used: i64) {
        let Some((period, hold, _)) = self.holds.get_mut(id) else { return };
        let (period, hold) = (*period, mem::take(hold));
        let direct = (used - hold).clamp(0, self.left());
        self.take(period, (used - hold).min(0));
        self.take(self.present, direct);
    }
}

#[test]
fn use_and_holds_taken_from_one_period_are_never_more_than_its_amount() {
    for seed in 0..seeds() / 4 {
        let period = PERIODS[usize::try_from(seed % 4).unwrap_or(0)];
        let with = BucketAttributes { period: Some(period), ..Default::default() };
        let limits = Limits { transaction_ms: 999 * DAY, tombstone_ms: 1, ..Limits::default() };
        let amount = 100;
        let mut run = Run::within(limits, seed, with, amount);
        let mut offset = 0;
        let present = number(period, 0, run.now);
        let mut book = AllowanceBook {
            amount,
            present,
            taken: BTreeMap::new(),
            carried: BTreeMap::new(),
            holds: BTreeMap::new(),
            debits: vec![],
        };
        for step in 1..=STEPS {
            run.wait();
            book.end_sessions(run.now);
            book.present = book.present.max(number(period, offset, run.now));
            let (txn, asked) = (run.txn(), run.random.between(1, 80));
            let ids: Vec<String> = book.holds.keys().cloned().collect();
            let open = (!ids.is_empty()).then(|| ids[run.random.below(ids.len())].clone());
            match (run.random.below(8), open) {
                (0, _) => {
                    offset = run.offset();
                    let with = BucketAttributes {
                        period: Some(period),
                        clock: PeriodClock::with_offset(offset.into()),
                        ..Default::default()
                    };
                    run.done(Op::bucket(&txn, "a", with));
                    book.present = book.present.max(number(period, offset, run.now));
                }
                (1, _) => {
                    let answer = run.done(Op::debit(&txn, "u", asked));
                    let fits = asked <= book.left();
                    assert_eq!(answer.code() == Code::Ok, fits, "seed {seed}: {asked} debited");
                    if fits {
                        book.take(book.present, asked);
                        book.debits.push((txn, book.present, asked));
                    }
                }
                (2, _) if !book.debits.is_empty() => {
                    let at = run.random.below(book.debits.len());
                    let (debit, of, left) = &mut book.debits[at];
                    let (debit, of, back) = (debit.clone(), *of, asked.min(*left));
                    *left -= back;
                    if *left == 0 {
                        book.debits.remove(at);
                    }
                    let carry = run.random.one_in(4);
                    run.done(Op::Refund { txn, debit, amount: Some(back), carry });
                    book.take(of, -back);
                    if carry && of < book.present {
                        *book.carried.entry(book.present).or_default() += back;
                    }
                }
                (3 | 4, Some(id)) => {
                    let used = run.random.between(0, 90);
                    book.settle(&id, used);
                    let request = Request::new(&id, u32::try_from(step).unwrap_or(0));
                    if run.random.one_in(2) {
                        book.holds.remove(&id);
                        run.done(request.used(1, "u", used).terminate());
                    } else {
                        let answer = run.done(request.both(1, "u", used, asked).update());
                        let Answer::Session { items, .. } = answer else { panic!() };
                        let most = book.left().min(asked);
                        assert_eq!(items[0].granted, most, "seed {seed}");
                        book.take(book.present, most);
                        let deadline = run.deadline(&id);
                        book.holds.insert(id, (book.present, most, deadline));
                    }
                }
                (5, Some(id)) => {
                    book.settle(&id, 0);
                    book.holds.remove(&id);
                    run.done(Op::release(&id));
                }
                (_, _) => {
                    let id = format!("s{step}");
                    let tcc_ms = Some(run.random.pick(&[HOUR / 2, DAY, 7 * DAY]));
                    let overrun = Some(Overrun::Clamp);
                    let options = SessionOptions { tcc_ms, overrun, ..SessionOptions::default() };
                    let request = Request { options, ..Request::new(&id, 0) };
                    let answer = run.done(request.ask(1, "u", asked).reserve());
                    let Answer::Session { items, .. } = answer else { panic!() };
                    let most = book.left().min(asked);
                    assert_eq!(items[0].granted, most, "seed {seed}");
                    if most > 0 {
                        book.take(book.present, most);
                        let deadline = run.deadline(&id);
                        book.holds.insert(id, (book.present, most, deadline));
                    }
                }
            }
            for (of, taken) in &book.taken {
                let carried = book.carried.get(of).copied().unwrap_or(0);
                assert!((0..=amount + carried).contains(taken), "seed {seed}: {taken} of {of}");
            }
            let account = run.pair.account.as_ref().expect("an account");
            let seen = view(account, Time(run.now), &run.pair.limits);
            assert_eq!(seen.buckets[0].available, book.left(), "seed {seed}: available");
        }
    }
}

impl Run {
    /// Returns the deadline of an open session.
    fn deadline(&self, id: &str) -> i64 {
        let account = self.pair.account.as_ref().expect("an account");
        account.session(id.as_bytes()).expect("it is open").deadline.0
    }
}
