//! What is wrong with the arguments of a plain command, in Redis's words.

use crate::Reply;
use crate::table::Spec;

/// Arguments that a plain command does not take.
#[derive(Clone, Copy, Debug)]
pub enum PlainFault<'a> {
    /// An option that there is not, twice, without its value, or beside one that excludes it.
    Syntax,
    /// Not a 64-bit integer in its one spelling.
    NotAnInteger,
    /// A time that is not positive or leaves 64 bits.
    ExpireTime(&'static Spec),
    /// An option that EXPIRE and its like do not have.
    UnsupportedOption(&'a [u8]),
    /// NX beside another condition.
    NxExcludes,
    /// GT beside LT.
    GtExcludesLt,
    /// A lower bound above the upper one.
    BoundsCrossed,
    /// BYFLOAT.
    NoFloat,
    /// A cursor that no SCAN has answered.
    InvalidCursor,
    /// A type that neither Redis nor this server has.
    UnknownType(&'a [u8]),
}

impl PlainFault<'_> {
    /// Answers with it.
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
