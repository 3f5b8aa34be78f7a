//! Tests of a store's directory: who may open it, and what its files must contain.

use nix::unistd::geteuid;
use scurry_codec::GroupMember;
use scurry_disk::{GroupFile, Manifest, Store, StoreError, order_begin};
use scurry_engine::{Disk, File, RequiredExtent, Term, Vote};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const MANIFEST: Manifest = Manifest { store: 1, generation: 3, threads: 4, restored: 0 };

/// Returns the path of a store that does not exist yet, in an existing directory.
fn place() -> (TempDir, PathBuf) {
    let place = TempDir::new().expect("a place for files");
    let path = place.path().join("data");
    (place, path)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o7777
}

fn refusal(path: &Path) -> String {
    Store::open(path).expect_err("refused").to_string()
}

#[test]
fn a_store_is_private() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    store.write_manifest(&MANIFEST).expect("written");
    store.core(3, 0).expect("made").create("log-1", 0).expect("created");
    for directory in ["", "g3", "g3/0"] {
        assert_eq!(mode(&path.join(directory)), 0o700, "{directory}");
    }
    for file in ["LOCK", "MANIFEST", "g3/0/log-1"] {
        assert_eq!(mode(&path.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_second_server_is_told_who_has_it() {
    let (_place, path) = place();
    let first = Store::open(&path).expect("opened");
    let error = Store::open(&path).expect_err("locked");
    let own = std::process::id();
    assert!(matches!(&error, StoreError::Locked { pid, .. } if *pid == Some(own)), "{error:?}");
    let dir = path.display();
    assert_eq!(
        error.to_string(),
        format!("another scurry (pid {own}) serves {dir}: stop it, or choose another directory")
    );
    fs::write(path.join("LOCK"), "").expect("as before the pid is written");
    assert_eq!(
        refusal(&path),
        format!("another scurry serves {dir}: stop it, or choose another directory")
    );
    drop(first);
    fs::write(path.join("LOCK"), "99999999999\nleft by a longer one").expect("written");
    let _next = Store::open(&path).expect("the lock ends with its holder, not with the file");
    let text = fs::read_to_string(path.join("LOCK")).expect("read");
    assert_eq!(text, format!("{own}\n"));
}

#[test]
fn the_lock_cannot_be_moved_away() {
    let (place, path) = place();
    let _first = Store::open(&path).expect("opened");
    let lock = path.join("LOCK");
    for removed in [false, true] {
        if removed {
            fs::remove_file(place.path().join("LOCK.old")).expect("removed");
        } else {
            fs::rename(&lock, place.path().join("LOCK.old")).expect("moved");
        }
        let error = Store::open(&path).expect_err("the directory is locked");
        assert!(matches!(error, StoreError::Locked { pid: None, .. }), "{error:?}");
        assert!(!lock.exists(), "nothing is made beside a server");
    }
    // After a rename it is still the same directory.
    let moved = place.path().join("moved");
    fs::rename(&path, &moved).expect("moved");
    assert!(matches!(Store::open(&moved), Err(StoreError::Locked { .. })));
}

#[test]
fn an_older_server_holds_the_file_alone() {
    let (_place, path) = place();
    drop(Store::open(&path).expect("opened"));
    let older = fs::File::open(path.join("LOCK")).expect("it is there");
    older.try_lock().expect("nobody else has it");
    let error = Store::open(&path).expect_err("an older server has it");
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    drop(older);
    Store::open(&path).expect("the directory is not locked any more");
}

#[test]
fn the_manifest_is_replaced() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    assert_eq!(store.manifest().expect("none is no error"), None);
    store.write_manifest(&MANIFEST).expect("written");
    assert_eq!(store.manifest().expect("read"), Some(MANIFEST));
    let next = Manifest { generation: 4, threads: 2, ..MANIFEST };
    fs::write(path.join("MANIFEST.new"), vec![b'x'; 9_999]).expect("left by a crash");
    store.write_manifest(&next).expect("written");
    drop(store);
    let store = Store::open(&path).expect("opened again");
    assert_eq!(store.manifest().expect("read"), Some(next));
    assert!(!path.join("MANIFEST.new").exists());
}

#[test]
fn a_manifest_torn_at_any_byte_is_refused() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    store.write_manifest(&MANIFEST).expect("written");
    let (file, start) =
        (path.join("MANIFEST"), format!("{} is damaged (", path.join("MANIFEST").display()));
    let whole = fs::read(&file).expect("read");
    for len in 0..whole.len() {
        let mut zeroed = whole.clone();
        zeroed[len..].fill(0);
        for torn in [whole[..len].to_vec(), zeroed] {
            fs::write(&file, &torn).expect("torn");
            let error = store.manifest().expect_err("torn");
            assert!(matches!(error, StoreError::DamagedManifest { .. }), "at {len}: {error:?}");
            assert!(error.to_string().starts_with(&start), "{error}");
        }
    }
    let mut longer = whole.clone();
    longer.extend(vec![b'\n'; 1 << 20]);
    fs::write(&file, longer).expect("written");
    assert!(matches!(store.manifest(), Err(StoreError::DamagedManifest { .. })));
    fs::write(&file, whole).expect("restored");
    assert_eq!(store.manifest().expect("read"), Some(MANIFEST));
}

#[test]
fn another_format_is_refused_in_words() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    let text = "scurry store format 4\nshape round\ncrc32c dbf53797\n";
    fs::write(path.join("MANIFEST"), text).expect("written");
    let error = store.manifest().expect_err("newer");
    assert!(matches!(error, StoreError::ManifestFormat { found: 4, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!(
            "{} has format 4, and this scurry reads format 3 alone: start the version that wrote it; nothing was \
             changed",
            path.join("MANIFEST").display()
        )
    );
}

#[test]
fn data_without_a_manifest_is_refused() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    store.core(3, 1).expect("made");
    let error = store.manifest().expect_err("data and no manifest").to_string();
    assert!(error.contains(" has data (g3) but no MANIFEST: restore "), "{error}");
    store.remove_generation(3).expect("removed");
    assert_eq!(store.manifest().expect("an empty store"), None);
    // A reach file that notes empty logs does not count as data.
    store.write_reach(&Manifest::new(1, 2), &[0, 0]).expect("written");
    assert_eq!(store.manifest().expect("a first start"), None);
    store.write_reach(&Manifest::new(1, 2), &[0, 5]).expect("written");
    let error = store.manifest().expect_err("it had data").to_string();
    assert!(error.contains(" has data (reach-g1) but no MANIFEST: restore "), "{error}");
    std::fs::write(path.join("reach-g1"), [0; 1_024]).expect("written");
    store.manifest().expect_err("it may have had data");
    std::fs::rename(path.join("reach-g1"), path.join("reach-g2")).expect("renamed");
    store.manifest().expect_err("it is no first generation");
}

#[test]
fn what_a_store_must_hold_is_noted_beside_it() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    let manifest = Manifest::new(1, 2);
    // A manifest without a reach file: the data directories are missing.
    store.write_manifest(&manifest).expect("written");
    let error = store.least(&manifest).expect_err("no directory").to_string();
    assert!(error.contains("g1/0 is missing") && error.contains("remove MANIFEST"), "{error}");
    store.write_reach(&manifest, &[0, 0]).expect("written");
    assert_eq!(store.least(&manifest).expect("a first start"), [RequiredExtent::default(); 2]);
    store.core(1, 0).expect("made");
    store.raise_reach(&manifest, &[7, 5]).expect("written");
    let error = store.least(&manifest).expect_err("missing").to_string();
    assert!(error.contains("g1/1 is missing, and its log had come to sequence 5"), "{error}");
    store.core(1, 1).expect("made");
    // The noted reach never decreases.
    store.raise_reach(&manifest, &[6, 9]).expect("written");
    let least = |sequence| RequiredExtent { sequence, snapshot: false };
    assert_eq!(store.least(&manifest).expect("whole"), [least(7), least(9)]);
    assert_eq!(mode(&path.join("reach-g1")), 0o600);
    let other = Manifest { store: 3, ..manifest };
    let error = store.least(&other).expect_err("another store").to_string();
    assert!(error.contains("reach-g1: it belongs to another log"), "{error}");
    store.write_manifest(&MANIFEST).expect("written");
    store.remove_generation(1).expect("removed");
    assert!(!path.join("reach-g1").exists());
    // Later generations begin with snapshots, and so always have directories.
    let error = store.least(&MANIFEST).expect_err("no directory").to_string();
    assert!(error.contains("g3/0 is missing"), "{error}");
    for core in 0..MANIFEST.threads {
        store.core(3, core).expect("made");
    }
    let found = store.least(&MANIFEST).expect("of an older version");
    assert_eq!(found, [RequiredExtent { sequence: 0, snapshot: true }; 4]);
}

