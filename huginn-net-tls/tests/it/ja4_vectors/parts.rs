//! Builder of hellos from parts.

use huginn_net_tls::extension_type as kind;
use huginn_net_tls::{ClientHello, Ja4Head, Transport};

/// The parts of a hello.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) transport: Transport,
    pub(crate) legacy_version: u16,
    pub(crate) cipher_suites: Vec<u16>,
    pub(crate) extensions: Vec<(u16, Vec<u8>)>,
}

impl Parts {
    /// Returns three cipher suites, and TLS 1.3 with two signature algorithms.
    pub(crate) fn small() -> Self {
        Self {
            transport: Transport::Tls,
            legacy_version: 0x0303,
            cipher_suites: vec![0x1301, 0x1302, 0x1303],
            extensions: vec![versions(&[0x0304, 0x0303]), signatures(&[0x0403, 0x0804]), empty(0x0033)],
        }
    }

    /// Returns the example of the definition, with GREASE as Chrome sent it.
    pub(crate) fn example() -> Self {
        let mut extensions = vec![empty(0x5a5a)];
        for number in [
            0x001b, 0x0000, 0x0033, 0x0010, 0x4469, 0x0017, 0x002d, 0x000d, 0x0005, 0x0023, 0x0012, 0x002b,
            0xff01, 0x000b, 0x000a, 0x0015,
        ] {
            extensions.push(match number {
                kind::SERVER_NAME => server_name(b"example.org"),
                kind::ALPN => alpn(&[b"h2", b"http/1.1"]),
                kind::SIGNATURE_ALGORITHMS => signatures(&EXAMPLE_SIGNATURES),
                kind::SUPPORTED_VERSIONS => versions(&[0x4a4a, 0x0304, 0x0303]),
                kind::SUPPORTED_GROUPS => (number, long_list(&[0x3a3a, 0x001d, 0x0017, 0x0018])),
                kind::EC_POINT_FORMATS => (number, vec![1, 0]),
                _ => empty(number),
            });
        }
        extensions.push((0x9a9a, vec![0]));
        Self {
            transport: Transport::Tls,
            legacy_version: 0x0303,
            cipher_suites: vec![
                0x2a2a, 0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013,
                0xc014, 0x009c, 0x009d, 0x002f, 0x0035,
            ],
            extensions,
        }
    }

    pub(crate) fn with(mut self, extension: (u16, Vec<u8>)) -> Self {
        self.extensions.push(extension);
        self
    }

    /// Builds the handshake message (RFC 8446, section 4.1.2).
    pub(crate) fn message(&self) -> Vec<u8> {
        let mut body = self.legacy_version.to_be_bytes().to_vec();
        body.extend([7; 32]);
        body.push(0);
        if self.transport == Transport::Dtls {
            body.push(0);
        }
        body.extend(long_list(&self.cipher_suites));
        body.extend([1, 0]);
        let extensions: Vec<u8> = self
            .extensions
            .iter()
            .flat_map(|(kind, data)| [&kind.to_be_bytes()[..], &length(data)[..], data].concat())
            .collect();
        body.extend(length(&extensions));
        body.extend(extensions);
        let mut message = vec![1];
        message.extend(&u32::try_from(body.len()).unwrap().to_be_bytes()[1..]);
        message.extend(body);
        message
    }

    pub(crate) fn hello(&self) -> ClientHello<'static> {
        ClientHello::from_message(&self.message(), self.transport).unwrap().unwrap().value.into_owned()
    }

    pub(crate) fn ja4_r(&self) -> String {
        self.hello().ja4_r().to_string()
    }

    pub(crate) fn head(&self) -> Ja4Head {
        self.hello().ja4().head()
    }
}

fn length(bytes: &[u8]) -> [u8; 2] {
    u16::try_from(bytes.len()).unwrap().to_be_bytes()
}

pub(crate) fn numbers(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// Prefixes a list with its length in two bytes.
pub(crate) fn long_list(list: &[u16]) -> Vec<u8> {
    let list = numbers(list);
    [&length(&list)[..], &list].concat()
}

pub(crate) const fn empty(kind: u16) -> (u16, Vec<u8>) {
    (kind, Vec::new())
}

pub(crate) fn versions(versions: &[u16]) -> (u16, Vec<u8>) {
    let list = numbers(versions);
    (kind::SUPPORTED_VERSIONS, [&[u8::try_from(list.len()).unwrap()], &list[..]].concat())
}

pub(crate) fn signatures(algorithms: &[u16]) -> (u16, Vec<u8>) {
    (kind::SIGNATURE_ALGORITHMS, long_list(algorithms))
}

pub(crate) fn server_name(name: &[u8]) -> (u16, Vec<u8>) {
    let entry = [&[0], &length(name)[..], name].concat();
    (kind::SERVER_NAME, [&length(&entry)[..], &entry].concat())
}

pub(crate) fn alpn(values: &[&[u8]]) -> (u16, Vec<u8>) {
    let list: Vec<u8> =
        values.iter().flat_map(|value| [&[u8::try_from(value.len()).unwrap()], *value].concat()).collect();
    (kind::ALPN, [&length(&list)[..], &list].concat())
}

/// The signature algorithms of the example in the definition.
pub(crate) const EXAMPLE_SIGNATURES: [u16; 8] =
    [0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601];
