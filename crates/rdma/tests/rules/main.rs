//! Rules that need no device, tested in their own files: what they look at is no part of the crate's
//! interface.
#![expect(unsafe_code, reason = "a chain of work requests is followed as a device does")]

mod address;
mod batch;
mod budget;
mod refusal;
mod slots;
