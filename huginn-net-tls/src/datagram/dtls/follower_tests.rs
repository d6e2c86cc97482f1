//! Handshakes after their hellos, from datagrams that the tests make (RFC 6347, RFC 9147).

use huginn_net_wire::Side;
use proptest::prelude::*;

use super::*;
use crate::event::{KeyExchange, Resumption, TlsAlert, TlsEvent, TlsHandshake};
use crate::{Certificate, Version};

const CERTIFICATE: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/p256.der"));
const CLIENT: Side = Side::Client;
const SERVER: Side = Side::Server;
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;

type Datagram = (Side, Vec<u8>);

fn number(value: usize, width: usize) -> Vec<u8> {
    value.to_be_bytes()[size_of::<usize>() - width..].to_vec()
}

fn prefixed(width: usize, bytes: &[u8]) -> Vec<u8> {
    [number(bytes.len(), width), bytes.to_vec()].concat()
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), prefixed(2, data)].concat()
}

/// A record with its number in its epoch.
fn record(kind: u8, epoch: u16, nth: usize, content: &[u8]) -> Vec<u8> {
    [&[kind, 0xfe, 0xfd][..], &epoch.to_be_bytes(), &number(nth, 6), &prefixed(2, content)].concat()
}

fn fragment(kind: u8, seq: u16, body: &[u8], start: usize, end: usize) -> Vec<u8> {
    let len = number(body.len(), 3);
    let place = [number(start, 3), number(end - start, 3)].concat();
    [&[kind][..], &len, &seq.to_be_bytes(), &place, &body[start..end]].concat()
}

/// A record with a whole message.
fn message(nth: usize, seq: u16, kind: u8, body: &[u8]) -> Vec<u8> {
    record(HANDSHAKE, 0, nth, &fragment(kind, seq, body, 0, body.len()))
}

fn client_hello(random: u8, name: &str, extensions: &[u8]) -> Vec<u8> {
    let name = extension(0, &prefixed(2, &[&[0][..], &prefixed(2, name.as_bytes())].concat()));
    let fields = [&[0xfe, 0xfd][..], &[random; 32], &prefixed(1, &[8; 32]), &[0], &[0, 2, 0xc0, 0x2b, 1, 0]];
    [fields.concat(), prefixed(2, &[&name, extensions].concat())].concat()
}

fn server_hello(session_id: &[u8], extensions: &[u8]) -> Vec<u8> {
    let fields = [&[0xfe, 0xfd][..], &[9; 32], &prefixed(1, session_id), &[0xc0, 0x2b, 0]].concat();
    [fields, prefixed(2, extensions)].concat()
}

/// The messages of a server after its hello: type and body.
fn answer() -> [(u8, Vec<u8>); 4] {
    let request = [prefixed(1, &[1]), prefixed(2, &[4, 3]), prefixed(2, &[])].concat();
    [
        (11, prefixed(3, &prefixed(3, CERTIFICATE))),
        (12, vec![3, 0, 29, 32, 5, 5]),
        (13, request),
        (14, vec![]),
    ]
}

fn finished(side: Side, nth: usize) -> Datagram {
    let change = record(CHANGE_CIPHER_SPEC, 0, nth, &[1]);
    (side, [change, record(HANDSHAKE, 1, 0, &[0xaa; 40])].concat())
}

/// A handshake of DTLS 1.2: a datagram for each message of the server, after the ClientHello.
fn full_handshake() -> Vec<Datagram> {
    let hello = client_hello(7, "www.example.com", &[]);
    let mut datagrams = vec![(CLIENT, message(0, 0, 1, &hello))];
    datagrams.push((SERVER, message(0, 0, 2, &server_hello(&[], &[]))));
    for (at, (kind, body)) in (1..).zip(answer()) {
        datagrams.push((SERVER, message(at.into(), at, kind, &body)));
    }
    let empty = prefixed(3, &[]);
    datagrams.push((CLIENT, message(1, 1, 11, &empty)));
    datagrams.push((CLIENT, message(2, 2, 16, &[1; 33])));
    datagrams.extend([finished(CLIENT, 3), finished(SERVER, 5)]);
    datagrams
}

#[derive(Debug)]
struct Run {
    flow: DtlsFlow,
    counters: DatagramCounters,
    hellos: usize,
    events: Vec<(Side, TlsEvent)>,
}

impl Run {
    fn new() -> Self {
        let (counters, events) = (DatagramCounters::default(), Vec::new());
        Self { flow: DtlsFlow::new(Follow::Yes), counters, hellos: 0, events }
    }

