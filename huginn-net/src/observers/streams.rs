//! TCP streams: HTTP, TLS and SSH.

#[cfg(feature = "decrypt")]
use huginn_net_core::FlowId;
use huginn_net_core::{
    Event, Interest, Origin, PacketRef, Segment, Side, StreamCounters, StreamFlow, without_padding,
};
use huginn_net_ssh::SshCounters;

use super::decryption::Decryption;
use super::flow_state::{ProtocolStates, TransportState};
use super::stream_parsers::{ParserReader, Parsers, StreamProtocols};
use super::{FlowOutput, Observers, ProtocolCounters};
use crate::p0f_flow::ends_http;
use crate::parser_events::{ParserEvents, on_ssh};
use crate::scope::Scope;

impl Observers {
    /// Feeds a TCP segment to the stream parsers.
    pub(super) fn on_stream(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut ProtocolStates,
        emit: &mut dyn FnMut(Origin, FlowOutput),
    ) -> Interest {
        let ProtocolStates { tcp: handshake, transport, ssh_peers, http_done, .. } = flow;
        let TransportState::Tcp(streams) = transport else { return Interest::Done };
        if self.settings.scope == Scope::P0f {
            *http_done |= ends_http(segment, self.tcp.is_some().then_some(handshake));
        }
        let enabled = self.stream_protocols(*http_done);
        if !enabled.any() {
            *streams = StreamFlow::default();
            return Interest::Done;
        }
        let payload = match self.settings.scope {
            Scope::Full => without_padding(segment),
            // p0f treats padding as payload.
            Scope::P0f => segment.payload,
        };
        if let Some(tcp) = segment.tcp().filter(|_| !ssh_peers.has_pending())
            && let Some(interest) = streams.skip_segment(tcp, payload.len(), sender)
        {
            return interest;
        }
        let missed = self.counters.streams;
        let mut has_parsed = false;
        let Some((streams, stream_counters, decryption, mut reader)) = self.stream_reader(flow, enabled)
        else {
            return Interest::Done;
        };
        #[cfg(feature = "decrypt")]
        decryption.note_time(segment.ts);
        let interest = streams.read_segment(
            segment,
            payload,
            sender,
            stream_counters,
            || Parsers::new(enabled, decryption),
            &mut |parsers, input| {
                has_parsed = true;
                reader.on_data(parsers, input, &mut |side, output| emit(input.origin(side), output));
            },
        );
        #[cfg(feature = "decrypt")]
        if has_parsed && let Some(content) = streams.parsers_mut().and_then(Parsers::content_mut) {
            content.note_last(|| (PacketRef::from_segment(segment), FlowId::from_segment(segment, sender)));
        }
        let ParserReader { parser_events, peers, ssh_peers, .. } = reader;
        let clients = &parser_events.settings.clients;
        ssh_peers.on_segment(segment, payload.len(), sender, peers, &mut |side, event| {
            on_ssh(clients, side, event, &mut |side, output| emit(side.into(), output));
        });
        if has_parsed || missed != self.counters.streams {
            self.examples.add_segment(&self.counters, segment, sender);
        }
        interest
    }

    /// The enabled protocols over TCP streams.
    fn stream_protocols(&self, http_done: bool) -> StreamProtocols {
        StreamProtocols {
            http: self.http && !http_done,
            tls: self.tls,
            tls_settings: self.tls_settings,
            ssh: self.ssh,
            #[cfg(feature = "decrypt")]
            decrypts: self.settings.scope == Scope::Full,
        }
    }

    /// Returns the streams of a TCP flow, their counters, the settings of decryption, and what reads their data.
    fn stream_reader<'a>(
        &'a mut self,
        flow: &'a mut ProtocolStates,
        enabled: StreamProtocols,
    ) -> Option<(&'a mut StreamFlow<Parsers>, &'a mut StreamCounters, &'a Decryption, ParserReader<'a>)> {
        let ProtocolStates { transport, ssh_peers, systems, mismatch, is_nameless, .. } = flow;
        let TransportState::Tcp(streams) = transport else { return None };
        let ProtocolCounters {
            streams: stream_counters,
            http,
            tls,
            ssh: SshCounters { parser, peers, .. },
            decryption,
            ..
        } = &mut self.counters;
        let reader = ParserReader {
            parser_events: ParserEvents { settings: &self.settings, systems, mismatch, is_nameless },
            http: enabled.http.then_some(http),
            tls,
            ssh: parser,
            decryption,
            peers,
            ssh_peers,
            conflict: None,
        };
        Some((streams, stream_counters, &self.decryption, reader))
    }

    /// Feeds what waits for the end of a connection to the stream parsers.
    pub(super) fn end_stream(&mut self, flow: &mut ProtocolStates, emit: &mut dyn FnMut(Event<FlowOutput>)) {
        let (enabled, before) = (self.stream_protocols(flow.http_done), self.counters.streams);
        let Some((streams, counters, decryption, mut reader)) = self.stream_reader(flow, enabled) else {
            return;
        };
        if let Some(parsers) = streams.parsers_mut() {
            reader.on_end(parsers, emit);
        }
        let mut first = None;
        std::mem::take(streams).on_end(
            counters,
            || Parsers::new(enabled, decryption),
            |flow, parsers: &mut Parsers, input| {
                reader.on_data(parsers, input, &mut |side, output| emit(input.event(flow, side, output)));
                first.get_or_insert_with(|| input.event(flow, Side::Client, ()));
            },
        );
        let ParserReader { parser_events, peers, ssh_peers, .. } = reader;
        let clients = &parser_events.settings.clients;
        std::mem::take(ssh_peers).on_end(peers, &mut |event| {
            let Event { ts, packet_number: number, flow, subject, kind, .. } = event;
            on_ssh(clients, subject, kind, &mut |side, output| {
                emit(Event::from_origin(PacketRef { ts, number }, flow.clone(), side.into(), output));
            });
        });
        if let Some(event) = first.filter(|_| before.gaps != self.counters.streams.gaps) {
            self.examples.add_event("gaps", &event);
        }
    }
}
