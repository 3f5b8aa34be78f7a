//! Provided buffers: memory that the kernel picks from when bytes arrive, one ring for all
//! connections. A buffer is the kernel's until a completion names it, then ours until it is
//! given back.
#![expect(unsafe_code, reason = "the kernel writes into memory that it was told of once")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// The group that receives name; there is one.
pub(super) const GROUP: u16 = 0;
/// Buffers in the ring; a power of two.
const COUNT: u16 = 1_024;
/// Bytes of one buffer: a pipeline of 64 small requests fits.
pub(super) const LEN: usize = 16_384;
/// The same, as the kernel counts.
pub(super) const LEN_MAX: u32 = 16_384;
const PAGE_LEN: usize = 4_096;

const _: () = assert!(COUNT.is_power_of_two() && COUNT <= 1 << 15);
const _: () = assert!(LEN == LEN_MAX as usize);

/// The number of a buffer that a completion has named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferId(pub(super) u16);

/// The ring and the memory behind it. Must outlive the `io_uring` that it is registered with.
pub(super) struct ProvidedBuffers {
    entries: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    tail: u16,
    /// Which buffer each entry of the ring has named last, and the other way round.
    order: Vec<u16>,
    place: Vec<u16>,
}

impl ProvidedBuffers {
    /// Memory with every buffer given to the kernel as soon as the ring is registered.
    pub(super) fn new() -> ProvidedBuffers {
        // SAFETY: both layouts have a size above zero.
        let (entries, memory) =
            unsafe { (alloc_zeroed(ring_layout()), alloc_zeroed(memory_layout())) };
        let (Some(entries), Some(memory)) = (NonNull::new(entries.cast()), NonNull::new(memory))
        else {
            handle_alloc_error(memory_layout());
        };
        let mut buffers = ProvidedBuffers {
            entries,
            memory,
            tail: 0,
            order: vec![0; usize::from(COUNT)],
            place: vec![0; usize::from(COUNT)],
        };
        for number in 0..COUNT {
            buffers.give_back(BufferId(number));
        }
        buffers.publish();
        buffers
    }

    /// Tells the kernel where the ring is.
    pub(super) fn register(&self, submitter: &Submitter<'_>) -> io::Result<()> {
        let address = self.entries.as_ptr() as u64;
        // SAFETY: the ring is page-aligned, has COUNT entries, and is freed on drop only, which
        // comes after the end of the io_uring: the caller declares it before that.
        unsafe { submitter.register_buf_ring_with_flags(address, COUNT, GROUP, 0) }
    }

    /// The bytes of a buffer that a completion has named.
    pub(super) fn bytes(&self, buffer: BufferId, len: usize) -> &[u8] {
        assert!(buffer.0 < COUNT && len <= LEN, "the kernel named a buffer that is not ours");
        // SAFETY: in bounds by the assertion; initialised, as the memory began zeroed; the kernel
        // does not write to it before `publish` gives it back, which needs `&mut self`.
        unsafe {
            let start = self.memory.as_ptr().add(usize::from(buffer.0) * LEN);
            std::slice::from_raw_parts(start, len)
        }
    }

    /// The buffer that the kernel takes after this one. Asked before this one is given back.
    pub(super) fn after(&self, buffer: BufferId) -> BufferId {
        let place = (self.place[usize::from(buffer.0)] + 1) % COUNT;
        BufferId(self.order[usize::from(place)])
    }

    /// The buffer may be used again, from the next `publish` on.
    pub(super) fn give_back(&mut self, buffer: BufferId) {
        let place = self.tail % COUNT;
        self.order[usize::from(place)] = buffer.0;
        self.place[usize::from(buffer.0)] = place;
        // SAFETY: both offsets are in bounds, and the kernel reads an entry only after the tail
        // has passed it. The entry's last field, where the tail of the ring lives for entry 0,
        // is not written by these setters.
        unsafe {
            let start = self.memory.as_ptr().add(usize::from(buffer.0) * LEN);
            let entry = &mut *self.entries.as_ptr().add(usize::from(place));
            entry.set_addr(start as u64);
            entry.set_len(LEN_MAX);
            entry.set_bid(buffer.0);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Shows the kernel what was given back.
    pub(super) fn publish(&self) {
        // SAFETY: the tail lies in entry 0, is aligned for u16, and is only read by the kernel.
        let tail = unsafe { &*BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for ProvidedBuffers {
    fn drop(&mut self) {
        // SAFETY: allocated with these layouts and freed once.
        unsafe {
            dealloc(self.entries.as_ptr().cast(), ring_layout());
            dealloc(self.memory.as_ptr(), memory_layout());
        }
    }
}

fn ring_layout() -> Layout {
    let len = usize::from(COUNT) * size_of::<BufRingEntry>();
    Layout::from_size_align(len, PAGE_LEN).expect("a constant layout")
}

fn memory_layout() -> Layout {
    Layout::from_size_align(usize::from(COUNT) * LEN, PAGE_LEN).expect("a constant layout")
}