    fn push(&mut self, (sender, datagram): &Datagram) {
        let Self { flow, counters, hellos, events } = self;
        flow.on_datagram(datagram, *sender, counters, &mut |origin, found| match found {
            Found::Hello { .. } => *hellos += 1,
            Found::Followed(event) => events.push((origin.subject, event)),
        });
    }

    fn certificates(&self) -> usize {
        self.events.iter().filter(|(_, event)| matches!(event, TlsEvent::Certificates(_))).count()
    }

    fn handshake(&self) -> Option<&TlsHandshake> {
        self.events.iter().find_map(|(side, event)| match event {
            TlsEvent::Handshake(found) => {
                assert_eq!(*side, SERVER);
                Some(&**found)
            }
            _ => None,
        })
    }
}

fn run(datagrams: &[Datagram]) -> Run {
    let mut run = Run::new();
    datagrams.iter().for_each(|datagram| run.push(datagram));
    run
}

#[test]
fn handshake_has_certificates_and_group() {
    let run = run(&full_handshake());
    let [
        (SERVER, TlsEvent::Certificates(chain)),
        (CLIENT, TlsEvent::Certificates(none)),
        (SERVER, TlsEvent::Handshake(found)),
    ] = &run.events[..]
    else {
        panic!("{:?}", run.events)
    };
    assert_eq!(chain.certificates, [Certificate::from_der(CERTIFICATE)]);
    assert_eq!(chain.server_name.as_deref(), Some(&b"www.example.com"[..]));
    assert!(none.certificates.is_empty() && none.server_name.is_none());
    assert!(found.completed && !found.retry && found.alerts.is_empty());
    assert_eq!(found.version, Some(Version::DTLS_1_2));
    assert_eq!((found.resumption, found.key_exchange), (Some(Resumption::No), Some(KeyExchange::Group(29))));
    assert!(found.certificate_request.is_some());
    assert_eq!((run.hellos, run.flow.buffered_bytes(), run.counters), (2, 0, DatagramCounters::default()));
}

#[test]
fn nothing_is_followed_unless_asked_for() {
    let mut run = Run { flow: DtlsFlow::default(), ..Run::new() };
    full_handshake().iter().for_each(|datagram| run.push(datagram));
    assert_eq!((run.hellos, run.events.len(), run.flow.buffered_bytes()), (2, 0, 0));
}

proptest! {
    /// Overlapping and repeated fragments of all messages of the server, its hello included, in any order.
    #[test]
    fn order_and_fragments_change_no_event(
        cuts in prop::collection::vec((0..5_usize, any::<prop::sample::Index>(), 1..400_usize), 0..30),
        seed in any::<u64>(),
    ) {
        let messages = [&[(2, server_hello(&[], &[]))][..], &answer()].concat();
        let mut fragments = Vec::new();
        for (seq, (kind, body)) in (0..).zip(&messages) {
            for start in (0..=body.len().saturating_sub(1)).step_by(90) {
                fragments.push(fragment(*kind, seq, body, start, (start + 90).min(body.len())));
            }
        }
        for (seq, start, len) in cuts {
            let (kind, body) = &messages[seq];
            let start = if body.is_empty() { 0 } else { start.index(body.len()) };
            let end = (start + len).min(body.len());
            fragments.push(fragment(*kind, u16::try_from(seq).unwrap(), body, start, end));
        }
        let mut state = seed | 1;
        fragments.sort_by_cached_key(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 32
        });
        let flight = (0..).zip(&fragments).map(|(nth, fragment)| (SERVER, record(HANDSHAKE, 0, nth, fragment)));
        let full = full_handshake();
        let (before, after) = (&full[..1], &full[6..]);
        let datagrams: Vec<_> = before.iter().cloned().chain(flight).chain(after.iter().cloned()).collect();
        prop_assert_eq!(run(&datagrams).events, run(&full).events);
    }

    /// Any subset of the datagrams, in any order, some twice: an event is that of the whole, or absent.
    #[test]
    fn loss_hides_events_but_changes_none(
        picked in prop::collection::vec(0..10_usize, 1..30),
    ) {
        let full = full_handshake();
        let whole = run(&full).events;
        let mut picked: Vec<_> = picked.iter().map(|nth| full[*nth].clone()).collect();
        for (side, event) in run(&picked).events {
            let is_nameless = match &event {
                TlsEvent::Certificates(found) => found.server_name.is_none(),
                _ => false,
            };
            prop_assert!(is_nameless || whole.contains(&(side, event)));
        }
        picked.splice(0..0, full.clone());
        prop_assert_eq!(run(&picked).events, whole);
    }
}

