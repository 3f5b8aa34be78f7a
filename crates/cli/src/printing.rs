//! Output of commands. A reader that has seen enough ends the program quietly, and a disk that is full is
//! told: the macros of the standard library panic at both. They have its names, so that nobody forgets.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::process::exit;

/// Exit code of a program that a closed pipe has ended: 128 and the number of its signal.
const ENDED_BY_PIPE: i32 = 141;

macro_rules! print {
    ($($part:tt)*) => { $crate::printing::put(format_args!($($part)*)) };
}

macro_rules! println {
    () => { $crate::printing::put(format_args!("\n")) };
    ($($part:tt)*) => { $crate::printing::put(format_args!("{}\n", format_args!($($part)*))) };
}

/// Writes to stdout, or ends the program.
pub(crate) fn put(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    // What has no end of a line would else stay here, and its error be lost.
    let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        exit(ENDED_BY_PIPE);
    }
    // Nobody is left to tell where this does not work either.
    let _ = writeln!(std::io::stderr(), "scurry: cannot write the output: {error}");
    exit(1);
}
