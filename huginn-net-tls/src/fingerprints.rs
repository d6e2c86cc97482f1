//! The fingerprints of hellos that are alike.

use std::cell::RefCell;
use std::sync::Arc;

use crate::computed::Computed;
use crate::ja3::Ja3Frame;
use crate::memo::Memo;
use crate::sorted_kinds::SortedKinds;
use crate::{ClientHello, Ja3, Ja4Form, Ja4Head, Ja4Raw, U16List, is_grease};

/// The fingerprints of hellos that are alike but for the order of their extensions, as far as they were asked for.
#[derive(Debug)]
pub(crate) struct Fingerprints {
    sorted: Computed<Ja4Raw>,
    session_stable: Computed<Ja4Raw>,
    ja3_frame: Computed<Arc<Ja3Frame>>,
    /// The order of the extensions in which `original` and `ja3` are those of a hello, GREASE aside.
    order: Vec<u16>,
    original: Computed<Ja4Raw>,
    ja3: Computed<Ja3>,
}

/// The longest key of hellos whose fingerprints are remembered, in bytes; their fingerprints take up some 8 KB at most.
const MAX_KEY: usize = 384;

thread_local! {
    static KNOWN: RefCell<Memo<Arc<Fingerprints>, MAX_KEY>> = RefCell::new(Memo::new());
}

impl Fingerprints {
    /// Those of hellos like this one, if this thread has seen one before.
    pub(crate) fn known(hello: &ClientHello<'_>) -> Option<Arc<Self>> {
        Memo::recall(&KNOWN, Key::of(hello)?.as_bytes(), || Arc::new(Self::none_yet(hello)))
    }

    fn none_yet(hello: &ClientHello<'_>) -> Self {
        Self {
            sorted: Computed::default(),
            session_stable: Computed::default(),
            ja3_frame: Computed::default(),
            order: order(hello).collect(),
            original: Computed::default(),
            ja3: Computed::default(),
        }
    }

    /// The JA4 of such a hello.
    pub(crate) fn ja4(&self, hello: &ClientHello<'_>, form: Ja4Form) -> Ja4Raw {
        let known = match form {
            Ja4Form::Sorted => &self.sorted,
            Ja4Form::SessionStable => &self.session_stable,
            Ja4Form::Original if self.is_in_order(hello) => &self.original,
            Ja4Form::Original => return Ja4Raw::of(hello, form),
        };
        known.get_or_init(|| Ja4Raw::of(hello, form)).clone()
    }

    /// The JA3 of such a hello.
    pub(crate) fn ja3(&self, hello: &ClientHello<'_>) -> Ja3 {
        let compute = || Ja3Frame::ja3(self.ja3_frame.get_or_init(|| Arc::new(Ja3Frame::of(hello))), hello);
        if self.is_in_order(hello) { self.ja3.get_or_init(compute).clone() } else { compute() }
    }

    fn is_in_order(&self, hello: &ClientHello<'_>) -> bool {
        self.order.iter().copied().eq(order(hello))
    }
}

/// The types of the extensions in the order of the wire, GREASE aside.
fn order<'a>(hello: &'a ClientHello<'_>) -> impl Iterator<Item = u16> + use<'a> {
    hello.extensions().map(|extension| extension.kind).filter(|kind| !is_grease(*kind))
}

/// All of a hello that a fingerprint shows, but for the order of its extensions.
struct Key {
    bytes: [u8; MAX_KEY],
    len: usize,
}

impl Key {
    /// Of a hello that leaves some room.
    fn of(hello: &ClientHello<'_>) -> Option<Self> {
        let mut key = Self { bytes: [0; MAX_KEY], len: 0 };
        key.push(Ja4Head::of(hello).as_bytes())?;
        key.push(&hello.legacy_version().0.to_ne_bytes())?;
        for list in [hello.cipher_suites(), hello.signature_algorithms(), hello.supported_groups()] {
            key.push(without_outer_grease(list))?;
        }
        key.push(hello.ec_point_formats())?;
        let kinds = SortedKinds::of(hello.extensions());
        let (low, others) = kinds.parts();
        key.push(&low.to_ne_bytes())?;
        for (place, kind) in key.room(others.len().checked_mul(2)?)?.chunks_exact_mut(2).zip(others) {
            place.copy_from_slice(&kind.to_ne_bytes());
        }
        Some(key)
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Room for a part of so many bytes, with its length before it: no part runs into the next one.
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let (prefix, rest) = self.bytes.get_mut(self.len..)?.split_first_chunk_mut()?;
        *prefix = u16::try_from(len).ok()?.to_ne_bytes();
        self.len = self.len.checked_add(prefix.len())?.checked_add(len)?;
        rest.get_mut(..len)
    }

    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.room(bytes.len())?.copy_from_slice(bytes);
        Some(())
    }
}

