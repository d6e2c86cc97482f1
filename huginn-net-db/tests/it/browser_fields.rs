//! Fields of a hello that JA4 ignores: hellos of Chromium and Firefox, and the same with fields of imitations.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_db::{ClientDatabase, ClientMatch, HelloField, ImitatedBrowser, MatchKind};
use huginn_net_tls::{ClientHello, Transport, extension_type};

const SUITES_OF_CHROMIUM: &str =
    "0a0a 1301 1302 1303 c02b c02f c02c c030 cca9 cca8 c013 c014 009c 009d 002f 0035";
const SUITES_OF_FIREFOX: &str =
    "1301 1303 1302 c02b c02f cca9 cca8 c02c c030 c00a c009 c013 c014 009c 009d 002f 0035";

/// The parts of a ClientHello: cipher suites, and extensions in their order.
#[derive(Clone)]
struct Hello {
    suites: Vec<u8>,
    extensions: Vec<(u16, Vec<u8>)>,
}

impl Hello {
    fn new(suites: &str, extensions: &[(u16, &str)]) -> Self {
        let extensions = extensions.iter().map(|(kind, data)| (*kind, hex(data))).collect();
        Self { suites: hex(suites), extensions }
    }

    /// Chromium 140 over TCP; the key share of X25519MLKEM768 is left out.
    fn of_chromium() -> Self {
        let mut hello = Self::new(
            SUITES_OF_CHROMIUM,
            &[
                (0x1a1a, ""),
                (0x0000, "000e 00 000b 6578616d706c652e6f7267"),
                (0x0017, ""),
                (0xff01, "00"),
                (0x000a, "000c 2a2a 11ec 001d 0017 0018 0019"),
                (0x000b, "0100"),
                (0x0023, ""),
                (0x0010, "000c 02 6832 08 687474702f312e31"),
                (0x0005, "01 0000 0000"),
                (0x000d, "0010 0403 0804 0401 0503 0805 0501 0806 0601"),
                (0x0012, ""),
                (0x0033, "0005 2a2a 0001 00"),
                (0x002d, "01 01"),
                (0x002b, "06 3a3a 0304 0303"),
                (0x001b, "02 0002"),
                (0x44cd, "0003 02 6832"),
                (0x4a4a, "00"),
            ],
        );
        hello.extensions.insert(3, (extension_type::ENCRYPTED_CLIENT_HELLO, ech(208)));
        hello
    }

    /// Firefox 153 over TCP; the key shares are left out.
    fn of_firefox() -> Self {
        let mut hello = Self::new(
            SUITES_OF_FIREFOX,
            &[
                (0x0000, "000e 00 000b 6578616d706c652e6f7267"),
                (0x0017, ""),
                (0xff01, "00"),
                (0x000a, "0008 11ec 001d 0017 0018"),
                (0x000b, "0100"),
                (0x0023, ""),
                (0x0010, "000c 02 6832 08 687474702f312e31"),
                (0x0005, "01 0000 0000"),
                (0x0022, "0008 0403 0503 0603 0203"),
                (0x0012, ""),
                (0x0033, "0000"),
                (0x002b, "04 0304 0303"),
                (0x000d, "0016 0403 0503 0603 0804 0805 0806 0401 0501 0601 0203 0201"),
                (0x002d, "01 01"),
                (0x001c, "4001"),
                (0x001b, "06 0001 0002 0003"),
            ],
        );
        hello.extensions.push((extension_type::ENCRYPTED_CLIENT_HELLO, ech(239)));
        hello
    }

    /// The same with other data in an extension.
    fn with(mut self, kind: u16, data: Vec<u8>) -> Self {
        let extension = self.extensions.iter_mut().find(|(known, _)| *known == kind);
        extension.unwrap().1 = data;
        self
    }

    /// The handshake message, with the data of the extensions cut short by some bytes.
    fn message(&self, cut: usize) -> Vec<u8> {
        let number = |len: usize| u16::try_from(len).unwrap().to_be_bytes();
        let extension =
            |(kind, data): &(u16, Vec<u8>)| [&kind.to_be_bytes()[..], &number(data.len()), data].concat();
        let extensions: Vec<u8> = self.extensions.iter().flat_map(extension).collect();
        let mut body =
            [&[3, 3][..], &[7; 32], &[32], &[9; 32], &number(self.suites.len()), &self.suites].concat();
        body.extend([1, 0]);
        body.extend(number(extensions.len()));
        body.extend(extensions.iter().take(extensions.len().saturating_sub(cut)));
        [&[1, 0][..], &number(body.len()), &body].concat()
    }

    fn software(&self) -> ClientMatch {
        self.software_over(Transport::Tls)
    }

