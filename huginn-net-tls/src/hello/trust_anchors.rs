//! The extension trust_anchors (draft-ietf-tls-trust-anchor-ids).

use std::fmt;
use std::iter::FusedIterator;

use huginn_net_wire::HexDigits;

use super::extension::AlpnList;

/// The trust anchors that a client names, in wire order, up to the first truncated one.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrustAnchors<'a> {
    rest: AlpnList<'a>,
}

/// The identifier of a trust anchor: an object identifier below 1.3.6.1.4.1, in the encoding of a relative one.
///
/// [`Display`](fmt::Display) writes its dotted form, as the draft does: `32473.1`. Bytes that are not such an
/// identifier are written in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustAnchorId<'a>(pub &'a [u8]);

impl<'a> TrustAnchors<'a> {
    /// Iterates over a list of identifiers, without its length prefix.
    pub(crate) const fn new(list: &'a [u8]) -> Self {
        // An identifier is laid out as a name of ALPN: a one-byte length and the data.
        Self { rest: AlpnList::new(list) }
    }
}

impl<'a> Iterator for TrustAnchors<'a> {
    type Item = TrustAnchorId<'a>;

    fn next(&mut self) -> Option<TrustAnchorId<'a>> {
        self.rest.next().map(TrustAnchorId)
    }
}

impl FusedIterator for TrustAnchors<'_> {}

impl TrustAnchorId<'_> {
    /// The numbers of the identifier (ITU-T X.690, section 8.20); `None` unless all of them are complete and fit in 64
    /// bits.
    fn arcs(self) -> Option<impl Iterator<Item = u64>> {
        const CONTINUES: u8 = 0x80;
        let arc = |bytes: &[u8]| {
            bytes
                .iter()
                .try_fold(0_u64, |arc, byte| Some(arc.checked_mul(0x80)? | u64::from(byte & !CONTINUES)))
        };
        let arcs = self.0.split_inclusive(|byte| byte & CONTINUES == 0);
        let is_complete = self.0.last().is_some_and(|last| last & CONTINUES == 0);
        (is_complete && arcs.clone().all(|bytes| arc(bytes).is_some())).then(|| arcs.filter_map(arc))
    }
}

impl fmt::Display for TrustAnchorId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(arcs) = self.arcs() else {
            return HexDigits(self.0).fmt(f);
        };
        for (index, arc) in arcs.enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{arc}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The identifiers of the draft's examples: section 3, "32473.1" is `81 fd 59 01`.
    #[test]
    fn identifiers_are_dotted_or_hexadecimal() {
        let rows: [(&[u8], &str); 5] = [
            (&[0x81, 0xfd, 0x59, 0x01], "32473.1"),
            (&[0x07], "7"),
            (&[0x81], "81"),
            (&[], ""),
            (&[0xff; 11], "ffffffffffffffffffffff"),
        ];
        for (bytes, text) in rows {
            assert_eq!(TrustAnchorId(bytes).to_string(), text);
        }
    }

    #[test]
    fn list_ends_at_a_truncated_identifier() {
        let list = [1, 7, 4, 0x81, 0xfd, 0x59, 0x01, 3, 1];
        let found: Vec<_> = TrustAnchors::new(&list).map(|id| id.to_string()).collect();
        assert_eq!(found, ["7", "32473.1"]);
    }
}
