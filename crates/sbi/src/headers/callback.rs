//! 3gpp-Sbi-Callback: that a request is a notification, and of which kind.

use super::single::number;
use http::HeaderValue;

/// Bytes of a callback type at most.
const TYPE_LEN_MAX: usize = 128;

/// Digits of the API's major version at most.
const VERSION_DIGITS_MAX: usize = 3;

/// Parameter with the version.
const API_VERSION: &[u8] = b"apiversion=";

/// Major version of the API that a notification belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApiVersion(pub u16);

/// Kind of a notification (TS 29.500 clause 5.2.3.2.3 and annex B).
#[derive(Clone, Debug)]
pub struct CallbackType {
    name: String,
    version: Option<ApiVersion>,
}

impl CallbackType {
    /// Returns this kind; None if the name has other characters than letters, digits, `-` and `_`, or too many.
    pub fn new(name: &str, version: Option<ApiVersion>) -> Option<CallbackType> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let fits = (1..=TYPE_LEN_MAX).contains(&name.len()) && name.bytes().all(is_name);
        fits.then(|| CallbackType { name: name.to_owned(), version })
    }

    /// Returns the name, such as `Nchf_ConvergedCharging_Notify`, as it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version of the API, if it was told.
    pub fn version(&self) -> Option<ApiVersion> {
        self.version
    }

    /// Reports whether this is the kind of that name, in any case (annex B).
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Reads `name` or `name; apiversion=number`.
    pub(crate) fn read(text: &[u8]) -> Result<CallbackType, &'static str> {
        const WHY: &str = "it is no callback type, with or without `; apiversion=`";
        let text = std::str::from_utf8(text).map_err(|_| WHY)?;
        let (name, version) = match text.split_once(';') {
            None => (text, None),
            Some((name, parameter)) => {
                let digits = parameter.as_bytes().trim_ascii_start().strip_prefix(API_VERSION);
                let version = digits.and_then(|digits| number(digits, VERSION_DIGITS_MAX));
                (name, Some(version.and_then(|version| u16::try_from(version).ok()).ok_or(WHY)?))
            }
        };
        CallbackType::new(name, version.map(ApiVersion)).ok_or(WHY)
    }
}

/// Types are the same in any case (annex B).
impl PartialEq for CallbackType {
    fn eq(&self, other: &CallbackType) -> bool {
        self.is(&other.name) && self.version == other.version
    }
}

impl Eq for CallbackType {}

impl From<&CallbackType> for HeaderValue {
    fn from(callback: &CallbackType) -> HeaderValue {
        let text = match callback.version {
            None => callback.name.clone(),
            Some(ApiVersion(version)) => format!("{}; apiversion={version}", callback.name),
        };
        // The characters of a type are characters of a header.
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }
}
