//! Upper bounds for the length of events as JSON, CSV, TSV and in the human format.
//!
//! Names that the operator chooses are not part of them: those of files, interfaces and the names and labels of watch lists.

use std::fmt;

use huginn_net_core::{Addresses, Event, Segment, Side, Timestamp};
use huginn_net_db::{ClientMatch, Label, Software};
use huginn_net_ssh::{Negotiation, SshPeer};
use huginn_net_tls::quic::QuicClient;
use huginn_net_tls::{
    AlternativeName, Certificate, ClientHello, MAX_LISTED_PARAMETERS, TrustAnchorId, TrustAnchors,
};

use crate::Observation;
use crate::limits::{
    MAX_EXTENSION_LEN, MAX_GREASE_LEN, MAX_LENGTH_LEN, MAX_NUMBER_NAME_LEN, MAX_PARAMETER_LEN,
    MAX_SOFTWARE_LEN,
};
use crate::observation::{
    BeaconTarget, CertificateNames, ChangeObservation, Connection, Finding, FindingKind,
    HttpRequestObservation, HttpResponseObservation, HttpVerdict, Match, TcpObservation, TextLimit,
    TlsClientObservation,
};

/// Bytes of an escaped byte: `\u0001`, or `\\xff`.
const ESCAPED: usize = 6;

/// Bytes of the name of a text that is cut, in the field `cut`.
const CUT: usize = 24;

/// Bytes of the common fields, with two IPv4 addresses.
const COMMON: usize = 268;

/// Bytes that two IPv6 addresses have more.
const V6: usize = 50;

/// Bytes of a layer of `tunnel`.
const LAYER: usize = 32;

/// Bytes of `conflict`.
const CONFLICT: usize = 48;

/// Bytes of an Akamai fingerprint without settings and priorities: the window update, and 16 pseudo-header fields.
const AKAMAI: usize = 80;

/// Bytes of `decrypted`.
const DECRYPTED: usize = 18;
/// Bytes of `head_cut`.
const HEAD_CUT: usize = 24;

/// Bytes of a label, without its texts.
const LABEL: usize = 64;

/// Bytes of the longest remark on a system or software: ` (generic, custom User-Agent)`.
const REMARK: usize = 32;

/// Bytes of `params`.
const PARAMS: usize = 72;

/// Bytes of a clock, or of a change without the names of systems.
const CONCLUSION: usize = 200;

/// Bytes of a conclusion from several connections, without the texts of its software and names: its numbers and packets.
const FINDING: usize = 900;

/// Bytes of all marks of a server, in words.
const MARKS: usize = 250;

/// Bytes of severity, proof, identifier and update of an alert, and of the remark that its address may be forged.
const ALERT_FIELDS: usize = 130;

/// Bytes of a tool, without the texts of its label.
const TOOL: usize = 300;

/// Bytes of the name of a number, with its quotes and comma.
const NUMBER: usize = MAX_NUMBER_NAME_LEN + 3;
/// The same of a group.
const GROUP: usize = 34;
/// The same of a signature algorithm.
const SIGNATURE: usize = 36;
/// The same of a version in JA4's characters, or of a compression of certificates.
const SHORT_NAME: usize = 9;

/// Bytes of the JSON of a hello, without its texts and lists.
const HELLO: usize = 960;

/// Bytes of an alert of a handshake.
const ALERT: usize = 120;

/// Bytes of a certificate, without its names; 160 of them list all fields that can be unreadable.
const CERTIFICATE: usize = 1060;

/// Bytes of `ech`.
const ECH: usize = 150;

/// Bytes of the QUIC object of a client, without its fingerprints and parameters.
const QUIC: usize = 480;

/// Bytes of the QUIC object of a server.
const QUIC_SERVER: usize = 240;

/// Bytes of a transport parameter in its list and in both fingerprints, without its value: id, name, and JSON.
const PARAMETER: usize = 160;

/// Bytes of the JSON of what two SSH sides agree on, without the names.
const NEGOTIATION: usize = 250;

/// Bytes of the JSON of a match, without its texts.
const MATCH: usize = 320;

/// Bytes of the JSON of a connection, without its texts.
const CONNECTION: usize = 462;

/// Bytes of the certificate in the JSON of a connection, without its subject.
const CERTIFICATE_OF_CONNECTION: usize = 130;

