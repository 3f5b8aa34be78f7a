//! Properties of periods in zones with names, against an oracle that looks at what the clocks show, minute by minute. It
//! shares the tables of zones with the ledger, and nothing else. SCURRY_SEEDS sets the number of seeds.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, TimeZone, Timelike};
use chrono_tz::{TZ_VARIANTS, Tz};
use scurry_ledger::{
    BucketAttributes, Cycle, Limits, NamedZone, Period, PeriodClock, Time, Zone, view,
};
use scurry_model::{CommandOrTick, Event, Op, Pair, Random, StepResult, name};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// 1973: before that some clocks were ahead of UTC by parts of a minute.
const FIRST: i64 = 94_694_400_000;
/// 2040.
const LAST: i64 = 2_208_988_800_000;

fn seeds() -> u64 {
    std::env::var("SCURRY_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(600)
}

fn local(zone: Tz, time: i64) -> NaiveDateTime {
    let utc = DateTime::from_timestamp_millis(time).expect("a time");
    zone.from_utc_datetime(&utc.naive_utc()).naive_local()
}

/// Returns the day on which the period began that clocks show, as a calendar on the wall says.
fn shown(period: Period, begin: u8, local: NaiveDateTime) -> NaiveDate {
    let is_early = period == Period::Day && local.hour() < u32::from(begin);
    let mut day = local.date() - Days::new(u64::from(is_early));
    let begins = |day: NaiveDate| {
        let tomorrow = day + Days::new(1);
        let begin = u32::from(begin);
        // The day itself, or the last of a month that does not have it.
        let is_day = day.day() == begin || (day.day() < begin && tomorrow.day() == 1);
        match period {
            Period::Week => day.weekday().number_from_monday() == begin,
            Period::Month => is_day,
            Period::Quarter => is_day && day.month() % 3 == 1,
            Period::Year => is_day && day.month() == 1,
            Period::Days(count) => {
                let since = day.signed_duration_since(NaiveDate::default()).num_days();
                since % i64::from(count) == 0
            }
            _ => true,
        }
    };
    while !begins(day) {
        day = day - Days::new(1);
    }
    day
}

/// Draws a cycle, and a moment: mostly near a change of its clocks.
fn draw(random: &mut Random) -> (Cycle, Tz, i64) {
    let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"];
    let zone = if random.one_in(2) {
        TZ_VARIANTS[random.below(TZ_VARIANTS.len())]
    } else {
        random.pick(&zones).parse().expect("a zone")
    };
    let periods = [Period::Day, Period::Week, Period::Month, Period::Quarter, Period::Year];
    let period = if random.one_in(6) { Period::Days(30) } else { random.pick(&periods) };
    let (first, last) = period.begins();
    let begin = random.between(first.into(), last.into());
    let named = NamedZone::new(zone.name().as_bytes()).expect("a zone of both");
    let begin = u8::try_from(begin).expect("a begin");
    let cycle = Cycle { period, zone: Zone::Named(named), begin };
    let mut now = random.between(FIRST, LAST);
    if random.one_in(2) {
        // Half a year has a change of clocks, if the zone has any at that time.
        let ahead = |time: i64| local(zone, time).and_utc().timestamp_millis() - time;
        let change =
            (0..200).find(|&days| ahead(now + days * DAY) != ahead(now + (days + 1) * DAY));
        now += change.unwrap_or(0) * DAY + random.between(-DAY, DAY);
    }
    (cycle, zone, now)
}

#[test]
fn a_period_follows_the_last_without_a_gap_and_without_an_overlap() {
    for seed in 0..seeds() {
        let (cycle, zone, now) = draw(&mut Random::new(seed));
        let told = format!("seed {seed}: {cycle:?} at {now}");
        let start = cycle.start(Time(now));
        let end = cycle.end(Time(now)).expect("an end");
        assert!(start.0 <= now && now < end.0, "{told}");
        assert_eq!((cycle.start(start), cycle.start(end)), (start, end), "{told}");
        assert_eq!(cycle.start(Time(end.0 - 1)), start, "{told}");
        assert_eq!(cycle.end(Time(start.0 - 1)), Some(start), "{told}");
        // A period begins when clocks show for the first time that it has.
        let shown = |time: i64| shown(cycle.period, cycle.begin, local(zone, time));
        for begin in [start.0, end.0] {
            let earlier = (1..=3 * 60).map(|minutes| shown(begin - minutes * MINUTE)).max();
            assert!(earlier < Some(shown(begin)), "{told}: {begin} is not the first");
            assert!(shown(begin - 1) < shown(begin), "{told}: {begin} is late");
        }
        // Whatever they show before its end is of it, or of one before.
        let within = (start.0..end.0).step_by(usize::try_from(11 * HOUR).expect("a step"));
        let last_hours = (1..=3 * 60).map(|minutes| (end.0 - minutes * MINUTE).max(start.0));
        for moment in within.chain(last_hours) {
            assert!(shown(moment) <= shown(start.0), "{told}: another begins at {moment}");
        }
    }
}

#[test]
fn hours_and_minutes_are_absolute_time() {
    for seed in 0..seeds() {
        let (cycle, zone, now) = draw(&mut Random::new(seed));
        let cycle = Cycle { period: Period::Hour, begin: 0, ..cycle };
        let (start, end) = (cycle.start(Time(now)), cycle.end(Time(now)).expect("an end"));
        let ahead = |time: i64| local(zone, time).and_utc().timestamp_millis() - time;
        let part = |time: i64| ahead(time).rem_euclid(HOUR);
        if part(start.0) == part(end.0) && part(start.0) == part(start.0 - HOUR) {
            assert_eq!(end.0 - start.0, HOUR, "seed {seed}: {cycle:?} at {now}");
            assert_eq!(local(zone, start.0).minute(), 0, "seed {seed}: {cycle:?} at {now}");
        }
        for count in [1, 5, 90] {
            for (period, length) in [(Period::Hours(count), HOUR), (Period::Minutes(count), MINUTE)]
            {
                let (cycle, length) = (Cycle { period, ..cycle }, i64::from(count) * length);
                assert_eq!(cycle.start(Time(now)).0, now - now % length);
            }
        }
    }
}

#[test]
fn an_allowance_of_n_a_period_gives_n_for_each_period_that_began() {
    for seed in 0..seeds() / 4 {
        let mut random = Random::new(seed);
        let (cycle, _, mut now) = draw(&mut random);
        let limits = Limits { transaction_ms: 1, tombstone_ms: 1, ..Limits::default() };
        let mut pair = Pair::new(limits);
        let attributes = BucketAttributes {
            period: Some(cycle.period),
            clock: PeriodClock {
                zone: cycle.zone.named(),
                begin: Some(cycle.begin),
                ..PeriodClock::NONE
            },
            floor: Some(-30),
            ..Default::default()
        };
        let (bucket, unit) = (name("a"), name("u"));
        let buckets = vec![scurry_ledger::NewBucket { bucket, unit, amount: 10, attributes }];
        let status = scurry_ledger::Status::Active;
        let create = Op::Create { txn: None, status, identities: vec![], buckets, keys: vec![] };
        let (mut next, mut granted) = (cycle.end(Time(now)).expect("an end"), 10);
        let step = |at: i64, op: Op, pair: &mut Pair| {
            let told = format!("seed {seed}: {cycle:?} {op:?} at {at}");
            let stepped = pair.step(&Event { at, what: CommandOrTick::Do(op) });
            assert!(matches!(stepped, Ok(StepResult::Commit(_))), "{told}: {stepped:?}");
        };
        step(now, create, &mut pair);
        for count in 0..12 {
            now += match random.below(4) {
                0 => random.between(0, 3 * HOUR),
                1 => random.between(0, 3 * DAY),
                // Slept for two months.
                2 => random.between(0, 70 * DAY),
                // The clock is set back.
                _ => -random.between(0, 2 * HOUR),
            };
            while next.0 <= now {
                (granted, next) = (granted + 10, cycle.end(next).expect("an end"));
            }
            let (txn, amount) = (format!("t{count}"), random.between(1, 9));
            step(now, Op::debit(&txn, "u", amount), &mut pair);
            let account = pair.account.as_ref().expect("an account");
            let seen = view(account, Time(now), &pair.limits);
            assert_eq!(seen.buckets[0].credited, granted, "seed {seed}: {cycle:?} at {now}");
            assert!(seen.buckets[0].available <= 10, "seed {seed}: {cycle:?} at {now}");
        }
    }
}
