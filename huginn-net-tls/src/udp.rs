//! TLS over UDP: QUIC, DTLS, OpenVPN and RDP.

use huginn_net_core::{Interest, Segment, Side};

use crate::Transport;
use crate::datagram::DatagramFlow;
use crate::hello::Hello;
use crate::observer::{TlsCounters, TlsEvent};
use crate::quic::{self, QuicFlow};

/// Reports the hellos of UDP flows: QUIC, DTLS, and TLS in OpenVPN and RDP.
#[derive(Clone, Debug, Default)]
pub struct TlsUdpObserver {
    /// A scratch buffer for the decryption of QUIC packets.
    scratch: Vec<u8>,
}

/// The state of one UDP flow of a [`TlsUdpObserver`].
#[derive(Debug, Default)]
pub struct TlsUdpFlow(State);

#[derive(Debug, Default)]
enum State {
    #[default]
    Fresh,
    Quic(QuicFlow),
    Datagrams(Box<DatagramFlow>),
    Done,
}

impl TlsUdpObserver {
    /// The sender of a datagram, if it starts a flow of a client or server.
    ///
    /// In midstream, the side with a well-known port is the server; otherwise the content of the datagram decides.
    pub fn first_sender(segment: &Segment<'_>) -> Option<Side> {
        let payload = segment.payload;
        if segment.tcp().is_some() {
            return None;
        }
        if !quic::looks_like_initial(payload) {
            return DatagramFlow::from_first_datagram(payload).map(|(sender, _)| sender);
        }
        let (source, destination) = segment.transport.ports();
        Some(match (source < 1024, destination < 1024) {
            (true, false) => Side::Server,
            (false, true) => Side::Client,
            (true, true) | (false, false) => quic::likely_sender(payload),
        })
    }

    /// Parses the next datagram of a flow. `emit` receives an event and the sender of the hello.
    pub fn on_datagram(
        &mut self,
        payload: &[u8],
        sender: Side,
        TlsUdpFlow(state): &mut TlsUdpFlow,
        counters: &mut TlsCounters,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) -> Interest {
        if let Some(opened) = state.restarted_by(payload) {
            *state = opened;
        }
        let TlsCounters { hellos, quic: quic_counters, udp, .. } = counters;
        let interest = match state {
            State::Quic(quic) => {
                quic.on_datagram(payload, sender, &mut self.scratch, quic_counters, &mut |found| {
                    if let Ok(hello) = Hello::from_message(found.message, Transport::Quic) {
                        emit(found.sender, hellos.event(hello, found.retry));
                    }
                })
            }
            State::Datagrams(datagrams) => {
                datagrams.on_datagram(payload, sender, udp, &mut |side, hello, retry| {
                    emit(side, hellos.event(hello, retry));
                })
            }
            State::Fresh => Interest::More,
            State::Done => Interest::Done,
        };
        if interest == Interest::Done {
            *state = State::Done;
        }
        interest
    }
}

impl TlsUdpFlow {
    /// Heap memory of the flow, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        match &self.0 {
            State::Fresh | State::Done => 0,
            State::Quic(quic) => quic.buffered_bytes(),
            State::Datagrams(datagrams) => {
                size_of::<DatagramFlow>().saturating_add(datagrams.buffered_bytes())
            }
        }
    }
}

impl State {
    /// The state of a flow that starts with this datagram: a new flow, or one whose earlier datagrams, from either
    /// side, resembled another carrier and contained no hello.
    fn restarted_by(&self, payload: &[u8]) -> Option<Self> {
        let (is_quic, is_other) = match self {
            Self::Fresh => (false, false),
            Self::Quic(quic) if !quic.has_found_hello() => (true, false),
            Self::Datagrams(datagrams) if !datagrams.has_found_hello() => (false, true),
            Self::Quic(_) | Self::Datagrams(_) | Self::Done => return None,
        };
        if quic::looks_like_initial(payload) {
            return (!is_quic).then(|| Self::Quic(QuicFlow::default()));
        }
        let (_, datagrams) = DatagramFlow::from_first_datagram(payload).filter(|_| !is_other)?;
        Some(Self::Datagrams(Box::new(datagrams)))
    }
}
