//! Protocol versions.

use std::fmt;
use std::str::FromStr;

/// A TLS or DTLS version number, as on the wire.
///
/// Displays as JA4's two characters: `13`, `12`, `11`, `10`, `s3`, `s2`, `d1`, `d2`, `d3`, and `00` for other numbers,
/// including drafts of TLS 1.3.
///
/// ```
/// use huginn_net_tls::Version;
///
/// assert_eq!(Version::TLS_1_3.to_string(), "13");
/// assert_eq!(Version(0x7f1c).to_string(), "00");
/// assert!(Version::DTLS_1_2.rank() > Version::DTLS_1_0.rank());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version(pub u16);

impl Version {
    /// SSL 2.0.
    pub const SSL_2: Self = Self(0x0002);
    /// SSL 3.0 (RFC 6101).
    pub const SSL_3: Self = Self(0x0300);
    /// TLS 1.0 (RFC 2246).
    pub const TLS_1_0: Self = Self(0x0301);
    /// TLS 1.1 (RFC 4346).
    pub const TLS_1_1: Self = Self(0x0302);
    /// TLS 1.2 (RFC 5246).
    pub const TLS_1_2: Self = Self(0x0303);
    /// TLS 1.3 (RFC 8446).
    pub const TLS_1_3: Self = Self(0x0304);
    /// DTLS 1.0 (RFC 4347).
    pub const DTLS_1_0: Self = Self(0xfeff);
    /// DTLS 1.2 (RFC 6347).
    pub const DTLS_1_2: Self = Self(0xfefd);
    /// DTLS 1.3 (RFC 9147).
    pub const DTLS_1_3: Self = Self(0xfefc);

    /// The versions that JA4 names.
    pub(crate) const NAMED: [Self; 9] = [
        Self::TLS_1_3,
        Self::TLS_1_2,
        Self::TLS_1_1,
        Self::TLS_1_0,
        Self::SSL_3,
        Self::SSL_2,
        Self::DTLS_1_0,
        Self::DTLS_1_2,
        Self::DTLS_1_3,
    ];

    /// The two characters in a JA4.
    pub const fn ja4(self) -> &'static str {
        match self {
            Self::TLS_1_3 => "13",
            Self::TLS_1_2 => "12",
            Self::TLS_1_1 => "11",
            Self::TLS_1_0 => "10",
            Self::SSL_3 => "s3",
            Self::SSL_2 => "s2",
            Self::DTLS_1_0 => "d1",
            Self::DTLS_1_2 => "d2",
            Self::DTLS_1_3 => "d3",
            Self(_) => "00",
        }
    }

    /// The name, such as `TLS 1.3`; `None` of drafts and unknown versions.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::TLS_1_3 => "TLS 1.3",
            Self::TLS_1_2 => "TLS 1.2",
            Self::TLS_1_1 => "TLS 1.1",
            Self::TLS_1_0 => "TLS 1.0",
            Self::SSL_3 => "SSL 3.0",
            Self::SSL_2 => "SSL 2.0",
            Self::DTLS_1_0 => "DTLS 1.0",
            Self::DTLS_1_2 => "DTLS 1.2",
            Self::DTLS_1_3 => "DTLS 1.3",
            Self(_) => return None,
        })
    }

    /// Sorts versions from old to new: DTLS numbers count down from 0xfeff.
    pub const fn rank(self) -> u16 {
        match self.0 {
            number @ 0xfe00..=0xfeff => 0xfdff_u16.wrapping_sub(number),
            number => number,
        }
    }
}

/// A text that is not a version as JA4 writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a TLS version: expected 13, 12, 11, 10, s3, s2, d1, d2, d3 or 00")]
#[non_exhaustive]
pub struct VersionParseError;

/// Parses JA4's two characters; `00` is the number 0.
impl FromStr for Version {
    type Err = VersionParseError;

    fn from_str(text: &str) -> Result<Self, VersionParseError> {
        let versions = Self::NAMED.into_iter().chain([Self(0)]);
        versions.into_iter().find(|version| version.ja4() == text).ok_or(VersionParseError)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ja4())
    }
}
