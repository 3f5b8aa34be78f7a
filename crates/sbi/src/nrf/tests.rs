//! Settings of a registration, and registrations at stand-ins for an NRF.

mod registering;
mod sections;

use super::*;

/// A section with everything.
const WHOLE: &str = r#"
uri = ["http://nrf-1.5gc.example:8000/", "https://nrf-2.5gc.example/nrf"]
instance_id = "8D4C0F7E-2B0A-4F5C-9E44-0A1B2C3D4E5F"
host = "chf.5gc.example"
addresses = ["10.0.0.5", "fd00::5"]
port = 8080
scheme = "https"
api_prefix = "/charging"
supi_ranges = [{ start = "001010000000000", end = "001010000999999" }, { pattern = "^imsi-00102[0-9]{10}$" }]
gpsi_ranges = [{ start = "49151000000", end = "49151999999" }]
plmn_ranges = [{ start = "00101", end = "00102" }]
plmns = ["00101", "001010"]
priority = 1
capacity = 100
heartbeat_s = 30
"#;

fn section(text: &str) -> NrfSection {
    toml::from_str(text).expect("a section")
}
