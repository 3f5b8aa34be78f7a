//! Registration at an NRF (TS 29.510, Nnrf_NFManagement), so that consumers of a network find this charging function.

mod backoff;
mod profile;
mod range;
mod registration;
mod section;
mod settings_error;
mod utc;
mod view;

pub use profile::Profile;
pub use range::IdentityRange;
pub use registration::Registration;
pub use section::{NrfSection, NrfSettings};
pub use settings_error::NrfSettingsError;
pub use view::{NrfCounts, NrfState, NrfStatus, NrfView};

#[cfg(test)]
mod tests;
