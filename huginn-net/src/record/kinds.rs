//! The fields of each kind of event; those of TLS are in `tls.rs`.

use std::sync::Arc;

use huginn_net_consistency::{Consistency, ConsistencyReason};
use huginn_net_core::{Escaped, Side, Timestamp};
use huginn_net_db::{BrowserImitation, ClientMatch, Label, NearestClient, Software};
use huginn_net_http::language;
use huginn_net_ssh::{KexGuess, SshPeer};
use huginn_net_tls::Ja4;
use serde::{Deserialize, Deserializer};

use super::describe::records;
use super::text::{LimitedTexts, Text};
use crate::alert::Alert;
use crate::observation::{
    BeaconFinding, BeaconTarget, CertificateNames, ChangeObservation, Connection, Finding, FindingKind,
    HttpRequestObservation, HttpResponseObservation, ListEntry, Match, ScanFinding, ScanTarget,
    SshClientObservation, SshHandshakeObservation, SshServerObservation, TcpObservation, ToolObservation,
    UptimeObservation,
};

records! {
    /// The label of a database entry.
    pub struct LabelRecord<'a> {
        /// Class of the system; `!` of software
        class: Text<'a>,
        /// Name of the system or software
        name: Text<'a>,
        /// Versions, as the database names them
        flavor: Option<Text<'a>>,
        /// Whether the label is one of last resort
        generic: bool,
    }

    /// `tcp_syn` and `tcp_syn_ack`: a TCP signature and its match in the database.
    pub struct TcpRecord<'a> in "tcp_" {
        /// Signature in the syntax of p0f
        sig in "sig": Text<'a>,
        /// Label of the database entry; null without a match
        label in "label": Option<LabelRecord<'a>>,
        /// Whether the packet differs from the signature in ways that the network may cause
        fuzzy: bool,
        /// How it differs: `quirks`, `initial_ttl` or `cleared_options`
        fuzzy_reason[omitted]: Option<Text<'a>>,
        /// Distance of the sender in hops
        distance: u8,
        /// Remarks on the match
        params in "params": Text<'a>,
        /// Size of the largest IP packet that the sender accepts, in bytes; null without a maximum segment size, and for tools
        mtu in "mtu": Option<u32>,
        /// Link type with this MTU
        link in "mtu_link": Option<Text<'a>>,
    }

    /// `uptime`: the TCP timestamp clock of a host.
    pub struct UptimeRecord in "uptime_" {
        /// Uptime in minutes, modulo the period of the clock
        minutes: u32,
        /// Days after which the clock begins again
        modulo_days: u32,
        /// Nominal frequency of the clock
        frequency_hz: u32,
        /// Frequency as measured
        raw_frequency_hz: f64,
    }

    /// `host_change` and `ip_sharing`: another host has the address, or several.
    pub struct ChangeRecord<'a> in "change_" {
        /// System that the handshakes of the address named before
        from: Option<Text<'a>>,
        /// System that the handshake of this packet names
        to: Option<Text<'a>>,
    }

    /// `mismatch`: a client that is not the browser that it claims to be.
    pub struct MismatchRecord<'a> in "mismatch_" {
        /// `imitation`, `unexplained` or `proxy`
        outcome: Text<'a>,
        /// Statements that do not agree
        reasons: Vec<Text<'a>>,
    }

    /// `finding`: what several connections show, or two contents for the same bytes.
    #[derive(Default)]
    pub struct FindingRecord<'a> in "finding_" {
        /// Kind of the finding, as docs/findings.md lists them
        finding in "finding": Text<'a>,
        /// The reason in words; of a conflict, what distinguishes its packets
        reason: Text<'a>,
        /// What is scanned: `ports` of a host or `hosts` on a few ports
        scanned[omitted]: Option<Text<'a>>,
        /// Address or ports that are scanned; server of a brute force; server name or address of a beacon; address of a server
        target[omitted]: Option<Text<'a>>,
        /// Number of scanned ports or hosts
        targets[omitted]: Option<u32>,
        /// How many of them accepted
        answered[omitted]: Option<u32>,
        /// Number of SYNs of a scan, or of its other segments, without retransmissions
        syns[omitted]: Option<u64>,
        /// Time from the first segment of a scan, or failed login of a brute force, to the last one, in seconds
        duration[omitted]: Option<f64>,
        /// Tool that scans, if it is known
        tool[omitted]: Option<Text<'a>>,
        /// Number of connections of a brute force whose login failed
        attempts[omitted]: Option<u32>,
        /// Whether a later login probably succeeded
        login[omitted]: Option<bool>,
        /// Number of contacts of a beacon; of connections to an unusual server
        contacts[omitted]: Option<u32>,
        /// Median of the time between contacts, in seconds
        period[omitted]: Option<f64>,
        /// Mean deviation from it, in percent
        jitter[omitted]: Option<f64>,
        /// Software of a beacon that the fingerprint names
        application[omitted]: Option<Text<'a>>,
        /// User-Agent of a beacon, a claim
        user_agent[omitted]: Option<Text<'a>>,
        /// Service that the name, the User-Agent or the port of a beacon stands for: `name of push messages`
        service[omitted]: Option<Text<'a>>,
        /// C2 program whose default certificate the server has
        program[omitted]: Option<Text<'a>>,
        /// What is unusual about a server: `port`, `private_issuer` and others, as docs/findings.md lists them
        marks[omitted]: Vec<Text<'a>>,
        /// Subject of the certificate of a server
        certificate_subject[omitted]: Option<Text<'a>>,
        /// Issuer of the certificate of a server
        certificate_issuer[omitted]: Option<Text<'a>>,
        /// Type of what a baseline lacks: `tcp_syn`, `ja4_stable`, `akamai`, `hassh`, `hassh_server`, `tool`, `server`, `issuer` or `client`
        kind[omitted] as "type": Option<Text<'a>>,
        /// What the baseline lacks
        value[omitted]: Option<Text<'a>>,
        /// Number of values of this type in the baseline
        known[omitted]: Option<u64>,
        /// Time of the first packet of this baseline
        since[omitted]: Option<Timestamp>,
        /// Names of the files of this baseline
        baseline[omitted]: Option<Text<'a>>,
        /// Numbers of the first packets that show it, at most eight
        packets[omitted]: Vec<u64>,
        /// Section of the documentation that explains the kind
        page: Text<'a>,
    }

    /// `tool`: a tool that sends packets of its own, and what it sent until now.
    pub struct ToolRecord<'a> in "tool_" {
        /// Name of the tool, and what it does
        name: Text<'a>,
        /// Whether fewer than five targets got SYNs, which then only resemble those of a scanner
        resembles: bool,
        /// Number of SYNs
        syns: u64,
        /// Number of different destination ports
        ports: u32,
        /// Number of different destination addresses, at most 1024
        hosts: u32,
        /// Whether there are more destination addresses
        has_more_hosts: bool,
        /// Time from the first SYN to the last one, in seconds
        duration: f64,
        /// The tool and what it sent as a sentence
        text: Text<'a>,
    }

    /// `connection`: the summary of a connection that ended.
    pub struct ConnectionRecord<'a> in "connection_" {
        /// Time of the first packet
        start: Timestamp,
        /// Time from the first packet to the last one, in seconds
        duration: f64,
        /// Packets of the client
        client_packets: u64,
        /// Packets of the server
        server_packets: u64,
        /// Bytes of the client
        client_bytes: u64,
        /// Bytes of the server
        server_bytes: u64,
        /// First server name or Host header
        host: Option<Text<'a>>,
        /// System of the client
        client_system: Option<Text<'a>>,
        /// System of the server
        server_system: Option<Text<'a>>,
        /// Software of the client
        client_software: Option<Text<'a>>,
        /// Software of the server
        server_software: Option<Text<'a>>,
        /// Software of the TLS client
        tls_client: Option<Text<'a>>,
        /// TLS version that the server selected
        tls_version in "tls_version": Option<Text<'a>>,
        /// SHA-256 of the server's certificate
        certificate_sha256[omitted]: Option<Text<'a>>,
        /// Subject of the server's certificate
        certificate_subject[omitted]: Option<Text<'a>>,
        /// JA4 of the first ClientHello
        ja4 in "ja4": Option<Ja4>,
        /// HASSH of the SSH client
        hassh in "hassh": Option<Text<'a>>,
        /// HASSHServer of the SSH server
        hassh_server: Option<Text<'a>>,
        /// Outcome of the last mismatch: `imitation`, `unexplained` or `proxy`
        mismatch in "mismatch_outcome": Option<Text<'a>>,
        /// Blind spots that the connection caused: what was not seen or not read of it
        blind_spots[omitted]: Vec<Text<'a>>,
    }

    /// `http_request`: the head of a request.
    pub struct HttpRequestRecord<'a> in "http_" {
        /// HTTP version
        version: Text<'a>,
        /// Number of the request in its connection, from 0; with HTTP/2 and HTTP/3 the stream identifier
        exchange: u32,
        /// True if header fields are missing, because the head exceeded a limit
        head_cut[omitted]: Option<bool>,
        /// True if it was sent encrypted, and read with a logged secret
        decrypted[omitted]: Option<bool>,
        /// Request method
        method: Text<'a>,
        /// Host header, or `:authority`
        host: Option<Text<'a>>,
        /// Path of the request
        path: Option<Text<'a>>,
        /// User-Agent header
        user_agent: Option<Text<'a>>,
        /// Preferred language
        language: Option<Text<'a>>,
        /// Signature in the syntax of p0f
        sig in "sig": Text<'a>,
        /// Label of the database entry; null without a match
        label in "label": Option<LabelRecord<'a>>,
        /// Remarks on the match
        params in "params": Text<'a>,
        /// System that the User-Agent header names
        claimed_os: Option<Text<'a>>,
        /// Whether it agrees with the system that TCP shows
        os_agrees: Option<bool>,
        /// Akamai HTTP/2 fingerprint
        akamai[omitted]: Option<Text<'a>>,
        /// MD5 of the Akamai fingerprint
        akamai_hash[omitted]: Option<Text<'a>>,
        /// HTTP/3 fingerprint: settings and pseudo-header fields
        http3[omitted] in "http3": Option<Text<'a>>,
        /// Software with this fingerprint; null without a match
        #[serde(deserialize_with = "present")]
        software[omitted] in "software": Option<Option<SoftwareRecord<'a>>>,
        /// Entries of the watch lists for the values of the event; null if there are none
        #[serde(deserialize_with = "present")]
        listed[omitted] in "listed": Option<Option<Vec<ListedRecord<'a>>>>,
    }

    /// `http_response`: the head of a response.
    pub struct HttpResponseRecord<'a> in "http_" {
        /// HTTP version
        version: Text<'a>,
        /// Number of the request in its connection, from 0; with HTTP/2 and HTTP/3 the stream identifier
        exchange: u32,
        /// True if header fields are missing, because the head exceeded a limit
        head_cut[omitted]: Option<bool>,
        /// True if it was sent encrypted, and read with a logged secret
        decrypted[omitted]: Option<bool>,
        /// Status code; null unless the status is three digits
        status: Option<u16>,
        /// Server header
        server_header in "http_server": Option<Text<'a>>,
        /// Signature in the syntax of p0f
        sig in "sig": Text<'a>,
        /// Label of the database entry; null without a match
        label in "label": Option<LabelRecord<'a>>,
        /// Remarks on the match
        params in "params": Text<'a>,
        /// System that the Server header names
        claimed_os: Option<Text<'a>>,
        /// Whether it agrees with the system that TCP shows
        os_agrees: Option<bool>,
    }

    /// The software behind a fingerprint.
    pub struct SoftwareRecord<'a> {
        /// Name and versions of the application, or of the library, as people write them
        name in "": Text<'a>,
        /// Library that the fingerprint names
        library: Option<Text<'a>>,
        /// Application that the fingerprint names
        application: Option<Text<'a>>,
        /// Versions of the application or the library
        versions: Option<Text<'a>>,
        /// The newest recorded version, and when it was recorded, if the newest range of versions is open
        recorded_to[omitted]: Option<Text<'a>>,
        /// Versions of the library, and when they were released
        library_age[omitted]: Option<Text<'a>>,
        /// All recorded clients with the fingerprint
        candidates: Vec<Text<'a>>,
        /// How the software was identified
        kind as "match": Text<'a>,
        /// What the hello has other than the recorded one
        variant[omitted]: Option<Text<'a>>,
        /// Browser that the hello imitates
        imitates[omitted]: Option<Text<'a>>,
        /// Fields of the hello that the imitated browser sends in another form
        differs[omitted]: Option<Vec<Text<'a>>>,
        /// The most similar known fingerprint, of a structural match
        nearest[omitted]: Option<NearestRecord<'a>>,
    }

    /// The most similar known fingerprint.
    pub struct NearestRecord<'a> {
        /// The fingerprint
        ja4_stable: Ja4,
        /// Its software
        name: Text<'a>,
        /// How it differs
        difference: Text<'a>,
    }

    /// An entry of a watch list.
    pub struct ListedRecord<'a> {
        /// The label, as the list has it
        label: Text<'a>,
        /// Whether the entry is watched: events `match` report it
        watch: bool,
    }

    /// `ssh_client`: the identification string and the algorithms of an SSH client.
    pub struct SshClientRecord<'a> in "ssh_" {
        /// SSH protocol version
        protocol_version: Text<'a>,
        /// Identification string
        banner: Text<'a>,
        /// HASSH
        hassh in "hassh": Option<Text<'a>>,
        /// The algorithms behind the hash
        hassh_algorithms in "hassh_algorithms": Option<Text<'a>>,
        /// Software with this fingerprint; null without a match
        software in "software": Option<SoftwareRecord<'a>>,
        /// Entries of the watch lists for the values of the event; null if there are none
        #[serde(deserialize_with = "present")]
        listed[omitted] in "listed": Option<Option<Vec<ListedRecord<'a>>>>,
    }

    /// `ssh_server`: the identification string and the algorithms of an SSH server.
    pub struct SshServerRecord<'a> in "ssh_" {
        /// SSH protocol version
        protocol_version: Text<'a>,
        /// Identification string
        banner: Text<'a>,
        /// HASSHServer
        hassh in "hassh": Option<Text<'a>>,
        /// The algorithms behind the hash
        hassh_algorithms in "hassh_algorithms": Option<Text<'a>>,
        /// Entries of the watch lists for the values of the event; null if there are none
        #[serde(deserialize_with = "present")]
        listed[omitted] in "listed": Option<Option<Vec<ListedRecord<'a>>>>,
    }

    /// `ssh_handshake`: the algorithms that SSH client and server agree on.
    pub struct SshHandshakeRecord<'a> in "ssh_" {
        /// Key exchange method; null if none agrees, as for the next fields
        kex: Option<Text<'a>>,
        /// Host key algorithm of the server
        host_key: Option<Text<'a>>,
        /// Cipher of what the client sends
        client_cipher: Option<Text<'a>>,
        /// Cipher of what the server sends
        server_cipher: Option<Text<'a>>,
        /// MAC of what the client sends; `<implicit>` if the cipher has its own
        client_mac: Option<Text<'a>>,
        /// MAC of what the server sends; `<implicit>` if the cipher has its own
        server_mac: Option<Text<'a>>,
        /// Compression of what the client sends
        client_compression: Option<Text<'a>>,
        /// Compression of what the server sends
        server_compression: Option<Text<'a>>,
        /// Whether the key exchange method resists quantum computers
        post_quantum: Option<bool>,
        /// Whether both sides announce strict key exchange
        strict_kex: bool,
        /// Whether a guessed first packet of the key exchange is `right` or `wrong`; null without one
        guess: Option<Text<'a>>,
    }

    /// `match`: a value of the event before it that a list watches.
    pub struct MatchRecord<'a> in "match_" {
        /// Name of the list
        list: Text<'a>,
        /// Line of the list; null in JSON documents
        line: Option<u32>,
        /// What the value was compared with: `ja4`, `host`, `ip` and others
        kind as "type": Text<'a>,
        /// Value, as the list has it
        value: Text<'a>,
        /// Label, as the list has it
        match_label in "match_label": Text<'a>,
        /// Kind of the event that has the value
        matched_event in "match_event": Text<'a>,
        /// Server name of the event
        sni in "tls_sni": Option<Text<'a>>,
        /// Host header of the event
        host in "http_host": Option<Text<'a>>,
        /// User-Agent header of the event
        user_agent in "http_user_agent": Option<Text<'a>>,
        /// JA4 of the event
        ja4 in "ja4": Option<Ja4>,
        /// Software that the event shows; null without a match
        software in "software": Option<SoftwareRecord<'a>>,
    }
}

