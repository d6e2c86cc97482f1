//! The algorithms of a connection, from both SSH_MSG_KEXINITs (RFC 4253, section 7.1).

use std::borrow::Cow;
use std::fmt;

use huginn_net_wire::Side;

use crate::{KexInit, NameList, SshField};

/// Names that both sides list to announce strict key exchange: of the client and of the server, as OpenSSH introduced them
/// and as draft-ietf-sshm-strict-kex has them.
const STRICT_KEX: [[&[u8]; 2]; 2] =
    [[b"kex-strict-c-v00@openssh.com", b"kex-strict-s-v00@openssh.com"], [b"kex-strict-c", b"kex-strict-s"]];

/// Name that Dropbear lists: a guess is right if both sides list it and the first algorithms of the client are chosen.
const KEX_GUESS_2: &[u8] = b"kexguess2@matt.ucc.asn.au";

/// Ciphers that authenticate what they encrypt (RFC 5647; PROTOCOL and PROTOCOL.chacha20poly1305 of OpenSSH; the names
/// without a domain are those of draft-miller-sshm-aes-gcm and draft-ietf-sshm-chacha20-poly1305).
const AEAD_CIPHERS: [&[u8]; 8] = [
    b"chacha20-poly1305@openssh.com",
    b"aes128-gcm@openssh.com",
    b"aes256-gcm@openssh.com",
    b"AEAD_AES_128_GCM",
    b"AEAD_AES_256_GCM",
    b"chacha20-poly1305",
    b"aes128-gcm",
    b"aes256-gcm",
];

/// Parts of the names of key exchange methods that resist quantum computers: key encapsulation mechanisms, and the domain of
/// Open Quantum Safe, which defines no other methods.
const POST_QUANTUM: [&[u8]; 6] =
    [b"mlkem", b"kyber", b"sntrup", b"frodokem", b"firesaber", b"@openquantumsafe.org"];

/// Starts of the names of key exchange methods that quantum computers break (IANA, "Key Exchange Method Names"), and of one for SM2.
const CLASSICAL: [&[u8]; 7] =
    [b"curve", b"ecdh-", b"ecmqv-", b"diffie-hellman-", b"gss-", b"rsa", b"sm2kep-"];

/// Number of names of a client that are compared with each name of the server. Real connections mostly agree on one of them.
const COMPARED_NAMES: usize = 4;

/// The MAC of a cipher that authenticates what it encrypts, as `ssh -v` prints it.
pub const IMPLICIT_MAC: &[u8] = b"<implicit>";

/// The algorithms that client and server agree on: in each list, the first name of the client that the server lists, too
/// (RFC 4253, section 7.1).
///
/// The algorithms are those of the first key exchange. A passive observer cannot see others: a side that starts a key
/// re-exchange (section 9) has sent its SSH_MSG_NEWKEYS, after which everything is encrypted. A second SSH_MSG_KEXINIT before
/// that is forbidden (section 7.1), and is not read.
///
/// A field is `None` if no name agrees: the connection then ends. Only names are compared: the rule of the RFC that a host key
/// algorithm must support what the key exchange method needs (encryption or signatures) has no effect with methods in use,
/// which all need signatures at most. Names of the list of key exchange methods that announce an extension, such as
/// `ext-info-c`, never agree.
///
/// ```
/// use huginn_net_ssh::{Identification, KexInit, Negotiation, Side};
///
/// # let client = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/streams/dropbear-client.bin"));
/// # let server = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/streams/openssh-server.bin"));
/// // The first bytes of a Dropbear 2022.83 client and of an OpenSSH 9.2 server.
/// let [client, server] = [&client[..], &server[..]].map(|bytes| {
///     let line = Identification::parse(bytes)?.expect("a complete line");
///     Ok::<_, huginn_net_ssh::SshError>(KexInit::parse(&bytes[line.consumed..])?.expect("a complete message").value)
/// });
/// let (client, server) = (client?, server?);
/// let negotiation = Negotiation::new(&client, &server);
/// assert_eq!(negotiation.kex(), Some(&b"curve25519-sha256"[..]));
/// assert_eq!(negotiation.cipher(Side::Client), Some(&b"chacha20-poly1305@openssh.com"[..]));
/// assert_eq!(negotiation.mac(Side::Client), Some(&b"<implicit>"[..]));
/// assert_eq!(negotiation.is_post_quantum(), Some(false));
/// # Ok::<(), huginn_net_ssh::SshError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Negotiation<'a> {
    kex: Agreed<'a>,
    host_key: Agreed<'a>,
    client: Protection<'a>,
    server: Protection<'a>,
    strict_kex: bool,
    guess: Option<KexGuess>,
}

