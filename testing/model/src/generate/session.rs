//! RESERVE, UPDATE and TERMINATE of the adversarial runs.

use super::Generator;
use crate::{Op, Pair, Request, key, name};
use scurry_ledger::{ItemRequest, Overrun};

/// Session ids: few, so that they collide.
pub(super) const IDS: &[&str] = &["s0", "s0", "s1", "s2"];
/// Item keys that are not numbers, some of which look like one.
const KEYS: &[&str] =
    &["-", "-", "00", "4294967296", "10.4711", "the-longest-key-has-32-bytes-all"];
const BLOBS: &[&[u8]] = &[b"", b"x", b"xyz", b"long"];

impl Generator {
    pub(super) fn reserve(&mut self, pair: &Pair) -> Op {
        let mut request = self.request(pair, false);
        request.options.overrun = match self.random.below(5) {
            0 => Some(Overrun::Overdraw),
            1 => Some(Overrun::Clamp),
            2 => Some(Overrun::Held),
            _ => None,
        };
        request.options.keep_open = self.random.one_in(4);
        request.options.close_on_denial &= !request.options.keep_open || self.random.one_in(10);
        for _ in 0..self.count(pair) {
            let mut item = self.item();
            item.requested = Some(self.amount());
            if self.random.one_in(60) {
                item.used = Some(0);
            }
            item.min = self.min(item.requested);
            request.items.push(item);
        }
        Op::Reserve(self.tidy(request))
    }

    pub(super) fn update(&mut self, pair: &Pair) -> Op {
        let mut request = self.request(pair, true);
        self.late_use(&mut request);
        request.options.keep_hold = self.random.one_in(3);
        request.options.close_on_denial &= !request.options.keep_hold || self.random.one_in(10);
        for _ in 0..self.count(pair) {
            let mut item = self.item();
            if !self.random.one_in(3) {
                item.used = Some(self.amount_or_zero());
            }
            if !self.random.one_in(4) {
                item.requested = Some(self.amount_or_zero());
                item.min = self.min(item.requested);
            } else if self.random.one_in(30) {
                item.min = Some(1);
            } else if !self.random.one_in(20) {
                item.used = item.used.or(Some(0));
            }
            request.items.push(item);
        }
        Op::Update(self.tidy(request))
    }

    pub(super) fn terminate(&mut self, pair: &Pair) -> Op {
        let mut request = self.request(pair, true);
        (request.options.validity_ms, request.options.tcc_ms) = (None, None);
        (request.options.close_on_denial, request.blob) = (false, None);
        self.late_use(&mut request);
        request.options.cancel = self.random.one_in(4);
        for _ in 0..self.count(pair) {
            let mut item = self.item();
            item.used = Some(self.amount_or_zero());
            request.items.push(item);
        }
        Op::Terminate(self.tidy(request))
    }

    /// Adds LATEUSE now and then, often with a session that is not open.
    fn late_use(&mut self, request: &mut Request) {
        request.options.late_use = self.random.one_in(3);
        if request.options.late_use && self.random.one_in(2) {
            request.session = self.random.pick(IDS).to_string();
        }
        if self.random.one_in(if request.options.late_use { 3 } else { 40 }) {
            request.options.overrun =
                Some(self.random.pick(&[Overrun::Overdraw, Overrun::Clamp, Overrun::Held]));
        }
    }

    /// Returns the start of a request; `known` asks for an open session.
    fn request(&mut self, pair: &Pair, known: bool) -> Request {
        let open = pair.account.iter().flat_map(|account| &account.sessions);
        let open: Vec<_> = open.collect();
        let mut request = Request::new(self.random.pick(IDS), 0);
        request.request = u32::try_from(self.random.below(14)).unwrap_or(0);
        if known && !open.is_empty() && !self.random.one_in(6) {
            let session = self.random.pick(&open);
            request.session = String::from_utf8_lossy(session.id.as_bytes()).into_owned();
            let last = session.answers.last_request().unwrap_or(0);
            if self.random.one_in(2) {
                request.request = last.wrapping_add(1);
            }
            request.options.if_version = match self.random.below(16) {
                0 => Some(session.version),
                1 => Some(session.version + 1),
                _ => None,
            };
        }
        match self.random.below(200) {
            0 => request.request = u32::MAX,
            1 => request.session = String::new(),
            2 => request.session = "s p".to_string(),
            3 => request.session = "x".repeat(256),
            4..7 => request.session = "x".repeat(self.random.pick(&[62, 63, 255])),
            _ => {}
        }
        if self.random.one_in(5) {
            request.options.validity_ms = Some(self.duration());
        }
        if self.random.one_in(if self.close { 2 } else { 5 }) {
            request.options.tcc_ms = Some(self.duration());
        }
        if self.random.one_in(6) {
            let long = usize::from(self.random.one_in(12)) * 3;
            request.blob = Some(BLOBS[long.max(self.random.below(3))].to_vec());
        }
        request.options.close_on_denial = self.random.one_in(5);
        request
    }

