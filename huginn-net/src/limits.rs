//! Limits of host tracking and of lists, each with its unit and its reason.

use std::num::NonZeroU32;

// Scores of host changes and shared addresses, as in p0f 3.09b.

/// Number of scores in the history of a host.
pub(crate) const SCORE_HISTORY: usize = 32;

/// Minimum decrease of the source port that scores, in ports.
pub(crate) const MIN_PORT_DECREASE: u16 = 64;

/// Maximum distance at which every change of the TTL scores, in hops.
pub(crate) const MAX_NEAR_HOPS: u8 = 9;

/// Tolerance of the Date header, in seconds.
pub(crate) const DATE_TOLERANCE: i64 = 10;

// Plausibility of uptimes.

/// Frequency (Hz) above which a clock may have a random start value: systems with random ones tick at 1000 Hz.
pub(crate) const MIN_RANDOM_CLOCK_HZ: f64 = 600.0;

/// Additional tolerance between readings of one clock, in milliseconds: a virtual machine may pause.
pub(crate) const CLOCK_TOLERANCE_MILLIS: u64 = 2000;

/// Systems of an address in one role that changes are reported of: the database has about twenty.
pub(crate) const MAX_NAMED_SYSTEMS: usize = 8;

/// Contradictions in a row that prove random start values. One contradiction may be a restart or another host.
pub(crate) const MAX_CONTRADICTIONS: u8 = 2;

// Memory of a host profile.

/// Maximum number of distinct values in a list of a profile.
pub(crate) const MAX_TOP_VALUES: usize = 8;

/// Maximum number of peers, and of names, of a profile: half of them the most used ones. With the longest names 10 KiB, usually
/// less than 1 KiB.
pub(crate) const MAX_CONTACTS: usize = 32;

/// Maximum number of ports in the list of the ports that a tool sent to: 8 KiB, as much as the bitmap of all ports that
/// replaces it.
pub(crate) const MAX_LISTED_PORTS: usize = 4096;

/// Maximum number of addresses in the list of those that a tool sent to: four networks of 256 addresses, in 17 KiB.
pub(crate) const MAX_TOOL_TARGETS: usize = 1024;

/// Minimum number of networks whose servers answer alike before one device is taken to answer for them. Front ends of one
/// operator have up to seven smaller ones in public captures.
pub(crate) const MIN_ALIKE_NETWORKS: u32 = 8;

/// Maximum distance of a device that answers for servers, and of its client, in hops: servers of eight networks are farther
/// away.
pub(crate) const MAX_ALIKE_HOPS: u8 = 3;

/// Maximum number of servers in the list of those that answer alike: 4 KiB.
pub(crate) const MAX_ALIKE_SERVERS: usize = 256;

/// Length of the longest name of a group for key exchange, signature algorithm or extension, in bytes; a test holds it.
pub(crate) const MAX_NUMBER_NAME_LEN: usize = 42;

/// Length of a length below 64 KiB in a list, in bytes: `65535,`.
pub(crate) const MAX_LENGTH_LEN: usize = 6;

/// Length of an extension in a list, in bytes: `{"type":"ffff","length":65535},`.
pub(crate) const MAX_EXTENSION_LEN: usize = 31;

/// Length of a place of GREASE in a list, in bytes: `"signature_algorithms[32766]",`.
pub(crate) const MAX_GREASE_LEN: usize = 29;

/// Maximum shown bytes of the value of a QUIC transport parameter.
pub(crate) const MAX_PARAMETER_LEN: usize = 128;

/// Maximum stored length of a User-Agent or Server header, in bytes.
pub(crate) const MAX_SOFTWARE_LEN: usize = 256;

/// Maximum stored length of a language tag, in bytes (RFC 5646, section 4.4.1).
pub(crate) const MAX_LANGUAGE_TAG_LEN: usize = 35;

// Watch lists.

/// Maximum length of a label in a list, in bytes: a match has it, and an event the labels of its values.
pub(crate) const MAX_LIST_LABEL_BYTES: usize = 4096;

/// Maximum number of entries of a list: some 700 MB of memory. The largest public lists have a few million.
pub(crate) const MAX_LIST_ENTRIES: usize = 8 << 20;

/// Maximum number of User-Agents with `*` in a list: each is compared with each User-Agent, in about a microsecond.
pub(crate) const MAX_LIST_PATTERNS: usize = 1000;

/// Maximum size of a JSON document, in bytes: parsed, it takes ten times as much memory.
pub(crate) const MAX_LIST_DOCUMENT_BYTES: usize = 64 << 20;

