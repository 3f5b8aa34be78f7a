//! Bytes of an account image: how an account lies in memory between two commands, and later in
//! a snapshot. docs/formats/account-image.md has the layout byte by byte; the golden test pins it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod image;
mod reader;
mod writer;

pub use image::{ImageError, decode_account, encode_account, encode_account_over};
