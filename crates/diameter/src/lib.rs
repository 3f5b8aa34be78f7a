//! Diameter without sockets: the codec of RFC 6733, the messages of credit control (RFC 8506, Ro and Gy of TS 32.299),
//! and the peer machine with the watchdog of RFC 3539. Bytes, times and random numbers come in as arguments, bytes and
//! events go out; a door has the sockets, the clock and the store.
//!
//! How a door answers what a connection has received:
//!
//! ```
//! use scurry_diameter::ccr::{AnswerWriter, CreditControlRequest, Scratch, ServiceAnswer};
//! use scurry_diameter::peer::{Admission, Event, Peer};
//! use scurry_diameter::{Frame, FrameFault, Message, Origin, ResultCode, frame, write_refusal};
//!
//! /// What a door has for each connection; the scratch memory may be one per thread.
//! struct Connection {
//!     peer: Peer,
//!     input: Vec<u8>,
//!     output: Vec<u8>,
//!     events: Vec<Event>,
//!     scratch: Scratch,
//! }
//!
//! /// Takes all whole messages of the input. A fault is for `Peer::on_frame_fault`.
//! fn take_input(it: &mut Connection, origin: &Origin, now_ms: u64) -> Result<(), FrameFault> {
//!     let mut taken = 0;
//!     while let Frame::Message(len) = frame(&it.input[taken..], it.peer.message_len_max())? {
//!         let bytes = &it.input[taken..taken + len];
//!         taken += len;
//!         let mut admit = |_: &_| Admission::Admit;
//!         it.peer.on_message(bytes, now_ms, &mut admit, &mut it.output, &mut it.events);
//!         for event in it.events.drain(..) {
//!             let Event::Request(_) = event else { continue };
//!             let message = Message::read(bytes)?;
//!             match CreditControlRequest::read(&message, &mut it.scratch) {
//!                 Ok(request) => {
//!                     let (head, result) = (request.answer_head(), ResultCode::SUCCESS);
//!                     let mut answer = AnswerWriter::begin(&mut it.output, head, origin, result);
//!                     for service in request.services.iter() {
//!                         answer.service(&ServiceAnswer {
//!                             rating_group: service.rating_group,
//!                             ..ServiceAnswer::new(ResultCode::CREDIT_LIMIT_REACHED)
//!                         });
//!                     }
//!                     answer.finish();
//!                 }
//!                 Err(refusal) => {
//!                     write_refusal(&mut it.output, &message, origin, &refusal);
//!                 }
//!             }
//!             it.peer.answer_sent(message.header.command);
//!         }
//!     }
//!     it.input.drain(..taken);
//!     Ok(())
//! }
//! ```
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
mod message_text;
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
pub use attribute::{Attribute, FLAG_MANDATORY, FLAG_VENDOR};
pub use avp::{Avp, time_of_unix};
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
