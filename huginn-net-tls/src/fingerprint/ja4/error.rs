//! Errors of JA4 texts.

/// Error of parsing a JA4 or raw JA4. Offsets are in bytes from the start of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ja4ParseError {
    /// An invalid character.
    #[error("offset {offset}, {field}: {found:?} is not {}", field.expected())]
    Unexpected {
        /// Offset of the character.
        offset: usize,
        /// The part at this offset.
        field: Ja4Field,
        /// The character.
        found: char,
    },
    /// The text is too short.
    #[error("offset {offset}, {field}: the text ends where {} should follow", field.expected())]
    Ended {
        /// Length of the text, in bytes.
        offset: usize,
        /// The incomplete part.
        field: Ja4Field,
    },
}

impl Ja4ParseError {
    /// Offset of the error, in bytes.
    pub const fn offset(&self) -> usize {
        match self {
            Self::Unexpected { offset, .. } | Self::Ended { offset, .. } => *offset,
        }
    }
}

huginn_net_wire::named! {
    /// A part of a JA4.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Ja4Field {
        /// First character: transport.
        Transport = "transport",
        /// Characters two and three: version.
        Version = "version",
        /// Fourth character: server name.
        ServerName = "server name",
        /// Number of cipher suites.
        CipherCount = "cipher suite count",
        /// Number of extensions.
        ExtensionCount = "extension count",
        /// The two characters for ALPN.
        Alpn = "ALPN",
        /// The separator between parts.
        Separator = "separator",
        /// JA4_b.
        CipherHash = "cipher suite hash",
        /// JA4_c.
        ExtensionHash = "extension hash",
        /// The list of cipher suites.
        CipherSuites = "cipher suites",
        /// The list of extensions.
        Extensions = "extensions",
        /// The list of signature algorithms.
        SignatureAlgorithms = "signature algorithms",
        /// The end of the text.
        End = "end",
    }
}

impl Ja4Field {
    /// Describes the valid content.
    fn expected(self) -> &'static str {
        match self {
            Self::Transport => "'t', 'q' or 'd'",
            Self::Version => "one of 13 12 11 10 s3 s2 d1 d2 d3 00",
            Self::ServerName => "'d' or 'i'",
            Self::CipherCount | Self::ExtensionCount => "a count of two decimal digits",
            Self::Alpn => "a letter or digit",
            Self::Separator => "'_'",
            Self::CipherHash | Self::ExtensionHash => "one of twelve hexadecimal digits in lower case",
            Self::CipherSuites | Self::Extensions | Self::SignatureAlgorithms => {
                "a number of four hexadecimal digits in lower case, with ',' between two"
            }
            Self::End => "the end of the text",
        }
    }
}

/// A scanner over the bytes of a text, with error offsets.
pub(super) struct Scanner<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, offset: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    /// Returns the next byte if `accept` allows it. It must be ASCII.
    pub(super) fn take_if(&mut self, field: Ja4Field, can: impl Fn(u8) -> bool) -> Result<u8, Ja4ParseError> {
        match self.peek() {
            Some(byte) if can(byte) => {
                self.offset = self.offset.saturating_add(1);
                Ok(byte)
            }
            _ => Err(self.error(field)),
        }
    }

    /// Reads a lower-case hexadecimal digit.
    pub(super) fn hex(&mut self, field: Ja4Field) -> Result<u8, Ja4ParseError> {
        let digit = self.take_if(field, |byte| super::hex::hex_value(byte).is_some())?;
        Ok(super::hex::hex_value(digit).unwrap_or_default())
    }

    pub(super) fn separator(&mut self) -> Result<(), Ja4ParseError> {
        self.take_if(Ja4Field::Separator, |byte| byte == b'_').map(|_| ())
    }

    pub(super) fn end(&self) -> Result<(), Ja4ParseError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.error(Ja4Field::End)) }
    }

    pub(super) fn error(&self, field: Ja4Field) -> Ja4ParseError {
        let offset = self.offset;
        match self.text.get(offset..).and_then(|rest| rest.chars().next()) {
            Some(found) => Ja4ParseError::Unexpected { offset, field, found },
            None => Ja4ParseError::Ended { offset, field },
        }
    }
}
