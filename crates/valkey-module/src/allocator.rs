//! Allocates memory from the server, so that `maxmemory` and INFO count it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use valkey_module::raw;

/// Alignment that every allocator of a server guarantees.
const ALIGN_MAX: usize = 16;

/// The server's allocator. Nothing may be allocated before the server has passed its API. Memory with a greater
/// alignment comes from the system.
pub(crate) struct ServerAllocator;

// SAFETY: each of the four methods calls one allocator. The layout alone decides which one, so that memory is freed by
// the allocator that it came from.
unsafe impl GlobalAlloc for ServerAllocator {
    // SAFETY: all four methods have the contract of `GlobalAlloc`.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the function pointers are written once, when the module is loaded.
        match unsafe { raw::RedisModule_Alloc } {
            // SAFETY: the size is not zero.
            Some(alloc) if layout.align() <= ALIGN_MAX => unsafe { alloc(layout.size()).cast() },
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            Some(_) => unsafe { System.alloc(layout) },
            None => std::process::abort(),
        }
    }

    // SAFETY: as above.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        match unsafe { raw::RedisModule_Calloc } {
            // SAFETY: the size is not zero.
            Some(calloc) if layout.align() <= ALIGN_MAX => unsafe {
                calloc(1, layout.size()).cast()
            },
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            Some(_) => unsafe { System.alloc_zeroed(layout) },
            None => std::process::abort(),
        }
    }

    // SAFETY: as above.
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        match unsafe { raw::RedisModule_Realloc } {
            // SAFETY: the memory came from the same allocator, because the alignment does not change.
            Some(realloc) if layout.align() <= ALIGN_MAX => unsafe {
                realloc(memory.cast::<c_void>(), size).cast()
            },
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            Some(_) => unsafe { System.realloc(memory, layout, size) },
            None => std::process::abort(),
        }
    }

    // SAFETY: as above.
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        match unsafe { raw::RedisModule_Free } {
            // SAFETY: the memory came from the same allocator.
            Some(free) if layout.align() <= ALIGN_MAX => unsafe { free(memory.cast()) },
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            Some(_) => unsafe { System.dealloc(memory, layout) },
            None => std::process::abort(),
        }
    }
}
