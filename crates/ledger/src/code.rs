//! Result codes: the one table of all codes that a command can answer. It has our own persisted numbers and the
//! matching Diameter (RFC 8506 section 9, RFC 6733 section 7.1), Nchf (TS 32.291) and HTTP codes.

macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal, $kind:ident, $diameter:literal, $nchf:literal, $http:literal, $meaning:literal;)*) => {
        /// A result code. The numbers are persisted: append only, never renumber. Variants are in order of precedence:
        /// if two apply, the earlier one is answered.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Code {
            $(#[doc = $meaning] $name = $number,)*
        }

        impl Code {
            /// All codes, in order of precedence.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// Returns the code of a persisted number.
            pub const fn from_number(number: u8) -> Option<Code> {
                match number { $($number => Some(Code::$name),)* _ => None }
            }

            /// Returns the word on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// Returns how the code affects the account.
            pub const fn kind(self) -> CodeKind {
                match self { $(Code::$name => CodeKind::$kind,)* }
            }

            /// Returns the Diameter Result-Code AVP value.
            pub const fn diameter(self) -> u16 {
                match self { $(Code::$name => $diameter,)* }
            }

            /// Returns the Nchf cause or resultCode (TS 32.291 clause 6.1).
            pub const fn nchf(self) -> &'static str {
                match self { $(Code::$name => $nchf,)* }
            }

            /// Returns the HTTP status.
            pub const fn http(self) -> u16 {
                match self { $(Code::$name => $http,)* }
            }

            /// Returns one sentence for the reference page.
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning,)* }
            }
        }
    };
}

/// Effect on the account of answering with a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// A Commit.
    Success,
    /// A Commit that stores the answer, so that a duplicate gets it again.
    Denial,
    /// A refusal, which changes nothing and is stored nowhere. A RESP error.
    Reject,
}

codes! {
    Invalid = 10, "INVALID", Reject, 5004, "MANDATORY_IE_INCORRECT", 400, "A field is malformed or out of range.";
    UnknownAccount = 20, "UNKNOWN_ACCOUNT", Reject, 5030, "USER_UNKNOWN", 404, "No account has this id.";
    AccountExists = 21, "ACCOUNT_EXISTS", Reject, 5012, "CHARGING_FAILED", 409, "An account with this id exists.";
    UnknownSession = 30, "UNKNOWN_SESSION", Reject, 5002, "CONTEXT_NOT_FOUND", 404, "No open session has this id.";
    SessionExists = 31, "SESSION_EXISTS", Reject, 5012, "CHARGING_FAILED", 409, "The session id is open, or was used and is still remembered.";
    RequestMismatch = 32, "REQUEST_MISMATCH", Reject, 5012, "CHARGING_FAILED", 422, "The request number or transaction id was used with another body.";
    OutOfWindow = 33, "OUT_OF_WINDOW", Reject, 5002, "CONTEXT_NOT_FOUND", 410, "The request number is below the window of stored answers.";
    VersionConflict = 34, "VERSION_CONFLICT", Reject, 5012, "CHARGING_FAILED", 412, "IFVERSION names another version than the session has.";
    UnknownBucket = 40, "UNKNOWN_BUCKET", Reject, 5012, "CHARGING_FAILED", 404, "The account has no bucket with this id.";
    BucketExpired = 41, "BUCKET_EXPIRED", Reject, 5012, "CHARGING_FAILED", 409, "The bucket's validity has ended: nothing can be credited to it.";
    UnknownTransaction = 42, "UNKNOWN_TRANSACTION", Reject, 5012, "CHARGING_FAILED", 404, "No transaction, or for a refund no successful debit, is remembered under this id.";
    UnknownLimit = 45, "UNKNOWN_LIMIT", Reject, 5012, "CHARGING_FAILED", 404, "The account has no limit with this id.";
    NotEmpty = 43, "NOT_EMPTY", Reject, 5012, "CHARGING_FAILED", 409, "It still holds something: a balance, a session, or a remembered id.";
    NotApplicable = 44, "NOT_APPLICABLE", Reject, 4011, "CHARGING_NOT_APPLICABLE", 409, "The command does not apply to this object any more.";
    Busy = 50, "BUSY", Reject, 5012, "CHARGING_FAILED", 503, "A bound is reached: safe to retry later with the same id.";
    ServiceDenied = 70, "SERVICE_DENIED", Denial, 4010, "END_USER_REQUEST_DENIED", 403, "The account is suspended or closed.";
    CreditLimitReached = 80, "CREDIT_LIMIT_REACHED", Denial, 4012, "QUOTA_LIMIT_REACHED", 402, "Not enough credit.";
    ChainDenied = 82, "CHAIN_DENIED", Denial, 4012, "QUOTA_LIMIT_REACHED", 402, "Another command of the chain was denied.";
    Overflow = 60, "OVERFLOW", Reject, 5012, "CHARGING_FAILED", 422, "A sum would leave the range of 64 bits.";
    IdentityExists = 22, "IDENTITY_EXISTS", Reject, 5012, "CHARGING_FAILED", 409, "Another account has this identity, and its kind is unique.";
    Ok = 1, "OK", Success, 2001, "SUCCESS", 200, "Done.";
}
