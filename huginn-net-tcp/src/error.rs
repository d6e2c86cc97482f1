//! Errors of signature texts.

use crate::{LayoutError, UnknownQuirk};

/// Why a text is not a `raw_sig`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text does not have eight fields between colons.
    #[error("{found} fields, not the 8 of ver:ttl+dist:olen:mss:win,scale:olayout:quirks:pclass")]
    FieldCount {
        /// Number of fields found.
        found: usize,
    },
    /// A field is invalid. Wildcards belong to patterns, not to observed signatures.
    #[error("{field}: '{value}' is not {}", field.observed())]
    Field {
        /// The field.
        field: TcpField,
        /// The text of the field.
        value: Box<str>,
    },
    /// The option layout is invalid.
    #[error("option layout: {0}")]
    Layout(#[from] LayoutError),
    /// The quirks are invalid.
    #[error("quirks: {0}")]
    Quirks(#[from] UnknownQuirk),
}

huginn_net_wire::named! {
    /// A field of a TCP signature.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum TcpField {
        /// `ver`.
        Version = "IP version",
        /// `ttl` or `ittl`.
        Ttl = "TTL",
        /// `olen`.
        IpOptionsLen = "IP option length",
        /// `mss`.
        Mss = "MSS",
        /// `wsize`.
        Window = "window",
        /// `scale`.
        Scale = "window scale",
        /// `olayout`.
        Layout = "option layout",
        /// `quirks`.
        Quirks = "quirks",
        /// `pclass`.
        Payload = "payload class",
    }
}

impl TcpField {
    pub(crate) fn error(self, value: &str) -> ParseError {
        ParseError::Field { field: self, value: value.into() }
    }

    /// Describes a valid observed value of this field.
    fn observed(self) -> &'static str {
        match self {
            Self::Version => "4 or 6",
            Self::Ttl => "TTL+distance or TTL+?, each up to 255",
            Self::IpOptionsLen => "a number up to 65535",
            Self::Mss => "a number up to 65535",
            Self::Window => "a number up to 65535, 'mss*N' or 'mtu*N' with ',' and a scale behind",
            Self::Scale => "a number up to 255",
            Self::Layout => "a list of TCP options",
            Self::Quirks => "a list of quirks",
            Self::Payload => "'0' or '+'",
        }
    }
}
