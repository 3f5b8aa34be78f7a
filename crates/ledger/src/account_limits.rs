//! The limits of an account: how they are read at a moment, and what facts do to them. The parts of rolling limits are kept
//! beside the limits, so both change together.

use crate::limit::over;
use crate::{Account, Limit, LimitPart, Name, Time, Window};

impl Account {
    /// Returns a limit of this account as read at `now`: use that counts no more is gone, and `held` stays.
    pub fn limit_at(&self, limit: &Limit, now: Time) -> Limit {
        limit.read(now, self.parts_of(limit), self.held_in(limit))
    }

    /// Returns the rest of a limit of this account at `now`.
    pub fn left_in(&self, limit: &Limit, now: Time) -> i64 {
        self.limit_at(limit, now).left(self.held_in(limit))
    }

    /// Returns when `used` of a limit becomes 0 if nothing more is used; `None` if it is 0 and has no period, if it
    /// never becomes 0, or if the clock ends before.
    pub fn limit_resets_at(&self, limit: &Limit, now: Time) -> Option<Time> {
        self.falls_to(limit, 0, now)
    }

    /// Returns the first moment after `now` at which a limit leaves so many units, if nothing else changes than that
    /// use counts no more.
    pub(crate) fn leaves_at(&self, limit: &Limit, units: i128, now: Time) -> Option<Time> {
        let most = i128::from(limit.most()) - i128::from(self.held_in(limit)) - units;
        i64::try_from(most).ok().filter(|&most| most >= 0)?;
        self.falls_to(limit, i64::try_from(most).ok()?, now)
    }

    /// Returns the first moment after `now` at which `used` is at most this amount.
    fn falls_to(&self, limit: &Limit, most: i64, now: Time) -> Option<Time> {
        let read = self.limit_at(limit, now);
        let above = read.used.checked_sub(most).filter(|&above| above > 0);
        let moment = match read.window {
            Window::Period(cycle) => return Limit::period_end(cycle, read.period_start, now),
            Window::Rolling(span) => {
                let mut above = above?;
                let parts = self.parts_of(limit);
                let mut counting = parts.iter().skip(over(span, parts, now).count());
                let last = counting.find(|part| {
                    above -= part.used;
                    above <= 0
                })?;
                Window::part_end(span, last.start)
            }
            Window::Rate { span, .. } => {
                let to_drain =
                    i128::from(above?) * i128::from(span.ms()) - i128::from(read.drained);
                let amount = Some(i128::from(read.amount)).filter(|&amount| amount > 0)?;
                let ms = (to_drain + amount - 1) / amount;
                read.period_start.plus_ms(i64::try_from(ms).ok()?)
            }
        };
        Some(moment).filter(|&moment| moment <= Time::LAST)
    }

    /// Returns the parts of a limit, the oldest first.
    pub(crate) fn parts_of(&self, limit: &Limit) -> &[LimitPart] {
        if limit.parts == 0 {
            return &[];
        }
        let before = self.limits.iter().take_while(|other| other.id != limit.id);
        let first = before.map(|other| usize::from(other.parts)).sum();
        self.limit_parts.get(first..first + usize::from(limit.parts)).unwrap_or_default()
    }

    /// Returns the time with which the next use that this limit counts begins a period or a part of it, or drains it:
    /// `None` if there is nothing to begin.
    pub(crate) fn begins(&self, limit: &Limit, now: Time) -> Option<Time> {
        let begun = match limit.window {
            Window::Period(cycle) => return cycle.begun_after(limit.period_start, now),
            Window::Rolling(span) => {
                limit.parts == 0 || limit.period_start < Window::part_start(span, now)
            }
            Window::Rate { .. } => false,
        };
        (begun || self.limit_at(limit, now) != *limit).then_some(now)
    }

    /// Returns the most that a refund may take out of `used` of a limit, of a debit that was committed with this version
    /// of the account, and the index of the part of a rolling limit that it is taken from.
    pub(crate) fn counted_of(&self, limit: &Limit, debited: u64, now: Time) -> (u8, i64) {
        let read = self.limit_at(limit, now);
        match limit.window {
            // In a new period nothing is used yet.
            Window::Period(_) if debited >= limit.since => (0, read.used),
            Window::Rate { .. } if debited >= limit.since && !read.is_below_one() => (0, read.used),
            Window::Rolling(span) => {
                let parts = self.parts_of(limit);
                let mut counting = parts.iter().enumerate().skip(over(span, parts, now).count());
                let of_it = counting.rfind(|(_, part)| part.since <= debited);
                of_it.map_or((0, 0), |(at, part)| (at as u8, part.used))
            }
            Window::Period(_) | Window::Rate { .. } => (0, 0),
        }
    }