/// Bytes of the names of systems in the summary of a connection that shows nothing else.
const CONNECTION_SYSTEMS: usize = 200;

/// What decides the length of the common fields of an event, and the second that it counts for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventFrame {
    ts: Timestamp,
    is_v6: bool,
    layers: usize,
}

impl EventFrame {
    #[inline]
    pub(crate) fn from_segment(segment: &Segment<'_>) -> Self {
        let is_v6 = matches!(segment.ip.addresses, Addresses::V6 { .. });
        Self { ts: segment.ts, is_v6, layers: segment.tunnel.layers().len() }
    }

    /// The second of the packet, in steps of 2^30 ns: a limit needs no division for each event.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "wraps after 146 years")]
    pub(crate) fn second(self) -> u32 {
        (self.ts.as_nanos() >> 30) as u32
    }

    #[inline]
    pub(crate) fn from_event<K>(event: &Event<K>) -> Self {
        let layers = event.flow.tunnel.as_ref().map_or(0, |tunnel| tunnel.layers().len());
        Self { ts: event.ts, is_v6: event.flow.client.is_ipv6(), layers }
    }

    /// Bytes of the common fields.
    fn bytes(self) -> u64 {
        sum([COMMON, CONFLICT, if self.is_v6 { V6 } else { 0 }, self.layers.saturating_mul(LAYER)])
    }

    /// Bytes that a connection keeps for its summary: those of one with handshakes alone.
    pub(crate) fn summary_bytes(self) -> u64 {
        self.bytes().saturating_add(sum([CONNECTION, CONNECTION_SYSTEMS]))
    }

    /// Bytes of an event.
    pub(crate) fn event_bytes(self, observation: &Observation, limit: TextLimit) -> u64 {
        self.bytes().saturating_add(observation_bytes(observation, limit))
    }

    /// Bytes of the events that the host table may report for an update: at most so many conclusions, and those of a tool.
    pub(crate) fn conclusion_bytes(self, max_conclusions: u64, of_tool: Option<&Label>) -> u64 {
        let each = self.bytes().saturating_add(CONCLUSION as u64);
        each.saturating_mul(max_conclusions).saturating_add(of_tool.map_or(0, tool))
    }
}

/// Bytes of the fields of an observation.
fn observation_bytes(observation: &Observation, limit: TextLimit) -> u64 {
    match observation {
        Observation::Tcp(observation) => tcp(observation),
        Observation::HttpRequest(observation) => request(observation, limit),
        Observation::HttpResponse(observation) => response(observation, limit),
        Observation::TlsClient(observation) => tls_client(observation, limit),
        Observation::TlsServer(observation) => {
            let hello = &observation.server.hello;
            let alpn = hello.alpn().map_or(0, |name| text(name, limit));
            let extensions = numbers(hello.extensions().count(), limit);
            let quic = observation.server.quic.as_ref().map_or(0, |_| QUIC_SERVER);
            let ja3s = limited(hello.message().len().saturating_mul(2), limit);
            sum([355, DECRYPTED, NUMBER, quic, alpn, extensions, ja3s])
        }
        Observation::TlsHandshake(observation) => {
            // A byte of a name has up to six characters, two of them backslashes: `\C2\80`.
            let request = observation.handshake.certificate_request.as_ref().map_or(0, Vec::len);
            let alerts = observation.handshake.alerts.len().saturating_mul(ALERT);
            let alpn =
                observation.handshake.alpn.as_deref().map_or(0, |name| text(name, limit).saturating_add(9));
            sum([
                360,
                DECRYPTED,
                NUMBER,
                alpn,
                alerts,
                limited(request.saturating_mul(6), limit).saturating_mul(4),
            ])
        }
        Observation::TlsCertificates(observation) => {
            let certificates = observation.certificates.certificates.iter();
            sum([
                140,
                DECRYPTED,
                certificates.fold(0, |sum, found| sum.saturating_add(certificate(found, limit))),
            ])
        }
        Observation::SshClient(observation) => {
            sum([ssh(&observation.peer, limit), software(observation.software().as_ref())])
        }
        Observation::SshServer(observation) => sum([ssh(&observation.peer, limit)]),
        Observation::SshHandshake(observation) => {
            sum([NEGOTIATION, negotiation(&observation.negotiation, limit)])
        }
        Observation::Uptime(_) => CONCLUSION as u64,
        Observation::HostChange(found) | Observation::IpSharing(found) => match found {
            ChangeObservation::Systems { from, to } => {
                let [from, to] = [from, to].map(|name| text(name.as_bytes(), TextLimit::NONE));
                sum([CONCLUSION, from, to])
            }
            ChangeObservation::Scores { .. } => CONCLUSION as u64,
        },
        Observation::Mismatch(found) => {
            let reasons =
                found.reasons.iter().map(|reason| text(reason.to_string().as_bytes(), TextLimit::NONE));
            sum([60, reasons.fold(0, |sum, len| sum.saturating_add(len).saturating_add(16))])
        }
        Observation::Conflict(_) => sum([ALERT_FIELDS, 150]),
        Observation::Finding(found) => finding(found),
        Observation::Tool(found) => tool(&found.label).saturating_add(ALERT_FIELDS as u64),
        Observation::Connection(found) => connection(found),
        Observation::Match(found) => matched(found, limit).saturating_add(ALERT_FIELDS as u64),
        // A table of text has the fields as JSON, with its quotation marks doubled.
        Observation::Own(own) => sum([own.json_len().saturating_mul(2), own.name().len()]),
    }
}

