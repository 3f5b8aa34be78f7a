//! An entity as the value of a key: its version, and its value unless it is deleted. The server's expiry of the key is
//! when the entity expires, or until when its deletion is remembered.

use crate::server::{self, Rewrite, TypeCell, ValueKind};
use scurry_engine::Version;
use std::ffi::{CStr, c_void};
use std::fmt::{self, Display};
use std::sync::atomic::{AtomicU64, Ordering};

/// Command that replicas and files receive.
pub(crate) const APPLY: &CStr = c"ENTITY.APPLY";

/// Value of a key that holds an entity or its deletion.
pub(crate) struct EntityValue {
    /// Version of the last write.
    pub(crate) version: Version,
    /// None if deleted.
    pub(crate) value: Option<Box<[u8]>>,
}

static TYPE: TypeCell = TypeCell::new();

/// Greatest version that this node has assigned or seen.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Returns the greatest version that this node has assigned or seen.
pub(crate) fn last_version() -> Version {
    Version::new(LAST.load(Ordering::Relaxed)).unwrap_or(Version::LAST)
}

/// Notes a version that was seen.
pub(crate) fn observe_version(version: Version) {
    LAST.fetch_max(version.get(), Ordering::Relaxed);
}

/// Byte after the version in dumps and files.
const LIVES: u8 = 1;
const DELETED: u8 = 0;
const VERSION_LEN: usize = 8;

/// Reason why bytes are refused: Scurry has not written them.
#[derive(Debug)]
pub(crate) struct EntityFault;

impl Display for EntityFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no entity: dump it again, or load another file")
    }
}

impl ValueKind for Box<EntityValue> {
    const NAME: &'static CStr = c"scurryent";
    const ENCODING: i32 = 1;

    fn cell() -> &'static TypeCell {
        &TYPE
    }

    fn into_raw(self) -> *mut c_void {
        Box::into_raw(self).cast()
    }

    // SAFETY: the contract is that of the trait.
    unsafe fn from_raw(raw: *mut c_void) -> Box<EntityValue> {
        // SAFETY: the caller keeps the contract of the trait.
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
        observe_version(self.version);
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version.get().to_le_bytes());
        out.push(if self.value.is_some() { LIVES } else { DELETED });
        out.extend_from_slice(self.value.as_deref().unwrap_or_default());
    }

    /// The server itself writes the key's expiry after this command.
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