    /// Draws the number of items: few, and rarely more than allowed.
    fn count(&mut self, pair: &Pair) -> usize {
        let most = if self.random.one_in(30) { 9 } else { pair.limits.items_max };
        if self.many.is_some() && self.random.one_in(3) {
            return self.random.below(most + 2);
        }
        let count = self.random.pick(&[1, 1, 1, 1, 2, 2, 3]);
        if self.random.one_in(20) { 0 } else { count.min(most) }
    }

    /// Removes items with the same key and unit, in most cases.
    fn tidy(&mut self, mut request: Request) -> Request {
        if !self.random.one_in(30) {
            let mut keys = vec![];
            request.items.retain(|item| {
                let new = !keys.contains(&(item.key, item.unit));
                keys.push((item.key, item.unit));
                new
            });
        }
        request
    }

    pub(super) fn item(&mut self) -> ItemRequest {
        let key = match self.random.below(8) {
            _ if self.many.is_some() => {
                let key = self.random.below(self.many.unwrap_or(1));
                u32::try_from(key).unwrap_or(0).into()
            }
            0 => key(self.random.pick(KEYS)),
            _ => self.random.pick(&[0, 0, 0, 0, 1, 1, 1, 2, 3, u32::MAX]).into(),
        };
        let usual = self.random.pick(&["oct", "oct", "sec"]);
        let unit = if self.random.one_in(25) { self.unit() } else { name(usual) };
        let unit = if self.random.one_in(60) { name("none") } else { unit };
        ItemRequest { key, unit, used: None, requested: None, min: None }
    }

    fn min(&mut self, requested: Option<i64>) -> Option<i64> {
        let requested = requested.unwrap_or(0);
        if requested == 0 && !self.random.one_in(20) {
            return None;
        }
        match self.random.below(12) {
            0 => Some(0),
            1 => Some(requested),
            2 => Some(requested / 2),
            3 => Some(1),
            4 if self.random.one_in(6) => Some(requested.saturating_add(1)),
            5 if self.random.one_in(6) => Some(-1),
            _ => None,
        }
    }

    fn amount_or_zero(&mut self) -> i64 {
        if self.random.one_in(5) { 0 } else { self.amount() }
    }

    fn duration(&mut self) -> i64 {
        if let Some(end) = self.beside_an_end() {
            return end - self.clock;
        }
        let some = self.random.between(1, 60);
        let nonsense = self.random.pick(&[0, -1, 1_001, i64::MAX]);
        let usual = self.random.pick(&[some, some, some, 1, 200]);
        if self.random.one_in(25) { nonsense } else { usual }
    }

    /// Changes something that belongs to the body, or only seems to.
    pub(super) fn change_body(&mut self, request: &mut Request) {
        let Some(item) = request.items.first_mut() else {
            request.blob = Some(b"y".to_vec());
            return;
        };
        if request.options.late_use && self.random.one_in(3) {
            request.options.overrun =
                if request.options.overrun.is_some() { None } else { Some(Overrun::Clamp) };
            return;
        }
        match self.random.below(11) {
            0 => item.used = Some(item.used.unwrap_or(0)),
            1 => item.min = Some(1),
            2 => item.min = None,
            3 => request.options.if_version = Some(1),
            4 => request.items.reverse(),
            5 => request.options.close_on_denial = !request.options.close_on_denial,
            6 => request.options.keep_open = !request.options.keep_open,
            7 => request.options.late_use = !request.options.late_use,
            8 => request.options.keep_hold = !request.options.keep_hold,
            9 => item.used = item.used.map(|used| used / 2 + 1),
            _ => item.requested = item.requested.map(|requested| requested / 2 + 1),
        }
    }
}