// Not inlined: the other kinds then need no room for its values.
#[inline(never)]
fn tls_client(observation: &TlsClientObservation, limit: TextLimit) -> u64 {
    let hello = &observation.client.hello;
    let (suites, extensions) = (hello.cipher_suites().len(), hello.extensions().count());
    let (groups, signatures) = (hello.supported_groups().len(), hello.signature_algorithms().len());
    // A number has at most five characters in JA4, and six in JA3; a point format four.
    let ja4 = suites.saturating_add(extensions).saturating_add(signatures).saturating_mul(5);
    let ja3 = suites.saturating_add(extensions).saturating_add(groups).saturating_mul(6);
    let ja3 = ja3.saturating_add(hello.ec_point_formats().len().saturating_mul(4));
    sum([
        HELLO,
        DECRYPTED,
        tls_software(observation.software().as_ref()),
        hello.server_name().map_or(0, |name| text(name, limit)),
        names(hello.alpn(), limit),
        names(hello.alps(), limit),
        limited(ja4.saturating_add(20), limit).saturating_mul(3),
        limited(ja3.saturating_add(20), limit),
        named(groups, GROUP, limit),
        named(hello.key_shares().count(), GROUP, limit),
        named(signatures, SIGNATURE, limit),
        named(hello.signature_algorithms_cert().len(), SIGNATURE, limit),
        named(hello.supported_versions().len(), SHORT_NAME, limit),
        named(hello.certificate_compression().len(), SHORT_NAME, limit),
        list(MAX_LENGTH_LEN, hello.key_shares().count(), limit),
        list(MAX_LENGTH_LEN, hello.psk_identities().count(), limit),
        list(MAX_EXTENSION_LEN, hello.unknown_extensions().count(), limit),
        list(MAX_GREASE_LEN, hello.grease().count(), limit),
        hello.trust_anchors().map_or(0, trust_anchors),
        hello.ech().map_or(0, |_| ECH),
        quic(observation.client.quic.as_ref(), hello),
    ])
}

/// Bytes of a conclusion: its texts are in its reason, and some in a field of their own.
fn finding(found: &Finding) -> u64 {
    let texts = match &found.kind {
        FindingKind::Scan(scan) => scan.tool.as_deref().map_or(0, label_text),
        FindingKind::Beacon(beacon) => {
            let name = match &beacon.target {
                BeaconTarget::Name(name) => text(name, TextLimit::NONE),
                BeaconTarget::Address(_) => 0,
            };
            let user_agent =
                beacon.user_agent.as_deref().map_or(0, |text| text.len().saturating_mul(ESCAPED));
            let software = [&beacon.software, &beacon.library].into_iter().flatten();
            software.fold(name.saturating_add(user_agent), |sum, name| sum.saturating_add(name.len()))
        }
        FindingKind::BruteForce(_) => 0,
        FindingKind::UnusualServer(found) => {
            MARKS.saturating_add(found.certificate.as_ref().map_or(0, certificate_names))
        }
        FindingKind::C2Certificate(found) => {
            found.program.len().saturating_add(certificate_names(&found.certificate))
        }
        // Its texts are those of the database, and a quotation.
        FindingKind::Contradiction(_) => MAX_SOFTWARE_LEN,
        FindingKind::Imitation(found) => found.contradicts.iter().fold(found.claim.len(), |sum, reason| {
            sum.saturating_add(text(reason.as_bytes(), TextLimit::NONE)).saturating_add(2)
        }),
        FindingKind::NewFingerprint(found) => {
            found.value.len().saturating_add(found.baseline.len().saturating_mul(ESCAPED)).saturating_add(60)
        }
    };
    sum([FINDING, ALERT_FIELDS, texts.saturating_mul(2)])
}

