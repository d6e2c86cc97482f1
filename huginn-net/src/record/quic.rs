//! The QUIC objects of TLS events.

use huginn_net_tls::quic::{QuicClient, QuicServer};
use huginn_net_tls::{ClientHello, MAX_LISTED_PARAMETERS, QuicFingerprint, TransportParameter};

use super::describe::records;
use super::text::{LimitedTexts, Text};
use crate::limits::MAX_PARAMETER_LEN;

records! {
    /// What the Initial packets of a QUIC client show, and its transport parameters.
    pub struct QuicClientRecord<'a> {
        /// QUIC version
        version: Text<'a>,
        /// Length of the source connection id of the first Initial packet, in bytes
        source_connection_id_length: u8,
        /// Length of its destination connection id, in bytes
        destination_connection_id_length: u8,
        /// Length of its token, in bytes
        token_length: u32,
        /// Its packet number
        packet_number: u64,
        /// UDP payload sizes of the datagrams with the hello, in bytes; at most 8
        datagram_sizes: Vec<u16>,
        /// Whether the client starts again after a Retry
        after_retry: bool,
        /// Whether the client starts again after a Version Negotiation
        after_version_negotiation: bool,
        /// QUIC fingerprint: sorted, without what varies by connection
        fingerprint: Text<'a>,
        /// QUIC fingerprint in the order of the hello
        fingerprint_original: Text<'a>,
        /// Transport parameters in the order of the hello; at most 64
        parameters: Vec<TransportParameterRecord<'a>>,
        /// Whether there are more transport parameters
        has_more_parameters: bool,
    }

    /// A QUIC transport parameter.
    pub struct TransportParameterRecord<'a> {
        /// Number in IANA's registry, in hexadecimal
        id in "ids": Text<'a>,
        /// Name; `reserved` of a number that is reserved to be ignored
        name in "names": Option<Text<'a>>,
        /// Integer, versions, text, or hexadecimal digits
        value in "values": Text<'a>,
    }

    /// What the Initial packet with the ServerHello of a QUIC server shows.
    pub struct QuicServerRecord<'a> {
        /// QUIC version
        version: Text<'a>,
        /// Length of the source connection id, in bytes
        source_connection_id_length: u8,
        /// Length of the destination connection id, in bytes
        destination_connection_id_length: u8,
    }
}

impl<'a> QuicClientRecord<'a> {
    pub(super) fn new(
        client: &QuicClient,
        hello: &'a ClientHello<'static>,
        texts: &mut LimitedTexts<'a, '_>,
    ) -> Self {
        let mut fingerprint =
            |fingerprint: QuicFingerprint| texts.owned("quic", fingerprint.as_str().len(), fingerprint);
        let version = client.version;
        let mut parameters = hello.transport_parameters();
        Self {
            version: Text::owned(version),
            source_connection_id_length: client.source_connection_id_len,
            destination_connection_id_length: client.destination_connection_id_len,
            token_length: client.token_len,
            packet_number: client.packet_number,
            datagram_sizes: client.datagram_sizes().to_vec(),
            after_retry: client.after_retry,
            after_version_negotiation: client.after_version_negotiation,
            fingerprint: fingerprint(QuicFingerprint::sorted(version, parameters)),
            fingerprint_original: fingerprint(QuicFingerprint::original(version, parameters)),
            parameters: parameters
                .by_ref()
                .take(MAX_LISTED_PARAMETERS)
                .map(|parameter| TransportParameterRecord::new(parameter, texts))
                .collect(),
            has_more_parameters: parameters.next().is_some(),
        }
    }
}

impl<'a> TransportParameterRecord<'a> {
    fn new(parameter: TransportParameter<'a>, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let value = texts.start_within("quic", MAX_PARAMETER_LEN, parameter.value);
        Self {
            id: Text::owned(HexId(parameter.id)),
            name: parameter.name().map(Into::into),
            value: Text::owned(TransportParameter { value, ..parameter }.value_text()),
        }
    }
}

/// Displays an id as in the fingerprint.
struct HexId(u64);

impl std::fmt::Display for HexId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl QuicServerRecord<'_> {
    pub(super) fn new(server: &QuicServer) -> Self {
        Self {
            version: Text::owned(server.version),
            source_connection_id_length: server.source_connection_id_len,
            destination_connection_id_length: server.destination_connection_id_len,
        }
    }
}
