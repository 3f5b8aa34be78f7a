//! Formats the figures as lines for people.

use super::figures::{Figures, part};
use crate::replica::view::View;
use crate::terminal_escape::escaped;

/// Commands shown at most, the most frequent ones.
const COMMANDS_MAX: usize = 8;
/// Units shown at most.
const UNITS_MAX: usize = 8;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

#[derive(Debug)]
pub(super) struct Page {
    lines: Vec<ScreenLine>,
}

#[derive(Debug)]
struct ScreenLine {
    text: String,
    tone: LineColour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineColour {
    Plain,
    Heading,
    Trouble,
}

impl Page {
    pub(super) fn waiting(address: &str) -> Page {
        let mut picture = Page { lines: Vec::new() };
        picture.add(LineColour::Heading, format!("scurry at {address}"));
        picture.add(LineColour::Plain, "asking it ...".to_owned());
        picture
    }

    pub(super) fn away(address: &str, why: &str) -> Page {
        let mut picture = Page { lines: Vec::new() };
        picture.add(LineColour::Heading, format!("scurry at {address}"));
        picture.add(LineColour::Trouble, format!("it is away: {why}"));
        picture.add(LineColour::Plain, "asked again each second; q ends".to_owned());
        picture
    }

    /// Puts the age of the figures into the first line.
    pub(super) fn mark_old(&mut self, seconds: u64) {
        const MARK: &str = "no answer for ";
        let Some(first) = self.lines.first_mut() else { return };
        if let Some((_, rest)) =
            first.text.split_once(" s   ").filter(|(begin, _)| begin.starts_with(MARK))
        {
            first.text = rest.to_owned();
        }
        first.text = format!("{MARK}{seconds} s   {}", first.text);
        first.tone = LineColour::Trouble;
    }

    /// Formats the current figures, with rates since `before`.
    pub(super) fn of_figures(address: &str, before: Option<&Figures>, now: &Figures) -> Page {
        let mut picture = Page { lines: Vec::new() };
        // Without earlier figures all rates are 0.
        let then = before.unwrap_or(now);
        picture.head(address, now);
        picture.traffic(then, now);
        picture.charging(then, now);
        picture.disk(then, now);
        picture.group(now);
        picture.units(now);
        picture.commands(then, now);
        picture
    }

    /// Returns the lines, cut to the width of the terminal.
    pub(super) fn lines(&self, columns: usize, has_colors: bool) -> Vec<String> {
        let cut = |text: &str| text.chars().take(columns).collect::<String>();
        let toned = |line: &ScreenLine| match line.tone {
            LineColour::Heading if has_colors => format!("{BOLD}{}{PLAIN}", cut(&line.text)),
            LineColour::Trouble if has_colors => format!("{RED}{}{PLAIN}", cut(&line.text)),
            _ => cut(&line.text),
        };
        self.lines.iter().map(toned).collect()
    }

    /// Returns the whole text without colours.
    pub(super) fn text(&self, columns: usize) -> String {
        self.lines(columns, false).iter().map(|line| format!("{line}\n")).collect()
    }

    fn add(&mut self, tone: LineColour, text: String) {
        // The text contains names from the server, so control characters are escaped.
        self.lines.push(ScreenLine { text: escaped(&text), tone });
    }

    fn head(&mut self, address: &str, now: &Figures) {
        let text = format!(
            "scurry {} at {address}   up {}   threads {}   durability {}",
            now.word("scurry_version"),
            uptime(now.word("uptime_in_seconds").parse().unwrap_or(0)),
            now.word("threads"),
            now.word("durability"),
        );
        self.add(LineColour::Heading, text);
    }