/// Bytes of the names of a certificate.
fn certificate_names(names: &CertificateNames) -> usize {
    [&names.subject, &names.issuer]
        .into_iter()
        .fold(0, |sum: usize, name| sum.saturating_add(text(name.as_bytes(), TextLimit::NONE)))
}

/// Bytes of trust anchors: each byte of an identifier has at most four characters.
fn trust_anchors(ids: TrustAnchors<'_>) -> usize {
    ids.fold(0, |sum, TrustAnchorId(id)| sum.saturating_add(id.len().saturating_mul(4)).saturating_add(3))
}

/// Bytes of a certificate in its list.
fn certificate(certificate: &Certificate, limit: TextLimit) -> usize {
    let Some(fields) = certificate.fields() else { return CERTIFICATE };
    let names = fields.alternative_names.iter().flat_map(|found| &*found.names);
    let names = names.fold(0_usize, |sum, name| sum.saturating_add(alternative_name(name)).saturating_add(3));
    let distinguished = [&fields.subject, &fields.issuer].into_iter().flatten();
    distinguished
        .fold(CERTIFICATE, |sum, name| sum.saturating_add(text(name.as_bytes(), limit)))
        .saturating_add(names)
}

/// Bytes of a name of a certificate.
fn alternative_name(name: &AlternativeName) -> usize {
    match name {
        AlternativeName::Dns(name) | AlternativeName::Email(name) | AlternativeName::Uri(name) => {
            text(name.as_bytes(), TextLimit::NONE)
        }
        // The longest IPv6 address.
        _ => 39,
    }
}

fn tcp(observation: &TcpObservation) -> u64 {
    // An option has at most five bytes: `?255,`.
    let layout = observation.signature.layout.kinds().len().saturating_mul(5);
    let link = observation.link.as_ref().and_then(|found| found.link.as_ref()).map_or(0, |link| link.len());
    sum([240, layout, label(observation.label()), PARAMS, link])
}

/// Bytes of a list of numbers, each by its name.
fn numbers(count: usize, limit: TextLimit) -> usize {
    named(count, NUMBER, limit)
}

/// Bytes of a list of numbers whose names have at most this many bytes, with quotes and comma.
fn named(count: usize, each: usize, limit: TextLimit) -> usize {
    limit.fitting_of_len(MAX_NUMBER_NAME_LEN).min(count).saturating_mul(each)
}

/// Bytes of a list of values with at most `len` bytes each.
fn list(len: usize, count: usize, limit: TextLimit) -> usize {
    limit.fitting_of_len(len).min(count).saturating_mul(len)
}

/// Bytes of a list of names from the wire.
fn names<'t>(names: impl Iterator<Item = &'t [u8]> + Clone, limit: TextLimit) -> usize {
    let names = names.clone().take(limit.fitting(names.map(<[u8]>::len)));
    names.fold(0, |sum, name| sum.saturating_add(text(name, limit)).saturating_add(3))
}

/// Bytes of the QUIC object of a client. Each byte of a value has two digits in the list and in each fingerprint; an integer
/// of one byte has up to three, and a version of four bytes up to eleven.
pub(crate) fn quic(client: Option<&QuicClient>, hello: &ClientHello<'_>) -> usize {
    if client.is_none() {
        return 0;
    }
    let parameters = hello.transport_parameters().take(MAX_LISTED_PARAMETERS);
    let values = parameters.map(|parameter| {
        PARAMETER.saturating_add(parameter.value.len().min(MAX_PARAMETER_LEN).saturating_mul(9))
    });
    values.fold(QUIC, usize::saturating_add)
}

/// Bytes of a tool: its name is in two texts.
fn tool(label: &Label) -> u64 {
    sum([TOOL, label_text(label).saturating_mul(2)])
}

