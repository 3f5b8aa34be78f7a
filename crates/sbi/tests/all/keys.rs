//! Files of public keys, good and bad.

use crate::signers::{
    EcSigner, NOW_S, RSA, RSA_PUBLIC, bearer, check, claims, read_keys, sign_rsa, token,
};
use rcgen::{
    BasicConstraints, CertificateParams, IsCa, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    PKCS_RSA_SHA256,
};
use scurry_sbi::{KEYS_MAX, TokenFault, TokenKeys};
use serde_json::json;
use std::path::PathBuf;

fn words(text: &str) -> String {
    let error = read_keys(&[text]).expect_err("no keys").to_string();
    // The directory is another one each time.
    let (start, end) = error.split_once("0.pem").unwrap_or_else(|| panic!("no file: {error}"));
    let start = start.rsplit_once('/').map_or("", |(start, _)| start);
    let start = start.split_once('/').map_or(start, |(start, _)| start);
    format!("{start}FILE{end}")
}

fn certificate(pair: &KeyPair, name: &str) -> String {
    let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.self_signed(pair).expect("a certificate").pem()
}

#[test]
fn a_certificate_stands_for_its_key() {
    let signer = EcSigner::new();
    let of_ec = check(&[&certificate(signer.pair(), "nrf")]);
    assert!(of_ec.check(Some(&signer.token(&claims())), NOW_S).is_ok());
    let pair = KeyPair::from_pkcs8_pem_and_sign_algo(RSA, &PKCS_RSA_SHA256).expect("a key");
    let of_rsa = check(&[&certificate(&pair, "nrf")]);
    let value = bearer(&token(&json!({"alg": "RS256"}), &claims(), sign_rsa));
    assert!(of_rsa.check(Some(&value), NOW_S).is_ok());
}

#[test]
fn the_issuers_of_a_certificate_sign_no_tokens() {
    let (signer, authority) = (EcSigner::new(), EcSigner::new());
    let mut params = CertificateParams::new(vec!["ca".to_owned()]).expect("a name");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(authority.pair()).expect("a certificate").pem();
    let chain = certificate(signer.pair(), "nrf") + &root;
    let check = check(&[&chain]);
    assert!(check.check(Some(&signer.token(&claims())), NOW_S).is_ok());
    assert_eq!(check.check(Some(&authority.token(&claims())), NOW_S), Err(TokenFault::Signature));
}

#[test]
fn a_file_may_have_several_public_keys() {
    let (first, second) = (EcSigner::new(), EcSigner::new());
    let text = format!("{}# the next one\n{}", first.public(), second.public());
    let check = check(&[&text]);
    for signer in [&first, &second] {
        assert!(check.check(Some(&signer.token(&claims())), NOW_S).is_ok());
    }
}

#[test]
fn a_file_of_no_use_is_named_with_the_cure() {
    let no_key = "FILE has no public key: it needs `-----BEGIN PUBLIC KEY-----` or \
                  `-----BEGIN CERTIFICATE-----`";
    for text in
        ["", "no PEM", "-----BEGIN RSA PUBLIC KEY-----\nAA==\n-----END RSA PUBLIC KEY-----\n"]
    {
        assert_eq!(words(text), no_key, "{text}");
    }
    let private = "FILE has a private key, which belongs to the NRF alone: name a file with its \
                   public key (`openssl pkey -in FILE -pubout`)";
    assert_eq!(words(RSA), private);
    assert_eq!(words(&EcSigner::new().pair().serialize_pem()), private);
    let cut = &RSA_PUBLIC[..RSA_PUBLIC.len() / 2];
    assert!(words(cut).starts_with("FILE is not in PEM (missing section end marker"));
    let damaged = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    let expected = "the public key in FILE cannot be read (it is no SubjectPublicKeyInfo): export \
                    it from the NRF again";
    assert_eq!(words(damaged), expected);
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(words(damaged).starts_with("the certificate in FILE cannot be read ("));
}

#[test]
fn a_key_of_another_kind_or_strength_is_named_with_the_cure() {
    let kind = "the key in FILE is neither RSA nor P-256: tokens are signed with RS256 or ES256, so \
                have the NRF use a key of one of these kinds";
    for algorithm in [&PKCS_ECDSA_P384_SHA384, &PKCS_ED25519] {
        let pair = KeyPair::generate_for(algorithm).expect("a key");
        assert_eq!(words(&pair.public_key_pem()), kind);
        assert_eq!(words(&certificate(&pair, "nrf")), kind);
    }
    let form = "the key in FILE is of no use: an RSA key needs 2048 to 8192 bits, a P-256 key an \
                uncompressed point (`openssl pkey -pubin -in FILE -ec_conv_form uncompressed`)";
    assert_eq!(words(include_str!("../keys/rsa1024.pub.pem")), form);
    assert_eq!(words(include_str!("../keys/p256-compressed.pub.pem")), form);
}

#[test]
fn files_are_bounded_in_number_and_length() {
    let text = EcSigner::new().public();
    let most = vec![text.as_str(); KEYS_MAX];
    assert!(read_keys(&most).is_ok());
    let more = [most, vec![text.as_str()]].concat();
    let expected =
        "there are more than 16 public keys: remove those that the NRF signs with no more";
    assert_eq!(read_keys(&more).expect_err("too many").to_string(), expected);
    let long = format!("{}{text}", "#\n".repeat(256 * 1024));
    let expected = "FILE has more than 262144 bytes: name a file with a public key in PEM";
    assert_eq!(words(&long), expected);
    // Bytes of a device without an end are not awaited.
    let endless = TokenKeys::read(&[PathBuf::from("/dev/zero")]).expect_err("too long");
    assert!(endless.to_string().starts_with("/dev/zero has more than"), "{endless}");
    let missing = TokenKeys::read(&[PathBuf::from("/nowhere/nrf.pem")]).expect_err("no file");
    let expected = "cannot read the public key of the NRF in /nowhere/nrf.pem: No such file";
    assert!(missing.to_string().starts_with(expected), "{missing}");
}
