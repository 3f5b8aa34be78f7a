//! The members of a group and their addresses. A Group record of the log holds them when members change, and a node
//! that joins receives them. docs/formats/group-members.md has the bytes.

use crate::Malformed;
use crate::cursor::Cursor;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const VERSION: u8 = 1;
const V4: u8 = 4;
const V6: u8 = 6;

/// A node of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Id that was drawn at random when the node joined; not 0.
    pub id: u64,
    /// Whether the node has a vote; one without a vote only receives entries.
    pub votes: bool,
    /// Address at which other nodes reach it.
    pub peer: SocketAddr,
    /// IP address of the ports below, as clients reach it.
    pub ip: IpAddr,
    /// The main port.
    pub main: u16,
    /// The port of each thread.
    pub cores: Vec<u16>,
}

/// The nodes of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupMembers {
    /// Nodes, each once, in any order.
    pub members: Vec<GroupMember>,
}

/// Reasons why bytes are no valid members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupMembersError {
    /// A newer program wrote them, in this format.
    Newer(u8),
    /// The node with this id is named twice.
    Twice(u64),
    /// Malformed content.
    Malformed(Malformed),
}

impl fmt::Display for GroupMembersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupMembersError::Newer(version) => write!(
                f,
                "the members of the group are in format {version}, and this node reads format {VERSION}: \
                 update it"
            ),
            GroupMembersError::Twice(id) => {
                write!(f, "the members of the group name node {id:016x} twice")
            }
            GroupMembersError::Malformed(malformed) => {
                write!(f, "the members of the group are damaged: {malformed}")
            }
        }
    }
}

impl core::error::Error for GroupMembersError {}

impl From<Malformed> for GroupMembersError {
    fn from(malformed: Malformed) -> GroupMembersError {
        GroupMembersError::Malformed(malformed)
    }
}

impl GroupMembers {
    /// Appends their bytes. The scope of an IPv6 address is not kept: it has no meaning on another machine.
    ///
    /// # Panics
    /// With more than 65,535 members, or ports of one member.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put_count(self.members.len(), out);
        for member in &self.members {
            let GroupMember { id, votes, peer, ip, main, cores } = member;
            out.extend_from_slice(&id.to_le_bytes());
            out.push(u8::from(*votes));
            put_ip(peer.ip(), out);
            out.extend_from_slice(&peer.port().to_le_bytes());
            put_ip(*ip, out);
            out.extend_from_slice(&main.to_le_bytes());
            put_count(cores.len(), out);
            for core in cores {
                out.extend_from_slice(&core.to_le_bytes());
            }
        }
    }

    /// Reads the bytes of [`GroupMembers::encode`], all of them.
    pub fn decode(bytes: &[u8]) -> Result<GroupMembers, GroupMembersError> {
        let mut from = Cursor::new(bytes);
        match from.byte()? {
            VERSION => {}
            0 => return Err(Malformed::Choice.into()),
            newer => return Err(GroupMembersError::Newer(newer)),
        }
        let count = u16::from_le_bytes(read_array(&mut from)?);
        // No room is reserved: a damaged count may claim more members than the bytes hold.
        let mut members: Vec<GroupMember> = Vec::new();
        for _ in 0..count {
            members.push(take_member(&mut from)?);
        }
        from.finish()?;
        let mut ids: Vec<u64> = members.iter().map(|member| member.id).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(GroupMembersError::Twice(pair[0])),
            None => Ok(GroupMembers { members }),
        }
    }
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    let count = u16::try_from(count).expect("a group has few nodes, and these few threads");
    out.extend_from_slice(&count.to_le_bytes());
}

fn put_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => {
            out.push(V4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(V6);
            out.extend_from_slice(&ip.octets());
        }
    }
}

fn take_member(from: &mut Cursor<'_>) -> Result<GroupMember, Malformed> {
    let id = u64::from_le_bytes(read_array(from)?);
    if id == 0 {
        return Err(Malformed::Number);
    }
    let votes = match from.byte()? {
        0 => false,
        1 => true,
        _ => return Err(Malformed::Choice),
    };
    let peer = SocketAddr::new(take_ip(from)?, u16::from_le_bytes(read_array(from)?));
    let ip = take_ip(from)?;
    let main = u16::from_le_bytes(read_array(from)?);
    let count = u16::from_le_bytes(read_array(from)?);
    let ports = from.bytes(2 * usize::from(count))?.as_chunks().0;
    let cores = ports.iter().map(|port| u16::from_le_bytes(*port)).collect();
    Ok(GroupMember { id, votes, peer, ip, main, cores })
}

fn take_ip(from: &mut Cursor<'_>) -> Result<IpAddr, Malformed> {
    match from.byte()? {
        V4 => Ok(Ipv4Addr::from_octets(read_array(from)?).into()),
        V6 => Ok(Ipv6Addr::from_octets(read_array(from)?).into()),
        _ => Err(Malformed::Choice),
    }
}

fn read_array<const N: usize>(from: &mut Cursor<'_>) -> Result<[u8; N], Malformed> {
    from.bytes(N)?.try_into().map_err(|_| Malformed::Ends)
}
