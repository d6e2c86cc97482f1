//! The fields of TLS events.

use std::sync::Arc;

use huginn_net_core::{Side, Timestamp};
use huginn_net_tls::strength::{KeyExchangeKind, key_exchange};
use huginn_net_tls::{
    AlternativeName, Certificate, CertificateFields, CertificateRequest, CertificateTime, Ech, Ja4, Ja4Form,
    KeyExchange, TlsAlert, TlsCertificates, TlsClient, TlsServer, Version, is_grease, names,
};

use super::describe::records;
use super::kinds::{ListedRecord, SoftwareRecord, listed, present};
use super::quic::{QuicClientRecord, QuicServerRecord};
use super::text::{LimitedTexts, Text};
use crate::observation::{
    TlsCertificatesObservation, TlsClientObservation, TlsHandshakeObservation, TlsServerObservation,
};

records! {
    /// `tls_client`: the fingerprints of a ClientHello.
    pub struct TlsClientRecord<'a> in "tls_" {
        /// `tls`, `quic` or `dtls`
        protocol: Text<'a>,
        /// True if it was sent encrypted, and read with a logged secret
        decrypted[omitted]: Option<bool>,
        /// Highest version that the client offers
        version: Text<'a>,
        /// Versions of supported_versions
        supported_versions[omitted]: Vec<Text<'a>>,
        /// Server name that the client asks for
        sni: Option<Text<'a>>,
        /// Protocols that the client offers
        alpn: Vec<Text<'a>>,
        /// Groups for key exchange that the client supports
        groups: Vec<Text<'a>>,
        /// Groups of the key shares that the client sends
        key_share_groups: Vec<Text<'a>>,
        /// Lengths of these key shares, in bytes
        key_share_lengths: Vec<u16>,
        /// Signature algorithms that the client accepts
        signature_algorithms: Vec<Text<'a>>,
        /// Signature algorithms that the client accepts in certificates
        signature_algorithms_cert[omitted]: Vec<Text<'a>>,
        /// Length of the session id, in bytes
        session_id_length: u16,
        /// Length of the session ticket of TLS 1.2, in bytes; 0 if the client asks for one
        session_ticket_length[omitted]: Option<u16>,
        /// Lengths of the names of pre-shared keys, in bytes
        psk_identity_lengths[omitted]: Vec<u16>,
        /// True if the client sends early data
        early_data[omitted]: Option<bool>,
        /// Algorithms for the compression of certificates
        compress_certificate[omitted]: Vec<Text<'a>>,
        /// Largest record that the client accepts, in bytes
        record_size_limit[omitted]: Option<u16>,
        /// Protocols of the extension application_settings
        alps[omitted]: Vec<Text<'a>>,
        /// Trust anchors that the client names
        trust_anchors[omitted]: Vec<Text<'a>>,
        /// Extensions without a registered or otherwise known name
        unknown_extensions[omitted]: Vec<ExtensionRecord<'a>>,
        /// Places of GREASE values
        grease[omitted]: Vec<Text<'a>>,
        /// The extension encrypted_client_hello
        ech: Option<EchRecord<'a>>,
        /// Whether the hello answers a HelloRetryRequest
        retry: bool,
        /// JA4
        ja4 in "ja4": Ja4,
        /// JA4 with the values in place of the hashes
        ja4_r in "ja4_r": Text<'a>,
        /// JA4 in the order of the hello
        ja4_o in "ja4_o": Ja4,
        /// JA4 in the order of the hello, with the values
        ja4_ro in "ja4_ro": Text<'a>,
        /// JA4 without extensions that vary in a session
        ja4_stable in "ja4_stable": Ja4,
        /// JA4 without extensions that vary in a session, with the values
        ja4_stable_r in "ja4_stable_r": Text<'a>,
        /// JA3 text
        ja3 in "ja3": Text<'a>,
        /// MD5 of the JA3 text
        ja3_hash in "ja3_hash": Text<'a>,
        /// QUIC connection; left out over other transports
        quic[omitted] in "quic": Option<QuicClientRecord<'a>>,
        /// Software with this fingerprint; null without a match
        software in "software": Option<SoftwareRecord<'a>>,
        /// Entries of the watch lists for the values of the event; null if there are none
        #[serde(deserialize_with = "present")]
        listed[omitted] in "listed": Option<Option<Vec<ListedRecord<'a>>>>,
    }

    /// The extension encrypted_client_hello.
    pub struct EchRecord<'a> {
        /// `outer`, `inner`, or `other` for the form of a draft
        kind as "type": Text<'a>,
        /// Identifier of the server's configuration
        config_id: Option<u8>,
        /// Key derivation function
        kdf: Option<Text<'a>>,
        /// Cipher
        aead: Option<Text<'a>>,
        /// Length of the encapsulated key, in bytes
        enc_length: Option<u16>,
        /// Length of the encrypted hello, in bytes
        payload_length: Option<u16>,
    }

    /// The type and the length of an extension.
    pub struct ExtensionRecord<'a> {
        /// Type, in hexadecimal
        kind as "type": Text<'a>,
        /// Length of the data, in bytes
        length: u16,
    }

    /// `tls_server`: the fingerprints of a ServerHello.
    pub struct TlsServerRecord<'a> in "tls_" {
        /// `tls`, `quic` or `dtls`
        protocol: Text<'a>,
        /// True if it was sent encrypted, and read with a logged secret
        decrypted[omitted]: Option<bool>,
        /// Version that the server selects
        version: Text<'a>,
        /// Cipher suite that the server selects, in hexadecimal
        cipher: Text<'a>,
        /// Its name in IANA's registry
        cipher_name: Option<Text<'a>>,
        /// Protocol that the server selects, alone in a list
        alpn: Option<[Text<'a>; 1]>,
        /// Group for key exchange that the server selects
        group: Option<Text<'a>>,
        /// Whether the key exchange resists quantum computers
        post_quantum: Option<bool>,
        /// Length of the key share, in bytes
        key_share_length: Option<u16>,
        /// Number of the pre-shared key that the server accepts, in the list of the client
        selected_psk[omitted]: Option<u16>,
        /// Extensions, in the order of the hello
        extensions: Vec<Text<'a>>,
        /// Whether the hello is a HelloRetryRequest
        retry: bool,
        /// JA3S text
        ja3s in "ja3s": Text<'a>,
        /// MD5 of the JA3S text
        ja3s_hash in "ja3s_hash": Text<'a>,
        /// QUIC connection; left out over other transports
        quic[omitted] in "quic_server": Option<QuicServerRecord<'a>>,
        /// Entries of the watch lists for the values of the event; null if there are none
        #[serde(deserialize_with = "present")]
        listed[omitted] in "listed": Option<Option<Vec<ListedRecord<'a>>>>,
    }

    /// `tls_handshake`: the end of a TLS handshake over TCP, or of DTLS, or of QUIC if it is decrypted.
    pub struct TlsHandshakeRecord<'a> in "tls_" {
        /// `tls`, `quic` or `dtls`
        protocol: Text<'a>,
        /// Whether the handshake completed; otherwise an alert ended it
        completed: bool,
        /// True if it was sent encrypted, and read with a logged secret
        decrypted[omitted]: Option<bool>,
        /// Version that the server selected
        version: Option<Text<'a>>,
        /// Protocol that the server selected in its encrypted extensions, alone in a list
        alpn[omitted]: Option<[Text<'a>; 1]>,
        /// `no`, `session_id`, `ticket` or `psk`: whether and how the session continues an earlier one
        resumed: Option<Text<'a>>,
        /// Whether the server sent a HelloRetryRequest
        retry: Option<bool>,
        /// Group for key exchange that both sides use
        group: Option<Text<'a>>,
        /// Whether the key exchange resists quantum computers
        post_quantum: Option<bool>,
        /// Length of the prime of a Diffie-Hellman group of the server's own, in bits
        dh_bits: Option<u32>,
        /// Whether the server asked for a certificate
        certificate_requested: Option<bool>,
        /// Names of the authorities that the server accepts
        certificate_authorities: Option<Vec<Text<'a>>>,
        /// Whether the server accepts more authorities, or has names that cannot be read
        has_more_authorities: Option<bool>,
        /// Alerts of both sides
        alerts: Vec<AlertRecord<'a>>,
        /// Error code of the CONNECTION_CLOSE that ended a handshake of QUIC
        quic_error[omitted]: Option<u64>,
    }

    /// An alert.
    pub struct AlertRecord<'a> {
        /// `client` or `server`
        sender: Side,
        /// Whether the alert is encrypted
        encrypted: bool,
        /// Level, 1 for a warning and 2 for a fatal alert
        level: Option<u8>,
        /// Number of the description
        description: Option<u8>,
        /// Name of the description in IANA's registry
        name: Option<Text<'a>>,
    }

    /// `tls_certificates`: the certificates that a server or client sends, up to TLS 1.2 or decrypted.
    pub struct TlsCertificatesRecord<'a> in "tls_" {
        /// `tls`, `quic` or `dtls`
        protocol: Text<'a>,
        /// True if it was sent encrypted, and read with a logged secret
        decrypted[omitted]: Option<bool>,
        /// The certificates in their order, that of the sender first
        certificates in "certificates": Vec<CertificateRecord<'a>>,
        /// Whether the message has more certificates
        has_more_certificates: bool,
        /// Whether the first certificate is for the server name that the client asks for
        name_matches in "certificate_name_matches": Option<bool>,
        /// Whether the first certificate is valid at the time of the packet
        valid in "certificate_valid": Option<bool>,
    }

    /// A certificate. One that an output shortens, because it has written the certificate before, has only SHA-256 and length:
    /// the other fields are then empty, false or null.
    pub struct CertificateRecord<'a> {
        /// SHA-256 of the certificate
        sha256: Text<'a>,
        /// SHA-1 of the certificate
        sha1[shortened]: Text<'a>,
        /// Length of the certificate in bytes
        bytes: u64,
        /// Whether it is a certificate; otherwise all other fields are null or empty
        readable[shortened]: bool,
        /// Names of fields that are null or empty because they cannot be read, or exceed their limit
        unreadable_fields[omitted]: Vec<Text<'a>>,
        /// Version: 1, 2 or 3
        version[shortened]: Option<u32>,
        /// Serial number in hexadecimal
        serial[shortened]: Option<Text<'a>>,
        /// Subject as in RFC 4514
        subject[shortened]: Option<Text<'a>>,
        /// Issuer as in RFC 4514
        issuer[shortened]: Option<Text<'a>>,
        /// Host names, IP addresses, email addresses and URIs of subjectAltName
        names[shortened]: Vec<Text<'a>>,
        /// Whether it has more names, or unreadable ones
        has_more_names[shortened]: Option<bool>,
        /// Start of the validity
        not_before[shortened]: Option<CertificateTime>,
        /// End of the validity
        not_after[shortened]: Option<CertificateTime>,
        /// Type of the public key
        key[shortened]: Option<Text<'a>>,
        /// Size of the public key in bits
        key_bits[shortened]: Option<u32>,
        /// Algorithm of the signature
        signature_algorithm[shortened]: Option<Text<'a>>,
        /// Whether it names an authority
        ca[shortened]: Option<bool>,
        /// Whether issuer and subject are equal
        self_issued[shortened]: Option<bool>,
    }
}

