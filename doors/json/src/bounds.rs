//! Bounds of requests that are settings of the store. The door asks for them, so that the OpenAPI document states the
//! bounds that this store enforces, if the store tells them.

use crate::body::base64_of;
use scurry_service::{Service, StoreRead, StoreReply};
use serde_json::Value;
use std::collections::BTreeMap;

/// Member of a schema with the name of the store's setting that bounds it.
const SETTING: &str = "x-scurry-limit";
const BYTES: &str = "maxLength";
/// Settings that bound requests, each with the JSON Schema keyword for the bound.
const SETTINGS: [(&str, &str); 5] = [
    ("identities_max", "maxProperties"),
    ("buckets_max", "maxItems"),
    ("items_max", "maxItems"),
    ("blob_len_max", BYTES),
    ("tcc_ms_max", "maximum"),
];

/// Bounds by the name of their setting. Without an entry the document keeps the widest bound that any store allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds(BTreeMap<&'static str, u64>);

impl Bounds {
    /// Asks the store for its bounds. Returns none if it does not answer or refuses the question to this door.
    pub(crate) async fn ask(store: &dyn Service) -> Bounds {
        let Ok(StoreReply::Settings(settings)) = store.read_store(StoreRead::Bounds).await else {
            return Bounds::default();
        };
        let told = SETTINGS.iter().filter_map(|(setting, _)| {
            let value = settings.get(&setting.replace('_', "-"))?;
            Some((*setting, value.parse().ok()?))
        });
        Bounds(told.collect())
    }

    /// Replaces the widest bounds of a document by these.
    pub(crate) fn set(&self, document: &mut Value) {
        match document {
            Value::Object(object) => {
                let setting = object.get(SETTING).and_then(Value::as_str);
                let setting = SETTINGS.iter().find(|(name, _)| Some(*name) == setting);
                if let Some((name, keyword)) = setting
                    && let Some(&most) = self.0.get(name)
                {
                    object.insert((*keyword).to_owned(), most.into());
                    if *keyword == BYTES {
                        // The setting counts bytes, the schema the characters of base64.
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
