//! The greeting of a connection between nodes: the dialling node sends its identity and what it wants, and the other
//! side answers or refuses with a reason. docs/formats/between-nodes.md has the bytes.

use super::admission::{Accepted, GroupMember, JoinAnswer, JoinRequest, Succession};
use super::bytes::{
    PacketReader, malformed, put_address, put_addresses, put_bytes, put_sheet, read_sheet,
};
use super::encryption::CertificateFault;
use super::socket::Socket;
use super::versions::Versions;
use crate::view::Addresses;
use scurry_consensus::replica::NodeId;
use std::io::{self, Read, Write};

/// The first bytes that each side sends.
const MAGIC: [u8; 8] = *b"SCURNODE";
/// Bytes of the magic and the versions.
const OPENING_LEN: usize = 12;
/// Greatest length of a text in an answer, bytes. Longer ones are cut.
const TEXT_LEN_MAX: usize = 4096;

/// The greeting of a member, which wants to send packets or to open a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    /// The id of the group's store.
    pub(super) store: u64,
    /// The dialling node.
    pub(super) node: NodeId,
    /// The node that it expects at this address.
    pub(super) target: NodeId,
    /// The number of its threads, which is the number of shards.
    pub(super) threads: u16,
    /// The addresses of the dialling node.
    pub(super) addresses: Addresses,
}

/// What the dialling side sends first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    Hello(Hello),
    Join(JoinRequest),
    /// The door of a member wants to ask the store of this node.
    Passage(Hello),
    /// Another group has taken the place of the one that this node is of.
    Succession(Succession),
}

/// What the side that was dialled answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The node may send packets.
    Welcome { store: u64, node: NodeId, threads: u16 },
    /// The reason of a refusal. Nothing has changed on the side that refuses.
    Refusal(String),
    /// The answer to a request to join.
    Join(JoinAnswer),
}

/// Why a greeting or an answer could not be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The connection has ended or was too slow.
    Io(io::Error),
    /// It is refused, for this reason.
    Words(String),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Unreadable {
        match error.downcast() {
            Ok(CertificateFault(words)) => Unreadable::Words(words),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Unreadable::Words(format!("no greeting: {error}"))
            }
            Err(error) => Unreadable::Io(error),
        }
    }
}

/// Sends a greeting on a socket that was dialled. Returns the answer, and the highest version that both sides speak.
pub(super) fn greet(
    socket: &mut Socket,
    own: Versions,
    greeting: &Greeting,
) -> Result<(Answer, u16), Unreadable> {
    let written = greeting.write(own, socket).map_err(Unreadable::from);
    let answer = written.and_then(|()| Answer::read(own, socket));
    if matches!(answer, Err(Unreadable::Words(_))) {
        socket.close_gracefully();
    }
    answer
}

impl Greeting {
    pub(super) fn write(&self, own: Versions, to: &mut impl Write) -> io::Result<()> {
        send(own, &self.sheet(), to)
    }

    /// Reads a greeting. It has the same form in all versions that this release speaks.
    pub(super) fn read(own: Versions, from: &mut impl Read) -> Result<Greeting, Unreadable> {
        let version = read_opening(own, from)?;
        let Some(spoken) = version.spoken else {
            return Err(Unreadable::Words(version.fault("the node that has dialled")));
        };
        let sheet = read_sheet(from)?;
        let mut reader = PacketReader(&sheet);
        let greeting = Greeting::parse(&mut reader).filter(|_| reader.0.is_empty());
        Ok(greeting
            .ok_or_else(|| malformed(format!("its fields are not those of version {spoken}")))?)
    }