#[test]
fn of_two_copies_one_is_enough() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    let manifest = Manifest::new(1, 1);
    store.write_reach(&manifest, &[1]).expect("written");
    store.core(1, 0).expect("made");
    let file = path.join("reach-g1");
    let mut before = 1;
    for sequence in 2..6 {
        store.raise_reach(&manifest, &[sequence]).expect("written");
        let whole = fs::read(&file).expect("read");
        assert_eq!(whole.len(), 1_024);
        let mut found = Vec::new();
        for copy in [0, 512] {
            let mut torn = whole.clone();
            torn[copy..copy + 512].fill(0xff);
            fs::write(&file, torn).expect("written");
            found.push(store.least(&manifest).expect("one is whole")[0].sequence);
        }
        found.sort_unstable();
        assert_eq!(found, [before, sequence], "the older copy is written");
        fs::write(&file, whole).expect("written");
        before = sequence;
    }
    fs::write(&file, [0; 1_024]).expect("written");
    let error = store.least(&manifest).expect_err("damaged").to_string();
    assert!(error.contains("what it says of core 0 is damaged"), "{error}");
}

#[test]
fn generations_stand_side_by_side() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    for (generation, core) in [(10, 0), (2, 0), (2, 1), (2, 1)] {
        let mut disk = store.core(generation, core).expect("made");
        let mut file = disk.create("log-1", 0).expect("created");
        file.write_at(0, &[u8::try_from(core).expect("small")]).expect("written");
    }
    for other in ["g", "g02", "gone", "g4294967296", "3"] {
        fs::create_dir(path.join(other)).expect("a directory of somebody else");
    }
    assert_eq!(store.generations().expect("listed"), [2, 10]);
    assert_eq!(fs::read(path.join("g2/1/log-1")).expect("read"), [1]);
    store.remove_generation(2).expect("removed");
    assert_eq!(store.generations().expect("listed"), [10]);
    assert!(path.join("g10/0/log-1").exists());
}

