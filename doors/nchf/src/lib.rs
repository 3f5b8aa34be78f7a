//! The 5G charging API Nchf_ConvergedCharging (3GPP TS 32.291): it maps charging data resources to sessions of the
//! ledger. This door stores nothing: the reference in the resource's URI carries all that an Update needs from its
//! Create.

mod client_data;
mod door;
mod entry;
mod event;
mod labelled_counts;
mod metrics;
mod notices;
mod nrf_thread;
mod number;
mod numbering;
mod problem;
mod recent_sessions;
mod reference;
mod request;
mod response;
mod routes;
mod sbi;
mod session;
mod session_command;
mod session_name;
mod settings;
mod subscriber;
mod units;
mod version;

pub use door::NchfDoor;
pub use routes::routes;
pub use settings::{NchfError, NchfSettings, NotifySettings};