/// Maximum number of watched entries that an event has, and of others: a list may have the same value any number of times.
pub(crate) const MAX_EVENT_MATCHES: usize = 16;

/// Maximum number of matches of a flow, so that a flow takes at most 1 KiB to remember them.
pub(crate) const MAX_FLOW_MATCHES: usize = 64;

/// Maximum length of the host name of a connection, in bytes: that of a domain name (RFC 1035, section 2.3.4).
pub(crate) const MAX_HOST_BYTES: usize = 255;

// Output.

/// Maximum length of a text in an event, in bytes: longer than the longest of thousands of public captures (a path of 2561
/// bytes), and shorter than the limits of common servers for one header (8 KiB).
pub(crate) const MAX_TEXT_BYTES: usize = 4096;

/// Maximum bytes of events for each captured byte of a connection. The densest public captures, SYNs alone, have 16.
pub(crate) const MAX_OUTPUT_RATIO: u32 = 40;

/// Maximum events of a connection in a second: several times what a server answers over one connection.
pub(crate) const MAX_CONNECTION_EVENTS_PER_SECOND: u32 = 20_000;

/// Maximum events of a host in a second. A busy proxy or server has some 10,000.
pub(crate) const MAX_HOST_EVENTS_PER_SECOND: u32 = 50_000;

/// Maximum bytes of events of a host in a second: 50,000 events of 670 bytes.
pub(crate) const MAX_HOST_BYTES_PER_SECOND: u64 = 32 << 20;

/// Maximum events of each kind in a second: about as many as one core writes of all kinds.
pub(crate) const MAX_KIND_EVENTS_PER_SECOND: u32 = 200_000;

/// Maximum bytes of events of each kind in a second: 200,000 events of 670 bytes.
pub(crate) const MAX_KIND_BYTES_PER_SECOND: u64 = 128 << 20;

/// Maximum hosts whose events of a second are counted, from the time at which all hosts together have half of the limit of
/// one: 4 MiB.
pub(crate) const MAX_RATED_HOSTS: usize = 1 << 16;

// Quotations.

/// Maximum number of cipher suites in a search. Their variants are not combined with those of another list, so this
/// limit is higher than the others.
pub(crate) const MAX_SEARCHED_CIPHERS: usize = 150;

/// Maximum number of extensions in a search; they have some hundred variants.
pub(crate) const MAX_SEARCHED_EXTENSIONS: usize = 50;

/// Maximum number of signature algorithms in a search; they have some hundred variants.
pub(crate) const MAX_SEARCHED_ALGORITHMS: usize = 40;

/// Maximum number of deviations that a search combines: the variants to try multiply with each of them.
pub(crate) const MAX_DEVIATIONS: usize = 2;

/// Evidence lines that `explain` prints for a fingerprint: enough to judge it, and few enough to read.
pub(crate) const MAX_SHOWN_EVIDENCE: usize = 5;

/// Number of events that an [`EventStream`](crate::EventStream) buffers.
#[cfg(feature = "tokio")]
pub(crate) const STREAM_EVENTS: usize = 1024;

// Conditions that select events.

/// Maximum number of comparisons of a condition: their results are bits of a number.
pub(crate) const MAX_TESTS: usize = 128;

/// Maximum number of `not` and parentheses in each other: the parser and the condition recurse.
pub(crate) const MAX_CONDITION_DEPTH: usize = 64;

// Findings above fingerprints; docs/findings.md has them.

/// Bytes of a server that a client acknowledges with the first segment in the capture after the SYN+ACK, at most: more than an initial
/// window (RFC 6928).
pub(crate) const MAX_ACKNOWLEDGED_BYTES: u32 = 1 << 16;

/// Largest window of a segment with ACK that a scanner makes: that of older versions of Nmap.
pub(crate) const MAX_PROBE_WINDOW: u16 = 4096;

/// Segments between two endpoints in a minute that belong to no connection and are passed on: a scanner repeats a probe once.
pub(crate) const MAX_STRAYS_PER_PAIR: u32 = 3;

/// The time in which they count, in nanoseconds.
pub(crate) const STRAY_PERIOD_NANOS: u64 = 60_000_000_000;

/// Number of pairs of endpoints whose segments are counted, a power of two: 64 KiB for each worker.
pub(crate) const STRAY_PAIRS: usize = 1 << 12;

/// Time after the first SYN of a scanner before it is judged, in nanoseconds: a stack repeats a SYN within 6 s.
pub(crate) const TOOL_WAIT_NANOS: u64 = 10_000_000_000;