fn request(observation: &HttpRequestObservation, limit: TextLimit) -> u64 {
    let HttpRequestObservation { request, akamai, software: found, http3, verdict, .. } = observation;
    let escaped = count_escaped(verdict.signature.headers().text());
    let line = [Some(request.method()), Some(request.target()), request.host()];
    let line = line.into_iter().flatten().map(|text_of| text(text_of, limit));
    let fields = [request.user_agent(), request.language().map(str::as_bytes)];
    let fields = fields.into_iter().flatten().map(|field| part(field, escaped, limit));
    let texts = line.chain(fields).fold(0, usize::saturating_add);
    // A setting has two numbers of 62 bits and a separator.
    let http3 = http3.as_deref().map_or(0, |fingerprint| {
        let settings = fingerprint.settings().len().saturating_mul(40);
        AKAMAI.saturating_add(settings).saturating_add(software(found.as_ref()))
    });
    let http2 = akamai.as_deref().map_or(0, |akamai| {
        let settings = akamai.settings().len().saturating_mul(17);
        let priorities = akamai.priorities().len().saturating_mul(28);
        let len = limited(settings.saturating_add(priorities).saturating_add(AKAMAI), limit);
        len.saturating_add(80).saturating_add(software(found.as_ref()))
    });
    sum([180, HEAD_CUT, DECRYPTED, texts, verdict_bytes(verdict, escaped, limit), http2, http3])
}

fn response(observation: &HttpResponseObservation, limit: TextLimit) -> u64 {
    let HttpResponseObservation { response, verdict, .. } = observation;
    let escaped = count_escaped(verdict.signature.headers().text());
    let server = response.server().map_or(0, |server| part(server, escaped, limit));
    let verdict = verdict_bytes(verdict, escaped, limit);
    sum([80, HEAD_CUT, DECRYPTED, server, text(response.reason(), limit), verdict])
}

/// `escaped`: the bytes of the text of the head that JSON escapes.
fn verdict_bytes(verdict: &HttpVerdict, escaped: usize, limit: TextLimit) -> usize {
    // All of the signature is in the text of the head once, but the names of absent headers (at most 96 bytes) and the
    // signs around names and values.
    let headers = verdict.signature.headers();
    let signs = headers.len().saturating_mul(5).saturating_add(100);
    let sig = part(headers.text(), escaped, TextLimit::NONE).saturating_add(signs);
    let claimed = verdict.system.claimed.as_ref().map_or(4, |name| name.len());
    [limited(sig, limit), label(verdict.label()), PARAMS, claimed, 60]
        .into_iter()
        .fold(0, usize::saturating_add)
}

fn ssh(peer: &SshPeer, limit: TextLimit) -> usize {
    let algorithms = peer.hassh_algorithms().map_or(0, |algorithms| text(&algorithms.to_bytes(), limit));
    let protocol = text(peer.identification.protocol_version(), limit);
    [160, text(peer.identification.as_bytes(), limit), protocol, algorithms]
        .into_iter()
        .fold(0, usize::saturating_add)
}

/// Bytes of the names that two SSH sides agree on.
fn negotiation(found: &Negotiation<'_>, limit: TextLimit) -> usize {
    let direction = |side| [found.cipher(side), found.mac(side), found.compression(side)];
    let names = [[found.kex(), found.host_key(), None], direction(Side::Client), direction(Side::Server)];
    let names = names.into_iter().flatten().flatten();
    names.fold(0, |sum: usize, name| sum.saturating_add(text(name, limit)))
}

/// Bytes of a match, without the name of the list and the label.
fn matched(found: &Match, limit: TextLimit) -> u64 {
    let texts = [&found.server_name, &found.host, &found.user_agent];
    let texts = texts.into_iter().flatten().fold(0_usize, |sum, part| sum.saturating_add(text(part, limit)));
    sum([MATCH, text(found.value.as_bytes(), TextLimit::NONE), texts, software(found.software.as_ref())])
}

