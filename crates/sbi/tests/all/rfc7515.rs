//! The signed examples of RFC 7515, appendices A.2 and A.3: signatures that no code of ours has made. Their claims are
//! not those of an access token, and are read only if the signature is right.

use crate::signers::{bearer, check, fault};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use scurry_sbi::TokenFault;

const CLAIMS: &str = "\
    eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0\
    cnVlfQ";

const RSA_MODULUS: &str = "\
    ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt\
    0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSX\
    ndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5\
    IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
const RSA_SIGNATURE: &str = "\
    cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W\
    2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS\
    jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv\
    Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

const EC_X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
const EC_Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
const EC_SIGNATURE: &str = "\
    DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

/// SubjectPublicKeyInfo of an RSA key of 2048 bits, before the modulus.
const RSA_SPKI: [u8; 33] = [
    0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01,
    0x01, 0x05, 0x00, 0x03, 0x82, 0x01, 0x0f, 0x00, 0x30, 0x82, 0x01, 0x0a, 0x02, 0x82, 0x01, 0x01,
    0x00,
];
/// The exponent 65537 after it.
const RSA_EXPONENT: [u8; 5] = [0x02, 0x03, 0x01, 0x00, 0x01];

/// SubjectPublicKeyInfo of a key of P-256, before the coordinates.
const EC_SPKI: [u8; 27] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
];

fn bytes(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).expect("base64url")
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
}

/// Checks that a signature is right, and wrong with another last part.
fn verifies(key: &str, header: &str, signature: &str) {
    let check = check(&[key]);
    let header = URL_SAFE_NO_PAD.encode(header);
    let found = fault(&check, &bearer(&format!("{header}.{CLAIMS}.{signature}")));
    let TokenFault::Malformed(why) = found else { panic!("{found}") };
    assert!(why.starts_with("its claims: missing field `sub`"), "{why}");
    let changed = signature.replacen(&signature[..1], "A", 1);
    let found = fault(&check, &bearer(&format!("{header}.{CLAIMS}.{changed}")));
    assert_eq!(found, TokenFault::Signature);
}

#[test]
fn the_example_of_rs256_is_verified() {
    let der = [RSA_SPKI.as_slice(), &bytes(RSA_MODULUS), &RSA_EXPONENT].concat();
    verifies(&pem(&der), r#"{"alg":"RS256"}"#, RSA_SIGNATURE);
}

#[test]
fn the_example_of_es256_is_verified() {
    let der = [EC_SPKI.as_slice(), &bytes(EC_X), &bytes(EC_Y)].concat();
    verifies(&pem(&der), r#"{"alg":"ES256"}"#, EC_SIGNATURE);
}
