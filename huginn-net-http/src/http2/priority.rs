//! Stream priorities (RFC 7540, sections 5.3 and 6.3; deprecated but still sent).

use std::fmt;

use super::frame::number31;

/// The contents of a PRIORITY frame. Displays as in the Akamai fingerprint: `stream:exclusive:depends on:weight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamPriority {
    /// Stream identifier.
    pub stream: u32,
    /// Whether the dependency is exclusive.
    pub exclusive: bool,
    /// The stream that it depends on; 0 for none.
    pub depends_on: u32,
    /// Weight, 1 to 256: one more than the byte on the wire.
    pub weight: u16,
}

impl StreamPriority {
    pub(super) fn parse(stream: u32, [depends_on @ .., weight]: [u8; 5]) -> Self {
        Self {
            stream,
            exclusive: depends_on.first().is_some_and(|first| first & 0x80 != 0),
            depends_on: number31(depends_on),
            weight: u16::from(weight).saturating_add(1),
        }
    }
}

impl fmt::Display for StreamPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, exclusive, depends_on, weight } = self;
        write!(f, "{stream}:{}:{depends_on}:{weight}", u8::from(*exclusive))
    }
}