fn connection(found: &Connection) -> u64 {
    let [client, server] = [&found.client_system, &found.server_system]
        .map(|found| found.as_ref().map_or(0, |system| label_text(&system.name).saturating_add(REMARK)));
    let software = found.server_software.as_ref();
    let software = software.map_or(0, |software| label_text(&software.name).saturating_add(REMARK));
    let names = [client, server, software, found.client_software.as_ref().map_or(0, |name| name.len())];
    let host = found.host.as_ref().map_or(0, |host| text(host, TextLimit::NONE));
    let tls_client = software_text(found.tls_client.as_ref());
    let subject = found.certificate.as_ref().and_then(|found| found.fields()?.subject.as_ref());
    let subject = subject.map_or(0, |subject| text(subject.as_bytes(), TextLimit::NONE));
    let certificate =
        found.certificate.as_ref().map_or(0, |_| CERTIFICATE_OF_CONNECTION.saturating_add(subject));
    let spots = match &*found.blind_spots {
        [] => 0,
        spots => spots.iter().fold(16, |sum: usize, name| sum.saturating_add(name.len()).saturating_add(3)),
    };
    sum([CONNECTION, host, tls_client, certificate, spots, names.into_iter().fold(0, usize::saturating_add)])
}

fn label(found: Option<&Label>) -> usize {
    LABEL.saturating_add(found.map_or(0, label_text))
}

/// Bytes of the texts of a label.
fn label_text(label: &Label) -> usize {
    let texts = [label.class.as_deref(), Some(&*label.name), label.flavor.as_deref()];
    texts.into_iter().flatten().fold(2, |sum: usize, part| sum.saturating_add(part.len()))
}

fn software(found: Option<&ClientMatch>) -> usize {
    let candidates = found.map_or(&[][..], |found| &found.software.candidates);
    let candidates =
        candidates.iter().fold(0, |sum: usize, name| sum.saturating_add(name.len()).saturating_add(3));
    // The name and its parts, and the words of an imitation.
    let names = software_text(found).saturating_mul(2);
    205_usize.saturating_add(candidates).saturating_add(names)
}

/// Bytes of the software of a TLS client.
fn tls_software(found: Option<&ClientMatch>) -> usize {
    let Some(ClientMatch { software: of_match, variant, nearest, .. }) = found else { return 16 };
    let age = of_match.library_age.as_ref().map_or(0, |age| age.series.len().saturating_add(40));
    let variant = variant.as_ref().map_or(0, |variant| shown(variant).saturating_add(14));
    // The longest name of a field has 25 bytes.
    let imitation = of_match.imitation.as_ref().map_or(0, |imitation| {
        imitation.fields.len().saturating_mul(28).saturating_add(imitation.browser.name().len())
    });
    let nearest = nearest.as_ref().map_or(0, |nearest| {
        shown(&nearest.difference).saturating_add(shown(&*nearest.software)).saturating_add(120)
    });
    let parts = [software(found), age, variant, imitation, nearest];
    parts.into_iter().fold(32, usize::saturating_add)
}

/// Bytes of a text that is written without escapes.
fn shown(value: &impl fmt::Display) -> usize {
    struct Length(usize);

    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            Ok(())
        }
    }

    let mut length = Length(0);
    // Counting does not fail.
    let _ = fmt::Write::write_fmt(&mut length, format_args!("{value}"));
    length.0
}

/// Bytes of the name and the versions of software.
fn software_text(found: Option<&ClientMatch>) -> usize {
    let Some(ClientMatch { software, .. }) = found else { return 0 };
    let Software { library, application, versions, recorded_to, .. } = &**software;
    let texts = [library, application, versions, recorded_to].map(Option::as_deref);
    texts.into_iter().flatten().fold(16, |sum: usize, part| sum.saturating_add(part.len()))
}

/// Bytes of a captured text.
#[inline]
fn text(bytes: &[u8], limit: TextLimit) -> usize {
    part(bytes, count_escaped(limit.cut(bytes).0), limit)
}

/// Bytes of a part of a captured text in which JSON escapes this number of bytes.
#[inline]
fn part(bytes: &[u8], escaped: usize, limit: TextLimit) -> usize {
    let (start, is_cut) = limit.cut(bytes);
    let len = start.len().saturating_add(escaped.min(start.len()).saturating_mul(ESCAPED - 1));
    if is_cut { len.saturating_add(CUT) } else { len }
}

