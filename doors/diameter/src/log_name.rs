//! The name of a peer as the log shows it.

use std::fmt;
use tracing::Level;

/// Bytes of a name that are shown. Names of hosts are shorter, as a rule.
const SHOWN_LEN_MAX: usize = 64;

/// The name of a peer, which is shortened unless the log has details (`--log debug`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogName<'a>(pub(crate) &'a str);

impl fmt::Display for LogName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, self.0, tracing::enabled!(Level::DEBUG))
    }
}

fn write_name(out: &mut impl fmt::Write, name: &str, is_whole: bool) -> fmt::Result {
    let len = name.floor_char_boundary(SHOWN_LEN_MAX);
    if is_whole || len == name.len() {
        out.write_str(name)
    } else {
        write!(out, "{}... ({} bytes)", &name[..len], name.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, is_whole: bool) -> String {
        let mut out = String::new();
        write_name(&mut out, name, is_whole).expect("a string takes everything");
        out
    }

    #[test]
    fn a_long_name_is_shortened_unless_details_are_wanted() {
        let (fits, long) = ("h".repeat(64), "h".repeat(65));
        assert_eq!(shown(&fits, false), fits);
        assert_eq!(shown(&long, false), format!("{fits}... (65 bytes)"));
        assert_eq!(shown(&long, true), long);
        let split = format!("{}é", "h".repeat(63));
        assert_eq!(shown(&split, false), format!("{}... (65 bytes)", "h".repeat(63)));
    }
}
