//! Metric families of `--metrics`, mapped to the JSON keys of `--stats-interval`.

use prometheus_client::metrics::MetricType;

/// Metric family.
pub(super) struct Family {
    /// Name without the common prefix and without `_total`.
    pub(super) name: &'static str,
    /// Help text.
    pub(super) help: &'static str,
    pub(super) kind: Kind,
    pub(super) members: &'static [Member],
}

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

impl Kind {
    pub(super) fn metric_type(self) -> MetricType {
        match self {
            Self::Counter => MetricType::Counter,
            Self::Gauge => MetricType::Gauge,
        }
    }
}

/// Metric of a family.
pub(super) struct Member {
    /// JSON pointer (RFC 6901) into the object of `--stats-interval`.
    pub(super) path: &'static str,
    /// Label that distinguishes the metric within its family.
    pub(super) label: Option<(&'static str, &'static str)>,
}

macro_rules! members {
    ($path:literal) => {
        &[Member { path: $path, label: None }]
    };
    ($label:ident: $($value:ident $path:literal),+) => {
        &[$(Member { path: $path, label: Some((stringify!($label), stringify!($value))) }),+]
    };
}

macro_rules! families {
    ($($kind:ident $name:ident $help:literal { $($members:tt)+ })+) => {
        &[$(Family {
            name: stringify!($name),
            help: $help,
            kind: Kind::$kind,
            members: members!($($members)+),
        }),+]
    };
}

