//! Error messages.

#[path = "../../src/os_errors.rs"]
#[expect(dead_code, reason = "the crate uses the rest")]
mod rules;

use rules::{no_memory, numbered};
use std::io;

#[test]
fn too_little_memory_names_the_limit_and_the_cure() {
    let error = io::Error::from_raw_os_error(libc::ENOMEM);
    let text = no_memory("cannot pin 8192 bytes", &error, Some(4096)).to_string();
    assert!(text.starts_with("cannot pin 8192 bytes: "), "{text}");
    assert!(text.contains("may pin 4096 bytes: raise the limit (ulimit -l"), "{text}");
    let text = no_memory("cannot pin 8192 bytes", &error, None).to_string();
    assert!(!text.contains("limit"), "{text}");
}

#[test]
fn a_number_keeps_its_kind() {
    let error = numbered("cannot do it", -libc::EACCES);
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    assert!(error.to_string().starts_with("cannot do it: "), "{error}");
}
