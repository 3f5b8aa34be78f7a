//! The figures of a server from INFO at one moment, and the changes between two moments.

use scurry_cluster_client::form::field;

#[derive(Debug)]
pub(super) struct Figures {
    text: String,
}

/// Calls of a command per second and their mean duration.
#[derive(Debug, PartialEq)]
pub(super) struct CommandRate<'t> {
    pub(super) name: &'t str,
    pub(super) calls: f64,
    /// None if the server does not measure durations.
    pub(super) mean_us: Option<f64>,
}

impl Figures {
    pub(super) fn new(text: String) -> Figures {
        Figures { text }
    }

    pub(super) fn all(&self) -> &str {
        &self.text
    }

    /// Returns a value as INFO writes it, empty if missing.
    pub(super) fn word(&self, name: &str) -> &str {
        field(&self.text, name).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        self.word(name).parse().unwrap_or(0.0)
    }

    /// Returns the growth of a count per second since `before`.
    pub(super) fn rate(&self, before: &Figures, name: &str) -> f64 {
        self.per_second(before, self.number(name) - before.number(name))
    }

    /// Divides a growth by the elapsed seconds of the server's clock. A count that shrank was reset by a restart and
    /// gives 0.
    fn per_second(&self, before: &Figures, growth: f64) -> f64 {
        let clock = "server_time_usec";
        let seconds = (self.number(clock) - before.number(clock)) / 1e6;
        if seconds > 0.0 { growth.max(0.0) / seconds } else { 0.0 }
    }

    /// Returns, for each share, the bound in ns that this share of the requests since `before` did not exceed. None
    /// without requests.
    pub(super) fn durations<const SHARES: usize>(
        &self,
        before: &Figures,
        shares: [f64; SHARES],
    ) -> Option<[f64; SHARES]> {
        let old: Vec<(f64, f64)> = before.buckets().collect();
        let new: Vec<(f64, f64)> = self.buckets().collect();
        let since = |at: usize| new[at].1 - old.get(at).map_or(0.0, |&(_, count)| count);
        let all = new.len().checked_sub(1).map(since).filter(|&all| all > 0.0)?;
        Some(shares.map(|share| {
            let reached = (0..new.len()).find(|&at| since(at) >= share * all);
            reached.map_or(f64::INFINITY, |at| new[at].0)
        }))
    }

    /// Returns pairs of a bound in ns and the number of requests that took no longer.
    fn buckets(&self) -> impl Iterator<Item = (f64, f64)> {
        let parts = self.word("request_ns_up_to").split(',');
        parts.filter_map(|part| {
            let (bound, count) = part.split_once('=')?;
            Some((bound.parse().ok()?, count.parse().ok()?))
        })
    }

    /// Returns the units with their sums, as `name`, `available=1,held=2,...`.
    pub(super) fn units(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.lines().filter_map(|line| line.strip_prefix("unit_")?.trim().split_once(':'))
    }

    /// Returns the commands called since `before`, the most frequent first.
    pub(super) fn commands(&self, before: &Figures) -> Vec<CommandRate<'_>> {
        let all =
            self.text.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'));
        let mut rates: Vec<CommandRate> = all
            .filter_map(|(name, now)| {
                let then = before.word(&format!("cmdstat_{name}"));
                let growth = |key: &str| part(now, key) - part(then, key);
                let (calls, us) = (growth("calls"), growth("usec"));
                let is_timed = part(now, "usec") > 0.0;
                let rate = CommandRate {
                    name,
                    calls: self.per_second(before, calls),
                    mean_us: is_timed.then_some(us / calls),
                };
                (calls > 0.0).then_some(rate)
            })
            .collect();
        rates.sort_by(|one, other| other.calls.total_cmp(&one.calls));
        rates
    }
}

/// Returns a number from a line of `name=value,...`.
pub(super) fn part(line: &str, name: &str) -> f64 {
    let mut pairs = line.trim().split(',').filter_map(|pair| pair.split_once('='));
    let value = pairs.find_map(|(own, value)| (own == name).then_some(value));
    value.and_then(|value| value.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(second: u32, text: &str) -> Figures {
        let text = format!("server_time_usec:{second}000000\n{text}");
        Figures::new(text.replace('\n', "\r\n"))
    }

    #[test]
    fn rates_and_durations_are_of_the_time_between() {
        let old = figures(1, "commits:5\nrequest_ns_up_to:1024=90,2048=90,inf=100\n");
        let new = figures(3, "commits:25\nrequest_ns_up_to:1024=91,2048=189,inf=200\n");
        assert!((new.rate(&old, "commits") - 10.0).abs() < 1e-9);
        // Since `old` 1 request took up to 1024 ns, 98 up to 2048 ns, and 1 longer than any bound.
        let [least, most, all] = new.durations(&old, [0.01, 0.99, 1.0]).expect("there were some");
        assert!((least - 1024.0).abs() < 1e-9 && (most - 2048.0).abs() < 1e-9);
        assert!(all.is_infinite());
        assert_eq!(new.durations(&new, [0.5]), None);
        // A restarted server counts from 0 again.
        let anew = figures(4, "commits:1\n");
        assert!(anew.rate(&new, "commits").abs() < 1e-9);
    }

    #[test]
    fn commands_come_by_how_often_they_were_called() {
        let old = figures(0, "cmdstat_get:calls=10,usec=10,usec_per_call=1.00\n");
        let text = "cmdstat_get:calls=20,usec=60,usec_per_call=3.00\n\
                    cmdstat_set:calls=30,usec=0,usec_per_call=0.00\n\
                    unit_cent:available=7,held=3,credited=10\n";
        let new = figures(10, text);
        let rate = |name, calls, mean_us| CommandRate { name, calls, mean_us };
        assert_eq!(new.commands(&old), [rate("set", 3.0, None), rate("get", 1.0, Some(5.0))]);
        assert_eq!(new.units().collect::<Vec<_>>(), [("cent", "available=7,held=3,credited=10")]);
        assert!((part("available=7,held=3", "held") - 3.0).abs() < 1e-9);
    }
}
