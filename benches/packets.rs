//! Packets of this project's captures in memory, repeated; shared by several benches.
#![allow(dead_code, reason = "no bench uses everything")]

#[path = "../captures/tools/captures.rs"]
pub(crate) mod captures;

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use huginn_net_capture::CaptureReader;
use huginn_net_core::{Frame, LinkType, Timestamp};

/// Packets a second that fill a link of 1 Gbps: frames of 1,518 bytes, with preamble and gap 1,538.
pub(crate) const PACKETS_AT_1_GBPS: u64 = 81_274;

/// Minimum length of one pass, in bytes: more than the caches of a core.
pub(crate) const AT_LEAST: usize = 64 << 20;
/// Length of a pass that stays in the cache until the next pass, in bytes.
pub(crate) const IN_CACHE: usize = 8 << 20;

/// Pages with their resources: most packets carry part of a body, or acknowledge it.
pub(crate) const PAGES: [&str; 1] = ["http-pages"];
/// Short connections of several protocols: every seventh packet belongs to a handshake.
pub(crate) const SHORT: [&str; 6] =
    ["curl-nginx", "http-clients", "http-firefox", "tls-clients", "h2c", "stack-default"];
/// Short connections with a TLS handshake.
pub(crate) const HANDSHAKES: [&str; 7] =
    ["tls-chromium", "tls-curl", "tls-firefox", "tls-go", "tls-hello-retry", "tls-openssl", "tls-resumption"];
/// Short connections of all protocols: handshakes of several systems, HTTP/1 and HTTP/2 in the clear, TLS over TCP, QUIC
/// and DTLS.
pub(crate) const ALL_PROTOCOLS: [&str; 16] = [
    "curl-nginx",
    "curl-nginx-ipv6",
    "dtls-firefox",
    "h2c",
    "http-chromium",
    "http-clients",
    "http-firefox",
    "nmap-syn",
    "quic-chromium",
    "quic-firefox",
    "stack-default",
    "stack-mtu-9000",
    "starttls-smtp",
    "tls-chromium",
    "tls-clients",
    "tls-firefox",
];

const ETHERNET_LEN: usize = 14;
/// Time of the first packet, in nanoseconds since the epoch.
const BEGINNING: u64 = 1_700_000_000_000_000_000;
/// Pause between repetitions, in nanoseconds: longer than every idle timeout.
const PAUSE: u64 = 600_000_000_000;

/// How packets are repeated. Every repetition starts its flows again and yields the same events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The same addresses, after a pause in which all flows expire: few flows at a time.
    SameFlows,
    /// Other addresses in each repetition, at the packet rate of a full 1 Gbps link: the flow table fills up.
    NewFlows,
}

impl Repeat {
    pub(crate) const BOTH: [Self; 2] = [Self::SameFlows, Self::NewFlows];
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameFlows => "same flows",
            Self::NewFlows => "new flows",
        })
    }
}

/// Ethernet frames in the order of time, contiguous in memory.
#[derive(Default)]
pub(crate) struct Packets {
    bytes: Vec<u8>,
    /// Time and end offset of each frame.
    records: Vec<(Timestamp, usize)>,
}

impl Packets {
    /// Merges the selected IPv4 and IPv6 packets of these captures, and repeats them until they have `at_least` bytes.
    pub(crate) fn from_captures(
        captures: &[impl AsRef<Path>],
        repeat: Repeat,
        at_least: usize,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Self {
        let captures: Vec<_> = captures.iter().map(|name| read(name.as_ref(), &wanted)).collect();
        let frames = || captures.iter().flatten();
        let bytes: usize = frames().map(|(_, frame)| frame.len()).sum();
        let spacing = match repeat {
            Repeat::SameFlows => frames().map(|(at, _)| at + PAUSE).max().unwrap(),
            Repeat::NewFlows => frames().count() as u64 * 1_000_000_000 / PACKETS_AT_1_GBPS,
        };
        let mut order: Vec<_> = (0..at_least.div_ceil(bytes) as u64)
            .flat_map(|repetition| {
                captures.iter().enumerate().flat_map(move |(n, capture)| {
                    capture.iter().map(move |(at, frame)| (repetition * spacing + at, repetition, n, frame))
                })
            })
            .collect();
        order.sort_by_key(|(at, ..)| *at);
        let mut packets = Self::default();
        for (at, repetition, n, frame) in order {
            let network = match repeat {
                Repeat::SameFlows => n,
                Repeat::NewFlows => repetition as usize * captures.len() + n,
            };
            move_to_network(packets.push(at, frame), network);
        }
        packets
    }

    /// Appends a frame, `at` nanoseconds after the start, and returns its copy for changes.
    pub(crate) fn push(&mut self, at: u64, frame: &[u8]) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        let at = BEGINNING + at;
        let ts = Timestamp::new(at / 1_000_000_000, (at % 1_000_000_000) as u32, 9);
        self.records.push((ts, self.bytes.len()));
        &mut self.bytes[start..]
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = Frame<'_>> + Clone + Send {
        let mut start = 0;
        self.records.iter().map(move |(ts, end)| {
            let data = &self.bytes[start..*end];
            start = *end;
            Frame { ts: *ts, link: LinkType::ETHERNET, data, wire_len: data.len() as u32 }
        })
    }

