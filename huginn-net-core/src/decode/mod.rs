//! The one path from a frame to segments.

mod checksum;
mod counters;
mod error;
mod ethernet;
mod ethertype;
mod fast_path;
mod fragments;
mod gre;
mod ip;
mod link;
mod mpls;
mod ppp;
mod transport;
mod udp_tunnel;
mod wifi;

use std::time::Duration;

pub use counters::DecodeCounters;
pub use error::{DecodeError, Layer};

use counters::{SkipReason, add};
pub(crate) use fast_path::{FastPath, LazySegment};
use fragments::{FragmentLimits, FragmentTable, ReassembledDatagram};
use ip::{Header, IpPacket, Ipv4, Version, protocol};
use transport::Datagram;

use crate::{Frame, IpHeader, Segment, Timestamp, Truncated, TunnelLayer, TunnelPath};

/// How many headers of one frame are followed, tags and tunnels and reassembled datagrams together.
const MAX_HEADERS: u8 = 64;

/// FragmentLimits of decode, and what it verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeConfig {
    /// Incomplete datagrams held at most (default 4,096). At the limit the oldest goes first.
    pub max_fragment_datagrams: usize,
    /// Bytes of memory that incomplete datagrams take at most (default 16 MiB). At the limit the oldest goes first.
    pub max_fragment_bytes: usize,
    /// How long after its first fragment a datagram may be completed, in packet time (default 30 seconds).
    pub fragment_timeout: Duration,
    /// Whether TCP and UDP checksums are verified and the wrong ones counted (default false). Nothing is ever
    /// dropped for a checksum: most of those that a machine captures of its own packets are not filled in yet.
    pub verify_checksums: bool,
}

impl Default for DecodeConfig {
    fn default() -> Self {
        Self {
            max_fragment_datagrams: 4_096,
            max_fragment_bytes: 16 << 20,
            fragment_timeout: Duration::from_secs(30),
            verify_checksums: false,
        }
    }
}

/// Turns frames into segments: link header, tags, tunnels, IP with its fragments, TCP and UDP.
///
/// A segment borrows its bytes from the frame; nothing is copied or allocated for a packet that is not a fragment.
/// What gives no segment is [counted](Self::counters) by reason.
#[derive(Clone, Debug)]
pub struct Decoder {
    fragments: FragmentTable,
    path: TunnelPath,
    counters: DecodeCounters,
    verify_checksums: bool,
}

impl Decoder {
    /// A decoder with these limits.
    pub fn new(config: DecodeConfig) -> Self {
        let limits = FragmentLimits {
            datagrams: config.max_fragment_datagrams,
            bytes: config.max_fragment_bytes,
            timeout: config.fragment_timeout,
        };
        Self {
            fragments: FragmentTable::new(limits),
            path: TunnelPath::EMPTY,
            counters: DecodeCounters::default(),
            verify_checksums: config.verify_checksums,
        }
    }