/// Counts the bytes that JSON escapes.
fn count_escaped(bytes: &[u8]) -> usize {
    // A sum in one byte lets the compiler examine many bytes at once.
    let in_chunk = |chunk: &[u8]| {
        chunk.iter().fold(0_u8, |sum, byte| {
            let is_escaped = byte.wrapping_sub(b' ') > b'~' - b' ' || *byte == b'"' || *byte == b'\\';
            sum.wrapping_add(is_escaped.into())
        })
    };
    bytes.chunks(usize::from(u8::MAX)).map(|chunk| usize::from(in_chunk(chunk))).sum()
}

/// Bytes of a computed text with this length.
fn limited(len: usize, limit: TextLimit) -> usize {
    match limit.bytes() {
        Some(max) if max < len => max.saturating_mul(2).min(len).saturating_add(CUT),
        _ => len,
    }
}

fn sum<const N: usize>(parts: [usize; N]) -> u64 {
    parts.into_iter().fold(0, usize::saturating_add) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use huginn_net_tls::names;

    use super::*;
    use crate::event_limits::EventLimits;
    use crate::record::formats::{EventFormat, FormattedEvent};
    use crate::record::{EventKind, JsonEvent};
    use crate::{CaptureReader, Configure, HuginnNet, Observers};

    #[test]
    fn names_of_numbers_have_their_lengths() {
        let longest = |name: fn(u16) -> Option<&'static str>| {
            (0..=u16::MAX).filter_map(name).map(|name| name.len() + 3).max()
        };
        assert_eq!(longest(names::group), Some(GROUP));
        assert_eq!(longest(names::signature_scheme), Some(SIGNATURE));
        assert_eq!(longest(names::certificate_compression), Some(SHORT_NAME));
    }

    #[test]
    fn counts_escaped_bytes_at_every_place() {
        for byte in 0..=u8::MAX {
            let expected = usize::from(!(b' '..=b'~').contains(&byte) || byte == b'"' || byte == b'\\');
            for (len, place) in [(1, 0), (8, 0), (8, 7), (11, 4), (11, 10)] {
                let mut bytes = vec![b'a'; len];
                bytes[place] = byte;
                assert_eq!(count_escaped(&bytes), expected, "{byte:#x} at {place} of {len}");
            }
            assert_eq!(count_escaped(&[byte; 37]), 37 * expected, "{byte:#x}");
        }
    }

    /// Compares the bounds with the JSON of all captures, uncut and cut, and with the longest form of each event.
    #[test]
    fn bytes_are_upper_bound_of_json() {
        let mut events = 0_u64;
        let mut by_kind = BTreeMap::<&str, (u64, u64)>::new();
        for max_text_bytes in [None, Some(4096), Some(20)] {
            let limits = EventLimits { max_text_bytes, ..EventLimits::NONE };
            for path in crate::captures::with_extension(&["pcap", "pcapng"]) {
                let findings = Some(crate::hosts::FindingSettings::default());
                let observers = Observers::default().connections(true).handshakes(true).findings(findings);
                let observers = observers.event_limits(limits);
                let Ok(capture) = CaptureReader::open(&path) else { continue };
                let _ = HuginnNet::builder_with(observers).build().analyze(
                    capture,
                    &mut |event: crate::Event| {
                        let bytes = EventFrame::from_event(&event).event_bytes(&event.kind, limits.text());
                        let json = JsonEvent { event: &event, file: None }.to_string();
                        assert!(
                            json.len() as u64 <= bytes,
                            "{}: {bytes} of {} for {json}",
                            path.display(),
                            json.len()
                        );
                        events += 1;
                        if max_text_bytes == Some(4096) {
                            let forms = EventFormat::ALL.iter().copied();
                            let forms =
                                forms.map(|format| FormattedEvent::new(format, &event).to_string().len());
                            let sums = by_kind.entry(EventKind::of(&event.kind).name()).or_default();
                            sums.0 += bytes;
                            sums.1 += forms.chain([json.len()]).max().unwrap_or(0) as u64;
                        }
                    },
                );
            }
        }
        assert!(events > 3000, "{events}");
        // A flood of one kind is cut before it is as long as its limit says: not much before.
        let ratios = by_kind.iter().map(|(kind, (bytes, longest))| (*kind, *bytes as f64 / *longest as f64));
        let ratios: Vec<_> = ratios.collect();
        assert!(ratios.len() > 12 && ratios.iter().all(|(_, ratio)| *ratio <= 1.5), "{ratios:.2?}");
    }
}