    /// Writes the frames as a capture file: little-endian pcap in microseconds, version 2.4, Ethernet
    /// (draft-ietf-opsawg-pcap).
    pub(crate) fn write_pcap(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        let mut words = |words: &[u32], data: &[u8]| {
            words.iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))?;
            file.write_all(data)
        };
        words(&[0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 1 << 18, 1], &[])?;
        for Frame { ts, data, wire_len, .. } in self.frames() {
            words(&[ts.as_secs() as u32, ts.subsec_nanos() / 1000, data.len() as u32, wire_len], data)?;
        }
        file.flush()
    }
}

/// The names of all captures of the project that are pcap files.
pub(crate) fn all_captures() -> Vec<PathBuf> {
    captures::with_extension(&["pcap"])
}

/// Resolves the path of a capture, or its name without extension.
pub(crate) fn capture_path(name: &Path) -> PathBuf {
    match name.extension() {
        Some(_) => name.to_owned(),
        None => captures::path(&format!("{}.pcap", name.display())),
    }
}

/// Reads the selected frames of a capture, each with its nanoseconds since the first.
fn read(name: &Path, wanted: &impl Fn(&[u8]) -> bool) -> Vec<(u64, Vec<u8>)> {
    let mut reader = CaptureReader::open(capture_path(name)).unwrap();
    let (mut frames, mut first) = (Vec::new(), None);
    while let Some(frame) = reader.read_frame().unwrap() {
        let at = frame.ts.as_nanos();
        let since = at.saturating_sub(*first.get_or_insert(at));
        let is_ip = frame.link == LinkType::ETHERNET && ip_version(frame.data).is_some();
        if is_ip && wanted(frame.data) {
            frames.push((since, frame.data.to_vec()));
        }
    }
    frames
}

fn ip_version(frame: &[u8]) -> Option<u8> {
    match frame.get(12..ETHERNET_LEN)? {
        [8, 0] => Some(4),
        [0x86, 0xdd] => Some(6),
        _ => None,
    }
}

/// Moves both addresses of a packet to another network, one of 2^24. Checksums stay unchanged.
fn move_to_network(frame: &mut [u8], network: usize) {
    assert!(network < 1 << 24, "too many networks");
    let [_, number @ ..] = (network as u32).to_be_bytes();
    let is_ipv4 = ip_version(frame) == Some(4);
    let before = is_ipv4.then(|| address_sum(frame));
    let places = if is_ipv4 { [27, 31] } else { [26, 42] };
    for place in places {
        let address = &mut frame[place..place + number.len()];
        address.iter_mut().zip(number).for_each(|(byte, change)| *byte ^= change);
    }
    if let Some(before) = before {
        // A right checksum of the header stays right, a wrong one wrong (RFC 1624, section 3).
        let after = u32::from(address_sum(frame));
        let checksum = &mut frame[24..26];
        let sum = u32::from(!u16::from_be_bytes([checksum[0], checksum[1]])) + u32::from(!before);
        checksum.copy_from_slice(&(!folded(sum + after)).to_be_bytes());
    }
}

/// Returns the sum of both IPv4 addresses, as the checksum of the header adds them.
fn address_sum(frame: &[u8]) -> u16 {
    folded(frame[26..34].chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum())
}

/// Returns a sum of 16-bit words in ones' complement.
fn folded(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Returns flags and payload of a TCP segment over IPv4.
pub(crate) fn tcp(frame: &[u8]) -> Option<(u8, &[u8])> {
    let (protocol, segment) = ipv4_payload(frame)?;
    (protocol == 6).then(|| (segment[13], &segment[usize::from(segment[12] >> 4) * 4..]))
}

/// Whether the frame is a QUIC datagram with a long header and the minimum length of an Initial.
pub(crate) fn is_initial(frame: &[u8]) -> bool {
    ipv4_payload(frame).is_some_and(|(protocol, datagram)| {
        protocol == 17 && datagram.len() >= 1208 && datagram[8] & 0xc0 == 0xc0
    })
}

/// Returns the protocol of an IPv4 header, and the payload.
fn ipv4_payload(frame: &[u8]) -> Option<(u8, &[u8])> {
    if ip_version(frame) != Some(4) {
        return None;
    }
    let packet = &frame[ETHERNET_LEN..];
    let len = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    Some((packet[9], &packet[usize::from(packet[0] & 15) * 4..len]))
}
