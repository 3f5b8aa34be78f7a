//! The two signature algorithms that a token may have (RFC 7518 sections 3.3 and 3.4), each for keys of one kind.
//!
//! The algorithm belongs to the key. A token names one too, but that only selects among keys of its kind, so a public
//! key never becomes the secret of an HMAC.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use rustls_pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer,
    alg_id,
};
use webpki::{Error, RawPublicKeyEntity};

/// Bits that a modulus of RSA may have (RFC 7518 section 3.3 asks for 2048 at least).
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// Length of an uncompressed point of P-256: the form 4, and two coordinates.
const P256_POINT_LEN: usize = 65;

/// An algorithm of a signature, and with it the kind of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA with P-256 and SHA-256.
    Es256,
}

/// Why bytes are no key of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyMisfit {
    /// They are no SubjectPublicKeyInfo.
    NoKey,
    /// The key is of another kind.
    OtherKind,
    /// The key is of this kind, but too short, too long, or in a form that signatures are not verified with.
    Form,
}

impl TokenAlgorithm {
    /// All algorithms.
    pub(crate) const ALL: [TokenAlgorithm; 2] = [TokenAlgorithm::Rs256, TokenAlgorithm::Es256];

    /// Returns the algorithm that a token names (`alg` of RFC 7515 section 4.1.1, case-sensitive).
    pub(crate) fn of_name(name: &str) -> Option<TokenAlgorithm> {
        TokenAlgorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Returns the name in tokens.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TokenAlgorithm::Rs256 => "RS256",
            TokenAlgorithm::Es256 => "ES256",
        }
    }

    /// Reports whether the signature of a message is this key's. A key of another kind signs nothing.
    pub(crate) fn verifies(
        self,
        key: &SubjectPublicKeyInfoDer<'_>,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        RawPublicKeyEntity::try_from(key)
            .is_ok_and(|key| key.verify_signature(&Verifier(self), message, signature).is_ok())
    }

    /// Checks that this is a key which signatures of this algorithm can be verified with.
    ///
    /// # Errors
    /// What it is instead.
    pub(crate) fn fits(self, key: &SubjectPublicKeyInfoDer<'_>) -> Result<(), KeyMisfit> {
        let key = RawPublicKeyEntity::try_from(key).map_err(|_| KeyMisfit::NoKey)?;
        key.verify_signature(&FormCheck(self), &[], &[]).map_err(|error| match error {
            Error::InvalidSignatureForPublicKey => KeyMisfit::Form,
            _ => KeyMisfit::OtherKind,
        })
    }

    fn public_key_id(self) -> AlgorithmIdentifier {
        match self {
            TokenAlgorithm::Rs256 => alg_id::RSA_ENCRYPTION,
            TokenAlgorithm::Es256 => alg_id::ECDSA_P256,
        }
    }

    fn signature_id(self) -> AlgorithmIdentifier {
        match self {
            TokenAlgorithm::Rs256 => alg_id::RSA_PKCS1_SHA256,
            TokenAlgorithm::Es256 => alg_id::ECDSA_SHA256,
        }
    }

    fn of_ring(self) -> &'static dyn VerificationAlgorithm {
        match self {
            TokenAlgorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
            // A token has the two numbers side by side (RFC 7518 section 3.4), certificates have them in DER.
            TokenAlgorithm::Es256 => &ECDSA_P256_SHA256_FIXED,
        }
    }

    /// Reports whether the subjectPublicKey of a SubjectPublicKeyInfo has a form that ring accepts.
    fn has_form(self, key: &[u8]) -> bool {
        match self {
            TokenAlgorithm::Rs256 => {
                rsa_modulus_bits(key).is_some_and(|bits| RSA_BITS.contains(&bits))
            }
            TokenAlgorithm::Es256 => key.len() == P256_POINT_LEN && key[0] == 4,
        }
    }
}

/// Returns the bits of the modulus of an RSAPublicKey (RFC 8017 appendix A.1.1); None if it is shorter than 256 bytes,
/// since then DER has other lengths.
fn rsa_modulus_bits(key: &[u8]) -> Option<usize> {
    let [0x30, 0x82, _, _, 0x02, 0x82, high, low, rest @ ..] = key else { return None };
    let modulus = rest.get(..usize::from(u16::from_be_bytes([*high, *low])))?;
    // A positive number begins with a zero byte if its highest bit would be the sign.
    let modulus = modulus.strip_prefix(&[0]).unwrap_or(modulus);
    let first = modulus.first()?;
    Some(modulus.len() * 8 - first.leading_zeros() as usize)
}

/// Verifies signatures as tokens have them.
#[derive(Debug)]
struct Verifier(TokenAlgorithm);

impl SignatureVerificationAlgorithm for Verifier {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        UnparsedPublicKey::new(self.0.of_ring(), public_key)
            .verify(message, signature)
            .map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_id()
    }
}

/// Checks the form of a key in place of a signature: ring looks at a key only when it verifies.
#[derive(Debug)]
struct FormCheck(TokenAlgorithm);

impl SignatureVerificationAlgorithm for FormCheck {
    fn verify_signature(
        &self,
        public_key: &[u8],
        _message: &[u8],
        _signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.0.has_form(public_key).then_some(()).ok_or(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_a_modulus_are_counted() {
        let key = |modulus: &[u8]| {
            let len = u16::try_from(modulus.len()).expect("a short modulus").to_be_bytes();
            let head = [0x30, 0x82, 0, 0, 0x02, 0x82, len[0], len[1]];
            [&head, modulus, &[0x02, 0x03, 1, 0, 1]].concat()
        };
        let whole = [&[0, 0x80][..], &[0xff; 255]].concat();
        assert_eq!(rsa_modulus_bits(&key(&whole)), Some(2048));
        let shorter = [&[0x7f][..], &[0xff; 255]].concat();
        assert_eq!(rsa_modulus_bits(&key(&shorter)), Some(2047));
        let cut = key(&whole);
        assert_eq!(rsa_modulus_bits(&cut[..200]), None);
        // 1024 bits: lengths of one byte.
        assert_eq!(rsa_modulus_bits(&[0x30, 0x81, 0x89, 0x02, 0x81, 0x81, 0, 0xff, 0xff]), None);
    }
}
