//! What a signed token must say to open the service.

use crate::signers::{
    CHF, EcSigner, NOW_S, NRF, SCOPE, SMF, bearer, check, claims, claims_with, fault,
    token_of_bytes, words,
};
use http::StatusCode;
use scurry_sbi::TokenFault;
use serde_json::{Value, json};

#[test]
fn a_token_is_for_one_of_our_audiences() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let capitals = CHF.to_uppercase();
    for aud in [json!("CHF"), json!([CHF]), json!([SMF, CHF]), json!([capitals])] {
        let value = signer.token(&claims_with("aud", aud.clone()));
        assert!(check.check(Some(&value), NOW_S).is_ok(), "{aud}");
    }
    let others =
        [json!("SMF"), json!([SMF]), json!([]), json!(""), json!("CHF "), json!("CHF,SMF")];
    for aud in others {
        let found = fault(&check, &signer.token(&claims_with("aud", aud.clone())));
        assert!(matches!(found, TokenFault::Audience(_)), "{aud}: {found}");
        assert_eq!(found.status(), StatusCode::UNAUTHORIZED);
    }
    let other = words(&check, &signer.token(&claims_with("aud", json!("SMF"))));
    assert_eq!(other, "the token is for audience \"SMF\", which has none of `audiences`");
    // Without an audience, or with one of another type, it is for no service.
    let missing = words(&check, &signer.token(&claims_with("aud", json!(null))));
    assert!(missing.starts_with("this is no access token: its claims: missing field `aud`"));
    for aud in [json!(7), json!({"nfType": "CHF"}), json!([7, CHF]), json!(true)] {
        let found = fault(&check, &signer.token(&claims_with("aud", aud)));
        assert!(matches!(found, TokenFault::Malformed(_)), "{found}");
    }
}

#[test]
fn every_claim_of_the_type_is_required() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    for name in ["iss", "sub", "aud", "scope", "exp"] {
        let value = signer.token(&claims_with(name, json!(null)));
        let expected = format!("this is no access token: its claims: missing field `{name}`");
        assert!(words(&check, &value).starts_with(&expected), "{name}");
    }
}

#[test]
fn a_token_is_of_one_of_the_issuers() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    assert!(
        check.check(Some(&signer.token(&claims_with("iss", json!("another-nrf")))), NOW_S).is_ok()
    );
    let value = signer.token(&claims_with("iss", json!("evil\r\n\"nrf\"")));
    let found = fault(&check, &value);
    let expected = r#"the token is of issuer "evil\r\n\"nrf\"", which is not one of `issuers`"#;
    assert_eq!(found.to_string(), expected);
    assert_eq!(found.status(), StatusCode::UNAUTHORIZED);
    let challenge = "Bearer error=\"invalid_token\", error_description=\"the token is of issuer \
                     'evil?r?n?'nrf?'', which is not one of `issuers`\"";
    assert_eq!(found.challenge(), challenge);
    for iss in [NRF.to_uppercase(), format!("{NRF} "), String::new()] {
        let found = fault(&check, &signer.token(&claims_with("iss", json!(iss))));
        assert!(matches!(found, TokenFault::Issuer(_)), "{iss}");
    }
}

#[test]
fn a_token_is_valid_until_it_expires() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let at = |exp: Value| check.check(Some(&signer.token(&claims_with("exp", exp))), NOW_S);
    // Ten seconds are given for clocks.
    for exp in [NOW_S + 1, NOW_S, NOW_S - 9, u64::MAX] {
        assert!(at(json!(exp)).is_ok(), "{exp}");
    }
    for exp in [NOW_S - 10, NOW_S - 3600, 0] {
        let expected = TokenFault::Expired { ago_s: NOW_S - exp };
        assert_eq!(at(json!(exp)), Err(expected), "{exp}");
    }
    let words = at(json!(NOW_S - 60)).expect_err("no access").to_string();
    assert_eq!(words, "the token expired 60 s ago: get a new one from the NRF");
    for exp in [json!("1900000000"), json!(1.9e9), json!(-1), json!([1_900_000_000_u64])] {
        let found = at(exp.clone());
        assert!(matches!(found, Err(TokenFault::Malformed(_))), "{exp}: {found:?}");
    }
}

