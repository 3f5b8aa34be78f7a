//! The form, the signature and the key of a token.

use crate::signers::{
    EcSigner, NOW_S, NRF, RSA_PUBLIC, SCOPE, SMF, bearer, check, claims, claims_with, coded, fault,
    read_keys, sign_rsa, token, token_of_bytes, words,
};
use http::{HeaderValue, StatusCode};
use scurry_sbi::{TOKEN_LEN_MAX, TokenFault};
use serde_json::{Value, json};

#[test]
fn tokens_of_both_algorithms_are_accepted() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public(), RSA_PUBLIC]);
    let accepted = check.check(Some(&signer.token(&claims())), NOW_S).expect("access");
    assert_eq!(accepted.issuer, NRF);
    assert_eq!(accepted.subject, SMF);
    assert_eq!(accepted.audience, ["CHF"]);
    assert_eq!(accepted.scope, SCOPE);
    assert_eq!((accepted.expires_s, accepted.not_before_s), (NOW_S + 3600, None));
    let rsa = bearer(&token(&json!({"alg": "RS256"}), &claims(), sign_rsa));
    assert_eq!(check.check(Some(&rsa), NOW_S), Ok(accepted));
}

#[test]
fn the_scheme_is_bearer_in_any_case() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let value = signer.token(&claims());
    let token = value.to_str().expect("text").strip_prefix("Bearer ").expect("a token");
    for scheme in ["bearer ", "BEARER ", "Bearer   "] {
        let value = HeaderValue::try_from(format!("{scheme}{token}")).expect("a header");
        assert!(check.check(Some(&value), NOW_S).is_ok(), "{scheme}");
    }
    for value in [format!("Basic {token}"), format!("Bearer{token}"), token.to_owned()] {
        let value = HeaderValue::try_from(value).expect("a header");
        assert_eq!(fault(&check, &value), TokenFault::NoToken, "{value:?}");
    }
    for value in ["", "Bearer", "Basic dTpw", "Digest x"] {
        assert_eq!(fault(&check, &HeaderValue::from_static(value)), TokenFault::NoToken);
    }
    assert_eq!(check.check(None, NOW_S), Err(TokenFault::NoToken));
}

#[test]
fn only_a_signature_of_a_known_key_counts() {
    let (signer, stranger) = (EcSigner::new(), EcSigner::new());
    let check = check(&[&signer.public(), RSA_PUBLIC]);
    assert_eq!(fault(&check, &stranger.token(&claims())), TokenFault::Signature);
    let es256 = json!({"alg": "ES256"});
    let der = bearer(&token(&es256, &claims(), |signed| signer.sign_der(signed)));
    assert_eq!(fault(&check, &der), TokenFault::Signature);
    let empty = bearer(&token(&es256, &claims(), |_| Vec::new()));
    assert_eq!(fault(&check, &empty), TokenFault::Signature);
    let zeros = bearer(&token(&es256, &claims(), |_| vec![0; 64]));
    assert_eq!(fault(&check, &zeros), TokenFault::Signature);
    let rsa = bearer(&token(&json!({"alg": "RS256"}), &claims(), |signed| {
        let mut signature = sign_rsa(signed);
        signature[100] ^= 1;
        signature
    }));
    assert_eq!(fault(&check, &rsa), TokenFault::Signature);
}

#[test]
fn a_change_of_any_part_breaks_the_signature() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let whole = token(&json!({"alg": "ES256"}), &claims(), |signed| signer.sign(signed));
    let mut parts: Vec<&str> = whole.split('.').collect();
    let claims = coded(claims_with("sub", json!("another")).to_string().as_bytes());
    parts[1] = &claims;
    assert_eq!(fault(&check, &bearer(&parts.join("."))), TokenFault::Signature);
    parts = whole.split('.').collect();
    let header = coded(json!({"alg": "ES256", "typ": "at+jwt"}).to_string().as_bytes());
    parts[0] = &header;
    assert_eq!(fault(&check, &bearer(&parts.join("."))), TokenFault::Signature);
}

