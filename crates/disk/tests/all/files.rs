//! Tests of the engine's `Disk` on real files.

use nix::errno::Errno;
use scurry_disk::{Directory, os_error};
use scurry_engine::{Disk, File};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use tempfile::TempDir;

fn directory() -> (TempDir, Directory) {
    let place = TempDir::new().expect("a place for files");
    let directory = Directory::open(place.path()).expect("it is there");
    (place, directory)
}

#[test]
fn what_is_written_is_read() {
    let (_place, mut disk) = directory();
    let mut file = disk.create("log-1", 0).expect("created");
    assert_eq!(file.len().expect("a length"), 0);
    file.write_at(3, b"defg").expect("written");
    file.write_at(0, b"abc").expect("written");
    file.sync().expect("synced");
    let mut again = disk.open("log-1").expect("opened");
    assert_eq!(again.len().expect("a length"), 7);
    let mut buffer = [9; 5];
    assert_eq!(again.read_at(0, &mut buffer).expect("read"), 5);
    assert_eq!(&buffer, b"abcde");
    assert_eq!(again.read_at(4, &mut buffer).expect("read"), 3);
    assert_eq!(&buffer, b"efgde");
    assert_eq!(again.read_at(7, &mut buffer).expect("read"), 0);
    again.set_len(2).expect("cut");
    assert_eq!(file.len().expect("a length"), 2);
    again.set_len(4).expect("lengthened");
    assert_eq!(again.read_at(0, &mut buffer).expect("read"), 4);
    assert_eq!(&buffer[..4], b"ab\0\0");
}

#[test]
fn room_is_set_aside_and_reads_as_zeros() {
    const ROOM: u64 = 1 << 20;
    let (place, mut disk) = directory();
    let mut file = disk.create("log-1", ROOM).expect("created");
    let status = fs::metadata(place.path().join("log-1")).expect("it is there");
    assert_eq!(status.permissions().mode() & 0o7777, 0o600);
    let len = file.len().expect("a length");
    assert!(len == 0 || len == ROOM, "{len}");
    if len == ROOM {
        // Blocks of 512 bytes: the space is reserved, not only the length set.
        assert!(status.blocks() * 512 >= ROOM, "{} blocks", status.blocks());
        let mut buffer = vec![9; 4_096];
        assert_eq!(file.read_at(ROOM - 4_096, &mut buffer).expect("read"), 4_096);
        assert!(buffer.iter().all(|byte| *byte == 0));
    }
    file.write_at(0, b"x").expect("written");
    let mut file = disk.create("log-1", 0).expect("created anew");
    assert_eq!(file.len().expect("a length"), 0);
}

#[test]
fn more_room_than_there_is_leaves_no_file() {
    let (place, mut disk) = directory();
    let error = disk.create("log-1", 1 << 60).map(drop).expect_err("no disk is as large");
    // Which of the two errors depends on the file system's greatest file size.
    let expected = [ErrorKind::StorageFull, ErrorKind::FileTooLarge];
    assert!(expected.contains(&error.kind()), "{error:?}");
    let path = place.path().join("log-1").display().to_string();
    assert!(error.to_string().starts_with(&format!("cannot set room aside for {path}: ")));
    assert!(disk.list().expect("listed").is_empty());
}

#[test]
fn names_come_and_go() {
    let (place, mut disk) = directory();
    for name in ["a", "b"] {
        disk.create(name, 0).expect("created").write_at(0, name.as_bytes()).expect("written");
    }
    fs::create_dir(place.path().join("not-a-file")).expect("a directory");
    disk.rename("a", "b").expect("renamed");
    disk.create("c", 0).expect("created");
    disk.sync_dir().expect("synced");
    let mut names = disk.list().expect("listed");
    names.sort();
    assert_eq!(names, ["b", "c"]);
    let mut byte = [0];
    disk.open("b").expect("opened").read_at(0, &mut byte).expect("read");
    assert_eq!(&byte, b"a", "the renamed file took the place of the other");
    disk.remove("b").expect("removed");
    assert_eq!(disk.list().expect("listed"), ["c"]);
}

#[test]
fn errors_say_what_was_done_to_which_file() {
    let (place, mut disk) = directory();
    let path = |name: &str| place.path().join(name).display().to_string();
    let absent = "No such file or directory (os error 2)";
    let error = disk.open("gone").map(drop).expect_err("absent");
    assert_eq!(error.to_string(), format!("cannot open {}: {absent}", path("gone")));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(os_error(&error), Some(Errno::ENOENT as i32));
    let error = disk.remove("gone").expect_err("absent");
    assert_eq!(error.to_string(), format!("cannot remove {}: {absent}", path("gone")));
    let error = disk.rename("gone", "b").expect_err("absent");
    assert_eq!(error.to_string(), format!("cannot rename {}: {absent}", path("gone")));
    for name in ["", ".", "..", "a/b", "/etc/passwd", "../a", "a\0"] {
        let error = disk.create(name, 0).map(drop).expect_err("no plain name");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name:?}");
        assert_eq!(os_error(&error), None);
    }
}

#[test]
fn a_file_that_was_removed_while_it_is_open_is_not_synced() {
    let (place, mut disk) = directory();
    let mut file = disk.create("log-1", 0).expect("created");
    file.write_at(0, b"abc").expect("written");
    disk.rename("log-1", "log-2").expect("renamed");
    file.sync().expect("another name is a name");
    fs::remove_file(place.path().join("log-2")).expect("removed");
    file.write_at(3, b"def").expect("it takes bytes all the same");
    let error = file.sync().expect_err("nobody would find them");
    let said = error.to_string();
    let path = place.path().join("log-1").display().to_string();
    assert!(said.starts_with(&format!("cannot sync {path}: the file was removed while")), "{said}");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    // A new file of the same name does not replace the removed one.
    disk.create("log-2", 0).expect("created").sync().expect("synced");
    file.sync().expect_err("it is gone still");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_can_be_matched() {
    let (place, mut disk) = directory();
    symlink("/dev/full", place.path().join("log-1")).expect("linked");
    let mut file = disk.open("log-1").expect("opened");
    let error = file.write_at(0, b"x").expect_err("it is always full");
    let path = place.path().join("log-1");
    assert_eq!(
        error.to_string(),
        format!("cannot write {}: No space left on device (os error 28)", path.display())
    );
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(os_error(&error), Some(Errno::ENOSPC as i32));
}