/// The numbers of a list, without one of GREASE at either end: no fingerprint shows it, clients draw it at random, and
/// put it there.
fn without_outer_grease(list: U16List<'_>) -> &[u8] {
    let is_grease = |number: &[u8; 2]| is_grease(u16::from_be_bytes(*number));
    let list = list.as_bytes().get(..list.len().saturating_mul(2)).unwrap_or_default();
    let list = list.split_first_chunk().filter(|(first, _)| is_grease(first)).map_or(list, |(_, rest)| rest);
    list.split_last_chunk().filter(|(_, last)| is_grease(last)).map_or(list, |(rest, _)| rest)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Transport;

    /// A ClientHello of these parts, the extensions as type and content.
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
        // A length may be odd, and the byte too much look like GREASE.
        (prop::collection::vec(number, 0..3), any::<bool>()).prop_map(|(numbers, odd)| {
            let bytes = [numbers.as_flattened(), &[0xba][..usize::from(odd)]].concat();
            [&[0, u8::try_from(bytes.len()).unwrap()][..], &bytes].concat()
        })
    }

    fn extension() -> impl Strategy<Value = (u16, Vec<u8>)> {
        prop_oneof![
            (prop::sample::select(vec![10_u16, 13]), numbers()),
            numbers().prop_map(|list| (43, list[1..].to_vec())),
            prop::collection::vec(0..2_u8, 0..3)
                .prop_map(|list| (11, [&[u8::try_from(list.len()).unwrap()], &list[..]].concat())),
            prop::sample::select(vec![&b""[..], b"\0\x03\x02h2", b"\0\x03\x02h3"])
                .prop_map(|list| (16, list.to_vec())),
            prop::sample::select(vec![0_u16, 21, 35, 0x1a1a, 0xfafa]).prop_map(|kind| (kind, Vec::new())),
        ]
    }

    fn assert_same(hello: &ClientHello<'_>) {
        for form in [Ja4Form::Sorted, Ja4Form::Original, Ja4Form::SessionStable] {
            assert_eq!(hello.ja4_raw(form), Ja4Raw::of(hello, form), "{form:?} of {hello:?}");
        }
        for _ in 0..2 {
            let (given, computed) = (hello.ja3(), Ja3::of(hello));
            assert_eq!((given.as_str(), given.hash()), (computed.as_str(), computed.hash()), "{hello:?}");
        }
    }

    proptest! {
        /// So few numbers that hellos come again, and differ in little.
        #[test]
        fn what_is_remembered_is_what_would_be_computed(
            hellos in prop::collection::vec(
                (
                    prop::sample::select(vec![Transport::Tcp, Transport::Quic]),
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
                    assert_same(&ClientHello::from_message(&message, transport).unwrap());
                }
            }
        }
    }

    #[test]
    fn hellos_that_differ_in_what_no_fingerprint_shows_share_theirs() {
        let bytes =
            |grease| message(3, &[grease, 0x1301], &[(grease, Vec::new()), (16, b"\0\x03\x02h2".to_vec())]);
        let [one, two, three] = [0x0a0a, 0xfafa, 0x6a6a].map(bytes);
        let hello = |bytes| ClientHello::from_message(bytes, Transport::Tcp).unwrap();
        assert!(hello(&one).known_fingerprints().is_none(), "nothing is known of the first one");
        let known = hello(&two).ja4_r();
        assert_eq!(hello(&three).ja4_r().as_str().as_ptr(), known.as_str().as_ptr());
        let quic = ClientHello::from_message(&three, Transport::Quic).unwrap();
        assert!(quic.known_fingerprints().is_none());
    }

    #[test]
    fn a_hello_too_long_to_be_remembered_has_its_fingerprints() {
        for count in [100, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 300, 30_000] {
            let suites: Vec<u16> = (0..count).collect();
            let message = message(3, &suites, &[(10, vec![0, 2, 0, 29])]);
            for _ in 0..3 {
                assert_same(&ClientHello::from_message(&message, Transport::Tcp).unwrap());
            }
        }
    }
}
