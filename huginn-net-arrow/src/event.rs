//! Events as rows.

use std::fmt::Display;

use huginn_net::consistency::Consistency;
use huginn_net::core::Conflict;
use huginn_net::db::ClientMatch;
use huginn_net::finding::{
    ChangeFinding, Connection, HttpRequestFinding, HttpResponseFinding, HttpVerdict, MtuFinding, TcpFinding,
    TlsClientFinding, UptimeFinding,
};
use huginn_net::finding::{CutFields, TextLimit};
use huginn_net::http::{Headers, language};
use huginn_net::record::event_name;
use huginn_net::ssh::SshPeer;
use huginn_net::tls::names::cipher_suite;
use huginn_net::tls::{Ja4Form, TlsClient, TlsServer, Version};
use huginn_net::{Escaped, Event, Finding, Label, Timestamp};

use crate::column::{Int, Text, Time};
use crate::schema::Columns;

impl Columns {
    /// Sets what the finding of an event shows. The builder of the batch sets the columns of the flow.
    pub(crate) fn set_finding(&mut self, row: usize, event: &Event) {
        set_time(&mut self.ts, &mut self.ts_nanos, row, event.ts);
        self.event.set(row, event_name(&event.kind));
        self.packet.set(row, i64::try_from(event.packet_number).unwrap_or(i64::MAX));
        self.conflict.set_some(row, event.conflict.map(Conflict::as_str));
        self.subject.set(row, event.subject.choose("client", "server"));
        if let Some(entries) = event.kind.listed().filter(|entries| !entries.is_empty()) {
            self.listed_labels.set(row, entries.iter().map(|entry| entry.label()));
            self.listed_watch.set(row, entries.iter().map(|entry| entry.is_watched()));
        }
        let mut texts = Texts { limit: event.kind.text_limit(), cut: CutFields::default(), row };
        match &event.kind {
            Finding::Tcp(finding) => self.set_tcp(row, finding),
            Finding::Mtu(MtuFinding { mtu, link, .. }) => {
                self.mtu.set(row, i32::try_from(mtu.0).unwrap_or(i32::MAX));
                self.mtu_link.set_some(row, link.as_deref());
            }
            Finding::HttpRequest(finding) => self.set_request(row, finding, &mut texts),
            Finding::HttpResponse(finding) => self.set_response(row, finding, &mut texts),
            Finding::TlsClient(finding) => self.set_tls_client(row, finding, &mut texts),
            Finding::TlsServer(finding) => self.set_tls_server(row, &finding.server, &mut texts),
            Finding::SshClient(finding) => {
                self.set_ssh(row, &finding.peer, &mut texts);
                self.set_software(row, finding.software().as_ref());
            }
            Finding::SshServer(finding) => self.set_ssh(row, &finding.peer, &mut texts),
            Finding::Uptime(UptimeFinding { clock, .. }) => {
                self.uptime_minutes.set(row, clock.uptime_minutes().into());
                self.uptime_modulo_days.set(row, clock.modulo_days().into());
                self.uptime_frequency_hz.set(row, clock.frequency().into());
                self.uptime_raw_frequency_hz.set(row, clock.raw_frequency());
            }
            Finding::HostChange(ChangeFinding { reasons, hits, .. })
            | Finding::IpSharing(ChangeFinding { reasons, hits, .. }) => {
                self.change_reasons.set(row, reasons.names());
                self.change_hits.set(row, hits.map(i32::from));
            }
            Finding::Mismatch(Consistency { outcome, reasons, .. }) => {
                self.mismatch_outcome.set_display(row, outcome);
                self.mismatch_reasons.set(row, reasons.iter().map(|reason| Escaped(reason.as_bytes())));
            }
            Finding::Conflict(reason) => {
                self.finding.set(row, "conflict");
                self.finding_reason.set(row, reason.as_str());
            }
            Finding::Connection(connection) => {
                self.set_connection(row, connection);
                if connection.host_is_cut {
                    texts.cut.add("host");
                }
            }
            // A test compares the columns with the JSON of all kinds.
            _ => {}
        }
        if !texts.cut.is_empty() {
            self.cut.set(row, texts.cut.names());
        }
        if !matches!(event.kind, Finding::TlsClient(_) | Finding::TlsServer(_)) {
            self.transport.set(row, event.flow.transport.name());
        }
    }

    fn set_tcp(&mut self, row: usize, finding: &TcpFinding) {
        let TcpFinding { signature, distance, params, .. } = finding;
        self.sig.set_display(row, signature);
        self.set_label(row, finding.label());
        self.params.set_display(row, params);
        self.tcp_fuzzy.set(row, params.fuzzy);
        self.tcp_distance.set(row, distance.hops.into());
    }

