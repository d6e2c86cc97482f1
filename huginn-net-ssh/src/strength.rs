//! What published documents say about the strength of SSH methods.
//!
//! Only names in the tables are judged: those of RFCs, of IANA's registry "SSH Protocol Parameters", and of OpenSSH and other
//! implementations. A name that is not in the tables has no known weakness, which is not a statement that it is strong.
//!
//! ```
//! use huginn_net_ssh::strength::{MethodWeakness, weak_cipher, weak_host_key, weak_kex, weak_mac};
//!
//! let group1 = weak_kex(b"diffie-hellman-group1-sha1").unwrap();
//! assert_eq!((group1.weakness, group1.source), (MethodWeakness::ShortPrime, "RFC 9142"));
//! assert_eq!(weak_host_key(b"ssh-rsa").unwrap().weakness, MethodWeakness::Sha1Signature);
//! assert_eq!(weak_cipher(b"3des-cbc").unwrap().weakness, MethodWeakness::ShortBlock);
//! assert_eq!(weak_mac(b"hmac-sha1-96").unwrap().weakness, MethodWeakness::ShortMac);
//! assert_eq!(weak_kex(b"curve25519-sha256"), None);
//! ```

/// A weak method of the tables. The order is that of the weaknesses, then that of the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct WeakMethod {
    /// The worst weakness.
    pub weakness: MethodWeakness,
    /// The name. A GSS method has `*` for the hash of its mechanism, as in RFC 4462: `gss-group1-sha1-*`.
    pub name: &'static str,
    /// The document that advises against the method.
    pub source: &'static str,
}

huginn_net_wire::named! {
    /// The worst weakness of a method.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum MethodWeakness {
        /// `none` as a cipher: no encryption.
        NoEncryption = "no_encryption",
        /// `none` as a MAC: no protection against changes.
        NoMac = "no_mac",
        /// DES, with a key of 56 bits.
        Des = "des",
        /// RC4.
        Rc4 = "rc4",
        /// A Diffie-Hellman group or an RSA key of 1024 bits for the key exchange.
        ShortPrime = "short_prime",
        /// DSA, whose keys in SSH have 1024 bits, with SHA-1.
        Dss = "dss",
        /// A cipher with blocks of 64 bits: an attacker who sees much traffic can decrypt parts.
        ShortBlock = "short_block",
        /// A MAC with MD5.
        Md5 = "md5",
        /// Key exchange with SHA-1.
        Sha1KeyExchange = "sha1_key_exchange",
        /// RSA signatures with SHA-1.
        Sha1Signature = "sha1_signature",
        /// A MAC that is cut to 96 bits.
        ShortMac = "short_mac",
        /// A cipher in CBC mode: parts of the plaintext can be recovered.
        Cbc = "cbc",
    }
}

impl MethodWeakness {
    /// Whether an attacker with moderate means breaks it: no encryption, no MAC, DES and RC4.
    pub const fn is_broken(self) -> bool {
        matches!(self, Self::NoEncryption | Self::NoMac | Self::Des | Self::Rc4)
    }
}

