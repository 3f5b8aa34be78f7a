//! Wall clocks that are set, on the leader and on a node that becomes leader. Nothing expires early, time does not go
//! back, and no node loses leadership.

use crate::nodes::Nodes;

const YEAR_DAYS: i32 = 365;
const DAY_S: i64 = 86_400;

/// Returns the leader's time, s.
fn time(nodes: &Nodes) -> i64 {
    let said = nodes.execute(&["TIME"]);
    said.lines().next().and_then(|line| line.parse().ok()).expect(&said)
}

/// Returns by how many days a node reports its clock ahead of the others'.
fn off_days(nodes: &Nodes, node: usize) -> Option<i64> {
    let said = nodes.status(node)?;
    let line = said.lines().find_map(|line| line.strip_prefix("clock_off_ms:"))?;
    line.trim().parse::<i64>().ok().map(|ms| ms / 1_000 / DAY_S)
}

/// Sets a node's clock, and waits until the node has noticed.
fn set(nodes: &Nodes, node: usize, days: i32) {
    nodes.set_clock(node, days);
    let about = |off: i64| (off - i64::from(days)).abs() <= 1;
    nodes.until("the node knows that its clock is wrong", || {
        off_days(nodes, node).filter(|off| about(*off))
    });
}

/// Makes a node the leader.
fn lead(nodes: &Nodes, node: usize) {
    let id = nodes.id(node);
    nodes.until("the node leads", || {
        if nodes.leader_of(&[node]).is_some() {
            return Some(());
        }
        nodes.try_execute(&["SCUR.REPLICA", "TRANSFER", &id]);
        None
    });
}

/// Checks that the purse still has its holds, and that the time has advanced by less than half a day.
#[track_caller]
fn nothing_came_early(nodes: &Nodes, begun_s: i64) {
    let shown = nodes.execute(&["SCUR.GET", "purse"]);
    assert!(shown.contains("held-for-a-day"), "{shown}");
    let passed_s = time(nodes) - begun_s;
    // Another correct clock may be up to 2 s slower.
    assert!((-2..DAY_S / 2).contains(&passed_s), "{passed_s} s have passed");
}

/// Checks that a hold expires when its time is over.
fn a_hold_ends(nodes: &Nodes, session: &str) {
    nodes.until("a hold is made", || {
        let said = nodes.try_execute(&reserve(session, "100ms"))?;
        // It was executed and the answer was lost.
        (!said.starts_with('-') || said.starts_with("-SESSION_EXISTS")).then_some(())
    });
    nodes.until("the hold ends", || {
        let shown = nodes.try_execute(&["SCUR.GET", "purse"])?;
        (!shown.contains(session) && shown.contains("held-for-a-day")).then_some(())
    });
}

fn reserve<'w>(session: &'w str, tcc_ms: &'w str) -> [&'w str; 11] {
    ["SCUR.RESERVE", "purse", session, "0", "TCC", tcc_ms, "ITEM", "1", "cent", "REQUESTED", "5"]
}

/// Two clocks of three are believed. The time that they have put into the log stays, so time continues from there after
/// they are corrected. If it went back, later holds would expire at the next change of leader.
#[test]
fn time_that_two_clocks_have_set_ahead_stays_so_whoever_leads() {
    let Some(nodes) = Nodes::start_with_clocks(3, 1) else { return };
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "1000"]);
    let (begun_s, first) = (time(&nodes), nodes.leader());
    let (second, third) = ((first + 1) % 3, (first + 2) % 3);
    let ahead_days = || (time(&nodes) - begun_s + DAY_S / 2) / DAY_S;
    for days in [10, 0] {
        nodes.set_clock(first, days);
        nodes.set_clock(second, days);
        nodes.until("the third node knows", || {
            off_days(&nodes, third).filter(|off| (off + i64::from(days)).abs() <= 1)
        });
        nodes.until("the others know each of the other", || {
            let off = |node| off_days(&nodes, node).filter(|off| *off == 0);
            off(first).and(off(second))
        });
        nodes.until("time is ahead", || (ahead_days() == 10).then_some(()));
        // The time is in the log, whichever node leads.
        nodes.execute(&["SET", "ahead", "10"]);
    }
    nodes.execute(&reserve("held-for-a-day", "86400000"));
    lead(&nodes, second);
    assert_eq!(ahead_days(), 10);
    assert!(nodes.execute(&["SCUR.GET", "purse"]).contains("held-for-a-day"));
    lead(&nodes, first);
    assert_eq!(ahead_days(), 10);
    assert!(nodes.execute(&["SCUR.GET", "purse"]).contains("held-for-a-day"));
}

#[test]
fn a_clock_that_is_set_by_a_year_on_one_node_ends_no_hold_and_stops_none_from_ending() {
    let Some(nodes) = Nodes::start_with_clocks(3, 1) else { return };
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "1000"]);
    nodes.execute(&reserve("held-for-a-day", "86400000"));
    let begun_s = time(&nodes);
    let mut tries = 0;
    let first = loop {
        let first = nodes.leader();
        set(&nodes, first, YEAR_DAYS);
        nothing_came_early(&nodes, begun_s);
        a_hold_ends(&nodes, &format!("short-1-{tries}"));
        if nodes.leader() == first {
            break first;
        }
        // Elections also happen when the machine stalls, but not each time.
        tries += 1;
        assert!(tries < 10, "an election is by the wall clock");
        set(&nodes, first, 0);
    };
    let second = (first + 1) % 3;
    nodes.until("its log says so", || {
        nodes.log(first).contains("is not that of the other nodes").then_some(())
    });
    // The log does not contain another time either.
    lead(&nodes, second);
    nothing_came_early(&nodes, begun_s);
    set(&nodes, first, -YEAR_DAYS);
    lead(&nodes, first);
    nothing_came_early(&nodes, begun_s);
    a_hold_ends(&nodes, "short-2");
    set(&nodes, first, 0);
    set(&nodes, second, YEAR_DAYS);
    lead(&nodes, second);
    nothing_came_early(&nodes, begun_s);
    a_hold_ends(&nodes, "short-3");
}
