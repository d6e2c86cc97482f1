//! The extension encrypted_client_hello (RFC 9849, section 5).

use huginn_net_wire::Cursor;

/// The extension encrypted_client_hello of a ClientHello (RFC 9849, section 5).
///
/// GREASE ECH (section 6.2) has the same form as real ECH: only the server can tell one from the other.
/// If ECH is real, the server name of the hello is that of the client-facing server, not the name that the client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ech<'a> {
    /// `outer`: the visible hello, with the inner one encrypted in it.
    Outer(OuterEch<'a>),
    /// `inner`: the hello that was encrypted.
    Inner,
    /// Another form, such as that of a draft.
    Other,
}

/// The fields of `outer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterEch<'a> {
    /// Key derivation function (RFC 9180, section 7.2); [`names::hpke_kdf`](crate::names::hpke_kdf) has its name.
    pub kdf: u16,
    /// Cipher (RFC 9180, section 7.3); [`names::hpke_aead`](crate::names::hpke_aead) has its name.
    pub aead: u16,
    /// Identifier of the server's configuration.
    pub config_id: u8,
    /// Encapsulated key; empty in the hello after a HelloRetryRequest.
    pub enc: &'a [u8],
    /// Encrypted inner hello.
    pub payload: &'a [u8],
}

impl<'a> Ech<'a> {
    /// Returns the name of the form: `outer`, `inner` or `other`.
    #[must_use]
    pub const fn kind_name(&self) -> &'static str {
        match self {
            Self::Outer(_) => "outer",
            Self::Inner => "inner",
            Self::Other => "other",
        }
    }

    /// Parses the data of the extension.
    pub(crate) fn parse(data: &'a [u8]) -> Self {
        const INNER: &[u8] = &[1];
        if data == INNER { Self::Inner } else { OuterEch::parse(data).map_or(Self::Other, Self::Outer) }
    }
}

impl<'a> OuterEch<'a> {
    fn parse(data: &'a [u8]) -> Option<Self> {
        const OUTER: u8 = 0;
        let mut cursor = Cursor::new(data);
        if cursor.u8().ok()? != OUTER {
            return None;
        }
        let (kdf, aead) = (cursor.u16_be().ok()?, cursor.u16_be().ok()?);
        let config_id = cursor.u8().ok()?;
        let mut bytes = || {
            let len = cursor.u16_be().ok()?;
            cursor.take(usize::from(len)).ok()
        };
        let (enc, payload) = (bytes()?, bytes()?);
        cursor.is_empty().then_some(Self { kdf, aead, config_id, enc, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_outer_and_inner() {
        let outer = [0, 0, 1, 0, 3, 9, 0, 2, 7, 7, 0, 3, 8, 8, 8];
        let expected = OuterEch { kdf: 1, aead: 3, config_id: 9, enc: &[7, 7], payload: &[8, 8, 8] };
        assert_eq!(Ech::parse(&outer), Ech::Outer(expected));
        assert_eq!(Ech::parse(&[1]), Ech::Inner);
    }

    #[test]
    fn each_form_has_a_name() {
        let outer = [0, 0, 1, 0, 3, 9, 0, 0, 0, 0];
        let names = [&outer[..], &[1], &[]].map(|data| Ech::parse(data).kind_name());
        assert_eq!(names, ["outer", "inner", "other"]);
    }

    #[test]
    fn every_truncation_is_another_form() {
        let outer = [0, 0, 1, 0, 3, 9, 0, 2, 7, 7, 0, 3, 8, 8, 8];
        for len in 0..outer.len() {
            assert_eq!(Ech::parse(&outer[..len]), Ech::Other);
        }
        assert_eq!(Ech::parse(&[&outer[..], &[0]].concat()), Ech::Other);
        assert_eq!(Ech::parse(&[1, 0]), Ech::Other);
    }
}
