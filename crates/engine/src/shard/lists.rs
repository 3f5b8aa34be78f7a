//! Lists: each is one packed value, made anew and journaled whole at each change. One without
//! elements does not exist.

use super::Shard;
use super::values::{check_lens, plain_head};
use crate::entry::Kind;
use crate::table::Place;
use crate::{Key, WriteError, WrongType};
use scurry_codec::{List, ListError, encode_list, splice_list};
use scurry_ledger::Time;
use std::ops::Range;

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where places begin.
    Head,
    /// Where they end.
    Tail,
}

impl Shard {
    /// A list.
    pub fn list(&self, now: Time, key: Key<'_>) -> Result<Option<List<'_>>, WrongType> {
        let place = self.only(Kind::List, self.find(now, key))?;
        Ok(place.map(|place| self.list_at(place)))
    }

    /// Pushes elements onto an end, one after the other, also where there is no list. Returns how
    /// many there are then. The expiry stays.
    pub fn list_push(
        &mut self,
        now: Time,
        key: Key<'_>,
        end: End,
        elements: &[&[u8]],
    ) -> Result<usize, WriteError> {
        check_lens(key, 0)?;
        let place = self.settle(now, key);
        let place = self.only(Kind::List, place)?;
        if self.refuses_memory() {
            return Err(WriteError::OutOfMemory);
        }
        let elements = elements.iter().copied();
        self.change_list(key, place, |list, packed| match end {
            End::Head => splice_list(List::EMPTY, elements.rev(), list, packed),
            End::Tail => splice_list(list, elements, List::EMPTY, packed),
        })
    }

    /// Replaces the element at a place; false when there is none.
    pub fn list_set(
        &mut self,
        now: Time,
        key: Key<'_>,
        at: usize,
        element: &[u8],
    ) -> Result<bool, WriteError> {
        let place = self.settle(now, key);
        let Some(place) = self.only(Kind::List, place)? else { return Ok(false) };
        if at >= self.list_at(place).len() {
            return Ok(false);
        }
        if self.refuses_memory() {
            return Err(WriteError::OutOfMemory);
        }
        self.change_list(key, Some(place), |list, packed| {
            let (before, after) = (list.part(0..at), list.part(at + 1..list.len()));
            splice_list(before, [element].into_iter(), after, packed)?;
            Ok(true)
        })
    }

    /// Keeps the elements of these places alone.
    pub fn list_keep(
        &mut self,
        now: Time,
        key: Key<'_>,
        kept: Range<usize>,
    ) -> Result<(), WriteError> {
        let place = self.settle(now, key);
        let Some(place) = self.only(Kind::List, place)? else { return Ok(()) };
        if kept.start == 0 && kept.end >= self.list_at(place).len() {
            return Ok(());
        }
        self.change_list(key, Some(place), |list, packed| {
            splice_list(list.part(kept), [].into_iter(), List::EMPTY, packed).map(drop)
        })
    }

    /// Removes up to `max` elements that equal this one, from this end on; returns how many.
    pub fn list_remove(
        &mut self,
        now: Time,
        key: Key<'_>,
        element: &[u8],
        from: End,
        max: usize,
    ) -> Result<usize, WriteError> {
        let place = self.settle(now, key);
        let Some(place) = self.only(Kind::List, place)? else { return Ok(0) };
        let found = self.list_at(place).iter().filter(|&one| one == element).count();
        if found == 0 {
            return Ok(0);
        }
        let removed = found.min(max);
        let gone = match from {
            End::Head => 0..removed,
            End::Tail => found - removed..found,
        };
        self.change_list(key, Some(place), |list, packed| {
            let mut met = 0;
            let stays = |one: &&[u8]| {
                met += usize::from(*one == element);
                *one != element || !gone.contains(&(met - 1))
            };
            let kept: Vec<&[u8]> = list.iter().filter(stays).collect();
            encode_list(kept.iter().copied(), packed)?;
            Ok(removed)
        })
    }

    fn list_at(&self, place: Place) -> List<'_> {
        List::of(self.table.at(place).value())
    }

    /// Packs a list anew from what is at the place, and writes and journals it. An error is that
    /// it would be too long, and changes nothing.
    fn change_list<T>(
        &mut self,
        key: Key<'_>,
        place: Option<Place>,
        pack: impl FnOnce(List<'_>, &mut Vec<u8>) -> Result<T, ListError>,
    ) -> Result<T, WriteError> {
        let mut packed = std::mem::take(&mut self.packed);
        let before = place.map_or(List::EMPTY, |place| self.list_at(place));
        let outcome = pack(before, &mut packed).map_err(|_| WriteError::ListTooLong);
        if outcome.is_ok() {
            self.put_list(key, place, &packed);
        }
        self.packed = packed;
        outcome
    }

    fn put_list(&mut self, key: Key<'_>, place: Option<Place>, packed: &[u8]) {
        if List::of(packed).is_empty() {
            if let Some(place) = place {
                self.remove(key.hash(), place);
                self.record_removal(key);
            }
            return;
        }
        let expires = place.and_then(|place| self.table.at(place).expires());
        self.write(key, place, plain_head(Kind::List, expires), packed);
        if let Some(journal) = &mut self.journal {
            journal.list(key.bytes(), expires, packed);
        }
    }
}