impl<'a> TlsClientRecord<'a> {
    pub(super) fn new(observation: &'a TlsClientObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let TlsClient { hello, retry, quic, .. } = &observation.client;
        let [sorted, original, stable] =
            [Ja4Form::Sorted, Ja4Form::Original, Ja4Form::SessionStable].map(|form| hello.ja4_raw(form));
        let ja3 = hello.ja3();
        let key_shares = hello.key_shares().filter(|share| !is_grease(share.group));
        Self {
            protocol: hello.transport().name().into(),
            decrypted: observation.decrypted.then_some(true),
            version: Text::version(hello.version()),
            supported_versions: texts.numbers("supported_versions", hello.supported_versions(), version_code),
            sni: hello.server_name().map(|name| texts.wire("sni", name)),
            alpn: texts.wires("alpn", hello.alpn()),
            groups: texts.groups("groups", hello.supported_groups()),
            key_share_groups: texts.groups("key_share_groups", key_shares.clone().map(|share| share.group)),
            key_share_lengths: texts.lengths("key_share_lengths", key_shares.map(|share| share.key.len())),
            signature_algorithms: texts.numbers(
                "signature_algorithms",
                hello.signature_algorithms(),
                names::signature_scheme,
            ),
            signature_algorithms_cert: texts.numbers(
                "signature_algorithms_cert",
                hello.signature_algorithms_cert(),
                names::signature_scheme,
            ),
            session_id_length: length(hello.session_id().len()),
            session_ticket_length: hello.session_ticket().map(|ticket| length(ticket.len())),
            psk_identity_lengths: texts
                .lengths("psk_identity_lengths", hello.psk_identities().map(|psk| psk.identity.len())),
            early_data: hello.has_early_data().then_some(true),
            compress_certificate: texts.numbers(
                "compress_certificate",
                hello.certificate_compression(),
                names::certificate_compression,
            ),
            record_size_limit: hello.record_size_limit(),
            alps: texts.wires("alps", hello.alps()),
            trust_anchors: texts
                .list("trust_anchors", hello.trust_anchors().unwrap_or_default().map(Text::owned)),
            unknown_extensions: texts.extensions("unknown_extensions", hello.unknown_extensions()),
            grease: texts.grease("grease", hello.grease()),
            ech: hello.ech().map(Into::into),
            retry: *retry,
            ja4: sorted.ja4(),
            ja4_o: original.ja4(),
            ja4_stable: stable.ja4(),
            ja4_r: texts.ja4_raw("ja4_r", sorted),
            ja4_ro: texts.ja4_raw("ja4_ro", original),
            ja4_stable_r: texts.ja4_raw("ja4_stable_r", stable),
            ja3_hash: Text::md5(ja3.hash().0),
            ja3: texts.ja3("ja3", ja3),
            quic: quic.as_ref().map(|client| QuicClientRecord::new(client, hello, texts)),
            software: observation.software().map(Into::into),
            listed: listed(observation.clients.listed()),
        }
    }
}

