//! Lists, which versions before kept: their bytes are refused, and the words say which key it is and
//! what to do.

use scurry_codec::{Chunked, Framed, Seal, read_chunk, read_frame};
use scurry_engine::{Config, ReplayError, Shard, checksum};

const LOG: u64 = 7;

/// Frame of a log as a version before wrote it: the list `list` of `one` and `two`, which expires.
const FRAME: &[u8] = b"\x3b\0\0\0\xfc\xf1\x98\x59\x0e\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\x68\xe5\xcf\x8b\x01\0\0\x01\0\0\0\
    \x8a\x04list\x80\xa0\xab\xfe\xf9\x62\x0a\x01\x02\x03one\x03two";

/// Chunk of a snapshot as a version before wrote it, with the same list.
const CHUNK: &[u8] = b"\x3c\0\0\0\x0e\x4e\x3b\x61\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \x09\0\0\0\0\0\0\0\x01\0\0\0\
    \x04\x01\x80\xa0\xab\xfe\xf9\x62\x04\x0alist\x01\x02\x03one\x03two";

fn assert_refused(shard: &Shard, refused: Result<(), ReplayError>) {
    let error = refused.expect_err("a list is taken");
    assert_eq!(
        error.to_string(),
        "key list holds a list, which this version does not keep: start the version that wrote it, \
         move the list into Valkey, delete the key, say SCUR.SNAPSHOT, and start this version again"
    );
    assert!(shard.is_empty());
}

#[test]
fn a_list_of_a_log_is_refused_by_its_key() {
    let mut shard = Shard::new(Config::default());
    let Framed::Frame(frame) = read_frame(Seal::new(checksum, LOG), FRAME) else {
        panic!("a frame");
    };
    let mut records = frame.records();
    let list = records.next().expect("a record").expect("it is whole");
    let refused = shard.replay(&list);
    assert_refused(&shard, refused);
    assert!(records.next().is_none());
}

#[test]
fn a_list_of_a_snapshot_is_refused_by_its_key() {
    let mut shard = Shard::new(Config::default());
    let Chunked::Chunk(chunk) = read_chunk(Seal::new(checksum, LOG), CHUNK) else {
        panic!("a chunk");
    };
    let list = chunk.entries().next().expect("an entry").expect("it is whole");
    let refused = shard.restore(&list);
    assert_refused(&shard, refused);
}
