//! No bytes make the crate panic, and no bytes open the service.

use crate::signers::{
    EcSigner, NOW_S, RSA_PUBLIC, bearer, check, claims, coded, token, token_of_bytes,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;
use scurry_sbi::{
    CALLBACK, CORRELATION_INFO, MAX_RSP_TIME, MESSAGE_PRIORITY, RequestHeaders, SENDER_TIMESTAMP,
    SenderTimestamp, SentHeaders, TokenKeys,
};
use serde_json::json;

fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..200),
        "[ -~]{0,60}".prop_map(String::into_bytes),
        "[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8}[.][0-9]{3} GMT"
            .prop_map(String::into_bytes),
        "[a-z]{0,5}-[a-z0-9@]{0,5}(; ?[a-z]{0,5}-[a-z0-9]{0,5}){0,3}".prop_map(String::into_bytes),
        "[a-zA-Z_]{0,9}(; ?apiversion=[0-9]{0,4})?".prop_map(String::into_bytes),
        "[0-9]{0,7}".prop_map(String::into_bytes),
    ]
}

fn names() -> impl Strategy<Value = HeaderName> {
    prop_oneof![
        Just(MESSAGE_PRIORITY),
        Just(CALLBACK),
        Just(SENDER_TIMESTAMP),
        Just(MAX_RSP_TIME),
        Just(CORRELATION_INFO),
    ]
}

proptest! {
    #[test]
    fn any_authorization_is_read_without_a_panic(bytes in values(), now_s in any::<u64>()) {
        let check = check(&[RSA_PUBLIC]);
        for bytes in [bytes.clone(), [b"Bearer ".as_slice(), &bytes].concat()] {
            let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
            let fault = check.check(Some(&value), now_s).expect_err("no access");
            prop_assert!(fault.challenge().to_str().is_ok());
        }
    }

    #[test]
    fn any_header_claims_and_signature_open_nothing(
        header in vec(any::<u8>(), 0..40),
        claims in vec(any::<u8>(), 0..40),
        signature in vec(any::<u8>(), 0..300),
        is_es256 in any::<bool>(),
    ) {
        let check = check(&[RSA_PUBLIC, &EcSigner::new().public()]);
        let named = json!({"alg": if is_es256 { "ES256" } else { "RS256" }}).to_string();
        for header in [header.as_slice(), named.as_bytes()] {
            let text = token_of_bytes(header, &claims, |_| signature.clone());
            prop_assert!(check.check(Some(&bearer(&text)), NOW_S).is_err());
        }
    }

    #[test]
    fn signed_claims_of_any_form_are_read_without_a_panic(
        claims in "[{]?(\"(iss|sub|aud|scope|exp|nbf)\":([0-9]{1,25}|null|\"[a-zA-Z]{0,4}\"|[\\[{]),?){0,6}[}]?",
    ) {
        let signer = EcSigner::new();
        let check = check(&[&signer.public()]);
        let header = br#"{"alg":"ES256"}"#;
        let text = token_of_bytes(header, claims.as_bytes(), |signed| signer.sign(signed));
        prop_assert!(check.check(Some(&bearer(&text)), NOW_S).is_err());
    }

    #[test]
    fn a_token_with_one_changed_character_opens_nothing(at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_.-]") {
        let signer = EcSigner::new();
        let check = check(&[&signer.public()]);
        let whole = token(&json!({"alg": "ES256"}), &claims(), |signed| signer.sign(signed));
        let at = at.index(whole.len());
        let mut changed = whole.clone();
        changed.replace_range(at..=at, &to);
        let is_open = check.check(Some(&bearer(&changed)), NOW_S).is_ok();
        prop_assert_eq!(is_open, changed == whole);
    }

    #[test]
    fn any_file_of_keys_is_read_without_a_panic(bytes in vec(any::<u8>(), 0..300), is_key in any::<bool>()) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key.pem");
        let kind = if is_key { "PUBLIC KEY" } else { "CERTIFICATE" };
        let coded = coded(&bytes).replace('-', "+").replace('_', "/");
        let padding = "=".repeat((4 - coded.len() % 4) % 4);
        let pem = format!("-----BEGIN {kind}-----\n{coded}{padding}\n-----END {kind}-----\n");
        for text in [bytes.as_slice(), pem.as_bytes()] {
            std::fs::write(&path, text).expect("a file");
            let error = TokenKeys::read(std::slice::from_ref(&path)).expect_err("no key");
            prop_assert!(error.to_string().contains("key.pem"));
        }
    }

    #[test]
    fn any_headers_are_read_without_a_panic(
        all in vec((names(), values()), 0..8),
        now_ms in any::<u64>(),
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(name, value);
            }
        }
        if let Ok(read) = RequestHeaders::read(&headers, now_ms) {
            prop_assert!(!read.is_late(now_ms));
            prop_assert!(read.ignored.len() <= 5);
            // What was read can be written, and is read alike.
            let sent = SentHeaders {
                priority: read.priority,
                callback: read.callback.as_ref(),
                max_rsp_time: None,
                correlation_info: read.correlation_info.as_ref(),
            };
            let mut written = HeaderMap::new();
            sent.write(&mut written, now_ms);
            let again = RequestHeaders::read(&written, now_ms).expect("no deadline");
            prop_assert!(again.ignored.is_empty());
            prop_assert_eq!(again.priority, read.priority);
            prop_assert_eq!(again.callback, read.callback);
            prop_assert_eq!(again.correlation_info, read.correlation_info);
        }
    }

    #[test]
    fn any_time_is_written_as_it_is_read(ms in 0..253_402_300_800_000_u64) {
        let timestamp = SenderTimestamp::from_ms(ms).expect("a time");
        let mut headers = HeaderMap::new();
        headers.insert(SENDER_TIMESTAMP, timestamp.into());
        let read = RequestHeaders::read(&headers, ms).expect("no deadline");
        prop_assert_eq!(read.sent, Some(timestamp));
        prop_assert_eq!(timestamp.ms(), ms);
    }
}