impl From<Ech<'_>> for EchRecord<'_> {
    fn from(ech: Ech<'_>) -> Self {
        let outer = match ech {
            Ech::Outer(outer) => Some(outer),
            _ => None,
        };
        Self {
            kind: ech.kind_name().into(),
            config_id: outer.map(|outer| outer.config_id),
            kdf: outer.map(|outer| Text::number(outer.kdf, names::hpke_kdf)),
            aead: outer.map(|outer| Text::number(outer.aead, names::hpke_aead)),
            enc_length: outer.map(|outer| length(outer.enc.len())),
            payload_length: outer.map(|outer| length(outer.payload.len())),
        }
    }
}

/// A name of subjectAltName.
fn alternative_name(name: &AlternativeName) -> Text<'_> {
    match name {
        AlternativeName::Dns(name) | AlternativeName::Email(name) | AlternativeName::Uri(name) => {
            Text::from(&**name)
        }
        name => Text::of(name),
    }
}

/// The two characters of a version in JA4; `None` of drafts and unknown versions.
fn version_code(number: u16) -> Option<&'static str> {
    let version = Version(number);
    version.name().map(|_| version.ja4())
}

/// Whether a key exchange resists quantum computers; `None` if that is unknown.
fn is_post_quantum(version: Version, cipher_suite: u16, group: Option<u16>) -> Option<bool> {
    key_exchange(version, cipher_suite, group).map(KeyExchangeKind::is_post_quantum)
}

