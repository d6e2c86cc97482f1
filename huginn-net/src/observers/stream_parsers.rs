//! The stream parsers of one TCP connection, and their events.

use huginn_net_core::{Conflict, Event, ParserSet, ParserSlot, ParserVisitor, Route, Side, StreamInput};
use huginn_net_http::{HttpCounters, HttpParser};
use huginn_net_ssh::{SshParser, SshParserCounters, SshPeerCounters, SshPeers};
use huginn_net_tls::{TlsCounters, TlsParser, TlsParserSettings};

use super::FlowOutput;
#[cfg(feature = "decrypt")]
use super::decryption::{ContentEvent, TlsContent, TlsContentCounters};
use super::decryption::{Decryption, DecryptionCounters};
use crate::Observation;
use crate::observation::ConflictObservation;
use crate::parser_events::{ParserEvents, on_ssh};
#[cfg(feature = "decrypt")]
use huginn_net_core::Tally;

/// The stream parsers of one TCP connection.
#[derive(Debug)]
pub(super) struct Parsers {
    pub(super) http: ParserSlot<HttpParser>,
    pub(super) tls: ParserSlot<TlsParser>,
    pub(super) ssh: ParserSlot<SshParser>,
    /// Boxed: absent without secrets.
    #[cfg(feature = "decrypt")]
    decrypted: Option<Box<ParserSlot<TlsContent>>>,
}

/// The enabled protocols over TCP streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamProtocols {
    pub(super) http: bool,
    pub(super) tls: bool,
    pub(super) tls_settings: TlsParserSettings,
    pub(super) ssh: bool,
    /// Whether TLS is decrypted, if there are secrets.
    #[cfg(feature = "decrypt")]
    pub(super) decrypts: bool,
}

impl StreamProtocols {
    pub(super) fn any(self) -> bool {
        self.http || self.tls || self.ssh
    }
}

impl Parsers {
    pub(super) fn new(enabled: StreamProtocols, decryption: &Decryption) -> Self {
        let StreamProtocols { http, tls, tls_settings, ssh, .. } = enabled;
        #[cfg(not(feature = "decrypt"))]
        let Decryption {} = decryption;
        Self {
            http: ParserSlot::new(http),
            tls: ParserSlot::with_settings(tls, tls_settings),
            ssh: ParserSlot::new(ssh),
            #[cfg(feature = "decrypt")]
            decrypted: decryption.slot(enabled),
        }
    }

    /// What is inside TLS, while it is read.
    #[cfg(feature = "decrypt")]
    pub(super) fn content_mut(&mut self) -> Option<&mut TlsContent> {
        self.decrypted.as_mut()?.parser_mut()
    }

    /// Whether encrypted data wait for a secret.
    pub(super) fn waits_for_secret(&self) -> bool {
        #[cfg(feature = "decrypt")]
        return self.decrypted.as_ref().and_then(|slot| slot.parser()).is_some_and(TlsContent::has_last);
        #[cfg(not(feature = "decrypt"))]
        false
    }

    /// Whether a parser counts the end of the connection.
    pub(super) fn has_end(&self) -> bool {
        #[cfg(feature = "decrypt")]
        return self.decrypted.is_some();
        #[cfg(not(feature = "decrypt"))]
        false
    }
}

impl ParserSet for Parsers {
    #[inline]
    fn visit(&mut self, visitor: &mut impl ParserVisitor) {
        visitor.slot(&mut self.http);
        visitor.slot(&mut self.tls);
        visitor.slot(&mut self.ssh);
        // The last one, because it may be absent.
        #[cfg(feature = "decrypt")]
        if let Some(slot) = &mut self.decrypted {
            visitor.slot(slot);
        }
    }
}

/// Passes data to the parsers of a connection, and their events on.
pub(super) struct ParserReader<'a> {
    pub(super) parser_events: ParserEvents<'a>,
    /// None if HTTP is not read.
    pub(super) http: Option<&'a mut HttpCounters>,
    pub(super) tls: &'a mut TlsCounters,
    pub(super) ssh: &'a mut SshParserCounters,
    #[cfg_attr(not(feature = "decrypt"), expect(dead_code, reason = "nothing is decrypted"))]
    pub(super) decryption: &'a mut DecryptionCounters,
    pub(super) peers: &'a mut SshPeerCounters,
    pub(super) ssh_peers: &'a mut SshPeers,
    /// The conflict that was reported last.
    pub(super) conflict: Option<Conflict>,
}