    fn traffic(&mut self, then: &Figures, now: &Figures) {
        let rate = |name| per_second(now.rate(then, name));
        let bytes_rate = |name| format!("{}/s", bytes(now.rate(then, name)));
        let cpu = now.rate(then, "used_cpu_user") + now.rate(then, "used_cpu_sys");
        self.add(
            LineColour::Plain,
            format!(
                "requests   {}   errors {}   in {}   out {}   processor {:.0} %",
                rate("total_commands_processed"),
                rate("total_error_replies"),
                bytes_rate("total_net_input_bytes"),
                bytes_rate("total_net_output_bytes"),
                100.0 * cpu,
            ),
        );
        let durations = match now.durations(then, [0.5, 0.99, 0.999]) {
            Some([half, most, nearly_all]) => format!(
                "50 % {}   99 % {}   99.9 % {}",
                duration(half),
                duration(most),
                duration(nearly_all)
            ),
            None => "no request yet".to_owned(),
        };
        self.add(LineColour::Plain, format!("durations  {durations}"));
        let refused = now.number("rejected_connections");
        self.add(
            LineColour::Plain,
            format!(
                "clients    {} of {}   pending {}   new {}   refused {}",
                now.word("connected_clients"),
                now.word("maxclients"),
                now.word("unauthenticated_clients"),
                rate("total_connections_received"),
                count(refused),
            ),
        );
        let (used, most) = (now.number("used_memory"), now.number("maxmemory"));
        let bound =
            if most > 0.0 { format!(" of {}", bytes(most)) } else { ", unlimited".to_owned() };
        let is_nearly_full = most > 0.0 && used > 0.9 * most;
        self.add(
            if is_nearly_full { LineColour::Trouble } else { LineColour::Plain },
            format!(
                "memory     {}{bound}   accounts {}   values {}   process {}",
                bytes(used),
                bytes(now.number("used_memory_accounts")),
                bytes(now.number("used_memory_values")),
                bytes(now.number("used_memory_rss")),
            ),
        );
    }

    fn charging(&mut self, then: &Figures, now: &Figures) {
        let rate = |name| per_second(now.rate(then, name));
        let total = |name| count(now.number(name));
        self.add(
            LineColour::Plain,
            format!(
                "charging   accounts {}   sessions {}   changes {}   duplicates {}   expiries {}",
                total("accounts"),
                total("sessions"),
                rate("commits"),
                rate("replays"),
                rate("expiries"),
            ),
        );
        self.add(
            LineColour::Plain,
            format!(
                "denials    {}   all {}: CREDIT_LIMIT_REACHED {}, SERVICE_DENIED {}   rejected {}",
                rate("denials"),
                total("denials"),
                total("denials_credit_limit_reached"),
                total("denials_service_denied"),
                rate("rejects"),
            ),
        );
    }

    fn disk(&mut self, then: &Figures, now: &Figures) {
        if now.word("log_enabled") != "1" {
            self.add(LineColour::Plain, "log        none: nothing survives a restart".to_owned());
            return;
        }
        let status = match now.word("log_status") {
            "ok" => "well",
            "full" => "FULL: make room, writes are refused",
            "still" => "the device STANDS STILL",
            _ => "FAILED: the server's log says why",
        };
        let behind = now.number("log_sequence") - now.number("log_sequence_durable");
        let failed = now.number("snapshots_failed");
        let is_well = status == "well" && failed == 0.0;
        self.add(
            if is_well { LineColour::Plain } else { LineColour::Trouble },
            format!(
                "log        {status}   {}/s   batches {}   under way {}   snapshots {}{}{}",
                bytes(now.rate(then, "log_bytes")),
                per_second(now.rate(then, "log_batches")),
                count(behind.max(0.0)),
                count(now.number("snapshots_written")),
                if now.word("snapshot_in_progress") == "1" { ", one being written" } else { "" },
                if failed > 0.0 { format!(", {} FAILED", count(failed)) } else { String::new() },
            ),
        );
    }

