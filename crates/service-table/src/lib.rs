//! The table of services: what a door to networks charges for a service context, a rating group and a service
//! identifier, and in which account. It knows no protocol: Diameter and Nchf read it alike. It has no prices.
#![forbid(unsafe_code)]

mod check;
mod context;
mod error;
mod explain;
mod final_action;
mod measure;
mod redirect;
mod service_row;
mod subscriber;
mod subscriber_row;
mod table;
mod terms;
mod terms_of_row;
mod threshold;
mod unknown_subscriber;

pub use context::CONTEXT_LEN_MAX;
pub use error::TableError;
pub use final_action::FinalAction;
pub use measure::Measure;
pub use redirect::RedirectKind;
pub use service_row::{DeniedAtStart, FinalKey, FinalWhen, MeasureKey, ServiceRow};
pub use subscriber::{SubscriberKind, SubscriberRule};
pub use subscriber_row::{PATTERN_LEN_MAX, SUBSCRIBERS_MAX, SubscriberRow};
pub use table::{ROWS_MAX, ServiceTable};
pub use terms::{Mode, ServiceTerms};
pub use terms_of_row::{
    CURRENCY_MAX, DECIMALS_MAX, FILTER_ID_LEN_MAX, FILTER_LEN_MAX, FILTERS_MAX, QUOTA_S_MAX,
    REDIRECT_LEN_MAX, VALIDITY_S_MAX,
};
pub use threshold::Threshold;
pub use unknown_subscriber::UnknownSubscriber;
