//! Result codes that this crate and its users send: RFC 6733, 7.1 and RFC 8506, 9.

/// A Result-Code. The thousands are its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResultCode(pub u32);

impl ResultCode {
    /// The request was carried out.
    pub const SUCCESS: ResultCode = ResultCode(2001);
    /// The command is not known here.
    pub const COMMAND_UNSUPPORTED: ResultCode = ResultCode(3001);
    /// The message cannot be delivered to its destination.
    pub const UNABLE_TO_DELIVER: ResultCode = ResultCode(3002);
    /// No node here serves the realm.
    pub const REALM_NOT_SERVED: ResultCode = ResultCode(3003);
    /// This server cannot serve the request now.
    pub const TOO_BUSY: ResultCode = ResultCode(3004);
    /// The application is not known here.
    pub const APPLICATION_UNSUPPORTED: ResultCode = ResultCode(3007);
    /// The bits of the header do not fit together or not to the command.
    pub const INVALID_HDR_BITS: ResultCode = ResultCode(3008);
    /// The peer is not known here.
    pub const UNKNOWN_PEER: ResultCode = ResultCode(3010);
    /// The connection is closed because another one of the same peer stays.
    pub const ELECTION_LOST: ResultCode = ResultCode(4003);
    /// The service is not allowed to this end user now (RFC 8506).
    pub const END_USER_SERVICE_DENIED: ResultCode = ResultCode(4010);
    /// The service needs no credit control (RFC 8506).
    pub const CREDIT_CONTROL_NOT_APPLICABLE: ResultCode = ResultCode(4011);
    /// The account cannot cover the service (RFC 8506).
    pub const CREDIT_LIMIT_REACHED: ResultCode = ResultCode(4012);
    /// An AVP with the M flag is not known.
    pub const AVP_UNSUPPORTED: ResultCode = ResultCode(5001);
    /// The session is not known.
    pub const UNKNOWN_SESSION_ID: ResultCode = ResultCode(5002);
    /// The user could not be authorized.
    pub const AUTHORIZATION_REJECTED: ResultCode = ResultCode(5003);
    /// An AVP has a value that is not allowed.
    pub const INVALID_AVP_VALUE: ResultCode = ResultCode(5004);
    /// An AVP that the command needs is missing.
    pub const MISSING_AVP: ResultCode = ResultCode(5005);
    /// Two AVPs contradict each other.
    pub const CONTRADICTING_AVPS: ResultCode = ResultCode(5007);
    /// An AVP must not be in this message.
    pub const AVP_NOT_ALLOWED: ResultCode = ResultCode(5008);
    /// An AVP occurs more often than is allowed.
    pub const AVP_OCCURS_TOO_MANY_TIMES: ResultCode = ResultCode(5009);
    /// The peers have no application in common.
    pub const NO_COMMON_APPLICATION: ResultCode = ResultCode(5010);
    /// The version in the header is not 1.
    pub const UNSUPPORTED_VERSION: ResultCode = ResultCode(5011);
    /// The request cannot be carried out, for a reason without its own code.
    pub const UNABLE_TO_COMPLY: ResultCode = ResultCode(5012);
    /// A bit that must be 0 is 1.
    pub const INVALID_BIT_IN_HEADER: ResultCode = ResultCode(5013);
    /// The length of an AVP is wrong.
    pub const INVALID_AVP_LENGTH: ResultCode = ResultCode(5014);
    /// The length of the message is wrong.
    pub const INVALID_MESSAGE_LENGTH: ResultCode = ResultCode(5015);
    /// The peers have no security mechanism in common.
    pub const NO_COMMON_SECURITY: ResultCode = ResultCode(5017);
    /// The user is not known (RFC 8506).
    pub const USER_UNKNOWN: ResultCode = ResultCode(5030);
    /// The request cannot be rated (RFC 8506).
    pub const RATING_FAILED: ResultCode = ResultCode(5031);

    /// Reports whether the code is a protocol error, which sets the E flag of the answer.
    #[must_use]
    pub const fn is_protocol_error(self) -> bool {
        self.0 / 1000 == 3
    }

    /// Reports whether the code is a success.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 / 1000 == 2
    }
}
