//! What published documents say about the strength of SSH methods.
//!
//! A name that is not in the tables has no known weakness, which is not a statement that it is strong.
//!
//! ```
//! use huginn_net_ssh::strength::{MethodWeakness, cipher_weakness, host_key_weakness, kex_weakness, mac_weakness};
//!
//! assert_eq!(kex_weakness(b"diffie-hellman-group1-sha1"), Some(MethodWeakness::ShortPrime));
//! assert_eq!(host_key_weakness(b"ssh-rsa"), Some(MethodWeakness::Sha1Signature));
//! assert_eq!(cipher_weakness(b"3des-cbc"), Some(MethodWeakness::ShortBlock));
//! assert_eq!(mac_weakness(b"hmac-sha1-96"), Some(MethodWeakness::ShortMac));
//! assert_eq!(kex_weakness(b"curve25519-sha256"), None);
//! assert_eq!(MethodWeakness::ShortPrime.source(), "RFC 9142");
//! ```

/// The worst weakness of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MethodWeakness {
    /// `none` as a cipher or MAC: no encryption, or no protection against changes.
    NoProtection,
    /// DES, with a key of 56 bits.
    Des,
    /// RC4.
    Rc4,
    /// A Diffie-Hellman group or an RSA key of 1024 bits for the key exchange.
    ShortPrime,
    /// DSA, whose keys in SSH have 1024 bits, with SHA-1.
    Dss,
    /// A cipher with blocks of 64 bits: an attacker who sees much traffic can decrypt parts.
    ShortBlock,
    /// A MAC with MD5.
    Md5,
    /// Key exchange with SHA-1.
    Sha1KeyExchange,
    /// RSA signatures with SHA-1.
    Sha1Signature,
    /// A MAC that is cut to 96 bits.
    ShortMac,
    /// A cipher in CBC mode: parts of the plaintext can be recovered.
    Cbc,
}

impl MethodWeakness {
    /// All weaknesses, the worst first.
    pub const ALL: [Self; 11] = [
        Self::NoProtection,
        Self::Des,
        Self::Rc4,
        Self::ShortPrime,
        Self::Dss,
        Self::ShortBlock,
        Self::Md5,
        Self::Sha1KeyExchange,
        Self::Sha1Signature,
        Self::ShortMac,
        Self::Cbc,
    ];

    /// The name, such as `rc4`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoProtection => "no_protection",
            Self::Des => "des",
            Self::Rc4 => "rc4",
            Self::ShortPrime => "short_prime",
            Self::Dss => "dss",
            Self::ShortBlock => "short_block",
            Self::Md5 => "md5",
            Self::Sha1KeyExchange => "sha1_key_exchange",
            Self::Sha1Signature => "sha1_signature",
            Self::ShortMac => "short_mac",
            Self::Cbc => "cbc",
        }
    }

    /// The document that advises against it.
    pub const fn source(self) -> &'static str {
        match self {
            Self::NoProtection => "RFC 4253, sections 6.3 and 6.4",
            Self::Des => "RFC 4772",
            Self::Rc4 => "RFC 8758",
            Self::ShortPrime => "RFC 9142",
            Self::Dss => "OpenSSH 7.0",
            Self::ShortBlock => "CVE-2016-2183; OpenSSH 7.4",
            Self::Md5 | Self::ShortMac => "OpenSSH 7.2",
            Self::Sha1KeyExchange => "RFC 9142; OpenSSH 8.2",
            Self::Sha1Signature => "RFC 8332; OpenSSH 8.8",
            Self::Cbc => "CVE-2008-5161; OpenSSH 6.7",
        }
    }

    /// Whether an attacker with moderate means breaks it: no encryption, DES, RC4, and a prime of 1024 bits.
    pub const fn is_broken(self) -> bool {
        matches!(self, Self::NoProtection | Self::Des | Self::Rc4 | Self::ShortPrime)
    }
}

/// The weakness of a key exchange method (RFC 4253, section 8; RFC 4419; RFC 4432; RFC 4462; RFC 9142).
pub fn kex_weakness(method: &[u8]) -> Option<MethodWeakness> {
    let is_short = [&b"diffie-hellman-group1-"[..], b"gss-group1-", b"rsa1024-"]
        .iter()
        .any(|start| method.starts_with(start));
    if is_short {
        return Some(MethodWeakness::ShortPrime);
    }
    // The name of a GSS method ends with the hash of its mechanism, or with `*` in documents.
    let has_sha1 = method.ends_with(b"-sha1") || method.starts_with(b"gss-") && contains(method, b"-sha1-");
    has_sha1.then_some(MethodWeakness::Sha1KeyExchange)
}

