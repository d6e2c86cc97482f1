//! UDP datagrams: QUIC and DTLS.

#[cfg(feature = "decrypt")]
use huginn_net_core::{Event, FlowId, PacketRef};
use huginn_net_core::{Interest, Origin, Route, Segment, Side};
#[cfg(feature = "decrypt")]
use huginn_net_tls::TlsCounters;
use huginn_net_tls::TlsEvent;

#[cfg(feature = "decrypt")]
use super::ProtocolCounters;
use super::flow_state::{ProtocolStates, TransportState, UdpState};
#[cfg(feature = "decrypt")]
use super::quic_content::{self, QuicConnections, QuicContent};
use super::{FlowOutput, Observers};
use crate::Observation;
use crate::observation::ConflictObservation;
use crate::parser_events::ParserEvents;
#[cfg(feature = "decrypt")]
use crate::scope::Scope;

impl Observers {
    /// Feeds a UDP datagram to TLS.
    pub(super) fn on_datagram(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut ProtocolStates,
        emit: &mut dyn FnMut(Origin, FlowOutput),
    ) -> Interest {
        if !self.tls && !self.decrypts_http() {
            return Interest::Done;
        }
        let ProtocolStates { transport, systems, mismatch, is_nameless, .. } = flow;
        if let TransportState::Tcp(_) = transport {
            *transport = TransportState::Udp(UdpState::default());
        }
        let TransportState::Udp(state) = transport else { return Interest::Done };
        #[cfg(feature = "decrypt")]
        let tls = self.tls;
        #[cfg(feature = "decrypt")]
        let certificate_bytes = self.tls_settings.certificate_bytes;
        let Self { tls_udp, counters, settings, .. } = self;
        let parser_events = ParserEvents { settings, systems, mismatch, is_nameless };
        let payload = segment.payload;
        #[cfg(feature = "decrypt")]
        if let Some(secrets) = self.decryption.secrets().filter(|_| settings.scope == Scope::Full) {
            self.decryption.note_time(segment.ts);
            let UdpState { tls: hello_state, quic } = state;
            let ProtocolCounters { http, tls: tls_counters, decryption, .. } = counters;
            let mut unread = TlsCounters::default();
            let hellos = if tls { &mut *tls_counters } else { &mut unread };
            tls_udp.on_datagram(payload, sender, hello_state, hellos, &mut |origin, event| {
                QuicConnections::on_hello(quic, origin.subject, payload, &event, certificate_bytes);
                if tls {
                    report(&parser_events, origin, event, emit);
                }
            });
            let Some(quic) = quic else { return Interest::More };
            if let Some(random) = hello_state.take_renewed_random() {
                quic.renew(sender, payload, &random);
            }
            let mut content = QuicContent {
                http: self.http.then_some(http),
                handshakes: (tls && self.tls_settings.handshakes).then_some(&mut tls_counters.handshakes),
                decryption,
            };
            let emit = &mut |subject: Side, output| emit(subject.into(), output);
            quic.on_datagram(sender, payload, secrets, &mut content, &mut |side, event| {
                quic_content::report(&parser_events, side, event, emit);
            });
            quic.note_last(|| (PacketRef::from_segment(segment), FlowId::from_segment(segment, sender)));
            return Interest::More;
        }
        tls_udp.on_datagram(payload, sender, &mut state.tls, &mut counters.tls, &mut |origin, event| {
            report(&parser_events, origin, event, emit);
        })
    }

    /// Whether HTTP in TLS and QUIC is decrypted.
    pub(super) fn decrypts_http(&self) -> bool {
        #[cfg(feature = "decrypt")]
        return self.http && self.settings.scope == Scope::Full && self.decryption.secrets().is_some();
        #[cfg(not(feature = "decrypt"))]
        false
    }

    /// Reads the datagrams that wait for a secret at the end of a flow.
    #[cfg(feature = "decrypt")]
    pub(super) fn end_datagrams(
        &mut self,
        flow: &mut ProtocolStates,
        emit: &mut dyn FnMut(Event<FlowOutput>),
    ) {
        let ProtocolStates { transport: TransportState::Udp(state), systems, mismatch, is_nameless, .. } =
            flow
        else {
            return;
        };
        let (Some(mut quic), Some(secrets)) = (state.quic.take(), self.decryption.given_secrets()) else {
            return;
        };
        let Some((packet, flow)) = quic.take_last() else { return };
        let parser_events = ParserEvents { settings: &self.settings, systems, mismatch, is_nameless };
        let ProtocolCounters { http, tls, decryption, .. } = &mut self.counters;
        let reads_handshakes = self.tls && self.tls_settings.handshakes;
        let mut content = QuicContent {
            http: self.http.then_some(http),
            handshakes: reads_handshakes.then_some(&mut tls.handshakes),
            decryption,
        };
        let emit = &mut |side: Side, output| {
            emit(Event::from_origin(packet, flow.clone(), side.into(), output));
        };
        quic.on_end(secrets, &mut content, &mut |side, event| {
            quic_content::report(&parser_events, side, event, emit);
        });
    }
}

/// Reports what a datagram shows, after the conflict that it is part of.
fn report(
    parser_events: &ParserEvents<'_>,
    origin: Origin,
    event: TlsEvent,
    emit: &mut dyn FnMut(Origin, FlowOutput),
) {
    if let Some(reason) = origin.conflict {
        let observation = ConflictObservation::new(reason, None);
        emit(origin, Route::Report(Observation::Conflict(observation)));
    }
    parser_events.on_tls(origin.subject, event, false, &mut |subject, output| {
        emit(Origin { subject, ..origin }, output);
    });
}
