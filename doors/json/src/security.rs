//! What the OpenAPI document says of credentials.

use scurry_resp::table::Role;
use serde_json::{Value, json};

/// Returns the security requirement: either scheme, with the role that the user needs. An open door also accepts
/// requests without credentials.
pub(crate) fn security(is_open: bool, role: Option<Role>) -> Value {
    let roles: Vec<&str> = role.iter().map(|role| role.name()).collect();
    match is_open {
        true => json!([{}, { "bearer": roles }, { "basic": roles }]),
        false => json!([{ "bearer": roles }, { "basic": roles }]),
    }
}