/// The length of a part of a hello, which is below 64 KiB.
pub(super) fn length(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

impl<'a> TlsHandshakeRecord<'a> {
    pub(super) fn new(observation: &'a TlsHandshakeObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let found = &observation.handshake;
        let (group, dh_bits) = match found.key_exchange {
            Some(KeyExchange::Group(group)) => (Some(group), None),
            Some(KeyExchange::FiniteField(bits)) => (None, Some(bits)),
            _ => (None, None),
        };
        let request = observation.certificate_request();
        let names = request.map(|request| request.authorities().filter_map(|name| name.text()));
        let is_readable = |request: &CertificateRequest<'_>| {
            !request.has_more_authorities() && request.authorities().all(|name| name.text().is_some())
        };
        Self {
            protocol: observation.handshake.transport.name().into(),
            completed: found.completed,
            decrypted: observation.decrypted.then_some(true),
            version: found.version.map(Text::version),
            alpn: found.alpn.as_deref().map(|name| [texts.wire("alpn", name)]),
            resumed: found.resumption.map(|resumption| resumption.name().into()),
            retry: found.version.map(|_| found.retry).or(found.retry.then_some(true)),
            group: group.map(Text::group),
            post_quantum: found
                .version
                .zip(found.cipher_suite)
                .and_then(|(version, suite)| is_post_quantum(version, suite, group)),
            dh_bits,
            certificate_requested: observation.requests_certificate(),
            certificate_authorities: names.map(|names| {
                texts.list("certificate_authorities", names.map(|name| Arc::<str>::from(name).into()))
            }),
            has_more_authorities: request.map(|request| !is_readable(&request)),
            alerts: found.alerts.iter().copied().map(Into::into).collect(),
            quic_error: found.quic_error,
        }
    }
}

