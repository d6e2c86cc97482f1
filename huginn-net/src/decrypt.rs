//! TLS records and logged secrets to plaintext.

use huginn_net_core::{
    AnalysisError, Analyzer, CancelToken, Event, Probe, Source, StreamData, StreamObserver, StreamParser,
    StreamStart,
};
pub use huginn_net_decrypt::*;
use huginn_net_tls::TlsParser;

/// Maximum number of connections of TLS 1.2 whose sessions are remembered, for secrets that are logged once: less than 20 MiB, and a second
/// as much for those that have a secret.
#[cfg(feature = "decrypt")]
const MAX_SESSION_CONNECTIONS: usize = 100_000;

/// Finds the sessions of TLS 1.2 that the connections of a capture resume, and makes the secret of one connection known for the others:
/// some programs, such as those of Go, log it once. Reads the capture to its end, if there is a secret of TLS 1.2 at all.
///
/// An analysis with these secrets comes after it, with another reader of the same capture. Returns the number of connections that were left
/// out, those after the first 100,000, and how the source ended: what was read before an error, or before `cancel`, counts.
pub fn add_sessions<'f, S: Source<'f, Error: Send> + Send>(
    source: S,
    secrets: &Secrets,
    cancel: CancelToken,
) -> (u64, Result<(), AnalysisError<S::Error>>) {
    if !secrets.has_sessions() {
        return (0, Ok(()));
    }
    let (mut connections, mut left_out) = (Vec::new(), 0_u64);
    let mut sink = |event: Event<SessionConnection>| {
        if connections.len() < MAX_SESSION_CONNECTIONS {
            connections.push(event.kind);
        } else {
            left_out = left_out.saturating_add(1);
        }
    };
    let mut analyzer = Analyzer::<StreamObserver<Sessions>>::builder().cancel_token(cancel).build();
    let outcome = analyzer.analyze(source, &mut sink);
    secrets.add_sessions(&connections);
    (left_out, outcome.map(drop))
}

/// Reads the handshake of a connection.
struct Sessions(SessionReader);

impl StreamParser for Sessions {
    type Event = SessionConnection;
    type Counters = ();
    type Settings = ();

    fn probe(sender: Side, first: &[u8]) -> Probe {
        TlsParser::probe(sender, first)
    }

    fn new(_: StreamStart, (): ()) -> Self {
        Self(SessionReader::new())
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        (): &mut (),
        emit: &mut impl FnMut(Side, SessionConnection),
    ) {
        match data {
            StreamData::Bytes(bytes) => {
                self.0.push(side, bytes).into_iter().for_each(|found| emit(Side::Client, found));
            }
            _ => self.0.end(),
        }
    }

    fn reads(&self, side: Side) -> bool {
        self.0.reads(side)
    }

    fn uncompared(&self, side: Side) -> usize {
        side.choose(0, usize::MAX)
    }

    fn on_conflict_end(&mut self, _: Side) {
        self.0.end();
    }

    fn buffered_bytes(&self) -> usize {
        self.0.buffered_bytes()
    }
}
