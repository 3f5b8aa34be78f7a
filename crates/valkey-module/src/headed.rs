//! A head and bytes in one allocation with a thin pointer, so that reaching a key's content costs one memory access and
//! not two.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Header of the allocation.
#[repr(C)]
struct AllocationHeader<H> {
    head: H,
    /// Number of bytes after it.
    len: u32,
    /// Size of the allocation, as [`layout`] computes it.
    room: u32,
}

/// A head and the bytes after it.
pub(crate) struct HeaderBox<H>(NonNull<AllocationHeader<H>>);

// SAFETY: it owns its memory, as a box does.
unsafe impl<H: Send> Send for HeaderBox<H> {}

impl<H: Copy> HeaderBox<H> {
    /// Allocates with room for at least `spare` more bytes.
    pub(crate) fn new(head: H, bytes: &[u8], spare: usize) -> HeaderBox<H> {
        let layout = layout::<H>(bytes.len() + spare);
        // SAFETY: the layout has at least the size of the header. No memory is read before it is written: the header
        // here, the bytes by `fill`.
        unsafe {
            let Some(front) = NonNull::new(alloc(layout).cast::<AllocationHeader<H>>()) else {
                handle_alloc_error(layout)
            };
            front.write(AllocationHeader { head, len: 0, room: short(layout.size()) });
            let mut made = HeaderBox(front);
            made.fill(bytes);
            made
        }
    }

    pub(crate) fn head(&self) -> &H {
        // SAFETY: the header is initialized, and borrowed with `self`.
        unsafe { &(*self.0.as_ptr()).head }
    }

    pub(crate) fn head_mut(&mut self) -> &mut H {
        // SAFETY: as above.
        unsafe { &mut (*self.0.as_ptr()).head }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes after the header are initialized, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.0.add(1).cast().as_ptr(), self.len()) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(1).cast().as_ptr(), self.len()) }
    }

    /// Replaces the bytes. Reuses the memory if they fit and it is no larger than a new allocation would be.
    pub(crate) fn replace(&mut self, bytes: &[u8], spare: usize) {
        let needed = layout::<H>(bytes.len()).size()..=layout::<H>(bytes.len() + spare).size();
        if needed.contains(&self.memory_bytes()) {
            // SAFETY: the memory has room for these bytes.
            unsafe { self.fill(bytes) }
        } else {
            *self = HeaderBox::new(*self.head(), bytes, spare);
        }
    }

    /// Returns the memory as a pointer, which [`HeaderBox::from_raw`] takes back.
    pub(crate) fn into_raw(self) -> *mut c_void {
        let raw = self.0.as_ptr().cast();
        std::mem::forget(self);
        raw
    }

    /// # Safety
    /// The memory is from [`HeaderBox::into_raw`] of the same type, and is taken back once.
    // SAFETY: see above.
    pub(crate) unsafe fn from_raw(raw: *mut c_void) -> HeaderBox<H> {
        // SAFETY: the caller keeps the contract, so the pointer is not null.
        unsafe { HeaderBox(NonNull::new_unchecked(raw.cast())) }
    }

    /// # Safety
    /// The memory has room for the bytes.
    // SAFETY: see above.
    unsafe fn fill(&mut self, bytes: &[u8]) {
        // SAFETY: the memory after the header has room, and the caller has borrowed both.
        unsafe {
            let to = self.0.add(1).cast::<u8>().as_ptr();
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            (*self.0.as_ptr()).len = short(bytes.len());
        }
    }
}

impl<H> HeaderBox<H> {
    fn len(&self) -> usize {
        // SAFETY: the header is initialized.
        unsafe { (*self.0.as_ptr()).len as usize }
    }

    /// Returns the size of the allocation, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        // SAFETY: the header is initialized.
        unsafe { (*self.0.as_ptr()).room as usize }
    }
}

impl<H> Drop for HeaderBox<H> {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout: rounding an already rounded size does not change it.
        unsafe { dealloc(self.0.as_ptr().cast(), rounded::<H>(self.memory_bytes())) }
    }
}

/// Returns the layout for `len` bytes after a header.
fn layout<H>(len: usize) -> Layout {
    rounded::<H>(size_of::<AllocationHeader<H>>() + len)
}

fn rounded<H>(len: usize) -> Layout {
    let size = room_for(len);
    match Layout::from_size_align(size, align_of::<AllocationHeader<H>>()) {
        Ok(layout) => layout,
        Err(_) => unreachable!("bytes that are in memory are not so many"),
    }
}

/// Converts a length that comes from one request or from a dump of the server.
fn short(len: usize) -> u32 {
    u32::try_from(len).expect("a value of a key has less than 4 GiB")
}

/// Rounds up to a size that the allocators of servers use anyway: four sizes between one power of two and the next, at
/// least 16 bytes apart. Values that grow within it need no new memory.
fn room_for(len: usize) -> usize {
    let step = (len.saturating_sub(1).max(1).ilog2().max(6) - 2).min(usize::BITS - 2);
    len.max(1).next_multiple_of(1 << step)
}
