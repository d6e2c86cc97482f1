//! The extensions that depend on the session.

use huginn_net_tls::extension_type::{EARLY_DATA, PADDING, PRE_SHARED_KEY, SESSION_TICKET};
use huginn_net_tls::{Ja4, Ja4Raw};

use super::change::{Change, HelloVariant};
use super::lists;

/// Which extensions of the session a hello has: those that the stable JA4 leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::clients) struct Session(u8);

/// The extensions, in the order of the bits of [`Session`].
const EXTENSIONS: [u16; 4] = [PADDING, SESSION_TICKET, PRE_SHARED_KEY, EARLY_DATA];

/// The changes by an extension that is added, and by one that is removed, in the same order.
const CHANGES: [[Change; 2]; 4] = [
    [Change::PADDING, Change::WITHOUT_PADDING],
    [Change::TICKET, Change::WITHOUT_TICKET],
    [Change::RESUMED, Change::NEW_SESSION],
    [Change::EARLY_DATA, Change::WITHOUT_EARLY_DATA],
];

impl Session {
    /// The combinations that occur: early_data only with pre_shared_key (RFC 8446, section 4.2.10), and both only if TLS 1.3
    /// is offered.
    pub(super) fn all(offers_1_3: bool) -> impl Iterator<Item = Self> {
        (0..16).map(Self).filter(move |session| {
            let [_, _, resumed, early] = session.bits();
            (!resumed || offers_1_3) && (!early || resumed)
        })
    }

    /// The extensions among these types.
    pub(in crate::clients) fn from_types(types: impl Iterator<Item = u16>) -> Self {
        types.fold(Self::default(), |Self(bits), kind| {
            let bit = EXTENSIONS.iter().position(|extension| *extension == kind);
            Self(bits | bit.map_or(0, |bit| 1 << bit))
        })
    }

    /// The extensions of the hellos with these JA4, which the lists lack.
    pub(in crate::clients) fn recorded(stable: &Ja4Raw, ja4: &[Ja4]) -> Vec<Self> {
        let algorithms = lists::text_of_algorithms(stable.signature_algorithms());
        let is_recorded = |session: &Self| {
            let hash = lists::hash(stable.extensions(), *session, &algorithms);
            ja4.iter().any(|ja4| ja4.extension_hash() == hash)
        };
        Self::all(lists::offers_1_3(stable)).filter(is_recorded).collect()
    }

    /// The extensions, sorted.
    pub(super) fn extensions(self) -> impl Iterator<Item = u16> {
        EXTENSIONS.into_iter().zip(self.bits()).filter_map(|(extension, has)| has.then_some(extension))
    }

    fn bits(self) -> [bool; 4] {
        [1, 2, 4, 8].map(|bit| self.0 & bit != 0)
    }

    /// The changes from the most similar of these sessions.
    pub(in crate::clients) fn change_from(self, recorded: &[Self]) -> HelloVariant {
        let nearest = recorded.iter().min_by_key(|session| (session.0 ^ self.0).count_ones());
        let Some(nearest) = nearest else { return HelloVariant::default() };
        let bits = self.bits().into_iter().zip(nearest.bits());
        bits.zip(CHANGES).fold(HelloVariant::default(), |variant, ((has, had), [added, removed])| {
            variant.with(added, has && !had).with(removed, had && !has)
        })
    }
}
