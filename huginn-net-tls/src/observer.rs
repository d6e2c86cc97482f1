//! Reports the hellos of a capture.

use huginn_net_core::{
    Analyzer, Event, Interest, NextSeq, Origin, ParserSlot, Protocol, Segment, Side, StreamFlow,
    StreamObserverCounters, Tally, first_sender, without_padding,
};

use crate::counters::TlsCounters;
use crate::event::TlsEvent;
use crate::{TlsParser, TlsParserSettings, TlsUdpFlow, TlsUdpObserver};

/// An analyzer that runs the TLS fingerprinter only.
///
/// ```
/// use huginn_net_capture::CaptureReader;
/// use huginn_net_core::Event;
/// use huginn_net_tls::{HuginnNetTls, TlsEvent};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-go/tls-go.pcap");
/// let mut events: Vec<Event<TlsEvent>> = Vec::new();
/// HuginnNetTls::builder().build().analyze(CaptureReader::open(path)?, |event| events.push(event))?;
/// let TlsEvent::Client(client) = &events[0].kind else { panic!("the client speaks first") };
/// assert_eq!(client.hello.ja4().to_string(), "t13d1314h2_f57a46bbacb6_fb48f8b98a29");
/// # Ok::<_, huginn_net_core::AnalysisError<huginn_net_capture::CaptureError>>(())
/// ```
pub type HuginnNetTls = Analyzer<TlsObserver>;

/// Reports the hellos of both sides of each TLS handshake, over TCP, QUIC and DTLS.
#[derive(Clone, Debug, Default)]
pub struct TlsObserver {
    settings: TlsParserSettings,
    counters: StreamObserverCounters<TlsCounters>,
    udp: TlsUdpObserver,
}

/// The state of one flow of a [`TlsObserver`].
#[derive(Debug)]
pub enum TlsFlow {
    /// A TCP connection.
    Tcp(StreamFlow<ParserSlot<TlsParser>>),
    /// A UDP flow.
    Udp(TlsUdpFlow),
}

impl Default for TlsFlow {
    fn default() -> Self {
        Self::Tcp(StreamFlow::default())
    }
}

impl TlsObserver {
    /// Follows each handshake over TCP and of DTLS after its hellos, or not (default). Its certificates and its end are then
    /// reported, too. It takes more time and memory: connections are read for longer.
    #[must_use]
    pub fn handshakes(self, follow: bool) -> Self {
        let settings = self.settings.handshakes(follow);
        self.with_settings(settings)
    }

    /// Keeps the [bytes](crate::Certificate::der) of the certificates of handshakes that are followed, or not (default).
    #[must_use]
    pub fn certificate_bytes(self, keep: bool) -> Self {
        let settings = self.settings.certificate_bytes(keep);
        self.with_settings(settings)
    }

    fn with_settings(self, settings: TlsParserSettings) -> Self {
        Self { settings, udp: TlsUdpObserver::with_settings(settings), ..self }
    }

    /// Returns the counters since the observer was created.
    pub fn counters(&self) -> StreamObserverCounters<TlsCounters> {
        self.counters
    }
}

impl Protocol for TlsObserver {
    type Flow = TlsFlow;
    type Event = TlsEvent;
    type SharedState = ();
    type Counters = StreamObserverCounters<TlsCounters>;

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self::default().with_settings(self.settings)
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
    }

    fn counters(&self) -> Self::Counters {
        self.counters
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        first_sender::<TlsParser>(segment).or_else(|| TlsUdpObserver::first_sender(segment))
    }

    #[inline(always)]
    fn skip_segment(&mut self, segment: &Segment<'_>, sender: Side, flow: &mut TlsFlow) -> bool {
        let TlsFlow::Tcp(flow) = flow else { return false };
        flow.skip_unread(segment, sender)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut TlsFlow,
        emit: &mut impl FnMut(Origin, TlsEvent),
    ) -> Interest {
        let StreamObserverCounters { parser: counters, streams, .. } = &mut self.counters;
        match (segment.tcp(), flow) {
            (Some(_), TlsFlow::Tcp(flow)) => {
                let new_parser = || ParserSlot::with_settings(true, self.settings);
                let payload = without_padding(segment);
                flow.on_segment(segment, payload, sender, streams, new_parser, &mut |parser, input| {
                    parser.on_data(input, counters, &mut |side, event| emit(input.origin(side), event));
                })
            }
            (None, TlsFlow::Udp(flow)) => self.udp.on_datagram(segment.payload, sender, flow, counters, emit),
            (None, flow @ TlsFlow::Tcp(_)) => {
                let mut udp = TlsUdpFlow::default();
                let interest = self.udp.on_datagram(segment.payload, sender, &mut udp, counters, emit);
                *flow = TlsFlow::Udp(udp);
                interest
            }
            (Some(_), TlsFlow::Udp(_)) => Interest::Done,
        }
    }

    fn next_seq(flow: &TlsFlow, sender: Side) -> NextSeq {
        match flow {
            TlsFlow::Tcp(flow) => flow.next_seq(sender),
            TlsFlow::Udp(_) => NextSeq::Unread,
        }
    }

    fn outlasts_connection(flow: &mut TlsFlow, is_agreed: bool) -> bool {
        match flow {
            TlsFlow::Tcp(flow) => !is_agreed && flow.awaits_message(),
            TlsFlow::Udp(_) => false,
        }
    }

    fn has_end(flow: &TlsFlow) -> bool {
        matches!(flow, TlsFlow::Tcp(flow) if flow.has_end())
    }

    fn on_end(&mut self, flow: TlsFlow, emit: &mut impl FnMut(Event<TlsEvent>)) {
        let TlsFlow::Tcp(flow) = flow else { return };
        let StreamObserverCounters { parser: counters, streams, .. } = &mut self.counters;
        flow.on_end(
            streams,
            || ParserSlot::with_settings(true, self.settings),
            |flow, parser: &mut ParserSlot<TlsParser>, input| {
                parser.on_data(input, counters, &mut |side, event| emit(input.event(flow, side, event)));
            },
        );
    }

    fn buffered_bytes(flow: &TlsFlow) -> usize {
        match flow {
            TlsFlow::Tcp(flow) => flow.buffered_bytes(),
            TlsFlow::Udp(flow) => flow.buffered_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_has_the_settings() {
        let observer = TlsObserver::default().handshakes(true).certificate_bytes(true);
        let worker = observer.fork();
        assert!(worker.settings.handshakes && worker.settings.certificate_bytes);
        assert_eq!(worker.settings, observer.settings);
    }
}
