//! Hellos in UDP flows except QUIC, and handshakes after them.

use huginn_net_core::{Origin, Side};

use super::dtls::{self, DtlsFlow};
use super::found::Found;
use super::openvpn::{self, OpenVpnFlow};
use super::rdpudp::{self, RdpUdpFlow};
use crate::counters::DatagramCounters;
use crate::follower::Follow;

/// The protocol that carries TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    Dtls,
    OpenVpn,
    RdpUdp,
}

/// Detects a flow that starts with this datagram, and its sender.
fn detect_carrier(payload: &[u8]) -> Option<(Side, Carrier)> {
    let dtls = || dtls::hello_sender(payload).map(|sender| (sender, Carrier::Dtls));
    let vpn = || openvpn::session_initiator(payload).map(|sender| (sender, Carrier::OpenVpn));
    let rdp = || rdpudp::hello_sender(payload).map(|sender| (sender, Carrier::RdpUdp));
    dtls().or_else(vpn).or_else(rdp)
}

/// Finds the hellos of both sides of a UDP flow, and what follows them if handshakes are followed.
#[derive(Debug)]
pub(crate) struct DatagramFlow {
    reader: Reader,
    /// Whether a hello was found.
    pub(crate) has_found_hello: bool,
    /// Whether handshakes are followed.
    follows: Follow,
}

#[derive(Debug)]
enum Reader {
    Dtls(DtlsFlow),
    OpenVpn(OpenVpnFlow),
    RdpUdp(RdpUdpFlow),
}

impl DatagramFlow {
    /// Creates the flow that starts with this datagram and returns its sender; `None` if no hello is to be expected.
    #[inline]
    pub(crate) fn from_first_datagram(payload: &[u8], follows: Follow) -> Option<(Side, Self)> {
        let (sender, carrier) = detect_carrier(payload)?;
        Some((sender, Self { reader: Reader::new(carrier, follows), has_found_hello: false, follows }))
    }

    /// Parses the next datagram. Emits what it completes, each with its sender. Any datagram may start a new handshake.
    pub(crate) fn on_datagram(
        &mut self,
        payload: &[u8],
        sender: Side,
        counters: &mut DatagramCounters,
        found: &mut impl FnMut(Origin, Found<'_>),
    ) {
        let Self { reader, has_found_hello, follows } = self;
        if !*has_found_hello {
            reader.switch_carrier(payload, *follows);
        }
        let mut found = |origin, part: Found<'_>| {
            *has_found_hello = true;
            found(origin, part);
        };
        // Packets whose numbers define the order of the bytes have one content.
        let mut found_in_order = |side: Side, part: Found<'_>| found(side.into(), part);
        match reader {
            Reader::Dtls(flow) => flow.on_datagram(payload, sender, counters, &mut found),
            Reader::OpenVpn(flow) => flow.on_datagram(payload, sender, counters, &mut found_in_order),
            Reader::RdpUdp(flow) => flow.on_datagram(payload, sender, counters, &mut found_in_order),
        }
    }

    /// Heap memory in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        match &self.reader {
            Reader::Dtls(flow) => flow.buffered_bytes(),
            Reader::OpenVpn(flow) => flow.buffered_bytes(),
            Reader::RdpUdp(flow) => flow.buffered_bytes(),
        }
    }
}

impl Reader {
    fn new(carrier: Carrier, follows: Follow) -> Self {
        match carrier {
            Carrier::Dtls => Self::Dtls(DtlsFlow::new(follows)),
            Carrier::OpenVpn => Self::OpenVpn(OpenVpnFlow::new(follows)),
            Carrier::RdpUdp => Self::RdpUdp(RdpUdpFlow::new(follows)),
        }
    }

    /// Switches to another carrier if this datagram starts a flow over it: the previous datagram was misdetected.
    fn switch_carrier(&mut self, payload: &[u8], follows: Follow) {
        let Some((_, carrier)) = detect_carrier(payload) else { return };
        if carrier != self.carrier() {
            *self = Self::new(carrier, follows);
        }
    }

