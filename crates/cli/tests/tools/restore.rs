//! `scurry restore`, to the end and to earlier points.

use crate::data::{Core, Data, flip, name_of};
use crate::support::{Said, scurry};
use std::path::Path;

fn restore(from: &Path, to: &Path, more: &[&str]) -> Said {
    let mut words = vec!["restore", from.to_str().expect("text"), "--to"];
    words.push(to.to_str().expect("text"));
    words.extend(more);
    scurry(&words)
}

#[test]
fn a_backup_comes_back_as_it_was() {
    let data = Data::full();
    let to = data.beside("restored");
    let said = restore(&data.path(), &to, &[]).well();
    assert!(said.contains("up to sequence 108"), "{said}");
    let copy = Core::start(&to, &data.manifest, 0);
    assert_eq!((copy.last(), copy.image()), (108, data.cores[0].image()));
    restore(&data.path(), &to, &[]).refused(&["is not empty"]);
}

#[test]
fn every_point_is_what_it_was() {
    let mut data = Data::new(1);
    let mut images = vec![data.core().image()];
    for at in 0..4 {
        let core = data.core();
        // Points lie within frames too.
        core.create(&format!("a{at}"), 100);
        images.push(core.image());
        core.reserve(&format!("a{at}"), "s", 40);
        images.push(core.image());
        core.set("value", &at.to_string());
        images.push(core.image());
        core.commit();
        if at == 2 {
            core.snapshot();
        }
    }
    for (point, image) in (0_u64..).zip(&images) {
        let to = data.beside(&format!("restored-{point}"));
        let said = restore(&data.path(), &to, &["--sequence", &point.to_string()]).well();
        assert!(said.contains(&format!("back at sequence {point} of 12")), "{said}");
        scurry(&[Path::new("inspect"), &to]).well();
        let mut core = Core::start(&to, &data.manifest, 0);
        assert_eq!(core.last(), point);
        assert_eq!(core.image(), *image, "at {point}");
        // The core continues from there, also after another start.
        core.fill("new", 1);
        let mut again = Core::start(&to, &data.manifest, 0);
        assert_eq!((again.last(), again.image()), (point + 3, core.image()), "at {point}");
        again.snapshot();
        assert_eq!(Core::start(&to, &data.manifest, 0).image(), core.image());
    }
    let (path, to) = (data.path(), data.beside("beyond"));
    restore(&path, &to, &["--sequence", "13"])
        .refused(&["g1/0 cannot be restored to sequence 13: these files reach from 0 to 12"]);
}

#[test]
fn points_before_the_oldest_snapshot_are_unknown() {
    let data = Data::full();
    let (path, to) = (data.path(), data.beside("restored"));
    let oldest = name_of(&data.cores[0].files("snapshot-")[0]);
    assert!(oldest.ends_with("00036"), "{oldest}");
    restore(&path, &to, &["--sequence", "35"]).refused(&["these files reach from 36 to 108"]);
    restore(&path, &data.beside("oldest"), &["--sequence", "36"]).well();
}

#[test]
fn each_core_has_its_point() {
    let mut data = Data::new(2);
    data.cores[0].fill("a", 2);
    let image = data.cores[0].image();
    data.cores[0].fill("b", 2);
    data.cores[1].fill("c", 2);
    let (path, to) = (data.path(), data.beside("restored"));
    restore(&path, &to, &["--sequence", "6"]).refused(&["of 2 threads", "--core 0:N --core 1:N"]);
    restore(&path, &to, &["--core", "2:6"]).refused(&["there is no core 2", "cores 0 to 1"]);
    restore(&path, &to, &["--core", "0:6", "--core", "0:7"]).refused(&["two points"]);
    assert!(!to.exists(), "nothing is made before the arguments are right");
    restore(&path, &to, &["--core", "0:6"]).well();
    let first = Core::start(&to, &data.manifest, 0);
    assert_eq!((first.last(), first.image()), (6, image));
    let second = Core::start(&to, &data.manifest, 1);
    assert_eq!((second.last(), second.image()), (6, data.cores[1].image()));
    let said = scurry(&["restore", "x", "--to", "y", "--core", "seven"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("write core and sequence as 0:4711"), "{said:?}");
}

#[test]
fn what_lies_before_damage_can_be_restored() {
    let mut data = Data::new(1);
    data.core().fill("a", 1);
    let image = data.core().image();
    let segment = data.core().files("log-")[0].clone();
    let end = std::fs::read(&segment).expect("read");
    let end = end.iter().rposition(|&byte| byte != 0).expect("bytes") + 1;
    data.core().fill("b", 12);
    flip(&segment, end + 50);
    let (path, to) = (data.path(), data.beside("restored"));
    restore(&path, &data.beside("all"), &[]).refused(&["is damaged", "sequence 4 was synced"]);
    restore(&path, &data.beside("behind"), &["--sequence", "4"]).refused(&["is damaged"]);
    restore(&path, &to, &["--sequence", "3"]).well();
    let core = Core::start(&to, &data.manifest, 0);
    assert_eq!((core.last(), core.image()), (3, image));
}