    /// Decodes one frame and hands its segments to `each`: none, one, or several of an 802.11 aggregate.
    ///
    /// In a tunnel only the innermost segment is handed on. A UDP datagram on a tunnel's port that is not strictly
    /// of that tunnel's form is a segment itself.
    #[inline]
    pub fn decode(&mut self, frame: &Frame<'_>, each: &mut impl FnMut(&Segment<'_>)) {
        match FastPath::from_ipv4_frame(frame) {
            Some(fast) => {
                self.count(&fast);
                each(&fast.segment());
            }
            None => self.decode_slow(frame, each),
        }
    }

    /// Counts a frame as [`decode`](Self::decode) does, of which another thread makes the segment.
    #[inline(always)]
    pub(crate) fn count(&mut self, fast: &FastPath<'_>) {
        self.count_ip_checksum(fast.packet.header);
        self.count_without_ip_checksum(fast);
    }

    /// Counts one of IPv6, whose header has no checksum, or another of which that has been noted.
    #[inline(always)]
    pub(crate) fn count_without_ip_checksum<H: Header>(&mut self, fast: &FastPath<'_, H>) {
        add(&mut self.counters.frames, 1);
        add(&mut self.counters.tcp, 1);
        self.count_payload(&fast.packet, &fast.datagram);
    }

    /// What was counted since the decoder was made.
    pub fn counters(&self) -> &DecodeCounters {
        &self.counters
    }

    /// Tells that the capture has ended: incomplete datagrams are counted and forgotten.
    pub fn finish(&mut self) {
        self.fragments.clear(&mut self.counters);
    }

    /// Decodes a frame of which it is known that it is not the [fast](FastPath) one.
    #[inline(never)]
    pub(crate) fn decode_slow(&mut self, frame: &Frame<'_>, each: &mut dyn FnMut(&Segment<'_>)) {
        add(&mut self.counters.frames, 1);
        self.path.clear();
        let cut = u32::try_from(frame.data.len()).is_ok_and(|len| len < frame.wire_len);
        let mut context = FrameContext { ts: frame.ts, cut, headers_left: MAX_HEADERS, each };
        let outcome = match link::frame(frame, &mut self.path, cut) {
            // Most take no detour through the loop, which costs a third of the time.
            Ok(NextHeader::Ip(data)) => match self.ip_packet(data, &mut context) {
                Ok(None) => return,
                Ok(Some(next)) => self.follow(next, &mut context),
                Err(stop) => Err(stop),
            },
            Ok(next) => self.follow(next, &mut context),
            Err(stop) => Err(stop),
        };
        if let Err(stop) = outcome {
            self.counters.count_skipped(stop, cut);
        }
    }

    /// Follows the headers to the transport. An error is the outcome of the packet, and not counted yet.
    fn follow(&mut self, mut next: NextHeader<'_>, context: &mut FrameContext<'_>) -> Result<(), SkipReason> {
        loop {
            context.headers_left = context.headers_left.checked_sub(1).ok_or(SkipReason::TooDeep)?;
            let inner = match next {
                NextHeader::Ip(data) => self.ip_packet(data, context)?,
                NextHeader::Reassembled(datagram) => self.transport(&datagram.packet(), context)?,
                NextHeader::Ethertype(ethertype, data) => {
                    Some(ethertype::payload(ethertype, data, &mut self.path)?)
                }
                NextHeader::Aggregate(data) => return self.aggregate(data, context),
            };
            match inner {
                Some(inner) => next = inner,
                None => return Ok(()),
            }
        }
    }

    /// Reads an IP packet and what is in it; see [`transport`](Self::transport).
    #[inline(never)]
    fn ip_packet<'a>(
        &mut self,
        data: &'a [u8],
        context: &mut FrameContext<'_>,
    ) -> Result<Option<NextHeader<'a>>, SkipReason> {
        match ip::version(data)? {
            Version::V4 => {
                let packet = ip::ipv4(data)?;
                self.count_ip_checksum(packet.header);
                self.transport(&packet, context)
            }
            Version::V6 => self.transport(&ip::ipv6(data)?, context),
        }
    }

    /// Hands on the segment in an IP packet, or gives what the packet carries in its place.
    #[inline]
    fn transport<'a, H: Header>(
        &mut self,
        packet: &IpPacket<'a, H>,
        context: &mut FrameContext<'_>,
    ) -> Result<Option<NextHeader<'a>>, SkipReason> {
        if packet.fragment.is_some() {
            return self.fragment(&packet.read(), context).map(|()| None);
        }
        match packet.protocol {
            protocol::TCP => {
                let datagram = transport::tcp(packet)?;
                add(&mut self.counters.tcp, 1);
                self.emit_segment(packet, &datagram, context);
            }
            protocol::UDP => {
                let datagram = transport::udp(packet)?;
                if let Some((layer, step)) = udp_tunnel::recognise(&datagram) {
                    if layer != TunnelLayer::Teredo {
                        self.mix_endpoints(&packet.header.read());
                    }
                    push_layer(&mut self.path, layer)?;
                    return step.map(Some);
                }
                add(&mut self.counters.udp, 1);
                self.emit_segment(packet, &datagram, context);
            }
            _ => return self.other_protocol(packet.read(), context),
        }
        Ok(None)
    }

    #[inline]
    fn emit_segment<'a, H: Header>(
        &mut self,
        packet: &IpPacket<'a, H>,
        datagram: &Datagram<'a, impl transport::Header<'a>>,
        context: &mut FrameContext<'_>,
    ) {
        self.count_payload(packet, datagram);
        (context.each)(&segment(context.ts, packet, datagram, &self.path));
    }

    #[inline(always)]
    fn count_ip_checksum(&mut self, header: Ipv4<'_>) {
        if !header.checksum_is_correct() {
            add(&mut self.counters.bad_ip_checksum, 1);
        }
    }

    #[inline(always)]
    fn count_payload<'a, H: Header, T>(&mut self, packet: &IpPacket<'a, H>, datagram: &Datagram<'a, T>) {
        if datagram.missing > 0 {
            add(&mut self.counters.truncated_payload, 1);
        }
        if self.verify_checksums && !transport::checksum_is_correct(&packet.read()) {
            add(&mut self.counters.bad_transport_checksum, 1);
        }
    }

    /// Lets the ends of a tunnel tell it from others, whose inner addresses may be the same. Not so where IPv6 crosses
    /// IPv4 (6in4, Teredo): the inner addresses are global, and an answer may come through another relay.
    fn mix_endpoints(&mut self, outer: &IpHeader) {
        self.path.mix_endpoints(outer.addresses);
    }

    /// What an IP packet carries that is neither TCP nor UDP.
    #[inline(never)]
    fn other_protocol<'a>(
        &mut self,
        packet: IpPacket<'a>,
        context: &mut FrameContext<'_>,
    ) -> Result<Option<NextHeader<'a>>, SkipReason> {
        if packet.is_extended() {
            // What is behind is no extension: this does not recur.
            return self.transport(&packet.skip_extensions()?, context);
        }
        let is_ipv4 = packet.header.is_ipv4();
        if !(is_ipv4 && packet.protocol == protocol::IPV6) {
            self.mix_endpoints(&packet.header);
        }
        let layer = match packet.protocol {
            protocol::IPV4 if is_ipv4 => TunnelLayer::IpInIp,
            protocol::IPV4 => TunnelLayer::FourInSix,
            protocol::IPV6 if is_ipv4 => TunnelLayer::SixInFour,
            protocol::IPV6 => TunnelLayer::SixInSix,
            protocol::GRE => return gre::packet(packet.payload, &mut self.path).map(Some),
            protocol::ETHERIP => return ethernet::in_ip(packet.payload, &mut self.path).map(Some),
            protocol::MPLS_IN_IP => return Ok(Some(NextHeader::Ethertype(ethertype::MPLS, packet.payload))),
            protocol::ICMP | protocol::ICMPV6 => return Err(SkipReason::Icmp),
            protocol::ESP => return Err(SkipReason::Encrypted),
            _ => return Err(SkipReason::OtherTransport),
        };
        push_layer(&mut self.path, layer)?;
        Ok(Some(NextHeader::Ip(packet.payload)))
    }

    /// Holds a fragment, or follows the datagram that it makes whole.
    #[inline(never)]
    fn fragment(&mut self, packet: &IpPacket<'_>, context: &mut FrameContext<'_>) -> Result<(), SkipReason> {
        let datagram = self.fragments.add(context.ts, self.path.key_word(), packet, &mut self.counters)?;
        self.follow(NextHeader::Reassembled(&datagram), context)
    }

    /// Follows each part of an 802.11 aggregate. The outcome of the last is that of the frame.
    #[inline(never)]
    fn aggregate(&mut self, mut rest: &[u8], context: &mut FrameContext<'_>) -> Result<(), SkipReason> {
        let (path, headers_left) = (self.path, context.headers_left);
        loop {
            let (part, behind) = wifi::subframe(rest)?;
            let outcome = ethernet::llc(part).and_then(|next| self.follow(next, context));
            if behind.is_empty() {
                return outcome;
            }
            if let Err(stop) = outcome {
                self.counters.count_skipped(stop, context.cut);
            }
            add(&mut self.counters.aggregated, 1);
            (self.path, context.headers_left, rest) = (path, headers_left, behind);
        }
    }
}

