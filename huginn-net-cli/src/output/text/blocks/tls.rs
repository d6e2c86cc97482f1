//! The blocks of TLS events.

use std::borrow::Cow;
use std::fmt::Display;

use huginn_net::Timestamp;
use huginn_net::core::{Amount, Escaped, HexDigits};
use huginn_net::observation::TlsCertificatesObservation;
use huginn_net::tls::{
    CertificateFields, Ech, KeyExchange, KeyShare, OuterEch, QuicFingerprint, Resumption, TlsAlert,
    TlsCertificates, TlsClient, TlsHandshake, TlsServer, Transport, Version, is_grease, names,
};

use super::{Block, Joined};
use crate::limits::MAX_LISTED;

impl Block<'_> {
    pub(super) fn tls_client(&mut self, client: &TlsClient) {
        let TlsClient { hello, retry, quic, .. } = client;
        let again = if *retry { ", after a HelloRetryRequest" } else { "" };
        self.field("protocol", format_args!("{}{again}", protocol(hello.transport(), hello.version())));
        self.wire("sni", hello.server_name());
        self.protocols("alpn", hello.alpn());
        self.numbers("groups", hello.supported_groups(), names::group);
        let shares = hello.key_shares().filter(|share| !is_grease(share.group));
        self.list("key shares", shares.map(key_share));
        self.numbers("signatures", hello.signature_algorithms(), names::signature_scheme);
        self.numbers("cert signs", hello.signature_algorithms_cert(), names::signature_scheme);
        self.list("anchors", hello.trust_anchors().unwrap_or_default());
        match (hello.session_ticket(), hello.psk_identities().count()) {
            (_, keys @ 1..) => self.field("resumes", amount(keys, "pre-shared key(s)")),
            (Some(ticket @ [_, ..]), _) => {
                self.field("resumes", format_args!("ticket of {}", amount(ticket.len(), "byte(s)")));
            }
            (Some([]), _) => self.field("ticket", "requested"),
            (None, _) => {}
        }
        self.optional("early data", hello.has_early_data().then_some("follows the hello"));
        self.numbers("compress", hello.certificate_compression(), names::certificate_compression);
        self.optional("max record", hello.record_size_limit().map(|limit| amount(limit.into(), "byte(s)")));
        self.protocols("alps", hello.alps());
        self.list("grease", hello.grease());
        let unknown = hello.unknown_extensions();
        let unknown = unknown.map(|extension| format!("{:04x} ({})", extension.kind, extension.data.len()));
        self.list("unknown", unknown);
        self.optional("ech", hello.ech().map(ech_in_words));
        if matches!(hello.ech(), Some(Ech::Outer(_))) && hello.has_server_name() {
            self.field("", "unless it is GREASE, the sni is the outer name");
        }
        self.known("ja4", Some(hello.ja4()));
        self.field("ja3", hello.ja3_hash());
        if let Some(quic) = quic {
            let fingerprint = QuicFingerprint::sorted(quic.version, hello.transport_parameters());
            self.wire("quic", Some(fingerprint.as_str().as_bytes()));
        }
    }

    pub(super) fn tls_server(&mut self, server: &TlsServer) {
        let TlsServer { hello, .. } = server;
        let again = if hello.is_retry_request() { ", HelloRetryRequest" } else { "" };
        self.field("protocol", format_args!("{}{again}", protocol(hello.transport(), hello.version())));
        let suite = hello.cipher_suite();
        match names::cipher_suite(suite) {
            Some(name) => self.field("cipher", format_args!("{suite:04x} {name}")),
            None => self.field("cipher", format_args!("{suite:04x}")),
        }
        self.wire("alpn", hello.alpn());
        match (hello.group(), hello.key_share()) {
            (Some(number), Some(key)) => {
                self.field("key share", key_share(KeyShare { group: number, key }));
            }
            (Some(number), None) => self.field("group", group(number)),
            (None, _) => {}
        }
        let key = hello.selected_psk().map(|place| format!("pre-shared key {place} of the client"));
        self.optional("resumes", key);
        self.numbers("extensions", hello.extensions().map(|extension| extension.kind), names::extension);
        self.field("ja3s", hello.ja3s_hash());
    }

    pub(super) fn certificates(&mut self, observation: &TlsCertificatesObservation, ts: Timestamp) {
        let TlsCertificates { certificates, has_more, .. } = &observation.certificates;
        self.optional("cert", certificates.is_empty().then_some("none"));
        for certificate in certificates {
            self.wire("cert", Some(certificate.to_string().as_bytes()));
            if let Some(fields) = certificate.fields() {
                self.certificate_fields(fields);
            }
            self.field("sha256", HexDigits(certificate.sha256()));
            self.field("sha1", HexDigits(certificate.sha1()));
        }
        self.optional("cert", has_more.then_some("more, which are not read"));
        let remarks = certificate_remarks(observation, ts);
        self.optional("remarks", (!remarks.is_empty()).then_some(Joined(&remarks)));
    }

    /// Writes what is known of a certificate beside its subject.
    fn certificate_fields(&mut self, fields: &CertificateFields) {
        let names = fields.alternative_names.iter().flat_map(|found| &*found.names);
        self.list("names", names.map(|name| format!("{:#}", Escaped(name.to_string().as_bytes()))));
        let bits = fields.key_bits.map(|bits| format!(", {bits} bits")).unwrap_or_default();
        self.field("key", format_args!("{}{bits}", fields.key.as_deref().unwrap_or("unknown")));
        self.optional("serial", fields.serial.as_ref());
        self.optional("signature", fields.signature_algorithm.as_ref());
        self.optional("authority", fields.is_ca.map(|is_ca| if is_ca { "yes" } else { "no" }));
        self.optional("issued by", fields.is_self_issued.then_some("itself"));
        self.list("unreadable", fields.unreadable());
    }

    /// Writes the names of numbers without GREASE, which has a line of its own, or their digits.
    fn numbers(
        &mut self,
        title: &str,
        numbers: impl Iterator<Item = u16> + Clone,
        name: fn(u16) -> Option<&'static str>,
    ) {
        let numbers = numbers.filter(|number| !is_grease(*number));
        self.list(title, numbers.map(|number| names::or_digits(number, name)));
    }

    /// Writes the start of a list, and the number of the other elements.
    fn list(&mut self, title: &str, values: impl Iterator<Item = impl ToString> + Clone) {
        let first: Vec<String> = values.clone().take(MAX_LISTED).map(|value| value.to_string()).collect();
        self.start_of_list(title, &first, values.count());
    }

    /// Writes names of protocols, as many as fit in the limit.
    fn protocols<'t>(&mut self, title: &str, names: impl Iterator<Item = &'t [u8]> + Clone) {
        let fitting = self.limit.fitting(names.clone().map(<[u8]>::len));
        let first: Vec<String> =
            names.clone().take(fitting).map(|name| format!("{:#}", Escaped(name))).collect();
        self.start_of_list(title, &first, names.count());
    }

    /// Writes the first texts of a list of `count`, unless it is empty.
    fn start_of_list(&mut self, title: &str, first: &[String], count: usize) {
        match count.saturating_sub(first.len()) {
            _ if count == 0 => {}
            0 => self.field(title, Joined(first)),
            more => self.field(title, format_args!("{}... ({more} more)", Joined(first))),
        }
    }

    pub(super) fn tls_handshake(&mut self, found: &TlsHandshake) {
        self.field("handshake", if found.completed { "completed" } else { "failed" });
        match found.resumption {
            Some(Resumption::SessionId) => self.field("resumed", "session id"),
            Some(Resumption::Ticket) => self.field("resumed", "ticket"),
            Some(Resumption::Psk) => self.field("resumed", "pre-shared key"),
            _ => {}
        }
        match found.key_exchange {
            Some(KeyExchange::Group(number)) => self.field("group", group(number)),
            Some(KeyExchange::FiniteField(bits)) => {
                self.field("group", format_args!("Diffie-Hellman, {bits} bits"));
            }
            _ => {}
        }
        self.optional("client cert", found.certificate_request.is_some().then_some("requested"));
        found.alerts.iter().for_each(|alert| self.field("alert", alert_in_words(*alert)));
        self.optional("quic error", found.quic_error);
    }
}