#[test]
fn what_is_no_directory_is_said() {
    let (_place, path) = place();
    fs::write(&path, "").expect("a file");
    let error = refusal(&path);
    assert!(error.starts_with(&format!("cannot keep a store in {}: ", path.display())), "{error}");
    assert!(error.ends_with("That is a file: choose a directory"), "{error}");
    let error = refusal(&path.join("data"));
    assert!(error.ends_with("That is a file: choose a directory"), "{error}");
    let error = refusal(&path.with_file_name("missing").join("data"));
    assert!(error.contains("(os error 2). Make the directory above it first"), "{error}");
}

#[test]
fn a_directory_of_somebody_else_is_said() {
    if geteuid().is_root() {
        eprintln!("not tested: root may write everywhere");
        return;
    }
    let (_place, path) = place();
    drop(Store::open(&path).expect("opened"));
    fs::set_permissions(&path, Permissions::from_mode(0o500)).expect("closed");
    let with_lock = refusal(&path);
    fs::set_permissions(&path, Permissions::from_mode(0o700)).expect("opened again");
    fs::remove_file(path.join("LOCK")).expect("removed");
    fs::set_permissions(&path, Permissions::from_mode(0o500)).expect("closed");
    for error in [with_lock, refusal(&path)] {
        assert!(error.contains("(os error 13). Let it belong to the user"), "{error}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o700)).expect("for its removal");
}

#[test]
fn a_damaged_copy_of_a_note_is_told_and_written_anew() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    let manifest = Manifest::new(1, 2);
    store.write_reach(&manifest, &[7, 8]).expect("written");
    assert_eq!(store.mend_notes(&manifest).expect("read"), Vec::<String>::new());
    store.write_ballots(&manifest).expect("written");
    let given = Vote { term: Term(3), node: 7 };
    store.ballot(&manifest, 1).expect("it is there").raise(given).expect("written");
    for (name, copy) in [("reach-g1", 0), ("reach-g1", 3), ("ballot-g1", 1), ("ballot-g1", 3)] {
        let file = path.join(name);
        let mut bytes = fs::read(&file).expect("read");
        bytes[512 * copy + 25] ^= 1;
        fs::write(&file, &bytes).expect("written");
        let said = store.mend_notes(&manifest).expect("the other is whole");
        let words = [
            format!("{}: one of the two copies", file.display()),
            format!("of thread {} was damaged: the other one was used", copy / 2),
            "it was written again".to_owned(),
        ];
        assert!(said.len() == 1 && words.iter().all(|words| said[0].contains(words)), "{said:?}");
        assert_eq!(store.mend_notes(&manifest).expect("read"), Vec::<String>::new());
        let now = fs::read(&file).expect("read");
        assert!(now != bytes && now.len() == 2_048);
    }
    // A file that was truncated within the last copies.
    fs::File::options()
        .write(true)
        .open(path.join("reach-g1"))
        .expect("a file")
        .set_len(1_550)
        .expect("cut");
    assert_eq!(store.mend_notes(&manifest).expect("the other is whole").len(), 1);
    let least =
        |core| store.reach(&manifest, core).expect("whole").expect("it is there").sequence();
    assert_eq!([least(0), least(1)], [7, 8]);
}

#[test]
fn a_node_that_cannot_tell_what_it_has_promised_is_refused() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    let manifest = Manifest::new(1, 1);
    let error = store.require_reach(&manifest).expect_err("it is missing");
    assert!(error.is_damage());
    let error = error.to_string();
    assert!(error.contains("reach-g1 is missing") && error.contains("must join again"), "{error}");
    store.write_reach(&manifest, &[7]).expect("written");
    store.require_reach(&manifest).expect("it is there");
    let vote = Vote { term: Term(3), node: 7 };
    store.check_vote(&manifest, vote, Term(3)).expect("no entry is of a later term");
    let error = store.check_vote(&manifest, vote, Term(4)).expect_err("a vote is lost").to_string();
    assert!(
        error.contains("ballot-g1 has votes up to term 3, and the log has entries of term 4"),
        "{error}"
    );
}

