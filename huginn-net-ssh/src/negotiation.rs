//! The algorithms of a connection, from both SSH_MSG_KEXINITs (RFC 4253, section 7.1).

use std::borrow::Cow;
use std::fmt;

use huginn_net_core::Side;

use crate::{KexInit, NameList};

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

/// The MAC of a cipher that authenticates what it encrypts, as `ssh -v` prints it.
pub const IMPLICIT_MAC: &[u8] = b"<implicit>";

/// The algorithms that client and server agree on: in each list, the first name of the client that the server lists, too
/// (RFC 4253, section 7.1).
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
            let is_right = negotiation.is_complete() && negotiation.confirms_guess(kex, host_key);
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
    /// FrodoKEM or Saber, and those of Open Quantum Safe. `None` without a method.
    pub fn is_post_quantum(&self) -> Option<bool> {
        let kex = self.kex()?;
        Some(POST_QUANTUM.iter().any(|part| memchr::memmem::find(kex, part).is_some()))
    }

    /// Whether the guess of the side that sends `first_kex_packet_follows` is right; `None` if neither side guesses.
    ///
    /// It is right if the sides agree on all algorithms, and have the same first key exchange method and the same first
    /// host key algorithm (RFC 4253, section 7); if both list `kexguess2@matt.ucc.asn.au`, the first ones of the client need
    /// only be those that are chosen.
    pub const fn guess(&self) -> Option<KexGuess> {
        self.guess
    }

    /// Whether the sides agree on all algorithms. If not, the connection ends.
    pub fn is_complete(&self) -> bool {
        let Self { kex, host_key, client, server, .. } = self;
        kex.is_some() && host_key.is_some() && client.is_complete() && server.is_complete()
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

    const fn is_complete(&self) -> bool {
        self.cipher.is_some() && self.mac.is_some() && self.compression.is_some()
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
/// A list may have 17,000 names, so the names of the server are sorted rather than compared one by one.
fn agreed<'a>([client, server]: [NameList<'a>; 2], may_agree: impl Fn(&[u8]) -> bool) -> Agreed<'a> {
    let mut offered: Vec<&[u8]> = server.iter().collect();
    offered.sort_unstable();
    // A name has at least one character (RFC 4251, section 5).
    let mut names = client.iter().filter(|name| !name.is_empty() && may_agree(name));
    names.find(|name| offered.binary_search(name).is_ok()).map(Cow::Borrowed)
}

/// Whether a name in the list of key exchange methods announces an extension (RFC 8308, section 2.1).
fn is_announcement(name: &[u8]) -> bool {
    matches!(name, b"ext-info-c" | b"ext-info-s" | KEX_GUESS_2) || name.starts_with(b"kex-strict-")
}

fn owned(name: Agreed<'_>) -> Agreed<'static> {
    name.map(|name| Cow::Owned(name.into_owned()))
}