/// A group for key exchange.
fn group(number: u16) -> Cow<'static, str> {
    names::or_digits(number, names::group)
}

fn amount(count: usize, noun: &str) -> Amount<'_> {
    Amount(count.try_into().unwrap_or(u64::MAX), noun)
}

/// A key share: its group, and its length.
fn key_share(KeyShare { group: number, key }: KeyShare<'_>) -> String {
    format!("{} ({})", group(number), key.len())
}

/// The extension encrypted_client_hello.
fn ech_in_words(ech: Ech<'_>) -> String {
    match ech {
        Ech::Outer(OuterEch { config_id, enc, payload, .. }) => format!(
            "encrypted hello of {} bytes for configuration {config_id}, or GREASE (key of {} bytes)",
            payload.len(),
            enc.len()
        ),
        Ech::Inner => "inner hello".to_owned(),
        _ => "form of a draft".to_owned(),
    }
}

/// What is wrong with the first certificate, and whether it is self-issued, which is not wrong by itself.
pub(crate) fn certificate_remarks(
    observation: &TlsCertificatesObservation,
    ts: Timestamp,
) -> Vec<&'static str> {
    let mut remarks = certificate_problems(observation, ts);
    remarks.extend(is_self_issued(observation).then_some("self-issued"));
    remarks
}

