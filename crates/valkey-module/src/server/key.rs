//! An open key of the server.

use super::context::OK;
use super::kind::ValueKind;
use super::name::Name;
use super::{Context, call};
use scurry_engine::WrongType;
use scurry_ledger::Time;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use valkey_module::raw;

/// Mode of opening a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    Read,
    Write,
}

/// An open key, closed when dropped. Keys open at the same time must be different keys.
pub(crate) struct OpenKey<'c> {
    /// Null for a key that is opened for reading and does not exist.
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
        // SAFETY: both are valid, and the handle is closed before they end.
        let raw = unsafe {
            call!(RedisModule_OpenKey(
                context.raw(),
                name.raw(),
                i32::try_from(mode).unwrap_or_default(),
            ))
        };
        OpenKey { raw: raw.cast(), context, name }
    }

    /// Returns the value. None if the key does not exist. It may only be changed if the key is open for writing.
    pub(crate) fn value<K: ValueKind>(&mut self) -> Result<Option<OpenKeyValue<'_, K>>, WrongType> {
        if self.raw.is_null() {
            return Ok(None);
        }
        // SAFETY: the key is open. A value of our type was made by `set` or by the load callback, so it is of this
        // kind. The borrow ends before the key is closed or set again.
        unsafe {
            if call!(RedisModule_ModuleTypeGetType(self.raw)) == K::cell().get() {
                let kept = call!(RedisModule_ModuleTypeGetValue(self.raw));
                let value = ManuallyDrop::new(K::from_raw(kept));
                return Ok(Some(OpenKeyValue { value, kept, key: self.raw, borrow: PhantomData }));
            }
            let is_empty = call!(RedisModule_KeyType(self.raw))
                == i32::try_from(raw::REDISMODULE_KEYTYPE_EMPTY).unwrap_or_default();
            if is_empty { Ok(None) } else { Err(WrongType) }
        }
    }

    /// Prefetches the value if it is of this kind, so that the memory arrives while other work is done.
    pub(crate) fn touch<K: ValueKind>(&self) {
        if self.raw.is_null() {
            return;
        }
        // SAFETY: the key is open. The value is not read here.
        unsafe {
            if call!(RedisModule_ModuleTypeGetType(self.raw)) == K::cell().get() {
                ask_for(call!(RedisModule_ModuleTypeGetValue(self.raw)).cast());
            }
        }
    }

    /// Sets the value, and replaces the one before.
    pub(crate) fn set<K: ValueKind>(&mut self, value: K) {
        let value = value.into_raw();
        // SAFETY: the key is open for writing, and the server owns the value from now on.
        let status =
            unsafe { call!(RedisModule_ModuleTypeSetValue(self.raw, K::cell().get(), value)) };
        assert_eq!(status, OK, "a key that is open for writing takes a value");
    }

    /// Deletes the key. The callbacks of its type run before this returns.
    pub(crate) fn delete(&mut self) {
        // SAFETY: the key is open for writing.
        unsafe {
            call!(RedisModule_DeleteKey(self.raw));
        }
    }

    /// Returns when the server removes the key. None for a key without expiry.
    pub(crate) fn expires(&self) -> Option<Time> {
        if self.raw.is_null() {
            return None;
        }
        // SAFETY: the key is open.
        let at = unsafe { call!(RedisModule_GetAbsExpire(self.raw)) };
        (at >= 0).then_some(Time(at))
    }

    /// Sets when the server removes the key.
    pub(crate) fn set_expires(&mut self, at: Option<Time>) {
        let at = at.map_or(i64::from(raw::REDISMODULE_NO_EXPIRE), |at| at.0.max(0));
        // SAFETY: the key is open for writing and has a value.
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

/// Prefetches the four cache lines from an address on, which cover most of an account. The address need not be mapped.
fn ask_for(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..4 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has this instruction, and it does not access memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.wrapping_add(64 * line)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Value of an open key. If a change has moved it, the drop tells the server its new pointer.
pub(crate) struct OpenKeyValue<'k, K: ValueKind> {
    value: ManuallyDrop<K>,
    /// Pointer that the server has.
    kept: *mut c_void,
    key: *mut raw::RedisModuleKey,
    borrow: PhantomData<&'k mut ()>,
}

impl<K: ValueKind> Deref for OpenKeyValue<'_, K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.value
    }
}

impl<K: ValueKind> DerefMut for OpenKeyValue<'_, K> {
    fn deref_mut(&mut self) -> &mut K {
        &mut self.value
    }
}

impl<K: ValueKind> Drop for OpenKeyValue<'_, K> {
    fn drop(&mut self) {
        // SAFETY: the value is not used again.
        let value = unsafe { ManuallyDrop::take(&mut self.value) }.into_raw();
        if value != self.kept {
            // SAFETY: the key is open for writing, otherwise nothing could have moved. The old memory is already freed,
            // and the server owns the new value.
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
            // SAFETY: the key is open, and closed once.
            unsafe { call!(RedisModule_CloseKey(self.raw)) }
        }
    }
}