impl ParserReader<'_> {
    /// Reads what waits for a secret at the end of a connection, and counts what it leaves undecided.
    #[cfg_attr(not(feature = "decrypt"), expect(unused_variables, reason = "nothing is decrypted"))]
    pub(super) fn on_end(&mut self, parsers: &mut Parsers, emit: &mut dyn FnMut(Event<FlowOutput>)) {
        #[cfg(feature = "decrypt")]
        if let Some(content) = parsers.content_mut() {
            let last = content.take_last();
            let emit = &mut |side: Side, output| {
                if let Some((packet, flow)) = &last {
                    emit(Event::from_origin(*packet, flow.clone(), side.into(), output));
                }
            };
            self.read_content(parsers, emit, |slot, counters, emit| {
                if let Some(content) = slot.parser_mut() {
                    content.on_end(counters, emit);
                }
            });
        }
    }

    /// Reads what is inside TLS.
    #[cfg(feature = "decrypt")]
    fn read_content(
        &mut self,
        parsers: &mut Parsers,
        emit: &mut dyn FnMut(Side, FlowOutput),
        read: impl FnOnce(
            &mut ParserSlot<TlsContent>,
            &mut TlsContentCounters,
            &mut dyn FnMut(Side, ContentEvent),
        ),
    ) {
        let Self { parser_events, http, tls, decryption, .. } = self;
        let Some(slot) = &mut parsers.decrypted else { return };
        let mut found = TlsContentCounters::default();
        let mut handshake = parsers.tls.parser_mut();
        read(slot, &mut found, &mut |side, event| {
            let mut on_tls = |side, event| parser_events.on_tls(side, event, false, emit);
            match (event, &mut handshake) {
                (ContentEvent::Http(event), _) => parser_events.on_http(side, event, true, emit),
                (ContentEvent::Tls(event), _) => parser_events.on_tls(side, event, true, emit),
                (ContentEvent::Message(kind, body), Some(handshake)) => {
                    handshake.on_decrypted_message(side, kind, &body, tls, &mut on_tls);
                }
                (ContentEvent::Alert(alert), Some(handshake)) => {
                    handshake.on_decrypted_alert(side, alert, tls, &mut on_tls);
                }
                _ => {}
            }
        });
        if let (Some(handshake), Some(content)) = (handshake, slot.parser_mut()) {
            handshake.set_decrypts_client(content.reads_client_handshake());
        }
        http.iter_mut().for_each(|counters| counters.add(&found.http));
        tls.add(&found.tls);
        decryption.add(&found.decryption);
    }

    #[inline]
    pub(super) fn on_data(
        &mut self,
        parsers: &mut Parsers,
        input: StreamInput<'_>,
        emit: &mut dyn FnMut(Side, FlowOutput),
    ) {
        let Self { parser_events, http, conflict, .. } = self;
        if let Some(reason) = input.conflict().filter(|reason| *conflict != Some(*reason)) {
            *conflict = Some(reason);
            let observation = ConflictObservation::new(reason, input.conflicting_packet());
            emit(input.side(), Route::Report(Observation::Conflict(observation)));
        }
        match http {
            Some(counters) => {
                parsers.http.on_data(input, counters, &mut |side, event| {
                    parser_events.on_http(side, event, false, emit);
                });
            }
            None => parsers.http.drop_parser(),
        }
        // The decrypted messages of a handshake come before the records that contain them.
        #[cfg(feature = "decrypt")]
        self.read_content(parsers, emit, |slot, counters, emit| {
            slot.on_data(input, counters, &mut &mut *emit)
        });
        let Self { parser_events, tls, ssh, peers, ssh_peers, .. } = self;
        parsers.tls.on_data(input, tls, &mut |side, event| parser_events.on_tls(side, event, false, emit));
        let clients = &parser_events.settings.clients;
        if input.conflict().is_some() {
            // The peers of the connection are those of the delivered content.
            let mut other = SshPeers::default();
            parsers.ssh.on_data(input, ssh, &mut |side, event| {
                other.on_event(side, event, peers, &mut |side, event| on_ssh(clients, side, event, emit));
            });
        } else {
            parsers.ssh.on_data(input, ssh, &mut |side, event| {
                ssh_peers.on_event(side, event, peers, &mut |side, event| on_ssh(clients, side, event, emit));
            });
        }
    }
}