/// The entries of watch lists; `None` without a list, `Some(None)` without an entry.
pub(super) fn listed(entries: Option<&[ListEntry]>) -> Option<Option<Vec<ListedRecord<'_>>>> {
    entries.map(|entries| {
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| ListedRecord { label: entry.label().into(), watch: entry.is_watched() })
            .collect();
        Some(entries).filter(|entries| !entries.is_empty())
    })
}

/// Reads a value that may be null, where an absent field says something else.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl<'a> From<&'a Label> for LabelRecord<'a> {
    #[inline]
    fn from(label: &'a Label) -> Self {
        Self {
            class: label.class.as_deref().unwrap_or("!").into(),
            name: (&*label.name).into(),
            flavor: label.flavor.as_deref().map(Into::into),
            generic: label.generic,
        }
    }
}

impl<'a> From<&'a TcpObservation> for TcpRecord<'a> {
    #[inline]
    fn from(observation: &'a TcpObservation) -> Self {
        let TcpObservation { signature, distance, params, link, .. } = observation;
        Self {
            sig: Text::tcp_signature(signature),
            label: observation.label().map(Into::into),
            fuzzy: params.fuzzy,
            fuzzy_reason: observation.fuzzy_reason().map(|reason| reason.name().into()),
            distance: distance.hops,
            params: Text::of(params),
            mtu: link.as_ref().map(|found| found.mtu.0),
            link: link.as_ref().and_then(|found| found.link.as_deref()).map(Into::into),
        }
    }
}

