//! Description of hellos in hexadecimal digits.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use huginn_net_core::{Amount, Escaped};
use huginn_net_db::{ClientDatabase, MatchKind};
use huginn_net_tls::{
    ClientHello, Ech, Extension, HelloReader, Ja4Form, OuterEch, ServerHello, Transport, Version, is_grease,
    names,
};

use super::{FingerprintError, Name, head, lists, software};

/// Length of the header of a TLS record (RFC 8446, section 5.1).
const RECORD_HEADER_LEN: usize = 5;

/// A hello of a TLS client or server.
#[derive(Clone, Debug)]
pub(super) enum Hello {
    Client(ClientHello<'static>),
    Server(ServerHello<'static>),
}

impl Hello {
    /// Parses a handshake message, or the records that hold it, from hexadecimal digits; spaces and colons may separate bytes.
    /// `None` if the text is not one.
    pub(super) fn from_digits(text: &str) -> Option<Result<Self, FingerprintError>> {
        const CLIENT_HELLO: u8 = 1;
        const SERVER_HELLO: u8 = 2;
        const HANDSHAKE: u8 = 22;
        let bytes = bytes(text)?;
        match bytes.as_slice() {
            [CLIENT_HELLO, 0, ..] => Some(client(&bytes)),
            [SERVER_HELLO, 0, ..] => Some(server(&bytes)),
            [HANDSHAKE, 3, _, _, _, SERVER_HELLO, ..] => {
                Some(server(bytes.get(RECORD_HEADER_LEN..).unwrap_or_default()))
            }
            [HANDSHAKE, 3, ..] => Some(records(&bytes)),
            _ => None,
        }
    }

    /// Writes the fields of a hello, its fingerprints, and the software that sends it.
    pub(super) fn describe(&self, out: &mut impl Write, clients: &ClientDatabase) -> io::Result<()> {
        match self {
            Self::Client(hello) => describe_client(out, hello, clients),
            Self::Server(hello) => describe_server(out, hello),
        }
    }
}

/// The bytes of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b':').collect();
    let value = |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(value(high)? << 4 | value(low)?),
        _ => None,
    });
    pairs.collect()
}

fn client(message: &[u8]) -> Result<Hello, FingerprintError> {
    let hello =
        ClientHello::from_message(message, Transport::Tls)?.ok_or(FingerprintError::IncompleteHello)?;
    Ok(Hello::Client(hello.value.into_owned()))
}

fn server(message: &[u8]) -> Result<Hello, FingerprintError> {
    let hello =
        ServerHello::from_message(message, Transport::Tls)?.ok_or(FingerprintError::IncompleteHello)?;
    Ok(Hello::Server(hello.value.into_owned()))
}

fn records(bytes: &[u8]) -> Result<Hello, FingerprintError> {
    HelloReader::client().push(bytes)?.value().map(Hello::Client).ok_or(FingerprintError::IncompleteHello)
}