/// Methods with the same weakness and the document that advises against them.
type Row = (MethodWeakness, &'static str, &'static [&'static str]);

const KEX: &[Row] = &[
    (
        MethodWeakness::ShortPrime,
        "RFC 9142",
        &["diffie-hellman-group1-sha1", "gss-group1-sha1-*", "rsa1024-sha1"],
    ),
    (
        MethodWeakness::Sha1KeyExchange,
        "RFC 9142",
        &["diffie-hellman-group-exchange-sha1", "gss-gex-sha1-*", "gss-group14-sha1-*"],
    ),
    // RFC 9142 still permits it.
    (MethodWeakness::Sha1KeyExchange, "OpenSSH 8.2", &["diffie-hellman-group14-sha1"]),
];

const HOST_KEYS: &[Row] = &[
    (
        MethodWeakness::Dss,
        "OpenSSH 7.0",
        &[
            "ssh-dss",
            "ssh-dss-cert-v00@openssh.com",
            "ssh-dss-cert-v01@openssh.com",
            "x509v3-ssh-dss",
            "x509v3-sign-dss",
            "spki-sign-dss",
            "pgp-sign-dss",
        ],
    ),
    (
        MethodWeakness::Sha1Signature,
        "RFC 8332; OpenSSH 8.8",
        &[
            "ssh-rsa",
            "ssh-rsa-cert-v00@openssh.com",
            "ssh-rsa-cert-v01@openssh.com",
            "x509v3-ssh-rsa",
            "x509v3-sign-rsa",
            "spki-sign-rsa",
            "pgp-sign-rsa",
        ],
    ),
];

const CIPHERS: &[Row] = &[
    (MethodWeakness::NoEncryption, "RFC 4253, section 6.3", &["none"]),
    (MethodWeakness::Des, "RFC 4772", &["des-cbc", "des-cbc@ssh.com"]),
    (MethodWeakness::Rc4, "RFC 8758", &["arcfour", "arcfour128", "arcfour256"]),
    (
        MethodWeakness::ShortBlock,
        "CVE-2016-2183; OpenSSH 7.4",
        &[
            "3des-cbc",
            "3des-ctr",
            "blowfish-cbc",
            "blowfish-ctr",
            "cast128-cbc",
            "cast128-ctr",
            "cast128-12-cbc@ssh.com",
            "idea-cbc",
            "idea-ctr",
        ],
    ),
    (
        MethodWeakness::Cbc,
        "CVE-2008-5161; OpenSSH 6.7",
        &[
            "aes128-cbc",
            "aes192-cbc",
            "aes256-cbc",
            "camellia128-cbc",
            "camellia192-cbc",
            "camellia256-cbc",
            "camellia128-cbc@openssh.org",
            "camellia192-cbc@openssh.org",
            "camellia256-cbc@openssh.org",
            "rijndael-cbc@lysator.liu.se",
            "rijndael-cbc@ssh.com",
            "rijndael128-cbc",
            "rijndael192-cbc",
            "rijndael256-cbc",
            "seed-cbc@ssh.com",
            "serpent128-cbc",
            "serpent192-cbc",
            "serpent256-cbc",
            "twofish-cbc",
            "twofish128-cbc",
            "twofish192-cbc",
            "twofish256-cbc",
        ],
    ),
];

const MACS: &[Row] = &[
    (MethodWeakness::NoMac, "RFC 4253, section 6.4", &["none"]),
    (
        MethodWeakness::Md5,
        "OpenSSH 7.2",
        &["hmac-md5", "hmac-md5-96", "hmac-md5-etm@openssh.com", "hmac-md5-96-etm@openssh.com"],
    ),
    (MethodWeakness::ShortMac, "OpenSSH 7.2", &["hmac-sha1-96", "hmac-sha1-96-etm@openssh.com"]),
];

/// Returns the weak key exchange method with this name (RFC 4253, section 8; RFC 4419; RFC 4432; RFC 4462; RFC 9142).
pub fn weak_kex(method: &[u8]) -> Option<WeakMethod> {
    find(KEX, method)
}

/// Returns the weak host key algorithm with this name (RFC 4253, section 6.6; RFC 6187; PROTOCOL.certkeys of OpenSSH).
pub fn weak_host_key(algorithm: &[u8]) -> Option<WeakMethod> {
    find(HOST_KEYS, algorithm)
}

/// Returns the weak cipher with this name (RFC 4253, section 6.3; RFC 4344; RFC 4345; draft-kanno-secsh-camellia; the manual of
/// Tectia).
pub fn weak_cipher(cipher: &[u8]) -> Option<WeakMethod> {
    find(CIPHERS, cipher)
}

/// Returns the weak MAC with this name (RFC 4253, section 6.4). HMAC with SHA-1 in full length has no known weakness.
pub fn weak_mac(mac: &[u8]) -> Option<WeakMethod> {
    find(MACS, mac)
}

fn find(table: &[Row], method: &[u8]) -> Option<WeakMethod> {
    table.iter().find_map(|(weakness, source, names)| {
        let name = names.iter().find(|name| match name.strip_suffix('*') {
            Some(start) => method.starts_with(start.as_bytes()),
            None => name.as_bytes() == method,
        });
        Some(WeakMethod { weakness: *weakness, name: name?, source })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Judge = fn(&[u8]) -> Option<WeakMethod>;
    /// A method, and its weakness.
    type Row<'a> = (&'a str, Option<MethodWeakness>);

    /// Names of IANA's registry "SSH Protocol Parameters", and of OpenSSH and others.
    #[test]
    fn methods_have_weaknesses_of_documents() {
        let rows: [(Judge, &[Row<'_>]); 4] = [
            (
                weak_kex,
                &[
                    ("diffie-hellman-group1-sha1", Some(MethodWeakness::ShortPrime)),
                    ("gss-group1-sha1-toWM5Slw5Ew8Mqkay+al2g==", Some(MethodWeakness::ShortPrime)),
                    ("rsa1024-sha1", Some(MethodWeakness::ShortPrime)),
                    ("diffie-hellman-group14-sha1", Some(MethodWeakness::Sha1KeyExchange)),
                    ("diffie-hellman-group-exchange-sha1", Some(MethodWeakness::Sha1KeyExchange)),
                    ("gss-gex-sha1-toWM5Slw5Ew8Mqkay+al2g==", Some(MethodWeakness::Sha1KeyExchange)),
                    ("gss-group14-sha1-*", Some(MethodWeakness::Sha1KeyExchange)),
                    ("own-sha1", None),
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
                weak_host_key,
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
                weak_cipher,
                &[
                    ("none", Some(MethodWeakness::NoEncryption)),
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
                    ("seed-cbc@ssh.com", Some(MethodWeakness::Cbc)),
                    ("twofish-cbc", Some(MethodWeakness::Cbc)),
                    ("cast128-12-cbc@ssh.com", Some(MethodWeakness::ShortBlock)),
                    ("own1-cbc", None),
                    ("des-own", None),
                    ("none@example.test", None),
                    ("aes128-ctr", None),
                    ("aes256-gcm@openssh.com", None),
                    ("chacha20-poly1305@openssh.com", None),
                ],
            ),
            (
                weak_mac,
                &[
                    ("none", Some(MethodWeakness::NoMac)),
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
                assert_eq!(judge(name.as_bytes()).map(|method| method.weakness), *wanted, "{name}");
                seen.extend(*wanted);
            }
        }
        assert!(MethodWeakness::ALL.iter().all(|weakness| seen.contains(weakness)));
    }

    #[test]
    fn name_and_source_are_those_of_the_table() {
        let found =
            |judge: Judge, name: &str| judge(name.as_bytes()).map(|method| (method.name, method.source));
        let rows: [(Judge, &str, &str, &str); 8] = [
            (weak_kex, "diffie-hellman-group1-sha1", "diffie-hellman-group1-sha1", "RFC 9142"),
            (weak_kex, "gss-group1-sha1-toWM5Slw5Ew8Mqkay+al2g==", "gss-group1-sha1-*", "RFC 9142"),
            (
                weak_kex,
                "diffie-hellman-group-exchange-sha1",
                "diffie-hellman-group-exchange-sha1",
                "RFC 9142",
            ),
            (weak_kex, "diffie-hellman-group14-sha1", "diffie-hellman-group14-sha1", "OpenSSH 8.2"),
            (weak_cipher, "none", "none", "RFC 4253, section 6.3"),
            (weak_mac, "none", "none", "RFC 4253, section 6.4"),
            (weak_mac, "hmac-md5-etm@openssh.com", "hmac-md5-etm@openssh.com", "OpenSSH 7.2"),
            (weak_cipher, "aes128-cbc", "aes128-cbc", "CVE-2008-5161; OpenSSH 6.7"),
        ];
        for (judge, name, wanted, source) in rows {
            assert_eq!(found(judge, name), Some((wanted, source)), "{name}");
        }
    }

    #[test]
    fn group_of_1024_bits_is_not_broken_by_moderate_means() {
        let broken = MethodWeakness::ALL.iter().copied().filter(|weakness| weakness.is_broken());
        let names: Vec<_> = broken.map(MethodWeakness::name).collect();
        assert_eq!(names, ["no_encryption", "no_mac", "des", "rc4"]);
    }

    #[test]
    fn any_bytes_are_judged() {
        for judge in [weak_kex as Judge, weak_host_key, weak_cipher, weak_mac] {
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