/// All families except those of interfaces and latency.
pub(super) const FAMILIES: &[Family] = families! {
    Counter frames "Frames analysed" { "/frames" }
    Counter captured_bytes "Captured bytes in the frames" { "/bytes" }
    Counter frames_filtered "Frames excluded by the filter expression" { "/frames_filtered" }
    Counter frames_decoded "Frames handed to decode" { "/decode/frames" }
    Counter packets_aggregated "Packets beyond the first of frames that carry several"
        { "/decode/aggregated" }
    Counter segments "TCP segments and UDP datagrams decoded" { protocol:
        tcp "/decode/tcp", udp "/decode/udp" }
    Counter packets_ignored "Complete packets that are neither TCP nor UDP" { kind:
        arp "/decode/arp", icmp "/decode/icmp", other_transport "/decode/other_transport",
        not_data "/decode/not_data", encrypted "/decode/encrypted" }
    Counter decode_failures "Packets that could not be decoded" { reason:
        unknown_link "/decode/unknown_link", unknown_ethertype "/decode/unknown_ethertype",
        link_fragment "/decode/link_fragment", too_deep "/decode/too_deep",
        truncated_snaplen "/decode/truncated_snaplen", bad_header "/decode/bad_header",
        bad_fragment "/decode/bad_fragment" }
    Counter payloads_truncated "Segments with a payload cut by the snap length"
        { "/decode/truncated_payload" }
    Counter bad_checksums "Packets with a wrong checksum; transport checksums count only if verified" { layer:
        ip "/decode/bad_ip_checksum", transport "/decode/bad_transport_checksum" }
    Counter fragments_buffered "Fragments that did not complete their datagram"
        { "/decode/fragments_buffered" }
    Counter datagrams_reassembled "Datagrams reassembled from fragments" { "/decode/reassembled" }
    Counter datagrams_conflicting "Reassembled datagrams whose fragments overlap with different content"
        { "/decode/fragment_conflicts" }
    Counter datagrams_given_up "Incomplete fragmented datagrams discarded" { reason:
        timeout "/decode/fragment_timeouts", room "/decode/fragment_evictions",
        end "/decode/fragment_leftovers" }
    Counter segments_filtered "Segments excluded by the port and network filter" { "/segments_filtered" }
    Counter time_steps_back "Frames with a time before that of an earlier one" { "/time_steps_back" }
    Counter time_steps_ahead "Frames with a time more than the idle timeout after that of the frame before"
        { "/time_steps_ahead" }
    Counter segments_dropped "Segments that a worker skipped because it could not keep up"
        { "/segments_dropped" }
    Counter blocks_dropped "Blocks of packets that a worker skipped because it could not keep up"
        { "/blocks_dropped" }
    Counter segments_without_flow "Segments of flows that started before the capture"
        { "/segments_without_flow" }
    Counter flows_opened "Flows opened, restarts included" { "/flows/opened" }
    Counter flows_restarted "Flows restarted while tracked" { "/flows/restarted" }
    Counter flows_midstream "TCP flows that began before the capture" { "/flows/midstream" }
    Counter flows_bidirectional "Flows with segments of both sides" { "/flows/bidirectional" }
    Counter flows_expired "Flows removed after their idle timeout" { "/flows/expired" }
    Counter flows_evicted "Flows evicted because of the flow or memory limit" { reason:
        room "/flows/evicted", memory "/flows/evicted_for_memory" }
    Gauge flows_active "Flows currently tracked" { "/flows/active" }
    Gauge flows_buffered_bytes "Bytes currently buffered by flows, without their table entries"
        { "/flows/buffered_bytes" }
    Counter events "Events reported" { "/events" }
    Counter events_suppressed "Events found and not reported, because of a limit of the output" { reason:
        connection "/events_suppressed/connection", host "/events_suppressed/host",
        rate "/events_suppressed/rate" }
    Counter http_messages "HTTP heads reported" { kind: request "/http/requests", response "/http/responses" }
    Counter http_failures "HTTP parser failures" { reason:
        head_too_long "/http/http1/heads_too_long",
        too_many_headers "/http/http1/heads_with_too_many_headers", lost "/http/http1/times_lost",
        request_unreadable "/http/http1/requests_unreadable",
        response_unreadable "/http/http1/responses_unreadable", http2_head_cut "/http/http2_heads_cut",
        http2_given_up "/http/http2_given_up", http3_head_cut "/http/http3_heads_cut",
        http3_undecodable "/http/http3_undecodable" }
    Counter stream_segments_refused "TCP segments beyond the limit of the out-of-order buffer"
        { "/streams/segments_refused" }
    Counter stream_gaps "Gaps in TCP streams that were skipped" { "/streams/gaps" }
    Counter stream_expected_bytes "Bytes that the capture should have, in the parts of TCP connections that are read"
        { "/streams/expected_bytes" }
    Counter stream_missing_bytes "Those of them that were acknowledged and that the capture lacks"
        { "/streams/missing_bytes" }
    Counter stream_conflicts "Places where a side sent different contents for the same bytes"
        { "/streams/conflicts" }
    Counter stream_not_compared "Times that bytes of a client could no longer be compared with their retransmissions"
        { "/streams/not_compared" }
    Counter stream_urgent_bytes "TCP urgent bytes" { "/streams/urgent_bytes" }
    Counter tls_hellos "TLS hellos reported" { from:
        client "/tls/hellos/client", server "/tls/hellos/server" }
    Counter tls_hellos_malformed "ClientHellos reported whose extensions are cut off or malformed"
        { "/tls/hellos/malformed" }
    Counter tls_hellos_ech "ClientHellos with encrypted_client_hello" { "/tls/hellos/ech" }
    Counter tls_hellos_too_long "TCP streams given up within a hello" { "/tls/search/too_long" }
    Counter tls_handshakes "TLS handshakes over TCP, and of DTLS, that were followed to their end" { outcome:
        completed "/tls/handshakes/completed", failed "/tls/handshakes/failed" }
    Counter tls_certificate_messages "TLS Certificate messages in the clear"
        { "/tls/handshakes/certificates" }
    Counter tls_messages_too_long "TLS messages after the hellos that are too long to be read"
        { "/tls/handshakes/messages_too_long" }
    Counter tls_failures "TLS parser failures" { reason:
        stream_malformed "/tls/search/malformed", stream_given_up "/tls/search/given_up",
        datagram_malformed "/tls/udp/malformed", datagram_refused "/tls/udp/refused" }
    Counter tls_decryption "TLS connections, with logged secrets" { outcome:
        decrypted "/decryption/connections", without_secret "/decryption/without_secret",
        not_authentic "/decryption/not_authentic", unsupported "/decryption/unsupported",
        incomplete "/decryption/incomplete", one_side "/decryption/one_side",
        gave_up_waiting "/decryption/gave_up_waiting" }
    Counter quic_packets "QUIC packets inspected" { outcome:
        opened "/tls/quic/opened", sealed "/tls/quic/sealed", malformed "/tls/quic/malformed",
        cut "/tls/quic/cut", unknown_version "/tls/quic/unknown_version",
        crypto_refused "/tls/quic/crypto_refused", not_hello "/tls/quic/not_hello" }
    Counter quic_connections "QUIC connections with a decrypted Initial packet of the client"
        { "/tls/quic/connections" }
    Counter quic_connections_complete "QUIC connections with a complete ClientHello" { "/tls/quic/complete" }
    Counter quic_connections_given_up "QUIC connections dropped before a complete ClientHello, because too many share their ports"
        { "/tls/quic/given_up" }
    Counter ssh_identifications "SSH identification strings seen" { "/ssh/parser/identifications" }
    Counter ssh_peers "SSH clients and servers reported" { from:
        client "/ssh/peers/clients", server "/ssh/peers/servers" }
    Counter ssh_peers_without_kex_init "SSH clients and servers reported without an SSH_MSG_KEXINIT"
        { "/ssh/peers/without_kex_init" }
    Counter ssh_malformed "SSH directions that are malformed after the identification string"
        { "/ssh/parser/malformed" }
    Counter hosts_seen "Hosts observed" { "/hosts/seen" }
    Counter hosts_restored "Hosts of an earlier run that were read from the state file" { "/hosts/restored" }
    Counter hosts_expired "Hosts removed after the idle timeout" { "/hosts/expired" }
    Counter hosts_evicted "Hosts evicted because of the host or memory limit" { reason:
        room "/hosts/evicted", memory "/hosts/evicted_for_memory" }
    Counter hosts_cleared "Hosts removed because all hosts were cleared" { "/hosts/cleared" }
    Gauge hosts_active "Hosts currently tracked" { "/hosts/active" }
    Gauge hosts_buffered_bytes "Bytes currently allocated by hosts, without their table entries"
        { "/hosts/buffered_bytes" }
    Counter host_uptimes "Uptimes reported" { "/hosts/uptimes" }
    Counter host_clocks_doubted "Clocks whose uptime is not credible" { "/hosts/uptimes_doubted" }
    Counter host_clocks_random "Hosts whose timestamps contradict each other" { "/hosts/random_clocks" }
    Counter host_changes "Changes of hosts reported" { "/hosts/changes" }
    Counter ip_sharings "Addresses reported as shared" { "/hosts/sharings" }
    Counter tool_reports "Reports of scanners and packet makers" { "/hosts/tools" }
    Counter alerts_known "Alerts that were not reported, because they are known" { "/findings/known" }
    Counter finding_clients_evicted "Clients and pairs of client and server that findings forgot because too many were followed"
        { "/findings/evicted" }
    Counter baseline_left_out "Values for which the baseline had no room"
        { "/findings/baseline_left_out" }
    Counter reloads "Times that files were read again and used" { what:
        configuration "/reloads/configuration/done", databases "/reloads/databases/done",
        watch_lists "/reloads/watch_lists/done" }
    Counter reload_failures "Times that files were read again and were invalid: the old content stayed" { what:
        configuration "/reloads/configuration/failed", databases "/reloads/databases/failed",
        watch_lists "/reloads/watch_lists/failed" }
    Counter state_writes "Times that the state file was written" { result:
        written "/state/written", failed "/state/failed" }
    Counter messages "Lines for standard error" { result:
        written "/messages/written_lines", dropped "/messages/dropped_lines" }
    Counter extract_packets "Packets of connections that events selected" { result:
        written "/extract/packets_written", dropped "/extract/packets_dropped" }
    Counter extract_files "Files with packets" { "/extract/files" }
    Counter extract_failures "Failed writes and removals of files of packets" { "/extract/write_errors" }
    Counter extract_events "Events that select a connection" { "/extract/events" }
    Counter extract_events_without_packets "Events whose connection began before the capture, or was forgotten"
        { "/extract/events_without_packets" }
    Counter extract_comments_without_packet "Events whose packet was not kept, or was written before"
        { "/extract/comments_without_packet" }
    Counter extract_flows_forgotten "Connections without a selected event whose packets others needed the memory of"
        { "/extract/flows_forgotten" }
    Gauge extract_bytes_queued "Bytes of packets waiting to be written" { "/extract/queued_bytes" }
    Gauge uptime_seconds "Time since the program started" { "/uptime_seconds" }
};