impl From<&UptimeObservation> for UptimeRecord {
    fn from(UptimeObservation { uptime }: &UptimeObservation) -> Self {
        Self {
            minutes: uptime.minutes,
            modulo_days: uptime.modulo_days(),
            frequency_hz: uptime.frequency,
            raw_frequency_hz: uptime.clock.raw_frequency(),
        }
    }
}

impl<'a> From<&'a ChangeObservation> for ChangeRecord<'a> {
    fn from(observation: &'a ChangeObservation) -> Self {
        match observation {
            ChangeObservation::Systems { from, to } => Self { from: Some(from.into()), to: Some(to.into()) },
            ChangeObservation::Scores { .. } => Self { from: None, to: None },
        }
    }
}

impl<'a> From<&'a Consistency> for MismatchRecord<'a> {
    fn from(Consistency { outcome, reasons, .. }: &'a Consistency) -> Self {
        let text = |reason: &ConsistencyReason| Escaped(reason.to_string().as_bytes()).to_string();
        let reasons = reasons.iter().map(|reason| Arc::<str>::from(text(reason)).into()).collect();
        Self { outcome: outcome.name().into(), reasons }
    }
}

impl<'a> FindingRecord<'a> {
    /// Describes an alert, without what its kind alone has.
    pub(super) fn new(alert: &Alert<'a>) -> Self {
        Self {
            finding: alert.kind().name().into(),
            reason: Text::owned(alert.reason().to_string()),
            packets: alert.packets().to_vec(),
            page: alert.kind().page().into(),
            ..Self::default()
        }
    }

