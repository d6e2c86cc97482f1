//! The order of pseudo-header fields (RFC 9113, section 8.3.1).

use std::fmt::{self, Write};

use smallvec::SmallVec;

use crate::limits::MAX_PSEUDO_HEADERS;

/// A pseudo-header field of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PseudoHeader {
    /// `:method`
    Method,
    /// `:authority`
    Authority,
    /// `:scheme`
    Scheme,
    /// `:path`
    Path,
}

impl PseudoHeader {
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b":method" => Some(Self::Method),
            b":authority" => Some(Self::Authority),
            b":scheme" => Some(Self::Scheme),
            b":path" => Some(Self::Path),
            _ => None,
        }
    }

    const fn letter(self) -> char {
        match self {
            Self::Method => 'm',
            Self::Authority => 'a',
            Self::Scheme => 's',
            Self::Path => 'p',
        }
    }
}

/// The pseudo-header fields of a request in their order. Displays as their first letters: `m,a,s,p`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PseudoHeaders(SmallVec<[PseudoHeader; 8]>);

impl PseudoHeaders {
    /// Iterates over the fields in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PseudoHeader> + '_ {
        self.0.iter().copied()
    }

    /// Adds a field. Returns false if there are too many.
    pub(super) fn push(&mut self, header: PseudoHeader) -> bool {
        let has_room = self.0.len() < MAX_PSEUDO_HEADERS;
        if has_room {
            self.0.push(header);
        }
        has_room
    }
}

impl fmt::Display for PseudoHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, header) in self.iter().enumerate() {
            if index > 0 {
                f.write_char(',')?;
            }
            f.write_char(header.letter())?;
        }
        Ok(())
    }
}
