//! Stores that a server refuses to open.

use super::{crc32c, files, kill, place, refusal, segment, start, under};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn a_store_that_is_served_already() {
    let directory = place("served");
    let server = start(&directory, "write");
    let mut client = server.connect();
    client.ask("SET k v", "+OK\r\n");
    let said = refusal(&mut under(&[], &directory, "write"));
    assert!(said.contains("another scurry (pid "), "{said}");
    assert!(said.contains(&format!("serves {}", directory.display())), "{said}");
    assert!(said.contains("stop it, or choose another directory"), "{said}");
    client.ask("GET k", "$1\r\nv\r\n");
    // The lock ends with the process, however that ends.
    kill(server);
    start(&directory, "write").connect().ask("GET k", "$1\r\nv\r\n");
}

#[test]
fn a_directory_without_permission() {
    let directory = place("forbidden");
    std::fs::create_dir(&*directory).expect("it is made");
    let mode = |bits| std::fs::set_permissions(&*directory, PermissionsExt::from_mode(bits));
    mode(0o500).expect("it is forbidden");
    // Root ignores permissions unless this capability is removed.
    let is_root = std::fs::metadata(&*directory).expect("it is there").uid() == 0;
    let bound = ["setpriv", "--bounding-set", "-dac_override"];
    let words = if is_root { &bound[..] } else { &[] };
    let said = refusal(&mut under(words, &directory, "fsync"));
    mode(0o700).expect("it is allowed again");
    let error = format!("cannot keep a store in {}: ", directory.display());
    assert!(said.contains(&error) && said.contains("Permission denied"), "{said}");
    assert!(said.contains("(chown), or choose another directory"), "{said}");
    assert_eq!(said.matches("Permission denied").count(), 1, "{said}");
    assert_eq!(files(&directory), []);
}

#[test]
fn no_directory() {
    let directory = place("absent").join("below");
    let said = refusal(&mut under(&[], &directory, "fsync"));
    assert!(said.contains("Make the directory above it first"), "{said}");
    let file = place("file");
    std::fs::write(&*file, "mine").expect("it is written");
    let said = refusal(&mut under(&[], &file, "fsync"));
    assert!(said.contains("That is a file: choose a directory"), "{said}");
    assert_eq!(std::fs::read(&*file).expect("it is there"), b"mine");
    std::fs::remove_file(&*file).expect("it is removed");
}

#[test]
fn a_newer_format_of_the_store() {
    let directory = place("newer-store");
    kill(start(&directory, "write"));
    let manifest = directory.join("MANIFEST");
    let text = std::fs::read_to_string(&manifest).expect("it is text");
    let (body, _) = text.split_once("crc32c ").expect("it ends with a checksum");
    let newer = body.replace("format 3\n", "format 4\n");
    assert_ne!(newer, body);
    let sealed = format!("{newer}crc32c {:08x}\n", crc32c(newer.as_bytes()));
    std::fs::write(&manifest, sealed).expect("it is written");
    let before = files(&directory);
    let said = refusal(&mut under(&[], &directory, "write"));
    assert!(said.contains("MANIFEST has format 4, and this scurry reads format 3 alone"), "{said}");
    assert!(said.contains("start the version that wrote it"), "{said}");
    assert_eq!(unlocked(files(&directory)), unlocked(before));
}

#[test]
fn a_newer_format_of_the_log() {
    let directory = place("newer-log");
    let server = start(&directory, "write");
    server.connect().ask("SET k v", "+OK\r\n");
    kill(server);
    let segment = segment(&directory);
    let mut bytes = std::fs::read(&segment).expect("it is read");
    let name = segment.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    // Format 2 is that of a group's nodes.
    let words =
        [(2, "was written by a node of a group"), (3, "(format 3); this one reads up to 2")];
    for (format, words) in words {
        bytes[8] = format;
        let crc = crc32c(&bytes[..30]);
        bytes[30..34].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&segment, &bytes).expect("it is written");
        let said = refusal(&mut under(&[], &directory, "write"));
        assert!(said.contains(name) && said.contains(words), "{said}");
        assert!(bytes == std::fs::read(&segment).expect("it is read"), "the log was changed");
    }
}

/// Leaves out the lock file, into which each start writes its pid.
fn unlocked(mut files: Vec<(std::path::PathBuf, Vec<u8>)>) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    files.retain(|(path, _)| !path.ends_with("LOCK"));
    files
}