    fn sheet(&self) -> Vec<u8> {
        let mut sheet = Vec::new();
        match self {
            Greeting::Hello(hello) | Greeting::Passage(hello) => {
                let Hello { store, node, target, threads, addresses } = hello;
                sheet.push(if matches!(self, Greeting::Hello(_)) { 1 } else { 3 });
                for number in [*store, node.get(), target.get()] {
                    sheet.extend(number.to_le_bytes());
                }
                sheet.extend(threads.to_le_bytes());
                put_addresses(&mut sheet, addresses);
            }
            Greeting::Join(JoinRequest { node, replaces, addresses, observes }) => {
                sheet.push(if *observes { 4 } else { 2 });
                sheet.extend(node.get().to_le_bytes());
                sheet.extend(replaces.unwrap_or(0).to_le_bytes());
                put_addresses(&mut sheet, addresses);
            }
            Greeting::Succession(Succession { lost, store, addresses }) => {
                sheet.push(5);
                sheet.extend(lost.to_le_bytes());
                sheet.extend(store.to_le_bytes());
                put_addresses(&mut sheet, addresses);
            }
        }
        sheet
    }

    fn parse(reader: &mut PacketReader<'_>) -> Option<Greeting> {
        match reader.u8()? {
            1 => Hello::parse(reader).map(Greeting::Hello),
            kind @ (2 | 4) => Some(Greeting::Join(JoinRequest {
                node: NodeId::new(reader.u64()?)?,
                replaces: Some(reader.u64()?).filter(|node| *node > 0),
                addresses: reader.addresses()?,
                observes: kind == 4,
            })),
            3 => Hello::parse(reader).map(Greeting::Passage),
            5 => Some(Greeting::Succession(Succession {
                lost: reader.u64()?,
                store: reader.u64()?,
                addresses: reader.addresses()?,
            })),
            _ => None,
        }
    }
}

impl Hello {
    fn parse(reader: &mut PacketReader<'_>) -> Option<Hello> {
        Some(Hello {
            store: reader.u64()?,
            node: NodeId::new(reader.u64()?)?,
            target: NodeId::new(reader.u64()?)?,
            threads: reader.u16()?,
            addresses: reader.addresses()?,
        })
    }
}

impl Answer {
    pub(super) fn write(&self, own: Versions, to: &mut impl Write) -> io::Result<()> {
        send(own, &self.sheet(), to)
    }

    /// Reads an answer. Returns it with the highest version that both sides speak.
    pub(super) fn read(own: Versions, from: &mut impl Read) -> Result<(Answer, u16), Unreadable> {
        let version = read_opening(own, from)?;
        let sheet = read_sheet(from)?;
        let mut reader = PacketReader(&sheet);
        let answer = Answer::parse(&mut reader).filter(|_| reader.0.is_empty());
        match (version.spoken, answer) {
            // Refusals have the same form in all versions, and their reason is better than one about versions.
            (spoken, Some(answer @ Answer::Refusal(_))) => Ok((answer, spoken.unwrap_or(0))),
            (Some(spoken), Some(answer)) => Ok((answer, spoken)),
            (Some(spoken), None) => {
                Err(malformed(format!("its fields are not those of version {spoken}")).into())
            }
            _ => Err(Unreadable::Words(version.fault("the node that was dialled"))),
        }
    }

    fn sheet(&self) -> Vec<u8> {
        let mut sheet = Vec::new();
        match self {
            Answer::Welcome { store, node, threads } => {
                sheet.push(1);
                sheet.extend(store.to_le_bytes());
                sheet.extend(node.get().to_le_bytes());
                sheet.extend(threads.to_le_bytes());
            }
            Answer::Refusal(text) => put_text(&mut sheet, 2, text),
            Answer::Join(JoinAnswer::Accepted(accepted)) => {
                let Accepted { store, generation, restored, founder, threads, members } =
                    &**accepted;
                sheet.push(3);
                for number in [*store, founder.get()] {
                    sheet.extend(number.to_le_bytes());
                }
                sheet.extend(generation.to_le_bytes());
                sheet.extend(restored.to_le_bytes());
                sheet.extend(threads.to_le_bytes());
                // A group has fewer members than `u8::MAX`.
                sheet.push(u8::try_from(members.len()).unwrap_or(u8::MAX));
                for GroupMember { id, votes, addresses } in members {
                    sheet.extend(id.get().to_le_bytes());
                    sheet.push(u8::from(*votes));
                    put_addresses(&mut sheet, addresses);
                }
            }
            Answer::Join(JoinAnswer::Elsewhere(address)) => {
                sheet.push(4);
                put_address(&mut sheet, *address);
            }
            Answer::Join(JoinAnswer::Later(text)) => put_text(&mut sheet, 5, text),
            Answer::Join(JoinAnswer::Refused(text)) => put_text(&mut sheet, 6, text),
        }
        sheet
    }

