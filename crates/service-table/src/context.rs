//! Contexts of services: which row's `context` is for which Service-Context-Id (RFC 8506 section 8.42).
//!
//! 3GPP writes them as `extensions.MNC.MCC.release.32251@3gpp.org` or as `32251@3gpp.org` (TS 32.299 section 7.1.12). What
//! is before the last dot in front of the `@` does not change the service, so it does not count.

use crate::TableError;
use crate::check::{RowCheck, quoted};

/// Longest `context` of a row, bytes.
pub const CONTEXT_LEN_MAX: usize = 128;

/// Checks the `context` of a row.
///
/// # Errors
/// If it is empty, too long or not printable, or if it has a part that does not count.
pub(crate) fn check(check: RowCheck, context: &str) -> Result<(), TableError> {
    const KEY: &str = "context";
    check.printable(KEY, context, CONTEXT_LEN_MAX)?;
    let counted = counted(context);
    if counted.starts_with('@') {
        let cure = "write the service before the @, such as \"32251@\"";
        return Err(check.error(KEY, format!("{} names no service: {cure}", quoted(context))));
    }
    if counted != context {
        let reason = "the part before the last dot in front of the @ does not count";
        let cure = format!("write {}", quoted(counted));
        return Err(check.error(KEY, format!("{} is too exact: {reason}; {cure}", quoted(context))));
    }
    Ok(())
}

/// Returns the patterns that a Service-Context-Id matches, the most exact first. None is the pattern of rows for any
/// context.
pub(crate) fn patterns(context: &str) -> [Option<&str>; 3] {
    let counted = counted(context);
    let any_domain = counted.rfind('@').map(|at| &counted[..=at]);
    [Some(counted), any_domain, None]
}

/// Returns the part of a Service-Context-Id that counts: `32251@3gpp.org` of `8.32251@3gpp.org`; all of it if it has no
/// `@`.
pub(crate) fn counted(context: &str) -> &str {
    let Some(at) = context.rfind('@') else { return context };
    let start = context[..at].rfind('.').map_or(0, |dot| dot + 1);
    &context[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_label_before_the_at_counts() {
        for (id, whole, any_domain) in [
            ("32251@3gpp.org", "32251@3gpp.org", Some("32251@")),
            ("ext.001.01.8.32251@3gpp.org", "32251@3gpp.org", Some("32251@")),
            ("8.32251@a.b", "32251@a.b", Some("32251@")),
            ("32251@", "32251@", Some("32251@")),
            (".@x", "@x", Some("@")),
            ("a@b@c", "a@b@c", Some("a@b@")),
            ("acme.example", "acme.example", None),
            ("", "", None),
        ] {
            assert_eq!(patterns(id), [Some(whole), any_domain, None], "{id}");
        }
    }
}