impl From<TlsAlert> for AlertRecord<'_> {
    fn from(alert: TlsAlert) -> Self {
        Self {
            sender: alert.sender,
            encrypted: alert.code.is_none(),
            level: alert.code.map(|(level, _)| level),
            description: alert.code.map(|(_, description)| description),
            name: alert.name().map(Into::into),
        }
    }
}

impl<'a> TlsServerRecord<'a> {
    pub(super) fn new(observation: &'a TlsServerObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let TlsServer { hello, quic, .. } = &observation.server;
        let ja3s = hello.ja3s();
        Self {
            protocol: hello.transport().name().into(),
            decrypted: observation.decrypted.then_some(true),
            version: Text::version(hello.version()),
            cipher: Text::hex(hello.cipher_suite()),
            cipher_name: names::cipher_suite(hello.cipher_suite()).map(Text::plain),
            alpn: hello.alpn().map(|name| [texts.wire("alpn", name)]),
            group: hello.group().map(Text::group),
            post_quantum: is_post_quantum(hello.version(), hello.cipher_suite(), hello.group()),
            key_share_length: hello.key_share().map(|key| length(key.len())),
            selected_psk: hello.selected_psk(),
            extensions: texts.numbers(
                "extensions",
                hello.extensions().map(|extension| extension.kind),
                names::extension,
            ),
            retry: hello.is_retry_request(),
            ja3s_hash: Text::md5(ja3s.hash().0),
            ja3s: texts.owned("ja3s", ja3s.as_str().len(), ja3s),
            quic: quic.as_deref().map(QuicServerRecord::new),
            listed: listed(observation.clients.listed()),
        }
    }
}

