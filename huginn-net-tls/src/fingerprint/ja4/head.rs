//! JA4_a: the readable part.

use std::fmt;
use std::str::{self, FromStr};

use super::error::{Ja4Field, Ja4ParseError, Scanner};
use crate::Transport;
use crate::hello::{ClientHello, Version};
use huginn_net_wire::hex_digit;

/// JA4_a: ten characters for transport, version, server name, two counts and ALPN.
///
/// ```
/// use huginn_net_tls::{Ja4Head, Transport, Version};
///
/// let head: Ja4Head = "t13d1516h2".parse()?;
/// assert_eq!((head.transport(), head.version()), (Transport::Tls, Some(Version::TLS_1_3)));
/// assert_eq!((head.has_server_name(), head.cipher_count(), head.extension_count()), (true, 15, 16));
/// assert_eq!(head.alpn(), "h2");
/// # Ok::<(), huginn_net_tls::Ja4ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ja4Head {
    /// ASCII; each character is valid at its position.
    pub(super) text: [u8; Ja4Head::LEN],
}

/// Largest count; counts have two digits and saturate.
const MAX_COUNT: usize = 99;

impl Ja4Head {
    /// Length of the text, in characters.
    pub const LEN: usize = 10;

    /// Creates the head of a hello, without the counts.
    pub(super) fn from_hello(hello: &ClientHello<'_>) -> Self {
        let [version_0, version_1] = characters(hello.version().ja4());
        let server_name = if hello.has_server_name() { b'd' } else { b'i' };
        let [alpn_0, alpn_1] = alpn(hello);
        let transport = transport_letter(hello.transport());
        Self { text: [transport, version_0, version_1, server_name, b'0', b'0', b'0', b'0', alpn_0, alpn_1] }
    }

    /// Sets the counts for a form, which include server_name and ALPN.
    pub(super) fn with_counts(mut self, ciphers: usize, extensions: usize) -> Self {
        let [_, _, _, _, ciphers_0, ciphers_1, extensions_0, extensions_1, _, _] = &mut self.text;
        [*ciphers_0, *ciphers_1] = count(ciphers);
        [*extensions_0, *extensions_1] = count(extensions);
        self
    }

    /// The transport of the hello.
    pub fn transport(&self) -> Transport {
        match self.text {
            [b'q', ..] => Transport::Quic,
            [b'd', ..] => Transport::Dtls,
            _ => Transport::Tls,
        }
    }

    /// The version; `None` for `00`, which stands for a version without a JA4 code, such as a draft.
    pub fn version(&self) -> Option<Version> {
        let [_, first, second, ..] = self.text;
        Version::NAMED.into_iter().find(|version| characters(version.ja4()) == [first, second])
    }

    /// Whether there is an extension server_name (`d`).
    pub fn has_server_name(&self) -> bool {
        matches!(self.text, [_, _, _, b'd', ..])
    }

    /// Number of cipher suites without GREASE; 99 means 99 or more.
    pub fn cipher_count(&self) -> u8 {
        let [_, _, _, _, tens, ones, ..] = self.text;
        number(tens, ones)
    }

    /// Number of extensions without GREASE, including server_name and ALPN; 99 means 99 or more.
    pub fn extension_count(&self) -> u8 {
        let [_, _, _, _, _, _, tens, ones, ..] = self.text;
        number(tens, ones)
    }

    /// The two characters for the first ALPN value; `00` without one.
    pub fn alpn(&self) -> &str {
        self.as_str().get(8..).unwrap_or_default()
    }

    /// The ten characters.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.text).unwrap_or_default()
    }

    pub(super) fn scan(scanner: &mut Scanner<'_>) -> Result<Self, Ja4ParseError> {
        let mut text = [0; Self::LEN];
        let [transport, version_0, version_1, server_name, ciphers @ .., alpn_0, alpn_1] = &mut text;
        *transport = scanner.take_if(Ja4Field::Transport, |byte| b"tqd".contains(&byte))?;
        [*version_0, *version_1] = scan_version(scanner)?;
        *server_name = scanner.take_if(Ja4Field::ServerName, |byte| b"di".contains(&byte))?;
        let [ciphers_0, ciphers_1, extensions_0, extensions_1] = ciphers;
        for target in [ciphers_0, ciphers_1] {
            *target = scanner.take_if(Ja4Field::CipherCount, |byte| byte.is_ascii_digit())?;
        }
        for target in [extensions_0, extensions_1] {
            *target = scanner.take_if(Ja4Field::ExtensionCount, |byte| byte.is_ascii_digit())?;
        }
        for target in [alpn_0, alpn_1] {
            *target = scanner.take_if(Ja4Field::Alpn, |byte| byte.is_ascii_alphanumeric())?;
        }
        Ok(Self { text })
    }
}