#[test]
fn an_algorithm_is_accepted_for_keys_of_its_kind_only() {
    let signer = EcSigner::new();
    let both = check(&[&signer.public(), RSA_PUBLIC]);
    // The secret of an HMAC that every consumer knows.
    for secret in [RSA_PUBLIC.as_bytes(), signer.pair().public_key_raw(), b""] {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
        let value = bearer(&token(&json!({"alg": "HS256"}), &claims(), |signed| {
            ring::hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
        }));
        let expected = "the token is signed with \"HS256\": have the NRF sign with RS256 or ES256";
        assert_eq!(words(&both, &value), expected);
    }
    for alg in ["none", "None", "NONE", "", "es256", "ES384", "RS512", "PS256", "EdDSA"] {
        let unsigned = bearer(&token(&json!({"alg": alg}), &claims(), |_| Vec::new()));
        assert_eq!(fault(&both, &unsigned), TokenFault::Algorithm(format!("{alg:?}")));
        let signed = bearer(&token(&json!({"alg": alg}), &claims(), |text| signer.sign(text)));
        assert_eq!(fault(&both, &signed), TokenFault::Algorithm(format!("{alg:?}")));
    }
    // The other algorithm than that of the signature and of the only key.
    let only_ec = check(&[&signer.public()]);
    let named_rs256 =
        bearer(&token(&json!({"alg": "RS256"}), &claims(), |signed| signer.sign(signed)));
    let no_key = TokenFault::NoKey { algorithm: "RS256", kid: None };
    assert_eq!(fault(&only_ec, &named_rs256), no_key);
    assert_eq!(fault(&both, &named_rs256), TokenFault::Signature);
    let named_es256 = bearer(&token(&json!({"alg": "ES256"}), &claims(), sign_rsa));
    assert_eq!(fault(&both, &named_es256), TokenFault::Signature);
}

#[test]
fn a_key_with_a_name_signs_tokens_of_that_name() {
    let (old, new) = (EcSigner::new(), EcSigner::new());
    let texts = [format!("kid: old\n{}", old.public()), format!("  kid:new \n{}", new.public())];
    let named = check(&[&texts[0], &texts[1]]);
    let signed = |signer: &EcSigner, kid: Value| {
        let header = json!({"alg": "ES256", "kid": kid});
        bearer(&token(&header, &claims(), |signed| signer.sign(signed)))
    };
    assert!(named.check(Some(&signed(&old, json!("old"))), NOW_S).is_ok());
    assert!(named.check(Some(&signed(&new, json!("new"))), NOW_S).is_ok());
    assert_eq!(fault(&named, &signed(&old, json!("new"))), TokenFault::Signature);
    let unknown = "no public key for ES256 with kid \"x\" is known here: add the key of the NRF to \
                   `keys`";
    assert_eq!(words(&named, &signed(&old, json!("x"))), unknown);
    // Without a name, on one side or the other, all keys are tried.
    assert!(named.check(Some(&new.token(&claims())), NOW_S).is_ok());
    let unnamed = check(&[&old.public()]);
    assert!(unnamed.check(Some(&signed(&old, json!("x"))), NOW_S).is_ok());
    for kid in [json!(7), json!(null)] {
        assert!(matches!(fault(&named, &signed(&old, kid)), TokenFault::Malformed(_)));
    }
    // A line after a key names nothing.
    let after = check(&[&format!("{}kid: new\n", old.public())]);
    assert!(after.check(Some(&signed(&old, json!("old"))), NOW_S).is_ok());
}

#[test]
fn extensions_that_must_be_understood_are_refused() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    for crit in [json!(["b64"]), json!([]), json!(null), json!("exp")] {
        let header = json!({"alg": "ES256", "b64": false, "crit": crit});
        let value = bearer(&token(&header, &claims(), |signed| signer.sign(signed)));
        assert_eq!(fault(&check, &value), TokenFault::Critical, "{header}");
    }
}

