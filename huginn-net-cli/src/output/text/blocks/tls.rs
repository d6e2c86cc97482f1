//! The blocks of TLS events.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use huginn_net::core::{Amount, HexDigits};
use huginn_net::finding::{TextLimit, TlsCertificatesFinding};
use huginn_net::tls::{
    CertificateFields, Ech, KeyExchange, KeyShare, OuterEch, QuicFingerprint, Resumption, TlsAlert,
    TlsCertificates, TlsClient, TlsHandshake, TlsServer, Transport, Version, is_grease, names,
};
use huginn_net::{Escaped, Event, Timestamp};

use super::{Blocks, Joined, Wire};
use crate::limits::MAX_LISTED;

impl Blocks {
    pub(super) fn tls_client(
        &self,
        out: &mut impl Write,
        client: &TlsClient,
        limit: TextLimit,
    ) -> io::Result<()> {
        let TlsClient { hello, retry, quic, .. } = client;
        let Self { known, .. } = self;
        let again = if *retry { ", after a HelloRetryRequest" } else { "" };
        self.field(out, "protocol", format_args!("{}{again}", protocol(hello.transport(), hello.version())))?;
        self.wire(out, "sni", hello.server_name(), limit)?;
        self.protocols(out, "alpn", hello.alpn(), limit)?;
        self.numbers(out, "groups", hello.supported_groups(), names::group)?;
        let shares = hello.key_shares().filter(|share| !is_grease(share.group));
        self.list(out, "key shares", shares.map(key_share))?;
        self.numbers(out, "signatures", hello.signature_algorithms(), names::signature_scheme)?;
        let of_certificates = hello.signature_algorithms_cert();
        self.numbers(out, "cert signs", of_certificates, names::signature_scheme)?;
        self.list(out, "anchors", hello.trust_anchors().unwrap_or_default())?;
        match (hello.session_ticket(), hello.psk_identities().count()) {
            (_, keys @ 1..) => self.field(out, "resumes", amount(keys, "pre-shared key(s)"))?,
            (Some(ticket @ [_, ..]), _) => {
                self.field(out, "resumes", format_args!("ticket of {}", amount(ticket.len(), "byte(s)")))?;
            }
            (Some([]), _) => self.field(out, "ticket", "requested")?,
            (None, _) => {}
        }
        if hello.has_early_data() {
            self.field(out, "early data", "follows the hello")?;
        }
        let compression = hello.certificate_compression();
        self.numbers(out, "compress", compression, names::certificate_compression)?;
        if let Some(limit) = hello.record_size_limit() {
            self.field(out, "max record", amount(limit.into(), "byte(s)"))?;
        }
        self.protocols(out, "alps", hello.alps(), limit)?;
        self.list(out, "grease", hello.grease())?;
        let unknown = hello.unknown_extensions();
        let unknown = unknown.map(|extension| format!("{:04x} ({})", extension.kind, extension.data.len()));
        self.list(out, "unknown", unknown)?;
        if let Some(ech) = hello.ech() {
            self.field(out, "ech", ech_in_words(ech))?;
            if matches!(ech, Ech::Outer(_)) && hello.has_server_name() {
                self.field(out, "", "unless it is GREASE, the sni is the outer name")?;
            }
        }
        self.field(out, "ja4", format_args!("{known}{}{known:#}", hello.ja4()))?;
        self.field(out, "ja3", hello.ja3_hash())?;
        let Some(quic) = quic else { return Ok(()) };
        let fingerprint = QuicFingerprint::sorted(quic.version, hello.transport_parameters());
        self.wire(out, "quic", Some(fingerprint.as_str().as_bytes()), limit)
    }

    pub(super) fn tls_server(
        &self,
        out: &mut impl Write,
        server: &TlsServer,
        limit: TextLimit,
    ) -> io::Result<()> {
        let TlsServer { hello, .. } = server;
        let again = if hello.is_retry_request() { ", HelloRetryRequest" } else { "" };
        self.field(out, "protocol", format_args!("{}{again}", protocol(hello.transport(), hello.version())))?;
        let suite = hello.cipher_suite();
        match names::cipher_suite(suite) {
            Some(name) => self.field(out, "cipher", format_args!("{suite:04x} {name}"))?,
            None => self.field(out, "cipher", format_args!("{suite:04x}"))?,
        }
        self.wire(out, "alpn", hello.alpn(), limit)?;
        match (hello.group(), hello.key_share()) {
            (Some(number), Some(key)) => {
                self.field(out, "key share", key_share(KeyShare { group: number, key }))?
            }
            (Some(number), None) => self.field(out, "group", group(number))?,
            (None, _) => {}
        }
        if let Some(place) = hello.selected_psk() {
            self.field(out, "resumes", format_args!("pre-shared key {place} of the client"))?;
        }
        let kinds = hello.extensions().map(|extension| extension.kind);
        self.numbers(out, "extensions", kinds, names::extension)?;
        self.field(out, "ja3s", hello.ja3s_hash())
    }

