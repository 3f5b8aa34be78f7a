//! A data type of ours in the server's keyspace: the callbacks that the server keeps it by.

use super::name::Name;
use super::{Context, Level, call};
use std::ffi::{CStr, c_int, c_void};
use std::fmt::Display;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicPtr, Ordering};
use valkey_module::raw;

/// The value of a key of ours. The server keeps it as one pointer.
pub(crate) trait Kind: Sized + 'static {
    /// Nine characters, in every dump and file for good.
    const NAME: &'static CStr;
    /// Of the bytes in dumps and files. Older ones are read as well.
    const ENCODING: i32;

    /// Where the server's name for the type is.
    fn cell() -> &'static TypeCell;

    /// The pointer that the server keeps.
    fn into_raw(self) -> *mut c_void;

    /// # Safety
    /// The pointer is from [`Kind::into_raw`] of the same kind. What it becomes is dropped, or is made
    /// a pointer again, once for each time that happened.
    // SAFETY: see above.
    unsafe fn from_raw(raw: *mut c_void) -> Self;

    /// From the bytes of a dump or a file. They may be anything.
    fn load(bytes: &[u8], encoding: i32) -> Result<Self, impl Display>;

    /// Called when the value was loaded, for this key.
    fn loaded(&mut self, context: &Context, database: i32, key: &[u8]);

    /// Appends the bytes of a dump or a file. Called in a child of the server too.
    fn save(&self, out: &mut Vec<u8>);

    /// Writes the commands that make the key anew. Called in a child of the server too.
    fn rewrite(&self, rewrite: &Rewrite<'_>);

    /// Bytes of memory that it takes.
    fn memory_bytes(&self) -> usize;

    /// How many pieces of memory it is, about: the server lets another thread free many.
    fn free_effort(&self) -> usize {
        1
    }

    /// Appends what two copies have alike.
    fn digest(&self, out: &mut Vec<u8>);

    /// The key leaves the keyspace. Not called when a whole database goes.
    fn unlinked(&self, database: i32, key: &[u8]);

    /// Called when the value is gone, by any thread of the server.
    fn freed(self);
}

/// The server's name for a type; null until it is made.
pub(crate) struct TypeCell(AtomicPtr<raw::RedisModuleType>);

impl TypeCell {
    pub(crate) const fn new() -> TypeCell {
        TypeCell(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub(super) fn get(&self) -> *mut raw::RedisModuleType {
        self.0.load(Ordering::Relaxed)
    }
}

/// Where the commands of a rewritten file go.
pub(crate) struct Rewrite<'a> {
    io: *mut raw::RedisModuleIO,
    key: Name<'a>,
}

impl Rewrite<'_> {
    /// A command about the key, with these two words behind it.
    pub(crate) fn emit(&self, command: &CStr, first: &[u8], second: &[u8]) {
        // SAFETY: the format names a string of the server and two lots of bytes with their
        // lengths; all live until the call has returned.
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

    /// As [`Rewrite::emit`], with one more word.
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

/// Makes a type known to the server. False when it refuses.
pub(crate) fn create_type<K: Kind>(context: &Context) -> bool {
    // SAFETY: zeros are no callbacks, which the server takes for absent.
    let mut methods: raw::RedisModuleTypeMethods = unsafe { std::mem::zeroed() };
    // The fourth has all that is used here; servers read as many as they know.
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

/// Tells in the server's log why a value cannot be read. The server says which file.
fn refuse(io: *mut raw::RedisModuleIO, why: &str) -> *mut c_void {
    // SAFETY: the context lives as long as the callback.
    let context = unsafe { Context::new(call!(RedisModule_GetContextFromIO(io))) };
    context.log(Level::Warning, why);
    std::ptr::null_mut()
}

/// A value that the server keeps.
///
/// # Safety
/// As that of [`Kind::from_raw`], and nobody changes the value meanwhile.
// SAFETY: see above.
unsafe fn shown<K: Kind>(value: *mut c_void) -> ManuallyDrop<K> {
    // SAFETY: as the caller promises.
    ManuallyDrop::new(unsafe { K::from_raw(value) })
}

// SAFETY: called by the server alone, with what it promises to the callback of this name; the
// same holds for all that follow. A value is what `OpenKey` or this callback made of the kind.
unsafe extern "C" fn rdb_load<K: Kind>(
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
    // SAFETY: the buffer is the server's, given to us; it is freed once.
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
            // SAFETY: the name may be absent; where it is, it lives until the callback returns.
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
unsafe extern "C" fn rdb_save<K: Kind>(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    let mut bytes = Vec::new();
    // SAFETY: the value is of the kind, and nobody changes it meanwhile.
    unsafe {
        shown::<K>(value).save(&mut bytes);
        call!(RedisModule_SaveStringBuffer(io, bytes.as_ptr().cast(), bytes.len()));
    }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn aof_rewrite<K: Kind>(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    // SAFETY: as above; the name lives until the callback returns.
    unsafe { shown::<K>(value).rewrite(&Rewrite { io, key: Name::new(key) }) }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn digest<K: Kind>(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    let mut bytes = Vec::new();
    // SAFETY: as above.
    unsafe {
        shown::<K>(value).digest(&mut bytes);
        call!(RedisModule_DigestAddStringBuffer(digest, bytes.as_ptr().cast(), bytes.len()));
        call!(RedisModule_DigestEndSequence(digest));
    }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn mem_usage<K: Kind>(
    _: *mut raw::RedisModuleKeyOptCtx,
    value: *const c_void,
    _: usize,
) -> usize {
    // SAFETY: as above.
    unsafe { shown::<K>(value.cast_mut()).memory_bytes() }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn free_effort<K: Kind>(
    _: *mut raw::RedisModuleKeyOptCtx,
    value: *const c_void,
) -> usize {
    // SAFETY: as above.
    unsafe { shown::<K>(value.cast_mut()).free_effort() }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn unlink<K: Kind>(
    context: *mut raw::RedisModuleKeyOptCtx,
    value: *const c_void,
) {
    // SAFETY: as above; the name may be absent.
    unsafe {
        let key = call!(RedisModule_GetKeyNameFromOptCtx(context));
        if !key.is_null() {
            let database = call!(RedisModule_GetDbIdFromOptCtx(context));
            shown::<K>(value.cast_mut()).unlinked(database, Name::new(key.cast_mut()).bytes());
        }
    }
}

// SAFETY: see `rdb_load`.
unsafe extern "C" fn free<K: Kind>(value: *mut c_void) {
    // SAFETY: it is of the kind, and the server gives it back once.
    unsafe { K::from_raw(value) }.freed();
}
