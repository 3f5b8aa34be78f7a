//! A key of the server, opened.

use super::context::OK;
use super::kind::Kind;
use super::name::Name;
use super::{Context, call};
use scurry_engine::WrongType;
use scurry_ledger::Time;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use valkey_module::raw;

/// The use of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    Read,
    Write,
}

/// An open key; closed when dropped. Where others are open at the same time, they are other keys.
pub(crate) struct OpenKey<'c> {
    /// Null for a key that is opened to be read and does not exist.
    raw: *mut raw::RedisModuleKey,
    context: &'c Context,
    name: Name<'c>,
}

impl<'c> OpenKey<'c> {
    pub(crate) fn new(context: &'c Context, name: Name<'c>, mode: Mode) -> OpenKey<'c> {
        let mode = match mode {
            Mode::Read => raw::REDISMODULE_READ,
            Mode::Write => raw::REDISMODULE_READ | raw::REDISMODULE_WRITE,
        };
        // SAFETY: both are valid; the handle is closed before they are gone.
        let raw = unsafe {
            call!(RedisModule_OpenKey(
                context.raw(),
                name.raw(),
                i32::try_from(mode).unwrap_or_default(),
            ))
        };
        OpenKey { raw: raw.cast(), context, name }
    }

    /// The value; none when the key does not exist. It may be changed if the key was opened to be
    /// written.
    pub(crate) fn value<K: Kind>(&mut self) -> Result<Option<Held<'_, K>>, WrongType> {
        if self.raw.is_null() {
            return Ok(None);
        }
        // SAFETY: the key is open. A value of our type was made by `set`, or by the callback that
        // loads, and is of the kind; the borrow ends before the key is closed or set anew.
        unsafe {
            if call!(RedisModule_ModuleTypeGetType(self.raw)) == K::cell().get() {
                let kept = call!(RedisModule_ModuleTypeGetValue(self.raw));
                let value = ManuallyDrop::new(K::from_raw(kept));
                return Ok(Some(Held { value, kept, key: self.raw, borrow: PhantomData }));
            }
            let is_empty = call!(RedisModule_KeyType(self.raw))
                == i32::try_from(raw::REDISMODULE_KEYTYPE_EMPTY).unwrap_or_default();
            if is_empty { Ok(None) } else { Err(WrongType) }
        }
    }

    /// Begins to load what it holds, where that is of the kind: what is done until it is looked at
    /// does not wait for memory.
    pub(crate) fn touch<K: Kind>(&self) {
        if self.raw.is_null() {
            return;
        }
        // SAFETY: the key is open. A value is looked at by nobody here.
        unsafe {
            if call!(RedisModule_ModuleTypeGetType(self.raw)) == K::cell().get() {
                ask_for(call!(RedisModule_ModuleTypeGetValue(self.raw)).cast());
            }
        }
    }

    /// Sets what it holds, in the place of what it held.
    pub(crate) fn set<K: Kind>(&mut self, value: K) {
        let value = value.into_raw();
        // SAFETY: the key is open for writing, and the server owns the value from now on.
        let status =
            unsafe { call!(RedisModule_ModuleTypeSetValue(self.raw, K::cell().get(), value)) };
        assert_eq!(status, OK, "a key that is open for writing takes a value");
    }

    /// The key ends. The callbacks of its type are called before this returns.
    pub(crate) fn delete(&mut self) {
        // SAFETY: the key is open for writing.
        unsafe {
            call!(RedisModule_DeleteKey(self.raw));
        }
    }

    /// When the server removes it.
    pub(crate) fn expires(&self) -> Option<Time> {
        if self.raw.is_null() {
            return None;
        }
        // SAFETY: the key is open.
        let at = unsafe { call!(RedisModule_GetAbsExpire(self.raw)) };
        (at >= 0).then_some(Time(at))
    }

    /// Says when the server removes it.
    pub(crate) fn set_expires(&mut self, at: Option<Time>) {
        let at = at.map_or(i64::from(raw::REDISMODULE_NO_EXPIRE), |at| at.0.max(0));
        // SAFETY: the key is open for writing and holds something.
        unsafe {
            call!(RedisModule_SetAbsExpire(self.raw, at));
        }
    }

    pub(crate) fn name(&self) -> Name<'c> {
        self.name
    }

    pub(crate) fn context(&self) -> &'c Context {
        self.context
    }
}

/// Asks for the cache lines that begin at an address and are most of what an account takes. They need
/// not be there.
fn ask_for(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..4 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction, and it accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.wrapping_add(64 * line)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The value of an open key. When it has moved, the server is told at the end.
pub(crate) struct Held<'k, K: Kind> {
    value: ManuallyDrop<K>,
    /// The pointer that the server keeps.
    kept: *mut c_void,
    key: *mut raw::RedisModuleKey,
    borrow: PhantomData<&'k mut ()>,
}

impl<K: Kind> Deref for Held<'_, K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.value
    }
}

impl<K: Kind> DerefMut for Held<'_, K> {
    fn deref_mut(&mut self) -> &mut K {
        &mut self.value
    }
}

impl<K: Kind> Drop for Held<'_, K> {
    fn drop(&mut self) {
        // SAFETY: it is not used any more.
        let value = unsafe { ManuallyDrop::take(&mut self.value) }.into_raw();
        if value != self.kept {
            // SAFETY: the key is open for writing, or nothing could have moved; what was kept is
            // freed already, and the server owns what there is instead.
            let status = unsafe {
                let (kind, before) = (K::cell().get(), std::ptr::null_mut());
                call!(RedisModule_ModuleTypeReplaceValue(self.key, kind, value, before))
            };
            assert_eq!(status, OK, "a key that is open for writing takes a value");
        }
    }
}

impl Drop for OpenKey<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: it is open, and closed once.
            unsafe { call!(RedisModule_CloseKey(self.raw)) }
        }
    }
}
