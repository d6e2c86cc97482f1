//! Fields of a ClientHello that JA4 and JA3 ignore, and what browsers send in them.

use std::fmt;
use std::sync::Arc;

use huginn_net_tls::{ClientHello, Ech, Extension, Transport, U16List, extension_type, is_grease};

use super::software::Software;

/// A hello with the fingerprint of a browser, and with fields that the browser does not send like this.
///
/// [`Display`](fmt::Display) writes the browser and the fields: `Chromium (alps, ech.payload_length)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrowserImitation {
    /// The browser that the hello imitates.
    pub browser: ImitatedBrowser,
    /// The fields that differ, in the order of [`HelloField::ALL`].
    pub fields: Vec<HelloField>,
}

huginn_net_wire::table_enum! {
    /// A browser, by the network library that it has.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ImitatedBrowser {
        /// Chromium and browsers based on it.
        Chromium: "Chromium", "BoringSSL", "Chromium or an imitation";
        /// Firefox and other programs with Mozilla's network library.
        Firefox: "Firefox", "NSS", "Firefox or an imitation";
    }
    /// The name: `Chromium` or `Firefox`.
    pub fn name -> &'static str = 0;
    /// The TLS library.
    pub(super) fn library -> &'static str = 1;
    /// The candidate for the structure of the browser, which any client can imitate.
    pub(super) fn or_imitation -> &'static str = 2;
}

huginn_net_wire::named! {
    /// A field of a ClientHello that JA4 and JA3 ignore, and that has the same form in all versions of a browser.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum HelloField {
        /// The places of GREASE values (RFC 8701), and the contents of GREASE extensions.
        Grease = "grease",
        /// The protocols of application_settings (draft-vvv-tls-alps).
        Alps = "alps",
        /// The algorithms of compress_certificate (RFC 8879).
        CompressCertificate = "compress_certificate",
        /// The length of the encrypted inner hello (RFC 9849, section 5), in GREASE ECH, too.
        EchPayloadLength = "ech.payload_length",
    }
}

impl ImitatedBrowser {
    /// The browser with this name in tables, such as `Chrome`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let has_name = |browser: &Self| browser.names().iter().any(|known| name.starts_with(known));
        Self::ALL.iter().copied().find(has_name)
    }

    /// How the names of the browser begin, in tables and in imitations.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Chromium => &["Chromium", "Chrome", "Edge", "Opera"],
            Self::Firefox => &["Firefox"],
        }
    }

    /// The browser that has the fingerprint of this software, if no other genuine client has it.
    fn of_software(software: &Software) -> Option<Self> {
        let name = |candidate: &Arc<str>| Self::from_name(imitated(candidate).unwrap_or(candidate));
        let (browser, is_only) = match (&software.application, &*software.candidates) {
            (Some(application), _) => (Self::from_name(application)?, true),
            (None, [first, others @ ..]) => {
                let browser = name(first)?;
                (browser, others.iter().all(|other| name(other) == Some(browser)))
            }
            (None, []) => return None,
        };
        (is_only && software.library.as_deref() == Some(browser.library())).then_some(browser)
    }
}

impl fmt::Display for ImitatedBrowser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for BrowserImitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.browser)?;
        let mut separator = " (";
        for field in &self.fields {
            write!(f, "{separator}{field}")?;
            separator = ", ";
        }
        f.write_str(if self.fields.is_empty() { "" } else { ")" })
    }
}

