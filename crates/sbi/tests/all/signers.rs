//! Signs tokens as an NRF does, and in all the ways that it must not.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, RSA_PKCS1_SHA256, RsaKeyPair,
};
use scurry_sbi::{KeyError, TokenCheck, TokenFault, TokenKeys, TokenRules};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) const RSA: &str = include_str!("../keys/rsa2048.pem");
pub(crate) const RSA_PUBLIC: &str = include_str!("../keys/rsa2048.pub.pem");

/// When the tests are, seconds since 1970.
pub(crate) const NOW_S: u64 = 1_800_000_000;

pub(crate) const NRF: &str = "4947a69a-f61b-4bc1-b9da-47c9c5d14b64";
pub(crate) const SMF: &str = "8a9e1e2c-0c1b-4d0f-9c39-5fd1e7b1a001";
pub(crate) const CHF: &str = "0c765084-9cc5-49c6-9876-ae2f5fa2a63f";
pub(crate) const SCOPE: &str = "nchf-convergedcharging";

/// A key of P-256.
pub(crate) struct EcSigner {
    pair: KeyPair,
}

impl EcSigner {
    pub(crate) fn new() -> EcSigner {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key");
        EcSigner { pair }
    }

    pub(crate) fn public(&self) -> String {
        self.pair.public_key_pem()
    }

    pub(crate) fn pair(&self) -> &KeyPair {
        &self.pair
    }

    /// Signs as tokens are signed.
    pub(crate) fn sign(&self, signed: &str) -> Vec<u8> {
        self.signed_by(&ECDSA_P256_SHA256_FIXED_SIGNING, signed)
    }

    /// Signs as certificates are signed.
    pub(crate) fn sign_der(&self, signed: &str) -> Vec<u8> {
        self.signed_by(&ECDSA_P256_SHA256_ASN1_SIGNING, signed)
    }

    fn signed_by(&self, how: &'static EcdsaSigningAlgorithm, signed: &str) -> Vec<u8> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(how, self.pair.serialized_der(), &random);
        let signature = pair.expect("a key").sign(&random, signed.as_bytes());
        signature.expect("a signature").as_ref().to_vec()
    }

    /// Returns a token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> HeaderValue {
        bearer(&token(&json!({"alg": "ES256", "typ": "JWT"}), claims, |signed| self.sign(signed)))
    }
}

/// Signs with the key of RSA.
pub(crate) fn sign_rsa(signed: &str) -> Vec<u8> {
    let text: String = RSA.lines().filter(|line| !line.starts_with('-')).collect();
    let der = base64::engine::general_purpose::STANDARD.decode(text).expect("PEM");
    let pair = RsaKeyPair::from_pkcs8(&der).expect("a key");
    let mut signature = vec![0; pair.public().modulus_len()];
    let random = SystemRandom::new();
    pair.sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature).expect("a signature");
    signature
}

/// Returns a token with this header and these claims.
pub(crate) fn token(header: &Value, claims: &Value, sign: impl FnOnce(&str) -> Vec<u8>) -> String {
    token_of_bytes(header.to_string().as_bytes(), claims.to_string().as_bytes(), sign)
}

/// Returns a token of any bytes, rightly signed.
pub(crate) fn token_of_bytes(
    header: &[u8],
    claims: &[u8],
    sign: impl FnOnce(&str) -> Vec<u8>,
) -> String {
    let signed = format!("{}.{}", coded(header), coded(claims));
    let signature = coded(&sign(&signed));
    format!("{signed}.{signature}")
}

pub(crate) fn coded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn bearer(token: &str) -> HeaderValue {
    HeaderValue::try_from(format!("Bearer {token}")).expect("a header")
}

/// Returns claims that the rules accept, as TS 29.510 has them.
pub(crate) fn claims() -> Value {
    json!({
        "iss": NRF, "sub": SMF, "aud": "CHF", "scope": SCOPE, "exp": NOW_S + 3600,
        "consumerPlmnId": {"mcc": "001", "mnc": "01"},
    })
}

/// Returns claims with another value of a member, or without it if the value is null.
pub(crate) fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    let members = claims.as_object_mut().expect("an object");
    match value {
        Value::Null => members.remove(name),
        value => members.insert(name.to_owned(), value),
    };
    claims
}

pub(crate) fn rules() -> TokenRules {
    TokenRules {
        issuers: vec!["another-nrf".to_owned(), NRF.to_owned()],
        audiences: vec!["CHF".to_owned(), CHF.to_owned()],
        scope: SCOPE.to_owned(),
        leeway_s: 10,
    }
}

/// Reads the keys in files with these texts.
pub(crate) fn read_keys(texts: &[&str]) -> Result<TokenKeys, KeyError> {
    let directory = tempfile::tempdir().expect("a directory");
    let paths: Vec<PathBuf> =
        (0..texts.len()).map(|index| directory.path().join(format!("{index}.pem"))).collect();
    for (path, text) in paths.iter().zip(texts) {
        std::fs::write(path, text).expect("a file");
    }
    TokenKeys::read(&paths)
}

/// Returns the check by [`rules`] with the keys in these texts.
pub(crate) fn check(texts: &[&str]) -> TokenCheck {
    TokenCheck::new(rules(), read_keys(texts).expect("keys"))
}

/// Returns why a token does not open the service.
pub(crate) fn fault(check: &TokenCheck, value: &HeaderValue) -> TokenFault {
    check.check(Some(value), NOW_S).expect_err("no access")
}

/// Returns the same in words.
pub(crate) fn words(check: &TokenCheck, value: &HeaderValue) -> String {
    fault(check, value).to_string()
}
