//! Test of a write that the system cuts short. The limit that causes it applies to a whole process, so this test has
//! its own file and runs in its own process.

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use scurry_disk::{Directory, os_error};
use scurry_engine::{Disk, File};
use std::fs;
use tempfile::TempDir;

const LIMIT: u64 = 10_000;

/// Raises the limit again when dropped: the test's output may go to a longer file.
struct Lift(u64, u64);

impl Drop for Lift {
    fn drop(&mut self) {
        // If raising failed, the missing report of this test would show it.
        let _ = setrlimit(Resource::RLIMIT_FSIZE, self.0, self.1);
    }
}

#[test]
fn a_short_write_is_continued_until_the_system_says_why() {
    // The signal is blocked, so that the write fails instead.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    signals.thread_block().expect("blocked");
    let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).expect("a limit");
    let _lift = Lift(soft, hard);
    setrlimit(Resource::RLIMIT_FSIZE, LIMIT, hard).expect("lowered");

    let place = TempDir::new().expect("a place for files");
    let mut disk = Directory::open(place.path()).expect("it is there");
    let mut file = disk.create("log-1", 0).expect("created");
    let error = file.write_at(0, &[7; 16_384]).expect_err("beyond the limit");
    assert_eq!(os_error(&error), Some(Errno::EFBIG as i32), "{error}");
    // The first call wrote this much and reported no error; only the next one failed.
    let path = place.path().join("log-1");
    assert_eq!(fs::metadata(&path).expect("it is there").len(), LIMIT);
    assert!(error.to_string().starts_with(&format!("cannot write {}: ", path.display())));

    let error = disk.create("log-2", LIMIT + 1).map(drop).expect_err("beyond the limit");
    assert_eq!(os_error(&error), Some(Errno::EFBIG as i32), "{error}");
    assert_eq!(disk.list().expect("listed"), ["log-1"]);
}
