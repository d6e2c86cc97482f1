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

/// Creates a family of one metric.
const fn one(kind: Kind, name: &'static str, help: &'static str, members: &'static [Member; 1]) -> Family {
    Family { name, help, kind, members }
}

/// Creates a family of several counters.
const fn several(name: &'static str, help: &'static str, members: &'static [Member]) -> Family {
    Family { name, help, kind: Kind::Counter, members }
}

const fn unlabeled(path: &'static str) -> [Member; 1] {
    [Member { path, label: None }]
}

const fn labeled(label: &'static str, value: &'static str, path: &'static str) -> Member {
    Member { path, label: Some((label, value)) }
}

/// All families except those of interfaces and latency.
pub(super) const FAMILIES: &[Family] = &[
    one(Kind::Counter, "frames", "Frames analysed", &unlabeled("/frames")),
    one(Kind::Counter, "captured_bytes", "Captured bytes in the frames", &unlabeled("/bytes")),
    one(
        Kind::Counter,
        "frames_filtered",
        "Frames excluded by the filter expression",
        &unlabeled("/frames_filtered"),
    ),
    one(Kind::Counter, "frames_decoded", "Frames handed to decode", &unlabeled("/decode/frames")),
    one(
        Kind::Counter,
        "packets_aggregated",
        "Packets beyond the first of frames that carry several",
        &unlabeled("/decode/aggregated"),
    ),
    several(
        "segments",
        "TCP segments and UDP datagrams decoded",
        &[labeled("protocol", "tcp", "/decode/tcp"), labeled("protocol", "udp", "/decode/udp")],
    ),
    several(
        "packets_ignored",
        "Complete packets that are neither TCP nor UDP",
        &[
            labeled("kind", "arp", "/decode/arp"),
            labeled("kind", "icmp", "/decode/icmp"),
            labeled("kind", "other_transport", "/decode/other_transport"),
            labeled("kind", "not_data", "/decode/not_data"),
            labeled("kind", "encrypted", "/decode/encrypted"),
        ],
    ),
    several(
        "decode_failures",
        "Packets that could not be decoded",
        &[
            labeled("reason", "unknown_link", "/decode/unknown_link"),
            labeled("reason", "unknown_ethertype", "/decode/unknown_ethertype"),
            labeled("reason", "link_fragment", "/decode/link_fragment"),
            labeled("reason", "too_deep", "/decode/too_deep"),
            labeled("reason", "truncated_snaplen", "/decode/truncated_snaplen"),
            labeled("reason", "bad_header", "/decode/bad_header"),
            labeled("reason", "bad_fragment", "/decode/bad_fragment"),
        ],
    ),
    one(
        Kind::Counter,
        "payloads_truncated",
        "Segments with a payload cut by the snap length",
        &unlabeled("/decode/truncated_payload"),
    ),
    several(
        "bad_checksums",
        "Packets with a wrong checksum; transport checksums count only if verified",
        &[
            labeled("layer", "ip", "/decode/bad_ip_checksum"),
            labeled("layer", "transport", "/decode/bad_transport_checksum"),
        ],
    ),
    one(
        Kind::Counter,
        "fragments_buffered",
        "Fragments that did not complete their datagram",
        &unlabeled("/decode/fragments_buffered"),
    ),
    one(
        Kind::Counter,
        "datagrams_reassembled",
        "Datagrams reassembled from fragments",
        &unlabeled("/decode/reassembled"),
    ),
    one(
        Kind::Counter,
        "datagrams_conflicting",
        "Reassembled datagrams whose fragments overlap with different content",
        &unlabeled("/decode/fragment_conflicts"),
    ),
    several(
        "datagrams_given_up",
        "Incomplete fragmented datagrams discarded",
        &[
            labeled("reason", "timeout", "/decode/fragment_timeouts"),
            labeled("reason", "room", "/decode/fragment_evictions"),
            labeled("reason", "end", "/decode/fragment_leftovers"),
        ],
    ),
    one(
        Kind::Counter,
        "segments_filtered",
        "Segments excluded by the port and network filter",
        &unlabeled("/segments_filtered"),
    ),
    one(
        Kind::Counter,
        "time_steps_back",
        "Frames with a time before that of an earlier one",
        &unlabeled("/time_steps_back"),
    ),
    one(
        Kind::Counter,
        "time_steps_ahead",
        "Frames with a time more than the idle timeout after that of the frame before",
        &unlabeled("/time_steps_ahead"),
    ),
    one(
        Kind::Counter,
        "segments_dropped",
        "Segments that a worker skipped because it could not keep up",
        &unlabeled("/segments_dropped"),
    ),
    one(
        Kind::Counter,
        "blocks_dropped",
        "Blocks of packets that a worker skipped because it could not keep up",
        &unlabeled("/blocks_dropped"),
    ),
    one(
        Kind::Counter,
        "segments_without_flow",
        "Segments of flows that started before the capture",
        &unlabeled("/segments_without_flow"),
    ),
    one(Kind::Counter, "flows_opened", "Flows opened, restarts included", &unlabeled("/flows/opened")),
    one(Kind::Counter, "flows_restarted", "Flows restarted while tracked", &unlabeled("/flows/restarted")),
    one(
        Kind::Counter,
        "flows_midstream",
        "TCP flows that began before the capture",
        &unlabeled("/flows/midstream"),
    ),
    one(
        Kind::Counter,
        "flows_bidirectional",
        "Flows with segments of both sides",
        &unlabeled("/flows/bidirectional"),
    ),
    one(
        Kind::Counter,
        "flows_expired",
        "Flows removed after their idle timeout",
        &unlabeled("/flows/expired"),
    ),
    several(
        "flows_evicted",
        "Flows evicted because of the flow or memory limit",
        &[
            labeled("reason", "room", "/flows/evicted"),
            labeled("reason", "memory", "/flows/evicted_for_memory"),
        ],
    ),
    one(Kind::Gauge, "flows_active", "Flows currently tracked", &unlabeled("/flows/active")),
    one(
        Kind::Gauge,
        "flows_buffered_bytes",
        "Bytes currently buffered by flows, without their table entries",
        &unlabeled("/flows/buffered_bytes"),
    ),
    one(Kind::Counter, "events", "Events reported", &unlabeled("/events")),
    several(
        "events_suppressed",
        "Events found and not reported, because of a limit of the output",
        &[
            labeled("reason", "connection", "/events_suppressed/connection"),
            labeled("reason", "host", "/events_suppressed/host"),
            labeled("reason", "rate", "/events_suppressed/rate"),
        ],
    ),
    several(
        "http_messages",
        "HTTP heads reported",
        &[labeled("kind", "request", "/http/requests"), labeled("kind", "response", "/http/responses")],
    ),
    several(
        "http_failures",
        "HTTP parser failures",
        &[
            labeled("reason", "head_too_long", "/http/http1/heads_too_long"),
            labeled("reason", "too_many_headers", "/http/http1/heads_with_too_many_headers"),
            labeled("reason", "lost", "/http/http1/times_lost"),
            labeled("reason", "request_unreadable", "/http/http1/requests_unreadable"),
            labeled("reason", "response_unreadable", "/http/http1/responses_unreadable"),
            labeled("reason", "http2_head_cut", "/http/http2_heads_cut"),
            labeled("reason", "http2_given_up", "/http/http2_given_up"),
            labeled("reason", "http3_head_cut", "/http/http3_heads_cut"),
            labeled("reason", "http3_undecodable", "/http/http3_undecodable"),
        ],
    ),
    one(
        Kind::Counter,
        "stream_segments_refused",
        "TCP segments beyond the limit of the out-of-order buffer",
        &unlabeled("/streams/segments_refused"),
    ),
    one(Kind::Counter, "stream_gaps", "Gaps in TCP streams that were skipped", &unlabeled("/streams/gaps")),
    one(
        Kind::Counter,
        "stream_expected_bytes",
        "Bytes that the capture should have, in the parts of TCP connections that are read",
        &unlabeled("/streams/expected_bytes"),
    ),
    one(
        Kind::Counter,
        "stream_missing_bytes",
        "Those of them that were acknowledged and that the capture lacks",
        &unlabeled("/streams/missing_bytes"),
    ),
    one(
        Kind::Counter,
        "stream_conflicts",
        "Places where a client sent different contents for the same bytes",
        &unlabeled("/streams/conflicts"),
    ),
    one(
        Kind::Counter,
        "stream_not_compared",
        "Times that bytes of a client could no longer be compared with their retransmissions",
        &unlabeled("/streams/not_compared"),
    ),
    one(Kind::Counter, "stream_urgent_bytes", "TCP urgent bytes", &unlabeled("/streams/urgent_bytes")),
    several(
        "tls_hellos",
        "TLS hellos reported",
        &[labeled("from", "client", "/tls/hellos/client"), labeled("from", "server", "/tls/hellos/server")],
    ),
    one(
        Kind::Counter,
        "tls_hellos_malformed",
        "ClientHellos reported whose extensions are cut off or malformed",
        &unlabeled("/tls/hellos/malformed"),
    ),
    one(
        Kind::Counter,
        "tls_hellos_ech",
        "ClientHellos with encrypted_client_hello",
        &unlabeled("/tls/hellos/ech"),
    ),
    one(
        Kind::Counter,
        "tls_hellos_too_long",
        "TCP streams given up within a hello",
        &unlabeled("/tls/search/too_long"),
    ),
    several(
        "tls_handshakes",
        "TLS handshakes over TCP, and of DTLS, that were followed to their end",
        &[
            labeled("outcome", "completed", "/tls/handshakes/completed"),
            labeled("outcome", "failed", "/tls/handshakes/failed"),
        ],
    ),
    one(
        Kind::Counter,
        "tls_certificate_messages",
        "TLS Certificate messages in the clear",
        &unlabeled("/tls/handshakes/certificates"),
    ),
    one(
        Kind::Counter,
        "tls_messages_too_long",
        "TLS messages after the hellos that are too long to be read",
        &unlabeled("/tls/search/messages_too_long"),
    ),
    several(
        "tls_failures",
        "TLS parser failures",
        &[
            labeled("reason", "stream_malformed", "/tls/search/malformed"),
            labeled("reason", "stream_given_up", "/tls/search/given_up"),
            labeled("reason", "datagram_malformed", "/tls/udp/malformed"),
            labeled("reason", "datagram_refused", "/tls/udp/refused"),
        ],
    ),
    several(
        "tls_decryption",
        "TLS connections, with logged secrets",
        &[
            labeled("outcome", "decrypted", "/decryption/connections"),
            labeled("outcome", "without_secret", "/decryption/without_secret"),
            labeled("outcome", "not_authentic", "/decryption/not_authentic"),
            labeled("outcome", "unsupported", "/decryption/unsupported"),
            labeled("outcome", "incomplete", "/decryption/incomplete"),
            labeled("outcome", "one_side", "/decryption/one_side"),
            labeled("outcome", "gave_up_waiting", "/decryption/gave_up_waiting"),
        ],
    ),
    several(
        "quic_packets",
        "QUIC packets inspected",
        &[
            labeled("outcome", "opened", "/tls/quic/opened"),
            labeled("outcome", "sealed", "/tls/quic/sealed"),
            labeled("outcome", "malformed", "/tls/quic/malformed"),
            labeled("outcome", "cut", "/tls/quic/cut"),
            labeled("outcome", "unknown_version", "/tls/quic/unknown_version"),
            labeled("outcome", "crypto_refused", "/tls/quic/crypto_refused"),
            labeled("outcome", "not_hello", "/tls/quic/not_hello"),
        ],
    ),
    one(
        Kind::Counter,
        "quic_connections",
        "QUIC connections with a decrypted Initial packet of the client",
        &unlabeled("/tls/quic/connections"),
    ),
    one(
        Kind::Counter,
        "quic_connections_complete",
        "QUIC connections with a complete ClientHello",
        &unlabeled("/tls/quic/complete"),
    ),
    one(
        Kind::Counter,
        "quic_connections_given_up",
        "QUIC connections dropped before a complete ClientHello, because too many share their ports",
        &unlabeled("/tls/quic/given_up"),
    ),
    one(
        Kind::Counter,
        "ssh_identifications",
        "SSH identification strings seen",
        &unlabeled("/ssh/parser/identifications"),
    ),
    several(
        "ssh_peers",
        "SSH clients and servers reported",
        &[labeled("from", "client", "/ssh/peers/clients"), labeled("from", "server", "/ssh/peers/servers")],
    ),
    one(
        Kind::Counter,
        "ssh_peers_without_kex_init",
        "SSH clients and servers reported without an SSH_MSG_KEXINIT",
        &unlabeled("/ssh/peers/without_kex_init"),
    ),
    one(
        Kind::Counter,
        "ssh_malformed",
        "SSH directions that are malformed after the identification string",
        &unlabeled("/ssh/parser/malformed"),
    ),
    one(Kind::Counter, "hosts_seen", "Hosts observed", &unlabeled("/hosts/seen")),
    one(
        Kind::Counter,
        "hosts_restored",
        "Hosts of an earlier run that were read from the state file",
        &unlabeled("/hosts/restored"),
    ),
    one(Kind::Counter, "hosts_expired", "Hosts removed after the idle timeout", &unlabeled("/hosts/expired")),
    several(
        "hosts_evicted",
        "Hosts evicted because of the host or memory limit",
        &[
            labeled("reason", "room", "/hosts/evicted"),
            labeled("reason", "memory", "/hosts/evicted_for_memory"),
        ],
    ),
    one(
        Kind::Counter,
        "hosts_cleared",
        "Hosts removed because all hosts were cleared",
        &unlabeled("/hosts/cleared"),
    ),
    one(Kind::Gauge, "hosts_active", "Hosts currently tracked", &unlabeled("/hosts/active")),
    one(
        Kind::Gauge,
        "hosts_buffered_bytes",
        "Bytes currently allocated by hosts, without their table entries",
        &unlabeled("/hosts/buffered_bytes"),
    ),
    one(Kind::Counter, "host_uptimes", "Uptimes reported", &unlabeled("/hosts/uptimes")),
    one(
        Kind::Counter,
        "host_clocks_doubted",
        "Clocks whose uptime is not credible",
        &unlabeled("/hosts/uptimes_doubted"),
    ),
    one(
        Kind::Counter,
        "host_clocks_random",
        "Hosts whose timestamps contradict each other",
        &unlabeled("/hosts/random_clocks"),
    ),
    one(Kind::Counter, "host_changes", "Changes of hosts reported", &unlabeled("/hosts/changes")),
    one(Kind::Counter, "ip_sharings", "Addresses reported as shared", &unlabeled("/hosts/sharings")),
    one(Kind::Counter, "tool_reports", "Reports of scanners and packet makers", &unlabeled("/hosts/tools")),
    one(
        Kind::Counter,
        "alerts_known",
        "Alerts that were not reported, because they are known",
        &unlabeled("/findings/known"),
    ),
    one(
        Kind::Counter,
        "finding_clients_evicted",
        "Clients and pairs of client and server that findings forgot because too many were followed",
        &unlabeled("/findings/evicted"),
    ),
    one(
        Kind::Counter,
        "baseline_left_out",
        "Values that were not compared with the baseline, which has as many of their type as it can",
        &unlabeled("/findings/baseline_left_out"),
    ),
    several(
        "reloads",
        "Times that files were read again and used",
        &[
            labeled("what", "configuration", "/reloads/configuration/done"),
            labeled("what", "databases", "/reloads/databases/done"),
            labeled("what", "watch_lists", "/reloads/watch_lists/done"),
        ],
    ),
    several(
        "reload_failures",
        "Times that files were read again and were invalid: the old content stayed",
        &[
            labeled("what", "configuration", "/reloads/configuration/failed"),
            labeled("what", "databases", "/reloads/databases/failed"),
            labeled("what", "watch_lists", "/reloads/watch_lists/failed"),
        ],
    ),
    several(
        "state_writes",
        "Times that the state file was written",
        &[labeled("result", "written", "/state/written"), labeled("result", "failed", "/state/failed")],
    ),
    several(
        "messages",
        "Lines for standard error",
        &[
            labeled("result", "written", "/messages/written_lines"),
            labeled("result", "dropped", "/messages/dropped_lines"),
        ],
    ),
    several(
        "extract_packets",
        "Packets of connections that events selected",
        &[
            labeled("result", "written", "/extract/packets_written"),
            labeled("result", "dropped", "/extract/packets_dropped"),
        ],
    ),
    one(Kind::Counter, "extract_files", "Files with packets", &unlabeled("/extract/files")),
    one(
        Kind::Counter,
        "extract_failures",
        "Failed writes and removals of files of packets",
        &unlabeled("/extract/write_errors"),
    ),
    one(Kind::Counter, "extract_events", "Events that select a connection", &unlabeled("/extract/events")),
    one(
        Kind::Counter,
        "extract_events_without_packets",
        "Events whose connection began before the capture, or was forgotten",
        &unlabeled("/extract/events_without_packets"),
    ),
    one(
        Kind::Counter,
        "extract_comments_without_packet",
        "Events whose packet was not kept, or was written before",
        &unlabeled("/extract/comments_without_packet"),
    ),
    one(
        Kind::Counter,
        "extract_flows_forgotten",
        "Connections without a selected event whose packets others needed the memory of",
        &unlabeled("/extract/flows_forgotten"),
    ),
    one(
        Kind::Gauge,
        "extract_bytes_queued",
        "Bytes of packets waiting to be written",
        &unlabeled("/extract/queued_bytes"),
    ),
    one(Kind::Gauge, "uptime_seconds", "Time since the program started", &unlabeled("/uptime_seconds")),
];