/// Whether a guessed first packet of the key exchange counts (RFC 4253, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KexGuess {
    /// The guess is right, and the packet counts.
    Right,
    /// The guess is wrong: the receiver ignores the packet, and the sender sends another one.
    Wrong,
}

/// A name that both sides have.
type Agreed<'a> = Option<Cow<'a, [u8]>>;

/// The algorithms of one direction.
#[derive(Clone, PartialEq, Eq)]
struct Protection<'a> {
    cipher: Agreed<'a>,
    mac: Agreed<'a>,
    compression: Agreed<'a>,
}

impl<'a> Negotiation<'a> {
    /// Computes what client and server agree on. Time is O(n log n) in the bytes of the lists.
    pub fn new(client: &'a KexInit<'_>, server: &'a KexInit<'_>) -> Self {
        let kex = [client.kex_algorithms(), server.kex_algorithms()];
        let host_key = [client.server_host_key_algorithms(), server.server_host_key_algorithms()];
        let mut negotiation = Self {
            kex: agreed(kex, |name| !is_announcement(name)),
            host_key: agreed(host_key, |_| true),
            client: Protection::new(
                [client.encryption_client_to_server(), server.encryption_client_to_server()],
                [client.mac_client_to_server(), server.mac_client_to_server()],
                [client.compression_client_to_server(), server.compression_client_to_server()],
            ),
            server: Protection::new(
                [client.encryption_server_to_client(), server.encryption_server_to_client()],
                [client.mac_server_to_client(), server.mac_server_to_client()],
                [client.compression_server_to_client(), server.compression_server_to_client()],
            ),
            strict_kex: STRICT_KEX
                .iter()
                .any(|names| kex.iter().zip(names).all(|(list, name)| list.contains(name))),
            guess: None,
        };
        if client.first_kex_packet_follows() || server.first_kex_packet_follows() {
            let is_right = negotiation.unmatched().is_none() && negotiation.confirms_guess(kex, host_key);
            negotiation.guess = Some(if is_right { KexGuess::Right } else { KexGuess::Wrong });
        }
        negotiation
    }

    /// Returns the key exchange method.
    pub fn kex(&self) -> Option<&[u8]> {
        self.kex.as_deref()
    }

    /// Returns the host key algorithm of the server.
    pub fn host_key(&self) -> Option<&[u8]> {
        self.host_key.as_deref()
    }

    /// Returns the cipher of what a side sends.
    pub fn cipher(&self, sender: Side) -> Option<&[u8]> {
        self.protection(sender).cipher.as_deref()
    }

    /// Returns the MAC of what a side sends: [`IMPLICIT_MAC`] if its cipher authenticates what it encrypts.
    pub fn mac(&self, sender: Side) -> Option<&[u8]> {
        self.protection(sender).mac.as_deref()
    }

    /// Returns the compression of what a side sends.
    pub fn compression(&self, sender: Side) -> Option<&[u8]> {
        self.protection(sender).compression.as_deref()
    }

    /// Whether both sides announce strict key exchange, the countermeasure to the Terrapin attack (CVE-2023-48795).
    pub const fn is_strict_kex(&self) -> bool {
        self.strict_kex
    }

