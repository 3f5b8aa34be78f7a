//! What a seed draws before its run: how long times are, and how often what fails.

use scurry_model::Random;

/// Largest request for units.
pub(crate) const ASKED_MAX: i64 = 5_000;

/// How clients behave.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Longest pause of a lane between requests, ms.
    pub think_ms: i64,
    /// Rate of sessions that the client forgets: one in so many, 0 for none.
    pub abandon: usize,
    /// Rate of sessions of two services that report both at the same time, each in a request: one in so many, 0 for none.
    pub parallel: usize,
    /// Rate of events that say little, much, or what contradicts itself, of the simulator's table of services: one in so
    /// many, 0 for none.
    pub odd: usize,
}

/// Plan of a run. A rate of N is once in N on average; 0 is never. Times are ms.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) clients: usize,
    /// Lanes of each client: sessions and events one after another.
    pub(crate) lanes: usize,
    /// Accounts of each client's subscribers; the lanes share them.
    pub(crate) accounts: usize,
    /// First credit of an account, octets.
    pub(crate) credit: i64,
    /// How long all may fail.
    pub(crate) faulty_ms: u64,
    pub(crate) watchdog_ms: u64,
    /// How long a client waits for an answer before it sends the request again.
    pub(crate) answer_ms: u64,
    pub(crate) validity_s: u32,
    /// Longest delay of a link and of the store.
    pub(crate) delay_ms: i64,
    pub(crate) store_ms: i64,
    pub(crate) habits: Habits,
    /// Mean time between failures of links, of doors.
    pub(crate) link_fault_ms: i64,
    pub(crate) door_fault_ms: i64,
    pub(crate) stall_ms: i64,
    /// Rates of requests: those that are sent twice at once, and again after their answer.
    pub(crate) double: usize,
    pub(crate) again: usize,
    /// Rate of requests whose reply of the store is lost, before or after it was carried out.
    pub(crate) store_fault: usize,
    /// Numbers of each client's subscribers, each with two accounts that it moves between, and the mean time between
    /// moves of any of them.
    pub(crate) numbers: usize,
    pub(crate) move_ms: i64,
}

impl Plan {
    pub(crate) fn new(random: &mut Random) -> Plan {
        let mut often = |of: &[i64]| random.pick(of);
        let watchdog_ms = often(&[6_000, 6_000, 10_000]);
        let mut plan = Plan {
            clients: size(often(&[2, 3])),
            lanes: size(often(&[2, 4, 6])),
            accounts: size(often(&[1, 2, 4])),
            credit: often(&[20_000, 300_000, 10_000_000]),
            faulty_ms: time(often(&[60_000, 180_000])),
            watchdog_ms: time(watchdog_ms),
            answer_ms: time(often(&[2_000, 5_000, 15_000])),
            validity_s: often(&[15, 20, 60, 600]).try_into().unwrap_or(600),
            delay_ms: often(&[2, 50, 1_500]),
            store_ms: often(&[1, 20, 400]),
            habits: Habits {
                think_ms: often(&[500, 3_000, 60_000]),
                abandon: size(often(&[0, 4, 10])),
                parallel: 2,
                odd: 0,
            },
            link_fault_ms: often(&[0, 10_000, 40_000]),
            door_fault_ms: often(&[0, 40_000, 90_000]),
            stall_ms: often(&[1_000, 3 * watchdog_ms, 5 * watchdog_ms]),
            double: size(often(&[0, 3, 20])),
            again: size(often(&[0, 3, 20])),
            store_fault: size(often(&[0, 10, 60])),
            numbers: size(often(&[0, 1, 2])),
            move_ms: often(&[2_000, 10_000]),
        };
        plan.habits.odd = size(often(&[0, 2, 4]));
        plan
    }
}

fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// Returns a time of the simulation.
pub(crate) fn time(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
