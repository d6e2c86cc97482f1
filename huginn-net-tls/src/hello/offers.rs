//! What a ClientHello says in extensions that fingerprints do not read. Each value is parsed when it is asked for.

use std::fmt;
use std::iter::FusedIterator;

use super::extension::{AlpnList, Extension, U16List, extension_type as kind};
use super::trust_anchors::TrustAnchors;
use super::{ClientHello, is_grease};
use crate::names;

/// A pre-shared key that a client offers (RFC 8446, section 4.2.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PskIdentity<'a> {
    /// Its name, such as a session ticket.
    pub identity: &'a [u8],
    /// `obfuscated_ticket_age`.
    pub obfuscated_ticket_age: u32,
}

/// The pre-shared keys of a client in wire order, up to the first truncated one.
#[derive(Clone, Copy, Debug, Default)]
pub struct PskIdentities<'a> {
    rest: &'a [u8],
}

/// The place of a GREASE value (RFC 8701) in a ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grease {
    /// The list that has it.
    pub list: GreaseList,
    /// Its position in the list, from 0.
    pub index: usize,
}

huginn_net_wire::named! {
    /// A list of a ClientHello.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum GreaseList {
        /// `cipher_suites`.
        CipherSuites = "cipher_suites",
        /// The extensions.
        Extensions = "extensions",
        /// supported_groups.
        Groups = "supported_groups",
        /// key_share.
        KeyShares = "key_share",
        /// supported_versions.
        Versions = "supported_versions",
        /// signature_algorithms.
        SignatureAlgorithms = "signature_algorithms",
    }
}

impl ClientHello<'_> {
    /// The session ticket of TLS 1.2 (RFC 5077); empty if the client asks for one.
    pub fn session_ticket(&self) -> Option<&[u8]> {
        self.extension(kind::SESSION_TICKET)
    }

    /// The pre-shared keys (RFC 8446, section 4.2.11), which resume a session of TLS 1.3.
    pub fn psk_identities(&self) -> PskIdentities<'_> {
        PskIdentities { rest: self.prefixed(kind::PRE_SHARED_KEY) }
    }

    /// The signature schemes of the extension signature_algorithms_cert (RFC 8446, section 4.2.3), including GREASE.
    pub fn signature_algorithms_cert(&self) -> U16List<'_> {
        U16List::new(self.prefixed(kind::SIGNATURE_ALGORITHMS_CERT))
    }

    /// The algorithms of the extension compress_certificate (RFC 8879, section 3), including GREASE.
    pub fn certificate_compression(&self) -> U16List<'_> {
        let list = self.extension(kind::COMPRESS_CERTIFICATE).and_then(|data| {
            let (len, list) = data.split_first()?;
            Some(list.get(..usize::from(*len)).unwrap_or(list))
        });
        U16List::new(list.unwrap_or_default())
    }

    /// The largest record that the client accepts (RFC 8449, section 4), in bytes.
    pub fn record_size_limit(&self) -> Option<u16> {
        U16List::new(self.extension(kind::RECORD_SIZE_LIMIT)?).next()
    }

    /// The protocols of the extension application_settings (ALPS, draft-vvv-tls-alps), unvalidated.
    pub fn alps(&self) -> AlpnList<'_> {
        let is_old = self.extension(kind::APPLICATION_SETTINGS).is_none();
        AlpnList::new(self.prefixed(if is_old {
            kind::OLD_APPLICATION_SETTINGS
        } else {
            kind::APPLICATION_SETTINGS
        }))
    }

    /// The trust anchors that the client names (draft-ietf-tls-trust-anchor-ids); `None` without the extension.
    pub fn trust_anchors(&self) -> Option<TrustAnchors<'_>> {
        self.extension(kind::TRUST_ANCHORS).map(|_| TrustAnchors::new(self.prefixed(kind::TRUST_ANCHORS)))
    }

    /// The extensions whose type has no [name](names::extension), without GREASE.
    pub fn unknown_extensions(&self) -> impl Iterator<Item = Extension<'_>> + Clone {
        self.extensions()
            .filter(|extension| !is_grease(extension.kind) && names::extension(extension.kind).is_none())
    }

    /// The places of GREASE values (RFC 8701), list by list.
    pub fn grease(&self) -> impl Iterator<Item = Grease> + Clone {
        let extensions = self.extensions().map(|extension| extension.kind);
        let key_shares = self.key_shares().map(|share| share.group);
        grease_of(GreaseList::CipherSuites, self.cipher_suites())
            .chain(grease_of(GreaseList::Extensions, extensions))
            .chain(grease_of(GreaseList::Groups, self.supported_groups()))
            .chain(grease_of(GreaseList::KeyShares, key_shares))
            .chain(grease_of(GreaseList::Versions, self.supported_versions()))
            .chain(grease_of(GreaseList::SignatureAlgorithms, self.signature_algorithms()))
    }

    /// The list in an extension after a length prefix of two bytes, or the available part of the list.
    fn prefixed(&self, kind: u16) -> &[u8] {
        let data = self.extension(kind).unwrap_or_default();
        let Some((len, list)) = data.split_first_chunk() else { return &[] };
        list.get(..usize::from(u16::from_be_bytes(*len))).unwrap_or(list)
    }
}

/// The places of GREASE in a list.
fn grease_of(
    list: GreaseList,
    numbers: impl Iterator<Item = u16> + Clone,
) -> impl Iterator<Item = Grease> + Clone {
    let numbers = numbers.enumerate().filter(|(_, number)| is_grease(*number));
    numbers.map(move |(index, _)| Grease { list, index })
}

impl<'a> Iterator for PskIdentities<'a> {
    type Item = PskIdentity<'a>;

    fn next(&mut self) -> Option<PskIdentity<'a>> {
        let (len, rest) = self.rest.split_first_chunk()?;
        let (identity, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
        let (age, rest) = rest.split_first_chunk()?;
        self.rest = rest;
        Some(PskIdentity { identity, obfuscated_ticket_age: u32::from_be_bytes(*age) })
    }
}

impl FusedIterator for PskIdentities<'_> {}

impl fmt::Display for Grease {
    /// Writes `cipher_suites[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.list.name(), self.index)
    }
}
