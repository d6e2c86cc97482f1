//! Hellos in UDP flows other than QUIC's.

use huginn_net_core::{Interest, Side};

use crate::dtls::{self, DtlsFlow};
use crate::hello::Hello;
use crate::openvpn::{self, OpenVpnFlow};
use crate::rdpudp::{self, RdpUdpFlow};

/// What hellos come over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    Dtls,
    OpenVpn,
    RdpUdp,
}

/// Who sent this datagram, if a flow with hellos begins with it, and what they come over.
fn opening(payload: &[u8]) -> Option<(Side, Carrier)> {
    let dtls = || dtls::hello_sender(payload).map(|sender| (sender, Carrier::Dtls));
    let vpn = || openvpn::session_opener(payload).map(|sender| (sender, Carrier::OpenVpn));
    let rdp = || rdpudp::hello_sender(payload).map(|sender| (sender, Carrier::RdpUdp));
    dtls().or_else(vpn).or_else(rdp)
}

/// Reads the hellos of both sides of a UDP flow.
#[derive(Debug)]
pub(crate) enum DatagramFlow {
    Dtls(DtlsFlow),
    OpenVpn(OpenVpnFlow),
    RdpUdp(RdpUdpFlow),
}

impl DatagramFlow {
    /// The flow that begins with this datagram, and who sent it; nothing if no hello is to be expected.
    #[inline]
    pub(crate) fn opened_by(payload: &[u8]) -> Option<(Side, Self)> {
        let (sender, carrier) = opening(payload)?;
        let flow = match carrier {
            Carrier::Dtls => Self::Dtls(DtlsFlow::default()),
            Carrier::OpenVpn => Self::OpenVpn(OpenVpnFlow::default()),
            Carrier::RdpUdp => Self::RdpUdp(RdpUdpFlow::default()),
        };
        Some((sender, flow))
    }