/// Each datagram of the server's flight carries what the end of the handshake reports.
#[test]
fn lost_message_of_server_hides_the_end() {
    let full = full_handshake();
    for lost in 0..full.len() {
        let mut datagrams = full.clone();
        datagrams.remove(lost);
        let run = run(&datagrams);
        // Without a ClientHello, or with a message of the client missing, the rest is that of the server.
        let is_known = matches!(lost, 6 | 7);
        assert_eq!(run.handshake().is_some(), is_known, "without datagram {lost}");
    }
    // A retransmission of the flight fills the gap, with other records.
    let mut datagrams = full.clone();
    datagrams.remove(3);
    datagrams.splice(
        5..5,
        (1..)
            .zip(answer())
            .map(|(seq, (kind, body))| (SERVER, message(usize::from(seq) + 20, seq, kind, &body))),
    );
    assert_eq!(run(&datagrams).events, run(&full).events);
}

fn resumed(records: [Vec<u8>; 3]) -> Vec<Datagram> {
    let hello = client_hello(7, "www.example.com", &extension(35, &[1; 60]));
    let server = records.map(|record| (SERVER, record));
    [&[(CLIENT, message(0, 0, 1, &hello))], &server[..], &[finished(SERVER, 2), finished(CLIENT, 1)]].concat()
}

#[test]
fn resumption_needs_all_records_of_server() {
    let hello = message(0, 0, 2, &server_hello(&[8; 32], &[]));
    let ticket = message(1, 1, 4, &[0; 40]);
    let found = |records| run(&resumed(records)).handshake().cloned();
    let whole = found([hello.clone(), ticket.clone(), vec![]]).expect("all records");
    assert_eq!((whole.completed, whole.resumption), (true, Some(Resumption::Ticket)));
    assert_eq!(found([hello.clone(), ticket.clone(), hello.clone()]), Some(whole), "a copy of the hello");
    assert_eq!(found([hello.clone(), vec![], vec![]]), None, "without the ticket or any other message");
    let part = record(HANDSHAKE, 0, 1, &fragment(11, 1, &[0; 40], 0, 20));
    assert_eq!(found([hello.clone(), part, vec![]]), None, "an incomplete message");
    let cut = ticket[..30].to_vec();
    assert_eq!(found([hello, cut, vec![]]), None, "a record that the snap length cut");
}

#[test]
fn contradictory_fragments_hide_the_flight() {
    let [(kind, body), ..] = answer();
    let mut other = body.clone();
    other[40] ^= 1;
    let mut datagrams = full_handshake();
    let part = |body: &[u8], end| (SERVER, record(HANDSHAKE, 0, 30, &fragment(kind, 1, body, 0, end)));
    for decoy in [part(&other, 60), part(&body[1..], 60)] {
        datagrams.splice(2..2, [decoy]);
        let run = run(&datagrams);
        assert_eq!((run.certificates(), run.handshake(), run.counters.refused), (0, None, 1));
        datagrams.remove(2);
    }
}

#[test]
fn second_client_hello_leaves_the_name_open() {
    let decoy = (CLIENT, message(9, 0, 1, &client_hello(6, "decoy.example", &[])));
    for at in [0, 1, 2] {
        let mut datagrams = full_handshake();
        datagrams.insert(at, decoy.clone());
        let run = run(&datagrams);
        let named = run.events.iter().any(|(_, event)| match event {
            TlsEvent::Certificates(found) => found.server_name.is_some(),
            _ => false,
        });
        assert_eq!((named, run.handshake()), (false, None), "{at}");
    }
    // The hello with a cookie repeats the first one (RFC 6347, section 4.2.1).
    let mut datagrams = full_handshake();
    let mut again = client_hello(7, "www.example.com", &[]);
    again.splice(67..68, [4, 1, 2, 3, 4]);
    datagrams.insert(1, (CLIENT, message(1, 1, 1, &again)));
    datagrams.splice(7.., [finished(CLIENT, 3), finished(SERVER, 5)]);
    let run = run(&datagrams);
    assert_eq!((run.certificates(), run.handshake().map(|found| found.completed)), (1, Some(true)));
}

