//! A per-thread cache of fingerprints.

use std::cell::RefCell;
use std::sync::Arc;

use huginn_net_wire::SeenCache;

use super::client_family::ClientFamily;
use super::ja3::{Ja3, Ja3Frame};
use super::ja4::head::alpn;
use super::ja4::{Ja4Form, Ja4Raw};
use super::sorted::SortedKinds;
use crate::computed::Computed;
use crate::hello::{ClientHello, is_grease};
use crate::limits::{FINGERPRINT_CACHE_ENTRIES, MAX_CACHE_KEY_LEN, MAX_CACHED_EXTENSIONS};

/// The cached fingerprints of hellos equivalent to a given one.
#[derive(Clone, Debug)]
pub(crate) struct CachedFingerprints {
    /// `None` if the thread has not seen an equivalent hello before.
    fingerprints: Option<Arc<Fingerprints>>,
    /// Whether the hello's extensions have the same order as those of the cached hello.
    in_order: bool,
}

/// The fingerprints of hellos that differ at most in the order of their extensions, computed on demand.
#[derive(Debug)]
struct Fingerprints {
    sorted: Computed<Ja4Raw>,
    session_stable: Computed<Ja4Raw>,
    ja3_frame: Computed<Arc<Ja3Frame>>,
    /// The extension order, without GREASE, that `original`, `ja3` and `family` belong to.
    order: Vec<u16>,
    original: Computed<Ja4Raw>,
    ja3: Computed<Ja3>,
    family: Computed<Option<ClientFamily>>,
}

thread_local! {
    static CACHE: RefCell<SeenCache<[u8], Arc<Fingerprints>>> = RefCell::new(SeenCache::new(FINGERPRINT_CACHE_ENTRIES));
}

impl CachedFingerprints {
    pub(crate) fn for_hello(hello: &ClientHello<'_>) -> Self {
        let (mut kinds, mut count) = ([0; MAX_CACHED_EXTENSIONS], 0_usize);
        let sorted =
            SortedKinds::from_numbers_with(hello.extensions().map(|extension| extension.kind), |kind| {
                if let Some(target) = kinds.get_mut(count) {
                    *target = kind;
                }
                count = count.wrapping_add(1);
            });
        let order = kinds.get(..count);
        let fingerprints = order.and_then(|order| Fingerprints::cached(hello, &sorted, order));
        let in_order = fingerprints.as_ref().is_some_and(|cached| Some(&*cached.order) == order);
        Self { fingerprints, in_order }
    }

    /// Reads the JA4 of the hello that this value belongs to.
    pub(crate) fn ja4<T>(
        &self,
        hello: &ClientHello<'_>,
        form: Ja4Form,
        read: impl FnOnce(&Ja4Raw) -> T,
    ) -> T {
        let compute = || Ja4Raw::from_hello(hello, form);
        let Some(cached) = &self.fingerprints else { return read(&compute()) };
        match form {
            Ja4Form::Sorted => read(cached.sorted.get_or_init(compute)),
            Ja4Form::SessionStable => read(cached.session_stable.get_or_init(compute)),
            Ja4Form::Original => {
                let original =
                    cached.original.get_or_init(|| compute().reordered(cached.order.iter().copied()));
                if self.in_order { read(original) } else { read(&original.reordered(hello.kinds())) }
            }
        }
    }

    /// The JA3 of the hello that this value belongs to.
    pub(crate) fn ja3(&self, hello: &ClientHello<'_>) -> Ja3 {
        let Some(cached) = &self.fingerprints else { return Ja3::from_hello(hello) };
        let compute =
            || Ja3Frame::ja3(cached.ja3_frame.get_or_init(|| Arc::new(Ja3Frame::from_hello(hello))), hello);
        if self.in_order { cached.ja3.get_or_init(compute).clone() } else { compute() }
    }
}

impl CachedFingerprints {
    /// The family of the hello that this value belongs to.
    pub(crate) fn family(&self, hello: &ClientHello<'_>) -> Option<ClientFamily> {
        let compute = || ClientFamily::from_hello(hello);
        match &self.fingerprints {
            Some(cached) if self.in_order => *cached.family.get_or_init(compute),
            _ => compute(),
        }
    }
}

impl Fingerprints {
    /// Looks up the fingerprints of equivalent hellos with these extension types, if the thread has seen one before.
    fn cached(hello: &ClientHello<'_>, kinds: &SortedKinds, order: &[u16]) -> Option<Arc<Self>> {
        let mut key = Key { bytes: [0; MAX_CACHE_KEY_LEN], len: 0 };
        key.push_hello(hello, kinds)?;
        SeenCache::recall(&CACHE, key.as_bytes(), || Arc::new(Self::empty(order)))
    }

    fn empty(order: &[u16]) -> Self {
        Self {
            sorted: Computed::default(),
            session_stable: Computed::default(),
            ja3_frame: Computed::default(),
            order: order.to_vec(),
            original: Computed::default(),
            ja3: Computed::default(),
            family: Computed::default(),
        }
    }
}

/// The replacement of any GREASE value.
const GREASE: [u8; 2] = [0x0a, 0x0a];

/// The cache key: everything in a hello that a fingerprint depends on, except the order of its extensions.
struct Key {
    bytes: [u8; MAX_CACHE_KEY_LEN],
    len: usize,
}