    /// Adds the numbers of a scan.
    fn with_scan(self, scan: &'a ScanFinding) -> Self {
        let scanned = match &scan.target {
            ScanTarget::Host(_) => "ports",
            ScanTarget::Ports(_) => "hosts",
        };
        Self {
            scanned: Some(scanned.into()),
            target: Some(Text::of(&scan.target)),
            targets: Some(scan.targets),
            answered: Some(scan.answered),
            syns: Some(scan.syns),
            duration: Some(scan.duration()),
            tool: scan.tool.as_deref().map(Text::of),
            ..self
        }
    }

    /// Adds the numbers of a beacon.
    fn with_beacon(self, beacon: &'a BeaconFinding) -> Self {
        let target = match &beacon.target {
            BeaconTarget::Name(name) => Text::wire(name),
            BeaconTarget::Address(address) => Text::of(address),
        };
        Self {
            target: Some(target),
            contacts: Some(beacon.contacts),
            period: Some(beacon.period()),
            jitter: Some(beacon.jitter()),
            application: beacon.software.as_ref().map(Into::into),
            user_agent: beacon.user_agent.as_deref().map(Text::wire),
            service: beacon.service.as_ref().map(Text::of),
            ..self
        }
    }
}

impl<'a> FindingRecord<'a> {
    /// Adds the names of a certificate.
    fn with_certificate(self, names: Option<&'a CertificateNames>) -> Self {
        Self {
            certificate_subject: names.map(|names| (&*names.subject).into()),
            certificate_issuer: names.map(|names| (&*names.issuer).into()),
            ..self
        }
    }

