//! A program at a terminal of its own, typed at and read as a person would.

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// No piece of what is waited for takes longer, on a machine that stands still for a while.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// Text that was shown and not yet waited for, without the codes of the terminal.
    seen: String,
    pending: Vec<u8>,
}

impl Terminal {
    /// Starts the program at a terminal of this size.
    pub(crate) fn start(command: &mut Command, columns: u16, rows: u16) -> Terminal {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(Some(&size), None).expect("a terminal");
        let slave = || ends.slave.try_clone().expect("its other end");
        command.stdin(slave()).stdout(slave()).stderr(slave());
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        let child = command.spawn().expect("it starts");
        // Its end of the terminal is closed when the program ends, and only then.
        drop(ends.slave);
        // The command holds the ends that it has given out.
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let keyboard = File::from(ends.master);
        let mut screen = keyboard.try_clone().expect("a second one");
        let (shown, receiver) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // An error is the end, on a terminal.
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

    /// Types what need not be text.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.keyboard.write_all(bytes).expect("it is there");
    }

    /// Sends it what a terminal sends on Ctrl-C while it is no key.
    pub(crate) fn interrupt(&self) {
        let id = i32::try_from(self.child.id()).expect("an id");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("it is there");
    }

    /// Waits until this is shown; what comes behind it is kept for the next time.
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

    /// Waits for its end; what it has still shown.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        while let Ok(bytes) = self.screen.recv_timeout(PATIENCE) {
            self.take(&bytes);
        }
        (self.child.wait().expect("it ends"), std::mem::take(&mut self.seen))
    }

    fn take(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        // A code or a letter may still lack its end.
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        let Some(plain) = without_codes(&text) else { return };
        self.seen += &plain;
        self.pending.clear();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text without what begins with ESC; none while such a code is not complete.
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
