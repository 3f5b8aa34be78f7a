//! Memory comes from the server, so that `maxmemory` and INFO count it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use valkey_module::raw;

/// The alignment of any allocator that a server is built with.
const ALIGN_MAX: usize = 16;

/// The server's allocator. Nothing may be allocated before the server has handed over its API;
/// what is aligned to more than a server promises comes from the system.
pub(crate) struct ServerAllocator;

// SAFETY: each of the four hands over to one allocator, and which one follows from the layout
// alone, so that memory goes back to where it came from.
unsafe impl GlobalAlloc for ServerAllocator {
    // SAFETY: the caller's promises are those of `GlobalAlloc`, for all four.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the pointers are written once, when the module is loaded.
        match unsafe { raw::RedisModule_Alloc } {
            // SAFETY: a size that is not zero.
            Some(alloc) if layout.align() <= ALIGN_MAX => unsafe { alloc(layout.size()).cast() },
            // SAFETY: as the caller promises.
            Some(_) => unsafe { System.alloc(layout) },
            None => std::process::abort(),
        }
    }

    // SAFETY: as above.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        match unsafe { raw::RedisModule_Calloc } {
            // SAFETY: a size that is not zero.
            Some(calloc) if layout.align() <= ALIGN_MAX => unsafe {
                calloc(1, layout.size()).cast()
            },
            // SAFETY: as the caller promises.
            Some(_) => unsafe { System.alloc_zeroed(layout) },
            None => std::process::abort(),
        }
    }

    // SAFETY: as above.
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        match unsafe { raw::RedisModule_Realloc } {
            // SAFETY: the memory came from the same allocator: the layout's alignment stays.
            Some(realloc) if layout.align() <= ALIGN_MAX => unsafe {
                realloc(memory.cast::<c_void>(), size).cast()
            },
            // SAFETY: as the caller promises.
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
            // SAFETY: as the caller promises.
            Some(_) => unsafe { System.dealloc(memory, layout) },
            None => std::process::abort(),
        }
    }
}
