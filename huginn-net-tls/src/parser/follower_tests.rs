//! Handshakes after their hellos, from records that the tests make (RFC 5246, RFC 8446).

use huginn_net_core::StreamData;
use proptest::prelude::*;

use super::*;
use crate::event::{KeyExchange, Resumption, TlsAlert, TlsHandshake};
use crate::{Certificate, Version};

const CERTIFICATE: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/p256.der"));
const CLIENT: Side = Side::Client;
const SERVER: Side = Side::Server;
const CHANGE: &[u8] = &[20, 3, 3, 0, 1, 1];

fn number(value: usize, width: usize) -> Vec<u8> {
    value.to_be_bytes()[size_of::<usize>() - width..].to_vec()
}

fn prefixed(width: usize, bytes: &[u8]) -> Vec<u8> {
    [number(bytes.len(), width), bytes.to_vec()].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [vec![kind], prefixed(3, body)].concat()
}

fn record(kind: u8, fragment: &[u8]) -> Vec<u8> {
    [&[kind, 3, 3][..], &prefixed(2, fragment)].concat()
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), prefixed(2, data)].concat()
}

fn client_hello(session_id: &[u8], extensions: &[u8]) -> Vec<u8> {
    let name = extension(0, &prefixed(2, &[&[0][..], &prefixed(2, b"www.example.com")].concat()));
    let extensions = prefixed(2, &[&name, extensions].concat());
    let fields = [&[3, 3][..], &[7; 32], &prefixed(1, session_id), &[0, 2, 0xc0, 0x2b], &[1, 0], &extensions];
    record(22, &message(1, &fields.concat()))
}

/// A ServerHello with these extensions, as a message.
fn server_hello(suite: u16, session_id: &[u8], extensions: &[u8]) -> Vec<u8> {
    let fields = [&[3, 3][..], &[9; 32], &prefixed(1, session_id), &suite.to_be_bytes(), &[0]].concat();
    message(2, &[fields, prefixed(2, extensions)].concat())
}

fn tls13() -> Vec<u8> {
    extension(43, &[3, 4])
}

/// The messages of a server with TLS 1.2, with a certificate, a group and a request.
fn answer() -> Vec<u8> {
    let chain = prefixed(3, &prefixed(3, CERTIFICATE));
    let request = [prefixed(1, &[1]), prefixed(2, &[4, 3]), prefixed(2, &[])].concat();
    let messages = [
        server_hello(0xc02b, &[], &[]),
        message(11, &chain),
        message(12, &[3, 0, 29, 32, 5, 5]),
        message(13, &request),
        message(14, &[]),
    ];
    record(22, &messages.concat())
}

/// Returns the events after the hellos.
fn follow(pieces: &[(Side, &[u8])]) -> Vec<(Side, TlsEvent)> {
    let settings = TlsParserSettings::default().handshakes(true);
    let mut parser = TlsParser::new(StreamStart::Handshake, settings);
    let (mut counters, mut events) = (TlsCounters::default(), Vec::new());
    for (side, bytes) in pieces {
        if parser.reads(*side) {
            let data = StreamData::Bytes(bytes);
            parser.on_data(*side, data, &mut counters, &mut |side, event| events.push((side, event)));
        }
    }
    events.retain(|(_, event)| !matches!(event, TlsEvent::Client(_) | TlsEvent::Server(_)));
    events
}

/// The only event after the hellos, a handshake.
fn handshake(pieces: &[(Side, &[u8])]) -> TlsHandshake {
    let events = follow(pieces);
    let [(SERVER, TlsEvent::Handshake(found))] = &events[..] else { panic!("{events:?}") };
    (**found).clone()
}

/// A handshake of TLS 1.2: what client and server send, in turn.
fn full_handshake() -> [(Side, Vec<u8>); 4] {
    let keys = [&record(22, &message(16, &[1; 33])), CHANGE, &record(22, &[0xaa; 40])].concat();
    [
        (CLIENT, client_hello(&[], &[])),
        (SERVER, answer()),
        (CLIENT, keys),
        (SERVER, [CHANGE, &record(22, &[0xbb; 40]), &record(23, &[0; 99])].concat()),
    ]
}