    /// Adds what the kind of a conclusion alone has.
    pub(super) fn with_finding(self, finding: &'a Finding) -> Self {
        match &finding.kind {
            FindingKind::Scan(scan) => self.with_scan(scan),
            FindingKind::BruteForce(found) => Self {
                target: Some(Text::of(&found.server)),
                attempts: Some(found.attempts),
                duration: Some(found.duration()),
                login: Some(found.has_login),
                ..self
            },
            FindingKind::Beacon(beacon) => self.with_beacon(beacon),
            FindingKind::UnusualServer(found) => Self {
                target: Some(Text::of(&found.server)),
                contacts: Some(found.connections),
                marks: found.marks.iter().map(|mark| mark.name().into()).collect(),
                ..self.with_certificate(found.certificate.as_ref())
            },
            FindingKind::C2Certificate(found) => Self {
                target: Some(Text::of(&found.server)),
                program: Some(found.program.into()),
                ..self.with_certificate(Some(&found.certificate))
            },
            FindingKind::Contradiction(_) | FindingKind::Imitation(_) => self,
            FindingKind::NewFingerprint(found) => Self {
                kind: Some(found.kind.name().into()),
                value: Some((&*found.value).into()),
                known: Some(found.known),
                since: found.since,
                baseline: Some((&*found.baseline).into()),
                ..self
            },
        }
    }
}