fn describe_client(
    out: &mut impl Write,
    hello: &ClientHello<'_>,
    clients: &ClientDatabase,
) -> io::Result<()> {
    writeln!(out, "ClientHello of {}", amount(hello.message().len()))?;
    let original = hello.ja4_raw(Ja4Form::Original);
    head::write(out, original.head())?;
    if let Some(name) = hello.server_name() {
        row(out, "server name", Text(name))?;
    }
    row(out, "session id", amount(hello.session_id().len()))?;
    match hello.session_ticket() {
        Some([]) => row(out, "ticket", "none yet: the client asks for one")?,
        Some(ticket) => row(out, "ticket", amount(ticket.len()))?,
        None => {}
    }
    if hello.has_early_data() {
        row(out, "early data", "follows the hello")?;
    }
    if let Some(limit) = hello.record_size_limit() {
        row(out, "record limit", amount(limit.into()))?;
    }
    if let Some(ech) = hello.ech() {
        row(out, "ech", ech_in_words(ech))?;
    }
    numbers(out, "cipher suites", hello.cipher_suites(), names::cipher_suite)?;
    extensions(out, hello.extensions())?;
    numbers(out, "versions", hello.supported_versions(), |number| Version(number).name())?;
    numbers(out, "groups for key exchange", hello.supported_groups(), names::group)?;
    let shares = hello.key_shares();
    rows(out, "key shares", shares.map(|share| with_len(share.group, names::group, share.key)))?;
    numbers(out, "signature algorithms", hello.signature_algorithms(), names::signature_scheme)?;
    let of_certificates = hello.signature_algorithms_cert();
    numbers(out, "signature algorithms of certificates", of_certificates, names::signature_scheme)?;
    rows(out, "protocols (ALPN)", hello.alpn().map(|name| Text(name).to_string()))?;
    rows(out, "protocols with settings (ALPS)", hello.alps().map(|name| Text(name).to_string()))?;
    let compression = hello.certificate_compression();
    numbers(out, "algorithms of certificate compression", compression, names::certificate_compression)?;
    let keys = hello.psk_identities().map(|key| amount(key.identity.len()));
    rows(out, "pre-shared keys", keys.map(|len| format!("identity of {len}")))?;
    let anchors = hello.trust_anchors().unwrap_or_default();
    rows(out, "trust anchors", anchors.map(|anchor| anchor.to_string()))?;
    writeln!(out)?;
    row(out, "ja4", hello.ja4())?;
    row(out, "ja4_o", original.ja4())?;
    row(out, "ja4_stable", hello.ja4_stable())?;
    row(out, "ja3", hello.ja3())?;
    row(out, "ja3_hash", hello.ja3_hash())?;
    writeln!(out)?;
    let found = clients.match_hello(hello);
    software::of_match(out, found.as_ref())?;
    let is_known = found.is_some_and(|found| found.kind != MatchKind::Structural);
    match clients.nearest(&original).filter(|_| !is_known) {
        Some(nearest) => software::write_nearest(out, &nearest),
        None => Ok(()),
    }
}

fn describe_server(out: &mut impl Write, hello: &ServerHello<'_>) -> io::Result<()> {
    let kind = if hello.is_retry_request() { "HelloRetryRequest" } else { "ServerHello" };
    writeln!(out, "{kind} of {}", amount(hello.message().len()))?;
    let version = hello.version();
    row(out, "version", lists::named(version.0, |number| Version(number).name()))?;
    row(out, "cipher suite", lists::named(hello.cipher_suite(), names::cipher_suite))?;
    row(out, "session id", amount(hello.session_id().len()))?;
    if let Some(group) = hello.group() {
        row(out, "key share", with_len(group, names::group, hello.key_share().unwrap_or_default()))?;
    }
    if let Some(place) = hello.selected_psk() {
        row(out, "resumes", format_args!("pre-shared key {place} of the client"))?;
    }
    if let Some(name) = hello.alpn() {
        row(out, "ALPN", Text(name))?;
    }
    extensions(out, hello.extensions())?;
    writeln!(out)?;
    row(out, "ja3s", hello.ja3s())?;
    row(out, "ja3s_hash", hello.ja3s_hash())
}

fn row(out: &mut impl Write, title: &str, value: impl Display) -> io::Result<()> {
    writeln!(out, "{title:<14}{value}")
}

/// Writes a list below its title, unless it is empty.
fn rows(out: &mut impl Write, title: &str, values: impl Iterator<Item = String>) -> io::Result<()> {
    let values: Vec<String> = values.collect();
    if values.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{} {title}", values.len())?;
    values.iter().try_for_each(|value| writeln!(out, "  {value}"))
}

fn numbers(
    out: &mut impl Write,
    title: &str,
    numbers: impl Iterator<Item = u16>,
    name: Name,
) -> io::Result<()> {
    rows(out, title, numbers.map(|number| lists::named(number, name)))
}

fn extensions<'e>(out: &mut impl Write, extensions: impl Iterator<Item = Extension<'e>>) -> io::Result<()> {
    let extensions = extensions.map(|extension| with_len(extension.kind, names::extension, extension.data));
    rows(out, "extensions, in the order of the wire", extensions)
}

/// A number, its name, and the length of its data.
fn with_len(number: u16, name: Name, data: &[u8]) -> String {
    format!("{}, {}", lists::named(number, name), amount(data.len()))
}