/// What a browser sends in a field, in every version that has the field.
struct BrowserField {
    browser: ImitatedBrowser,
    field: HelloField,
    /// Whether the browser can send the hello. True if the hello lacks the field, unless the browser always sends it.
    holds: fn(&ClientHello<'_>) -> bool,
}

/// The fields, in the order of [`HelloField::ALL`]. `docs/clients.md` has the evidence.
///
/// A field is here only if the code of the library fixes it. The key shares, the named trust anchors and the size of a
/// hello depend on settings, updates and the server.
const BROWSER_FIELDS: [BrowserField; 5] = [
    BrowserField {
        browser: ImitatedBrowser::Chromium,
        field: HelloField::Grease,
        holds: has_grease_of_boringssl,
    },
    BrowserField { browser: ImitatedBrowser::Chromium, field: HelloField::Alps, holds: has_alps_of_chromium },
    BrowserField {
        browser: ImitatedBrowser::Chromium,
        field: HelloField::CompressCertificate,
        holds: has_certificate_compression_of_chromium,
    },
    // The encoded inner hello is padded to a multiple of 32 bytes. Every HPKE cipher adds a tag of 16 bytes.
    BrowserField {
        browser: ImitatedBrowser::Chromium,
        field: HelloField::EchPayloadLength,
        holds: |hello| has_ech_payload(hello, &[16]),
    },
    // NSS pads the inner hello to one byte less than a multiple of 32, and in newer versions to the multiple.
    BrowserField {
        browser: ImitatedBrowser::Firefox,
        field: HelloField::EchPayloadLength,
        holds: |hello| has_ech_payload(hello, &[15, 16]),
    },
];

impl BrowserImitation {
    /// Compares a well-formed hello with the browser that has its fingerprint. `None` if no field differs, or if no
    /// browser has the fingerprint; this allocates no memory.
    pub(super) fn of_hello(software: &Software, hello: &ClientHello<'_>) -> Option<Self> {
        let browser = ImitatedBrowser::of_software(software)?;
        let differs = |known: &&BrowserField| known.browser == browser && !(known.holds)(hello);
        let fields: Vec<HelloField> =
            BROWSER_FIELDS.iter().filter(differs).map(|known| known.field).collect();
        (!fields.is_empty()).then_some(Self { browser, fields })
    }
}

/// The browser that a candidate such as `curl_cffi as Chrome 120` imitates; `None` for a genuine client.
fn imitated(candidate: &str) -> Option<&str> {
    Some(candidate.split_once(" as ")?.1)
}

/// BoringSSL (`ssl_write_client_cipher_list`, `ssl_add_clienthello_tlsext`): the first cipher suite, group and version are
/// GREASE; the first extension is an empty one of GREASE, and the last one has one byte. pre_shared_key and padding follow.
/// Chromium sends no GREASE in QUIC, and sent none before it had TLS 1.3.
fn has_grease_of_boringssl(hello: &ClientHello<'_>) -> bool {
    if hello.transport() != Transport::Tls || hello.supported_versions().next().is_none() {
        return true;
    }
    let is_first = |mut numbers: U16List<'_>| numbers.next().is_some_and(is_grease);
    let is_last = |kind| matches!(kind, extension_type::PADDING | extension_type::PRE_SHARED_KEY);
    let mut extensions = hello.extensions().filter(|extension| !is_last(extension.kind));
    let is_grease_of = |extension: Option<Extension<'_>>, len: usize| {
        extension.is_some_and(|extension| is_grease(extension.kind) && extension.data.len() == len)
    };
    [hello.cipher_suites(), hello.supported_groups(), hello.supported_versions()].into_iter().all(is_first)
        && is_grease_of(extensions.next(), 0)
        && is_grease_of(extensions.last(), 1)
}

/// Chromium names HTTP/2, or HTTP/3 in QUIC, and nothing else.
fn has_alps_of_chromium(hello: &ClientHello<'_>) -> bool {
    let protocol: &[u8] = if hello.transport() == Transport::Quic { b"h3" } else { b"h2" };
    let is_absent = [extension_type::APPLICATION_SETTINGS, extension_type::OLD_APPLICATION_SETTINGS]
        .into_iter()
        .all(|kind| hello.extension(kind).is_none());
    is_absent || hello.alps().eq([protocol])
}

/// Chromium names Brotli and nothing else.
fn has_certificate_compression_of_chromium(hello: &ClientHello<'_>) -> bool {
    const BROTLI: u16 = 2;
    hello.extension(extension_type::COMPRESS_CERTIFICATE).is_none()
        || hello.certificate_compression().eq([BROTLI])
}

/// Whether the length of the encrypted inner hello has one of these remainders of 32, if there is one.
fn has_ech_payload(hello: &ClientHello<'_>, remainders: &[usize]) -> bool {
    match hello.ech() {
        Some(Ech::Outer(outer)) => remainders.contains(&(outer.payload.len() % 32)),
        _ => true,
    }
}