    const fn carrier(&self) -> Carrier {
        match self {
            Self::Dtls(_) => Carrier::Dtls,
            Self::OpenVpn(_) => Carrier::OpenVpn,
            Self::RdpUdp(_) => Carrier::RdpUdp,
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hello::Hello;

    /// A found hello: its sender, its JA3 or JA3S, and whether it is a client's second hello.
    pub(crate) type FoundHello = (Side, String, bool);

    /// The datagrams or segments of a recorded dialogue, each after its sender (0: the client) and its length.
    pub(crate) fn dialogue(mut bytes: &[u8]) -> Vec<(Side, &[u8])> {
        let mut parts = Vec::new();
        while let [sender, high, low, rest @ ..] = bytes {
            let (part, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
            parts.push((if *sender == 0 { Side::Client } else { Side::Server }, part));
            bytes = rest;
        }
        parts
    }

    /// A record with a HelloRetryRequest (RFC 8446, section 4.1.3: its `random`).
    pub(crate) fn retry_request_record() -> Vec<u8> {
        let random = [
            0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
            0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
        ];
        [&[22, 3, 3, 0, 44, 2, 0, 0, 40, 3, 3][..], &random, &[0, 0x13, 1, 0, 0, 0]].concat()
    }

    pub(crate) fn fingerprint(sender: Side, hello: &Hello<'_>, retry: bool) -> FoundHello {
        let hash = match hello {
            Hello::Client(hello) => hello.ja3_hash(),
            Hello::Server(hello) => hello.ja3s_hash(),
        };
        (sender, hash.to_string(), retry)
    }

    /// The hellos found in a flow that starts with the first of these datagrams.
    fn follow(datagrams: &[(Side, &[u8])]) -> Vec<FoundHello> {
        let (opener, mut flow) =
            DatagramFlow::from_first_datagram(datagrams[0].1, Follow::No).expect("a flow");
        assert_eq!(opener, datagrams[0].0);
        let (mut found, mut counters) = (Vec::new(), DatagramCounters::default());
        for (sender, datagram) in datagrams {
            flow.on_datagram(datagram, *sender, &mut counters, &mut |origin, part| {
                let Found::Hello { hello, retry } = part else { panic!("no handshake is followed") };
                assert_eq!(origin.conflict, None);
                found.push(fingerprint(origin.subject, &hello, retry));
            });
            assert_eq!(flow.has_found_hello, !found.is_empty());
        }
        assert_eq!(counters, DatagramCounters::default());
        found
    }

    fn expect(found: &[(Side, &str, bool)]) -> Vec<FoundHello> {
        found.iter().map(|(side, hash, retry)| (*side, (*hash).to_owned(), *retry)).collect()
    }

    /// Recorded on loopback from OpenSSL 3.0.19: `s_client -dtls1_2 -mtu 256` at `s_server -listen`. The hashes are
    /// tshark's.
    pub(crate) const DTLS: &[u8] =
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/dtls-openssl-fragments.bin"));

    #[test]
    fn dtls_with_fragments_and_a_cookie() {
        const CLIENT: &str = "096df697a18c538158d6a52abc65a0db";
        let expected = expect(&[
            (Side::Client, CLIENT, false),
            (Side::Client, CLIENT, true),
            (Side::Server, "51e03b04c8c77175b5562a0e94e39f1c", false),
        ]);
        let datagrams = dialogue(DTLS);
        assert_eq!(follow(&datagrams), expected);
        let twice: Vec<_> = datagrams[..5].iter().chain(&datagrams).copied().collect();
        assert_eq!(follow(&twice), expected, "retransmitted");
        assert_eq!(follow(&datagrams[2..]), expected[1..], "from the server's request on");
        assert_eq!(follow(&[datagrams[5]]), expected[2..], "only the server's datagrams");
    }

    /// Recorded on loopback from OpenVPN 2.6.14 with `--tls-client` and `--tls-server`, without and with `--tls-auth
    /// --auth SHA256`. The hashes come from tshark for the former; tshark cannot read the latter.
    #[test]
    fn openvpn_with_and_without_authentication() {
        let captures: [&[u8]; 2] = [
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/openvpn-udp.bin")),
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/openvpn-udp-tls-auth.bin")),
        ];
        for capture in captures {
            let expected = expect(&[
                (Side::Client, "b0ec87ac7424dc3b841dacb72db22a21", false),
                (Side::Server, "15af977ce25de452b96affa2addb1036", false),
            ]);
            let datagrams = &dialogue(capture)[..4];
            assert_eq!(follow(datagrams), expected);
            assert_eq!(follow(&datagrams[2..]), expected, "without the hard resets");
        }
    }

    /// A handshake over each carrier on the same ports, after a datagram that only looks like a flow start.
    #[test]
    fn false_start_does_not_hide_other_carrier() {
        let false_reset = [&[0x38][..], &[1; 8], &[0; 5]].concat();
        let dtls = dialogue(DTLS);
        let datagrams: Vec<_> = [(Side::Client, &false_reset[..])].into_iter().chain(dtls.clone()).collect();
        assert_eq!(follow(&datagrams), follow(&dtls));
    }

    #[test]
    fn no_number_of_hellos_hides_another() {
        let hello = |random: u8| {
            let body = [&[0xfe, 0xfd][..], &[random; 32], &[0, 0, 0, 2, 0xc0, 0x2b, 1, 0]].concat();
            let len = [0, 0, u8::try_from(body.len()).unwrap()];
            let fragment = [&[1][..], &len, &[0; 5], &len, &body].concat();
            let len = u16::try_from(fragment.len()).unwrap().to_be_bytes();
            [&[22, 0xfe, 0xfd][..], &[0; 8], &len, &fragment].concat()
        };
        let (_, mut flow) = DatagramFlow::from_first_datagram(&hello(0), Follow::No).unwrap();
        let mut found = 0;
        for random in 0..200 {
            let counters = &mut DatagramCounters::default();
            flow.on_datagram(&hello(random), Side::Client, counters, &mut |_, _| found += 1);
        }
        assert_eq!(found, 200);
    }

    #[test]
    fn other_datagrams_start_no_flow() {
        let dns = b"\x1a\x2b\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x04test\x00\x00\x01\x00\x01";
        let stun = b"\x00\x01\x00\x00\x21\x12\xa4\x42abcdefghijkl";
        let ntp = [&[0x23, 0, 6, 0xec][..], &[0; 44]].concat();
        // `tls-crypt` encrypts the rest; an echo request of 0x38 bytes is not a hard reset.
        let crypt = [&[0x38, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 0x6a, 0, 0, 0][..], &[0x5a; 37]].concat();
        for datagram in
            [&[][..], &[22], &[0x38], &[0x38; 14], &[0; 1200], &[0xff; 1232], dns, stun, &ntp, &crypt]
        {
            assert!(DatagramFlow::from_first_datagram(datagram, Follow::No).is_none(), "{datagram:02x?}");
        }
    }

    proptest! {
        /// Recorded datagrams, corrupted, in any order and from either side.
        #[test]
        fn arbitrary_datagrams_are_bounded_and_never_panic(
            capture in prop::sample::select(&[DTLS, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/openvpn-udp-tls-auth.bin"))][..]),
            corrupted in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..80),
            tail in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let datagrams = dialogue(capture);
            let (_, mut flow) = DatagramFlow::from_first_datagram(datagrams[0].1, Follow::Yes).unwrap();
            for (which, position, byte, turn) in corrupted {
                let (sender, datagram) = which.get(&datagrams);
                let mut datagram = datagram.to_vec();
                *position.get_mut(&mut datagram[..]) = byte;
                datagram.extend_from_slice(&tail);
                let sender = if turn { sender.peer() } else { *sender };
                let _ = DatagramFlow::from_first_datagram(&datagram, Follow::No);
                flow.on_datagram(&datagram, sender, &mut DatagramCounters::default(), &mut |_, _| {});
                prop_assert!(flow.buffered_bytes() < 400_000);
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            first in prop::sample::select(&[22_u8, 0x38, 0x20, 0x40, 1, 0x2e][..]),
            mut datagram in prop::collection::vec(any::<u8>(), 1..120),
        ) {
            datagram[0] = first;
            let _ = DatagramFlow::from_first_datagram(&datagram, Follow::No);
            for carrier in [Carrier::Dtls, Carrier::OpenVpn, Carrier::RdpUdp] {
                let (reader, follows) = (Reader::new(carrier, Follow::Yes), Follow::Yes);
                let mut flow = DatagramFlow { reader, has_found_hello: false, follows };
                for sender in [Side::Client, Side::Server] {
                    flow.on_datagram(&datagram, sender, &mut DatagramCounters::default(), &mut |_, _| {});
                }
            }
        }
    }
}
