//! A connection that returns replies as their bytes.

use std::io::{self, BufRead, BufReader, Read, Write};

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

pub(crate) struct Peer {
    reader: BufReader<Box<dyn Stream>>,
}

impl Peer {
    pub(crate) fn new(stream: impl Read + Write + 'static) -> Peer {
        Peer { reader: BufReader::with_capacity(64 * 1024, Box::new(stream)) }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).expect("the server takes it");
    }

    /// Reads the next reply, in either protocol.
    pub(crate) fn reply(&mut self) -> io::Result<Vec<u8>> {
        let mut reply = Vec::new();
        self.frame(&mut reply)?;
        Ok(reply)
    }

    fn frame(&mut self, reply: &mut Vec<u8>) -> io::Result<()> {
        let begin = reply.len();
        self.reader.read_until(b'\n', reply)?;
        let line = String::from_utf8_lossy(&reply[begin..]).into_owned();
        let Some(kind) = line.chars().next() else {
            panic!("the connection was closed after {}", reply.escape_ascii());
        };
        let len = || line[1..].trim_end().parse::<i64>().expect("a length");
        match kind {
            '$' | '=' | '!' => {
                // A bulk string is followed by a line break; nil is not.
                let len = u64::try_from(len() + 2).expect("a length");
                let rest = if len == 1 { 0 } else { len };
                self.reader.by_ref().take(rest).read_to_end(reply)?;
            }
            '*' | '~' | '>' => (0..len()).try_for_each(|_| self.frame(reply))?,
            '%' => (0..2 * len()).try_for_each(|_| self.frame(reply))?,
            '+' | '-' | ':' | '_' | '#' | ',' | '(' => {}
            _ => panic!("not a reply: {line:?}"),
        }
        Ok(())
    }
}
