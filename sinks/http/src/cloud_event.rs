//! An event as a CloudEvent 1.0 in JSON (structured mode).

use crate::settings::HttpSettings;
use scurry_ship::{Delivery, date};

/// Last time of which RFC 3339 has a date: the end of the year 9999.
const TIME_MS_MAX: i64 = 253_402_300_799_999;

/// Returns an event as a CloudEvent, one object of JSON.
pub(crate) fn cloud_event(delivery: &Delivery<'_>, settings: &HttpSettings) -> Vec<u8> {
    let record = delivery.record;
    let source = match &settings.source {
        Some(source) => source.clone(),
        None => format!("/scurry/{}", record.store),
    };
    let mut event = Vec::with_capacity(delivery.payload.len() + 256);
    event.extend_from_slice(br#"{"specversion":"1.0""#);
    let mut member = |name: &str, value: &str| {
        let value = serde_json::Value::from(value);
        event.extend_from_slice(format!(r#","{name}":{value}"#).as_bytes());
    };
    member("id", &record.id);
    member("source", &source);
    member("type", &format!("{}{}", settings.type_prefix, record.event));
    let identity = settings.subject_identity.as_ref().and_then(|kind| record.identities.get(kind));
    let subject = identity.unwrap_or(&record.account);
    if !subject.is_empty() {
        member("subject", subject);
    }
    if (1..=TIME_MS_MAX).contains(&record.time_ms) {
        member("time", &date(record.time_ms));
    }
    member("datacontenttype", "application/json");
    event.extend_from_slice(br#","data":"#);
    event.extend_from_slice(delivery.payload);
    event.push(b'}');
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_service::Position;
    use scurry_ship::{Form, Record, encode};
    use serde_json::{Value, json};

    fn shown(record: &Record, settings: &HttpSettings) -> Value {
        let mut payload = Vec::new();
        encode(record, Form::Json, &mut payload);
        let at = Position { generation: 1, thread: 0, sequence: 3, index: 1 };
        let event = cloud_event(&Delivery { record, payload: &payload, at }, settings);
        serde_json::from_slice(&event).expect("JSON")
    }

    #[test]
    fn an_event_has_the_members_of_cloudevents() {
        let mut settings = HttpSettings::new("http://a/".parse().expect("a URL"));
        let mut record = Record {
            id: "1.0:3-1".to_owned(),
            store: "00c0ffee00c0ffee".to_owned(),
            time_ms: 1_795_298_403_119,
            event: "limit".to_owned(),
            account: "a\"b".to_owned(),
            percent: Some(80),
            ..Record::default()
        };
        let data = serde_json::to_value(&record).expect("JSON");
        let expected = json!({
            "specversion": "1.0",
            "id": "1.0:3-1",
            "source": "/scurry/00c0ffee00c0ffee",
            "type": "scurry.limit",
            "subject": "a\"b",
            "time": date(record.time_ms),
            "datacontenttype": "application/json",
            "data": data,
        });
        assert_eq!(shown(&record, &settings), expected);
        settings.source = Some("https://charging.example/eu".to_owned());
        settings.type_prefix = "com.example.".to_owned();
        settings.subject_identity = Some("customer".to_owned());
        assert_eq!(shown(&record, &settings)["subject"], "a\"b", "it has no such identity");
        record.identities.insert("customer".to_owned(), "c7".to_owned());
        let event = shown(&record, &settings);
        assert_eq!(event["source"], "https://charging.example/eu");
        assert_eq!(
            (&event["type"], &event["subject"]),
            (&json!("com.example.limit"), &json!("c7"))
        );
        let missed = Record { event: "missed".to_owned(), ..Record::default() };
        let event = shown(&missed, &settings);
        assert!(event["subject"].is_null() && event["time"].is_null(), "{event}");
    }
}
