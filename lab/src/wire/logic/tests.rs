//! A store of one value, and two clients that decide over it.

use super::*;
use crate::resp::{encode, words};

/// Server that supports GET and `swap`.
#[derive(Default)]
struct Server {
    value: Option<Vec<u8>>,
    swaps: u32,
}

impl Server {
    fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let words: Vec<&[u8]> = words(request).collect();
        match (words[0], &self.value) {
            (b"GET", None) => b"$-1\r\n".to_vec(),
            (b"GET", Some(value)) => {
                let head = format!("${}\r\n", value.len()).into_bytes();
                [&head[..], value, b"\r\n"].concat()
            }
            (b"FCALL", held) => {
                assert_eq!(words[1..4], [&b"swap"[..], b"1", b"a"]);
                let version = held.as_deref().map_or(&[][..], |value| &value[..VERSION_LEN]);
                if version != words[4] {
                    return b":0\r\n".to_vec();
                }
                self.value = Some(words[5].to_vec());
                self.swaps += 1;
                b":1\r\n".to_vec()
            }
            _ => b"+PONG\r\n".to_vec(),
        }
    }
}

/// Runs one exchange: returns the client's reaction to this reply of the server.
fn step(logic: &mut CasTranslator, bytes: &[u8]) -> (Step, String, Vec<u8>) {
    let (mut reply, mut again) = (Vec::new(), Vec::new());
    let mut sink = Sink { reply: &mut reply, again: &mut again };
    let (length, step) = logic.reply(bytes, &mut sink).unwrap();
    assert_eq!(length, bytes.len());
    (step, reply.escape_ascii().to_string().replace("\\r\\n", "|"), again)
}

fn ask(logic: &mut CasTranslator, line: &str) -> Vec<u8> {
    let mut out = Vec::new();
    logic.request(3, &encode(&line.split(' ').collect::<Vec<_>>()), &mut out);
    out
}

/// Runs all exchanges of a request and returns its answer.
fn whole(logic: &mut CasTranslator, server: &mut Server, line: &str) -> String {
    let mut out = ask(logic, line);
    loop {
        let (at, text, again) = step(logic, &server.answer(&out));
        match at {
            Step::Answer(session) => {
                assert_eq!(session, 3);
                return text;
            }
            _ => out = again,
        }
    }
}

const CREATE: &str = "SCUR.CREATE a BUCKET b u 100";
const RESERVE: &str = "SCUR.RESERVE a s1 0 ITEM 1 u REQUESTED 60";

#[test]
fn a_change_is_read_decided_and_swapped_and_a_read_is_not_written() {
    let (mut logic, mut server) = (CasTranslator::new(None), Server::default());
    assert_eq!(whole(&mut logic, &mut server, "PING"), "+PONG|");
    assert!(whole(&mut logic, &mut server, "SCUR.GET a").starts_with("-UNKNOWN_ACCOUNT"));
    assert_eq!(whole(&mut logic, &mut server, CREATE), "*2|+OK|:1|");
    assert_eq!(whole(&mut logic, &mut server, RESERVE), "*4|+OK|:0|:1|*1|*5|:1|+OK|:60|:0|:0|");
    assert_eq!(server.swaps, 2);
    // A replay, a refusal and a read change nothing.
    assert!(whole(&mut logic, &mut server, RESERVE).starts_with("*4|+OK|:1|"));
    let other = RESERVE.replace("60", "61");
    assert!(whole(&mut logic, &mut server, &other).starts_with("-REQUEST_MISMATCH"));
    assert!(whole(&mut logic, &mut server, "SCUR.SESSION a s1").contains("$7|session|"));
    assert_eq!(server.swaps, 2);
}

#[test]
fn who_comes_too_late_decides_again() {
    let (mut one, mut two, mut server) =
        (CasTranslator::new(None), CasTranslator::new(None), Server::default());
    whole(&mut one, &mut server, CREATE);
    let read = ask(&mut one, RESERVE);
    let (_, _, swap) = step(&mut one, &server.answer(&read));
    let between = RESERVE.replace("s1", "s2");
    assert!(whole(&mut two, &mut server, &between).contains("+OK|:60|:0|"));
    let (at, text, read) = step(&mut one, &server.answer(&swap));
    assert_eq!((at, text.as_str()), (Step::Again, ""));
    let (at, _, swap) = step(&mut one, &server.answer(&read));
    assert_eq!(at, Step::Again);
    // The other client holds 60 of the 100, which may come back.
    let (at, text, _) = step(&mut one, &server.answer(&swap));
    assert_eq!((at, text.as_str()), (Step::Answer(3), "*4|+OK|:0|:1|*1|*5|:1|+OK|:40|:2|:0|"));
    assert_eq!(server.swaps, 3);
}

#[test]
fn what_the_store_refuses_is_the_answer() {
    let mut logic = CasTranslator::new(None);
    ask(&mut logic, "SCUR.GET a");
    let (at, text, _) = step(&mut logic, b"-LOADING soon\r\n");
    assert_eq!((at, text.as_str()), (Step::Answer(3), "-ERR error LOADING soon|"));
    ask(&mut logic, CREATE);
    step(&mut logic, b"$-1\r\n");
    let (at, text, _) = step(&mut logic, b"-MISCONF no room\r\n");
    assert_eq!((at, text.as_str()), (Step::Answer(3), "-MISCONF no room|"));
}
