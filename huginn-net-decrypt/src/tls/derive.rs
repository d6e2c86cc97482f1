//! Key derivation: the PRF of TLS 1.2 (RFC 5246, section 5) and HKDF-Expand-Label of TLS 1.3 (RFC 8446, section 7.1).

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha384};
use zeroize::Zeroizing;

use super::suite::Hash;

/// Fills `out` with HKDF-Expand-Label of a secret, with an empty context. The label excludes its prefix.
pub(crate) fn expand_label(hash: Hash, secret: &[u8], label: &[u8], out: &mut [u8]) -> Option<()> {
    let len = u16::try_from(out.len()).ok()?.to_be_bytes();
    let prefix = b"tls13 ";
    let label_len = [u8::try_from(prefix.len().checked_add(label.len())?).ok()?];
    let info: [&[u8]; 5] = [&len, &label_len, prefix, label, &[0]];
    match hash {
        Hash::Sha256 => Hkdf::<Sha256>::from_prk(secret).ok()?.expand_multi_info(&info, out).ok(),
        Hash::Sha384 => Hkdf::<Sha384>::from_prk(secret).ok()?.expand_multi_info(&info, out).ok(),
    }
}

/// Fills `out` with the PRF of TLS 1.2.
pub(crate) fn prf(hash: Hash, secret: &[u8], label: &[u8], seed: [&[u8]; 2], out: &mut [u8]) -> Option<()> {
    match hash {
        Hash::Sha256 => p_hash::<Hmac<Sha256>>(secret, label, seed, out),
        Hash::Sha384 => p_hash::<Hmac<Sha384>>(secret, label, seed, out),
    }
}

/// P_hash (RFC 5246, section 5).
fn p_hash<M: Mac + KeyInit + Clone>(
    secret: &[u8],
    label: &[u8],
    seed: [&[u8]; 2],
    out: &mut [u8],
) -> Option<()> {
    let keyed = <M as KeyInit>::new_from_slice(secret).ok()?;
    let [one, other] = seed;
    let mac = |before: Option<&[u8]>, with_seed: bool| {
        let mut mac = keyed.clone();
        mac.update(before.unwrap_or_default());
        if with_seed {
            [label, one, other].into_iter().for_each(|part| mac.update(part));
        }
        Zeroizing::new(mac.finalize().into_bytes().to_vec())
    };
    let mut a = mac(None, true);
    let mut rest = out;
    while !rest.is_empty() {
        let block = mac(Some(&a), true);
        let len = block.len().min(rest.len());
        let (part, after) = rest.split_at_mut_checked(len)?;
        part.copy_from_slice(block.get(..len)?);
        rest = after;
        a = mac(Some(&a), false);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(digits: &str) -> Vec<u8> {
        let digits: Vec<_> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.as_chunks::<2>().0.iter().map(|[high, low]| u8::try_from(high << 4 | low).unwrap()).collect()
    }

    /// The vector for P_SHA256 of the IETF list (mailarchive.ietf.org, "TLS 1.2 PRF test vectors").
    #[test]
    fn prf_with_sha256() {
        let mut out = [0; 100];
        let secret = bytes("9b be 43 6b a9 40 f0 17 b1 76 52 84 9a 71 db 35");
        let seed = bytes("a0 ba 9f 93 6c da 31 18 27 a6 f7 96 ff d5 19 8c");
        prf(Hash::Sha256, &secret, b"test label", [&seed, &[]], &mut out).unwrap();
        let expected =
            "e3 f2 29 ba 72 7b e1 7b 8d 12 26 20 55 7c d4 53 c2 aa b2 1d 07 c3 d4 95 32 9b 52 d4 e6 1e db 5a
            6b 30 17 91 e9 0d 35 c9 c9 a4 6b 4e 14 ba f9 af 0f a0 22 f7 07 7d ef 17 ab fd 37 97 c0 56 4b ab
            4f bc 91 66 6e 9d ef 9b 97 fc e3 4f 79 67 89 ba a4 80 82 d1 22 ee 42 c5 a7 2e 5a 51 10 ff f7 01
            87 34 7b 66";
        assert_eq!(out[..], bytes(expected));
    }

    /// Traffic keys of RFC 8448, section 3 (server handshake).
    #[test]
    fn expand_label_of_rfc_8448() {
        let secret = bytes("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
        let (mut key, mut iv) = ([0; 16], [0; 12]);
        expand_label(Hash::Sha256, &secret, b"key", &mut key).unwrap();
        expand_label(Hash::Sha256, &secret, b"iv", &mut iv).unwrap();
        assert_eq!(key[..], bytes("3fce516009c21727d0f2e4e86ee403bc"));
        assert_eq!(iv[..], bytes("5d313eb2671276ee13000b30"));
    }
}
