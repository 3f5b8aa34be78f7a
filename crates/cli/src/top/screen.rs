//! The terminal while figures are shown: reads single keys, and restores the terminal at the end.

use super::picture::Page;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wait for a key before the figures are checked again, ns.
const KEY_NS: i64 = 100_000_000;
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;

/// Escape sequences: alternate screen without a cursor, and back.
const BEGIN: &str = "\x1b[?1049h\x1b[?25l";
const END: &str = "\x1b[?25h\x1b[?1049l";

pub(super) struct Screen {
    before: Termios,
    is_told_to_end: Arc<AtomicBool>,
    has_colors: bool,
    drawn: String,
}

pub(super) enum Key {
    End,
    Other,
}

impl Screen {
    pub(super) fn open() -> Result<Screen> {
        let is_told_to_end = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&is_told_to_end))
                .context("cannot wait for signals")?;
        }
        let before = tcgetattr(io::stdin()).context("the terminal does not say how it is set")?;
        let has_colors = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let screen = Screen { before, is_told_to_end, has_colors, drawn: String::new() };
        let mut single = screen.before.clone();
        // Ctrl-C is read as a key too, so that there is only one way to end.
        single.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Flush, &single)
            .context("the terminal cannot be set")?;
        put(BEGIN)?;
        Ok(screen)
    }

    /// Draws the lines that fit. Does nothing if the text has not changed.
    pub(super) fn draw(&mut self, picture: &Page) -> Result<()> {
        let size = tcgetwinsize(io::stdout()).context("the terminal does not say its size")?;
        // A terminal that reports no size is taken to have 80 by 24.
        let or = |size: u16, usual: usize| if size == 0 { usual } else { usize::from(size) };
        let (columns, rows) = (or(size.ws_col, 80), or(size.ws_row, 24));
        let lines = picture.lines(columns, self.has_colors);
        let mut text = String::from("\x1b[H");
        let shown: Vec<&String> = lines.iter().take(rows).collect();
        for (number, line) in shown.iter().enumerate() {
            let end = if number + 1 == shown.len() { "" } else { "\r\n" };
            text += &format!("{line}\x1b[K{end}");
        }
        text += "\x1b[J";
        if text != self.drawn {
            put(&text)?;
            self.drawn = text;
        }
        Ok(())
    }

    /// Returns a pressed key, or None after a short wait.
    pub(super) fn key(&self) -> Result<Option<Key>> {
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        let moment = Timespec { tv_sec: 0, tv_nsec: KEY_NS };
        let count = match poll(&mut ready, Some(&moment)) {
            Err(Errno::INTR) => 0,
            other => other.context("waiting for a key")?,
        };
        if self.is_told_to_end.load(Ordering::Relaxed) {
            return Ok(Some(Key::End));
        }
        if count == 0 {
            return Ok(None);
        }
        let mut keys = [0; 16];
        let len = read(&stdin, &mut keys).context("reading a key")?;
        let ends = |key: &u8| [b'q', b'Q', CTRL_C, CTRL_D].contains(key);
        // Reading no bytes means that the terminal was closed.
        Ok(Some(if len == 0 || keys[..len].iter().any(ends) { Key::End } else { Key::Other }))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Errors are ignored: a closed terminal needs no restoring.
        let _ = put(END);
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

fn put(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to the terminal")
}
