//! Unit tests that need no device. They include the source files, because the crate does not export
//! the tested items.
#![expect(unsafe_code, reason = "a chain of work requests is followed as a device does")]

mod address;
mod budget;
mod completion_queue_capacity;
mod os_errors;
mod postings;
mod slots;
