//! Reads the keys of the table from a text, as a settings file has them.

use scurry_service_table::{ServiceRow, ServiceTable, SubscriberRow, UnknownSubscriber};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(default)]
    pub(crate) services: Vec<ServiceRow>,
    #[serde(default)]
    pub(crate) subscribers: Vec<SubscriberRow>,
    #[serde(default)]
    pub(crate) unknown_subscriber: UnknownSubscriber,
}

/// Makes the table of a text, or says what is wrong with it.
pub(crate) fn table_of(text: &str) -> Result<ServiceTable, String> {
    let settings: Settings = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    ServiceTable::new(&settings.services, &settings.subscribers, settings.unknown_subscriber)
        .map_err(|error| error.to_string())
}

/// Makes the table of one row `[[services]]` without context, rating group and service.
pub(crate) fn table_of_row(row: &str) -> Result<ServiceTable, String> {
    table_of(&format!("[[services]]\n{row}"))
}