/// What one frame's decode carries along.
struct FrameContext<'w> {
    ts: Timestamp,
    /// Whether the snap length cut the frame.
    cut: bool,
    /// Headers that may still be followed.
    headers_left: u8,
    each: &'w mut dyn FnMut(&Segment<'_>),
}

/// What the bytes behind a header are.
#[derive(Clone, Copy)]
enum NextHeader<'a> {
    /// An IP packet of either version.
    Ip(&'a [u8]),
    /// A datagram out of its fragments.
    Reassembled(&'a ReassembledDatagram),
    /// What an ethertype announces.
    Ethertype(u16, &'a [u8]),
    /// The parts of an 802.11 aggregate.
    Aggregate(&'a [u8]),
}

/// Where one header leads.
type HeaderResult<'a> = Result<NextHeader<'a>, SkipReason>;

/// Records a tag or tunnel.
fn push_layer(path: &mut TunnelPath, layer: TunnelLayer) -> Result<(), SkipReason> {
    if path.push(layer) { Ok(()) } else { Err(SkipReason::TooDeep) }
}

impl From<Truncated> for SkipReason {
    fn from(_: Truncated) -> Self {
        Self::Short
    }
}

impl From<DecodeError> for SkipReason {
    #[cold]
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Truncated { .. } => Self::Short,
            DecodeError::BadField { .. } => Self::BadHeader,
            DecodeError::TooManyExtensions { .. } => Self::TooDeep,
            DecodeError::Fragment { .. } => Self::BadFragment,
            DecodeError::OtherTransport { .. } => Self::OtherTransport,
        }
    }
}

#[inline(always)]
fn segment<'s, 'a: 's>(
    ts: Timestamp,
    packet: &IpPacket<'a, impl Header>,
    datagram: &Datagram<'a, impl transport::Header<'a>>,
    tunnel: &'s TunnelPath,
) -> Segment<'s> {
    Segment {
        ts,
        ip: packet.header.read(),
        transport: datagram.header.read(),
        payload: datagram.payload,
        payload_missing: datagram.missing,
        tunnel,
    }
}

