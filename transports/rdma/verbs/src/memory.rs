//! Registered memory of a connection: blocks of whole pages, such as a window for the peer, and
//! vectors.

use crate::budget::PAGE;
use crate::domain::Domain;
use crate::registration::{Registration, RegistrationAccess};
use scurry_rdma_proto::fabric;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::mem::{self, ManuallyDrop};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Length of one volatile read, bytes.
const WORD_LEN: usize = size_of::<u64>();

/// Zeroed memory that starts on a page boundary.
#[derive(Debug)]
struct Pages {
    first: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is plain, owned memory.
unsafe impl Send for Pages {}
// SAFETY: as above; reads that run while the device writes are justified where they are made.
unsafe impl Sync for Pages {}

impl Pages {
    fn new(len: usize) -> io::Result<Pages> {
        let layout = Layout::from_size_align(len, PAGE)
            .ok()
            .filter(|layout| layout.size() > 0)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no length for memory"))?;
        // SAFETY: the length is not 0.
        let first = NonNull::new(unsafe { alloc_zeroed(layout) })
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Pages { first, layout })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout.
        unsafe { dealloc(self.first.as_ptr(), self.layout) };
    }
}

/// Registered pages.
#[derive(Debug)]
pub(crate) struct Block {
    registration: Registration,
    pages: ManuallyDrop<Pages>,
}

impl Block {
    pub(crate) fn new(
        domain: &Arc<Domain>,
        len: usize,
        access: RegistrationAccess,
    ) -> io::Result<Block> {
        let pages = Pages::new(len)?;
        // SAFETY: the pages are freed after the registration has ended, or never.
        let registration = unsafe { Registration::new(domain, pages.first.as_ptr(), len, access)? };
        Ok(Block { registration, pages: ManuallyDrop::new(pages) })
    }

    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.pages.first.as_ptr() as u64
    }

    pub(crate) fn local_key(&self) -> u32 {
        self.registration.local_key()
    }

    /// Copies bytes from offset `at` of the block into `to`.
    pub(crate) fn read(&self, at: usize, to: &mut [u8]) {
        assert!(at + to.len() <= self.pages.layout.size(), "within the block");
        // SAFETY: the range lies within the pages, and `to` is other memory.
        unsafe {
            self.pages.first.as_ptr().add(at).copy_to_nonoverlapping(to.as_mut_ptr(), to.len());
        }
    }

    /// Copies `from` into the block at offset `at`.
    pub(crate) fn write(&mut self, at: usize, from: &[u8]) {
        assert!(at + from.len() <= self.pages.layout.size(), "within the block");
        // SAFETY: as above.
        unsafe {
            self.pages.first.as_ptr().add(at).copy_from_nonoverlapping(from.as_ptr(), from.len());
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.registration.end() {
            // SAFETY: the pages are dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.pages) };
        }
    }
}

/// Memory that the peer may write into.
#[derive(Debug)]
pub struct Window(Block);

impl Window {
    pub(crate) fn new(domain: &Arc<Domain>, len: usize) -> io::Result<Window> {
        Block::new(domain, len, RegistrationAccess::RemoteWrite).map(Window)
    }
}

impl fabric::Window for Window {
    fn address(&self) -> u64 {
        self.0.address()
    }

    fn key(&self) -> u32 {
        self.0.registration.remote_key()
    }

    fn copy(&self, range: Range<usize>, to: &mut Vec<u8>) {
        let pages = &self.0.pages;
        assert!(range.end <= pages.layout.size(), "within the window");
        to.reserve(range.len());
        let (mut at, end) = (range.start, range.end);
        while at < end {
            // SAFETY: `at` lies within the pages, which are allocated and were zeroed.
            let from = unsafe { pages.first.as_ptr().add(at) };
            // The device writes here at any time, and a hostile peer also over announced bytes. So no
            // reference to these bytes is made, which would promise that they do not change. Each byte
            // is read once, by a volatile read, which the compiler neither repeats nor replaces.
            if at % WORD_LEN == 0 && end - at >= WORD_LEN {
                // SAFETY: the word lies within the pages and is aligned, because they start on a page
                // boundary; any bytes are a valid word.
                let word = unsafe { from.cast::<u64>().read_volatile() };
                to.extend_from_slice(&word.to_ne_bytes());
                at += WORD_LEN;
            } else {
                // SAFETY: the byte lies within the pages, and any value of it is valid.
                to.push(unsafe { from.read_volatile() });
                at += 1;
            }
        }
    }

    fn refresh(&mut self) {}
}

/// A vector with registered capacity, which the device may read.
#[derive(Debug)]
pub struct Staging {
    registration: Registration,
    vector: ManuallyDrop<Vec<u8>>,
    /// Address where the vector was registered.
    first: usize,
    /// Number of registered bytes.
    room: usize,
}

impl Staging {
    pub(crate) fn new(domain: &Arc<Domain>, mut vector: Vec<u8>) -> io::Result<Staging> {
        let (first, room) = (vector.as_mut_ptr(), vector.capacity());
        // SAFETY: bytes are sent only while the vector lies where it was registered; if it has moved,
        // the system keeps the pages until the registration ends.
        let registration =
            unsafe { Registration::new(domain, first, room, RegistrationAccess::ReadOnly)? };
        let first = first as usize;
        Ok(Staging { registration, vector: ManuallyDrop::new(vector), first, room })
    }

    pub(crate) fn key(&self) -> u32 {
        self.registration.local_key()
    }

    /// Ends the registration and returns the vector. If the device does not release the memory, the
    /// vector is leaked and an empty one is returned.
    pub(crate) fn into_vector(mut self) -> Vec<u8> {
        let vector = mem::take(&mut *self.vector);
        if self.registration.end() {
            return vector;
        }
        // Freed memory could be given to other code while the device still reads it.
        mem::forget(vector);
        Vec::new()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.registration.end() {
            // SAFETY: the vector is dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.vector) };
        }
    }
}

impl fabric::Staging for Staging {
    fn vector(&mut self) -> &mut Vec<u8> {
        &mut self.vector
    }

    fn bytes(&self) -> &[u8] {
        &self.vector
    }

    fn is_registered(&self) -> bool {
        self.vector.as_ptr() as usize == self.first && self.vector.capacity() == self.room
    }
}
