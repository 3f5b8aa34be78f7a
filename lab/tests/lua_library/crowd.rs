//! Sessions that open in large numbers and close again, the same ones for the same seed.

use scurry_lab::random::Random;

/// Request: the command and the arguments after the account.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) command: &'static str,
    pub(crate) rest: Vec<String>,
}

/// Generator of many sessions from a seed.
pub(crate) struct Crowd {
    random: Random,
    /// True while more sessions begin than end.
    pub(crate) grows: bool,
    ids: u32,
    /// Sessions that may be open, with the next request number of each.
    open: Vec<(String, u32)>,
    sent: Vec<Request>,
}

impl Crowd {
    pub(crate) fn seeded(seed: u64) -> Crowd {
        let random = Random::seeded(seed);
        Crowd { random, grows: true, ids: 0, open: Vec::new(), sent: Vec::new() }
    }

    /// Returns the time before the next request, ms. At times it jumps so far that Tcc has ended, or something is
    /// forgotten, for some sessions and not yet for others.
    pub(crate) fn pause(&mut self) -> i64 {
        let jumps = if self.grows { 200 } else { 12 };
        match self.random.below(jumps) {
            0 => {
                let ends = [30_000, 240_000, 240_000, 1_200_000, 3_600_000];
                ends[self.random.below(5) as usize] - i64::from(self.random.below(300))
            }
            1 => 1_000,
            _ => i64::from(self.random.below(4)),
        }
    }

    pub(crate) fn next(&mut self) -> Request {
        let kind = self.random.below(100);
        let [reserve, update, terminate, topup] =
            if self.grows { [45, 65, 75, 90] } else { [5, 25, 70, 75] };
        let request = if kind < reserve {
            self.ids += 1;
            self.open.push((format!("s{}", self.ids), 1));
            let id = format!("s{}", self.ids);
            self.of("RESERVE", id, 0)
        } else if kind < terminate && !self.open.is_empty() {
            let at = self.random.below(u32::try_from(self.open.len()).unwrap()) as usize;
            let (id, number) = self.open[at].clone();
            self.open[at].1 += 1;
            if kind >= update {
                self.open.swap_remove(at);
            }
            self.of(if kind < update { "UPDATE" } else { "TERMINATE" }, id, number)
        } else if kind < topup || self.sent.is_empty() {
            self.ids += 1;
            let bucket =
                ["main", "short", "none"][self.random.below(20).saturating_sub(17) as usize];
            let amount = (1 + self.random.below(400)).to_string();
            Request {
                command: "TOPUP",
                rest: vec![format!("t{}", self.ids), bucket.into(), amount],
            }
        } else {
            self.again()
        };
        self.sent.push(request.clone());
        request
    }

    /// Repeats an earlier request, mostly a recent one, or sends another one with its number.
    fn again(&mut self) -> Request {
        let refills_alone = self.random.below(3) == 0;
        let reach = [3, 30, 300][self.random.below(3) as usize];
        let back = self.random.below(reach) as usize;
        let is_wanted = |request: &&Request| !refills_alone || request.command == "TOPUP";
        let mut wanted = self.sent.iter().rev().filter(is_wanted);
        let mut request = wanted.nth(back).unwrap_or(&self.sent[0]).clone();
        if self.random.below(5) == 0 {
            request.rest.last_mut().unwrap().push('1');
        }
        request
    }

    fn of(&mut self, command: &'static str, id: String, number: u32) -> Request {
        let mut rest = vec![id, number.to_string(), "ITEM".into(), "1".into(), "octets".into()];
        let mut option = |word: &str, bound: u32| {
            rest.extend([word.into(), (1 + self.random.below(bound)).to_string()]);
        };
        match command {
            "RESERVE" => option("REQUESTED", 1_000),
            "UPDATE" => {
                option("USED", 900);
                option("REQUESTED", 1_000);
            }
            _ => option("USED", 900),
        }
        Request { command, rest }
    }
}