#[test]
fn handshake_of_tls_12_has_certificates_and_group() {
    let sent = full_handshake();
    let pieces: Vec<_> = sent.iter().map(|(side, bytes)| (*side, &bytes[..])).collect();
    let events = follow(&pieces);
    let [(SERVER, TlsEvent::Certificates(chain)), (SERVER, TlsEvent::Handshake(found))] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(chain.certificates, [Certificate::from_der(CERTIFICATE)]);
    assert_eq!(chain.server_name.as_deref(), Some(&b"www.example.com"[..]));
    assert!(found.completed && !found.retry && found.alerts.is_empty());
    assert_eq!(found.version, Some(Version::TLS_1_2));
    assert_eq!(found.resumption, Some(Resumption::No));
    assert_eq!(found.key_exchange, Some(KeyExchange::Group(29)));
    assert!(found.certificate_request.is_some());
}

proptest! {
    #[test]
    fn segmentation_changes_no_event(cuts in prop::collection::vec(1_usize..300, 1..40)) {
        let sent = full_handshake();
        let pieces: Vec<_> = sent.iter().map(|(side, bytes)| (*side, &bytes[..])).collect();
        let mut lens = cuts.iter().cycle();
        let mut cut = Vec::new();
        for (side, bytes) in &pieces {
            let mut rest = *bytes;
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((*lens.next().unwrap()).min(rest.len()));
                cut.push((*side, piece));
                rest = after;
            }
        }
        prop_assert_eq!(follow(&cut), follow(&pieces));
    }
}

#[test]
fn change_cipher_spec_after_the_hello_resumes_a_session() {
    let answer = [&record(22, &server_hello(0xc02b, &[8; 32], &[])), CHANGE, &record(22, &[1; 40])].concat();
    let finished = [CHANGE, &record(22, &[2; 40])].concat();
    for (session_id, extensions, expected) in [
        (&[8; 32][..], vec![], Some(Resumption::SessionId)),
        (&[8; 32][..], extension(35, &[1; 160]), Some(Resumption::Ticket)),
        (&[7; 32][..], extension(35, &[]), None),
    ] {
        let hello = client_hello(session_id, &extensions);
        let found = handshake(&[(CLIENT, &hello), (SERVER, &answer), (CLIENT, &finished)]);
        assert_eq!((found.completed, found.resumption), (true, expected));
    }
}

/// Suites with a pre-shared key have no Certificate (RFC 4279), yet the session is new.
#[test]
fn key_exchange_without_certificate_is_a_new_session() {
    let hello = client_hello(&[], &extension(35, &[1; 160]));
    let answer = record(22, &[server_hello(0x00a8, &[], &[]), message(14, &[])].concat());
    let finished = [&record(22, &message(16, &[1; 33])), CHANGE, &record(22, &[2; 40])].concat();
    let end = [CHANGE, &record(22, &[3; 40])].concat();
    let found = handshake(&[(CLIENT, &hello), (SERVER, &answer), (CLIENT, &finished), (SERVER, &end)]);
    assert_eq!((found.completed, found.resumption), (true, Some(Resumption::No)));
}

/// A client that begins on the accepting side, as in active FTP with TLS (RFC 4217).
#[test]
fn roles_are_those_of_the_hellos() {
    let sent = full_handshake();
    let pieces: Vec<_> = sent.iter().map(|(side, bytes)| (side.peer(), &bytes[..])).collect();
    let events = follow(&pieces);
    let [(CLIENT, TlsEvent::Certificates(chain)), (CLIENT, TlsEvent::Handshake(found))] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(chain.server_name.as_deref(), Some(&b"www.example.com"[..]));
    assert_eq!((found.completed, found.resumption), (true, Some(Resumption::No)));
    assert_eq!(found.key_exchange, Some(KeyExchange::Group(29)));
}

/// A false start (RFC 7918): the client sends data and closes before the server's Finished message.
#[test]
fn alert_after_a_false_start_does_not_fail_the_handshake() {
    let mut sent = full_handshake();
    sent[2].1.extend([record(23, &[0; 50]), record(21, &[0; 26])].concat());
    let pieces: Vec<_> = sent.iter().map(|(side, bytes)| (*side, &bytes[..])).collect();
    let events = follow(&pieces);
    let Some((_, TlsEvent::Handshake(found))) = events.last() else { panic!("{events:?}") };
    assert!(found.completed && found.alerts.is_empty());
}

