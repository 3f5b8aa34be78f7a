//! Things that are used again, so many of a kind, and what their memory is.

/// Kept of each kind at most.
const KEPT_MAX: usize = 64;

/// What says how much memory it takes.
pub(crate) trait Room {
    /// Bytes.
    fn room(&self) -> usize;
}

impl Room for Vec<u8> {
    fn room(&self) -> usize {
        self.capacity()
    }
}

/// Things of one kind that are used again, [`KEPT_MAX`] at most, and their memory.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    things: Vec<T>,
    pub(crate) bytes: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { things: Vec::new(), bytes: 0 }
    }
}

impl<T: Room> Kept<T> {
    pub(crate) fn take(&mut self) -> Option<T> {
        let thing = self.things.pop()?;
        self.bytes -= thing.room();
        Some(thing)
    }

    pub(crate) fn give(&mut self, thing: T) {
        if self.things.len() < KEPT_MAX {
            self.bytes += thing.room();
            self.things.push(thing);
        }
    }
}