/// Targets that make a scanner of what sends its SYNs.
pub(crate) const MIN_TOOL_TARGETS: u64 = 5;

/// Maximum number of SYNs to each of fewer targets: a scanner repeats a probe once.
pub(crate) const MAX_TOOL_TRIES: u64 = 2;

/// Maximum number of connections that go on, and of repeated SYNs, in percent of the targets of a scanner.
pub(crate) const MAX_TOOL_STACK_PERCENT: u64 = 10;

/// Minimum number of SYNs of a scanner that is reported with its last numbers, in percent of those of its last report.
pub(crate) const MIN_TOOL_GROWTH_PERCENT: u64 = 110;

/// Maximum number of hosts whose scanners wait for their judgement: 3 MiB.
pub(crate) const MAX_JUDGED_HOSTS: usize = 1 << 16;

/// Bytes of a side of an SSH connection after its key exchange that no failed login has: six keys of RSA with 3,072 bits take 3 KiB.
pub(crate) const MAX_FAILED_LOGIN_BYTES: u32 = 8 << 10;

/// Different lengths of the messages of a server in a failed login: extensions, service, banner, failure, question and disconnection.
pub(crate) const MAX_FAILED_LOGIN_LENGTHS: usize = 6;

/// Segments of a server from the first sign of a login until it is clear.
pub(crate) const SEGMENTS_AFTER_LOGIN: u32 = 3;

/// Failed logins of a client at one server that are an attack, and the time in which they count, in nanoseconds: a person, or a job with
/// an old key, tries a few times a minute.
pub(crate) const MIN_FAILED_LOGINS: u32 = 10;
pub(crate) const LOGIN_WINDOW_NANOS: u64 = 60_000_000_000;

/// Failed logins with complete handshakes that prove an attack: a host whose address others forge fails a few times itself.
pub(crate) const MIN_PROVEN_LOGINS: u32 = 5;

/// Time after the last failed login in which one that succeeds belongs to the attack, in nanoseconds.
pub(crate) const LOGIN_AFTER_ATTEMPTS_NANOS: u64 = 600_000_000_000;

/// Maximum number of pairs of client and SSH server whose logins are counted: 6 MiB.
pub(crate) const MAX_LOGIN_PAIRS: usize = 1 << 14;

/// Ports of a host that make a scan: more than any client uses of one server in a minute, except for a scanner, or one that
/// transfers files by FTP, whose ports answer.
pub(crate) const SCAN_PORTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Hosts on a port that make a scan: more than a browser contacts in a minute.
pub(crate) const SCAN_HOSTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Time in which the targets of a scan are counted, in nanoseconds.
pub(crate) const SCAN_WINDOW_NANOS: u64 = 60_000_000_000;

/// Time in which a server answers a SYN, in nanoseconds: the first retransmission timeout (RFC 6298, section 2).
pub(crate) const SCAN_ANSWER_NANOS: u64 = 1_000_000_000;

/// Number of these windows in which a slow scan is counted.
pub(crate) const SLOW_SCAN_WINDOWS: u64 = 10;

/// How many times as many targets make a slow scan.
pub(crate) const SLOW_SCAN_FACTOR: u32 = 2;

/// Maximum share of the targets of a scan that accept, unless the packets are those of a tool, or the client uses none of them.
pub(crate) const MAX_SCAN_ACCEPTED_PERCENT: usize = 30;

/// Maximum share of the targets of a scan that client and server exchange data with: more do with a crawler, or a peer-to-peer program
/// most of whose peers are gone.
pub(crate) const MAX_SCAN_DATA_PERCENT: usize = 10;

/// Minimum share of the targets of a client that have a port of a scan of hosts.
pub(crate) const MIN_SCAN_PORT_PERCENT: usize = 10;

/// Minimum share of the targets of a client that have the ports of a scan of hosts: peer-to-peer programs contact many ports.
pub(crate) const MIN_SCAN_PORTS_PERCENT: usize = 50;

/// Ports of which programs contact many hosts: SYNs without answers do not tell their connections from a scan.
pub(crate) const PORTS_OF_MANY_HOSTS: [u16; 5] = [25, 53, 80, 443, 853];

/// Maximum number of segments with ACK that a scanner sends to a target: more are those of a connection.
pub(crate) const MAX_PROBES: u32 = 2;

/// Maximum number of targets of a scan that are remembered because the client acknowledged their SYN+ACK.
pub(crate) const MAX_SCAN_PROOFS: usize = 8;

