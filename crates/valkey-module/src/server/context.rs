//! What the server gives to each callback: who asks, in which role, and what may be done for them.

use super::call;
use super::name::Name;
use scurry_ledger::Time;
use std::ffi::{CStr, CString};
use valkey_module::raw;

/// How loud a line of the server's log is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Notice,
    Warning,
}

/// A callback's context. It is valid until the callback returns, and is handed on by reference.
pub(crate) struct Context {
    raw: *mut raw::RedisModuleCtx,
    flags: u32,
}

/// Set by Valkey 9.0 and newer for the client that imports slots. Other servers give the bit
/// another meaning.
const SLOT_IMPORT: u32 = 1 << 25;

impl Context {
    /// # Safety
    /// The pointer is what the server gave to the callback that runs.
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

    /// True on a node that copies another.
    pub(crate) fn is_replica(&self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_SLAVE)
    }

    /// Files are being read.
    pub(crate) fn is_loading(&self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_LOADING)
    }

    /// True when what is executed was decided elsewhere: by the primary, or before it was written to a file.
    pub(crate) fn is_decided(&self, knows_slot_import: bool) -> bool {
        self.is_loading()
            || self.has(raw::REDISMODULE_CTX_FLAGS_REPLICATED)
            || knows_slot_import && self.has(SLOT_IMPORT)
    }

    /// More memory is used than the server may use.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_OOM)
    }

    /// The client reads maps.
    pub(crate) fn is_resp3(&self) -> bool {
        self.has(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }

    /// The server's clock.
    pub(crate) fn now(&self) -> Time {
        #[cfg(feature = "test-clock")]
        if let Some(now) = super::test_clock::now() {
            return now;
        }
        super::clock::now()
    }

    /// True while nothing may be written that no client asked for: the server is about to hand
    /// over to another, and waits until both are the same.
    pub(crate) fn must_be_quiet(&self) -> bool {
        // SAFETY: it takes nothing.
        unsafe { call!(RedisModule_AvoidReplicaTraffic()) != 0 }
    }

    /// The database that the callback works in.
    pub(crate) fn database(&self) -> i32 {
        // SAFETY: the context is valid.
        unsafe { call!(RedisModule_GetSelectedDb(self.raw)) }
    }

    /// Works in another database from now on. False when there is none of this number.
    pub(crate) fn select(&self, database: i32) -> bool {
        // SAFETY: the context is valid.
        unsafe { call!(RedisModule_SelectDb(self.raw, database)) == OK }
    }

    /// Writes a line to the server's log.
    pub(crate) fn log(&self, level: Level, text: &str) {
        log(self.raw, level, text);
    }

    /// The text of a field of INFO; none when it has none of this name.
    pub(crate) fn info(&self, section: &CStr, field: &CStr) -> Option<String> {
        // SAFETY: the strings end in zeros; the text is copied before the data is given back.
        unsafe {
            let data = call!(RedisModule_GetServerInfo(self.raw, section.as_ptr()));
            let text = call!(RedisModule_ServerInfoGetFieldC(data, field.as_ptr()));
            let text =
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().trim().to_owned());
            call!(RedisModule_FreeServerInfo(self.raw, data));
            text
        }
    }

    /// The command that replicas and files get instead of the command that runs: a command
    /// about a key, with these bytes.
    pub(crate) fn replicate(&self, command: &CStr, key: Name<'_>, bytes: &[u8]) {
        // SAFETY: the format names a string of the server, then bytes with their length; both
        // live until the call has returned.
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

    /// As [`Context::replicate`], with words in place of bytes.
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
        // SAFETY: the format says how many of the words are read; each has its length and lives
        // until the call has returned.
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

    /// The command that runs goes to replicas and the file of commands as it is.
    pub(crate) fn replicate_verbatim(&self) {
        // SAFETY: the context is valid.
        unsafe {
            call!(RedisModule_ReplicateVerbatim(self.raw));
        }
    }

    /// Tells watchers of the key that it has changed.
    pub(crate) fn signal_modified(&self, key: Name<'_>) {
        // SAFETY: both are valid.
        unsafe {
            call!(RedisModule_SignalModifiedKey(self.raw, key.raw()));
        }
    }
}

/// The status of the server when something is done.
pub(super) const OK: i32 = 0;

/// Writes a line to the server's log, before there is a context.
pub(crate) fn log(raw: *mut raw::RedisModuleCtx, level: Level, text: &str) {
    let level = match level {
        Level::Notice => c"notice",
        Level::Warning => c"warning",
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // SAFETY: the strings end in zeros, and the format takes one of them.
    unsafe { call!(RedisModule_Log(raw, level.as_ptr(), c"%s".as_ptr(), text.as_ptr())) }
}
