//! Settings of the registration that are wrong, and what to do about them.

/// A setting of `[nchf.nrf]` that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NrfSettingsError {
    /// There is no NRF.
    #[error(
        "[nchf.nrf] needs uri: list the NRFs in the order of preference, such as \
         uri = [\"http://nrf.5gc.example:8000\"]"
    )]
    NoUri,
    /// A URI of an NRF cannot be used.
    #[error(
        "uri = {0:?} of [nchf.nrf]: {1}. Write the apiRoot of the NRF, such as http://nrf.5gc.example:8000"
    )]
    Uri(String, String),
    /// There is no name for the instance.
    #[error(
        "[nchf.nrf] needs instance_id: write a UUID that no other function has, as uuidgen prints it, and keep it"
    )]
    NoInstanceId,
    /// The name of the instance is no UUID.
    #[error("instance_id = {0:?} is no UUID: write one as uuidgen prints it")]
    InstanceId(String),
    /// Consumers would not know where to send requests.
    #[error(
        "[nchf.nrf] needs host or addresses: write by which name or addresses consumers reach this server"
    )]
    NoHost,
    /// The name is none.
    #[error(
        "host = {0:?} is no name of a host: write one without scheme and port, or use addresses"
    )]
    Host(String),
    /// Consumers cannot reach the address.
    #[error(
        "addresses has {0}, which no consumer can reach: write the address that consumers send requests to"
    )]
    Address(std::net::IpAddr),
    /// There is no port.
    #[error("[nchf.nrf] needs port, 1 to 65535: write to which port consumers send requests")]
    NoPort,
    /// The prefix is no part of a URI.
    #[error(
        "api_prefix = {0:?} is neither a path such as /charging nor a URI such as http://chf.example:8080/charging"
    )]
    ApiPrefix(String),
    /// A network has no such number.
    #[error("plmns has {0:?}: write MCC and MNC, 5 or 6 digits, such as 00101")]
    Plmn(String),
    /// A range is neither of numbers nor a pattern.
    #[error("a range in {0} needs start and end, or pattern alone")]
    RangeForm(&'static str),
    /// An end of a range is no number.
    #[error(
        "{setting} has {text:?}: start and end are {min} to {max} digits, without imsi- or msisdn- before them"
    )]
    Digits {
        /// Name of the setting.
        setting: &'static str,
        /// What stands there.
        text: String,
        /// Fewest digits.
        min: usize,
        /// Most digits.
        max: usize,
    },
    /// A range is empty.
    #[error("{0} has the range {1} to {2}: both need as many digits, and the start comes first")]
    Order(&'static str, String, String),
    /// A pattern is empty or too long.
    #[error("a pattern in {0} needs 1 to {1} bytes")]
    Pattern(&'static str, usize),
    /// A list is too long.
    #[error("{0} has more than {1} items: join ranges, or leave some out")]
    TooMany(&'static str, usize),
    /// A number is out of range.
    #[error("{0} must be from {1} to {2}")]
    Bound(&'static str, u32, u32),
    /// A certificate without a key, or the other way round.
    #[error("tls_cert needs tls_key, and tls_key needs tls_cert: set both, or none")]
    TlsPair,
}
