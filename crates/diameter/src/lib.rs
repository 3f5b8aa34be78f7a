//! Diameter without sockets: the codec of RFC 6733, the messages of credit control (RFC 8506, Ro and Gy of TS 32.299),
//! and the peer machine with the watchdog of RFC 3539. Bytes, times and random numbers come in as arguments, bytes and
//! events go out; a door has the sockets, the clock and the store.
#![forbid(unsafe_code)]

mod answer_head;
pub mod attribute;
mod avp;
mod avps;
pub mod ccr;
pub mod dictionary;
mod frame;
mod header;
mod message;
mod occurrences;
mod origin;
pub mod peer;
mod refusal;
mod refusal_answer;
mod result_code;
mod server_request;
mod vendor_application;
mod writer;

pub use answer_head::AnswerHead;
pub use attribute::Attribute;
pub use avp::{Avp, FLAG_MANDATORY, FLAG_VENDOR, time_of_unix};
pub use avps::{Avps, GROUP_DEPTH_MAX};
pub use frame::{Frame, FrameFault, MESSAGE_LEN_MAX, frame};
pub use header::{Flags, HEADER_LEN, Header, MessageIds, application, command};
pub use message::Message;
pub use occurrences::Occurrences;
pub use origin::Origin;
pub use refusal::{FailedAvp, Refusal};
pub use refusal_answer::write_refusal;
pub use result_code::ResultCode;
pub use server_request::{ClientAnswer, ServerAction, ServerRequest};
pub use vendor_application::VendorApplication;
pub use writer::MessageWriter;