/// Whether the first certificate names its subject as its issuer.
fn is_self_issued(observation: &TlsCertificatesObservation) -> bool {
    let first = observation.certificates.certificates.first().and_then(|first| first.fields());
    first.is_some_and(|fields| fields.is_self_issued)
}

/// What is wrong with the first certificate.
pub(crate) fn certificate_problems(
    observation: &TlsCertificatesObservation,
    ts: Timestamp,
) -> Vec<&'static str> {
    let other_name = (observation.name_matches() == Some(false)).then_some("not for the server name");
    let is_invalid = observation.is_valid_at(ts) == Some(false);
    let first = observation.certificates.certificates.first().and_then(|first| first.fields());
    let validity = first.filter(|_| is_invalid).map(|fields| {
        let now = i64::try_from(ts.as_secs()).unwrap_or(i64::MAX);
        let is_over = fields.not_after.is_some_and(|end| end.seconds() < now);
        if is_over { "expired" } else { "not yet valid" }
    });
    let has_unreadable = first.is_some_and(|fields| fields.unreadable().next().is_some());
    let unreadable = has_unreadable.then_some("unreadable fields");
    other_name.into_iter().chain(validity).chain(unreadable).collect()
}

/// An alert: who sent it, and its name.
pub(in crate::output::text) fn alert_in_words(alert: TlsAlert) -> String {
    match (alert.name(), alert.code) {
        (Some(name), _) => format!("{name} of the {}", alert.sender),
        (None, Some((_, number))) => format!("alert {number} of the {}", alert.sender),
        (None, None) => format!("encrypted alert of the {}", alert.sender),
    }
}

/// Protocol and transport for display: `TLS 1.3 over QUIC`.
pub(in crate::output::text) fn protocol(transport: Transport, version: Version) -> impl Display {
    let name = match version {
        Version::SSL_2 => "SSL 2.0",
        Version::SSL_3 => "SSL 3.0",
        Version::TLS_1_0 => "TLS 1.0",
        Version::TLS_1_1 => "TLS 1.1",
        Version::TLS_1_2 => "TLS 1.2",
        Version::TLS_1_3 => "TLS 1.3",
        Version::DTLS_1_0 => "DTLS 1.0",
        Version::DTLS_1_2 => "DTLS 1.2",
        Version::DTLS_1_3 => "DTLS 1.3",
        Version(_) => "TLS of another version",
    };
    match transport {
        Transport::Quic => format!("{name} over QUIC"),
        Transport::Tls | Transport::Dtls => name.to_owned(),
    }
}
