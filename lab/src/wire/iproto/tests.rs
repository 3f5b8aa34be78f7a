//! The packets of Tarantool's protocol, from its documentation.

use super::*;
use crate::resp::encode;

fn request(words: &[&str], session: u32) -> Vec<u8> {
    let mut out = Vec::new();
    Iproto::default().request(session, &encode(words), &mut out);
    out
}

/// Builds a reply to the request of session 7.
fn reply(request: RequestKind, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x82, 0x00, 0x00, 0x01];
    let sync = (request as u64) << 32 | 7;
    write_u64(&mut packet, sync).unwrap();
    packet.extend_from_slice(body);
    let length = u32::try_from(packet.len()).unwrap();
    [&[MARKER_U32][..], &length.to_be_bytes(), &packet].concat()
}

fn read(protocol: &mut Iproto, bytes: &[u8], reply: &mut Vec<u8>) -> Result<(usize, Step), Stop> {
    protocol.reply(bytes, &mut Sink { reply, again: &mut Vec::new() })
}

fn translated(packet: &[u8]) -> String {
    let mut protocol = Iproto { is_greeted: true };
    let mut text = Vec::new();
    assert_eq!(read(&mut protocol, packet, &mut text), Ok((packet.len(), Step::Answer(7))));
    text.escape_ascii().to_string().replace("\\r\\n", "|")
}

#[test]
fn a_call_carries_numbers_as_numbers() {
    let packet = request(&["FCALL", "scur_get", "1", "acc:1", "10", "07", "x"], 9);
    let expected = [
        &[0xCE, 0, 0, 0, 38][..],
        &[0x82, 0x00, 0x0A, 0x01, 0xCF, 0, 0, 0, 10, 0, 0, 0, 9],
        &[0x82, 0x22, 0xA8],
        b"scur_get",
        &[0x21, 0x94, 0xA5],
        b"acc:1",
        &[10, 0xA2, b'0', b'7', 0xA1, b'x'],
    ]
    .concat();
    assert_eq!(packet.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

#[test]
fn plain_keys_need_no_procedure() {
    for (words, kind) in [
        (&["SET", "k", "123"][..], RequestKind::Replace),
        (&["GET", "k"], RequestKind::Select),
        (&["DEL", "k"], RequestKind::Delete),
        (&["PING"], RequestKind::Ping),
    ] {
        let packet = request(words, 1);
        assert_eq!(packet[5..8], [0x82, 0x00, kind as u8]);
        assert_eq!(usize::from(packet[4]) + PREFIX_LEN, packet.len());
    }
    assert!(request(&["SET", "k", "123"], 1).ends_with(b"\xA1k\xA3123"), "a value stays text");
}

#[test]
fn replies_are_those_of_the_commands() {
    let data = |body: &[u8]| [&[0x81, 0x30][..], body].concat();
    for (kind, body, expected) in [
        (RequestKind::Ping, vec![0x80], "+PONG|"),
        (RequestKind::Replace, data(b"\x91\x92\xA1k\xA1v"), "+OK|"),
        (RequestKind::Select, data(b"\x91\x92\xA1k\xA1v"), "$1|v|"),
        (RequestKind::Select, data(b"\x90"), "$-1|"),
        (RequestKind::Delete, data(b"\x91\x92\xA1k\xA1v"), ":1|"),
        (RequestKind::Delete, data(b"\x90"), ":0|"),
        (RequestKind::Call, data(b"\x91\x93\xA2OK\xCD\x03\xE8\x90"), "*3|$2|OK|:1000|*0|"),
        (RequestKind::Call, data(b"\x91\x92\xC2\xFF"), "*2|$-1|:-1|"),
        (RequestKind::Call, data(b"\x91\x81\xA3err\xA6BUSY 5"), "-BUSY 5|"),
        (RequestKind::Call, data(b"\x91\x81\xA1a\x05"), "*2|$1|a|:5|"),
        (RequestKind::Call, vec![0x81, 0x31, 0xA3, b'n', b'\n', b'o'], "-ERR n o|"),
    ] {
        assert_eq!(translated(&reply(kind, &body)), expected, "{kind:?} {body:?}");
    }
}

#[test]
fn a_reply_is_found_however_the_bytes_are_split() {
    let packet = [vec![b'T'; GREETING_LEN], reply(RequestKind::Delete, b"\x81\x30\x90")].concat();
    for split in 0..packet.len() {
        let mut protocol = Iproto::default();
        let mut at = 0;
        let mut text = Vec::new();
        while let Ok((length, step)) = read(&mut protocol, &packet[at..split], &mut text) {
            assert_eq!((length, step), (GREETING_LEN, Step::Nothing));
            at += length;
        }
        assert_eq!((at > 0, text.as_slice()), (split >= GREETING_LEN, &b""[..]));
        let rest = read(&mut protocol, &packet[at..], &mut text);
        let rest =
            if at == 0 { read(&mut protocol, &packet[GREETING_LEN..], &mut text) } else { rest };
        assert_eq!(rest.map(|(_, step)| step), Ok(Step::Answer(7)));
    }
}

#[test]
fn what_ends_within_a_packet_is_malformed() {
    let mut protocol = Iproto { is_greeted: true };
    for body in [&b"\x81\x30\x91\x92\xA5abc"[..], b"\x81\x30", b"\x81\x30\x91\xDD\xFF\xFF\xFF\xFF"]
    {
        let packet = reply(RequestKind::Call, body);
        assert_eq!(read(&mut protocol, &packet, &mut Vec::new()), Err(Stop::Malformed));
    }
    assert_eq!(read(&mut protocol, b"HTTP/1.1 400", &mut Vec::new()), Err(Stop::Malformed));
}
