//! Data types of the module in the server's keyspace: the trait that they implement, and the callbacks that the server
//! calls.

use super::name::Name;
use super::{Context, Level, call};
use std::ffi::{CStr, c_int, c_void};
use std::fmt::Display;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicPtr, Ordering};
use valkey_module::raw;

/// Value of a key of ours. The server stores it as one pointer.
pub(crate) trait ValueKind: Sized + 'static {
    /// Name of nine characters, which is written into every dump and file and never changes.
    const NAME: &'static CStr;
    /// Version of the bytes in dumps and files. Older versions are read as well.
    const ENCODING: i32;

    /// Returns the cell that holds the server's handle of the type.
    fn cell() -> &'static TypeCell;

    /// Returns the pointer that the server stores.
    fn into_raw(self) -> *mut c_void;

    /// # Safety
    /// The pointer is from [`ValueKind::into_raw`] of the same kind. Each pointer is taken back at most once: the result is
    /// dropped, or made a pointer again.
    // SAFETY: see above.
    unsafe fn from_raw(raw: *mut c_void) -> Self;

    /// Decodes the bytes of a dump or a file, which are not trusted.
    fn load(bytes: &[u8], encoding: i32) -> Result<Self, impl Display>;

    /// Called after the value was loaded for this key.
    fn loaded(&mut self, context: &Context, database: i32, key: &[u8]);

    /// Appends the bytes for a dump or a file. Also called in a forked child of the server.
    fn save(&self, out: &mut Vec<u8>);

    /// Writes the commands that create the key again. Also called in a forked child of the server.
    fn rewrite(&self, rewrite: &Rewrite<'_>);

    /// Returns the bytes of memory used.
    fn memory_bytes(&self) -> usize;

    /// Returns the approximate number of allocations: the server frees large values on another thread.
    fn free_effort(&self) -> usize {
        1
    }

    /// Appends bytes that are equal for equal copies.
    fn digest(&self, out: &mut Vec<u8>);

    /// Called when the key leaves the keyspace, but not when a whole database is flushed.
    fn unlinked(&self, database: i32, key: &[u8]);

    /// Called when the value is removed, on any thread of the server. Takes ownership.
    fn freed(self);
}

/// The server's handle of a type. Null until the type is created.
pub(crate) struct TypeCell(AtomicPtr<raw::RedisModuleType>);

impl TypeCell {
    pub(crate) const fn new() -> TypeCell {
        TypeCell(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub(super) fn get(&self) -> *mut raw::RedisModuleType {
        self.0.load(Ordering::Relaxed)
    }
}

/// Destination of the commands when a file is rewritten.
pub(crate) struct Rewrite<'a> {
    io: *mut raw::RedisModuleIO,
    key: Name<'a>,
}

impl Rewrite<'_> {
    /// Writes a command on the key, followed by two words.
    pub(crate) fn emit(&self, command: &CStr, first: &[u8], second: &[u8]) {
        // SAFETY: the format names a string of the server and two byte strings with their lengths. All live until the
        // call returns.
        unsafe {
            call!(RedisModule_EmitAOF(
                self.io,
                command.as_ptr(),
                c"sbb".as_ptr(),
                self.key.raw(),
                first.as_ptr(),
                first.len(),
                second.as_ptr(),
                second.len(),
            ));
        }
    }

    /// Writes a command as [`Rewrite::emit`] does, with three words.
    pub(crate) fn emit_three(&self, command: &CStr, words: [&[u8]; 3]) {
        let [first, second, third] = words;
        // SAFETY: as above.
        unsafe {
            call!(RedisModule_EmitAOF(
                self.io,
                command.as_ptr(),
                c"sbbb".as_ptr(),
                self.key.raw(),
                first.as_ptr(),
                first.len(),
                second.as_ptr(),
                second.len(),
                third.as_ptr(),
                third.len(),
            ));
        }
    }
}

/// Creates a type on the server. Returns false if the server refuses it.
pub(crate) fn create_type<K: ValueKind>(context: &Context) -> bool {
    // SAFETY: zeros mean no callback.
    let mut methods: raw::RedisModuleTypeMethods = unsafe { std::mem::zeroed() };
    // Version 4 of the table has all callbacks used here. A server reads as many as it knows.
    methods.version = 4;
    methods.rdb_load = Some(rdb_load::<K>);
    methods.rdb_save = Some(rdb_save::<K>);
    methods.aof_rewrite = Some(aof_rewrite::<K>);
    methods.digest = Some(digest::<K>);
    methods.free = Some(free::<K>);
    methods.mem_usage2 = Some(mem_usage::<K>);
    methods.unlink2 = Some(unlink::<K>);
    methods.free_effort2 = Some(free_effort::<K>);
    // SAFETY: the name ends in a zero; the methods are copied.
    let made = unsafe {
        call!(RedisModule_CreateDataType(
            context.raw(),
            K::NAME.as_ptr(),
            K::ENCODING,
            &mut methods,
        ))
    };
    K::cell().0.store(made, Ordering::Relaxed);
    !made.is_null()
}

