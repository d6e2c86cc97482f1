//! The blocks of TLS events.

use std::fmt::Display;
use std::io::{self, Write};

use huginn_net::core::{Amount, HexDigits};
use huginn_net::finding::{TextLimit, TlsCertificatesFinding};
use huginn_net::tls::{
    Ech, KeyExchange, KeyShare, OuterEch, QuicFingerprint, Resumption, TlsAlert, TlsCertificates, TlsClient,
    TlsHandshake, TlsServer, Transport, Version, is_grease, names,
};
use huginn_net::{Escaped, Event};

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
        let fitting = limit.fitting(hello.alpn().map(<[u8]>::len));
        let alpn: Vec<String> =
            hello.alpn().take(fitting).map(|name| format!("{:#}", Escaped(name))).collect();
        self.start_of_list(out, "alpn", &alpn, hello.alpn().count())?;
        let shares = hello.key_shares().filter(|share| !is_grease(share.group));
        let groups: Vec<String> = shares.clone().take(MAX_LISTED).map(key_share).collect();
        self.start_of_list(out, "key shares", &groups, shares.count())?;
        let anchors = hello.trust_anchors().unwrap_or_default();
        let first: Vec<String> = anchors.take(MAX_LISTED).map(|id| id.to_string()).collect();
        self.start_of_list(out, "anchors", &first, anchors.count())?;
        match (hello.session_ticket(), hello.psk_identities().count()) {
            (_, keys @ 1..) => self.field(out, "resumes", amount(keys, "pre-shared key(s)"))?,
            (Some(ticket @ [_, ..]), _) => {
                self.field(out, "resumes", format_args!("ticket of {}", amount(ticket.len(), "byte(s)")))?;
            }
            _ => {}
        }
        if let Some(ech) = hello.ech() {
            self.field(out, "ech", ech_in_words(ech))?;
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
        self.field(out, "cipher", format_args!("{:04x}", hello.cipher_suite()))?;
        self.wire(out, "alpn", hello.alpn(), limit)?;
        if let Some(number) = hello.group() {
            self.field(out, "group", group(number))?;
        }
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
                let first: Vec<String> = names
                    .clone()
                    .take(MAX_LISTED)
                    .map(|name| format!("{:#}", Escaped(name.to_string().as_bytes())))
                    .collect();
                self.start_of_list(out, "names", &first, names.count())?;
                let key = fields.key.as_deref().unwrap_or("unknown");
                match fields.key_bits {
                    Some(bits) => self.field(out, "key", format_args!("{key}, {bits} bits"))?,
                    None => self.field(out, "key", key)?,
                }
            }
            self.field(out, "sha256", HexDigits(certificate.sha256()))?;
        }
        if *has_more {
            self.field(out, "cert", "more, which are not read")?;
        }
        let remarks = certificate_remarks(finding, event);
        if remarks.is_empty() { Ok(()) } else { self.field(out, "remarks", Joined(&remarks)) }
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
        found.alerts.iter().try_for_each(|alert| self.field(out, "alert", alert_in_words(*alert)))
    }
}

/// A group for key exchange: its name, or four hexadecimal digits.
fn group(number: u16) -> String {
    names::group(number).map_or_else(|| format!("{number:04x}"), str::to_owned)
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

/// What is wrong with the first certificate.
pub(in crate::output::text) fn certificate_remarks(
    finding: &TlsCertificatesFinding,
    event: &Event,
) -> Vec<&'static str> {
    let first = finding.certificates.certificates.first().and_then(|first| first.fields());
    let remarks = [
        (finding.name_matches() == Some(false), "not for the server name"),
        (finding.is_valid_at(event.ts) == Some(false), "not valid at this time"),
        (first.is_some_and(|fields| fields.is_self_issued), "self-issued"),
    ];
    remarks.into_iter().filter(|(applies, _)| *applies).map(|(_, remark)| remark).collect()
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
