//! A bounded pool of reusable objects that counts their memory.

/// Maximum number of objects that a pool keeps.
const KEPT_MAX: usize = 64;

/// An object that knows its memory.
pub(crate) trait Room {
    /// Returns the memory in bytes.
    fn room(&self) -> usize;
}

impl Room for Vec<u8> {
    fn room(&self) -> usize {
        self.capacity()
    }
}

/// A pool of at most [`KEPT_MAX`] objects of one type, with their memory.
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
