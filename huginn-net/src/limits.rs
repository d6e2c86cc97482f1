//! Limits of host tracking and of lists, each with its unit and its reason.

use std::num::NonZeroU32;

// Memory of a host profile.

/// Maximum number of distinct values in a list of a profile.
pub(crate) const MAX_TOP_VALUES: usize = 8;

/// Maximum distance of a device that answers for servers, and of its client, in hops: servers of eight networks are farther
/// away.
pub(crate) const MAX_ALIKE_HOPS: u8 = 3;

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

// Watch lists.

/// Maximum length of a label in a list, in bytes: a match has it, and an event the labels of its values.
pub(crate) const MAX_LIST_LABEL_BYTES: usize = 4096;

/// Maximum number of entries of all lists: a sensor that reads them again has the old and the new ones, and a limit of 2 GB. The largest
/// public lists have a few million.
pub(crate) const MAX_LIST_ENTRIES: usize = 4 << 20;

/// Maximum number of User-Agents with `*` in a list: each is compared with each User-Agent, in about a microsecond.
pub(crate) const MAX_LIST_PATTERNS: usize = 1000;

/// Maximum number of watched entries that an event has, and of others: a list may have the same value any number of times.
pub(crate) const MAX_EVENT_MATCHES: usize = 16;

/// Maximum length of the host name of a connection, in bytes: that of a domain name (RFC 1035, section 2.3.4).
pub(crate) const MAX_HOST_BYTES: usize = 255;

// Output.

/// Maximum length of a text in an event, in bytes: longer than the longest of thousands of public captures (a path of 2561
/// bytes), and shorter than the limits of common servers for one header (8 KiB).
pub(crate) const MAX_TEXT_BYTES: usize = 4096;

// Findings above fingerprints; docs/findings.md has them.

/// Time in which the targets of a scan are counted, in nanoseconds.
pub(crate) const SCAN_WINDOW_NANOS: u64 = 60_000_000_000;

/// Time in which a server answers a SYN, in nanoseconds: the first retransmission timeout (RFC 6298, section 2).
pub(crate) const SCAN_ANSWER_NANOS: u64 = 1_000_000_000;

/// Number of these windows in which a slow scan is counted.
pub(crate) const SLOW_SCAN_WINDOWS: u64 = 10;

/// Maximum share of the targets of a scan that accept, unless the packets are those of a tool, or the client uses none of them.
pub(crate) const MAX_SCAN_ACCEPTED_PERCENT: usize = 30;

/// Maximum share of the targets of a scan that client and server exchange data with: more do with a crawler, or a peer-to-peer program
/// most of whose peers are gone.
pub(crate) const MAX_SCAN_DATA_PERCENT: usize = 10;

/// The same share, if enough targets without data are ports of one host, or hosts of one network on ports on which programs do not
/// contact many hosts: a scanner chooses how many of its targets are accomplices. As many as may accept.
pub(crate) const MAX_NEAR_SCAN_DATA_PERCENT: usize = MAX_SCAN_ACCEPTED_PERCENT;

/// Minimum share of the targets of a scan with packets of a tool before the scan is that of the tool.
pub(crate) const MIN_SCAN_TOOL_PERCENT: usize = 90;

/// Minimum number of targets of a scan that is reported with its last numbers, in percent of those of its last report: a
/// scanner that goes on slowly would be reported for each target.
pub(crate) const MIN_SCAN_GROWTH_PERCENT: usize = 110;

/// Maximum number of targets of a client that are kept: 100 KiB.
pub(crate) const MAX_SCAN_TARGETS: u32 = 1024;

/// Contacts at intervals within `MAX_BEACON_DEVIATION_PERMILLE` that make a beacon.
pub(crate) const BEACON_CONTACTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(19);

/// Maximum number of pairs of client and server with fewer than three contacts: 16 MiB.
pub(crate) const MAX_BEACON_CANDIDATES: usize = 1 << 16;

/// Maximum number of pairs with more contacts: 4 MiB, and their times and packet numbers.
pub(crate) const MAX_BEACON_SERIES: usize = 1 << 14;

/// Maximum number of pairs of a client and a TLS server that it contacts without a name: 4 MiB.
pub(crate) const MAX_SERVERS: usize = 1 << 14;

/// Maximum number of clients that are known to have a browser: 6 MiB.
pub(crate) const MAX_BROWSER_CLIENTS: usize = 1 << 16;

/// Time after which a client without connections is forgotten, in seconds: 26 hours, so that a daily contact is not.
pub(crate) const FINDING_IDLE_SECS: u64 = 93_600;

/// Maximum number of packets that a finding names as its evidence.
pub(crate) const MAX_FINDING_PACKETS: usize = 8;

/// Maximum number of values of a type whose values may be long: SYN signatures, HTTP/2 fingerprints, issuers, User-Agents. Four types:
/// 40 MiB, if all are as long as possible.
pub(crate) const MAX_BASELINE_LONG_VALUES: usize = 1 << 14;

/// Maximum length of a value of a baseline, in bytes: twice that of the longest SYN signature. The text of an HTTP/2
/// fingerprint has no limit of its own.
pub(crate) const MAX_BASELINE_VALUE_BYTES: usize = 512;