    pub(super) fn certificates(
        &self,
        out: &mut impl Write,
        finding: &TlsCertificatesFinding,
        event: &Event,
        limit: TextLimit,
    ) -> io::Result<()> {
        let TlsCertificates { certificates, has_more, .. } = &finding.certificates;
        if certificates.is_empty() {
            self.field(out, "cert", "none")?;
        }
        for certificate in certificates {
            self.field(out, "cert", Wire(certificate.to_string().as_bytes(), limit))?;
            if let Some(fields) = certificate.fields() {
                let names = fields.alternative_names.iter().flat_map(|found| &*found.names);
                let names = names.map(|name| format!("{:#}", Escaped(name.to_string().as_bytes())));
                self.list(out, "names", names)?;
                let key = fields.key.as_deref().unwrap_or("unknown");
                match fields.key_bits {
                    Some(bits) => self.field(out, "key", format_args!("{key}, {bits} bits"))?,
                    None => self.field(out, "key", key)?,
                }
            }
            if let Some(fields) = certificate.fields() {
                self.certificate_fields(out, fields)?;
            }
            self.field(out, "sha256", HexDigits(certificate.sha256()))?;
            self.field(out, "sha1", HexDigits(certificate.sha1()))?;
        }
        if *has_more {
            self.field(out, "cert", "more, which are not read")?;
        }
        let remarks = certificate_remarks(finding, event.ts);
        if remarks.is_empty() { Ok(()) } else { self.field(out, "remarks", Joined(&remarks)) }
    }

    /// Writes what is known of a certificate beside its names and its key.
    fn certificate_fields(&self, out: &mut impl Write, fields: &CertificateFields) -> io::Result<()> {
        let CertificateFields { serial, signature_algorithm, is_ca, is_self_issued, .. } = fields;
        if let Some(serial) = serial {
            self.field(out, "serial", serial)?;
        }
        if let Some(algorithm) = signature_algorithm {
            self.field(out, "signature", algorithm)?;
        }
        if let Some(is_ca) = is_ca {
            self.field(out, "authority", if *is_ca { "yes" } else { "no" })?;
        }
        if *is_self_issued { self.field(out, "issued by", "itself") } else { Ok(()) }
    }

    /// Writes the names of numbers without GREASE, which has a line of its own, or their digits.
    fn numbers(
        &self,
        out: &mut impl Write,
        title: &str,
        numbers: impl Iterator<Item = u16> + Clone,
        name: fn(u16) -> Option<&'static str>,
    ) -> io::Result<()> {
        let numbers = numbers.filter(|number| !is_grease(*number));
        self.list(out, title, numbers.map(|number| names::or_digits(number, name)))
    }

    /// Writes the start of a list, and the number of the other elements.
    fn list(
        &self,
        out: &mut impl Write,
        title: &str,
        values: impl Iterator<Item = impl ToString> + Clone,
    ) -> io::Result<()> {
        let first: Vec<String> = values.clone().take(MAX_LISTED).map(|value| value.to_string()).collect();
        self.start_of_list(out, title, &first, values.count())
    }

    /// Writes names of protocols, as many as fit in the limit.
    fn protocols<'t>(
        &self,
        out: &mut impl Write,
        title: &str,
        names: impl Iterator<Item = &'t [u8]> + Clone,
        limit: TextLimit,
    ) -> io::Result<()> {
        let fitting = limit.fitting(names.clone().map(<[u8]>::len));
        let first: Vec<String> =
            names.clone().take(fitting).map(|name| format!("{:#}", Escaped(name))).collect();
        self.start_of_list(out, title, &first, names.count())
    }

    pub(super) fn tls_handshake(&self, out: &mut impl Write, found: &TlsHandshake) -> io::Result<()> {
        self.field(out, "handshake", if found.completed { "completed" } else { "failed" })?;
        match found.resumption {
            Some(Resumption::SessionId) => self.field(out, "resumed", "session id")?,
            Some(Resumption::Ticket) => self.field(out, "resumed", "ticket")?,
            Some(Resumption::Psk) => self.field(out, "resumed", "pre-shared key")?,
            _ => {}
        }
        match found.key_exchange {
            Some(KeyExchange::Group(number)) => self.field(out, "group", group(number))?,
            Some(KeyExchange::FiniteField(bits)) => {
                self.field(out, "group", format_args!("Diffie-Hellman, {bits} bits"))?;
            }
            _ => {}
        }
        if found.certificate_request.is_some() {
            self.field(out, "client cert", "requested")?;
        }
        found.alerts.iter().try_for_each(|alert| self.field(out, "alert", alert_in_words(*alert)))?;
        found.quic_error.iter().try_for_each(|code| self.field(out, "quic error", code))
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
pub(crate) fn certificate_remarks(finding: &TlsCertificatesFinding, ts: Timestamp) -> Vec<&'static str> {
    let mut remarks = certificate_problems(finding, ts);
    remarks.extend(is_self_issued(finding).then_some("self-issued"));
    remarks
}

/// Whether the first certificate names its subject as its issuer.
fn is_self_issued(finding: &TlsCertificatesFinding) -> bool {
    let first = finding.certificates.certificates.first().and_then(|first| first.fields());
    first.is_some_and(|fields| fields.is_self_issued)
}

/// What is wrong with the first certificate.
pub(crate) fn certificate_problems(finding: &TlsCertificatesFinding, ts: Timestamp) -> Vec<&'static str> {
    let other_name = (finding.name_matches() == Some(false)).then_some("not for the server name");
    let is_invalid = finding.is_valid_at(ts) == Some(false);
    let first = finding.certificates.certificates.first().and_then(|first| first.fields());
    let validity = first.filter(|_| is_invalid).map(|fields| {
        let now = i64::try_from(ts.as_secs()).unwrap_or(i64::MAX);
        if fields.not_after.seconds() < now { "expired" } else { "not yet valid" }
    });
    other_name.into_iter().chain(validity).collect()
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
        Transport::Tcp | Transport::Dtls => name.to_owned(),
    }
}