#[test]
fn a_token_has_three_parts_in_base64url() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let whole = token(&json!({"alg": "ES256"}), &claims(), |signed| signer.sign(signed));
    let parts: Vec<&str> = whole.split('.').collect();
    let broken = [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "...".to_owned(),
        parts[0].to_owned(),
        format!("{}.{}", parts[0], parts[1]),
        format!("{whole}."),
        format!("{whole}.{whole}"),
        format!("{whole}="),
        format!("{whole} x"),
        format!("{}+/.{}.{}", parts[0], parts[1], parts[2]),
        format!("{}.{}.{}", coded(b"[]"), parts[1], parts[2]),
        format!("{}.{}.{}", coded(b"{}"), parts[1], parts[2]),
        format!("{}.{}.{}", coded(b"{\"alg\":\"ES256\"} x"), parts[1], parts[2]),
    ];
    for text in broken {
        let found = fault(&check, &bearer(&format!(" {text}")));
        // Spaces alone are no token.
        let expected = matches!(found, TokenFault::Malformed(_))
            || text.is_empty() && found == TokenFault::NoToken;
        assert!(expected, "{text}: {found}");
    }
    // Claims that are no JSON, although signed.
    let header = br#"{"alg":"ES256"}"#;
    for claims in [&b""[..], b"null", b"{", b"\xff", b"[]"] {
        let text = token_of_bytes(header, claims, |signed| signer.sign(signed));
        assert!(matches!(fault(&check, &bearer(&text)), TokenFault::Malformed(_)));
    }
    let bytes = HeaderValue::from_bytes(b"Bearer \xff\xfe").expect("a header");
    assert!(matches!(fault(&check, &bytes), TokenFault::Malformed(_)));
}

#[test]
fn a_long_token_is_refused() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let of_len = |len: usize| {
        let base = signer.token(&claims_with("pad", json!(""))).len() - "Bearer ".len();
        let mut pad = (len - base) * 3 / 4;
        loop {
            let value = signer.token(&claims_with("pad", json!("x".repeat(pad))));
            if value.len() - "Bearer ".len() >= len {
                return value;
            }
            pad += 1;
        }
    };
    let fits = of_len(TOKEN_LEN_MAX - 2);
    assert!(fits.len() - "Bearer ".len() <= TOKEN_LEN_MAX);
    assert!(check.check(Some(&fits), NOW_S).is_ok());
    let long = of_len(TOKEN_LEN_MAX + 1);
    let found = fault(&check, &long);
    assert!(matches!(found, TokenFault::Oversize { len_max: TOKEN_LEN_MAX, .. }), "{found}");
    assert_eq!(found.status(), StatusCode::UNAUTHORIZED);
}

#[test]
fn keys_are_replaced_for_the_next_request() {
    let (old, new) = (EcSigner::new(), EcSigner::new());
    let check = check(&[&old.public()]);
    let (by_old, by_new) = (old.token(&claims()), new.token(&claims()));
    assert!(check.check(Some(&by_old), NOW_S).is_ok());
    assert_eq!(fault(&check, &by_new), TokenFault::Signature);
    check.replace_keys(read_keys(&[&new.public()]).expect("a key"));
    assert!(check.check(Some(&by_new), NOW_S).is_ok());
    assert_eq!(fault(&check, &by_old), TokenFault::Signature);
}

#[test]
fn the_answer_is_that_of_rfc_6750() {
    let missing = TokenFault::NoToken;
    assert_eq!(missing.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(missing.challenge(), "Bearer realm=\"3gpp-sbi\"");
    let expired = TokenFault::Expired { ago_s: 3 };
    assert_eq!(expired.status(), StatusCode::UNAUTHORIZED);
    let challenge = "Bearer error=\"invalid_token\", error_description=\"the token expired 3 s ago: \
                     get a new one from the NRF\"";
    assert_eq!(expired.challenge(), challenge);
    // Long texts are cut, and strange ones are made plain.
    let long = TokenFault::Malformed("\u{e9}\\\"".repeat(1000));
    let challenge = long.challenge();
    assert!(challenge.len() < 400 && challenge.to_str().is_ok(), "{challenge:?}");
}
