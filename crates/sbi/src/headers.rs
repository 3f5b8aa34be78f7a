//! Headers that TS 29.500 clause 5.2.3 adds to HTTP, as far as a producer of a service reads them and sends them.

mod callback;
mod correlation;
mod fault;
mod max_rsp_time;
mod names;
mod priority;
mod request;
mod sent;
mod single;
mod timestamp;

pub use callback::{ApiVersion, CallbackType};
pub use correlation::{CORRELATION_INFO_LEN_MAX, CorrelationInfo};
pub use fault::HeaderFault;
pub use max_rsp_time::MaxRspTime;
pub use names::{CALLBACK, CORRELATION_INFO, MAX_RSP_TIME, MESSAGE_PRIORITY, SENDER_TIMESTAMP};
pub use priority::MessagePriority;
pub use request::{IgnoredHeader, RequestHeaders};
pub use sent::SentHeaders;
pub use timestamp::SenderTimestamp;
