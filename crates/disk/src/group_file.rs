//! `GROUP`: the identity of a node of a group, and the last known addresses of the other nodes. Readable text in the
//! style of the manifest; docs/formats/group.md.

use crate::sealed::{Unreadable, body_of, sealed};
use scurry_codec::{ByteCount, GroupMember};
use std::fmt::Write;

/// The newest format that is read.
pub(crate) const GROUP_FORMAT: u32 = 1;
/// Longest valid file: enough for some hundred nodes with many threads. A longer one is damaged.
pub(crate) const GROUP_LEN_MAX: ByteCount = ByteCount(1 << 20);

const TITLE: &str = "scurry group format ";
/// Placeholder for an empty list of ports.
const NONE: &str = "-";

/// The content of a node's `GROUP` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFile {
    /// The random number of this node, drawn when it joined.
    pub node: u64,
    /// The member that founded the group, the only one before the first entry of the log.
    pub founder: u64,
    /// The known nodes.
    pub members: Vec<GroupMember>,
}

impl GroupFile {
    /// Returns the text of the whole file.
    pub(crate) fn to_text(&self) -> String {
        let GroupFile { node, founder, members } = self;
        let mut text = format!("{TITLE}{GROUP_FORMAT}\nnode {node:016x}\nfounder {founder:016x}\n");
        for member in members {
            let GroupMember { id, votes, peer, ip, main, cores } = member;
            let part = if *votes { "voter" } else { "learner" };
            let mut ports = cores.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
            if ports.is_empty() {
                NONE.clone_into(&mut ports);
            }
            writeln!(text, "member {id:016x} {part} peer {peer} ip {ip} main {main} cores {ports}")
                .expect("a string takes everything");
        }
        sealed(text)
    }

    /// Parses exactly what `to_text` writes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<GroupFile, Unreadable> {
        let damaged = Unreadable::Damaged;
        let mut lines = body_of(bytes)?.lines();
        let format = lines.next().and_then(|line| line.strip_prefix(TITLE)?.parse().ok());
        match format {
            Some(GROUP_FORMAT) => {}
            Some(newer) if newer > GROUP_FORMAT => return Err(Unreadable::Format(newer)),
            _ => return Err(damaged("its first line is not that of a group")),
        }
        let mut number = |name| number(lines.next()?.strip_prefix(name)?);
        let (node, founder) = (number("node "), number("founder "));
        let members: Option<Vec<GroupMember>> = lines.map(member_of).collect();
        let (Some(node), Some(founder), Some(members)) = (node, founder, members) else {
            return Err(damaged("a line is not as it is written"));
        };
        let mut ids: Vec<u64> = members.iter().map(|member| member.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(damaged("it names a node twice"));
        }
        let file = GroupFile { node, founder, members };
        let is_so = file.to_text().as_bytes() == bytes;
        if is_so { Ok(file) } else { Err(damaged("a line is not as it is written")) }
    }
}

/// Parses the number of a node.
fn number(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok().filter(|number| *number > 0)
}

fn member_of(line: &str) -> Option<GroupMember> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["member", id, part, "peer", peer, "ip", ip, "main", main, "cores", cores] = words[..]
    else {
        return None;
    };
    Some(GroupMember {
        id: number(id)?,
        votes: match part {
            "voter" => true,
            "learner" => false,
            _ => return None,
        },
        peer: peer.parse().ok()?,
        ip: ip.parse().ok()?,
        main: main.parse().ok()?,
        cores: match cores {
            NONE => Vec::new(),
            ports => ports.split(',').map(str::parse).collect::<Result<_, _>>().ok()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> GroupFile {
        let member = |id, votes, peer: &str, ip: &str, main, cores: &[u16]| GroupMember {
            id,
            votes,
            peer: peer.parse().expect("an address"),
            ip: ip.parse().expect("an address"),
            main,
            cores: cores.to_vec(),
        };
        GroupFile {
            node: 0x0123_4567_89ab_cdef,
            founder: 0xfed,
            members: vec![
                member(
                    0x0123_4567_89ab_cdef,
                    true,
                    "192.0.2.1:7000",
                    "198.51.100.1",
                    6379,
                    &[6380],
                ),
                member(0xfed, true, "[2001:db8::1]:7000", "2001:db8::2", 6379, &[6380, 65_535]),
                member(u64::MAX, false, "127.0.0.1:1", "127.0.0.1", 0, &[]),
            ],
        }
    }

    #[test]
    fn the_format_is_what_it_was() {
        let golden = "scurry group format 1\nnode 0123456789abcdef\nfounder 0000000000000fed\n\
            member 0123456789abcdef voter peer 192.0.2.1:7000 ip 198.51.100.1 main 6379 cores 6380\n\
            member 0000000000000fed voter peer [2001:db8::1]:7000 ip 2001:db8::2 main 6379 cores \
            6380,65535\n\
            member ffffffffffffffff learner peer 127.0.0.1:1 ip 127.0.0.1 main 0 cores -\n\
            crc32c 67a71eb3\n";
        assert_eq!(file().to_text(), golden);
        assert_eq!(GroupFile::from_bytes(golden.as_bytes()), Ok(file()));
    }

    #[test]
    fn any_changed_byte_and_any_end_is_damage() {
        let text = file().to_text().into_bytes();
        for at in 0..text.len() {
            let torn = GroupFile::from_bytes(&text[..at]);
            assert!(matches!(torn, Err(Unreadable::Damaged(_))), "at {at}: {torn:?}");
            for change in 1..=u8::MAX {
                let mut bytes = text.clone();
                bytes[at] ^= change;
                let found = GroupFile::from_bytes(&bytes);
                assert!(matches!(found, Err(Unreadable::Damaged(_))), "at {at}: {found:?}");
            }
        }
    }

    #[test]
    fn only_what_is_written_is_read() {
        let text = file().to_text();
        let body = body_of(text.as_bytes()).expect("it is whole");
        for (from, to) in [
            ("founder 0000000000000fed", "founder 0000000000000000"),
            ("founder 0000000000000fed\n", ""),
            ("voter", "Voter"),
            ("voter", "voter "),
            ("main 6379", "main 06379"),
            ("6380,65535", "6380,65536"),
            ("cores -", "cores "),
            ("192.0.2.1:7000", "192.0.2.1"),
            ("2001:db8::2", "2001:db8:0::2"),
            ("ffffffffffffffff", "0000000000000fed"),
            ("cores 6380\n", "cores 6380 more\n"),
        ] {
            let other = sealed(body.replacen(from, to, 1));
            let found = GroupFile::from_bytes(other.as_bytes());
            assert!(matches!(found, Err(Unreadable::Damaged(_))), "{to:?}: {found:?}");
        }
        let newer = sealed("scurry group format 2\nsomething else\n".to_owned());
        assert_eq!(GroupFile::from_bytes(newer.as_bytes()), Err(Unreadable::Format(2)));
    }
}