/// Decodes one IP packet by itself, of either version: for those who have no capture but a packet.
///
/// Tunnels are not followed and fragments not put together. The time of the segment is zero.
///
/// ```
/// use huginn_net_core::{DecodeError, decode_ip};
///
/// let packet = [
///     0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
///     0, 53, 4, 0, 0, 9, 0, 0, b'x', // UDP
/// ];
/// let segment = decode_ip(&packet)?;
/// assert_eq!(segment.source().to_string(), "192.0.2.1:53");
/// assert_eq!(segment.payload, b"x");
///
/// let error = decode_ip(&packet[..25]).unwrap_err();
/// assert_eq!(error.to_string(), "UDP header at offset 20: 8 bytes needed, 5 there");
/// # Ok::<_, DecodeError>(())
/// ```
///
/// # Errors
/// A header that is incomplete or contradicts itself, a fragment, or a payload that is neither TCP nor UDP. A
/// payload that is shorter than announced is no error: [`Segment::payload_missing`] says by how much.
pub fn decode_ip(packet: &[u8]) -> Result<Segment<'_>, DecodeError> {
    let packet = match ip::version(packet)? {
        Version::V4 => ip::ipv4(packet)?.read(),
        Version::V6 => ip::ipv6(packet)?.read(),
    };
    let packet = packet.skip_extensions()?;
    if let Some(ip::Fragment { id, start, more }) = packet.fragment {
        return Err(DecodeError::Fragment { id, start, more });
    }
    let (time, tunnel) = (Timestamp::default(), &TunnelPath::EMPTY);
    match packet.protocol {
        protocol::TCP => Ok(segment(time, &packet, &transport::tcp(&packet)?, tunnel)),
        protocol::UDP => Ok(segment(time, &packet, &transport::udp(&packet)?, tunnel)),
        protocol => Err(DecodeError::OtherTransport { protocol }),
    }
}

/// The length in bytes that an IP packet states, from its first bytes; `None` if there are too few to tell, or where the length
/// is left to the network card (segmentation offload).
///
/// # Errors
/// A version that is neither 4 nor 6.
pub fn ip_packet_len(bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    Ok(match (ip::version(bytes)?, bytes) {
        (Version::V4, [_, _, high, low, ..]) => stated_len([*high, *low], 0),
        (Version::V6, [_, _, _, _, high, low, ..]) => stated_len([*high, *low], ip::IPV6_HEADER),
        _ => None,
    })
}

/// The length that a field holds, with that of what it does not count.
fn stated_len(field: [u8; 2], uncounted: usize) -> Option<usize> {
    let len = usize::from(u16::from_be_bytes(field));
    (len != 0).then(|| len.saturating_add(uncounted))
}
