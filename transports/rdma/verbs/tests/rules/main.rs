//! Rules that need no device, tested in their own files: what they look at is no part of the crate's
//! interface.
#![expect(unsafe_code, reason = "a chain of work requests is followed as a device does")]

mod address;
mod budget;
mod postings;
mod refusal;
mod room;
mod slots;