/// Minimum share of the targets of a scan with packets of a tool before the scan is that of the tool.
pub(crate) const MIN_SCAN_TOOL_PERCENT: usize = 90;

/// Minimum number of targets of a scan that is reported with its last numbers, in percent of those of its last report: a
/// scanner that goes on slowly would be reported for each target.
pub(crate) const MIN_SCAN_GROWTH_PERCENT: usize = 110;

/// Targets of which most accepted, after which a client without answers lost its network.
pub(crate) const MIN_BUSY_TARGETS: usize = 20;

/// Maximum number of targets of a client that are kept: 100 KiB.
pub(crate) const MAX_SCAN_TARGETS: u32 = 1024;

/// Maximum number of scans of a client that are followed: 100 KiB.
pub(crate) const MAX_SCANS_PER_CLIENT: usize = 4;

/// Maximum number of clients whose connections are counted: 8 MiB.
pub(crate) const MAX_SCAN_CLIENTS: usize = 1 << 16;

/// Maximum memory of their targets and scans, in bytes.
pub(crate) const MAX_SCAN_BYTES: usize = 32 << 20;

/// Contacts at intervals within [`MAX_BEACON_DEVIATION_PERMILLE`] that make a beacon.
pub(crate) const BEACON_CONTACTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(19);

/// Fewer contacts that make a beacon, and the maximum deviation of their intervals from the median, in thousandths of it. Contacts
/// at random times fulfil one of these steps, or the one of [`BEACON_CONTACTS`], with a probability below 10^-10, whatever their rate.
pub(crate) const BEACON_STEPS: [(u32, u32); 3] = [(10, 50), (14, 95), (17, 155)];

/// Maximum number of contacts that a caller may ask for: 64 KiB of times and packet numbers.
pub(crate) const MAX_BEACON_CONTACTS: u32 = 1000;

/// Time without activity after which the next one is another contact, in milliseconds: connections of one visit follow each
/// other.
pub(crate) const BEACON_GAP_MILLIS: u64 = 2000;

/// Minimum period of a beacon, in milliseconds: five times the gap, which makes short random intervals more alike.
pub(crate) const MIN_BEACON_PERIOD_MILLIS: u32 = 10_000;

/// Time without a new connection after which the next one is another contact, for periods below [`MIN_BEACON_PERIOD_MILLIS`].
pub(crate) const BEACON_CONNECTION_GAP_MILLIS: u64 = 400;

/// Minimum period of a beacon of connections, in milliseconds: five times their gap.
pub(crate) const MIN_BEACON_CONNECTION_PERIOD_MILLIS: u32 = 2000;

/// Time between two connections that ends a series with a period below [`MIN_BEACON_PERIOD_MILLIS`], in milliseconds: more than
/// that of one lost connection.
pub(crate) const MAX_BEACON_CONNECTION_PAUSE_MILLIS: u64 = 25_000;

/// Maximum deviation of an interval from the median: beacons commonly vary by up to 20 %.
pub(crate) const MAX_BEACON_DEVIATION_PERMILLE: u32 = 250;

/// Minimum share of the intervals within that deviation: some contacts are lost or repeated.
pub(crate) const MIN_BEACON_REGULAR_PERCENT: usize = 90;

/// Maximum number of pairs of client and server with fewer than three contacts: 16 MiB.
pub(crate) const MAX_BEACON_CANDIDATES: usize = 1 << 16;

/// Maximum number of pairs with more contacts: 4 MiB, and their times and packet numbers.
pub(crate) const MAX_BEACON_SERIES: usize = 1 << 14;

/// Maximum memory of times, packet numbers and User-Agents, in bytes.
pub(crate) const MAX_BEACON_BYTES: usize = 16 << 20;

/// Marks of a TLS server without a name that are reported, if its address is public, and if it is not.
pub(crate) const MIN_MARKS_OUTSIDE: u32 = 2;
pub(crate) const MIN_MARKS_INSIDE: u32 = 3;

/// Maximum size of an RSA key that is a mark of its server, in bits.
pub(crate) const MAX_WEAK_KEY_BITS: u32 = 1024;

/// 2014-01-01, in seconds since 1970: public authorities signed smaller RSA keys until then (CA/Browser Forum, Baseline
/// Requirements 1.0, appendix A).
pub(crate) const FIRST_WEAK_KEY_SECS: i64 = 1_388_534_400;

/// 2020-01-01, in seconds since 1970: browsers dropped TLS 1.0 in that year.
pub(crate) const FIRST_OLD_VERSION_SECS: i64 = 1_577_836_800;

