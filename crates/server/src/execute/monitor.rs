//! MONITOR: shows the commands of every client as lines to the monitoring clients. Everything is bounded: long
//! arguments are cut, one turn writes a limited amount, and clients that read too slowly are closed.

use crate::mail::message::Lines;
use scurry_resp::Args;
use std::fmt::Write;
use std::net::SocketAddr;

/// Maximum length of one core's lines in one turn, bytes; commands beyond it are counted, and the count is shown.
const TURN_LEN_MAX: usize = 256 * 1024;
/// Maximum length of each argument, bytes.
const ARGUMENT_LEN_MAX: usize = 128;
/// Maximum number of arguments of each command.
const ARGUMENTS_MAX: usize = 32;

/// One core's lines of the present turn.
#[derive(Debug, Default)]
pub(crate) struct Monitor {
    text: String,
    left_out: u64,
}

impl Monitor {
    /// Adds a command.
    pub(crate) fn note(&mut self, time_us: i64, peer: SocketAddr, args: Args<'_>) {
        if self.text.len() >= TURN_LEN_MAX {
            self.left_out += 1;
            return;
        }
        // Writing to a string cannot fail.
        let _ = write!(self.text, "+{}.{:06} [0 {peer}]", time_us / 1_000_000, time_us % 1_000_000);
        for argument in args.iter_from(0).take(ARGUMENTS_MAX) {
            let shown = &argument[..argument.len().min(ARGUMENT_LEN_MAX)];
            self.text.push_str(" \"");
            for &byte in shown {
                match byte {
                    b'"' | b'\\' => self.text.extend(['\\', char::from(byte)]),
                    b' '..=b'~' => self.text.push(char::from(byte)),
                    b'\n' => self.text.push_str("\\n"),
                    b'\r' => self.text.push_str("\\r"),
                    b'\t' => self.text.push_str("\\t"),
                    7 => self.text.push_str("\\a"),
                    8 => self.text.push_str("\\b"),
                    _ => drop(write!(self.text, "\\x{byte:02x}")),
                }
            }
            self.text.push('"');
            if argument.len() > shown.len() {
                let _ = write!(self.text, "... ({} more bytes)", argument.len() - shown.len());
            }
        }
        if args.len() > ARGUMENTS_MAX {
            let _ = write!(self.text, " ... ({} more arguments)", args.len() - ARGUMENTS_MAX);
        }
        self.text.push_str("\r\n");
    }

    /// Takes the lines of this turn; None when there are none.
    pub(crate) fn take_lines(&mut self) -> Option<Lines> {
        if self.text.is_empty() {
            return None;
        }
        if self.left_out > 0 {
            let _ = write!(self.text, "+... {} commands are left out\r\n", self.left_out);
            self.left_out = 0;
        }
        let lines = Lines::from(self.text.as_bytes());
        self.text.clear();
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_resp::Requests;

    fn note(monitor: &mut Monitor, arguments: &[&[u8]]) {
        let mut requests = Requests::default();
        requests.push(arguments.iter().copied());
        monitor.note(1_700_000_000_000_042, ([127, 0, 0, 1], 9).into(), requests.get(0));
    }

    #[test]
    fn lines_are_those_of_redis_and_long_ones_are_cut() {
        let mut monitor = Monitor::default();
        note(&mut monitor, &[b"SET", b"k\"\\\r\n\0\xff", &[b'v'; 130]]);
        note(&mut monitor, &[&b"MGET"[..]; 40]);
        let lines = monitor.take_lines().expect("two lines");
        let text = std::str::from_utf8(&lines).expect("ASCII");
        let begin = "+1700000000.000042 [0 127.0.0.1:9]";
        let value = "v".repeat(128);
        let set = format!(r#"{begin} "SET" "k\"\\\r\n\x00\xff" "{value}"... (2 more bytes)"#);
        let mget = format!("{begin}{} ... (8 more arguments)", r#" "MGET""#.repeat(32));
        assert_eq!(text, format!("{set}\r\n{mget}\r\n"));
        assert!(monitor.take_lines().is_none());
    }

    #[test]
    fn what_one_turn_writes_has_an_end() {
        let mut monitor = Monitor::default();
        for _ in 0..100_000 {
            note(&mut monitor, &[b"PING"]);
        }
        let lines = monitor.take_lines().expect("lines");
        assert!(lines.len() < TURN_LEN_MAX + 200, "{}", lines.len());
        let text = std::str::from_utf8(&lines).expect("ASCII");
        let shown = text.lines().count() - 1;
        let last = format!("+... {} commands are left out", 100_000 - shown);
        assert_eq!(text.lines().last(), Some(last.as_str()));
    }
}
