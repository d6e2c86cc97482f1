//! TLS over UDP: QUIC, DTLS, OpenVPN and RDP.

use huginn_net_core::{Conflict, Interest, Origin, Segment, Side};

use super::flow::DatagramFlow;
use super::found::Found;
use super::quic::{self, QuicFlow, QuicPart, Scratch};
use crate::counters::TlsCounters;
use crate::event::{TlsEvent, TlsHandshake};
use crate::follower::Follow;
use crate::hello::Hello;
use crate::{TlsParserSettings, Transport};

/// Reports the hellos of UDP flows: QUIC, DTLS, and TLS in OpenVPN and RDP. It can follow handshakes; of QUIC, those that end before
/// the ServerHello.
#[derive(Clone, Debug, Default)]
pub struct TlsUdpObserver {
    /// Buffers for the decryption of QUIC packets.
    scratch: Scratch,
    settings: TlsParserSettings,
}

/// The state of one UDP flow of a [`TlsUdpObserver`].
///
/// The first bytes of QUIC's long headers and of the other protocols differ (RFC 9443), so that none of them hides the others.
#[derive(Debug, Default)]
pub struct TlsUdpFlow {
    quic: Option<QuicFlow>,
    datagrams: Option<Box<DatagramFlow>>,
}

impl TlsUdpObserver {
    /// Creates an observer with these settings.
    #[must_use]
    pub fn with_settings(settings: TlsParserSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// The sender of a datagram, if it starts a flow of a client or server.
    ///
    /// In midstream, the side with a well-known port is the server; otherwise the content of the datagram decides.
    pub fn first_sender(segment: &Segment<'_>) -> Option<Side> {
        let payload = segment.payload;
        if segment.tcp().is_some() {
            return None;
        }
        if !quic::looks_like_initial(payload) {
            return DatagramFlow::from_first_datagram(payload, Follow::No).map(|(sender, _)| sender);
        }
        let (source, destination) = segment.transport.ports();
        Some(match (source < 1024, destination < 1024) {
            (true, false) => Side::Server,
            (false, true) => Side::Client,
            (true, true) | (false, false) => quic::likely_sender(payload),
        })
    }

    /// Parses the next datagram of a flow. `emit` receives an event, and the sender of the hello with a conflict, if there is
    /// one.
    pub fn on_datagram(
        &mut self,
        payload: &[u8],
        sender: Side,
        flow: &mut TlsUdpFlow,
        counters: &mut TlsCounters,
        emit: &mut impl FnMut(Origin, TlsEvent),
    ) -> Interest {
        let is_quic = flow.detect(payload, self.settings);
        let TlsCounters { hellos, handshakes, quic: quic_counters, udp, .. } = counters;
        if let Some(quic) = flow.quic.as_mut().filter(|_| is_quic) {
            let follows = self.settings.handshakes;
            quic.on_datagram(payload, sender, &mut self.scratch, quic_counters, &mut |part| {
                let found = match part {
                    QuicPart::Hello(found) => found,
                    QuicPart::Close(close) => {
                        let event = TlsEvent::Handshake(Box::new(TlsHandshake::closed(&close)));
                        if follows {
                            handshakes.count(&event);
                            emit(origin(close.server, false), event);
                        }
                        return;
                    }
                };
                if let Ok(hello) = Hello::from_message(found.message, Transport::Quic) {
                    let mut event = hellos.event(hello, found.retry);
                    match &mut event {
                        TlsEvent::Client(client) => client.quic = found.peers.client,
                        TlsEvent::Server(server) => server.quic = found.peers.server.map(Box::new),
                        TlsEvent::Certificates(_) | TlsEvent::Handshake(_) => {}
                    }
                    emit(origin(found.sender, found.conflict), event);
                }
            });
        } else if let Some(datagrams) = &mut flow.datagrams {
            datagrams.on_datagram(payload, sender, udp, &mut |origin, part| {
                let event = match part {
                    Found::Hello { hello, retry } => hellos.event(hello, retry),
                    Found::Followed(event) => {
                        handshakes.count(&event);
                        event
                    }
                };
                emit(origin, event);
            });
        }
        Interest::More
    }
}

fn origin(subject: Side, conflict: bool) -> Origin {
    Origin { conflict: conflict.then_some(Conflict::Content), ..subject.into() }
}

impl TlsUdpFlow {
    /// Heap memory of the flow, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        let quic = self.quic.as_ref().map_or(0, |quic| quic.buffered_bytes);
        let datagrams = self
            .datagrams
            .as_ref()
            .map_or(0, |datagrams| size_of::<DatagramFlow>().saturating_add(datagrams.buffered_bytes()));
        quic.saturating_add(datagrams)
    }

    /// Takes the random of a ClientHello of QUIC in the last datagrams that repeats an earlier one, and had no event: after a Retry, some
    /// clients send other numbers and keys. It names the secrets of the connection.
    pub fn take_renewed_random(&mut self) -> Option<Box<[u8; 32]>> {
        self.quic.as_mut()?.take_renewed_random()
    }

    /// Prepares the state for a datagram, of either side. Returns whether it is one of QUIC.
    fn detect(&mut self, payload: &[u8], settings: TlsParserSettings) -> bool {
        let has_hello = self.quic.as_ref().is_some_and(|quic| quic.has_found_hello);
        // Almost all datagrams of QUIC have a short header, with a fixed bit of 1.
        if has_hello && payload.first().is_none_or(|first| first & 0xc0 != 0) && self.datagrams.is_none() {
            return true;
        }
        if quic::looks_like_initial(payload) {
            self.quic.get_or_insert_default();
            return true;
        }
        let has_other_hello = self.datagrams.as_ref().is_some_and(|datagrams| datagrams.has_found_hello);
        if !has_other_hello
            && let Some((_, datagrams)) = DatagramFlow::from_first_datagram(payload, settings.follows_all())
        {
            self.datagrams.get_or_insert_with(|| Box::new(datagrams));
            return false;
        }
        self.datagrams.is_none() || self.quic.is_some() && quic::has_long_header(payload)
    }
}