    fn software_over(&self, transport: Transport) -> ClientMatch {
        let message = self.message(0);
        let hello = ClientHello::from_message(&message, transport).unwrap().unwrap().value;
        assert!(hello.is_well_formed());
        ClientDatabase::builtin().match_hello(&hello).unwrap()
    }

    /// The browser that the hello imitates, and the fields that show it.
    fn imitation(&self) -> String {
        self.software().software.imitation.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|digit| *digit != ' ').collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// ECH with a payload of this length.
fn ech(payload: u16) -> Vec<u8> {
    let mut data = hex("00 0001 0001 07 0020");
    data.extend([5; 32]);
    data.extend(payload.to_be_bytes());
    data.extend(vec![6; usize::from(payload)]);
    data
}

#[test]
fn browsers_are_not_called_imitations() {
    let found = Hello::of_chromium().software();
    assert_eq!(found.software.application.as_deref(), Some("Chromium"));
    assert_eq!((found.software.imitation.clone(), found.kind), (None, MatchKind::Exact));
    let firefox = Hello::of_firefox();
    assert_eq!(
        (firefox.imitation(), firefox.software().software.library.as_deref()),
        (String::new(), Some("NSS"))
    );
    // The lengths of recorded hellos, and those of larger inner hellos.
    for payload in [144, 176, 208, 240, 272, 400] {
        let hello = Hello::of_chromium().with(extension_type::ENCRYPTED_CLIENT_HELLO, ech(payload));
        assert_eq!(hello.imitation(), "", "{payload}");
    }
    for payload in [239, 271, 399, 144, 240, 368] {
        let hello = Hello::of_firefox().with(extension_type::ENCRYPTED_CLIENT_HELLO, ech(payload));
        assert_eq!(hello.imitation(), "", "{payload}");
    }
}

#[test]
fn ech_payload_that_the_library_does_not_send_is_imitation() {
    for payload in [162, 195, 196, 210, 219, 224, 239] {
        let hello = Hello::of_chromium().with(extension_type::ENCRYPTED_CLIENT_HELLO, ech(payload));
        assert_eq!(hello.imitation(), "Chromium (ech.payload_length)", "{payload}");
    }
    for payload in [162, 195, 210, 241] {
        let hello = Hello::of_firefox().with(extension_type::ENCRYPTED_CLIENT_HELLO, ech(payload));
        assert_eq!(hello.imitation(), "Firefox (ech.payload_length)", "{payload}");
    }
}

#[test]
fn fields_of_chromium_are_compared() {
    let chromium = Hello::of_chromium;
    let mut late_grease = chromium();
    late_grease.extensions.swap(0, 1);
    let no_grease = Hello { suites: chromium().suites.split_off(2), ..chromium() };
    for (hello, expected) in [
        (chromium().with(0x44cd, hex("0003 02 7b32")), "Chromium (alps)"),
        (chromium().with(0x44cd, hex("000c 02 6832 08 687474702f312e31")), "Chromium (alps)"),
        (chromium().with(0x44cd, hex("0000")), "Chromium (alps)"),
        (chromium().with(0x001b, hex("04 0002 0001")), "Chromium (compress_certificate)"),
        (chromium().with(0x1a1a, hex("00")), "Chromium (grease)"),
        (chromium().with(0x4a4a, hex("")), "Chromium (grease)"),
        (chromium().with(0x000a, hex("000a 11ec 001d 0017 0018 0019")), "Chromium (grease)"),
        (chromium().with(0x002b, hex("04 0304 0303")), "Chromium (grease)"),
        (late_grease, "Chromium (grease)"),
        (no_grease, "Chromium (grease)"),
        (
            // The fields of primp 2.0.1 as Chrome 146.
            chromium().with(0x4a4a, hex("")).with(0x44cd, hex("0003 02 7b32")).with(0xfe0d, ech(195)),
            "Chromium (grease, alps, ech.payload_length)",
        ),
    ] {
        assert_eq!(hello.imitation(), expected);
    }
}

#[test]
fn grease_is_not_expected_without_tls_1_3_or_in_quic() {
    let mut old = Hello::of_chromium();
    old.suites.drain(..2);
    let quic = old.clone().with(0x44cd, hex("0003 02 6833"));
    assert_eq!(quic.software_over(Transport::Quic).software.imitation, None);
    old.extensions.retain(|(kind, _)| *kind != extension_type::SUPPORTED_VERSIONS);
    assert_eq!(old.imitation(), "");
}

#[test]
fn padding_and_pre_shared_key_follow_grease() {
    let mut hello = Hello::of_chromium();
    hello.extensions.push((extension_type::PADDING, vec![0; 3]));
    hello.extensions.push((extension_type::PRE_SHARED_KEY, vec![0; 4]));
    assert_eq!(hello.imitation(), "");
}

#[test]
fn imitation_names_only_imitations() {
    let software = Hello::of_chromium().with(0x44cd, hex("0003 02 7b32")).software().software;
    let imitation = software.imitation.as_ref().unwrap();
    assert_eq!((imitation.browser, &*imitation.fields), (ImitatedBrowser::Chromium, &[HelloField::Alps][..]));
    assert_eq!(software.to_string(), "imitation of Chromium");
    assert_eq!((&software.library, &software.application, &software.versions), (&None, &None, &None));
}

#[test]
fn imitation_is_candidate_for_its_fields() {
    let [same, other] = [239, 195].map(|payload| Hello::of_firefox().with(0xfe0d, ech(payload)).message(0));
    let [same, other] =
        [&same, &other].map(|bytes| ClientHello::from_message(bytes, Transport::Tls).unwrap().unwrap().value);
    let key = same.ja4_stable();
    let row = |imitates: &str, application: &str, differs: &str| {
        format!("{key}\tNSS\t{application}\t{imitates}\t{differs}\tyes\n")
    };
    let header = "ja4_stable\tlibrary\tapplication\timitates\tdiffers\town_settings\n";
    let one = row("Firefox 140", "Parrot", "ech.payload_length");
    let exact = row("Firefox 141", "Mimic", "");
    let genuine = row("", "Firefox", "");
    let names = |rows: &[&str], hello: &ClientHello<'_>| {
        let database = ClientDatabase::parse(&format!("{header}{}", rows.concat())).unwrap();
        let software = database.match_hello(hello).unwrap().software;
        let by_fingerprint = database.match_ja4(key).unwrap().software.candidates.len();
        (software.to_string(), software.candidates.join(", "), by_fingerprint)
    };
    let expect = |name: &str, candidates: &str, count: usize| (name.to_owned(), candidates.to_owned(), count);
    assert_eq!(names(&[&one], &same), expect("Firefox", "Firefox", 2));
    assert_eq!(names(&[&one], &other), expect("imitation of Firefox", "Parrot as Firefox", 2));
    assert_eq!(
        names(&[&one, &exact], &same),
        expect("Firefox", "Firefox, Mimic as Firefox 141 and newer", 3)
    );
    let parrot = "Parrot as Firefox 140 and older";
    assert_eq!(
        names(&[&one, &exact, &genuine], &same),
        expect("Firefox", "Firefox, Mimic as Firefox 141 and newer", 3)
    );
    assert_eq!(names(&[&one, &exact, &genuine], &other), expect("imitation of Firefox", parrot, 3));
}

