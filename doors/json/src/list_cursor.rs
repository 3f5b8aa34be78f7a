//! The cursor of a list over HTTP: the server of the store that is asked next, and the position there.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_http::{FaultLocation, Problem, field_problem};
use std::borrow::Cow;
use std::fmt;

/// Most keys that one step examines, as in SCUR.LIST.
pub(crate) const LIMIT_MAX: i64 = scurry_resp::LIST_COUNT_MAX as i64;

/// A position in a scan of all servers, `SERVER.CURSOR` as text. Clients return it unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Number of the server.
    pub(crate) server: usize,
    /// The server's own cursor. 0 at the beginning.
    pub(crate) within: u64,
}

impl Cursor {
    /// Parses the cursor of a query. Without one the scan starts at the beginning.
    pub(crate) fn read(value: Option<&[u8]>) -> Result<Cursor, Problem> {
        let Some(value) = value else { return Ok(Cursor::default()) };
        let why = "must be the cursor of an earlier answer";
        Cursor::parse(value).ok_or_else(|| field_problem(FaultLocation::Parameter("cursor"), why))
    }

    fn parse(value: &[u8]) -> Option<Cursor> {
        let (server, within) = std::str::from_utf8(value).ok()?.split_once('.')?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(server) || !is_number(within) {
            return None;
        }
        Some(Cursor { server: server.parse().ok()?, within: within.parse().ok()? })
    }

    /// Returns the position after a server's answer. `within` is the cursor in the answer. None at the end of the
    /// scan.
    pub(crate) fn after(server: usize, within: u64, is_last: bool) -> Option<Cursor> {
        match within {
            // A server answers with cursor 0 when it has no more keys.
            0 if is_last => None,
            0 => Some(Cursor { server: server + 1, within: 0 }),
            within => Some(Cursor { server, within }),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.server, self.within)
    }
}

impl JsonSchema for Cursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]{1,4}[.][0-9]{1,19}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_from_server_to_server_and_ends() {
        let begin = Cursor::read(None).expect("the beginning");
        assert_eq!(begin, Cursor { server: 0, within: 0 });
        let next = Cursor::after(0, 17, false).expect("more of the first");
        assert_eq!(Cursor::parse(next.to_string().as_bytes()), Some(next));
        assert_eq!(Cursor::after(0, 0, false), Some(Cursor { server: 1, within: 0 }));
        assert_eq!(Cursor::after(1, 9, true), Some(Cursor { server: 1, within: 9 }));
        assert_eq!(Cursor::after(1, 0, true), None);
        for other in ["", "1", "1.", ".1", "+1.1", "1.-1", "1.1.1", "x.1", "0.18446744073709551616"]
        {
            assert_eq!(Cursor::parse(other.as_bytes()), None, "{other}");
        }
    }
}