fn amount(len: usize) -> String {
    Amount(u64::try_from(len).unwrap_or(u64::MAX), "byte(s)").to_string()
}

/// A text from the wire in one line.
struct Text<'a>(&'a [u8]);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", Escaped(self.0))
    }
}

/// The extension encrypted_client_hello.
fn ech_in_words(ech: Ech<'_>) -> String {
    match ech {
        Ech::Outer(OuterEch { config_id, kdf, aead, enc, payload, .. }) => format!(
            "configuration {config_id}, {}, {}, key of {}, encrypted hello of {}: real, or GREASE",
            named(kdf, names::hpke_kdf),
            named(aead, names::hpke_aead),
            amount(enc.len()),
            amount(payload.len())
        ),
        Ech::Inner => "inner hello".to_owned(),
        _ => "form of a draft".to_owned(),
    }
}

/// The name of a number, or its digits.
fn named(number: u16, name: Name) -> Cow<'static, str> {
    if is_grease(number) && name(number).is_none() { "GREASE".into() } else { names::or_digits(number, name) }
}

#[cfg(test)]
mod tests {
    use huginn_net_core::HexDigits;

    use super::*;
    use crate::explain::Fingerprint;

    fn described(text: &str) -> String {
        let mut out = Vec::new();
        let hello: Fingerprint = text.parse().unwrap();
        hello.describe(&mut out, ClientDatabase::builtin(), crate::Database::builtin()).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Expected values: `tshark -V` of the same hello, written as a capture.
    #[test]
    fn client_hello_has_every_field() {
        let records = HexDigits(include_bytes!("../../../huginn-net-tls/hellos/go-ech.bin")).to_string();
        let (_, message) = records.split_at(2 * RECORD_HEADER_LEN);
        let spaced = message.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        let spaced = spaced.collect::<Vec<_>>().join(":");
        for text in [records.as_str(), message, &spaced.to_uppercase()] {
            let text = described(text);
            for line in [
                "ClientHello of 1640 bytes",
                "server name   public.example.test",
                "ech           configuration 1, HKDF-SHA256, AES-128-GCM, key of 32 bytes, encrypted hello of 131 bytes: real, or GREASE",
                "9 extensions, in the order of the wire",
                "  fe0d  encrypted_client_hello, 173 bytes",
                "  11ec  X25519MLKEM768, 1216 bytes",
                "  0403  ecdsa_secp256r1_sha256",
                "ja3_hash      581280f3f35a585f0c6b57b33a143e99",
            ] {
                assert!(text.lines().any(|found| found == line), "{line} in {text}");
            }
        }
    }

    #[test]
    fn server_hello_has_every_field() {
        // RFC 8448, section 3, the ServerHello.
        let message = "020000560303a6af06a4121860dc5e6e60249cd34c95930c8ac5cb1434dac155772ed3e2692800130100002e0033\
                       0024001d0020c9828876112095fe66762bdbf7c672e156d6cc253b833df1dd69b1b04e751f0f002b00020304";
        let record = format!("160303005a{message}");
        for text in [message, &record] {
            let text = described(text);
            for line in [
                "ServerHello of 90 bytes",
                "version       0304  TLS 1.3",
                "cipher suite  1301  TLS_AES_128_GCM_SHA256",
                "key share     001d  x25519, 32 bytes",
                "  002b  supported_versions, 2 bytes",
            ] {
                assert!(text.lines().any(|found| found == line), "{line} in {text}");
            }
        }
    }

    #[test]
    fn damaged_hellos_are_errors() {
        let records =
            HexDigits(include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin")).to_string();
        let error = |text: &str| text.parse::<Fingerprint>().unwrap_err().to_string();
        assert_eq!(error(records.split_at(300).0), "the TLS hello is incomplete");
        let certificate = format!("1603030028{:0<80}", "0b000024");
        assert!(error(&certificate).starts_with("no TLS hello: "), "{}", error(&certificate));
        assert!(error(&"ab".repeat(20)).starts_with("neither JA4"));
    }
}
