//! An entity as the value of a key: its version, and its value unless it is deleted. When it
//! expires, and how long a deletion is remembered, is the server's expiry of the key.

use crate::server::{self, Kind, Rewrite, TypeCell};
use scurry_engine::Version;
use std::ffi::{CStr, c_void};
use std::fmt::{self, Display};
use std::sync::atomic::{AtomicU64, Ordering};

/// The command that replicas and files get.
pub(crate) const APPLY: &CStr = c"ENTITY.APPLY";

/// The value of a key that holds an entity, or remembers one.
pub(crate) struct EntityValue {
    /// The version of its last write.
    pub(crate) version: Version,
    /// None of a deleted one.
    pub(crate) value: Option<Box<[u8]>>,
}

static TYPE: TypeCell = TypeCell::new();

/// The greatest version that this node has given or seen.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The greatest version that this node has given or seen.
pub(crate) fn last_version() -> Version {
    Version::new(LAST.load(Ordering::Relaxed)).unwrap_or(Version::LAST)
}

/// Notes a version.
pub(crate) fn saw(version: Version) {
    LAST.fetch_max(version.get(), Ordering::Relaxed);
}

/// In dumps and files, behind the version.
const LIVES: u8 = 1;
const DELETED: u8 = 0;
const VERSION_LEN: usize = 8;

/// Bytes that no Scurry has written.
#[derive(Debug)]
pub(crate) struct EntityFault;

impl Display for EntityFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no entity: dump it again, or load another file")
    }
}

impl Kind for Box<EntityValue> {
    const NAME: &'static CStr = c"scurryent";
    const ENCODING: i32 = 1;

    fn cell() -> &'static TypeCell {
        &TYPE
    }

    fn into_raw(self) -> *mut c_void {
        Box::into_raw(self).cast()
    }

    // SAFETY: see the trait.
    unsafe fn from_raw(raw: *mut c_void) -> Box<EntityValue> {
        // SAFETY: as the caller promises.
        unsafe { Box::from_raw(raw.cast()) }
    }

    fn load(bytes: &[u8], _: i32) -> Result<Box<EntityValue>, impl Display> {
        let (version, rest) = bytes.split_first_chunk::<VERSION_LEN>().ok_or(EntityFault)?;
        let version = Version::new(u64::from_le_bytes(*version)).ok_or(EntityFault)?;
        let value = match rest {
            [LIVES, value @ ..] => Some(value.into()),
            [DELETED] => None,
            _ => return Err(EntityFault),
        };
        Ok(Box::new(EntityValue { version, value }))
    }

    fn loaded(&mut self, _: &server::Context, _: i32, _: &[u8]) {
        saw(self.version);
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version.get().to_le_bytes());
        out.push(if self.value.is_some() { LIVES } else { DELETED });
        out.extend_from_slice(self.value.as_deref().unwrap_or_default());
    }

    /// The server writes the key's expiry behind it.
    fn rewrite(&self, rewrite: &Rewrite<'_>) {
        let version = self.version.to_string();
        match &self.value {
            Some(value) => rewrite.emit_three(APPLY, [version.as_bytes(), b"-1", value]),
            None => rewrite.emit(APPLY, version.as_bytes(), b"-1"),
        }
    }

    fn memory_bytes(&self) -> usize {
        size_of::<EntityValue>() + self.value.as_ref().map_or(0, |value| value.len())
    }

    fn digest(&self, out: &mut Vec<u8>) {
        self.save(out);
    }

    fn unlinked(&self, _: i32, _: &[u8]) {}

    fn freed(self) {}
}
