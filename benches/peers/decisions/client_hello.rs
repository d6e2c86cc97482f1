//! Compares `tls-parser` with this project's parser on the hellos of `captures`: only parsing, and parsing plus reading
//! every number that JA4 needs.

#[path = "../../../captures/tools/captures.rs"]
mod captures;
#[path = "../../hellos.rs"]
mod hellos;

use std::hint::black_box;

use allocation_counter::measure;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use huginn_net_tls::{ClientHello, Transport};
use tls_parser::{
    TlsClientHelloContents, TlsExtension, TlsExtensionType, TlsMessage, TlsMessageHandshake,
    parse_tls_client_hello_extensions, parse_tls_message_handshake,
};

type Way<'a> = &'a dyn Fn(&[u8]);
type Parsed<'a> = (TlsClientHelloContents<'a>, Vec<TlsExtension<'a>>);

fn tls_parser(message: &[u8]) -> Option<Parsed<'_>> {
    match parse_tls_message_handshake(message).ok()?.1 {
        TlsMessage::Handshake(TlsMessageHandshake::ClientHello(contents)) => {
            let (_, extensions) = parse_tls_client_hello_extensions(contents.ext?).ok()?;
            Some((contents, extensions))
        }
        _ => None,
    }
}

fn own(message: &[u8]) -> Option<ClientHello<'_>> {
    ClientHello::from_message(message, Transport::Tcp).ok().flatten().map(|parsed| parsed.value)
}

/// Sums the cipher suites, the types of the extensions, the versions, the signature algorithms, and the first byte of
/// each ALPN value.
fn numbers_of_tls_parser((contents, extensions): &Parsed<'_>) -> u32 {
    let suites: u32 = contents.ciphers.iter().map(|suite| u32::from(suite.0)).sum();
    let in_extensions = extensions.iter().map(|extension| match extension {
        TlsExtension::SupportedVersions(versions) => {
            43 + versions.iter().map(|version| u32::from(version.0)).sum::<u32>()
        }
        TlsExtension::SignatureAlgorithms(schemes) => {
            13 + schemes.iter().copied().map(u32::from).sum::<u32>()
        }
        TlsExtension::ALPN(names) => 16 + names.iter().map(|name| u32::from(name[0])).sum::<u32>(),
        TlsExtension::Grease(kind, _) => u32::from(*kind),
        other => u32::from(TlsExtensionType::from(other).0),
    });
    suites + in_extensions.sum::<u32>()
}

fn own_numbers(hello: &ClientHello<'_>) -> u32 {
    let kinds = hello.extensions().map(|extension| extension.kind);
    let lists = hello.cipher_suites().chain(hello.supported_versions()).chain(hello.signature_algorithms());
    let names = hello.alpn().map(|name| u16::from(name[0]));
    kinds.chain(lists).chain(names).map(u32::from).sum()
}

fn client_hello(criterion: &mut Criterion) {
    let mut hellos = hellos::from_captures(&captures::with_extension(&["pcap"]));
    hellos.retain(|hello| hello.transport() != Transport::Dtls && hello.extensions().next().is_some());
    for hello in &hellos {
        let parsed = tls_parser(hello.message()).unwrap();
        assert_eq!(numbers_of_tls_parser(&parsed), own_numbers(hello));
    }
    let every = |each: &dyn Fn(&[u8])| hellos.iter().for_each(|hello| each(black_box(hello.message())));
    let ways: [(&str, Way<'_>); 4] = [
        ("tls-parser, parse", &|message| _ = black_box(tls_parser(message))),
        ("own, parse", &|message| _ = black_box(own(message))),
        ("tls-parser, parse and read", &|message| {
            black_box(tls_parser(message).map(|parsed| numbers_of_tls_parser(&parsed)));
        }),
        ("own, parse and read", &|message| _ = black_box(own(message).map(|hello| own_numbers(&hello)))),
    ];
    let mut group = criterion.benchmark_group("client_hello");
    group.throughput(Throughput::Elements(hellos.len() as u64));
    for (name, way) in ways {
        let allocated = measure(|| every(way));
        let of_each = |sum: u64| sum as f64 / hellos.len() as f64;
        println!(
            "{name}: {:.1} allocations of {:.0} bytes for each of {} hellos",
            of_each(allocated.count_total),
            of_each(allocated.bytes_total),
            hellos.len()
        );
        group.bench_function(name, |bench| bench.iter(|| every(way)));
    }
    group.finish();
}

criterion_group!(benches, client_hello);
criterion_main!(benches);
