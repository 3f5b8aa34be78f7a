//! Names of the requests of a session, by which a duplicate is known.

/// Kind of a request (CC-Request-Type, RFC 8506 section 8.3). The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum RequestKind {
    /// RESERVE, and TRANSFER.
    Reserve = 0,
    /// UPDATE.
    Update = 1,
    /// TERMINATE.
    Terminate = 2,
}

impl RequestKind {
    /// The highest number.
    pub(crate) const LAST: u8 = RequestKind::Terminate as u8;

    /// Returns the kind of a stored number.
    pub const fn from_number(number: u8) -> Option<RequestKind> {
        match number {
            0 => Some(RequestKind::Reserve),
            1 => Some(RequestKind::Update),
            2 => Some(RequestKind::Terminate),
            _ => None,
        }
    }

    /// Returns the command's name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            RequestKind::Reserve => "reserve",
            RequestKind::Update => "update",
            RequestKind::Terminate => "terminate",
        }
    }
}

/// Name of a request within its session: some clients give a TERMINATE the number of the last UPDATE. Names are in the
/// order of their numbers; those of one number in the order in which a session has these kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestName {
    /// CC-Request-Number (RFC 8506 section 8.2).
    pub number: u32,
    /// Kind of the request.
    pub kind: RequestKind,
}