impl Key {
    /// Appends a hello. `None` if the key becomes too long.
    fn push_hello(&mut self, hello: &ClientHello<'_>, kinds: &SortedKinds) -> Option<()> {
        let ([low], others) = kinds.parts();
        self.push(&low.to_ne_bytes())?;
        self.push(&[hello.transport() as u8])?;
        self.push(&hello.legacy_version().0.to_ne_bytes())?;
        self.push(&alpn(hello))?;
        let parts = hello.fingerprinted_parts();
        for (part, _) in parts {
            // Separates adjacent parts.
            self.push(&u16::try_from(part.len()).ok()?.to_ne_bytes())?;
        }
        for (part, first) in parts {
            let start = self.len;
            self.push(part)?;
            if let Some(first) = first {
                self.normalize_grease(start.checked_add(first)?);
            }
        }
        others.iter().try_for_each(|kind| self.push(&kind.to_ne_bytes()))
    }

    /// Replaces a GREASE value: fingerprints ignore it, and clients choose it at random. Clients put it first.
    #[inline]
    fn normalize_grease(&mut self, at: usize) {
        let number = self.bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
        if let Some(number) = number.filter(|number| is_grease(u16::from_be_bytes(**number))) {
            *number = GREASE;
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.len.checked_add(bytes.len())?;
        self.bytes.get_mut(self.len..end)?.copy_from_slice(bytes);
        self.len = end;
        Some(())
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Transport;

    /// A ClientHello with these parts; extensions are type and data.
    fn message(version: u8, suites: &[u16], extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let with_len =
            |bytes: Vec<u8>| [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], &bytes].concat();
        let suites = with_len(suites.iter().flat_map(|suite| suite.to_be_bytes()).collect());
        let extensions = extensions.iter();
        let extensions = with_len(
            extensions
                .flat_map(|(kind, data)| [&kind.to_be_bytes()[..], &with_len(data.clone())].concat())
                .collect(),
        );
        let body = [&[3, version][..], &[0; 33], &suites, &[1, 0], &extensions].concat();
        [&[1, 0][..], &with_len(body)].concat()
    }

    fn numbers() -> impl Strategy<Value = Vec<u8>> {
        let number = prop::sample::select(vec![[0x13, 1], [0, 10], [0x2a, 0x2a], [0xba, 0xba]]);
        // Odd lengths, bytes that resemble GREASE, and omitted bytes.
        (prop::collection::vec(number, 0..3), any::<bool>(), 0..3_usize).prop_map(
            |(numbers, odd, left_out)| {
                let bytes = [numbers.as_flattened(), &[0xba][..usize::from(odd)]].concat();
                [&[0, u8::try_from(bytes.len().saturating_sub(left_out)).unwrap()][..], &bytes].concat()
            },
        )
    }

    fn extension() -> impl Strategy<Value = (u16, Vec<u8>)> {
        prop_oneof![
            (prop::sample::select(vec![10_u16, 13]), numbers()),
            numbers().prop_map(|list| (43, list[1..].to_vec())),
            // Two point formats may resemble GREASE.
            prop::collection::vec(prop::sample::select(vec![0_u8, 10, 0x1a]), 0..3)
                .prop_map(|list| (11, [&[u8::try_from(list.len()).unwrap()], &list[..]].concat())),
            prop::sample::select(vec![&b""[..], b"\0\x03\x02h2", b"\0\x03\x02h3"])
                .prop_map(|list| (16, list.to_vec())),
            prop::sample::select(vec![0_u16, 21, 35, 0x1a1a, 0xfafa]).prop_map(|kind| (kind, Vec::new())),
        ]
    }

    fn assert_same(hello: &ClientHello<'_>) {
        for form in [Ja4Form::Sorted, Ja4Form::Original, Ja4Form::SessionStable] {
            assert_eq!(hello.ja4_raw(form), Ja4Raw::from_hello(hello, form), "{form:?} of {hello:?}");
        }
        for _ in 0..2 {
            let (given, computed) = (hello.ja3(), Ja3::from_hello(hello));
            assert_eq!((given.as_str(), given.hash()), (computed.as_str(), computed.hash()), "{hello:?}");
        }
    }

    proptest! {
        /// Few distinct numbers, so that hellos repeat and differ in little.
        #[test]
        fn cached_fingerprints_equal_computed_ones(
            hellos in prop::collection::vec(
                (
                    prop::sample::select(vec![Transport::Tls, Transport::Quic]),
                    2..4_u8,
                    prop::collection::vec(prop::sample::select(vec![0x1301_u16, 10, 0x3a3a, 0x4a4a]), 0..3),
                    prop::collection::vec(extension(), 0..4),
                ),
                1..40,
            ),
        ) {
            for (transport, version, suites, extensions) in hellos {
                let message = message(version, &suites, &extensions);
                for _ in 0..3 {
                    assert_same(&ClientHello::parse_message(&message, transport).unwrap());
                }
            }
        }
    }

    #[test]
    fn equivalent_hellos_share_cache_entry() {
        let bytes =
            |grease| message(3, &[grease, 0x1301], &[(grease, Vec::new()), (16, b"\0\x03\x02h2".to_vec())]);
        let [one, two, three] = [0x0a0a, 0xfafa, 0x6a6a].map(bytes);
        let hello = |bytes| ClientHello::parse_message(bytes, Transport::Tls).unwrap();
        assert!(hello(&one).cached().fingerprints.is_none(), "the first hello is not cached");
        let cached = hello(&two).ja4_r();
        assert_eq!(hello(&three).ja4_r().as_str().as_ptr(), cached.as_str().as_ptr());
        let quic = ClientHello::parse_message(&three, Transport::Quic).unwrap();
        assert!(quic.cached().fingerprints.is_none());
    }

    #[test]
    fn uncacheable_hello_has_fingerprints() {
        for count in [100, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 300, 30_000] {
            let suites: Vec<u16> = (0..count).collect();
            let message = message(3, &suites, &[(10, vec![0, 2, 0, 29])]);
            for _ in 0..3 {
                assert_same(&ClientHello::parse_message(&message, Transport::Tls).unwrap());
            }
        }
    }
}