fn group(node: u64) -> GroupFile {
    let peer = "127.0.0.1:7000".parse().expect("an address");
    let ip = "127.0.0.1".parse().expect("an address");
    let own = GroupMember { id: node, votes: true, peer, ip, main: 6379, cores: vec![6380, 6381] };
    GroupFile { node, founder: 7, members: vec![own] }
}

#[test]
fn a_vote_is_there_after_a_start_and_a_node_without_its_ballot_must_join_anew() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    let manifest = Manifest::new(1, 2);
    let error = store.ballot(&manifest, 0).expect_err("none was written").to_string();
    assert!(error.contains("ballot-g1") && error.contains("must join again"), "{error}");
    store.write_ballots(&manifest).expect("written");
    assert_eq!(mode(&path.join("ballot-g1")), 0o600);
    let vote = |core| store.ballot(&manifest, core).expect("it is there").newest();
    assert_eq!([vote(0), vote(1)], [Vote::default(); 2]);
    let given = Vote { term: Term(3), node: 7 };
    store.ballot(&manifest, 1).expect("it is there").raise(given).expect("written");
    drop(store);
    let store = Store::open(&path).expect("opened again");
    let vote = |core| store.ballot(&manifest, core).expect("it is there").newest();
    assert_eq!([vote(0), vote(1)], [Vote::default(), given]);
    let other = Manifest { store: 3, ..manifest };
    let error = store.ballot(&other, 0).expect_err("another store").to_string();
    assert!(error.contains("it belongs to another log"), "{error}");
    let whole = fs::read(path.join("ballot-g1")).expect("read");
    assert_eq!(whole.len(), 2_048);
    fs::write(path.join("ballot-g1"), &whole[..1_024]).expect("written");
    assert_eq!(store.ballot(&manifest, 0).expect("its copies are whole").newest(), Vote::default());
    let error = store.ballot(&manifest, 1).expect_err("its copies are gone").to_string();
    assert!(error.contains("core 1 is damaged") && error.contains("must join again"), "{error}");
    store.core(1, 0).expect("made");
    store.remove_generation(1).expect("removed");
    assert!(!path.join("ballot-g1").exists());
}