/// Minimum validity of a certificate that is a mark of its server, in seconds: 3,650 days.
pub(crate) const MIN_LONG_VALIDITY_SECS: i64 = 315_360_000;

/// Maximum length of the subject and of the issuer of a certificate in a finding, in bytes.
pub(crate) const MAX_NOTICE_NAME_BYTES: usize = 200;

/// Maximum number of pairs of a client and a TLS server that it contacts without a name: 4 MiB.
pub(crate) const MAX_SERVERS: usize = 1 << 14;

/// Maximum memory of their packet numbers and names, in bytes.
pub(crate) const MAX_SERVER_BYTES: usize = 8 << 20;

/// Maximum number of clients that are known to have a browser: 6 MiB.
pub(crate) const MAX_BROWSER_CLIENTS: usize = 1 << 16;

/// Time after which a client without connections is forgotten, in seconds: 26 hours, so that a daily contact is not.
pub(crate) const NOTICE_IDLE_SECS: u64 = 93_600;

/// Maximum number of packets that a finding names as its evidence.
pub(crate) const MAX_NOTICE_PACKETS: usize = 8;

/// Maximum number of findings that are remembered so that they are reported once: 6 MiB.
pub(crate) const MAX_NOTICES_ONCE: usize = 1 << 16;

/// Maximum number of values of a type in a baseline, those of its files included: hashes, servers, names, clients. Seven types: 110 MiB,
/// if all names are as long as possible.
pub(crate) const MAX_BASELINE_VALUES: usize = 1 << 16;

/// Maximum number of values of a type whose values may be long: SYN signatures, HTTP/2 fingerprints, issuers, User-Agents. Four types:
/// 40 MiB, if all are as long as possible.
pub(crate) const MAX_BASELINE_LONG_VALUES: usize = 1 << 14;

/// Maximum number of open handshakes with servers without a name that a baseline follows: 2 MiB.
pub(crate) const MAX_UNNAMED_HANDSHAKES: usize = 1 << 14;

/// Time after which such a handshake is forgotten, in seconds: longer than servers commonly wait for one.
pub(crate) const HANDSHAKE_IDLE_SECS: u64 = 120;

/// Maximum number of tools in a baseline: more than databases name.
pub(crate) const MAX_BASELINE_TOOLS: usize = 1 << 10;

/// Maximum length of a value of a baseline, in bytes: twice that of the longest SYN signature. The text of an HTTP/2
/// fingerprint has no limit of its own.
pub(crate) const MAX_BASELINE_VALUE_BYTES: usize = 512;

// Names in the logs of other tools.

/// Maximum number of fingerprints whose names are kept: a few hundred occur in most networks, and a name has about 500 bytes.
pub(crate) const MAX_KEPT_NAMES: usize = 1 << 16;

/// Maximum number of fingerprints whose lines `enrich` counts: 24 MiB.
pub(crate) const MAX_COUNTED_FINGERPRINTS: usize = 1 << 18;

// Zeek's logs.

/// Maximum memory of the rows of open connections, in bytes: 60,000 connections with a hello.
pub(crate) const MAX_OPEN_ZEEK_BYTES: usize = 64 << 20;

/// Maximum number of programs of hosts in the memory of what `software` has: 1 MiB.
pub(crate) const MAX_SOFTWARE_ROWS: usize = 1 << 16;

// Decryption.

/// Maximum number of tunnels inside each other whose content is read: through a proxy, and one more.
#[cfg(feature = "decrypt")]
pub(crate) const MAX_TUNNELS: u8 = 2;

/// Maximum number of connections of TLS 1.2 whose sessions are remembered, for secrets that are logged once: less than 20 MiB, and a second
/// as much for those that have a secret.
#[cfg(feature = "decrypt")]
pub(crate) const MAX_SESSION_CONNECTIONS: usize = 100_000;

/// Maximum number of QUIC connections of a flow that are decrypted at once: a client that starts another one on the same ports has ended
/// the one before.
#[cfg(feature = "decrypt")]
pub(crate) const MAX_QUIC_CONNECTIONS: usize = 4;

/// Packets before 1995-01-01, in seconds since 1970, have the time of a clock that was not set: no version of SSL existed.
pub(crate) const FIRST_TLS_SECS: i64 = 788_918_400;

/// Maximum number of known alerts: each alert is compared with all of them.
pub(crate) const MAX_KNOWN_ALERTS: usize = 10_000;
