//! The fingerprints of hellos that are alike.

use std::cell::RefCell;
use std::sync::Arc;

use crate::computed::Computed;
use crate::memo::Memo;
use crate::{ClientHello, Extensions, Ja3, Ja4Form, Ja4Head, Ja4Raw, U16List, is_grease};

/// The fingerprints of hellos that are alike, as far as they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    sorted: Computed<Ja4Raw>,
    original: Computed<Ja4Raw>,
    session_stable: Computed<Ja4Raw>,
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
        Memo::recall(&KNOWN, Key::of(hello)?.as_bytes(), Arc::default)
    }

    pub(crate) const fn ja4(&self, form: Ja4Form) -> &Computed<Ja4Raw> {
        match form {
            Ja4Form::Sorted => &self.sorted,
            Ja4Form::Original => &self.original,
            Ja4Form::SessionStable => &self.session_stable,
        }
    }

    pub(crate) const fn ja3(&self) -> &Computed<Ja3> {
        &self.ja3
    }
}

/// All of a hello that a fingerprint shows: equal keys, equal fingerprints.
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
            key.push_numbers(list)?;
        }
        key.push(hello.ec_point_formats())?;
        key.push_kinds(hello.extensions())?;
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

    fn push_numbers(&mut self, list: U16List<'_>) -> Option<()> {
        let numbers = list.as_bytes().chunks_exact(2);
        let places = self.room(numbers.len().checked_mul(2)?)?.chunks_exact_mut(2);
        for (place, number) in places.zip(numbers) {
            let number = u16::from_ne_bytes(number.try_into().unwrap_or_default());
            place.copy_from_slice(&with_one_grease(number).to_ne_bytes());
        }
        Some(())
    }

    /// The last part: its length is what is left.
    fn push_kinds(&mut self, mut extensions: Extensions<'_>) -> Option<()> {
        for place in self.bytes.get_mut(self.len..)?.chunks_exact_mut(2) {
            let Some(extension) = extensions.next() else { return Some(()) };
            place.copy_from_slice(&with_one_grease(extension.kind).to_ne_bytes());
            self.len = self.len.checked_add(place.len())?;
        }
        None
    }
}

/// The same number, in either order of its bytes, but one for all of GREASE: no fingerprint shows it, and clients draw
/// it at random.
const fn with_one_grease(number: u16) -> u16 {
    if is_grease(number) { 0x0a0a } else { number }
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
        prop::collection::vec(number, 0..3).prop_map(|numbers| {
            let len = u8::try_from(numbers.len() * 2).unwrap();
            [&[0, len][..], numbers.as_flattened()].concat()
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
        assert_eq!(hello.ja3(), Ja3::of(hello), "{hello:?}");
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
