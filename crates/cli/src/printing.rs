//! Output of commands. A closed pipe ends the program quietly and a full disk gives an error, where the macros of the
//! standard library panic at both. The macros here have the same names, so that no call uses the others by mistake.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::process::exit;

/// Exit code after a closed pipe: 128 plus the number of SIGPIPE.
const ENDED_BY_PIPE: i32 = 141;

macro_rules! print {
    ($($part:tt)*) => { $crate::printing::put(format_args!($($part)*)) };
}

macro_rules! println {
    () => { $crate::printing::put(format_args!("\n")) };
    ($($part:tt)*) => { $crate::printing::put(format_args!("{}\n", format_args!($($part)*))) };
}

/// Writes to stdout, or ends the program if that fails.
pub(crate) fn put(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    // Flushes, since text without a line break would stay in the buffer and its error be lost.
    let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        exit(ENDED_BY_PIPE);
    }
    // If stderr fails too, there is nowhere left to report it.
    let _ = writeln!(std::io::stderr(), "scurry: cannot write the output: {error}");
    exit(1);
}
