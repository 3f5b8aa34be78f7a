//! Who charges for what: what a session is told apart from others by.

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_128;

/// The network function that charges (NFIdentification). Members that are not here do not matter.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Consumer {
    node_functionality: String,
    #[serde(rename = "nFName")]
    name: Option<String>,
    #[serde(rename = "nFFqdn")]
    fqdn: Option<String>,
    #[serde(rename = "nFIPv4Address")]
    v4: Option<String>,
    #[serde(rename = "nFIPv6Address")]
    v6: Option<String>,
}

impl Consumer {
    /// The first of what names it: name, domain name, addresses.
    fn name(&self) -> &str {
        let names = [&self.name, &self.fqdn, &self.v4, &self.v6];
        names.into_iter().find_map(Option::as_deref).unwrap_or_default()
    }

    /// The session that this consumer charges under this id, of one subscriber. No time is in it
    /// and nothing random: who repeats a Create means the same session.
    pub(crate) fn session(&self, charging_id: &str) -> String {
        let mut text = Vec::new();
        for part in [&self.node_functionality, self.name(), charging_id] {
            // The lengths keep "ab", "c" and "a", "bc" apart.
            text.extend_from_slice(&part.len().to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        format!("nchf-{:032x}", xxh3_128(&text))
    }
}
