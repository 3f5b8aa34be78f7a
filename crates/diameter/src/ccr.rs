//! Credit control: requests (CCR) are read, and answers (CCA) written, in one pass each: RFC 8506, and TS 32.299 for the
//! AVPs of 3GPP. A writer of requests is for a probe, a load and the tests.

mod answer_writer;
mod lists;
mod once;
mod read;
mod request;
mod request_writer;
mod service;
mod service_answer;
mod subscription;
mod triggers;
mod units;

pub use answer_writer::AnswerWriter;
pub use lists::{IDENTIFIERS_MAX, SERVICES_MAX, Scratch, USED_MAX};
pub use request::{CreditControlRequest, RequestType, RequestedAction};
pub use request_writer::{RequestHead, RequestWriter};
pub use service::{Service, Services};
pub use service_answer::{FinalUnit, RedirectAddressType, ServiceAnswer};
pub use subscription::{SUBSCRIPTION_IDS_MAX, SubscriptionId, SubscriptionIds, SubscriptionKind};
pub use triggers::Triggers;
pub use units::{Money, Units, UsedUnits};