    fn parse(reader: &mut PacketReader<'_>) -> Option<Answer> {
        Some(match reader.u8()? {
            1 => Answer::Welcome {
                store: reader.u64()?,
                node: NodeId::new(reader.u64()?)?,
                threads: reader.u16()?,
            },
            2 => Answer::Refusal(reader.text()?),
            3 => Answer::Join(JoinAnswer::Accepted(Box::new(accepted(reader)?))),
            4 => Answer::Join(JoinAnswer::Elsewhere(reader.address()?)),
            5 => Answer::Join(JoinAnswer::Later(reader.text()?)),
            6 => Answer::Join(JoinAnswer::Refused(reader.text()?)),
            _ => return None,
        })
    }
}

fn put_text(sheet: &mut Vec<u8>, kind: u8, text: &str) {
    sheet.push(kind);
    put_bytes(sheet, &text.as_bytes()[..text.floor_char_boundary(TEXT_LEN_MAX)]);
}

fn accepted(reader: &mut PacketReader<'_>) -> Option<Accepted> {
    let (store, founder) = (reader.u64()?, NodeId::new(reader.u64()?)?);
    let (generation, restored) = (reader.u32()?, reader.u32()?);
    let threads = reader.u16()?;
    let count = reader.u8()?;
    let member = |_| {
        let (id, votes) = (NodeId::new(reader.u64()?)?, reader.flag()?);
        Some(GroupMember { id, votes, addresses: reader.addresses()? })
    };
    let members = (0..count).map(member).collect::<Option<_>>()?;
    Some(Accepted { store, generation, restored, founder, threads, members })
}

/// Writes magic, versions and a sheet in one call.
fn send(own: Versions, sheet: &[u8], to: &mut impl Write) -> io::Result<()> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(own.lowest.to_le_bytes());
    bytes.extend(own.highest.to_le_bytes());
    put_sheet(&mut bytes, sheet);
    to.write_all(&bytes)?;
    to.flush()
}

/// The versions of both sides.
struct Opening {
    own: Versions,
    theirs: Versions,
    /// The highest that both sides speak. None if there is no common version.
    spoken: Option<u16>,
}

impl Opening {
    fn fault(&self, who: &str) -> String {
        let Opening { own, theirs, .. } = self;
        format!(
            "{who} speaks versions {} to {} of the protocol between nodes, and this one {} to {}: upgrade the older of \
             them to a release that has both",
            theirs.lowest, theirs.highest, own.lowest, own.highest
        )
    }
}