impl fmt::Display for Ja4Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Ja4Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja4Head({self})")
    }
}

impl FromStr for Ja4Head {
    type Err = Ja4ParseError;

    fn from_str(text: &str) -> Result<Self, Ja4ParseError> {
        let mut scanner = Scanner::new(text);
        let head = Self::scan(&mut scanner)?;
        scanner.end()?;
        Ok(head)
    }
}

fn scan_version(scanner: &mut Scanner<'_>) -> Result<[u8; 2], Ja4ParseError> {
    let known = || Version::NAMED.into_iter().map(|version| characters(version.ja4())).chain([*b"00"]);
    let first = scanner.take_if(Ja4Field::Version, |byte| known().any(|[first, _]| first == byte))?;
    let second =
        scanner.take_if(Ja4Field::Version, |byte| known().any(|version| version == [first, byte]))?;
    Ok([first, second])
}

fn characters(version: &'static str) -> [u8; 2] {
    version.as_bytes().try_into().unwrap_or(*b"00")
}

const fn transport_letter(transport: Transport) -> u8 {
    match transport {
        Transport::Tls => b't',
        Transport::Quic => b'q',
        Transport::Dtls => b'd',
    }
}

fn count(number: usize) -> [u8; 2] {
    let number = u8::try_from(number.min(MAX_COUNT)).unwrap_or_default();
    [hex_digit(number / 10), hex_digit(number % 10)]
}

const fn number(tens: u8, ones: u8) -> u8 {
    tens.wrapping_sub(b'0').wrapping_mul(10).wrapping_add(ones.wrapping_sub(b'0'))
}

/// The two characters for the first ALPN value of a hello.
pub(crate) fn alpn(hello: &ClientHello<'_>) -> [u8; 2] {
    alpn_characters(hello.alpn().next().unwrap_or_default())
}

/// The first and last byte of an ALPN value. If either is not alphanumeric: the first and last digit of the value in
/// hexadecimal.
fn alpn_characters(value: &[u8]) -> [u8; 2] {
    let (Some(first), Some(last)) = (value.first(), value.last()) else { return *b"00" };
    if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() {
        [*first, *last]
    } else {
        [hex_digit(first >> 4), hex_digit(last & 0x0f)]
    }
}

#[cfg(test)]
mod tests {
    use super::{alpn_characters, count, number};

    /// The rows of the definition's section "ALPN Extension Value", and registered protocol names (IANA).
    #[test]
    fn alpn_is_first_and_last_character_or_digit() {
        let rows: [(&[u8], &str); 13] = [
            (b"h2", "h2"),
            (b"http/1.1", "h1"),
            (b"h", "hh"),
            (b"", "00"),
            (b"\xab", "ab"),
            (b"\xab\xcd", "ad"),
            (b"\x30\xab", "3b"),
            (b"\x30\x31\xab\xcd", "3d"),
            (b"\x30\xab\xcd\x31", "01"),
            (b"\x0a\x0a", "0a"),
            (b"/", "2f"),
            (b"acme-tls/1", "a1"),
            (b"h2\0", "60"),
        ];
        for (value, wanted) in rows {
            assert_eq!(std::str::from_utf8(&alpn_characters(value)), Ok(wanted), "{value:?}");
        }
    }

    #[test]
    fn counts_stop_at_99() {
        for (value, wanted) in
            [(0, b"00"), (6, b"06"), (10, b"10"), (99, b"99"), (100, b"99"), (32_767, b"99")]
        {
            assert_eq!(&count(value), wanted);
        }
        for value in 0..=99 {
            let [tens, ones] = count(value);
            assert_eq!(usize::from(number(tens, ones)), value);
        }
    }
}