impl From<&ToolObservation> for ToolRecord<'_> {
    fn from(found: &ToolObservation) -> Self {
        let ToolObservation { label, resembles, syns, ports, hosts, has_more_hosts, .. } = found;
        Self {
            name: Text::owned(Arc::clone(label)),
            resembles: *resembles,
            syns: *syns,
            ports: *ports,
            hosts: *hosts,
            has_more_hosts: *has_more_hosts,
            duration: found.duration(),
            text: Text::owned(found.clone()),
        }
    }
}

impl<'a> ConnectionRecord<'a> {
    pub(super) fn new(connection: &'a Connection, texts: &mut LimitedTexts<'a, '_>) -> Self {
        if connection.host_is_cut {
            texts.cut.push("host".into());
        }
        Self {
            start: connection.start,
            duration: connection.duration(),
            client_packets: connection.client.packets,
            server_packets: connection.server.packets,
            client_bytes: connection.client.bytes,
            server_bytes: connection.server.bytes,
            host: connection.host.as_deref().map(Text::wire),
            client_system: connection.client_system.as_ref().map(Text::of),
            server_system: connection.server_system.as_ref().map(Text::of),
            client_software: connection.client_software.as_deref().map(Into::into),
            server_software: connection.server_software.as_ref().map(Text::of),
            tls_client: connection.tls_client.as_ref().map(|found| Text::of(&*found.software)),
            tls_version: connection.tls_version.map(Text::version),
            certificate_sha256: connection.certificate.as_ref().map(|found| Text::digits(found.sha256())),
            certificate_subject: connection
                .certificate
                .as_ref()
                .and_then(|found| found.fields()?.subject.as_ref())
                .map(|subject| texts.of("certificate_subject", subject.len(), subject)),
            ja4: connection.ja4,
            hassh: connection.hassh.as_ref().map(Text::of),
            hassh_server: connection.hassh_server.as_ref().map(Text::of),
            mismatch: connection.mismatch.map(|outcome| outcome.name().into()),
            blind_spots: connection.blind_spots.iter().map(|name| (*name).into()).collect(),
        }
    }
}

