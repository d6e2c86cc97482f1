//! The first bytes of one connection.

use std::borrow::Cow;

use huginn_net_consistency::ClientBytes;
use huginn_net_proxy::{ClientFingerprint, Recording, RecordingStatus};
use huginn_net_tls::quic::ClientInitials;
use huginn_net_tls::{ClientHello, Parsed, Progress, QuicVersion, Transport};

use crate::{HuginnField, HuginnFingerprinter, HuginnStatus};

/// The first bytes of one connection, by layer, and the fingerprint that was computed of them.
#[derive(Debug)]
pub struct HuginnClient {
    syn: Vec<u8>,
    tls: Recording,
    http: Recording,
    quic: ClientInitials,
    /// A ClientHello without records: from QUIC, or from a TLS library.
    hello: Option<ClientHello<'static>>,
    /// The version of the hello from QUIC.
    quic_version: Option<QuicVersion>,
    fingerprint: Option<ClientFingerprint>,
}

impl HuginnClient {
    pub(crate) fn new() -> Self {
        Self {
            syn: Vec::new(),
            tls: Recording::tls(),
            http: Recording::http(),
            quic: ClientInitials::new(),
            hello: None,
            quic_version: None,
            fingerprint: None,
        }
    }

    pub(crate) fn set_syn(&mut self, packet: &[u8]) {
        self.fingerprint = None;
        self.syn = packet.to_vec();
    }

    pub(crate) fn push_tls(&mut self, bytes: &[u8]) -> (usize, Result<(), HuginnStatus>) {
        self.fingerprint = None;
        let taken = self.tls.push(bytes).consumed_of(bytes.len());
        (taken, outcome(&self.tls))
    }

    pub(crate) fn push_http(&mut self, bytes: &[u8]) -> (usize, Result<(), HuginnStatus>) {
        self.fingerprint = None;
        let taken = self.http.push(bytes).consumed_of(bytes.len());
        (taken, outcome(&self.http))
    }

    pub(crate) fn push_quic(&mut self, datagram: &[u8]) -> Result<(), HuginnStatus> {
        if self.hello.is_some() {
            return Ok(());
        }
        match self.quic.push(datagram) {
            Ok(Progress::Done(Parsed { value: hello, .. })) => {
                self.fingerprint = None;
                self.hello = Some(hello);
                self.quic_version = self.quic.client().map(|client| client.version);
                self.quic = ClientInitials::new();
                Ok(())
            }
            // A damaged or forged datagram hides nothing.
            Ok(Progress::NeedMore) | Err(_) if !self.quic.has_given_up() => Err(HuginnStatus::Incomplete),
            Ok(Progress::NeedMore) | Err(_) => Err(HuginnStatus::Unrecognized),
        }
    }

    pub(crate) fn set_hello(&mut self, message: &[u8]) -> Result<(), HuginnStatus> {
        match ClientHello::from_message(message, Transport::Tls) {
            Ok(Some(parsed)) => {
                self.fingerprint = None;
                (self.hello, self.quic_version) = (Some(parsed.value.into_owned()), None);
                Ok(())
            }
            Ok(None) => Err(HuginnStatus::Incomplete),
            Err(_) => Err(HuginnStatus::Unrecognized),
        }
    }

    pub(crate) fn fingerprint(&mut self, fingerprinter: &HuginnFingerprinter) {
        let mut bytes = ClientBytes::default().hello(self.hello.as_ref()).quic_version(self.quic_version);
        bytes.syn = Some(&*self.syn).filter(|syn| !syn.is_empty());
        bytes.tls = self.tls.complete();
        bytes.http = self.http.complete();
        self.fingerprint = Some(fingerprinter.inner().fingerprint(&bytes));
    }

    /// A value of the fingerprint, once it is computed.
    pub(crate) fn value(&self, field: HuginnField) -> Option<Cow<'_, str>> {
        field.value(self.fingerprint.as_ref()?)
    }

    /// The fingerprint as JSON, once it is computed.
    pub(crate) fn json(&self) -> Option<String> {
        serde_json::to_string(self.fingerprint.as_ref()?).ok()
    }
}

fn outcome(recording: &Recording) -> Result<(), HuginnStatus> {
    match recording.status() {
        RecordingStatus::Incomplete => Err(HuginnStatus::Incomplete),
        RecordingStatus::Complete => Ok(()),
        RecordingStatus::LimitReached => Err(HuginnStatus::TooLong),
        _ => Err(HuginnStatus::Unrecognized),
    }
}
