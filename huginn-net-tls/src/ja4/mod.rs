//! JA4, the fingerprint of a TLS client.
//!
//! The definition is FoxIO's `technical_details/JA4.md`; where a comment says "the definition", it means that text. JA4
//! has three parts: [`Ja4Head`] (JA4_a), which can be read, and two lists behind it, of which [`Ja4`] has hashes (JA4_b,
//! JA4_c) and [`Ja4Raw`] the numbers themselves.

mod error;
mod fingerprint;
pub(crate) mod head;
pub(crate) mod hex;
mod raw;

pub use error::{Ja4Field, Ja4ParseError};
pub use fingerprint::{Ja4, Ja4Hash};
pub use head::Ja4Head;
pub use raw::Ja4Raw;

use crate::ClientHello;
use crate::extension::extension_type as kind;

/// What of a hello goes into the lists of a JA4, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ja4Form {
    /// `ja4`, `ja4_r`: numbers sorted, the extensions server_name and ALPN counted but not listed.
    Sorted,
    /// `ja4_o`, `ja4_ro`: everything but GREASE, in the order of the wire.
    Original,
    /// `ja4_s1`, `ja4_s1r`: sorted, as though there were no extensions padding, session_ticket, pre_shared_key and
    /// early_data, so that a client has the same one whether it resumes a session or not.
    SessionStable,
}

impl Ja4Form {
    /// Whether extensions of this type are counted.
    const fn counts(self, extension: u16) -> bool {
        !matches!(self, Self::SessionStable) || !changes_on_resumption(extension)
    }

    /// Whether extensions of this type that are counted are listed.
    const fn lists(self, extension: u16) -> bool {
        matches!(self, Self::Original) || !matches!(extension, kind::SERVER_NAME | kind::ALPN)
    }
}

/// Those that a client adds when it resumes a session, and padding, whose presence hangs on the length of the rest.
const fn changes_on_resumption(extension: u16) -> bool {
    matches!(extension, kind::PADDING | kind::SESSION_TICKET | kind::PRE_SHARED_KEY | kind::EARLY_DATA)
}

impl ClientHello<'_> {
    /// JA4.
    pub fn ja4(&self) -> Ja4 {
        self.ja4_raw(Ja4Form::Sorted).ja4()
    }

    /// JA4 in the order of the wire: `ja4_o`.
    pub fn ja4_o(&self) -> Ja4 {
        self.ja4_raw(Ja4Form::Original).ja4()
    }

    /// JA4 without what resumption changes: `ja4_s1`.
    pub fn ja4_s1(&self) -> Ja4 {
        self.ja4_raw(Ja4Form::SessionStable).ja4()
    }

    /// JA4 with its lists in full: `ja4_r`.
    ///
    /// Whoever wants the hashes too has them cheapest from it, with [`Ja4Raw::ja4`].
    pub fn ja4_r(&self) -> Ja4Raw {
        self.ja4_raw(Ja4Form::Sorted)
    }

    /// The lists in full and in the order of the wire: `ja4_ro`.
    pub fn ja4_ro(&self) -> Ja4Raw {
        self.ja4_raw(Ja4Form::Original)
    }

    /// The lists in full, without what resumption changes: `ja4_s1r`.
    pub fn ja4_s1r(&self) -> Ja4Raw {
        self.ja4_raw(Ja4Form::SessionStable)
    }

    /// JA4 with its lists in full, in any form.
    pub fn ja4_raw(&self, form: Ja4Form) -> Ja4Raw {
        self.cached().ja4(self, form)
    }
}
