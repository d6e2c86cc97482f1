//! JA4, a fingerprint of TLS clients.
//!
//! The definition is FoxIO's `technical_details/JA4.md`; comments call it "the definition". A JA4 has three parts: the
//! readable [`Ja4Head`] (JA4_a), and two lists. [`Ja4`] contains hashes of the lists (JA4_b, JA4_c), and [`Ja4Raw`] the
//! numbers.

mod error;
mod fingerprint;
pub(crate) mod head;
mod hex;
mod raw;

pub use error::{Ja4Field, Ja4ParseError};
pub use fingerprint::{Ja4, Ja4Hash};
pub use head::Ja4Head;
pub use raw::Ja4Raw;

use crate::hello::{ClientHello, extension_type as kind};

/// A form of JA4: the contents and order of its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ja4Form {
    /// `ja4`, `ja4_r`: sorted numbers; the extensions server_name and ALPN are counted but not listed.
    Sorted,
    /// `ja4_o`, `ja4_ro`: everything except GREASE, in wire order.
    Original,
    /// `ja4_stable`, `ja4_stable_r`: sorted, without the extensions padding, session_ticket, pre_shared_key and early_data, so
    /// that session resumption does not change it.
    SessionStable,
}

impl Ja4Form {
    /// Whether extensions of this type are counted.
    const fn counts(self, extension: u16) -> bool {
        !matches!(self, Self::SessionStable) || !changes_on_resumption(extension)
    }

    /// Whether counted extensions of this type are also listed.
    const fn lists(self, extension: u16) -> bool {
        matches!(self, Self::Original) || !matches!(extension, kind::SERVER_NAME | kind::ALPN)
    }
}

/// Extensions that session resumption adds, and padding, which depends on the length of the rest.
const fn changes_on_resumption(extension: u16) -> bool {
    matches!(extension, kind::PADDING | kind::SESSION_TICKET | kind::PRE_SHARED_KEY | kind::EARLY_DATA)
}

impl ClientHello<'_> {
    /// The JA4.
    pub fn ja4(&self) -> Ja4 {
        self.cached().ja4(self, Ja4Form::Sorted, Ja4Raw::ja4)
    }

    /// The JA4 in wire order: `ja4_o`.
    pub fn ja4_o(&self) -> Ja4 {
        self.cached().ja4(self, Ja4Form::Original, Ja4Raw::ja4)
    }

    /// The JA4 without resumption-dependent extensions: `ja4_stable`.
    pub fn ja4_stable(&self) -> Ja4 {
        self.cached().ja4(self, Ja4Form::SessionStable, Ja4Raw::ja4)
    }

    /// The JA4 with complete lists: `ja4_r`.
    ///
    /// To get the hashes too, compute them from this value with [`Ja4Raw::ja4`].
    pub fn ja4_r(&self) -> Ja4Raw {
        self.ja4_raw(Ja4Form::Sorted)
    }

    /// The JA4 with complete lists in wire order: `ja4_ro`.
    pub fn ja4_ro(&self) -> Ja4Raw {
        self.ja4_raw(Ja4Form::Original)
    }

    /// The JA4 with complete lists, without resumption-dependent extensions: `ja4_stable_r`.
    pub fn ja4_stable_r(&self) -> Ja4Raw {
        self.ja4_raw(Ja4Form::SessionStable)
    }

    /// The JA4 with complete lists, in any form.
    pub fn ja4_raw(&self, form: Ja4Form) -> Ja4Raw {
        self.cached().ja4(self, form, Ja4Raw::clone)
    }
}