    fn set_label(&mut self, row: usize, label: Option<&Label>) {
        let Some(label) = label else { return };
        self.label_class.set(row, label.class.as_deref().unwrap_or("!"));
        self.label_name.set(row, &label.name);
        self.label_flavor.set_some(row, label.flavor.as_deref());
        self.label_generic.set(row, label.generic);
    }

    fn set_request(&mut self, row: usize, finding: &HttpRequestFinding, texts: &mut Texts) {
        let HttpRequestFinding { request, exchange, akamai, software, verdict, .. } = finding;
        self.http_version.set_display(row, request.version());
        self.http_exchange.set(row, (*exchange).into());
        self.set_head_cut(row, request.headers());
        texts.wire(&mut self.http_method, "method", Some(request.method()));
        texts.wire(&mut self.http_host, "host", request.host());
        texts.wire(&mut self.http_path, "path", request.path());
        texts.wire(&mut self.http_user_agent, "user_agent", request.user_agent());
        let language = request.language().map(|tag| language::name(tag).unwrap_or(tag));
        texts.wire(&mut self.http_language, "language", language.map(str::as_bytes));
        self.set_verdict(row, verdict, texts);
        if let Some(akamai) = akamai {
            texts.display(&mut self.http_akamai, "akamai", akamai);
            self.http_akamai_hash.set_display(row, akamai.hash());
            self.set_software(row, software.as_ref());
        }
    }

    fn set_response(&mut self, row: usize, finding: &HttpResponseFinding, texts: &mut Texts) {
        let HttpResponseFinding { response, exchange, verdict, .. } = finding;
        self.http_version.set_display(row, response.version());
        self.http_exchange.set(row, (*exchange).into());
        self.set_head_cut(row, response.headers());
        self.http_status.set(row, response.status().into());
        texts.wire(&mut self.http_server, "server_header", response.server());
        self.set_verdict(row, verdict, texts);
    }

    fn set_head_cut(&mut self, row: usize, headers: &Headers) {
        if headers.is_cut() {
            self.http_head_cut.set(row, true);
        }
    }

    fn set_verdict(&mut self, row: usize, verdict: &HttpVerdict, texts: &mut Texts) {
        texts.display(&mut self.sig, "sig", verdict.raw_sig());
        self.set_label(row, verdict.label());
        self.params.set_display(row, verdict.params);
        self.http_claimed_os.set_some(row, verdict.system.claimed.as_deref());
        if let Some(agrees) = verdict.system.agrees {
            self.http_os_agrees.set(row, agrees);
        }
    }

    fn set_software(&mut self, row: usize, found: Option<&ClientMatch>) {
        let Some(ClientMatch { software, kind, nearest, .. }) = found else { return };
        self.software_library.set_some(row, software.library.as_deref());
        self.software_application.set_some(row, software.application.as_deref());
        self.software_versions.set_some(row, software.versions.as_deref());
        let candidates = software.candidates.iter().map(|text| Escaped(text.as_bytes()));
        self.software_candidates.set(row, candidates);
        self.software_match.set_display(row, kind);
        if let Some(nearest) = nearest {
            self.software_nearest_ja4_s1.set_display(row, nearest.ja4_s1);
            self.software_nearest_name.set_display(row, &nearest.software);
            self.software_nearest_difference.set_display(row, &nearest.difference);
        }
    }

    fn set_ssh(&mut self, row: usize, peer: &SshPeer, texts: &mut Texts) {
        let SshPeer { identification, .. } = peer;
        texts.wire(&mut self.ssh_protocol, "protocol", Some(identification.protocol_version()));
        texts.wire(&mut self.ssh_banner, "banner", Some(identification.as_bytes()));
        if let Some(algorithms) = peer.hassh_algorithms() {
            self.hassh.set_display(row, algorithms.hash());
            let text = algorithms.to_bytes();
            texts.wire(&mut self.hassh_algorithms, "hassh_algorithms", Some(&text));
        }
    }

