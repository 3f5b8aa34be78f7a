//! The bounds of requests that a store sets itself: what the OpenAPI document says of them is what this store
//! enforces, as far as it tells.

use super::body::base64_of;
use super::reply::{field, text};
use crate::store::Store;
use serde_json::Value;
use std::collections::BTreeMap;

/// The member of a schema that names the setting of the store whose value its bound is.
const SETTING: &str = "x-scurry-limit";
const BYTES: &str = "maxLength";
/// Settings that bound requests, and the keyword of JSON Schema that says the same.
const SETTINGS: [(&str, &str); 5] = [
    ("identities_max", "maxProperties"),
    ("buckets_max", "maxItems"),
    ("items_max", "maxItems"),
    ("blob_len_max", BYTES),
    ("tcc_ms_max", "maximum"),
];

/// Bounds by the name of their setting; what is not here is as far as every store goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds(BTreeMap<&'static str, u64>);

impl Bounds {
    /// Asks the store. One that does not answer, or does not let this door ask, tells none.
    pub(super) async fn of(store: &dyn Store) -> Bounds {
        let question = [&b"CONFIG"[..], b"GET", b"*-max"].map(<[u8]>::to_vec);
        let Ok(reply) = store.execute(&question).await else {
            return Bounds::default();
        };
        let told = SETTINGS.iter().filter_map(|(setting, _)| {
            let value = text(field(&reply, &setting.replace('_', "-"))?)?;
            Some((*setting, value.parse().ok()?))
        });
        Bounds(told.collect())
    }

    /// Puts them in the place of the widest bounds of a document.
    pub(super) fn set(&self, document: &mut Value) {
        match document {
            Value::Object(object) => {
                let setting = object.get(SETTING).and_then(Value::as_str);
                let setting = SETTINGS.iter().find(|(name, _)| Some(*name) == setting);
                if let Some((name, keyword)) = setting
                    && let Some(&most) = self.0.get(name)
                {
                    object.insert((*keyword).to_owned(), most.into());
                    if *keyword == BYTES {
                        // Bytes are base64 in JSON.
                        object.extend(base64_of(most));
                    }
                }
                object.values_mut().for_each(|value| self.set(value));
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.set(value)),
            _ => {}
        }
    }
}
