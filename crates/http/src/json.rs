//! Strict reading of JSON bodies: each error names the field that is wrong.

use crate::fault::{FaultLocation, field_problem};
use crate::problem::Problem;
use crate::strict::Strict;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

/// Parses a body that must be JSON, with a matching Content-Type and nothing after the value.
pub fn read_json<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    if !kind.is_some_and(is_json) {
        let why = "the body must be JSON and say so: Content-Type: application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::of_code("UNSUPPORTED_MEDIA_TYPE", status, why));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(Strict::new(&mut reader));
    let value = read.map_err(|error| {
        let why = plain(&error.inner().to_string());
        field_problem(FaultLocation::Body(&pointer(error.path(), &why)), &why)
    })?;
    reader
        .end()
        .map_err(|error| field_problem(FaultLocation::Body(""), &plain(&error.to_string())))?;
    Ok(value)
}

fn is_json(kind: &[u8]) -> bool {
    let plain = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    plain.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Returns a parse error's message without line and column: the pointer tells the place.
fn plain(error: &str) -> String {
    let why = match error.rsplit_once(" at line ") {
        Some((why, place)) if place.contains(" column ") && !why.starts_with("expected") => why,
        _ => error,
    };
    // Use the JSON names instead of serde's.
    why.replacen("invalid type: sequence", "invalid type: array", 1).replacen(
        "invalid type: map",
        "invalid type: object",
        1,
    )
}

/// Returns the JSON pointer (RFC 6901) of a parse error. serde reports a missing, unknown or duplicate field at the
/// object around it, so its name is appended.
fn pointer(path: &Path, why: &str) -> String {
    let mut pointer = String::new();
    let mut last = "";
    for segment in path {
        let name = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => {
                last = key;
                key.replace('~', "~0").replace('/', "~1")
            }
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => continue,
        };
        pointer.push('/');
        pointer.push_str(&name);
    }
    let named = ["missing field `", "unknown field `", "duplicate field `"];
    let field = named.iter().find_map(|head| why.strip_prefix(head)?.split('`').next());
    if let Some(field) = field.filter(|field| *field != last) {
        pointer.push('/');
        pointer.push_str(&field.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Outer {
        items: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Inner {
        requested: u32,
    }

    fn fault(body: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        format!("{:?}", read_json::<Outer>(&headers, body.as_bytes()).expect_err(body))
    }

    #[test]
    fn a_wrong_body_names_the_field() {
        for (body, pointer) in [
            (r#"{"items":[{"requested":1},{"requested":-1}]}"#, "/items/1/requested"),
            (r#"{"items":[{}]}"#, "/items/0/requested"),
            (r#"{"items":[{"requested":1,"a/b":2}]}"#, "/items/0/a~1b"),
            (r#"{"items":[],"items":[]}"#, "/items"),
            (r#"{"items":7}"#, "/items"),
            (r"[", ""),
            (r#"{"items":[]} x"#, ""),
        ] {
            let fault = fault(body);
            assert!(
                fault.contains(&format!("\"pointer\": String(\"{pointer}\")")),
                "{body}: {fault}"
            );
        }
    }
}