    fn group(&mut self, now: &Figures) {
        let Some(view) = View::from_info(now.all()) else { return };
        let mut roles: Vec<&str> = view.shards().map(|shard| shard.role).collect();
        roles.dedup();
        let can_lose = view.can_lose();
        let (tone, known) = match (&roles[..], can_lose.starts_with("no")) {
            (["leader"], true) => (LineColour::Trouble, format!("can lose a node: {can_lose}")),
            (["leader"], false) => (LineColour::Plain, format!("can lose a node: {can_lose}")),
            _ => (LineColour::Plain, "the leader knows whether a node may be lost".to_owned()),
        };
        self.add(tone, format!("group      this is a {}   {known}", roles.join("+")));
        let leaders: Vec<&str> = view.shards().filter_map(|shard| shard.leader).collect();
        for member in view.members() {
            let own = member.id == view.id();
            let leads = if leaders.contains(&member.id) { "leads" } else { "follows" };
            let link = match (own, member.is_connected) {
                (true, _) => "this node",
                (_, true) => "connected",
                (_, false) => "NOT CONNECTED",
            };
            let lag = member
                .lag
                .map_or("lag unknown".to_owned(), |lag| format!("lag {}", count(lag as f64)));
            let vote = if member.votes { "votes" } else { "no vote yet" };
            let tone =
                if own || member.is_connected { LineColour::Plain } else { LineColour::Trouble };
            let lag = if own || leads == "leads" { String::new() } else { lag };
            let text = format!(
                "  {}   {}:{}   {leads}   {vote}   {link}   {lag}",
                member.id, member.ip, member.port
            );
            self.add(tone, text.trim_end().to_owned());
        }
    }

    fn units(&mut self, now: &Figures) {
        let units: Vec<(&str, &str)> = now.units().collect();
        if units.is_empty() {
            return;
        }
        self.add(LineColour::Plain, String::new());
        let names = ["available", "held", "consumed", "credited", "uncollected"];
        let cells: String = names.iter().map(|name| format!(" {name:>16}")).collect();
        self.add(LineColour::Heading, format!("{:16}{cells}", "unit"));
        for (unit, sums) in units.iter().take(UNITS_MAX) {
            let cell = |name: &&str| format!(" {:>16}", count(part(sums, name)));
            let cells: String = names.iter().map(cell).collect();
            self.add(LineColour::Plain, format!("{unit:16}{cells}"));
        }
        if let Some(more @ 1..) = units.len().checked_sub(UNITS_MAX) {
            self.add(LineColour::Plain, format!("and {more} more"));
        }
    }

    fn commands(&mut self, then: &Figures, now: &Figures) {
        let commands = now.commands(then);
        if commands.is_empty() {
            return;
        }
        self.add(LineColour::Plain, String::new());
        self.add(
            LineColour::Heading,
            format!("{:24} {:>12} {:>12}", "command", "calls", "mean time"),
        );
        for command in commands.iter().take(COMMANDS_MAX) {
            let mean = command.mean_us.map_or("not timed".to_owned(), |us| duration(1e3 * us));
            let calls = per_second(command.calls);
            self.add(LineColour::Plain, format!("{:24} {calls:>12} {mean:>12}", command.name));
        }
    }
}

/// Formats a whole number with a comma at each thousand.
fn count(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0.0 && digits != "0" { format!("-{text}") } else { text }
}

fn per_second(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { format!("{rate:.1}/s") } else { format!("{}/s", count(rate)) }
}

fn bytes(number: f64) -> String {
    let (mut amount, mut unit) = (number, "B");
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if amount >= 1_024.0 {
            (amount, unit) = (amount / 1_024.0, larger);
        }
    }
    if unit == "B" { format!("{amount:.0} B") } else { format!("{amount:.1} {unit}") }
}

/// Formats a duration given in ns.
fn duration(ns: f64) -> String {
    match ns {
        _ if ns.is_infinite() => "above 1 s".to_owned(),
        _ if ns < 10_000.0 => format!("{:.1} us", ns / 1e3),
        _ if ns < 1e6 => format!("{:.0} us", ns / 1e3),
        _ if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.1} s", ns / 1e9),
    }
}