#[test]
fn alert_ends_a_handshake_whose_messages_are_known() {
    let full = full_handshake();
    let alert = |epoch, nth| (SERVER, record(ALERT, epoch, nth, &[2, 40]));
    let refused = run(&[full[0].clone(), alert(0, 0), alert(0, 0)]);
    let expected = TlsAlert { sender: SERVER, code: Some((2, 40)) };
    let failed =
        TlsHandshake { transport: Transport::Dtls, alerts: vec![expected], ..TlsHandshake::default() };
    assert_eq!(refused.handshake(), Some(&failed));

    // With other numbers, and from a client, it follows a ServerHello that was lost.
    for lost in [alert(0, 5), (CLIENT, record(ALERT, 0, 0, &[2, 48]))] {
        assert_eq!(run(&[full[0].clone(), lost]).events, []);
    }

    let unknown_ca = (CLIENT, record(ALERT, 0, 1, &[2, 48]));
    let after = |end: usize| run(&[&full[..end], std::slice::from_ref(&unknown_ca)].concat());
    assert_eq!(after(6).handshake().map(|found| found.completed), Some(false));
    assert_eq!(after(5).handshake(), None, "messages of the server may be missing");
    // An encrypted alert instead of the Finished message, and one after a lost Finished message.
    let change = record(CHANGE_CIPHER_SPEC, 0, 5, &[1]);
    let with = |nth| {
        let end = (SERVER, [&change[..], &record(ALERT, 1, nth, &[0; 26])].concat());
        run(&[&full[..9], &[end]].concat())
    };
    assert_eq!(with(0).handshake().unwrap().alerts, [TlsAlert { sender: SERVER, code: None }]);
    assert_eq!(with(1).handshake(), None);
}

#[test]
fn alert_without_server_hello_is_reported_with_record_number_of_hello() {
    let hello = client_hello(7, "www.example.com", &[]);
    let hello_in = |nth| (CLIENT, message(nth, 0, 1, &hello));
    let alert = |nth| (SERVER, record(ALERT, 0, nth, &[2, 40]));
    let is_reported = |datagrams: &[Datagram]| run(datagrams).handshake().is_some();
    for nth in 0..6 {
        assert_eq!(is_reported(&[hello_in(3), alert(nth)]), nth == 3, "hello in 3, alert in {nth}");
        // The server may have answered the first copy in the records from 0 on, unless the alert is in that record.
        assert_eq!(is_reported(&[hello_in(0), hello_in(5), alert(nth)]), nth == 0, "alert in {nth}");
        assert_eq!(
            is_reported(&[hello_in(5), hello_in(0), alert(nth)]),
            nth == 0,
            "alert in {nth}, reordered"
        );
    }
    // A hello of two fragments takes two records.
    let part = |nth, start, end| (CLIENT, record(HANDSHAKE, 0, nth, &fragment(1, 0, &hello, start, end)));
    let parts = [part(4, 50, hello.len()), part(3, 0, 50)];
    assert!(is_reported(&[parts[0].clone(), parts[1].clone(), alert(3)]));
    assert!(!is_reported(&[parts[1].clone(), parts[0].clone(), alert(4)]));
    // The hello with a cookie is answered with its own number, after copies of the first one.
    let mut again = hello.clone();
    again.splice(67..68, [4, 1, 2, 3, 4]);
    let again = (CLIENT, message(2, 1, 1, &again));
    assert!(is_reported(&[hello_in(0), hello_in(1), again.clone(), alert(2)]));
    assert!(!is_reported(&[hello_in(0), hello_in(1), again, alert(1)]));
}

#[test]
fn end_without_certainty_lasts_until_another_first_hello() {
    let full = full_handshake();
    let answer_to = |random: u8| {
        let mut hello = server_hello(&[], &[]);
        hello[2..34].copy_from_slice(&[random; 32]);
        (SERVER, message(0, 0, 2, &hello))
    };
    let hello = |random| (CLIENT, message(9, 0, 1, &client_hello(random, "www.example.net", &[])));
    let rejected = (CLIENT, record(ALERT, 0, 7, &[2, 40]));
    let contradictory = vec![full[0].clone(), answer_to(1), answer_to(2), answer_to(3)];
    let two_hellos = vec![full[0].clone(), hello(6), rejected.clone(), answer_to(3)];
    let repeated = vec![full[0].clone(), hello(6), rejected.clone(), full[0].clone(), answer_to(3)];
    let unanswered = vec![rejected, answer_to(3)];
    for start in [contradictory, two_hellos, repeated, [&full[..1], &unanswered].concat()] {
        let uncertain = [&start, &full[2..]].concat();
        let mut run = run(&uncertain);
        assert_eq!((&run.events[..], run.flow.buffered_bytes()), (&[][..], 0));
        // Another handshake on these ports.
        let mut next = full.clone();
        (next[0], next[1]) = (hello(5), answer_to(4));
        next.iter().for_each(|datagram| run.push(datagram));
        assert_eq!((run.certificates(), run.handshake().map(|found| found.completed)), (2, Some(true)));
    }
}