/// Other programs with the same library have the structure of a browser, such as Conscrypt of Android.
#[test]
fn structure_of_a_browser_is_not_compared() {
    let mut hello = Hello::of_chromium();
    // A cipher suite that no recorded client has.
    hello.suites.extend([0xfe, 0x01]);
    assert_eq!((hello.software().kind, hello.imitation()), (MatchKind::Structural, String::new()));
    assert_eq!(hello.with(0xfe0d, ech(162)).imitation(), "");
}

#[test]
fn other_software_is_not_compared() {
    // Another client with BoringSSL may set its fields as it likes.
    let table = "ja4_stable\tlibrary\tapplication\town_settings\n";
    let message = Hello::of_chromium().with(0x44cd, hex("0003 02 7b32")).message(0);
    let hello = ClientHello::from_message(&message, Transport::Tls).unwrap().unwrap().value;
    let row = format!("{}\tBoringSSL\tBun\tyes\n", hello.ja4_stable());
    let found = ClientDatabase::parse(&format!("{table}{row}")).unwrap().match_hello(&hello).unwrap();
    assert_eq!((found.software.to_string(), &found.software.imitation), ("Bun".to_owned(), &None));
    // Two genuine clients with the fingerprint.
    let both = format!("{table}{row}{}", row.replace("Bun", "Chromium"));
    let found = ClientDatabase::parse(&both).unwrap().match_hello(&hello).unwrap();
    assert_eq!((found.software.to_string(), &found.software.imitation), ("BoringSSL".to_owned(), &None));
}

#[test]
fn damaged_hello_is_not_compared() {
    let message = Hello::of_chromium().message(1);
    let hello = ClientHello::from_message(&message, Transport::Tls).unwrap().unwrap().value;
    assert!(!hello.is_well_formed());
    let found = ClientDatabase::builtin().match_hello(&hello);
    assert!(found.is_none_or(|found| found.software.imitation.is_none()));
}