    /// Takes the next datagram and hands on the hellos that are now whole, who sent them, and whether each is a
    /// client's second one.
    ///
    /// `refused` counts fragments and packets that cannot be held.
    pub(crate) fn on_datagram(
        &mut self,
        payload: &[u8],
        sender: Side,
        refused: &mut u64,
        found: &mut impl FnMut(Side, Hello<'_>, bool),
    ) -> Interest {
        match self {
            Self::Dtls(flow) => flow.on_datagram(payload, sender, refused, found),
            Self::OpenVpn(flow) => flow.on_datagram(payload, sender, refused, found),
            Self::RdpUdp(flow) => flow.on_datagram(payload, sender, refused, found),
        }
    }

    /// The memory that it takes up beside itself, in bytes.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Dtls(flow) => flow.held(),
            Self::OpenVpn(flow) => flow.held(),
            Self::RdpUdp(flow) => flow.held(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What was found: who said it, its JA3 or JA3S, and whether it is a client's second hello.
    pub(crate) type Found = (Side, String, bool);

    /// The datagrams or segments of a recorded dialogue, each behind its sender (0: the client) and its length.
    pub(crate) fn dialogue(mut bytes: &[u8]) -> Vec<(Side, &[u8])> {
        let mut parts = Vec::new();
        while let [sender, high, low, rest @ ..] = bytes {
            let (part, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
            parts.push((if *sender == 0 { Side::Client } else { Side::Server }, part));
            bytes = rest;
        }
        parts
    }

    pub(crate) fn fingerprint(sender: Side, hello: &Hello<'_>, retry: bool) -> Found {
        let hash = match hello {
            Hello::Client(hello) => hello.ja3_hash(),
            Hello::Server(hello) => hello.ja3s_hash(),
        };
        (sender, hash.to_string(), retry)
    }

    /// What is found in a flow that the first of these datagrams opens, and what interest is left.
    fn follow(datagrams: &[(Side, &[u8])]) -> (Vec<Found>, Interest) {
        let (opener, mut flow) = DatagramFlow::opened_by(datagrams[0].1).expect("a flow");
        assert_eq!(opener, datagrams[0].0);
        let (mut found, mut refused) = (Vec::new(), 0);
        let mut interest = Interest::More;
        for (sender, datagram) in datagrams {
            assert_eq!(interest, Interest::More, "asked for no more");
            interest = flow.on_datagram(datagram, *sender, &mut refused, &mut |sender, hello, retry| {
                found.push(fingerprint(sender, &hello, retry));
            });
        }
        assert_eq!(refused, 0);
        (found, interest)
    }

    fn expect(found: &[(Side, &str, bool)]) -> Vec<Found> {
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
        assert_eq!(follow(&datagrams), (expected.clone(), Interest::Done));
        let twice: Vec<_> = datagrams[..5].iter().chain(&datagrams).copied().collect();
        assert_eq!(follow(&twice), (expected.clone(), Interest::Done), "sent again");
        assert_eq!(follow(&datagrams[2..]).0, expected[1..], "from the server's request on");
        assert_eq!(follow(&[datagrams[5]]), (expected[2..].to_vec(), Interest::More), "the server alone");
    }

    /// Recorded on loopback from OpenVPN 2.6.14 with `--tls-client` and `--tls-server`, without and with
    /// `--tls-auth --auth SHA256`. The hashes are tshark's of the former; the latter is more than it can read.
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
            assert_eq!(follow(datagrams), (expected.clone(), Interest::Done));
            assert_eq!(follow(&datagrams[2..]), (expected, Interest::Done), "without the hard resets");
        }
    }

    #[test]
    fn other_datagrams_open_nothing() {
        let dns = b"\x1a\x2b\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x04test\x00\x00\x01\x00\x01";
        let stun = b"\x00\x01\x00\x00\x21\x12\xa4\x42abcdefghijkl";
        let ntp = [&[0x23, 0, 6, 0xec][..], &[0; 44]].concat();
        // `tls-crypt` hides what follows; an echo request of 0x38 bytes is no hard reset.
        let crypt = [&[0x38, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 0x6a, 0, 0, 0][..], &[0x5a; 37]].concat();
        for datagram in
            [&[][..], &[22], &[0x38], &[0x38; 14], &[0; 1200], &[0xff; 1232], dns, stun, &ntp, &crypt]
        {
            assert!(DatagramFlow::opened_by(datagram).is_none(), "{datagram:02x?}");
        }
    }

    proptest! {
        /// Recorded datagrams, spoilt, in any order and from either side.
        #[test]
        fn no_datagrams_panic_or_are_held_without_bound(
            capture in prop::sample::select(&[DTLS, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/openvpn-udp-tls-auth.bin"))][..]),
            spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..80),
            tail in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let datagrams = dialogue(capture);
            let (_, mut flow) = DatagramFlow::opened_by(datagrams[0].1).unwrap();
            for (which, place, byte, turn) in spoilt {
                let (sender, datagram) = which.get(&datagrams);
                let mut datagram = datagram.to_vec();
                *place.get_mut(&mut datagram[..]) = byte;
                datagram.extend_from_slice(&tail);
                let sender = if turn { sender.peer() } else { *sender };
                let _ = DatagramFlow::opened_by(&datagram);
                let _ = flow.on_datagram(&datagram, sender, &mut 0, &mut |_, _, _| {});
                prop_assert!(flow.held() < 400_000);
            }
        }

        #[test]
        fn no_bytes_panic(
            first in prop::sample::select(&[22_u8, 0x38, 0x20, 0x40, 1, 0x2e][..]),
            mut datagram in prop::collection::vec(any::<u8>(), 1..120),
        ) {
            datagram[0] = first;
            let _ = DatagramFlow::opened_by(&datagram);
            for mut flow in [
                DatagramFlow::Dtls(DtlsFlow::default()),
                DatagramFlow::OpenVpn(OpenVpnFlow::default()),
                DatagramFlow::RdpUdp(RdpUdpFlow::default()),
            ] {
                for sender in [Side::Client, Side::Server] {
                    let _ = flow.on_datagram(&datagram, sender, &mut 0, &mut |_, _, _| {});
                }
            }
        }
    }
}
