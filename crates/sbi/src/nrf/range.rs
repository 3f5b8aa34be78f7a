//! Ranges of subscribers and networks that a charging function serves.

use super::settings_error::NrfSettingsError;

/// Longest pattern or number, bytes.
const LEN_MAX: usize = 256;

/// SupiRange, IdentityRange or PlmnRange of TS 29.510 (6.1.6.2.9, 6.1.6.2.10, 6.1.6.2.54): first and last of numbers with
/// as many digits, or a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a range: { start = \"..\", end = \"..\" } or { pattern = \"..\" }"
)]
pub struct IdentityRange {
    /// First number, digits alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Last number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// A regular expression (ECMA-262) of whole identities, such as `^imsi-00101[0-9]{10}$`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

impl IdentityRange {
    /// Checks a range of the setting with this name, whose numbers have so many digits.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn check(
        &self,
        setting: &'static str,
        digits: std::ops::RangeInclusive<usize>,
    ) -> Result<(), NrfSettingsError> {
        match (&self.start, &self.end, &self.pattern) {
            (None, None, Some(pattern)) => match pattern.len() {
                1..=LEN_MAX => Ok(()),
                _ => Err(NrfSettingsError::Pattern(setting, LEN_MAX)),
            },
            (Some(start), Some(end), None) => {
                let is_number = |text: &String| {
                    digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
                };
                if let Some(wrong) = [start, end].into_iter().find(|text| !is_number(text)) {
                    let (min, max) = (*digits.start(), *digits.end());
                    return Err(NrfSettingsError::Digits {
                        setting,
                        text: wrong.clone(),
                        min,
                        max,
                    });
                }
                if start.len() != end.len() || start > end {
                    return Err(NrfSettingsError::Order(setting, start.clone(), end.clone()));
                }
                Ok(())
            }
            _ => Err(NrfSettingsError::RangeForm(setting)),
        }
    }
}
