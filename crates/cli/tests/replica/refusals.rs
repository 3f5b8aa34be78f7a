//! What `scurry replica` does not do, and the words for it.

use crate::said::scurry;
use tempfile::TempDir;

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().to_str().expect("text");
    std::fs::write(dir.path().join("letters"), "dear").expect("it is written");
    scurry(&["replica", "up", "--dir", path]).refused(&["holds other things"]);
    for action in ["status", "down"] {
        scurry(&["replica", action, "--dir", path])
            .refused(&["holds no group", "scurry replica up --dir"]);
    }
    assert_eq!(std::fs::read(dir.path().join("letters")).expect("it is there"), b"dear");
}