/// Logs why a value cannot be read. The server adds which file.
fn refuse(io: *mut raw::RedisModuleIO, why: &str) -> *mut c_void {
    // SAFETY: the context lives as long as the callback.
    let context = unsafe { Context::new(call!(RedisModule_GetContextFromIO(io))) };
    context.log(Level::Warning, why);
    std::ptr::null_mut()
}

/// Returns a value that the server stores, without taking ownership.
///
/// # Safety
/// As for [`ValueKind::from_raw`], and nothing changes the value meanwhile.
// SAFETY: see above.
unsafe fn shown<K: ValueKind>(value: *mut c_void) -> ManuallyDrop<K> {
    // SAFETY: the caller keeps the contract.
    ManuallyDrop::new(unsafe { K::from_raw(value) })
}

// SAFETY: only the server calls this and the callbacks below, with the arguments that it documents for the callback of
// that name. A value was made by `OpenKey` or this callback, so it is of the kind.
unsafe extern "C" fn rdb_load<K: ValueKind>(
    io: *mut raw::RedisModuleIO,
    encoding: c_int,
) -> *mut c_void {
    if encoding < 1 || encoding > K::ENCODING {
        let name = K::NAME.to_string_lossy();
        let newest = K::ENCODING;
        return refuse(
            io,
            &format!(
                "a {name} of encoding {encoding}: this one reads 1 to {newest}, load a newer libscurry.so"
            ),
        );
    }
    let mut len = 0;
    // SAFETY: the server gives the buffer to us, and it is freed once.
    let loaded = unsafe {
        let buffer = call!(RedisModule_LoadStringBuffer(io, &mut len));
        if buffer.is_null() || call!(RedisModule_IsIOError(io)) != 0 {
            return std::ptr::null_mut();
        }
        let loaded = K::load(std::slice::from_raw_parts(buffer.cast(), len), encoding);
        let loaded = loaded.map_err(|why| why.to_string());
        call!(RedisModule_Free(buffer.cast()));
        loaded
    };
    match loaded {
        Ok(mut value) => {
            // SAFETY: the name may be null; otherwise it lives until the callback returns.
            unsafe {
                let context = Context::new(call!(RedisModule_GetContextFromIO(io)));
                let key = call!(RedisModule_GetKeyNameFromIO(io));
                if !key.is_null() {
                    let database = call!(RedisModule_GetDbIdFromIO(io));
                    value.loaded(&context, database, Name::new(key.cast_mut()).bytes());
                }
            }
            value.into_raw()
        }
        Err(why) => refuse(io, &format!("a {} is refused: {why}", K::NAME.to_string_lossy())),
    }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn rdb_save<K: ValueKind>(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    let mut bytes = Vec::new();
    // SAFETY: the value is of the kind, and nothing changes it meanwhile.
    unsafe {
        shown::<K>(value).save(&mut bytes);
        call!(RedisModule_SaveStringBuffer(io, bytes.as_ptr().cast(), bytes.len()));
    }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn aof_rewrite<K: ValueKind>(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    // SAFETY: as above; the name lives until the callback returns.
    unsafe { shown::<K>(value).rewrite(&Rewrite { io, key: Name::new(key) }) }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn digest<K: ValueKind>(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    let mut bytes = Vec::new();
    // SAFETY: as above.
    unsafe {
        shown::<K>(value).digest(&mut bytes);
        call!(RedisModule_DigestAddStringBuffer(digest, bytes.as_ptr().cast(), bytes.len()));
        call!(RedisModule_DigestEndSequence(digest));
    }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn mem_usage<K: ValueKind>(
    _: *mut raw::RedisModuleKeyOptCtx,
    value: *const c_void,
    _: usize,
) -> usize {
    // SAFETY: as above.
    unsafe { shown::<K>(value.cast_mut()).memory_bytes() }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn free_effort<K: ValueKind>(
    _: *mut raw::RedisModuleKeyOptCtx,
    value: *const c_void,
) -> usize {
    // SAFETY: as above.
    unsafe { shown::<K>(value.cast_mut()).free_effort() }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn unlink<K: ValueKind>(
    context: *mut raw::RedisModuleKeyOptCtx,
    value: *const c_void,
) {
    // SAFETY: as above; the name may be null.
    unsafe {
        let key = call!(RedisModule_GetKeyNameFromOptCtx(context));
        if !key.is_null() {
            let database = call!(RedisModule_GetDbIdFromOptCtx(context));
            shown::<K>(value.cast_mut()).unlinked(database, Name::new(key.cast_mut()).bytes());
        }
    }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn free<K: ValueKind>(value: *mut c_void) {
    // SAFETY: the value is of the kind, and the server frees it once.
    unsafe { K::from_raw(value) }.freed();
}