#[test]
fn hello_after_the_handshake_changes_nothing() {
    let mut sent = full_handshake();
    let late = client_hello(&[7; 32], &extension(35, &[1; 160]));
    sent[2].1 = [late, std::mem::take(&mut sent[2].1)].concat();
    let pieces: Vec<_> = sent.iter().map(|(side, bytes)| (*side, &bytes[..])).collect();
    let whole = full_handshake();
    let expected: Vec<_> = whole.iter().map(|(side, bytes)| (*side, &bytes[..])).collect();
    assert_eq!(follow(&pieces), follow(&expected));
}

#[test]
fn alert_in_pieces_is_that_of_the_whole() {
    let hello = client_hello(&[], &[]);
    let alert = [21, 3, 3, 0, 2, 2, 40];
    let whole = handshake(&[(CLIENT, &hello), (SERVER, &alert)]);
    for at in 1..alert.len() {
        let (start, rest) = alert.split_at(at);
        assert_eq!(handshake(&[(CLIENT, &hello), (SERVER, start), (SERVER, rest)]), whole, "{at}");
    }
}

#[test]
fn final_alert_is_kept_after_many_warnings() {
    let hello = client_hello(&[], &[]);
    let alerts = [record(21, &[1, 112]).repeat(9), record(21, &[2, 40])].concat();
    let found = handshake(&[(CLIENT, &hello), (SERVER, &alerts)]);
    assert_eq!(found.alerts.len(), 8);
    assert_eq!(found.alerts.last().unwrap().code, Some((2, 40)));
}

#[test]
fn alert_ends_a_handshake() {
    let hello = client_hello(&[], &[]);
    let refused = handshake(&[(CLIENT, &hello), (SERVER, &[21, 3, 3, 0, 2, 2, 40])]);
    let alert = TlsAlert { sender: SERVER, code: Some((2, 40)) };
    assert_eq!(alert.name(), Some("handshake_failure"));
    assert_eq!(refused, TlsHandshake { alerts: vec![alert], ..TlsHandshake::default() });

    let unknown_ca = record(21, &[2, 48]);
    let events = follow(&[(CLIENT, &hello), (SERVER, &answer()), (CLIENT, &unknown_ca)]);
    let Some((_, TlsEvent::Handshake(found))) = events.last() else { panic!("{events:?}") };
    assert_eq!(found.alerts, [TlsAlert { sender: CLIENT, code: Some((2, 48)) }]);
    assert_eq!((events.len(), found.completed, found.version), (2, false, Some(Version::TLS_1_2)));
}

#[test]
fn warning_does_not_end_a_handshake() {
    let warning = record(21, &[1, 112]);
    let sent = full_handshake();
    let server = [&warning[..], &sent[1].1].concat();
    let events =
        follow(&[(CLIENT, &sent[0].1), (SERVER, &server), (CLIENT, &sent[2].1), (SERVER, &sent[3].1)]);
    let Some((_, TlsEvent::Handshake(found))) = events.last() else { panic!("{events:?}") };
    assert!(found.completed);
    assert_eq!(found.alerts, [TlsAlert { sender: SERVER, code: Some((1, 112)) }]);
}

#[test]
fn handshake_of_tls_13_ends_with_the_clients_answer() {
    let share = extension(51, &[&[0, 29][..], &prefixed(2, &[4; 32])].concat());
    let hello = client_hello(&[8; 32], &[]);
    let encrypted = [record(23, &[0; 23]), record(23, &[0; 900])].concat();
    let full = [
        &record(22, &server_hello(0x1301, &[8; 32], &[tls13(), share.clone()].concat())),
        CHANGE,
        &encrypted,
    ];
    let psk = extension(41, &[0, 0]);
    let resumed =
        [&record(22, &server_hello(0x1301, &[8; 32], &[tls13(), share, psk].concat())), &encrypted[..]];
    let finished = [CHANGE, &record(23, &[0; 53])].concat();
    for (answer, expected) in [(full.concat(), Resumption::No), (resumed.concat(), Resumption::Psk)] {
        let found = handshake(&[(CLIENT, &hello), (SERVER, &answer), (CLIENT, &finished)]);
        assert_eq!((found.completed, found.resumption), (true, Some(expected)));
        assert_eq!(
            (found.version, found.key_exchange),
            (Some(Version::TLS_1_3), Some(KeyExchange::Group(29)))
        );
    }
    // The answer of the client before the messages that it answers: nothing is known.
    assert_eq!(
        follow(&[(CLIENT, &hello), (SERVER, &full[..2].concat()), (CLIENT, &finished), (SERVER, full[2])]),
        []
    );
    // In the clear (RFC 8446, section 5.2, has the outer type of encrypted records).
    let plain = [CHANGE, &record(21, &[2, 42])].concat();
    let found = handshake(&[(CLIENT, &hello), (SERVER, &full.concat()), (CLIENT, &plain)]);
    assert_eq!(found.alerts, [TlsAlert { sender: CLIENT, code: Some((2, 42)) }]);
    let refused = [CHANGE, &record(23, &[0; 19])].concat();
    let found = handshake(&[(CLIENT, &hello), (SERVER, &full.concat()), (CLIENT, &refused)]);
    assert_eq!((found.completed, found.alerts), (false, vec![TlsAlert { sender: CLIENT, code: None }]));
}

