//! A connection to one node, with a timeout for each reply.

use redis::{Cmd, Parser, RedisError, RedisResult, Value};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A stream whose reads continue after the process was stopped and resumed (Ctrl-Z and `fg`, a frozen container). The
/// kernel then fails reads of a socket with a timeout with EINTR (signal(7)), which the `redis` crate's parser treats
/// as a failure.
#[derive(Debug)]
pub struct RetryInterrupted<S, F = fn() -> bool> {
    stream: S,
    is_over: F,
}

impl<S> RetryInterrupted<S> {
    /// Creates a stream whose reads always continue after an interruption.
    pub fn new(stream: S) -> RetryInterrupted<S> {
        RetryInterrupted { stream, is_over: || false }
    }
}

impl<S, F: Fn() -> bool> RetryInterrupted<S, F> {
    /// Creates a stream whose interrupted reads end when `is_over` returns true: a signal may have asked the process to
    /// end.
    pub fn until(stream: S, is_over: F) -> RetryInterrupted<S, F> {
        RetryInterrupted { stream, is_over }
    }
}

impl<S: Read, F: Fn() -> bool> Read for RetryInterrupted<S, F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted && !(self.is_over)() => {}
                outcome => return outcome,
            }
        }
    }
}

/// A connection. It is closed after an error, because later replies could not be matched to requests.
pub(crate) struct Line {
    stream: TcpStream,
    patience: Duration,
    parser: Parser,
}

impl Line {
    /// Connects to the first of the host's addresses that accepts.
    pub(crate) fn connect(
        host: &str,
        port: u16,
        within: Duration,
        patience: Duration,
    ) -> RedisResult<Line> {
        let mut refusal = io::Error::new(ErrorKind::NotFound, "the host has no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, within) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(patience))?;
                    stream.set_write_timeout(Some(patience))?;
                    stream.set_nodelay(true)?;
                    return Ok(Line { stream, patience, parser: Parser::new() });
                }
                Err(error) => refusal = error,
            }
        }
        Err(refusal.into())
    }

    /// Sends one command and returns its reply; an error reply is returned as a value.
    pub(crate) fn ask(&mut self, command: &Cmd) -> RedisResult<Value> {
        let mut replies = self.ask_many(&command.get_packed_command(), 1)?;
        Ok(replies.pop().unwrap_or(Value::Nil))
    }

    /// Sends packed commands as a pipeline and reads `count` replies.
    pub(crate) fn ask_many(&mut self, packed: &[u8], count: usize) -> RedisResult<Vec<Value>> {
        let sent = self.stream.write_all(packed).map_err(RedisError::from);
        let replies = sent.and_then(|()| {
            (0..count)
                .map(|_| self.parser.parse_value(RetryInterrupted::new(&self.stream)))
                .collect()
        });
        replies.map_err(|error| {
            // Shutting down may fail when the other side has closed the connection.
            let _ = self.stream.shutdown(Shutdown::Both);
            if !error.is_timeout() {
                return error;
            }
            let said = format!("no reply within {:?}", self.patience);
            io::Error::new(ErrorKind::TimedOut, said).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails with EINTR before each byte.
    struct Interrupted<'b>(&'b [u8], bool);

    impl Read for Interrupted<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let most = bytes.len().min(1);
            self.0.read(&mut bytes[..most])
        }
    }

    #[test]
    fn a_reply_is_whole_however_often_its_reads_are_interrupted() {
        let bytes = b"*2\r\n+OK\r\n$3\r\nabc\r\n";
        let mut parser = Parser::new();
        let broken = parser.parse_value(Interrupted(bytes, false));
        assert!(broken.is_err(), "the kept parser goes on by itself: this module is not needed");
        let mut parser = Parser::new();
        let whole = parser.parse_value(RetryInterrupted::new(Interrupted(bytes, false))).unwrap();
        assert_eq!(whole, Value::Array(vec![Value::Okay, Value::BulkString(b"abc".to_vec())]));
        let over =
            Parser::new().parse_value(RetryInterrupted::until(Interrupted(bytes, false), || true));
        assert!(over.is_err(), "a signal ends it");
    }
}
