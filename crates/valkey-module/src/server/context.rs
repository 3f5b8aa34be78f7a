//! The context that the server passes to each callback: the client's properties, the node's role, and calls of the API.

use super::call;
use super::name::Name;
use scurry_ledger::Time;
use std::ffi::{CStr, CString};
use valkey_module::raw;

/// Level of a line in the server's log.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Notice,
    Warning,
}

/// Context of a callback. Valid until the callback returns; passed on by reference.
pub(crate) struct Context {
    raw: *mut raw::RedisModuleCtx,
    flags: u32,
}

/// Flag of the client that imports slots, set by Valkey 9.0 and newer. On other servers the bit has another meaning.
const SLOT_IMPORT: u32 = 1 << 25;

impl Context {
    /// # Safety
    /// The pointer is the one that the server passed to the running callback.
    // SAFETY: see above.
    pub(crate) unsafe fn new(raw: *mut raw::RedisModuleCtx) -> Context {
        // SAFETY: the context is valid; the flags are those of this callback.
        let flags = unsafe { call!(RedisModule_GetContextFlags(raw)) };
        Context { raw, flags: u32::from_ne_bytes(flags.to_ne_bytes()) }
    }

    pub(crate) fn raw(&self) -> *mut raw::RedisModuleCtx {
        self.raw
    }

    fn has(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }

    /// Reports whether this node is a replica.
    pub(crate) fn is_replica(&self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_SLAVE)
    }

    /// Reports whether files are being read.
    pub(crate) fn is_loading(&self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_LOADING)
    }

    /// Reports whether the running command was decided elsewhere: by the primary, or before it was written to a file.
    pub(crate) fn is_decided(&self, knows_slot_import: bool) -> bool {
        self.is_loading()
            || self.has(raw::REDISMODULE_CTX_FLAGS_REPLICATED)
            || knows_slot_import && self.has(SLOT_IMPORT)
    }

    /// Reports whether the server has exceeded its memory limit.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_OOM)
    }

    /// Reports whether the client uses RESP3.
    pub(crate) fn is_resp3(&self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }

    /// Returns the server's time.
    pub(crate) fn now(&self) -> Time {
        #[cfg(feature = "test-clock")]
        if let Some(now) = super::test_clock::now() {
            return now;
        }
        super::clock::now()
    }

    /// Reports whether the module must write nothing on its own: the server is about to hand over to a replica, and
    /// waits until both have the same data.
    pub(crate) fn must_be_quiet(&self) -> bool {
        // SAFETY: the function takes no arguments.
        unsafe { call!(RedisModule_AvoidReplicaTraffic()) != 0 }
    }

    /// Returns the database that the callback works in.
    pub(crate) fn database(&self) -> i32 {
        // SAFETY: the context is valid.
        unsafe { call!(RedisModule_GetSelectedDb(self.raw)) }
    }

    /// Selects another database. Returns false if it does not exist.
    pub(crate) fn select(&self, database: i32) -> bool {
        // SAFETY: the context is valid.
        unsafe { call!(RedisModule_SelectDb(self.raw, database)) == OK }
    }

    /// Writes a line to the server's log.
    pub(crate) fn log(&self, level: Level, text: &str) {
        log(self.raw, level, text);
    }

    /// Returns the text of a field of INFO. None if it does not exist.
    pub(crate) fn info(&self, section: &CStr, field: &CStr) -> Option<String> {
        // SAFETY: the strings end in zeros; the text is copied before the data is freed.
        unsafe {
            let data = call!(RedisModule_GetServerInfo(self.raw, section.as_ptr()));
            let text = call!(RedisModule_ServerInfoGetFieldC(data, field.as_ptr()));
            let text =
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().trim().to_owned());
            call!(RedisModule_FreeServerInfo(self.raw, data));
            text
        }
    }

    /// Replicates another command in place of the running one, to replicas and files: a command on a key, with these
    /// bytes.
    pub(crate) fn replicate(&self, command: &CStr, key: Name<'_>, bytes: &[u8]) {
        // SAFETY: the format names a string of the server, then bytes with their length. Both live until the call
        // returns.
        unsafe {
            call!(RedisModule_Replicate(
                self.raw,
                command.as_ptr(),
                c"sb".as_ptr(),
                key.raw(),
                bytes.as_ptr(),
                bytes.len(),
            ));
        }
    }

    /// Replicates as [`Context::replicate`] does, with one to three words in place of the bytes.
    pub(crate) fn replicate_words(&self, command: &CStr, key: Name<'_>, words: &[&[u8]]) {
        let at = |index: usize| {
            words.get(index).map_or((std::ptr::null(), 0), |word| (word.as_ptr(), word.len()))
        };
        let ((first, first_len), (second, second_len), (third, third_len)) = (at(0), at(1), at(2));
        let format = match words.len() {
            1 => c"sb",
            2 => c"sbb",
            _ => c"sbbb",
        };
        // SAFETY: the format says how many of the words are read. Each has its length and lives until the call returns.
        unsafe {
            call!(RedisModule_Replicate(
                self.raw,
                command.as_ptr(),
                format.as_ptr(),
                key.raw(),
                first,
                first_len,
                second,
                second_len,
                third,
                third_len,
            ));
        }
    }

    /// Replicates the running command unchanged, to replicas and the append-only file.
    pub(crate) fn replicate_verbatim(&self) {
        // SAFETY: the context is valid.
        unsafe {
            call!(RedisModule_ReplicateVerbatim(self.raw));
        }
    }

    /// Notifies clients that watch the key of its change.
    pub(crate) fn signal_modified(&self, key: Name<'_>) {
        // SAFETY: both are valid.
        unsafe {
            call!(RedisModule_SignalModifiedKey(self.raw, key.raw()));
        }
    }
}

/// Status of a successful call.
pub(super) const OK: i32 = 0;

/// Writes a line to the server's log, also before a [`Context`] exists.
pub(crate) fn log(raw: *mut raw::RedisModuleCtx, level: Level, text: &str) {
    let level = match level {
        Level::Notice => c"notice",
        Level::Warning => c"warning",
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // SAFETY: the strings end in zeros, and the format uses one of them.
    unsafe { call!(RedisModule_Log(raw, level.as_ptr(), c"%s".as_ptr(), text.as_ptr())) }
}
