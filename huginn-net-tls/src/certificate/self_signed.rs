//! Verifies the signature of a certificate with the certificate's own key.

use p256::ecdsa::signature::Verifier;
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use rsa::traits::SignatureScheme;
use rsa::{BoxedUint, Pss, PublicKey};
use sha1::Sha1;
use sha2::digest::FixedOutputReset;
use sha2::{Digest, Sha256, Sha384, Sha512};
use x509_parser::asn1_rs::{FromDer, Oid};
use x509_parser::public_key::RSAPublicKey;
use x509_parser::signature_algorithm::RsaSsaPssParams;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

use super::algorithm::{Names, look_up, oid};
use super::fields::{Body, CertificateFields};
use crate::limits::{MAX_RSA_KEY_BITS, MIN_RSA_KEY_BITS};

/// Hash functions of RSASSA-PSS (RFC 4055, section 2.1).
const HASHES: Names = &[
    (oid("1.3.14.3.2.26"), "SHA-1"),
    (oid("2.16.840.1.101.3.4.2.1"), "SHA-256"),
    (oid("2.16.840.1.101.3.4.2.2"), "SHA-384"),
    (oid("2.16.840.1.101.3.4.2.3"), "SHA-512"),
];
/// Mask generation functions (RFC 8017, appendix B.2.1).
const MASKS: Names = &[(oid("1.2.840.113549.1.1.8"), "MGF1")];

/// Whether the signature of a certificate was made with its own key. `None` unless both are of algorithms that are verified here.
pub(super) fn verifies(der: &[u8], fields: &CertificateFields) -> Option<bool> {
    let body = Body::split(der)?;
    // RFC 5280, section 4.1.1.2: both are the same.
    if body.signature_algorithm.whole != body.signed_algorithm.whole {
        return None;
    }
    let (_, info) = SubjectPublicKeyInfo::from_der(body.key.whole).ok()?;
    let key = &*info.subject_public_key.data;
    // No signature of these algorithms has unused bits.
    let [0, signature @ ..] = body.signature.content else { return None };
    let signed = Signed { message: body.signed.whole, signature };
    match (fields.signature_algorithm.as_deref()?, fields.key.as_deref()?) {
        ("sha1WithRSAEncryption", "RSA") => signed.verify_pkcs1::<Sha1>(key),
        ("sha256WithRSAEncryption", "RSA") => signed.verify_pkcs1::<Sha256>(key),
        ("sha384WithRSAEncryption", "RSA") => signed.verify_pkcs1::<Sha384>(key),
        ("sha512WithRSAEncryption", "RSA") => signed.verify_pkcs1::<Sha512>(key),
        ("rsassaPss", "RSA" | "RSA-PSS") => signed.verify_pss(key, body.signature_algorithm.whole),
        ("ecdsa-with-SHA256", curve) => signed.verify_ecdsa(curve, key, &Sha256::digest(signed.message)),
        ("ecdsa-with-SHA384", curve) => signed.verify_ecdsa(curve, key, &Sha384::digest(signed.message)),
        ("ecdsa-with-SHA512", curve) => signed.verify_ecdsa(curve, key, &Sha512::digest(signed.message)),
        ("ED25519", "Ed25519") => signed.verify_ed25519(key),
        _ => None,
    }
}

/// What was signed, and the signature.
#[derive(Clone, Copy)]
struct Signed<'a> {
    message: &'a [u8],
    signature: &'a [u8],
}

impl Signed<'_> {
    /// RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2).
    fn verify_pkcs1<D: Digest + const_oid::AssociatedOid>(self, key: &[u8]) -> Option<bool> {
        outcome(rsa_key(key)?.pkcs1v15_verify::<D>(self.message, self.signature))
    }

    /// RSASSA-PSS (RFC 8017, section 8.1.2), with the parameters of RFC 4055, section 3.1: one hash function for both purposes.
    fn verify_pss(self, key: &[u8], algorithm: &[u8]) -> Option<bool> {
        let (_, algorithm) = AlgorithmIdentifier::from_der(algorithm).ok()?;
        let parameters = RsaSsaPssParams::try_from(algorithm.parameters.as_ref()?).ok()?;
        let mask = parameters.mask_gen_algorithm().ok()?;
        let hash: &Oid<'_> = parameters.hash_algorithm_oid();
        if look_up(MASKS, &mask.mgf).is_none() || mask.hash != *hash || parameters.trailer_field() != 1 {
            return None;
        }
        let key = rsa_key(key)?;
        let salt_len = usize::try_from(parameters.salt_length()).ok()?;
        match look_up(HASHES, hash)? {
            "SHA-1" => self.verify_pss_with::<Sha1>(&key, salt_len),
            "SHA-256" => self.verify_pss_with::<Sha256>(&key, salt_len),
            "SHA-384" => self.verify_pss_with::<Sha384>(&key, salt_len),
            _ => self.verify_pss_with::<Sha512>(&key, salt_len),
        }
    }

    fn verify_pss_with<D: Digest + FixedOutputReset>(self, key: &PublicKey, salt_len: usize) -> Option<bool>
    where
        Pss<D>: SignatureScheme,
    {
        // A longer one does not fit into any modulus.
        if salt_len > MAX_RSA_KEY_BITS / 8 {
            return None;
        }
        outcome(key.verify(Pss::<D>::new_with_salt(salt_len), &D::digest(self.message), self.signature))
    }

    /// ECDSA (RFC 5758, section 3.2), with a hash of 32 bytes or more.
    fn verify_ecdsa(self, curve: &str, key: &[u8], hash: &[u8]) -> Option<bool> {
        match curve {
            "EC P-256" => {
                let signature = p256::ecdsa::Signature::from_der(self.signature).ok()?;
                let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
                Some(key.verify_prehash(hash, &signature).is_ok())
            }
            "EC P-384" => {
                let signature = p384::ecdsa::Signature::from_der(self.signature).ok()?;
                let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
                Some(key.verify_prehash(hash, &signature).is_ok())
            }
            _ => None,
        }
    }

    /// Ed25519 (RFC 8410, section 6).
    fn verify_ed25519(self, key: &[u8]) -> Option<bool> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
        let signature = ed25519_dalek::Signature::from_slice(self.signature).ok()?;
        Some(key.verify(self.message, &signature).is_ok())
    }
}

/// The key, unless its modulus has less than 512 or more than 8,192 bits, or its exponent more than 33: time of a verification is
/// bounded.
pub(super) fn rsa_key(der: &[u8]) -> Option<PublicKey> {
    let (_, key) = RSAPublicKey::from_der(der).ok()?;
    let [modulus, exponent] = [key.modulus, key.exponent].map(BoxedUint::from_be_slice_vartime);
    PublicKey::new_with_size_limits(modulus, exponent, MIN_RSA_KEY_BITS..=MAX_RSA_KEY_BITS).ok()
}

fn outcome(found: rsa::Result<()>) -> Option<bool> {
    match found {
        Ok(()) => Some(true),
        Err(rsa::Error::Verification) => Some(false),
        Err(_) => None,
    }
}
