//! Properties of every hello and every JA4 text.

use huginn_net_tls::{Ja4, Ja4Form, Ja4Hash, Ja4Head, Ja4Raw, Transport};
use proptest::prelude::*;

use super::parts::{Parts, alpn, empty, signatures, versions};

fn any_list(max: usize) -> impl Strategy<Value = Vec<u16>> {
    proptest::collection::vec(prop_oneof![any::<u16>(), Just(0x2a2a), 0_u16..64], 0..max)
}

prop_compose! {
    fn any_parts()(
        transport in prop_oneof![Just(Transport::Tls), Just(Transport::Quic), Just(Transport::Dtls)],
        legacy_version in prop_oneof![any::<u16>(), 0x0300_u16..0x0305],
        cipher_suites in any_list(150),
        extensions in proptest::collection::vec(
            prop_oneof![
                (any::<u16>(), proptest::collection::vec(any::<u8>(), 0..20)),
                (0_u16..64, proptest::collection::vec(any::<u8>(), 0..20)),
                any_list(70).prop_map(|list| signatures(&list)),
                any_list(20).prop_map(|list| versions(&list)),
                proptest::collection::vec(any::<u8>(), 0..5).prop_map(|value| alpn(&[&value])),
            ],
            0..40,
        ),
    ) -> Parts {
        Parts { transport, legacy_version, cipher_suites, extensions }
    }
}

const FORMS: [Ja4Form; 3] = [Ja4Form::Sorted, Ja4Form::Original, Ja4Form::SessionStable];

proptest! {
    #[test]
    fn texts_parse_back(parts in any_parts()) {
        let hello = parts.hello();
        for form in FORMS {
            let raw = hello.ja4_raw(form);
            prop_assert_eq!(&raw.to_string().parse::<Ja4Raw>().unwrap(), &raw);
            prop_assert_eq!(raw.ja4().to_string().parse::<Ja4>().unwrap(), raw.ja4());
            prop_assert_eq!(raw.head().to_string().parse::<Ja4Head>().unwrap(), raw.head());
        }
    }

    #[test]
    fn hashes_match_text(parts in any_parts()) {
        let raw = parts.hello().ja4_r();
        let text = raw.to_string();
        let [head, ciphers, rest] = text.splitn(3, '_').collect::<Vec<_>>().try_into().unwrap();
        let wanted = format!("{head}_{}_{}", Ja4Hash::from_list(ciphers), Ja4Hash::from_list(rest));
        prop_assert_eq!(raw.ja4().to_string(), wanted);
    }

    #[test]
    fn sorted_forms_ignore_cipher_and_extension_order(
        (parts, shuffled) in any_parts().prop_flat_map(|mut parts| {
            // JA4 uses the first of repeated extensions, which shuffling would change.
            parts.extensions.sort();
            parts.extensions.dedup_by_key(|(kind, _)| *kind);
            let ciphers = Just(parts.cipher_suites.clone()).prop_shuffle();
            let extensions = Just(parts.extensions.clone()).prop_shuffle();
            (Just(parts), ciphers, extensions).prop_map(|(parts, cipher_suites, extensions)| {
                (parts.clone(), Parts { cipher_suites, extensions, ..parts })
            })
        })
    ) {
        for form in [Ja4Form::Sorted, Ja4Form::SessionStable] {
            prop_assert_eq!(parts.hello().ja4_raw(form), shuffled.hello().ja4_raw(form));
        }
        prop_assert_eq!(parts.hello().ja4_ro().sorted(), shuffled.hello().ja4_r());
    }

    #[test]
    fn grease_changes_nothing(parts in any_parts(), nibble in 0_u16..16, at in any::<proptest::sample::Index>()) {
        let grease = nibble * 0x1010 + 0x0a0a;
        let mut greased = parts.clone();
        greased.cipher_suites.insert(at.index(parts.cipher_suites.len() + 1), grease);
        greased.extensions.insert(at.index(parts.extensions.len() + 1), empty(grease));
        for form in FORMS {
            prop_assert_eq!(parts.hello().ja4_raw(form), greased.hello().ja4_raw(form));
        }
        prop_assert_eq!(parts.hello().ja3_hash(), greased.hello().ja3_hash());
    }

    #[test]
    fn arbitrary_text_never_panics(text in "([tqd]1[23]|.{0,3})[di]?[0-9]{0,4}(h2|.{0,2})_?[0-9a-f,_]{0,40}.{0,9}") {
        for error in [text.parse::<Ja4>().err(), text.parse::<Ja4Raw>().err()].into_iter().flatten() {
            prop_assert!(text.is_char_boundary(error.offset()));
        }
    }
}