impl<'a> TlsCertificatesRecord<'a> {
    /// `ts`: the time of the packet.
    pub(super) fn new(
        observation: &'a TlsCertificatesObservation,
        ts: Timestamp,
        texts: &mut LimitedTexts<'a, '_>,
    ) -> Self {
        let TlsCertificates { certificates, has_more, .. } = &observation.certificates;
        Self {
            protocol: observation.certificates.transport.name().into(),
            decrypted: observation.decrypted.then_some(true),
            certificates: certificates.iter().map(|found| CertificateRecord::new(found, texts)).collect(),
            has_more_certificates: *has_more,
            name_matches: observation.name_matches(),
            valid: observation.is_valid_at(ts),
        }
    }
}

impl<'a> CertificateRecord<'a> {
    pub(super) fn new(certificate: &'a Certificate, texts: &mut LimitedTexts<'a, '_>) -> Self {
        const FIELD: &str = "certificates";
        let fields = certificate.fields();
        let names = fields.and_then(|fields| fields.alternative_names.as_ref());
        let mut name =
            |name: &'a Option<Box<str>>| name.as_ref().map(|name| texts.of(FIELD, name.len(), name));
        let [subject, issuer] = match fields {
            Some(fields) => [&fields.subject, &fields.issuer].map(&mut name),
            None => [None, None],
        };
        Self {
            sha256: Text::digits(certificate.sha256()),
            sha1: Text::digits(certificate.sha1()),
            bytes: u64::try_from(certificate.len()).unwrap_or(u64::MAX),
            readable: fields.is_some(),
            unreadable_fields: fields
                .into_iter()
                .flat_map(CertificateFields::unreadable)
                .map(Text::plain)
                .collect(),
            version: fields.and_then(|fields| fields.version),
            serial: fields.and_then(|fields| fields.serial.as_deref()).map(Into::into),
            subject,
            issuer,
            names: texts.list(FIELD, names.iter().flat_map(|found| &*found.names).map(alternative_name)),
            has_more_names: fields.map(|_| names.is_some_and(|found| found.has_more)),
            not_before: fields.and_then(|fields| fields.not_before),
            not_after: fields.and_then(|fields| fields.not_after),
            key: fields.and_then(|fields| fields.key.as_deref()).map(Into::into),
            key_bits: fields.and_then(|fields| fields.key_bits),
            signature_algorithm: fields
                .and_then(|fields| fields.signature_algorithm.as_deref())
                .map(Into::into),
            ca: fields.and_then(|fields| fields.is_ca),
            self_issued: fields.map(|fields| fields.is_self_issued),
        }
    }
}

#[cfg(test)]
mod tests {
    use huginn_net_tls::Transport;

    use super::*;
    use crate::observation::TextLimit;

    /// Expected values: `openssl x509 -text` of the certificate, in `huginn-net-tls/certificates/expected.tsv`.
    #[test]
    fn certificates_have_fields_and_limits() {
        let der = include_bytes!("../../../huginn-net-tls/certificates/rsa2048.der");
        let certificates = [Certificate::from_der(der), Certificate::from_der(b"junk")];
        let (json, cut) = record(&certificates, TextLimit::NONE);
        assert!(cut.is_empty());
        assert_eq!((&json["name_matches"], &json["valid"]), (&true.into(), &false.into()));
        let [first, second] = [0, 1].map(|place| &json["certificates"][place]);
        assert_eq!(first["issuer"], "CN=Root,O=Authority,C=DE");
        assert_eq!(first["names"][3], "2001:db8::1");
        assert_eq!((&first["key"], &first["key_bits"]), (&"RSA".into(), &2048.into()));
        assert_eq!((&first["ca"], &first["self_issued"]), (&false.into(), &false.into()));
        assert_eq!((&second["readable"], &second["bytes"]), (&false.into(), &4.into()));
        // Reference: `printf junk | sha1sum`.
        assert_eq!(second["sha1"], "c911297212d955d650502555d84de2c922b6e4f9");
        assert!(second["subject"].is_null() && second["ca"].is_null() && second["has_more_names"].is_null());
        let (json, cut) = record(&certificates, TextLimit::new(Some(20)));
        assert_eq!(cut, ["certificates"]);
        assert_eq!(json["certificates"][0]["issuer"], "CN=Root,O=Authority,");
        assert_eq!(json["certificates"][0]["names"], serde_json::json!(["www.example.com"]));
    }

