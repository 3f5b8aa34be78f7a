//! `scurry backup` of data that no server uses.

use crate::data::{Core, Data, files, flip, name_of};
use crate::support::{Said, scurry};
use scurry_disk::{Store, StoreError};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn backup(from: &Path, to: &Path) -> Said {
    scurry(&[Path::new("backup"), from, Path::new("--to"), to])
}

#[test]
fn a_backup_is_a_data_directory_with_the_same_content() {
    let mut data = Data::new(2);
    data.cores[0].fill("a", 9);
    data.cores[0].snapshot();
    data.cores[0].fill("b", 9);
    let to = data.beside("copy");
    let said = backup(&data.path(), &to).well();
    assert!(said.contains("g1/0: up to sequence 54, "), "{said}");
    assert!(said.contains("g1/1: up to sequence 0, 0 files"), "{said}");
    let store = Store::open(&to).expect("a data directory");
    assert_eq!(store.manifest().expect("read"), Some(data.manifest));
    for core in [0, 1] {
        let copy = Core::start(&to, &data.manifest, core);
        let source = &data.cores[usize::from(core)];
        assert_eq!((copy.last(), copy.image()), (source.last(), source.image()));
    }
    let mode =
        |path: &str| fs::metadata(to.join(path)).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("g1/0"), mode("MANIFEST")), (0o700, 0o700, 0o600));
    assert_eq!(mode(&format!("g1/0/{}", name_of(&data.cores[0].files("log-")[0]))), 0o600);
    scurry(&[Path::new("inspect"), &to]).well();
}

#[test]
fn a_copy_goes_on_where_its_source_was() {
    let mut data = Data::full();
    let to = data.beside("copy");
    backup(&data.path(), &to).well();
    let mut copy = Core::start(&to, &data.manifest, 0);
    for core in [&mut copy, data.core()] {
        core.set("later", "x");
        core.commit();
    }
    drop(copy);
    let copy = Core::start(&to, &data.manifest, 0);
    assert_eq!((copy.last(), copy.image()), (data.core().last(), data.core().image()));
}

#[test]
fn a_target_has_to_be_empty_and_elsewhere() {
    let data = Data::full();
    let to = data.beside("full");
    fs::create_dir(&to).expect("made");
    backup(&data.path(), &to).well();
    backup(&data.path(), &to).refused(&["/full is not empty"]);
    backup(&data.path(), &data.path()).refused(&["is not empty"]);
    backup(&data.path(), &data.path().join("copy")).refused(&["is within"]);
    assert!(!data.path().join("copy").exists());
    let file = data.beside("file");
    fs::write(&file, "text").expect("written");
    backup(&data.path(), &file).refused(&["is a file"]);
    backup(&data.path(), &data.beside("a/b")).refused(&["Make the directory above it first"]);
    backup(&data.cores[0].path, &data.beside("x")).refused(&["is the directory of one core"]);
}

#[test]
fn damage_is_not_copied() {
    let mut data = Data::new(2);
    data.cores[0].fill("a", 3);
    data.cores[1].fill("b", 12);
    flip(&data.cores[1].files("log-")[0], 60);
    let to = data.beside("copy");
    backup(&data.path(), &to).refused(&["is damaged", "remove", "is damaged at byte 34"]);
    let store = Store::open(&to).expect("opened");
    let error = store.manifest().expect_err("no server takes half a copy");
    assert!(matches!(error, StoreError::NoManifest { .. }), "{error}");
}

#[test]
fn a_damaged_snapshot_is_left_out_where_the_rest_does() {
    let mut data = Data::full();
    let bad = data.core().files("snapshot-")[1].clone();
    flip(&bad, 200);
    let to = data.beside("copy");
    let said = backup(&data.path(), &to);
    assert!(said.err.contains("a damaged snapshot was left out"), "{said:?}");
    said.well();
    assert!(!to.join("g1/0").join(name_of(&bad)).exists());
    assert_eq!(Core::start(&to, &data.manifest, 0).image(), data.core().image());
    // Without the other snapshot there is nothing to start from.
    flip(&data.core().files("snapshot-")[0], 200);
    backup(&data.path(), &data.beside("second")).refused(&["there is no good snapshot before it"]);
}

#[test]
fn an_end_that_nobody_was_promised_is_left_out() {
    let mut data = Data::new(1);
    data.core().fill("a", 2);
    let segment = data.core().files("log-").pop().expect("one");
    let mut bytes = fs::read(&segment).expect("read");
    let end = bytes.iter().rposition(|&byte| byte != 0).expect("bytes") + 1;
    bytes[end + 5..end + 12].fill(7);
    fs::write(&segment, bytes).expect("written");
    let to = data.beside("copy");
    let said = backup(&data.path(), &to);
    assert!(said.err.contains("bytes behind the last good frame"), "{said:?}");
    said.well();
    assert_eq!(Core::start(&to, &data.manifest, 0).image(), data.core().image());
    let copied = files(&to.join("g1/0"), "log-").pop().expect("one");
    let len = usize::try_from(fs::metadata(copied).expect("there").len()).expect("small");
    assert_eq!(len, end);
}

#[test]
fn a_store_that_was_never_used_has_no_copy() {
    let data = Data::new(1);
    fs::remove_dir_all(data.path().join("g1")).expect("removed");
    fs::remove_file(data.path().join("MANIFEST")).expect("removed");
    backup(&data.path(), &data.beside("copy")).refused(&["nothing was ever written to"]);
    assert!(!data.beside("copy").exists());
}
