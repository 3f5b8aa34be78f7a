//! Errors in the arguments of a plain command, with Redis's texts.

use crate::Reply;
use crate::table::Spec;

/// Reasons why a plain command refuses its arguments.
#[derive(Clone, Copy, Debug)]
pub enum PlainFault<'a> {
    /// An option that is unknown, given twice, without its value, or excluded by another one.
    Syntax,
    /// Not a 64-bit integer in its one spelling.
    NotAnInteger,
    /// A time that is not positive or leaves 64 bits.
    ExpireTime(&'static Spec),
    /// An option that EXPIRE and similar commands do not have.
    UnsupportedOption(&'a [u8]),
    /// NX together with another condition.
    NxExcludes,
    /// GT together with LT.
    GtExcludesLt,
    /// A lower bound above the upper one.
    BoundsCrossed,
    /// BYFLOAT, which is not supported.
    NoFloat,
    /// A cursor that is not a number.
    InvalidCursor,
    /// A type that neither Redis nor this server knows.
    UnknownType(&'a [u8]),
}

impl PlainFault<'_> {
    /// Writes the error.
    pub fn write(&self, reply: &mut Reply<'_>) {
        match self {
            PlainFault::Syntax => reply.error("ERR syntax error"),
            PlainFault::NotAnInteger => {
                reply.error("ERR value is not an integer or out of range");
            }
            PlainFault::ExpireTime(spec) => reply
                .error(format_args!("ERR invalid expire time in '{}' command", spec.lower_name())),
            PlainFault::UnsupportedOption(option) => {
                reply.error_quoting("ERR Unsupported option ", option, "");
            }
            PlainFault::NxExcludes => {
                reply.error("ERR NX and XX, GT or LT options at the same time are not compatible")
            }
            PlainFault::GtExcludesLt => {
                reply.error("ERR GT and LT options at the same time are not compatible");
            }
            PlainFault::BoundsCrossed => reply.error("ERR LBOUND is above UBOUND"),
            PlainFault::NoFloat => {
                reply
                    .error("ERR BYFLOAT is not supported, since money in floats rounds: use BYINT");
            }
            PlainFault::InvalidCursor => reply.error("ERR invalid cursor"),
            PlainFault::UnknownType(name) => {
                reply.error_quoting("ERR unknown type name '", name, "'");
            }
        }
    }
}
