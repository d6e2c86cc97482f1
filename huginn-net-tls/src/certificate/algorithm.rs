//! Algorithms of keys and signatures, by their object identifiers.

use std::borrow::Cow;

use const_oid::ObjectIdentifier;
use x509_parser::asn1_rs::{Any, FromDer, Integer, Oid, Tag};
use x509_parser::public_key::RSAPublicKey;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

/// Names of object identifiers.
pub(super) type Names = &'static [(ObjectIdentifier, &'static str)];

/// An object identifier from its numbers.
pub(super) const fn oid(numbers: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(numbers)
}

pub(super) fn look_up(names: Names, oid: &Oid<'_>) -> Option<&'static str> {
    names.iter().find(|(known, _)| known.as_bytes() == oid.as_bytes()).map(|(_, name)| *name)
}

/// The numbers of an object identifier with dots; `None` if it is invalid or exceeds 39 bytes.
pub(super) fn oid_text(oid: &Oid<'_>) -> Option<String> {
    ObjectIdentifier::from_bytes(oid.as_bytes()).ok().map(|oid| oid.to_string())
}

/// The name of a signature algorithm, or its number.
pub(super) fn signature(algorithm: &AlgorithmIdentifier<'_>) -> Option<Cow<'static, str>> {
    name_or_number(SIGNATURES, &algorithm.algorithm)
}

/// The name or number of a key's algorithm, and the size of the key in bits.
pub(super) fn public_key(info: &SubjectPublicKeyInfo<'_>) -> (Option<Cow<'static, str>>, Option<u32>) {
    let (kind, parameters) = (&info.algorithm.algorithm, info.algorithm.parameters.as_ref());
    let is = |oid: ObjectIdentifier| kind.as_bytes() == oid.as_bytes();
    if is(EC) {
        let curve = parameters.and_then(|parameters| parameters.as_oid().ok());
        let known =
            curve.and_then(|curve| CURVES.iter().find(|(oid, ..)| oid.as_bytes() == curve.as_bytes()));
        return known
            .map_or((Some("EC".into()), None), |(_, name, bits)| (Some((*name).into()), Some(*bits)));
    }
    let bits = if is(RSA) || is(RSA_PSS) {
        RSAPublicKey::from_der(&info.subject_public_key.data).ok().and_then(|(_, key)| bit_len(key.modulus))
    } else if is(DSA) {
        parameters.and_then(dsa_prime_bits)
    } else {
        EDWARDS_BITS.iter().find(|(oid, _)| is(*oid)).map(|(_, bits)| *bits)
    };
    (name_or_number(KEYS, kind), bits)
}

fn name_or_number(names: Names, oid: &Oid<'_>) -> Option<Cow<'static, str>> {
    look_up(names, oid).map(Cow::Borrowed).or_else(|| oid_text(oid).map(Cow::Owned))
}

/// The length of the prime in the parameters of DSA (RFC 3279, section 2.3.2), in bits.
fn dsa_prime_bits(parameters: &Any<'_>) -> Option<u32> {
    if parameters.tag() != Tag::Sequence {
        return None;
    }
    let (_, prime) = Integer::from_der(parameters.data).ok()?;
    bit_len(prime.as_ref())
}

/// The length of a positive integer in bits.
fn bit_len(bytes: &[u8]) -> Option<u32> {
    if bytes.first()? & 0x80 != 0 {
        return None;
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = bytes.get(zeros..)?;
    let bits = u32::try_from(digits.len()).ok()?.checked_mul(8)?;
    bits.checked_sub(digits.first()?.leading_zeros())
}

const RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.1");
const RSA_PSS: ObjectIdentifier = oid("1.2.840.113549.1.1.10");
const DSA: ObjectIdentifier = oid("1.2.840.10040.4.1");
const EC: ObjectIdentifier = oid("1.2.840.10045.2.1");
const ED25519: ObjectIdentifier = oid("1.3.101.112");
const ED448: ObjectIdentifier = oid("1.3.101.113");

/// Algorithms of keys other than [`CURVES`].
const KEYS: Names = &[
    (RSA, "RSA"),
    (RSA_PSS, "RSA-PSS"),
    (DSA, "DSA"),
    (ED25519, "Ed25519"),
    (ED448, "Ed448"),
    (oid("1.2.643.2.2.19"), "GOST R 34.10-2001"),
    (oid("1.2.643.7.1.1.1.1"), "GOST R 34.10-2012 256"),
    (oid("1.2.643.7.1.1.1.2"), "GOST R 34.10-2012 512"),
    (oid("2.16.840.1.101.3.4.3.17"), "ML-DSA-44"),
    (oid("2.16.840.1.101.3.4.3.18"), "ML-DSA-65"),
    (oid("2.16.840.1.101.3.4.3.19"), "ML-DSA-87"),
];

/// Sizes of public keys in bits (RFC 8032, sections 5.1 and 5.2).
const EDWARDS_BITS: &[(ObjectIdentifier, u32)] = &[(ED25519, 256), (ED448, 456)];

/// Named curves (RFC 5480, section 2.1.1.1; RFC 5639, section 4.1; SEC 2), with the size of their fields in bits.
const CURVES: &[(ObjectIdentifier, &str, u32)] = &[
    (oid("1.2.840.10045.3.1.7"), "EC P-256", 256),
    (oid("1.3.132.0.34"), "EC P-384", 384),
    (oid("1.3.132.0.35"), "EC P-521", 521),
    (oid("1.3.132.0.33"), "EC P-224", 224),
    (oid("1.2.840.10045.3.1.1"), "EC P-192", 192),
    (oid("1.3.132.0.10"), "EC secp256k1", 256),
    (oid("1.3.36.3.3.2.8.1.1.7"), "EC brainpoolP256r1", 256),
    (oid("1.3.36.3.3.2.8.1.1.11"), "EC brainpoolP384r1", 384),
    (oid("1.3.36.3.3.2.8.1.1.13"), "EC brainpoolP512r1", 512),
    (oid("1.2.156.10197.1.301"), "EC SM2", 256),
];

/// Algorithms of signatures by OpenSSL's names.
const SIGNATURES: Names = &[
    (oid("1.2.840.113549.1.1.2"), "md2WithRSAEncryption"),
    (oid("1.2.840.113549.1.1.3"), "md4WithRSAEncryption"),
    (oid("1.2.840.113549.1.1.4"), "md5WithRSAEncryption"),
    (oid("1.2.840.113549.1.1.5"), "sha1WithRSAEncryption"),
    (oid("1.3.14.3.2.29"), "sha1WithRSA"),
    (RSA_PSS, "rsassaPss"),
    (oid("1.2.840.113549.1.1.11"), "sha256WithRSAEncryption"),
    (oid("1.2.840.113549.1.1.12"), "sha384WithRSAEncryption"),
    (oid("1.2.840.113549.1.1.13"), "sha512WithRSAEncryption"),
    (oid("1.2.840.113549.1.1.14"), "sha224WithRSAEncryption"),
    (oid("1.2.840.10045.4.1"), "ecdsa-with-SHA1"),
    (oid("1.2.840.10045.4.3.1"), "ecdsa-with-SHA224"),
    (oid("1.2.840.10045.4.3.2"), "ecdsa-with-SHA256"),
    (oid("1.2.840.10045.4.3.3"), "ecdsa-with-SHA384"),
    (oid("1.2.840.10045.4.3.4"), "ecdsa-with-SHA512"),
    (oid("1.2.840.10040.4.3"), "dsaWithSHA1"),
    (oid("2.16.840.1.101.3.4.3.1"), "dsa_with_SHA224"),
    (oid("2.16.840.1.101.3.4.3.2"), "dsa_with_SHA256"),
    (ED25519, "ED25519"),
    (ED448, "ED448"),
    (oid("1.2.156.10197.1.501"), "SM2-with-SM3"),
    (oid("2.16.840.1.101.3.4.3.17"), "ML-DSA-44"),
    (oid("2.16.840.1.101.3.4.3.18"), "ML-DSA-65"),
    (oid("2.16.840.1.101.3.4.3.19"), "ML-DSA-87"),
];