#[test]
fn a_directory_is_told_to_begin_a_group_once_and_may_be_retired_for_good() {
    let (_place, path) = place();
    order_begin(&path).expect("it is made");
    let store = Store::open(&path).expect("opened");
    // Ordered again while a server holds the lock.
    order_begin(&path).expect("it may be said again");
    assert!(store.is_to_begin().expect("read"));
    assert_eq!(store.manifest().expect("it is empty all the same"), None);
    store.end_begin().expect("removed");
    store.end_begin().expect("it is gone already");
    assert!(!store.is_to_begin().expect("read"));
    store.write_group(&group(5)).expect("written");
    let error = order_begin(&path).expect_err("it is a node").to_string();
    assert!(error.contains("is a node of a group already"), "{error}");
    assert!(!store.is_to_begin().expect("read"));
    assert_eq!(store.required_protocol().expect("read"), 1, "any");
    for version in [4, 5] {
        store.require_protocol(version).expect("written");
        assert_eq!(store.required_protocol().expect("read"), version);
    }
    std::fs::write(path.join("PROTOCOL"), "four\n").expect("written");
    assert_eq!(store.required_protocol().expect("read"), 1, "it is no number");
    store.refuse_retired().expect("it takes part");
    store.retire("it has lost entry 7").expect("written");
    drop(store);
    let store = Store::open(&path).expect("opened again");
    for error in [store.refuse_retired(), order_begin(&path)].map(Result::unwrap_err) {
        let words = error.to_string();
        assert!(words.contains("RETIRED") && words.ends_with("it has lost entry 7"), "{words}");
        assert!(error.is_damage(), "others are to be asked for what it had");
    }
}

#[test]
fn a_node_keeps_its_identity_and_is_no_store_of_one_machine() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    assert_eq!(store.group().expect("none is no error"), None);
    store.refuse_group().expect("there is none");
    store.write_group(&group(5)).expect("written");
    assert_eq!(mode(&path.join("GROUP")), 0o600);
    fs::write(path.join("GROUP.new"), vec![b'x'; 9_999]).expect("left by a crash");
    store.write_group(&group(6)).expect("written");
    assert!(!path.join("GROUP.new").exists());
    drop(store);
    let store = Store::open(&path).expect("opened again");
    assert_eq!(store.group().expect("read"), Some(group(6)));
    let error = store.refuse_group().expect_err("it is a node").to_string();
    assert!(error.contains("is a node of a group: start it with --replicate"), "{error}");
    let whole = fs::read(path.join("GROUP")).expect("read");
    fs::write(path.join("GROUP"), &whole[..whole.len() - 1]).expect("torn");
    let error = store.group().expect_err("torn").to_string();
    assert!(error.contains("GROUP is damaged") && error.contains("must join again"), "{error}");
    store.refuse_group().expect_err("it may be a node");
    fs::write(path.join("GROUP"), "scurry group format 2\nshape round\ncrc32c 8d5ece53\n")
        .expect("written");
    let error = store.group().expect_err("newer");
    assert!(matches!(error, StoreError::NewerGroup { found: 2, .. }), "{error:?}");
}

#[test]
fn what_tells_of_a_node_is_not_alone() {
    let (_place, path) = place();
    let store = Store::open(&path).expect("opened");
    let manifest = Manifest::new(1, 1);
    // The state that an interrupted first start may leave.
    store.write_ballots(&manifest).expect("written");
    assert_eq!(store.manifest().expect("a first start"), None);
    assert_eq!(store.group().expect("a first start"), None);
    let mut ballot = store.ballot(&manifest, 0).expect("it is there");
    ballot.raise(Vote { term: Term(1), node: 0 }).expect("written");
    let error = store.manifest().expect_err("it was a node").to_string();
    assert!(error.contains(" has data (ballot-g1) but no MANIFEST: restore "), "{error}");
    let error = store.group().expect_err("it was a node").to_string();
    assert!(error.contains(" has ballot-g1 but no GROUP") && error.contains("again"), "{error}");
    fs::remove_file(path.join("ballot-g1")).expect("removed");
    store.write_group(&group(5)).expect("written");
    let error = store.manifest().expect_err("it was a node").to_string();
    assert!(error.contains(" has data (GROUP) but no MANIFEST: restore "), "{error}");
}
