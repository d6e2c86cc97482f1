//! Events as rows.

use huginn_net::consistency::Consistency;
use huginn_net::core::TransportKind;
use huginn_net::db::ClientMatch;
use huginn_net::finding::{
    ChangeFinding, Connection, HttpRequestFinding, HttpResponseFinding, HttpVerdict, MtuFinding, TcpFinding,
    TlsClientFinding, UptimeFinding,
};
use huginn_net::http::language;
use huginn_net::json::event_name;
use huginn_net::ssh::SshPeer;
use huginn_net::tls::{Ja4Form, TlsClient, TlsServer};
use huginn_net::{Escaped, Event, Finding, Label, Timestamp};

use crate::column::{Int, Time};
use crate::schema::Columns;

impl Columns {
    /// Sets what the finding of an event shows. The builder of the batch sets the columns of the flow.
    pub(crate) fn set_finding(&mut self, row: usize, event: &Event) {
        set_time(&mut self.ts, &mut self.ts_nanos, row, event.ts);
        self.event.set(row, event_name(&event.kind));
        self.packet.set(row, i64::try_from(event.packet_number).unwrap_or(i64::MAX));
        self.subject.set(row, event.subject.choose("client", "server"));
        match &event.kind {
            Finding::Tcp(finding) => self.set_tcp(row, finding),
            Finding::Mtu(MtuFinding { mtu, link, .. }) => {
                self.mtu.set(row, i32::try_from(mtu.0).unwrap_or(i32::MAX));
                self.mtu_link.set_some(row, link.as_deref());
            }
            Finding::HttpRequest(finding) => self.set_request(row, finding),
            Finding::HttpResponse(finding) => self.set_response(row, finding),
            Finding::TlsClient(finding) => self.set_tls_client(row, finding),
            Finding::TlsServer(server) => self.set_tls_server(row, server),
            Finding::SshClient(finding) => {
                self.set_ssh(row, &finding.peer);
                self.set_software(row, finding.software().as_ref());
            }
            Finding::SshServer(peer) => self.set_ssh(row, peer),
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
            Finding::Connection(connection) => self.set_connection(row, connection),
            // A test compares the columns with the JSON of all kinds.
            _ => {}
        }
        if !matches!(event.kind, Finding::TlsClient(_) | Finding::TlsServer(_)) {
            let transport = match event.flow.transport {
                TransportKind::Tcp => "tcp",
                TransportKind::Udp => "udp",
            };
            self.transport.set(row, transport);
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

    fn set_request(&mut self, row: usize, finding: &HttpRequestFinding) {
        let HttpRequestFinding { request, exchange, akamai, software, verdict, .. } = finding;
        self.http_version.set_display(row, request.version());
        self.http_exchange.set(row, (*exchange).into());
        self.http_method.set_display(row, Escaped(request.method()));
        self.http_host.set_some_display(row, request.host().map(Escaped));
        self.http_path.set_some_display(row, request.path().map(Escaped));
        self.http_user_agent.set_some_display(row, request.user_agent().map(Escaped));
        let language = request.language().map(|tag| language::name(tag).unwrap_or(tag));
        self.http_language.set_some(row, language);
        self.set_verdict(row, verdict);
        if let Some(akamai) = akamai {
            self.http_akamai.set_display(row, akamai);
            self.http_akamai_hash.set_display(row, akamai.hash());
            self.set_software(row, software.as_ref());
        }
    }

    fn set_response(&mut self, row: usize, finding: &HttpResponseFinding) {
        let HttpResponseFinding { response, exchange, verdict, .. } = finding;
        self.http_version.set_display(row, response.version());
        self.http_exchange.set(row, (*exchange).into());
        self.http_status.set(row, response.status().into());
        self.http_server.set_some_display(row, response.server().map(Escaped));
        self.set_verdict(row, verdict);
    }

    fn set_verdict(&mut self, row: usize, verdict: &HttpVerdict) {
        self.sig.set_display(row, verdict.raw_sig());
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

    fn set_ssh(&mut self, row: usize, peer: &SshPeer) {
        self.ssh_protocol.set_display(row, Escaped(peer.identification.protocol_version()));
        self.ssh_banner.set_display(row, Escaped(peer.identification.as_bytes()));
        if let Some(algorithms) = peer.hassh_algorithms() {
            self.hassh.set_display(row, algorithms.hash());
            self.hassh_algorithms.set_display(row, Escaped(&algorithms.to_bytes()));
        }
    }

    fn set_tls_client(&mut self, row: usize, finding: &TlsClientFinding) {
        let TlsClient { hello, retry, .. } = &finding.client;
        self.transport.set_display(row, hello.transport());
        self.tls_version.set_display(row, hello.version());
        self.tls_sni.set_some_display(row, hello.server_name().map(Escaped));
        self.tls_alpn.set(row, hello.alpn().map(Escaped));
        self.tls_ech.set(row, hello.has_ech());
        self.tls_retry.set(row, *retry);
        for (form, hashes, values) in [
            (Ja4Form::Sorted, &mut self.ja4, &mut self.ja4_r),
            (Ja4Form::Original, &mut self.ja4_o, &mut self.ja4_ro),
            (Ja4Form::SessionStable, &mut self.ja4_s1, &mut self.ja4_s1r),
        ] {
            let raw = hello.ja4_raw(form);
            hashes.set_display(row, raw.ja4());
            values.set_display(row, raw);
        }
        let ja3 = hello.ja3();
        self.ja3.set(row, ja3.as_str());
        self.ja3_hash.set_display(row, ja3.hash());
        self.set_software(row, finding.software().as_ref());
        if let Some(entries) = finding.listed().filter(|entries| !entries.is_empty()) {
            self.listed_labels.set(row, entries.iter().map(|entry| entry.label()));
            self.listed_watch.set(row, entries.iter().map(|entry| entry.is_watched()));
        }
    }

    fn set_tls_server(&mut self, row: usize, server: &TlsServer) {
        let TlsServer { hello, .. } = server;
        self.transport.set_display(row, hello.transport());
        self.tls_version.set_display(row, hello.version());
        self.tls_cipher.set_display(row, format_args!("{:04x}", hello.cipher_suite()));
        if let Some(protocol) = hello.alpn() {
            self.tls_alpn.set(row, [Escaped(protocol)]);
        }
        self.tls_retry.set(row, hello.is_retry_request());
        let ja3s = hello.ja3s();
        self.ja3s.set(row, ja3s.as_str());
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
        self.tls_version.set_some_display(row, connection.tls_version);
        self.ja4.set_some_display(row, connection.ja4);
        self.hassh.set_some_display(row, connection.hassh);
        self.connection_hassh_server.set_some_display(row, connection.hassh_server);
        self.mismatch_outcome.set_some_display(row, connection.mismatch);
    }
}

/// Sets a time: microseconds, and the nanoseconds within the microsecond.
pub(crate) fn set_time(micros: &mut Time, nanos: &mut Int, row: usize, ts: Timestamp) {
    let total = ts.as_nanos();
    // 64-bit nanoseconds are 51-bit microseconds.
    micros.set(row, i64::try_from(total / 1000).unwrap_or(i64::MAX));
    nanos.set(row, i32::try_from(total % 1000).unwrap_or(0));
}