/// Contradictory hellos beyond those that are kept: no later one is certain to be another.
#[test]
fn many_first_hellos_end_following() {
    let full = full_handshake();
    let hello = |random| (CLIENT, message(9, 0, 1, &client_hello(random, "www.example.net", &[])));
    let mut datagrams: Vec<_> = (10..40).map(hello).collect();
    datagrams.push((CLIENT, record(ALERT, 0, 7, &[2, 40])));
    datagrams.extend(full);
    assert_eq!(run(&datagrams).events, []);
}

#[test]
fn warning_counts_once() {
    let mut datagrams = full_handshake();
    let warning = (SERVER, record(ALERT, 0, 0, &[1, 112]));
    datagrams.splice(1..1, [warning.clone(), warning]);
    let run = run(&datagrams);
    let found = run.handshake().unwrap();
    assert_eq!((found.completed, found.alerts.len()), (true, 1));
}

/// A client of DTLS 1.3 uses the keys of application data after its Finished message.
#[test]
fn epoch_of_client_ends_a_handshake_of_dtls_13() {
    let share = extension(51, &[&[0, 29][..], &prefixed(2, &[4; 32])].concat());
    let answer = server_hello(&[], &[extension(43, &[0xfe, 0xfc]), share].concat());
    let unified = |side, epoch: u8| (side, vec![0x2c | epoch, 1, 2, 0, 3, 4, 5, 6]);
    let mut datagrams = vec![
        (CLIENT, message(0, 0, 1, &client_hello(7, "www.example.com", &[]))),
        (SERVER, message(0, 0, 2, &answer)),
        unified(SERVER, 2),
        unified(CLIENT, 2),
        unified(SERVER, 3),
    ];
    assert_eq!(run(&datagrams).events, []);
    datagrams.push(unified(CLIENT, 3));
    let ended = run(&datagrams);
    let found = ended.handshake().unwrap();
    assert_eq!((found.completed, found.resumption), (true, Some(Resumption::No)));
    assert_eq!((found.version, found.key_exchange), (Some(Version::DTLS_1_3), Some(KeyExchange::Group(29))));
    datagrams.remove(2);
    assert_eq!(run(&datagrams).events, [], "data of an earlier association");
}

#[test]
fn lost_end_is_not_awaited_for_ever() {
    let full = full_handshake();
    let mut run = run(&full[..6]);
    assert!(run.flow.buffered_bytes() > 0);
    for _ in 0..=64 {
        run.push(&(SERVER, record(23, 1, 7, b"data")));
    }
    assert_eq!(run.flow.buffered_bytes(), 0);
    full[6..].iter().for_each(|datagram| run.push(datagram));
    assert_eq!(run.handshake(), None);
}

#[test]
fn hostile_messages_are_bounded() {
    let full = full_handshake();
    let from_server = |kind, seq, len: usize, start: usize, part: &[u8]| {
        let place = [number(start, 3), number(part.len(), 3)].concat();
        let head = [&[kind][..], &number(len, 3), &u16::to_be_bytes(seq), &place].concat();
        (SERVER, record(HANDSHAKE, 0, 3, &[&head, part].concat()))
    };
    // A message that is too long ends following.
    let mut long = run(&full[..2]);
    long.push(&from_server(11, 1, 0xff_ffff, 0, &[0; 50]));
    assert_eq!((long.flow.buffered_bytes(), long.counters.refused), (0, 1));
    // Thousands of message numbers: those of a flight are buffered, before and after the hello of the server.
    for start in [&full[..1], &full[..2]] {
        let mut run = run(start);
        for seq in (1..5000).rev() {
            run.push(&from_server(11, seq, 250_000, 100, &[0; 30]));
        }
        assert!(run.flow.buffered_bytes() < 30_000, "{}", run.flow.buffered_bytes());
        assert!(run.counters.refused > 4900 && run.events.is_empty());
    }
    // One byte in each page of all messages.
    let mut sparse = run(&full[..2]);
    let mut most = 0;
    for place in 0..3000_usize {
        let (seq, start) = (u16::try_from(place % 8).unwrap() + 1, place / 8 * 1024 + 1);
        sparse.push(&from_server(11, seq, 250_000, start.min(249_000), &[0]));
        most = most.max(sparse.flow.buffered_bytes());
    }
    assert!(most < 600_000, "{most}");
}