#[test]
fn a_token_is_not_valid_before_its_time() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let at = |nbf: Value| check.check(Some(&signer.token(&claims_with("nbf", nbf))), NOW_S);
    for nbf in [0, NOW_S - 3600, NOW_S, NOW_S + 10] {
        let claims = at(json!(nbf)).expect("access");
        assert_eq!(claims.not_before_s, Some(nbf));
    }
    assert_eq!(at(json!(NOW_S + 11)), Err(TokenFault::Early { until_s: 11 }));
    assert_eq!(at(json!(u64::MAX)), Err(TokenFault::Early { until_s: u64::MAX - NOW_S }));
    // A time of another type is not a missing one.
    for nbf in ["\"99999999999\"", "null", "[]", "1e9"] {
        let claims = claims().to_string().replacen('{', &format!("{{\"nbf\":{nbf},"), 1);
        let header = br#"{"alg":"ES256"}"#;
        let text = token_of_bytes(header, claims.as_bytes(), |signed| signer.sign(signed));
        let found = fault(&check, &bearer(&text));
        assert!(matches!(found, TokenFault::Malformed(_)), "{nbf}: {found}");
    }
}

#[test]
fn a_token_needs_the_scope_of_the_service() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    for scope in [SCOPE.to_owned(), format!("nchf-spendinglimitcontrol {SCOPE} x:y")] {
        let value = signer.token(&claims_with("scope", json!(scope)));
        assert!(check.check(Some(&value), NOW_S).is_ok(), "{scope}");
    }
    let others = [
        "",
        "nchf-spendinglimitcontrol",
        "nchf",
        "nchf-convergedcharging2",
        "NCHF-CONVERGEDCHARGING",
        "nchf-convergedcharging,x",
        "nchf-convergedcharging:read",
    ];
    for scope in others {
        let found = fault(&check, &signer.token(&claims_with("scope", json!(scope))));
        assert_eq!(found.status(), StatusCode::FORBIDDEN, "{scope}");
        let challenge = found.challenge();
        let challenge = challenge.to_str().expect("text");
        assert!(challenge.starts_with("Bearer error=\"insufficient_scope\""), "{challenge}");
        assert!(challenge.ends_with(", scope=\"nchf-convergedcharging\""), "{challenge}");
    }
    // What is wrong beside the scope is told first.
    let mut both = claims_with("scope", json!("x"));
    both["exp"] = json!(1);
    assert!(matches!(fault(&check, &signer.token(&both)), TokenFault::Expired { .. }));
}

#[test]
fn a_restriction_that_cannot_be_checked_is_refused() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let claims_of_producers = [
        "producerPlmnId",
        "producerSnpnId",
        "producerSnssaiList",
        "producerNsiList",
        "producerNfSetId",
        "producerNfServiceSetId",
    ];
    for claim in claims_of_producers {
        let found = fault(&check, &signer.token(&claims_with(claim, json!({"mcc": "001"}))));
        assert_eq!(found, TokenFault::Restricted { claim });
    }
}

#[test]
fn a_member_that_is_there_twice_is_refused() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let twice = claims().to_string().replacen('{', "{\"aud\":\"SMF\",", 1);
    let header = br#"{"alg":"ES256"}"#;
    let text = token_of_bytes(header, twice.as_bytes(), |signed| signer.sign(signed));
    let found = words(&check, &bearer(&text));
    assert!(
        found.starts_with("this is no access token: its claims: duplicate field `aud`"),
        "{found}"
    );
    let header = br#"{"alg":"none","alg":"ES256"}"#;
    let text =
        token_of_bytes(header, claims().to_string().as_bytes(), |signed| signer.sign(signed));
    assert!(words(&check, &bearer(&text)).contains("duplicate field `alg`"));
}

#[test]
fn what_is_said_of_a_token_is_short() {
    let signer = EcSigner::new();
    let check = check(&[&signer.public()]);
    let long = "x".repeat(5000);
    for name in ["iss", "aud", "scope", "exp", "nbf"] {
        let found = fault(&check, &signer.token(&claims_with(name, json!(long))));
        assert!(found.to_string().len() < 250, "{name}: {found}");
    }
}