/// The weakness of a host key algorithm (RFC 4253, section 6.6; RFC 6187; PROTOCOL.certkeys of OpenSSH).
pub fn host_key_weakness(algorithm: &[u8]) -> Option<MethodWeakness> {
    match without_version(algorithm) {
        b"ssh-dss" | b"x509v3-ssh-dss" | b"x509v3-sign-dss" | b"spki-sign-dss" | b"pgp-sign-dss" => {
            Some(MethodWeakness::Dss)
        }
        b"ssh-rsa" | b"x509v3-ssh-rsa" | b"x509v3-sign-rsa" | b"spki-sign-rsa" | b"pgp-sign-rsa" => {
            Some(MethodWeakness::Sha1Signature)
        }
        _ => None,
    }
}

/// The weakness of a cipher (RFC 4253, section 6.3; RFC 4344; RFC 4345).
pub fn cipher_weakness(cipher: &[u8]) -> Option<MethodWeakness> {
    let name = without_domain(cipher);
    let starts = |start: &[u8]| name.starts_with(start);
    if name == b"none" {
        Some(MethodWeakness::NoProtection)
    } else if starts(b"des-") {
        Some(MethodWeakness::Des)
    } else if starts(b"arcfour") {
        Some(MethodWeakness::Rc4)
    } else if [&b"3des-"[..], b"blowfish-", b"cast128-", b"idea-"].iter().any(|start| starts(start)) {
        Some(MethodWeakness::ShortBlock)
    } else if name.ends_with(b"-cbc") {
        Some(MethodWeakness::Cbc)
    } else {
        None
    }
}

/// The weakness of a MAC (RFC 4253, section 6.4). HMAC with SHA-1 in full length has none that is known.
pub fn mac_weakness(mac: &[u8]) -> Option<MethodWeakness> {
    let name = without_domain(mac);
    let name = name.strip_suffix(b"-etm").unwrap_or(name);
    match name {
        b"none" => Some(MethodWeakness::NoProtection),
        b"hmac-md5" | b"hmac-md5-96" => Some(MethodWeakness::Md5),
        b"hmac-sha1-96" => Some(MethodWeakness::ShortMac),
        _ => None,
    }
}

/// The name before `@` and the domain of who defined it (RFC 4251, section 6).
fn without_domain(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == b'@').next().unwrap_or(name)
}

