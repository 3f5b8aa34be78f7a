//! A bounded pool of reusable objects that counts their memory.

/// Maximum number of objects that a pool keeps.
const OBJECTS_MAX: usize = 64;

/// An object that knows its memory.
pub(crate) trait MemorySize {
    /// Returns the memory in bytes.
    fn memory_bytes(&self) -> usize;
}

impl MemorySize for Vec<u8> {
    fn memory_bytes(&self) -> usize {
        self.capacity()
    }
}

/// A pool of at most [`OBJECTS_MAX`] objects of one type, with their memory.
#[derive(Debug)]
pub(crate) struct ObjectPool<T> {
    objects: Vec<T>,
    pub(crate) bytes: usize,
}

impl<T> Default for ObjectPool<T> {
    fn default() -> ObjectPool<T> {
        ObjectPool { objects: Vec::new(), bytes: 0 }
    }
}

impl<T: MemorySize> ObjectPool<T> {
    pub(crate) fn take_object(&mut self) -> Option<T> {
        let object = self.objects.pop()?;
        self.bytes -= object.memory_bytes();
        Some(object)
    }

    pub(crate) fn give(&mut self, object: T) {
        if self.objects.len() < OBJECTS_MAX {
            self.bytes += object.memory_bytes();
            self.objects.push(object);
        }
    }
}
