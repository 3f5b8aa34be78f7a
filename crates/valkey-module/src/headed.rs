//! Bytes behind a head, in one piece of memory that one thin pointer holds: what a key has is one
//! access to memory away from the key, and not two.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::NonNull;

/// What is in front of the bytes. The memory is as long as [`room_for`] says for both.
#[repr(C)]
struct Front<H> {
    head: H,
    len: usize,
}

/// A head and the bytes behind it.
pub(crate) struct Headed<H>(NonNull<Front<H>>);

// SAFETY: it owns its memory, as a box does.
unsafe impl<H: Send> Send for Headed<H> {}

impl<H: Copy> Headed<H> {
    pub(crate) fn new(head: H, bytes: &[u8]) -> Headed<H> {
        let layout = layout::<H>(bytes.len());
        // SAFETY: the layout has at least the size of the front. Nothing is read of the memory
        // before it is written: the front here, the bytes by `fill`.
        unsafe {
            let Some(front) = NonNull::new(alloc(layout).cast::<Front<H>>()) else {
                handle_alloc_error(layout)
            };
            front.write(Front { head, len: 0 });
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

    /// Other bytes behind the same head, in the same memory where they fit as well.
    pub(crate) fn replace(&mut self, bytes: &[u8]) {
        if layout::<H>(bytes.len()) == layout::<H>(self.len()) {
            // SAFETY: the memory has room for as many.
            unsafe { self.fill(bytes) }
        } else {
            *self = Headed::new(*self.head(), bytes);
        }
    }

    /// Bytes of the memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        layout::<H>(self.len()).size()
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
            (*self.0.as_ptr()).len = bytes.len();
        }
    }
}

impl<H> Headed<H> {
    fn len(&self) -> usize {
        // SAFETY: the front is written.
        unsafe { (*self.0.as_ptr()).len }
    }
}

impl<H> Drop for Headed<H> {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, as long as the bytes were the same or others
        // with the same layout.
        unsafe { dealloc(self.0.as_ptr().cast(), layout::<H>(self.len())) }
    }
}

/// The memory of so many bytes behind a front.
fn layout<H>(len: usize) -> Layout {
    let size = room_for(size_of::<Front<H>>() + len);
    match Layout::from_size_align(size, align_of::<Front<H>>()) {
        Ok(layout) => layout,
        Err(_) => unreachable!("bytes that are in memory are not so many"),
    }
}

/// What the allocators of servers give for so many bytes: four sizes from one power of two to the
/// next, and no two nearer than 16. What grows within it stays where it is.
fn room_for(len: usize) -> usize {
    let step = (len.saturating_sub(1).max(1).ilog2().max(6) - 2).min(usize::BITS - 2);
    len.max(1).next_multiple_of(1 << step)
}