    fn set_tls_client(&mut self, row: usize, finding: &TlsClientFinding, texts: &mut Texts) {
        let TlsClient { hello, retry, .. } = &finding.client;
        self.transport.set_display(row, hello.transport());
        self.set_tls_version(row, hello.version());
        texts.wire(&mut self.tls_sni, "sni", hello.server_name());
        let fitting = texts.limit.fitting(hello.alpn());
        if hello.alpn().nth(fitting).is_some() {
            texts.cut.add("alpn");
        }
        self.tls_alpn.set(row, hello.alpn().take(fitting).map(Escaped));
        self.tls_ech.set(row, hello.has_ech());
        self.tls_retry.set(row, *retry);
        for (form, hashes, values, name_of_values) in [
            (Ja4Form::Sorted, &mut self.ja4, &mut self.ja4_r, "ja4_r"),
            (Ja4Form::Original, &mut self.ja4_o, &mut self.ja4_ro, "ja4_ro"),
            (Ja4Form::SessionStable, &mut self.ja4_s1, &mut self.ja4_s1r, "ja4_s1r"),
        ] {
            let raw = hello.ja4_raw(form);
            hashes.set_display(row, raw.ja4());
            texts.display(values, name_of_values, raw.as_str());
        }
        let ja3 = hello.ja3();
        texts.display(&mut self.ja3, "ja3", ja3.as_str());
        self.ja3_hash.set_display(row, ja3.hash());
        self.set_software(row, finding.software().as_ref());
    }

    fn set_tls_version(&mut self, row: usize, version: Version) {
        self.tls_version.set_display(row, version);
        self.tls_version_name.set_some(row, version.name());
    }

    fn set_tls_server(&mut self, row: usize, server: &TlsServer, texts: &mut Texts) {
        let TlsServer { hello, .. } = server;
        self.transport.set_display(row, hello.transport());
        self.set_tls_version(row, hello.version());
        self.tls_cipher.set_display(row, format_args!("{:04x}", hello.cipher_suite()));
        self.tls_cipher_name.set_some(row, cipher_suite(hello.cipher_suite()));
        if let Some(protocol) = hello.alpn() {
            self.tls_alpn.set(row, [Escaped(protocol)]);
        }
        self.tls_retry.set(row, hello.is_retry_request());
        let ja3s = hello.ja3s();
        texts.display(&mut self.ja3s, "ja3s", ja3s.as_str());
        self.ja3s_hash.set_display(row, ja3s.hash());
    }

    fn set_connection(&mut self, row: usize, connection: &Connection) {
        set_time(&mut self.connection_start, &mut self.connection_start_nanos, row, connection.start);
        self.connection_duration.set(row, connection.duration());
        for (packets, bytes, traffic) in [
            (&mut self.connection_client_packets, &mut self.connection_client_bytes, &connection.client),
            (&mut self.connection_server_packets, &mut self.connection_server_bytes, &connection.server),
        ] {
            packets.set(row, i64::try_from(traffic.packets).unwrap_or(i64::MAX));
            bytes.set(row, i64::try_from(traffic.bytes).unwrap_or(i64::MAX));
        }
        self.connection_host.set_some_display(row, connection.host.as_deref().map(Escaped));
        self.connection_client_system.set_some_display(row, connection.client_system.as_deref());
        self.connection_server_system.set_some_display(row, connection.server_system.as_deref());
        self.connection_client_software.set_some(row, connection.client_software.as_deref());
        self.connection_server_software.set_some_display(row, connection.server_software.as_deref());
        let tls_client = connection.tls_client.as_ref().map(|found| &found.software);
        self.connection_tls_client.set_some_display(row, tls_client);
        if let Some(version) = connection.tls_version {
            self.set_tls_version(row, version);
        }
        self.ja4.set_some_display(row, connection.ja4);
        self.hassh.set_some_display(row, connection.hassh);
        self.connection_hassh_server.set_some_display(row, connection.hassh_server);
        self.mismatch_outcome.set_some_display(row, connection.mismatch);
    }
}

/// Sets the texts of a row, and records those that it cuts.
struct Texts {
    limit: TextLimit,
    cut: CutFields,
    row: usize,
}

impl Texts {
    /// Sets captured bytes.
    fn wire(&mut self, column: &mut Text, name: &str, value: Option<&[u8]>) {
        let Some(value) = value else { return };
        let (start, is_cut) = self.limit.cut(value);
        column.set_display(self.row, Escaped(start));
        if is_cut {
            self.cut.add(name);
        }
    }

    /// Sets a [`Display`] text.
    fn display(&mut self, column: &mut Text, name: &str, value: impl Display) {
        if column.set_limited(self.row, value, self.limit) {
            self.cut.add(name);
        }
    }
}

/// Sets a time: microseconds, and the nanoseconds within the microsecond.
pub(crate) fn set_time(micros: &mut Time, nanos: &mut Int, row: usize, ts: Timestamp) {
    let total = ts.as_nanos();
    // 64-bit nanoseconds are 51-bit microseconds.
    micros.set(row, i64::try_from(total / 1000).unwrap_or(i64::MAX));
    nanos.set(row, i32::try_from(total % 1000).unwrap_or(0));
}
