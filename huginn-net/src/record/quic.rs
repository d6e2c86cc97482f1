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
        id: Text<'a>,
        /// Name; `reserved` of a number that is reserved to be ignored
        name: Option<Text<'a>>,
        /// Integer, versions, text, or hexadecimal digits
        value: Text<'a>,
    }

    /// What the Initial packet with the ServerHello of a QUIC server shows.
    pub struct QuicServerRecord<'a> {
        /// QUIC version
        version: Text<'a>,
        /// Length of the source connection id, in bytes
        source_connection_id_length: u8,
        /// Length of the destination connection id, in bytes
        destination_connection_id_length: u8,
        /// Length of the token of the server's Retry, in bytes
        retry_token_length[omitted]: Option<u32>,
        /// UDP payload sizes of the datagrams up to the hello, in bytes; at most 8
        #[serde(default)]
        datagram_sizes: Vec<u16>,
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
            retry_token_length: server.retry_token_len,
            datagram_sizes: server.datagram_sizes().to_vec(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use huginn_net_tls::Transport;
    use huginn_net_tls::quic::ClientInitials;

    use super::*;
    use crate::event_limits::quic_bytes;
    use crate::observation::TextLimit;

    /// The client of RFC 9001, appendix A.2.
    fn client() -> QuicClient {
        let datagram = include_bytes!("../../../huginn-net-tls/hellos/rfc9001-a2-client-initial.bin");
        let mut initials = ClientInitials::new();
        initials.push(datagram).unwrap();
        *initials.client().unwrap()
    }

    /// A hello with these transport parameters (RFC 8446, section 4.1.2).
    fn hello(parameters: &[u8]) -> ClientHello<'static> {
        let len = u16::try_from(parameters.len()).unwrap();
        let extension = [&[0, 0x39][..], &len.to_be_bytes(), parameters].concat();
        let block = (len + 4).to_be_bytes();
        let body = [&[3, 3][..], &[0; 32], &[0, 0, 2, 0x13, 1, 1, 0], &block, &extension].concat();
        let message = [&[1][..], &u32::try_from(body.len()).unwrap().to_be_bytes()[1..], &body].concat();
        ClientHello::from_message(&message, Transport::Quic).unwrap().unwrap().value.into_owned()
    }

    fn record(hello: &ClientHello<'static>, check: impl FnOnce(&QuicClientRecord<'_>)) -> Vec<String> {
        let mut cut = Vec::new();
        let mut texts = LimitedTexts { limit: TextLimit::default(), cut: &mut cut };
        check(&QuicClientRecord::new(&client(), hello, &mut texts));
        cut.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn parameters_are_bounded_for_any_hello() {
        let quote = [&[0x71, 0x29, 0x40, 200][..], &[b'"'; 200]].concat();
        let versions = [&[0x11, 0x40, 200][..], &[0xfe; 200]].concat();
        let largest = [&[4, 8][..], &[0xff; 8]].concat();
        let long_id = [&[0xff; 8][..], &[0x40, 100], &[0xee; 100]].concat();
        for part in [quote, versions, largest, long_id, vec![27, 0], vec![5, 0], vec![0x0f, 1, 7]] {
            let parameters: Vec<u8> = part.iter().copied().cycle().take(60_000).collect();
            let hello = hello(&parameters);
            record(&hello, |quic| {
                assert_eq!((quic.parameters.len(), quic.has_more_parameters), (64, true));
                let text = serde_json::to_string(quic).unwrap();
                let limit = quic_bytes(Some(&client()), &hello);
                assert!(text.len() + 10 <= limit, "{} of {limit} bytes: {text}", text.len());
            });
        }
    }

    #[test]
    fn long_values_are_cut_and_noted_once() {
        let long = [&[0x30, 0x40, 129][..], &[0xab; 129]].concat();
        let short = [&[0x30, 0x40, 128][..], &[0xab; 128]].concat();
        let cut = record(&hello(&long.repeat(3)), |quic| {
            assert!(quic.parameters.iter().all(|parameter| parameter.value == *"ab".repeat(128)));
            assert!(!quic.has_more_parameters);
        });
        assert_eq!(cut, ["quic"]);
        assert!(record(&hello(&short.repeat(3)), |_| {}).is_empty());
    }

    #[test]
    fn values_are_integers_texts_or_digits() {
        let parameters = [
            &[0x01, 0x02, 0x67, 0x10][..],
            &[0x71, 0x28, 0x04],
            b"ORIG",
            &[0x71, 0x29, 0x02, 0xff, b'a'],
            &[0x11, 0x08, 0, 0, 0, 1, 0x6b, 0x33, 0x43, 0xcf],
            &[0x0c, 0x00, 0x41, 0x00, 0x01, 0x09],
        ];
        record(&hello(&parameters.concat()), |quic| {
            let found: Vec<_> = quic
                .parameters
                .iter()
                .map(|TransportParameterRecord { id, name, value }| {
                    (id.to_string(), name.as_ref().map(ToString::to_string), value.to_string())
                })
                .collect();
            let expected = [
                ("1", Some("max_idle_timeout"), "10000"),
                ("3128", Some("google_connection_options"), "ORIG"),
                ("3129", Some("user_agent"), "ff61"),
                ("11", Some("version_information"), "1,2"),
                ("c", Some("disable_active_migration"), ""),
                ("100", None, "09"),
            ];
            let expected =
                expected.map(|(id, name, value)| (id.to_owned(), name.map(str::to_owned), value.to_owned()));
            assert_eq!(found, expected);
        });
    }
}
