//! `MANIFEST`: what a store must know before it opens its first log, above all over how many logs its keys are divided.
//! A few lines of readable text, the last of which is a checksum:
//!
//! ```text
//! scurry store format 3
//! store 00c0ffee00c0ffee
//! generation 1
//! threads 4
//! crc32c 89abcdef
//! ```
//!
//! After the threads comes a line `restored 4711`, unless the number is 0.
//!
//! Every future format keeps the first line and the last, so that an old version can tell a newer store from a damaged
//! one.

use crate::sealed::{Unreadable, body_of, sealed};
use scurry_codec::ByteCount;
use scurry_engine::LogId;
use std::fmt::Write;

/// The format that is read, and no other.
pub const FORMAT: u32 = 3;
/// The generation of a store whose number of threads was never changed: its logs begin with an empty store. Each
/// later generation begins with snapshots.
const GENERATION_FIRST: u32 = 1;
/// Longest valid file; no format needs more.
pub(crate) const LEN_MAX: ByteCount = ByteCount(4_096);

const TITLE: &str = "scurry store format ";

/// The manifest of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// A random number that identifies the copies of one store.
    pub store: u64,
    /// Number of the subdirectory `g<generation>` that is in use.
    pub generation: u32,
    /// Number of threads, and so of logs, of that generation.
    pub threads: u16,
    /// Number that positions of events add to the generation. Each restore raises it, because the same sequences are
    /// then used again for other changes.
    pub restored: u32,
}

impl Manifest {
    /// Returns the manifest of a new store.
    pub fn new(store: u64, threads: u16) -> Manifest {
        assert!(threads > 0, "a store has no thread");
        Manifest { store, generation: GENERATION_FIRST, threads, restored: 0 }
    }

    /// Returns the generation number that positions of events begin with.
    pub fn generation_of_events(&self) -> u32 {
        self.generation.saturating_add(self.restored)
    }

    /// Returns the id of a core's log, unique among all logs.
    pub fn log(&self, core: u16) -> LogId {
        // The id would be that of a log which no core owns, or of another generation's.
        assert!(core < self.threads, "core {core} of a store of {} threads", self.threads);
        let place = u64::from(self.generation) << 16 | u64::from(core);
        LogId { id: self.store ^ place, core: u32::from(core) }
    }

    /// Reports whether every core began with a snapshot, of the data from before the number of threads changed.
    pub fn begins_with_snapshot(&self) -> bool {
        self.generation > GENERATION_FIRST
    }

    /// Returns the text of the whole file.
    pub(crate) fn to_text(self) -> String {
        let Manifest { store, generation, threads, restored } = self;
        let mut text = format!(
            "{TITLE}{FORMAT}\nstore {store:016x}\ngeneration {generation}\nthreads {threads}\n"
        );
        if restored > 0 {
            writeln!(text, "restored {restored}").expect("a string takes everything");
        }
        let text = sealed(text);
        assert!(ByteCount::of(text.as_bytes()) <= LEN_MAX, "a manifest is longer than is read");
        text
    }

    /// Parses exactly what `to_text` writes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Manifest, Unreadable> {
        let damaged = Unreadable::Damaged;
        let body = body_of(bytes)?;
        let mut lines = body.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let format = field(TITLE.trim_end()).and_then(|format| format.parse().ok());
        match format {
            Some(FORMAT) => {}
            Some(other) if other > 0 => return Err(Unreadable::Format(other)),
            _ => return Err(damaged("its first line is not that of a manifest")),
        }
        let mut read = || {
            Some(Manifest {
                store: u64::from_str_radix(field("store")?, 16).ok()?,
                generation: field("generation")?.parse().ok()?,
                threads: field("threads")?.parse().ok().filter(|threads| *threads > 0)?,
                // Any other line in its place is an error.
                restored: field("restored").map_or(Some(0), |number| number.parse().ok())?,
            })
        };
        read()
            .filter(|manifest| manifest.to_text().as_bytes() == bytes)
            .ok_or(damaged("a line is not as it is written"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: Manifest =
        Manifest { store: 0x00c0_ffee_00c0_ffee, generation: 1, threads: 4, restored: 0 };

    #[test]
    fn the_format_is_what_it_was() {
        let golden = "scurry store format 3\nstore 00c0ffee00c0ffee\n\
            generation 1\nthreads 4\ncrc32c 28b88175\n";
        assert_eq!(MANIFEST.to_text(), golden);
        assert_eq!(Manifest::from_bytes(golden.as_bytes()), Ok(MANIFEST));
    }

    #[test]
    fn the_format_of_a_restored_store_is_what_it_was() {
        let golden = "scurry store format 3\nstore 00c0ffee00c0ffee\n\
            generation 1\nthreads 4\nrestored 4711\n\
            crc32c 508f5668\n";
        let restored = Manifest { restored: 4_711, ..MANIFEST };
        assert_eq!(restored.to_text(), golden);
        assert_eq!(Manifest::from_bytes(golden.as_bytes()), Ok(restored));
        assert_eq!(restored.generation_of_events(), 4_712);
    }

    #[test]
    fn extremes_come_back() {
        for manifest in [
            Manifest { store: 0, generation: 0, threads: 1, restored: 1 },
            Manifest {
                store: u64::MAX,
                generation: u32::MAX,
                threads: u16::MAX,
                restored: u32::MAX,
            },
        ] {
            let text = manifest.to_text();
            assert!(ByteCount::of(text.as_bytes()) <= LEN_MAX);
            assert_eq!(Manifest::from_bytes(text.as_bytes()), Ok(manifest));
        }
    }

    #[test]
    fn a_file_that_ends_anywhere_is_damaged() {
        let text = MANIFEST.to_text();
        for len in 0..text.len() {
            let found = Manifest::from_bytes(&text.as_bytes()[..len]);
            assert!(matches!(found, Err(Unreadable::Damaged(_))), "at {len}: {found:?}");
        }
    }

    #[test]
    fn any_changed_byte_is_damage() {
        let text = MANIFEST.to_text();
        for at in 0..text.len() {
            for change in 1..=u8::MAX {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= change;
                let found = Manifest::from_bytes(&bytes);
                assert!(matches!(found, Err(Unreadable::Damaged(_))), "at {at}: {found:?}");
            }
        }
    }

    #[test]
    fn another_format_is_told_from_damage() {
        for format in [1, 2, 4] {
            let other = sealed(format!("scurry store format {format}\nsomething else\n"));
            assert_eq!(Manifest::from_bytes(other.as_bytes()), Err(Unreadable::Format(format)));
        }
        let older = sealed("scurry store format 0\nsomething else\n".to_owned());
        assert!(matches!(Manifest::from_bytes(older.as_bytes()), Err(Unreadable::Damaged(_))));
    }

    #[test]
    fn only_what_is_written_is_read() {
        let text = MANIFEST.to_text();
        let body = body_of(text.as_bytes()).expect("it is whole");
        assert_eq!(sealed(body.to_owned()), text);
        for (from, to) in [
            ("threads 4\n", ""),
            ("threads 4", "threads 0"),
            ("threads 4", "threads +4"),
            ("threads 4", "threads 4\nthreads 4"),
            ("generation 1", "generation 4294967296"),
            ("store 00c0", "store 00C0"),
            ("generation", "hash"),
            ("\n", "\r\n"),
        ] {
            let found = Manifest::from_bytes(sealed(body.replacen(from, to, 1)).as_bytes());
            assert!(matches!(found, Err(Unreadable::Damaged(_))), "{to:?}: {found:?}");
        }
    }
}