    #[test]
    fn unreadable_date_hides_no_other_field() {
        let mut der = include_bytes!("../../../huginn-net-tls/certificates/p256.der").to_vec();
        let whole = Certificate::from_der(&der);
        let start = whole.fields().unwrap().not_before.unwrap().to_string();
        let utc: String = start.chars().filter(char::is_ascii_digit).skip(2).collect();
        let at = der.windows(utc.len()).position(|bytes| bytes == utc.as_bytes()).unwrap();
        // 30 February.
        der[at + 2..at + 6].copy_from_slice(b"0230");
        let [(bad, _), (good, _)] =
            [Certificate::from_der(&der), whole].map(|found| record(&[found], TextLimit::NONE));
        let [mut bad_row, good_row] = [&bad, &good].map(|json| json["certificates"][0].clone());
        assert_eq!(bad_row["unreadable_fields"], serde_json::json!(["not_before"]));
        assert!(
            bad_row["not_before"].is_null()
                && bad_row["readable"] == true
                && good_row.get("unreadable_fields").is_none()
        );
        // The event is from 2100, after the end.
        assert_eq!((&bad["valid"], &bad["name_matches"]), (&false.into(), &good["name_matches"]));
        for field in ["sha256", "sha1", "not_before"] {
            bad_row[field] = good_row[field].clone();
        }
        bad_row.as_object_mut().unwrap().remove("unreadable_fields");
        assert_eq!(bad_row, good_row);
    }

    #[test]
    fn shortened_certificate_can_be_read() {
        let record: CertificateRecord<'_> = serde_json::from_str(r#"{"sha256":"a","bytes":4}"#).unwrap();
        assert_eq!((&record.sha256, record.bytes), (&"a".into(), 4));
        assert!(
            record.sha1 == *"" && !record.readable && record.names.is_empty() && record.subject.is_none()
        );
        assert!(serde_json::from_str::<CertificateRecord<'_>>(r#"{"bytes":4}"#).is_err());
    }

    #[test]
    fn clock_that_was_not_set_says_nothing_of_validity() {
        let der = include_bytes!("../../../huginn-net-tls/certificates/rsa2048.der");
        let observation = observation(&[Certificate::from_der(der)], TextLimit::NONE);
        let is_valid = |secs| observation.is_valid_at(Timestamp::new(secs, 0, 0));
        assert_eq!(
            [0, 788_918_399, 788_918_400, 1_800_000_000].map(is_valid),
            [None, None, Some(false), Some(true)]
        );
    }

    fn observation(certificates: &[Certificate], limit: TextLimit) -> TlsCertificatesObservation {
        TlsCertificatesObservation {
            certificates: TlsCertificates::new(
                Transport::Tls,
                certificates.to_vec(),
                true,
                Some(b"www.example.com"),
            ),
            decrypted: false,
            text_limit: limit,
        }
    }

    /// The record in JSON, and the fields that are cut.
    fn record(certificates: &[Certificate], limit: TextLimit) -> (serde_json::Value, Vec<String>) {
        let observation = observation(certificates, limit);
        let mut cut = Vec::new();
        let mut texts = LimitedTexts { limit, cut: &mut cut };
        let ts = Timestamp::new(4_102_444_800, 0, 6);
        let record = TlsCertificatesRecord::new(&observation, ts, &mut texts);
        let json = serde_json::to_value(&record).unwrap();
        (json, cut.iter().map(ToString::to_string).collect())
    }
}