    /// Begins a period or a part of a limit, or drains it, at a moment. A period begins at its start.
    pub(crate) fn begin_limit(&mut self, place: usize, start: Time) {
        // The version that the account gets by this Change.
        let version = self.version + 1;
        let limit = self.limits[place];
        let mut read = self.limit_at(&limit, start);
        match limit.window {
            Window::Period(_) => {
                read = limit;
                read.begin_period(start, version);
            }
            Window::Rolling(span) => {
                let parts = self.parts_of(&limit);
                let (over, kept) = (over(span, parts, start).count(), parts.len());
                let present = Window::part_start(span, start);
                let is_begun = kept > over && parts[kept - 1].start >= present;
                let first = self.first_part(place);
                self.limit_parts.drain(first..first + over);
                let mut kept = kept - over;
                if !is_begun {
                    let part = LimitPart { start: present, since: version, used: 0 };
                    self.limit_parts.insert(first + kept, part);
                    (read.period_start, read.since) = (present, version);
                    kept += 1;
                }
                read.parts = u8::try_from(kept).unwrap_or(u8::MAX);
            }
            Window::Rate { .. } => {
                if read.is_below_one() {
                    read.since = version;
                }
            }
        }
        self.limits[place] = read;
    }

    /// Counts used units against a limit, whose present period or part has begun.
    pub(crate) fn count_in_limit(&mut self, place: usize, used: i64, overrun: i64) {
        let limit = &mut self.limits[place];
        limit.used += used;
        limit.overrun += overrun;
        let parts = usize::from(limit.parts);
        if parts > 0 {
            let last = self.first_part(place) + parts - 1;
            self.limit_parts[last].used += used;
        }
    }

    /// Takes units out of the use that a limit counts, in one of its parts.
    pub(crate) fn uncount_in_limit(&mut self, place: usize, part: u8, amount: i64) {
        let limit = &mut self.limits[place];
        limit.used -= amount;
        if limit.used == 0 {
            // A level is never below 0.
            limit.drained = 0;
        }
        if limit.parts > 0 {
            let at = self.first_part(place) + usize::from(part);
            debug_assert!(at < self.limit_parts.len());
            if let Some(part) = self.limit_parts.get_mut(at) {
                part.used -= amount;
            }
        }
    }

    /// Sets a limit, as the last one if there is none of its name. The parts of a rolling limit stay while its span
    /// does; else its use becomes one part.
    pub(crate) fn set_limit(&mut self, limit: &Limit) {
        let known = self.limits.iter().position(|known| known.id == limit.id);
        let place = known.unwrap_or(self.limits.len());
        match known {
            Some(place) if self.limits[place].window == limit.window => {
                self.limits[place] = Limit { parts: self.limits[place].parts, ..*limit };
                return;
            }
            Some(place) => {
                self.drop_parts(place);
                self.limits[place] = Limit { parts: 0, ..*limit };
            }
            None => self.limits.push(Limit { parts: 0, ..*limit }),
        }
        if let (Window::Rolling(_), true) = (limit.window, limit.used > 0) {
            let first = self.first_part(place);
            let Limit { period_start: start, since, used, .. } = *limit;
            self.limit_parts.insert(first, LimitPart { start, since, used });
            self.limits[place].parts = 1;
        }
    }

    /// Removes a limit.
    pub(crate) fn remove_limit(&mut self, id: Name) {
        if let Some(place) = self.limits.iter().position(|limit| limit.id == id) {
            self.drop_parts(place);
            self.limits.remove(place);
        }
    }

    fn drop_parts(&mut self, place: usize) {
        let first = self.first_part(place);
        self.limit_parts.drain(first..first + usize::from(self.limits[place].parts));
    }

    /// Returns the index of the first part of a limit.
    fn first_part(&self, place: usize) -> usize {
        self.limits[..place].iter().map(|limit| usize::from(limit.parts)).sum()
    }
}