impl<'a> MatchRecord<'a> {
    pub(super) fn new(found: &'a Match, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let Match {
            list, line, kind, value, label, event, server_name, host, user_agent, ja4, software, ..
        } = found;
        let mut wire =
            |field, text: &'a Option<Box<[u8]>>| text.as_deref().map(|text| texts.wire(field, text));
        Self {
            list: list.into(),
            line: *line,
            kind: kind.name().into(),
            value: value.into(),
            match_label: label.into(),
            matched_event: (*event).into(),
            sni: wire("sni", server_name),
            host: wire("host", host),
            user_agent: wire("user_agent", user_agent),
            ja4: *ja4,
            software: software.clone().map(Into::into),
        }
    }
}

impl<'a> HttpRequestRecord<'a> {
    #[inline(always)]
    pub(super) fn new(observation: &'a HttpRequestObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let HttpRequestObservation { request, exchange, akamai, software, http3, verdict, .. } = observation;
        let tag = request.language().map(|tag| language::name(tag).unwrap_or(tag).as_bytes());
        Self {
            version: request.version().name().into(),
            exchange: *exchange,
            head_cut: request.headers().is_cut().then_some(true),
            decrypted: observation.decrypted.then_some(true),
            method: texts.wire("method", request.method()),
            host: request.host().map(|host| texts.wire("host", host)),
            path: request.path().map(|path| texts.wire("path", path)),
            user_agent: request.user_agent().map(|text| texts.wire("user_agent", text)),
            language: tag.map(|tag| texts.wire("language", tag)),
            sig: texts.http_signature("sig", verdict),
            label: verdict.label().map(Into::into),
            params: Text::of(&verdict.params),
            claimed_os: verdict.system.claimed.as_ref().map(Into::into),
            os_agrees: verdict.system.agrees,
            akamai: akamai.as_deref().map(|akamai| texts.of("akamai", usize::MAX, akamai)),
            akamai_hash: akamai.as_deref().map(|akamai| Text::md5(akamai.hash().0)),
            http3: http3.as_deref().map(|found| texts.of("http3", usize::MAX, found)),
            software: (akamai.is_some() || http3.is_some()).then(|| software.clone().map(Into::into)),
            listed: listed(observation.clients.listed()),
        }
    }
}

impl<'a> HttpResponseRecord<'a> {
    #[inline(always)]
    pub(super) fn new(observation: &'a HttpResponseObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let HttpResponseObservation { response, exchange, decrypted, verdict } = observation;
        Self {
            version: response.version().name().into(),
            exchange: *exchange,
            head_cut: response.headers().is_cut().then_some(true),
            decrypted: decrypted.then_some(true),
            status: response.status(),
            server_header: response.server().map(|server| texts.wire("server_header", server)),
            sig: texts.http_signature("sig", verdict),
            label: verdict.label().map(Into::into),
            params: Text::of(&verdict.params),
            claimed_os: verdict.system.claimed.as_ref().map(Into::into),
            os_agrees: verdict.system.agrees,
        }
    }
}