fn uptime(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "scurry_version:1.2.3\r\nthreads:2\r\ndurability:fsync\r\n\
        uptime_in_seconds:90061\r\nlog_enabled:1\r\nlog_status:ok\r\nused_memory:2048\r\n\
        maxmemory:1048576\r\nunit_cent:available=1234567,held=-3,credited=1\r\n";

    fn picture(text: &str) -> String {
        let now = Figures::new(text.to_owned());
        Page::of_figures("here:1", None, &now).text(200)
    }

    #[test]
    fn figures_are_words_and_trouble_is_seen() {
        let text = picture(TEXT);
        assert!(text.starts_with("scurry 1.2.3 at here:1   up 1 d 1 h   threads 2"), "{text}");
        assert!(text.contains("1,234,567") && text.contains(" -3 "), "{text}");
        assert!(text.contains("2.0 KiB of 1.0 MiB") && text.contains("log        well"), "{text}");
        assert!(!text.contains("group"), "{text}");
        for (status, said) in [("full", "FULL"), ("still", "STANDS STILL"), ("err", "FAILED")] {
            let figures =
                Figures::new(TEXT.replace("log_status:ok", &format!("log_status:{status}")));
            let picture = Page::of_figures("here:1", None, &figures);
            let line = picture.lines.iter().find(|line| line.text.contains(said)).expect(said);
            assert_eq!(line.tone, LineColour::Trouble);
        }
    }

    #[test]
    fn a_group_shows_its_nodes_and_a_lost_one() {
        let text = picture(
            "scurry_group_node:a7\r\ncan_lose_a_node:no, no connection to node a8\r\n\
             member0:id=a7,votes=yes,connected=yes,peer=1.1.1.1:3,ip=1.1.1.1,port=1,lag=0\r\n\
             member1:id=a8,votes=yes,connected=no,peer=1.1.1.2:3,ip=1.1.1.2,port=1,lag=unknown\r\n\
             member2:id=a9,votes=no,connected=yes,peer=1.1.1.3:3,ip=1.1.1.3,port=1,lag=12345\r\n\
             shard0:role=leader,term=3,leader=a7,serves=yes,committed=9,stored=8,applied=7,elections=2\r\n",
        );
        assert!(text.contains("this is a leader   can lose a node: no, no connection"), "{text}");
        assert!(text.contains("a7   1.1.1.1:1   leads   votes   this node\n"), "{text}");
        assert!(
            text.contains("a8   1.1.1.2:1   follows   votes   NOT CONNECTED   lag unknown\n"),
            "{text}"
        );
        assert!(text.contains("no vote yet   connected   lag 12,345\n"), "{text}");
    }

    #[test]
    fn nothing_of_a_server_is_obeyed_by_a_terminal() {
        let text =
            picture(&TEXT.replace("1.2.3", "1\x1b]0;x\x07").replace("unit_cent", "unit_\x1b[2J"));
        assert!(!text.contains(|letter: char| letter.is_control() && letter != '\n'), "{text}");
        assert!(text.contains("scurry 1\\x1b]0;x\\x07 at"), "{text}");
    }

    #[test]
    fn figures_that_grow_old_say_so() {
        let mut picture = Page::of_figures("here:1", None, &Figures::new(TEXT.to_owned()));
        picture.mark_old(2);
        picture.mark_old(3);
        assert!(picture.text(200).starts_with("no answer for 3 s   scurry 1.2.3 at"));
        assert_eq!(picture.lines[0].tone, LineColour::Trouble);
    }

    #[test]
    fn lines_are_cut_where_the_terminal_ends() {
        let now = Figures::new(TEXT.to_owned());
        let lines = Page::of_figures("here:1", None, &now).lines(20, false);
        assert!(
            lines.len() > 5 && lines.iter().all(|line| line.chars().count() <= 20),
            "{lines:?}"
        );
        let toned = Page::away("here:1", "gone").lines(20, true);
        assert_eq!(toned[1], format!("{RED}it is away: gone{PLAIN}"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 999.0, 1_000.0, -1_234_567.0].map(count),
            ["0", "999", "1,000", "-1,234,567"]
        );
        assert_eq!([0.0, 2.5, 12_345.6].map(per_second), ["0/s", "2.5/s", "12,346/s"]);
        assert_eq!([0.0, 1_023.0, 1_048_576.0].map(bytes), ["0 B", "1023 B", "1.0 MiB"]);
        let shown = [1_024.0, 65_536.0, 1_048_576.0, f64::INFINITY].map(duration);
        assert_eq!(shown, ["1.0 us", "66 us", "1.0 ms", "above 1 s"]);
        assert_eq!([5, 65, 3_661].map(uptime), ["5 s", "1 min", "1 h 1 min"]);
    }
}
