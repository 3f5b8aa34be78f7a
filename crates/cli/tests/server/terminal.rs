//! A program in a pseudo-terminal, which tests type into and read as a person would.

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Timeout of each wait, long enough for a stalled machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// Text shown and not waited for yet, without escape sequences.
    seen: String,
    pending: Vec<u8>,
}

impl Terminal {
    /// Starts the program in a terminal of this size.
    pub(crate) fn start(command: &mut Command, columns: u16, rows: u16) -> Terminal {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(Some(&size), None).expect("a terminal");
        let slave = || ends.slave.try_clone().expect("its other end");
        command.stdin(slave()).stdout(slave()).stderr(slave());
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        let child = command.spawn().expect("it starts");
        // The program's end of the terminal closes only when the program ends.
        drop(ends.slave);
        // The command still holds copies of these ends.
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let keyboard = File::from(ends.master);
        let mut screen = keyboard.try_clone().expect("a second one");
        let (shown, receiver) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // On a terminal an error means the end.
            while let Ok(len @ 1..) = screen.read(&mut buffer) {
                if shown.send(buffer[..len].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { child, keyboard, screen: receiver, seen: String::new(), pending: Vec::new() }
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.bytes(keys.as_bytes());
    }

    /// Types bytes, which need not be text.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.keyboard.write_all(bytes).expect("it is there");
    }

    /// Sends SIGINT, as a terminal does on Ctrl-C unless it is read as a key.
    pub(crate) fn interrupt(&self) {
        let id = i32::try_from(self.child.id()).expect("an id");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("it is there");
    }

    /// Waits until this text is shown, and keeps the text after it for the next wait.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("{text:?} does not come: {}", self.seen),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it has ended before {text:?}: {}", self.seen)
                }
            }
        }
    }

    /// Waits for the end. Returns the exit status and the remaining text.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        while let Ok(bytes) = self.screen.recv_timeout(PATIENCE) {
            self.take(&bytes);
        }
        (self.child.wait().expect("it ends"), std::mem::take(&mut self.seen))
    }

    fn take(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        // An escape sequence or a letter may still be incomplete.
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        let Some(plain) = without_codes(&text) else { return };
        self.seen += &plain;
        self.pending.clear();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the text without escape sequences. None while one is incomplete.
fn without_codes(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\x1b' {
            plain.push(letter);
            continue;
        }
        if letters.next()? != '[' {
            continue;
        }
        while !letters.next()?.is_ascii_alphabetic() {}
    }
    Some(plain)
}
