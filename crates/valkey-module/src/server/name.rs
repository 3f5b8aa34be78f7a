//! Strings of the server: the arguments of a command, the names of keys.

use super::call;
use std::ffi::c_int;
use std::marker::PhantomData;
use valkey_module::raw;

/// A string of the server, for as long as the server has promised to keep it.
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

    /// The bytes.
    pub(crate) fn bytes(self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string is alive, and its bytes stay where they are as long as it is.
        unsafe {
            let bytes = call!(RedisModule_StringPtrLen(self.raw, &mut len));
            if len == 0 { &[] } else { std::slice::from_raw_parts(bytes.cast(), len) }
        }
    }
}

/// The arguments of a command, its name included.
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
    // SAFETY: the caller promises the array; a name has the layout of its pointer.
    unsafe { std::slice::from_raw_parts(first.cast::<Name<'a>>(), count) }
}

/// A string of our own, given back when dropped.
pub(crate) struct OwnedName(*mut raw::RedisModuleString);

/// A string that no callback's context keeps.
const NO_CONTEXT: *mut raw::RedisModuleCtx = std::ptr::null_mut();

impl OwnedName {
    pub(crate) fn new(bytes: &[u8]) -> OwnedName {
        let (first, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the bytes are copied; there may be no context.
        OwnedName(unsafe { call!(RedisModule_CreateString(NO_CONTEXT, first, len)) })
    }

    pub(crate) fn name(&self) -> Name<'_> {
        // SAFETY: it lives until it is dropped.
        unsafe { Name::new(self.0) }
    }
}

impl Drop for OwnedName {
    fn drop(&mut self) {
        // SAFETY: made in `new`, without a context as here, and given back once.
        unsafe { call!(RedisModule_FreeString(NO_CONTEXT, self.0)) }
    }
}