/// Early data before and after the server's messages is not the answer of the client: the Finished message is.
#[test]
fn early_data_does_not_complete_a_handshake() {
    let hello = client_hello(&[], &extension(42, &[]));
    let early = [CHANGE, &record(23, &[0; 300])].concat();
    let answer = [record(22, &server_hello(0x1301, &[], &tls13())), record(23, &[0; 120])].concat();
    let short = record(23, &[0; 19]);
    let later = [&early[6..], &short].concat();
    let pieces = [(CLIENT, &hello[..]), (CLIENT, &early), (SERVER, &answer), (CLIENT, &later)];
    assert_eq!(follow(&pieces), []);
    let finished = [record(23, &[0; 21]), record(23, &[0; 53])].concat();
    let found = handshake(&[&pieces[..], &[(CLIENT, &finished)]].concat());
    assert!(found.completed);
}

/// A missing CertificateRequest, HelloRetryRequest or alert would make the event wrong.
#[test]
fn missing_bytes_leave_the_end_of_a_handshake_out() {
    let is_end = |event: &TlsEvent| matches!(event, TlsEvent::Handshake(_));
    let sent = full_handshake();
    for gap in 0..=sent.len() {
        for side in [CLIENT, SERVER] {
            let mut parser =
                TlsParser::new(StreamStart::Handshake, TlsParserSettings::default().handshakes(true));
            let (mut counters, mut events) = (TlsCounters::default(), Vec::new());
            let pieces = sent.iter().map(|(side, bytes)| (*side, StreamData::Bytes(bytes)));
            let mut pieces: Vec<_> = pieces.collect();
            pieces.insert(gap, (side, StreamData::Gap(7)));
            for (side, data) in pieces {
                parser.on_data(side, data, &mut counters, &mut |_, event| events.push(event));
            }
            // What a client sends before its ClientHello is not part of the handshake, nor is what follows the end.
            let is_harmless = gap == sent.len() || gap == 0 && side == CLIENT;
            assert!(!events.iter().any(is_end) || is_harmless, "{side:?} {gap}");
        }
    }
}

#[test]
fn hellos_are_those_without_following() {
    let sent = full_handshake();
    let hellos = |settings| {
        let mut parser = TlsParser::new(StreamStart::Handshake, settings);
        let (mut counters, mut events) = (TlsCounters::default(), Vec::new());
        for (side, bytes) in &sent {
            let data = StreamData::Bytes(bytes);
            parser.on_data(*side, data, &mut counters, &mut |side, event| events.push((side, event)));
        }
        events.retain(|(_, event)| matches!(event, TlsEvent::Client(_) | TlsEvent::Server(_)));
        (events, counters.hellos, counters.search)
    };
    let settings = TlsParserSettings::default();
    assert_eq!(hellos(settings), hellos(settings.handshakes(true)));
}