    /// Whether the key exchange method resists quantum computers, by its name: hybrid ones with ML-KEM, Kyber, NTRU Prime,
    /// FrodoKEM or Saber, and those of Open Quantum Safe. `None` without a method, and for one that is unknown.
    pub fn is_post_quantum(&self) -> Option<bool> {
        let kex = self.kex()?;
        if POST_QUANTUM.iter().any(|part| memchr::memmem::find(kex, part).is_some()) {
            return Some(true);
        }
        CLASSICAL.iter().any(|start| kex.starts_with(start)).then_some(false)
    }

    /// Whether the guess of the side that sends `first_kex_packet_follows` is right; `None` if neither side guesses.
    ///
    /// It is right if the sides agree on all algorithms, and have the same first key exchange method and the same first
    /// host key algorithm (RFC 4253, section 7); if both list `kexguess2@matt.ucc.asn.au`, the first ones of the client need
    /// only be those that are chosen.
    pub const fn guess(&self) -> Option<KexGuess> {
        self.guess
    }

    /// Returns the first list without a common name, in the order of the wire. Without one, the sides agree on all algorithms;
    /// with one, the connection ends.
    pub fn unmatched(&self) -> Option<SshField> {
        let Self { kex, host_key, client, server, .. } = self;
        let names = [
            (SshField::KexAlgorithms, kex),
            (SshField::ServerHostKeyAlgorithms, host_key),
            (SshField::EncryptionClientToServer, &client.cipher),
            (SshField::EncryptionServerToClient, &server.cipher),
            (SshField::MacClientToServer, &client.mac),
            (SshField::MacServerToClient, &server.mac),
            (SshField::CompressionClientToServer, &client.compression),
            (SshField::CompressionServerToClient, &server.compression),
        ];
        names.into_iter().find(|(_, name)| name.is_none()).map(|(field, _)| field)
    }

    /// Copies the names, so that the value owns them.
    pub fn into_owned(self) -> Negotiation<'static> {
        let Self { kex, host_key, client, server, strict_kex, guess } = self;
        Negotiation {
            kex: owned(kex),
            host_key: owned(host_key),
            client: client.into_owned(),
            server: server.into_owned(),
            strict_kex,
            guess,
        }
    }

    const fn protection(&self, sender: Side) -> &Protection<'a> {
        match sender {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Whether the first names of lists are what a guess stands for.
    fn confirms_guess(&self, kex: [NameList<'_>; 2], host_key: [NameList<'_>; 2]) -> bool {
        let by_client = kex.iter().all(|list| list.contains(KEX_GUESS_2));
        [(kex, self.kex()), (host_key, self.host_key())].into_iter().all(|([client, server], chosen)| {
            let first = client.iter().next();
            first == if by_client { chosen } else { server.iter().next() }
        })
    }
}

impl<'a> Protection<'a> {
    fn new(cipher: [NameList<'a>; 2], mac: [NameList<'a>; 2], compression: [NameList<'a>; 2]) -> Self {
        let cipher = agreed(cipher, |_| true);
        let mac = match cipher.as_deref() {
            Some(cipher) if AEAD_CIPHERS.contains(&cipher) => Some(Cow::Borrowed(IMPLICIT_MAC)),
            _ => agreed(mac, |_| true),
        };
        Self { cipher, mac, compression: agreed(compression, |_| true) }
    }

    fn into_owned(self) -> Protection<'static> {
        let Self { cipher, mac, compression } = self;
        Protection { cipher: owned(cipher), mac: owned(mac), compression: owned(compression) }
    }
}

impl KexGuess {
    /// Returns the guess as a word: `right` or `wrong`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
        }
    }
}

impl fmt::Debug for Negotiation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            ("kex", self.kex()),
            ("host_key", self.host_key()),
            ("client_cipher", self.cipher(Side::Client)),
            ("server_cipher", self.cipher(Side::Server)),
            ("client_mac", self.mac(Side::Client)),
            ("server_mac", self.mac(Side::Server)),
            ("client_compression", self.compression(Side::Client)),
            ("server_compression", self.compression(Side::Server)),
        ];
        let mut debug = f.debug_struct("Negotiation");
        names.into_iter().for_each(|(field, name)| _ = debug.field(field, &name.map(NameList)));
        debug.field("strict_kex", &self.strict_kex).field("guess", &self.guess).finish()
    }
}