fn read_opening(own: Versions, from: &mut impl Read) -> Result<Opening, Unreadable> {
    let mut opening = [0; OPENING_LEN];
    from.read_exact(&mut opening)?;
    let Some((magic, versions)) = opening.split_first_chunk::<8>() else { unreachable!() };
    if *magic != MAGIC {
        let words = "the other side is no node of a group: its first bytes are not SCURNODE. Name \
                     the port for nodes (--replicate), not one for clients";
        return Err(Unreadable::Words(words.to_owned()));
    }
    let theirs = Versions {
        lowest: u16::from_le_bytes([versions[0], versions[1]]),
        highest: u16::from_le_bytes([versions[2], versions[3]]),
    };
    Ok(Opening { own, theirs, spoken: own.common(theirs) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn addresses(cores: &[u16]) -> Addresses {
        let peer = "[::1]:7000".parse().unwrap();
        Addresses { peer, ip: "10.0.0.9".parse().unwrap(), main: 6389, cores: cores.to_vec() }
    }

    fn greetings() -> Vec<Greeting> {
        let addresses = addresses(&[6390, 6391]);
        let join = |replaces, observes| {
            let addresses = addresses.clone();
            JoinRequest { node: node(5), replaces, addresses, observes }
        };
        let hello = Hello {
            store: 77,
            node: node(3),
            target: node(u64::MAX),
            threads: 2,
            addresses: addresses.clone(),
        };
        let passage = Greeting::Passage(hello.clone());
        let joins = [(None, false), (Some(9), false), (Some(9), true)];
        let joins = joins.map(|(replaces, observes)| Greeting::Join(join(replaces, observes)));
        let addresses = hello.addresses.clone();
        let succession = Greeting::Succession(Succession { lost: 77, store: 78, addresses });
        [Greeting::Hello(hello), passage, succession].into_iter().chain(joins).collect()
    }

    fn answers() -> Vec<Answer> {
        let member = |id, votes| GroupMember { id: node(id), votes, addresses: addresses(&[]) };
        let accepted = Accepted {
            store: 1,
            generation: 5,
            restored: 6,
            founder: node(3),
            threads: 4,
            members: vec![member(3, true), member(4, false)],
        };
        vec![
            Answer::Welcome { store: 1, node: node(2), threads: 3 },
            Answer::Refusal("because".to_owned()),
            Answer::Join(JoinAnswer::Accepted(Box::new(accepted))),
            Answer::Join(JoinAnswer::Elsewhere("10.0.0.1:7000".parse().unwrap())),
            Answer::Join(JoinAnswer::Later("no leader".to_owned())),
            Answer::Join(JoinAnswer::Refused("never".to_owned())),
        ]
    }

    /// Checks that each value can be read back, and that no cut or changed bytes are accepted.
    fn check<T: PartialEq + std::fmt::Debug>(
        all: Vec<T>,
        write: fn(&T, &mut Vec<u8>) -> io::Result<()>,
        read: fn(&mut &[u8]) -> Result<T, Unreadable>,
    ) {
        for one in all {
            let mut bytes = Vec::new();
            write(&one, &mut bytes).unwrap();
            assert_eq!(read(&mut &bytes[..]).unwrap(), one);
            for len in 0..bytes.len() {
                let outcome = read(&mut &bytes[..len]);
                assert!(matches!(outcome, Err(Unreadable::Io(_))), "{len}: {outcome:?}");
            }
            // The versions are not covered by the checksum.
            for at in (0..MAGIC.len()).chain(OPENING_LEN..bytes.len()) {
                let mut other = bytes.clone();
                other[at] ^= 0x41;
                assert!(read(&mut &other[..]).is_err(), "the byte at {at} of {one:?}");
            }
        }
    }

    #[test]
    fn beginnings_come_back_and_no_part_of_one_is_one() {
        check(
            greetings(),
            |one, to| one.write(Versions::ALL, to),
            |from| Greeting::read(Versions::ALL, from),
        );
        check(
            answers(),
            |one, to| one.write(Versions::ALL, to),
            |from| Answer::read(Versions::ALL, from).map(|(answer, _)| answer),
        );
    }

    #[test]
    fn fields_that_cannot_be_are_no_greeting() {
        for (at, value) in [(0, 9), (9, 0), (17, 0)] {
            let mut sheet = greetings()[0].sheet();
            // The kind is one byte, the id of a node eight.
            let len = if at == 0 { 1 } else { 8 };
            sheet[at..at + len].fill(value);
            let mut bytes = Vec::new();
            send(Versions::ALL, &sheet, &mut bytes).unwrap();
            let outcome = Greeting::read(Versions::ALL, &mut &bytes[..]);
            assert!(matches!(outcome, Err(Unreadable::Words(_))), "{at}: {outcome:?}");
        }
        let mut longer = greetings()[0].sheet();
        longer.push(0);
        let mut bytes = Vec::new();
        send(Versions::ALL, &longer, &mut bytes).unwrap();
        assert!(matches!(
            Greeting::read(Versions::ALL, &mut &bytes[..]),
            Err(Unreadable::Words(_))
        ));
    }

    /// Returns the bytes with other versions in their opening.
    fn in_versions(mut bytes: Vec<u8>, lowest: u16, highest: u16) -> Vec<u8> {
        bytes[8..10].copy_from_slice(&lowest.to_le_bytes());
        bytes[10..12].copy_from_slice(&highest.to_le_bytes());
        bytes
    }

    #[test]
    fn a_version_that_both_speak_is_taken_and_none_is_said_in_words() {
        let (mut hello, mut welcome, mut refusal) = (Vec::new(), Vec::new(), Vec::new());
        greetings()[0].write(Versions::ALL, &mut hello).unwrap();
        answers()[0].write(Versions::ALL, &mut welcome).unwrap();
        answers()[1].write(Versions::ALL, &mut refusal).unwrap();
        let newer = in_versions(hello.clone(), 6, 9);
        assert_eq!(Greeting::read(Versions::ALL, &mut &newer[..]).unwrap(), greetings()[0]);
        let words = "versions 7 to 9 of the protocol between nodes, and this one 6 to 6";
        match Greeting::read(Versions::ALL, &mut &in_versions(hello, 7, 9)[..]) {
            Err(Unreadable::Words(text)) => assert!(text.contains(words), "{text}"),
            other => panic!("{other:?}"),
        }
        match Answer::read(Versions::ALL, &mut &in_versions(welcome.clone(), 7, 9)[..]) {
            Err(Unreadable::Words(text)) => assert!(text.contains(words), "{text}"),
            other => panic!("{other:?}"),
        }
        let refusal = in_versions(refusal, 7, 9);
        assert_eq!(
            Answer::read(Versions::ALL, &mut &refusal[..]).unwrap().0,
            answers()[1],
            "in its own words"
        );
        for (highest, spoken) in [(6, 6), (9, 6)] {
            let welcome = in_versions(welcome.clone(), 1, highest);
            assert_eq!(
                Answer::read(Versions::ALL, &mut &welcome[..]).unwrap(),
                (answers()[0].clone(), spoken)
            );
        }
    }

    /// An older node cannot read the log, and a newer group may have what this one cannot read.
    #[test]
    fn nodes_without_a_common_version_refuse_each_other() {
        let newer = Versions { lowest: 7, highest: 8 };
        let (mut hello, mut welcome) = (Vec::new(), Vec::new());
        greetings()[0].write(newer, &mut hello).unwrap();
        assert_eq!(hello[8..12], [7, 0, 8, 0]);
        answers()[0].write(Versions::ALL, &mut welcome).unwrap();
        let words = "versions 1 to 6 of the protocol between nodes, and this one 7 to 8";
        for is_greeting in [true, false] {
            let older = in_versions(if is_greeting { &hello } else { &welcome }.clone(), 1, 6);
            let said = match is_greeting {
                true => Greeting::read(newer, &mut &older[..]).map(drop),
                false => Answer::read(newer, &mut &older[..]).map(drop),
            };
            match said {
                Err(Unreadable::Words(text)) => assert!(text.contains(words), "{text}"),
                other => panic!("{other:?}"),
            }
        }
        let later = in_versions(welcome, 1, 7);
        assert_eq!(Answer::read(newer, &mut &later[..]).unwrap(), (answers()[0].clone(), 7));
    }
}
