//! The members of a group: pinned bytes, and damage that is refused.

use crate::support::hex;
use scurry_codec::{GroupMember, GroupMembers, GroupMembersError, Malformed};

fn members() -> GroupMembers {
    let member = |id, votes, peer: &str, ip: &str, main, cores: &[u16]| GroupMember {
        id,
        votes,
        peer: peer.parse().expect("an address"),
        ip: ip.parse().expect("an address"),
        main,
        cores: cores.to_vec(),
    };
    GroupMembers {
        members: vec![
            member(0x0123_4567_89ab_cdef, true, "192.0.2.1:7000", "198.51.100.1", 6379, &[6380]),
            member(1, true, "[2001:db8::1]:7000", "2001:db8::2", 6379, &[6380, 6381, 65_535]),
            member(u64::MAX, false, "0.0.0.0:0", "::", 0, &[]),
        ],
    }
}

fn bytes_of(members: &GroupMembers) -> Vec<u8> {
    let mut bytes = Vec::new();
    members.encode(&mut bytes);
    bytes
}

#[test]
fn version_1_is_pinned() {
    let bytes = bytes_of(&members());
    expect_test::expect_file!["../golden/group-members-v1.hex"].assert_eq(&hex(&bytes));
    assert_eq!(GroupMembers::decode(&bytes), Ok(members()));
    let nobody = GroupMembers::default();
    assert_eq!(GroupMembers::decode(&bytes_of(&nobody)), Ok(nobody));
}

#[test]
fn what_ends_early_or_late_is_refused() {
    let bytes = bytes_of(&members());
    for len in 0..bytes.len() {
        let found = GroupMembers::decode(&bytes[..len]);
        assert_eq!(found, Err(GroupMembersError::Malformed(Malformed::Ends)), "{len} bytes");
    }
    let found = GroupMembers::decode(&[&bytes[..], &[0]].concat());
    assert_eq!(found, Err(GroupMembersError::Malformed(Malformed::Left(1))));
}

/// Each value has one form: whatever bytes can be read are written the same way again.
#[test]
fn what_is_read_is_what_was_written() {
    let bytes = bytes_of(&members());
    let mut read = 0;
    for at in 0..bytes.len() {
        for byte in 0..=u8::MAX {
            let mut other = bytes.clone();
            other[at] = byte;
            if let Ok(found) = GroupMembers::decode(&other) {
                assert_eq!(bytes_of(&found), other, "byte {at} is {byte}");
                read += 1;
            }
        }
    }
    // Any id, address and port can be read.
    assert!(read > bytes.len(), "{read} of {}", bytes.len());
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let mut newer = bytes_of(&members());
    newer[0] = 2;
    assert_eq!(GroupMembers::decode(&newer), Err(GroupMembersError::Newer(2)));
    let malformed = |malformed| Err(GroupMembersError::Malformed(malformed));
    for (at, byte, expected) in [
        (0, 0, malformed(Malformed::Choice)),
        (11, 2, malformed(Malformed::Choice)),
        (12, 5, malformed(Malformed::Choice)),
    ] {
        let mut other = bytes_of(&members());
        other[at] = byte;
        assert_eq!(GroupMembers::decode(&other), expected, "byte {at}");
    }
    let mut same = members();
    same.members[2].id = 1;
    let twice = GroupMembers::decode(&bytes_of(&same));
    assert_eq!(twice, Err(GroupMembersError::Twice(1)));
    let words = GroupMembersError::Twice(1).to_string();
    assert_eq!(words, "the members of the group name node 0000000000000001 twice");
    same.members[2].id = 0;
    let nobody = GroupMembers::decode(&bytes_of(&same));
    assert_eq!(nobody, malformed(Malformed::Number));
}