/// Returns the first name of the client that the server has, too.
///
/// A list may have 17,000 names, so those of the server are sorted unless one of the first few names of the client agrees.
fn agreed<'a>([client, server]: [NameList<'a>; 2], may_agree: impl Fn(&[u8]) -> bool) -> Agreed<'a> {
    // A name has at least one character (RFC 4251, section 5).
    let mut names = client.iter().filter(|name| !name.is_empty() && may_agree(name));
    let first = names.by_ref().take(COMPARED_NAMES).find(|name| server.contains(name));
    let name = first.or_else(|| {
        let mut offered: Vec<&[u8]> = server.iter().collect();
        offered.sort_unstable();
        names.find(|name| offered.binary_search(name).is_ok())
    });
    name.map(Cow::Borrowed)
}

/// Whether a name in the list of key exchange methods announces an extension (RFC 8308, section 2.1).
fn is_announcement(name: &[u8]) -> bool {
    matches!(name, b"ext-info-c" | b"ext-info-s" | KEX_GUESS_2) || name.starts_with(b"kex-strict-")
}

fn owned(name: Agreed<'_>) -> Agreed<'static> {
    name.map(|name| Cow::Owned(name.into_owned()))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;
    use crate::MAX_PACKET_LEN;
    use crate::kex_init::tests::kex_init_message;

    /// The lists of a message, without the languages.
    type Lists<'a> = [&'a str; 8];

    const LISTS: Lists<'_> = ["k1,k2", "h1,h2", "a,b", "b,a", "m1,m2", "m2,m1", "none", "zlib,none"];

    fn message(lists: Lists<'_>, follows: u8) -> Vec<u8> {
        let lists: Vec<Vec<u8>> = lists.into_iter().chain(["", ""]).map(Into::into).collect();
        kex_init_message(&lists, follows)
    }

    /// Negotiates these lists; a side guesses if its number is 1.
    fn negotiate(client: (Lists<'_>, u8), server: (Lists<'_>, u8)) -> Negotiation<'static> {
        let [client, server] = [client, server].map(|(lists, follows)| message(lists, follows));
        let [client, server] = [&client, &server].map(|message| KexInit::from_payload(message).unwrap());
        Negotiation::new(&client, &server).into_owned()
    }

    fn text(name: Option<&[u8]>) -> Option<String> {
        name.map(|name| String::from_utf8(name.to_vec()).unwrap())
    }

    /// Replaces a list.
    fn with<'a>(mut lists: Lists<'a>, index: usize, list: &'a str) -> Lists<'a> {
        lists[index] = list;
        lists
    }

    /// Section 7.1: the first algorithm on the client's list that is also on the server's.
    #[test]
    fn preference_of_client_decides_in_each_direction() {
        let server = ["k3,k2,k1", "h2", "b,a", "b,a", "m2,m1", "m1,m2", "zlib,none", "none,zlib"];
        let found = negotiate((LISTS, 0), (server, 0));
        assert_eq!(
            (text(found.kex()).as_deref(), text(found.host_key()).as_deref()),
            (Some("k1"), Some("h2"))
        );
        let names = |side| {
            [found.cipher(side), found.mac(side), found.compression(side)].map(|name| text(name).unwrap())
        };
        assert_eq!(names(Side::Client), ["a", "m1", "none"]);
        assert_eq!(names(Side::Server), ["b", "m2", "zlib"]);
        assert!(found.unmatched().is_none() && !found.is_strict_kex());
        assert_eq!((found.guess(), found.is_post_quantum()), (None, None));
    }

    #[test]
    fn list_without_common_name_agrees_on_nothing() {
        let fields = [
            SshField::KexAlgorithms,
            SshField::ServerHostKeyAlgorithms,
            SshField::EncryptionClientToServer,
            SshField::EncryptionServerToClient,
            SshField::MacClientToServer,
            SshField::MacServerToClient,
            SshField::CompressionClientToServer,
            SshField::CompressionServerToClient,
        ];
        for (index, field) in fields.into_iter().enumerate() {
            for list in ["x,y", "", ",", "A,K1"] {
                let found = negotiate((LISTS, 0), (with(LISTS, index, list), 0));
                let [c, s] = [Side::Client, Side::Server]
                    .map(|side| [found.cipher(side), found.mac(side), found.compression(side)]);
                let names = [found.kex(), found.host_key(), c[0], s[0], c[1], s[1], c[2], s[2]];
                let missing: Vec<usize> = (0..names.len()).filter(|index| names[*index].is_none()).collect();
                assert_eq!((missing, found.unmatched()), (vec![index], Some(field)), "{list:?}");
            }
        }
        let found = negotiate((with(LISTS, 0, "x"), 1), (LISTS, 0));
        assert_eq!((found.is_post_quantum(), found.guess()), (None, Some(KexGuess::Wrong)));
    }

    /// Names of the ciphers: the registry of IANA, and PROTOCOL files of OpenSSH.
    #[test]
    fn cipher_with_authentication_needs_no_mac() {
        for cipher in ["chacha20-poly1305@openssh.com", "aes256-gcm@openssh.com", "AEAD_AES_128_GCM"] {
            let lists = with(with(LISTS, 2, cipher), 4, "");
            let found = negotiate((lists, 0), (lists, 0));
            assert_eq!(text(found.mac(Side::Client)).as_deref(), Some("<implicit>"));
            assert_eq!(text(found.mac(Side::Server)).as_deref(), Some("m2"));
            assert_eq!(found.unmatched(), None);
        }
        let lists = with(with(LISTS, 2, "aes256-ctr,aes256-gcm@openssh.com"), 4, "");
        assert_eq!(negotiate((lists, 0), (lists, 0)).mac(Side::Client), None);
    }

    /// RFC 8308, section 2.1: these names are not key exchange methods, so a side that has those of the other agrees on nothing.
    #[test]
    fn announcements_never_agree() {
        for name in ["ext-info-c", "ext-info-s", "kexguess2@matt.ucc.asn.au", "kex-strict-c-v00@openssh.com"]
        {
            let lists = with(LISTS, 0, name);
            assert_eq!(negotiate((lists, 0), (lists, 0)).kex(), None, "{name}");
        }
    }

    #[test]
    fn strict_kex_needs_the_name_of_each_side() {
        for (client, server, strict) in [
            ("k1,kex-strict-c-v00@openssh.com", "k1,kex-strict-s-v00@openssh.com", true),
            ("kex-strict-c,k1", "kex-strict-s,k1", true),
            ("k1,kex-strict-c-v00@openssh.com", "k1", false),
            ("k1", "k1,kex-strict-s-v00@openssh.com", false),
            ("k1,kex-strict-s-v00@openssh.com", "k1,kex-strict-c-v00@openssh.com", false),
            ("k1,kex-strict-c-v00@openssh.com", "k1,kex-strict-s", false),
            ("k1,kex-strict-c-v00@openssh.co", "k1,kex-strict-s-v00@openssh.com", false),
        ] {
            let found = negotiate((with(LISTS, 0, client), 0), (with(LISTS, 0, server), 0));
            assert_eq!(found.is_strict_kex(), strict, "{client} {server}");
            assert_eq!(text(found.kex()).as_deref(), Some("k1"));
        }
    }

    /// Names: IANA's registry, OpenSSH, TinySSH, AWS Transfer Family, Tectia, and the fork of OpenSSH of Open Quantum Safe.
    #[test]
    fn post_quantum_methods_are_known_by_name() {
        for (kex, post_quantum) in [
            ("mlkem768x25519-sha256", true),
            ("mlkem768nistp256-sha256", true),
            ("mlkem1024nistp384-sha384", true),
            ("sntrup761x25519-sha512", true),
            ("sntrup761x25519-sha512@openssh.com", true),
            ("sntrup4591761x25519-sha512@tinyssh.org", true),
            ("x25519-kyber-512r3-sha256-d00@amazon.com", true),
            ("ecdh-nistp384-kyber-768r3-sha384-d00@openquantumsafe.org", true),
            ("bike1-l1-fo-sha384@openquantumsafe.org", true),
            ("curve25519-frodokem1344-sha512@ssh.com", true),
            ("ecdh-nistp521-firesaber-sha512@ssh.com", true),
            ("curve25519-sha256", false),
            ("curve25519-sha256@libssh.org", false),
            ("ecdh-sha2-nistp521", false),
            ("ecdh-sha2-1.3.132.0.10", false),
            ("diffie-hellman-group-exchange-sha256", false),
            ("gss-group14-sha256-toWM5Slw5Ew8Mqkay+al2g==", false),
            ("curve448-sha512", false),
            ("rsa2048-sha256", false),
            ("sm2kep-sha2-nistp256", false),
        ] {
            let lists = with(LISTS, 0, kex);
            assert_eq!(negotiate((lists, 0), (lists, 0)).is_post_quantum(), Some(post_quantum), "{kex}");
        }
    }

    /// RFC 4253, section 7, and `buf_match_algo` of Dropbear for the lists with `kexguess2@matt.ucc.asn.au`.
    #[test]
    fn guess_is_right_if_first_names_are_those_that_count() {
        let [plain, extended] = ["k1,k2", "k1,k2,kexguess2@matt.ucc.asn.au"].map(|list| with(LISTS, 0, list));
        let [other, other_extended] =
            ["k2,k1", "k2,k1,kexguess2@matt.ucc.asn.au"].map(|list| with(LISTS, 0, list));
        let [other_key, other_key_extended] = [with(plain, 1, "h2,h1"), with(extended, 1, "h2,h1")];
        for (client, server, wanted) in [
            (plain, plain, KexGuess::Right),
            (plain, other, KexGuess::Wrong),
            (plain, other_key, KexGuess::Wrong),
            (plain, with(plain, 2, "x"), KexGuess::Wrong),
            (extended, other, KexGuess::Wrong),
            (extended, other_extended, KexGuess::Right),
            (extended, other_key_extended, KexGuess::Right),
            (with(extended, 0, "k3,k1,kexguess2@matt.ucc.asn.au"), extended, KexGuess::Wrong),
            (with(extended, 1, "h3,h1"), extended, KexGuess::Wrong),
        ] {
            for follows in [(1, 0), (0, 1), (1, 1)] {
                let found = negotiate((client, follows.0), (server, follows.1));
                assert_eq!(found.guess(), Some(wanted), "{client:?} {server:?}");
            }
            assert_eq!(negotiate((client, 0), (server, 0)).guess(), None);
        }
    }

    #[test]
    fn time_is_not_quadratic() {
        let names = |first: char| -> String {
            (0..)
                .map(|number| format!("{first}{number:x},"))
                .take_while({
                    let mut len = 0;
                    move |name| {
                        len += name.len();
                        len < MAX_PACKET_LEN - 200
                    }
                })
                .collect()
        };
        let (client, server) = (names('a'), names('b'));
        let start = Instant::now();
        for _ in 0..50 {
            assert_eq!(negotiate((with(LISTS, 0, &client), 0), (with(LISTS, 0, &server), 0)).kex(), None);
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }

    proptest! {
        /// The rule of the RFC, word for word, without the sorted list.
        #[test]
        fn equals_rule_of_rfc(client in "([ab]{0,2},){0,6}[ab]{0,2}", server in "([ab]{0,2},){0,6}[ab]{0,2}") {
            let wanted = client.split(',').filter(|name| !name.is_empty()).find(|name| server.split(',').any(|other| other == *name));
            for index in [0, 1, 2, 5, 6] {
                let found = negotiate((with(LISTS, index, &client), 0), (with(LISTS, index, &server), 0));
                let name = match index {
                    0 => found.kex(),
                    1 => found.host_key(),
                    2 => found.cipher(Side::Client),
                    5 => found.mac(Side::Server),
                    _ => found.compression(Side::Client),
                };
                prop_assert_eq!(text(name), wanted.map(str::to_owned));
            }
        }
    }
}
