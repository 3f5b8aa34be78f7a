//! The part of an OpenAPI document that every door has.

use serde_json::{Value, json};

/// Returns the security schemes of a door: how users authenticate.
pub fn security_schemes() -> Value {
    json!({
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of a user: scurry make-token.",
        },
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "Name and password of a user.",
        },
    })
}