/// The key type of a certificate of OpenSSH, such as `ssh-rsa` of `ssh-rsa-cert-v01@openssh.com`; other names as they are.
fn without_version(name: &[u8]) -> &[u8] {
    let plain = without_domain(name);
    [&b"-cert-v01"[..], b"-cert-v00"].iter().find_map(|end| plain.strip_suffix(*end)).unwrap_or(plain)
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(name, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Judge = fn(&[u8]) -> Option<MethodWeakness>;

    /// Names of IANA's registry "SSH Protocol Parameters", and of OpenSSH and others.
    #[test]
    fn methods_have_weaknesses_of_documents() {
        let rows: [(Judge, &[(&str, Option<MethodWeakness>)]); 4] = [
            (
                kex_weakness,
                &[
                    ("diffie-hellman-group1-sha1", Some(MethodWeakness::ShortPrime)),
                    ("gss-group1-sha1-toWM5Slw5Ew8Mqkay+al2g==", Some(MethodWeakness::ShortPrime)),
                    ("rsa1024-sha1", Some(MethodWeakness::ShortPrime)),
                    ("diffie-hellman-group14-sha1", Some(MethodWeakness::Sha1KeyExchange)),
                    ("diffie-hellman-group-exchange-sha1", Some(MethodWeakness::Sha1KeyExchange)),
                    ("gss-gex-sha1-toWM5Slw5Ew8Mqkay+al2g==", Some(MethodWeakness::Sha1KeyExchange)),
                    ("gss-group14-sha1-*", Some(MethodWeakness::Sha1KeyExchange)),
                    ("diffie-hellman-group14-sha256", None),
                    ("diffie-hellman-group16-sha512", None),
                    ("diffie-hellman-group-exchange-sha256", None),
                    ("gss-group14-sha256-toWM5Slw5Ew8Mqkay+al2g==", None),
                    ("rsa2048-sha256", None),
                    ("ecdh-sha2-nistp256", None),
                    ("curve25519-sha256", None),
                    ("mlkem768x25519-sha256", None),
                    ("sntrup761x25519-sha512@openssh.com", None),
                    ("ext-info-c", None),
                ],
            ),
            (
                host_key_weakness,
                &[
                    ("ssh-dss", Some(MethodWeakness::Dss)),
                    ("ssh-dss-cert-v01@openssh.com", Some(MethodWeakness::Dss)),
                    ("x509v3-ssh-dss", Some(MethodWeakness::Dss)),
                    ("ssh-rsa", Some(MethodWeakness::Sha1Signature)),
                    ("ssh-rsa-cert-v01@openssh.com", Some(MethodWeakness::Sha1Signature)),
                    ("ssh-rsa-cert-v00@openssh.com", Some(MethodWeakness::Sha1Signature)),
                    ("x509v3-sign-rsa", Some(MethodWeakness::Sha1Signature)),
                    ("ssh-rsa-sha256@ssh.com", None),
                    ("rsa-sha2-256", None),
                    ("rsa-sha2-512-cert-v01@openssh.com", None),
                    ("ssh-ed25519", None),
                    ("ecdsa-sha2-nistp256", None),
                    ("x509v3-rsa2048-sha256", None),
                    ("null", None),
                ],
            ),
            (
                cipher_weakness,
                &[
                    ("none", Some(MethodWeakness::NoProtection)),
                    ("des-cbc", Some(MethodWeakness::Des)),
                    ("des-cbc@ssh.com", Some(MethodWeakness::Des)),
                    ("arcfour", Some(MethodWeakness::Rc4)),
                    ("arcfour128", Some(MethodWeakness::Rc4)),
                    ("arcfour256", Some(MethodWeakness::Rc4)),
                    ("3des-cbc", Some(MethodWeakness::ShortBlock)),
                    ("3des-ctr", Some(MethodWeakness::ShortBlock)),
                    ("blowfish-cbc", Some(MethodWeakness::ShortBlock)),
                    ("cast128-ctr", Some(MethodWeakness::ShortBlock)),
                    ("idea-cbc", Some(MethodWeakness::ShortBlock)),
                    ("aes128-cbc", Some(MethodWeakness::Cbc)),
                    ("aes256-cbc", Some(MethodWeakness::Cbc)),
                    ("rijndael-cbc@lysator.liu.se", Some(MethodWeakness::Cbc)),
                    ("twofish-cbc", Some(MethodWeakness::Cbc)),
                    ("aes128-ctr", None),
                    ("aes256-gcm@openssh.com", None),
                    ("chacha20-poly1305@openssh.com", None),
                ],
            ),
            (
                mac_weakness,
                &[
                    ("none", Some(MethodWeakness::NoProtection)),
                    ("hmac-md5", Some(MethodWeakness::Md5)),
                    ("hmac-md5-96", Some(MethodWeakness::Md5)),
                    ("hmac-md5-etm@openssh.com", Some(MethodWeakness::Md5)),
                    ("hmac-sha1-96", Some(MethodWeakness::ShortMac)),
                    ("hmac-sha1-96-etm@openssh.com", Some(MethodWeakness::ShortMac)),
                    ("hmac-sha1", None),
                    ("hmac-sha1-etm@openssh.com", None),
                    ("hmac-sha2-256", None),
                    ("umac-64@openssh.com", None),
                    ("<implicit>", None),
                ],
            ),
        ];
        let mut seen = Vec::new();
        for (judge, names) in rows {
            for (name, wanted) in names {
                assert_eq!(judge(name.as_bytes()), *wanted, "{name}");
                seen.extend(*wanted);
            }
        }
        assert!(MethodWeakness::ALL.iter().all(|weakness| seen.contains(weakness)));
    }

    #[test]
    fn any_bytes_are_judged() {
        for judge in [kex_weakness as Judge, host_key_weakness, cipher_weakness, mac_weakness] {
            for name in [&b""[..], b"@", b"-cbc@", b"\xff\x00"] {
                let _ = judge(name);
            }
            assert_eq!(judge(b"\xff\xff"), None);
        }
    }

    #[test]
    fn weaknesses_are_in_order() {
        assert!(MethodWeakness::ALL.is_sorted());
        let broken = MethodWeakness::ALL.iter().filter(|weakness| weakness.is_broken()).count();
        assert!(MethodWeakness::ALL.iter().take(broken).all(|weakness| weakness.is_broken()));
    }
}
