//! Bytes behind a head, in one piece of memory that one thin pointer holds: what a key has is one
//! access to memory away from the key, and not two.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::NonNull;

/// The front of the bytes.
#[repr(C)]
struct Front<H> {
    head: H,
    /// Bytes behind it.
    len: u32,
    /// Bytes of the memory, which is as long as [`layout`] says.
    room: u32,
}

/// A head and the bytes behind it.
pub(crate) struct Headed<H>(NonNull<Front<H>>);

// SAFETY: it owns its memory, as a box does.
unsafe impl<H: Send> Send for Headed<H> {}

impl<H: Copy> Headed<H> {
    /// With room for so many bytes more, at least.
    pub(crate) fn new(head: H, bytes: &[u8], spare: usize) -> Headed<H> {
        let layout = layout::<H>(bytes.len() + spare);
        // SAFETY: the layout has at least the size of the front. Nothing is read of the memory
        // before it is written: the front here, the bytes by `fill`.
        unsafe {
            let Some(front) = NonNull::new(alloc(layout).cast::<Front<H>>()) else {
                handle_alloc_error(layout)
            };
            front.write(Front { head, len: 0, room: short(layout.size()) });
            let mut made = Headed(front);
            made.fill(bytes);
            made
        }
    }

    pub(crate) fn head(&self) -> &H {
        // SAFETY: the front is written, and borrowed with `self`.
        unsafe { &(*self.0.as_ptr()).head }
    }

    pub(crate) fn head_mut(&mut self) -> &mut H {
        // SAFETY: as above.
        unsafe { &mut (*self.0.as_ptr()).head }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes behind the front are written, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.0.add(1).cast().as_ptr(), self.len()) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(1).cast().as_ptr(), self.len()) }
    }

    /// Other bytes behind the same head: in the same memory, where they fit and it is no longer
    /// than it would be if it were made now.
    pub(crate) fn replace(&mut self, bytes: &[u8], spare: usize) {
        let needed = layout::<H>(bytes.len()).size()..=layout::<H>(bytes.len() + spare).size();
        if needed.contains(&self.memory_bytes()) {
            // SAFETY: the memory has room for as many.
            unsafe { self.fill(bytes) }
        } else {
            *self = Headed::new(*self.head(), bytes, spare);
        }
    }

    /// The memory, which [`Headed::from_raw`] takes back.
    pub(crate) fn into_raw(self) -> *mut c_void {
        let raw = self.0.as_ptr().cast();
        std::mem::forget(self);
        raw
    }

    /// # Safety
    /// The memory is from [`Headed::into_raw`] of the same type, and is taken back once.
    // SAFETY: see above.
    pub(crate) unsafe fn from_raw(raw: *mut c_void) -> Headed<H> {
        // SAFETY: as the caller promises; it is not null.
        unsafe { Headed(NonNull::new_unchecked(raw.cast())) }
    }

    /// # Safety
    /// The memory has room for the bytes.
    // SAFETY: see above.
    unsafe fn fill(&mut self, bytes: &[u8]) {
        // SAFETY: there is room behind the front, and who calls has borrowed both.
        unsafe {
            let to = self.0.add(1).cast::<u8>().as_ptr();
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            (*self.0.as_ptr()).len = short(bytes.len());
        }
    }
}

impl<H> Headed<H> {
    fn len(&self) -> usize {
        // SAFETY: the front is written.
        unsafe { (*self.0.as_ptr()).len as usize }
    }

    /// Bytes of the memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        // SAFETY: the front is written.
        unsafe { (*self.0.as_ptr()).room as usize }
    }
}

impl<H> Drop for Headed<H> {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout: rounding a size that is rounded changes nothing.
        unsafe { dealloc(self.0.as_ptr().cast(), rounded::<H>(self.memory_bytes())) }
    }
}

/// The memory of so many bytes behind a front.
fn layout<H>(len: usize) -> Layout {
    rounded::<H>(size_of::<Front<H>>() + len)
}

fn rounded<H>(len: usize) -> Layout {
    let size = room_for(len);
    match Layout::from_size_align(size, align_of::<Front<H>>()) {
        Ok(layout) => layout,
        Err(_) => unreachable!("bytes that are in memory are not so many"),
    }
}

/// A length of what is in one request, or in a dump of the server.
fn short(len: usize) -> u32 {
    u32::try_from(len).expect("a value of a key has less than 4 GiB")
}

/// Bytes that allocators of servers give for so many: four sizes from one power of two to the
/// next, and no two nearer than 16. What grows within it stays where it is.
fn room_for(len: usize) -> usize {
    let step = (len.saturating_sub(1).max(1).ilog2().max(6) - 2).min(usize::BITS - 2);
    len.max(1).next_multiple_of(1 << step)
}
