//! Strings of the server: arguments of a command, names of keys.

use super::call;
use std::ffi::c_int;
use std::marker::PhantomData;
use valkey_module::raw;

/// A string of the server, valid as long as the server keeps it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Name<'a> {
    raw: *mut raw::RedisModuleString,
    kept: PhantomData<&'a ()>,
}

impl<'a> Name<'a> {
    /// # Safety
    /// The string lives as long as `'a`, and nothing changes it meanwhile.
    // SAFETY: see above.
    pub(crate) unsafe fn new(raw: *mut raw::RedisModuleString) -> Name<'a> {
        Name { raw, kept: PhantomData }
    }

    pub(crate) fn raw(self) -> *mut raw::RedisModuleString {
        self.raw
    }

    /// Returns the bytes.
    pub(crate) fn bytes(self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string is alive, and its bytes do not move while it is.
        unsafe {
            let bytes = call!(RedisModule_StringPtrLen(self.raw, &mut len));
            if len == 0 { &[] } else { std::slice::from_raw_parts(bytes.cast(), len) }
        }
    }
}

/// Returns the arguments of a command, including its name.
///
/// # Safety
/// The array and its strings live as long as `'a`.
// SAFETY: see above.
pub(crate) unsafe fn arguments<'a>(
    first: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> &'a [Name<'a>] {
    let count = usize::try_from(count).unwrap_or_default();
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller guarantees the array; a `Name` has the layout of its pointer.
    unsafe { std::slice::from_raw_parts(first.cast::<Name<'a>>(), count) }
}

/// A string created by this module, freed when dropped.
pub(crate) struct OwnedName(*mut raw::RedisModuleString);

/// Null context: the string is not tied to a callback.
const NO_CONTEXT: *mut raw::RedisModuleCtx = std::ptr::null_mut();

impl OwnedName {
    pub(crate) fn new(bytes: &[u8]) -> OwnedName {
        let (first, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the bytes are copied, and a null context is allowed.
        OwnedName(unsafe { call!(RedisModule_CreateString(NO_CONTEXT, first, len)) })
    }

    pub(crate) fn name(&self) -> Name<'_> {
        // SAFETY: the string lives until it is dropped.
        unsafe { Name::new(self.0) }
    }
}

impl Drop for OwnedName {
    fn drop(&mut self) {
        // SAFETY: created in `new` with the same null context, and freed once.
        unsafe { call!(RedisModule_FreeString(NO_CONTEXT, self.0)) }
    }
}