impl From<ClientMatch> for SoftwareRecord<'_> {
    fn from(found: ClientMatch) -> Self {
        let ClientMatch { software, kind, variant, nearest, .. } = found;
        let Software {
            library, application, versions, recorded_to, candidates, imitation, library_age, ..
        } = &*software;
        let fields =
            |imitation: &BrowserImitation| imitation.fields.iter().map(|field| field.name().into()).collect();
        Self {
            name: Text::shared(Arc::clone(&software)),
            library: library.clone().map(Into::into),
            application: application.clone().map(Into::into),
            versions: versions.clone().map(Into::into),
            recorded_to: recorded_to.clone().map(Into::into),
            library_age: library_age.clone().map(Text::owned),
            candidates: candidates.iter().map(|name| Arc::clone(name).into()).collect(),
            kind: kind.name().into(),
            variant: variant.map(Text::owned),
            imitates: imitation.as_ref().map(|imitation| imitation.browser.name().into()),
            differs: imitation.as_ref().map(fields),
            nearest: nearest.map(Into::into),
        }
    }
}

impl From<Arc<NearestClient>> for NearestRecord<'_> {
    fn from(nearest: Arc<NearestClient>) -> Self {
        Self {
            ja4_stable: nearest.ja4_stable,
            name: Text::owned(Arc::clone(&nearest.software)),
            difference: Text::owned(nearest.difference.clone()),
        }
    }
}

/// The identification string of an SSH peer, its hash, and the algorithms behind it.
fn ssh_fields<'a>(
    peer: &'a SshPeer,
    texts: &mut LimitedTexts<'a, '_>,
) -> (Text<'a>, Text<'a>, Option<Text<'a>>, Option<Text<'a>>) {
    let identification = &peer.identification;
    let algorithms = peer.hassh_algorithms();
    (
        texts.wire("protocol_version", identification.protocol_version()),
        texts.wire("banner", identification.as_bytes()),
        algorithms.as_ref().map(|algorithms| Text::md5(algorithms.hash().0)),
        algorithms.map(|algorithms| texts.owned_wire("hassh_algorithms", &algorithms.to_bytes())),
    )
}

impl<'a> SshClientRecord<'a> {
    pub(super) fn new(observation: &'a SshClientObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let (protocol_version, banner, hassh, hassh_algorithms) = ssh_fields(&observation.peer, texts);
        let software = observation.software().map(Into::into);
        Self {
            protocol_version,
            banner,
            hassh,
            hassh_algorithms,
            software,
            listed: listed(observation.clients.listed()),
        }
    }
}

impl<'a> SshServerRecord<'a> {
    pub(super) fn new(observation: &'a SshServerObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let (protocol_version, banner, hassh, hassh_algorithms) = ssh_fields(&observation.peer, texts);
        Self {
            protocol_version,
            banner,
            hassh,
            hassh_algorithms,
            listed: listed(observation.clients.listed()),
        }
    }
}

impl<'a> SshHandshakeRecord<'a> {
    pub(super) fn new(observation: &'a SshHandshakeObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        let negotiation = &observation.negotiation;
        let mut text = |field, name: Option<&'a [u8]>| name.map(|name| texts.wire(field, name));
        Self {
            kex: text("kex", negotiation.kex()),
            host_key: text("host_key", negotiation.host_key()),
            client_cipher: text("client_cipher", negotiation.cipher(Side::Client)),
            server_cipher: text("server_cipher", negotiation.cipher(Side::Server)),
            client_mac: text("client_mac", negotiation.mac(Side::Client)),
            server_mac: text("server_mac", negotiation.mac(Side::Server)),
            client_compression: text("client_compression", negotiation.compression(Side::Client)),
            server_compression: text("server_compression", negotiation.compression(Side::Server)),
            post_quantum: negotiation.is_post_quantum(),
            strict_kex: negotiation.is_strict_kex(),
            guess: negotiation.guess().map(KexGuess::name).map(Into::into),
        }
    }
}