#[test]
fn long_messages_are_counted_and_passed_over() {
    let hello = client_hello(&[], &[]);
    let answer = record(22, &[server_hello(0xc02b, &[], &[]), vec![11, 4, 0, 1]].concat());
    let certificate: Vec<u8> = [0; 0x4_0001].chunks(0x4000).flat_map(|part| record(22, part)).collect();
    let end = |side| (side, [record(20, &[1]), record(22, &[7; 40])].concat());
    let settings = TlsParserSettings::default().handshakes(true);
    let mut parser = TlsParser::new(StreamStart::Handshake, settings);
    let mut counters = TlsCounters::default();
    let mut completed = Vec::new();
    let last = (SERVER, record(22, &[14, 0, 0, 0]));
    let sent = [(CLIENT, hello), (SERVER, answer), (SERVER, certificate), last, end(CLIENT), end(SERVER)];
    for (side, bytes) in sent {
        parser.on_data(side, StreamData::Bytes(&bytes), &mut counters, &mut |_, event| {
            if let TlsEvent::Handshake(found) = event {
                completed.push((found.completed, found.resumption));
            }
        });
    }
    assert_eq!((counters.handshakes.messages_too_long, counters.search.malformed), (1, 0));
    assert_eq!(completed, [(true, Some(Resumption::No))]);
}

#[test]
fn primes_have_their_length_in_bits() {
    let parse = |suite, body: &[u8]| KeyExchange::parse(suite, body);
    let prime = [&[0, 5, 0, 0x7f][..], &[0xff; 3], &[0, 1, 2, 0, 0]].concat();
    assert_eq!(parse(0x0033, &prime), Some(KeyExchange::FiniteField(31)));
    assert_eq!(parse(0xc02f, &[3, 0, 23, 1, 4]), Some(KeyExchange::Group(23)));
    // A pre-shared key, RSA, and an unknown suite.
    for suite in [0xc035, 0x009c, 0xffff] {
        assert_eq!(parse(suite, &prime), None);
    }
}

#[test]
fn only_handshakes_without_a_name_are_followed() {
    let settings = TlsParserSettings::default().nameless(true);
    let followed = |name: Option<&[u8]>, step: usize| {
        let mut sent = full_handshake();
        if let Some((_, hello)) = sent.first_mut() {
            *hello = hello_with(name);
        }
        let mut parser = TlsParser::new(StreamStart::Handshake, settings);
        let (mut counters, mut events) = (TlsCounters::default(), Vec::new());
        for (side, bytes) in &sent {
            for piece in bytes.chunks(step) {
                let data = StreamData::Bytes(piece);
                parser.on_data(*side, data, &mut counters, &mut |_, event| events.push(event));
            }
        }
        assert_eq!((counters.hellos.client, counters.hellos.server), (1, 1));
        events.iter().filter(|event| matches!(event, TlsEvent::Certificates(_))).count()
    };
    for step in [1, 7, 10_000] {
        assert_eq!(followed(None, step), 1);
        assert_eq!(followed(Some(b"198.51.100.7"), step), 1);
        assert_eq!(followed(Some(b"www.example.com"), step), 0);
    }
    let summarized = |name| {
        let mut counters = TlsCounters::default();
        let hello = hello_with(name);
        TlsParser::summarize(CLIENT, &hello, StreamStart::Handshake, settings, &mut counters, &mut |_, _| {})
            .is_some()
    };
    assert!(summarized(Some(b"www.example.com")) && !summarized(None));
}

/// A hello with or without a name, as a record.
fn hello_with(name: Option<&[u8]>) -> Vec<u8> {
    let name = name
        .map_or_else(Vec::new, |name| extension(0, &prefixed(2, &[&[0][..], &prefixed(2, name)].concat())));
    let extensions = prefixed(2, &[name, extension(10, &[0, 2, 0, 29])].concat());
    let fields = [&[3, 3][..], &[7; 32], &[0], &[0, 2, 0xc0, 0x2b], &[1, 0], &extensions];
    record(22, &message(1, &fields.concat()))
}

#[test]
fn hello_after_other_bytes_says_so() {
    for (before, expected) in [(&b""[..], false), (b"EHLO example.com\r\nSTARTTLS\r\n", true)] {
        let mut parser = TlsParser::new(StreamStart::Handshake, TlsParserSettings::default());
        let mut found = None;
        let bytes = [before, &hello_with(None)].concat();
        parser.on_data(CLIENT, StreamData::Bytes(&bytes), &mut TlsCounters::default(), &mut |_, event| {
            let TlsEvent::Client(client) = event else { panic!("{event:?}") };
            found = Some(client.follows_other);
        });
        assert_eq!(found, Some(expected));
    }
}
