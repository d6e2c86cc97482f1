//! The decoder: from a frame to TCP and UDP segments.

mod address_map;
mod atm;
mod checksum;
mod counters;
mod error;
mod ethernet;
mod ethertype;
mod fast_path;
mod fit;
mod fragments;
mod gre;
mod ip;
mod ip_tunnel;
mod juniper;
mod lan;
mod link;
mod mpls;
mod numbers;
mod overlay;
mod ppp;
mod process;
mod transport;
mod udp_tunnel;
mod wifi;

use std::sync::Arc;
use std::time::Duration;

pub use address_map::AddressMap;
use address_map::MappedAddresses;
pub use counters::{DecodeCounters, ProtocolCount};
pub use error::{DecodeError, Layer};
pub use numbers::{ProtocolNumber, Registry};

use counters::{SkipReason, add};
pub(crate) use fast_path::{FastPath, plain_tcp_ends};
use fragments::{FragmentLimits, FragmentRecord, FragmentTable, ReassembledDatagram};
use ip::{Header, IpPacket, Ipv4, Version, protocol};
use transport::Datagram;

use crate::flow::LazySegment;
use crate::limits::{
    DECODER_EXAMPLES, DEFAULT_FRAGMENT_TIMEOUT, DEFAULT_MAX_FRAGMENT_BYTES, DEFAULT_MAX_FRAGMENT_DATAGRAMS,
    MAX_PROTOCOL_HEADERS,
};
use crate::{
    Example, Examples, FlowKey, Frame, IpHeader, Segment, Tally, Timestamp, Truncated, TunnelLayer,
    TunnelPath,
};

/// Configuration of the [`Decoder`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeConfig {
    /// Maximum number of incomplete datagrams (default 4,096). At the limit the decoder evicts the oldest.
    pub max_fragment_datagrams: usize,
    /// Maximum memory of incomplete datagrams, in bytes (default 16 MiB). At the limit the decoder evicts the oldest.
    pub max_fragment_bytes: usize,
    /// Reassembly timeout of a datagram, in packet time since its first fragment (default 30 seconds).
    pub fragment_timeout: Duration,
    /// Whether to verify and count TCP and UDP checksums (default false). Wrong checksums never drop a segment: a
    /// machine that captures its own packets sees most of them before the network card fills the checksum in.
    pub verify_checksums: bool,
    /// Whether VLAN tags are part of the flow key (default true). Without them, directions with different tags share a
    /// flow, and so do equal addresses in two VLANs. Suricata calls it `vlan.use-for-tracking`.
    pub vlan_in_flow_key: bool,
    /// Whether the [interface](Timestamp::interface) is part of the flow key (default false), for interfaces whose
    /// networks have the same addresses. The interface is then the first layer of the path. Suricata calls it
    /// `livedev.use-for-tracking`.
    pub interface_in_flow_key: bool,
}

huginn_net_wire::setters!(DecodeConfig {
    max_fragment_datagrams: usize,
    max_fragment_bytes: usize,
    fragment_timeout: Duration,
    verify_checksums: bool,
    vlan_in_flow_key: bool,
    interface_in_flow_key: bool,
});

impl Default for DecodeConfig {
    fn default() -> Self {
        Self {
            max_fragment_datagrams: DEFAULT_MAX_FRAGMENT_DATAGRAMS,
            max_fragment_bytes: DEFAULT_MAX_FRAGMENT_BYTES,
            fragment_timeout: DEFAULT_FRAGMENT_TIMEOUT,
            verify_checksums: false,
            vlan_in_flow_key: true,
            interface_in_flow_key: false,
        }
    }
}

/// Turns frames into segments: link header, tags, tunnels, IP with its fragments, TCP and UDP.
///
/// A segment borrows its bytes from the frame. The decoder copies and allocates only for fragments. Frames without a
/// segment are [counted](Self::counters) by reason.
#[derive(Clone, Debug)]
pub struct Decoder {
    fragments: FragmentTable,
    path: TunnelPath,
    counters: DecodeCounters,
    /// The earliest packet that each counter of unreadable packets counted.
    examples: Examples,
    verify_checksums: bool,
    interface_in_flow_key: bool,
    /// What takes the place of the addresses of segments once they have passed the filter.
    pub(crate) addresses: Option<Box<MappedAddresses>>,
    /// Number of the current record: frames and other records since the decoder was created.
    record: u64,
    /// Number of the last record of earlier captures.
    records_before: u64,
    /// Whether each frame is decoded without those before it, which fragments need.
    ignores_order: bool,
    /// Whether the current frame depends on others, so that it was not decoded.
    needs_order: bool,
}

impl Decoder {
    /// Creates a decoder.
    pub fn new(config: DecodeConfig) -> Self {
        let limits = FragmentLimits {
            datagrams: config.max_fragment_datagrams,
            bytes: config.max_fragment_bytes,
            timeout: config.fragment_timeout,
        };
        Self {
            fragments: FragmentTable::new(limits),
            path: TunnelPath::new(!config.vlan_in_flow_key),
            counters: DecodeCounters::with_capacity(),
            // Decoding does not allocate.
            examples: Examples::with_capacity(DECODER_EXAMPLES),
            verify_checksums: config.verify_checksums,
            interface_in_flow_key: config.interface_in_flow_key,
            addresses: None,
            record: 0,
            records_before: 0,
            ignores_order: false,
            needs_order: false,
        }
    }

    /// Finds the [flow](Self::flow_of) of segments with other addresses than their packets have.
    pub(crate) fn with_address_map(self, map: Arc<dyn AddressMap>) -> Self {
        Self { addresses: Some(Box::new(MappedAddresses::new(map))), ..self }
    }

    /// Decodes one frame and passes its segments to `each`: none, one, or several from an 802.11 aggregate.
    ///
    /// A tunnel yields only its innermost segment. A UDP datagram on a tunnel's port counts as a tunnel only if its
    /// header is valid, and, if reserved bits are set in it, what follows fits; otherwise it is a segment itself.
    #[inline]
    pub fn decode(&mut self, frame: &Frame<'_>, each: &mut impl FnMut(&Segment<'_>)) {
        self.advance(frame, 1);
        self.decode_current(frame, each);
    }

    /// [Decodes](Self::decode) the frame of the current record.
    #[inline]
    pub(crate) fn decode_current(&mut self, frame: &Frame<'_>, each: &mut impl FnMut(&Segment<'_>)) {
        match FastPath::from_ipv4_frame(frame, self.number()).filter(|_| self.has_fast_path()) {
            Some(fast) => {
                self.count(&fast);
                each(&fast.segment());
            }
            None => self.decode_slow(frame, each),
        }
    }

    /// Counts a frame of the fast path as [`decode`](Self::decode) does, without decoding the segment.
    #[inline(always)]
    pub(crate) fn count(&mut self, fast: &FastPath<'_>) {
        self.count_without_ip_checksum(fast);
        self.count_ip_checksum(fast.packet.header, fast.ts);
    }

    /// Counts a frame of the fast path without an IP checksum: IPv6 has none.
    #[inline(always)]
    pub(crate) fn count_without_ip_checksum<H: Header>(&mut self, fast: &FastPath<'_, H>) {
        add(&mut self.counters.frames, 1);
        add(&mut self.counters.tcp, 1);
        self.count_payload(&fast.packet, &fast.datagram, fast.ts);
    }

    /// Whether frames may take the [fast path](FastPath), whose flow key has no interface and the addresses of the packet.
    #[inline(always)]
    pub(crate) fn has_fast_path(&self) -> bool {
        !self.interface_in_flow_key && self.addresses.is_none()
    }

    /// Starts another capture: its first frame has the number 1.
    pub(crate) fn start_capture(&mut self) {
        self.records_before = self.record;
    }

    /// Starts one of several captures that are decoded at once: its first frame has the number `index + 1`, and each frame the number of
    /// the one before it plus `count`, so that no two captures have the same number.
    pub(crate) fn start_capture_of_several(&mut self, index: u64, count: u64) {
        let before_first = count.saturating_sub(index).saturating_sub(1);
        self.records_before = self.record.wrapping_add(before_first);
    }

    /// Counts the record of the next frame, and the records before it that are not packets, each as `step`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, frame: &Frame<'_>, step: u64) {
        self.record = self.record.wrapping_add(records_of(frame.ts).wrapping_mul(step));
    }

    /// Returns the number of the current record since the decoder was created.
    pub(crate) fn record(&self) -> u64 {
        self.record
    }

    /// Sets the number of the current record, for a frame that is decoded without those before it.
    #[inline(always)]
    pub(crate) fn set_record(&mut self, record: u64) {
        self.record = record;
    }

    /// Returns the number of the current frame in the capture.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        self.record.wrapping_sub(self.records_before)
    }

    /// Returns a decoder with the same settings and fragments, and with new counters.
    pub(crate) fn fork(&self) -> Self {
        let (counters, examples) =
            (DecodeCounters::with_capacity(), Examples::with_capacity(DECODER_EXAMPLES));
        Self { counters, examples, ..self.clone() }
    }

    /// Returns a decoder for [`flow_of`](Self::flow_of), with these settings.
    pub(crate) fn fork_without_order(&self) -> Self {
        Self {
            ignores_order: true,
            verify_checksums: false,
            fragments: FragmentTable::new(self.fragments.limits),
            ..self.fork()
        }
    }

    /// Adds the counters and examples of a decoder of other frames of the capture.
    pub(crate) fn join(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.examples.merge(&other.examples);
    }

    /// Finds the flow of a frame that does not take the fast path, whatever the frames before it.
    pub(crate) fn flow_of(&mut self, frame: &Frame<'_>) -> FrameFlow {
        self.needs_order = false;
        let mut flow = FrameFlow::NoSegment;
        let mut addresses = self.addresses.take();
        self.decode_slow(frame, &mut |segment| {
            let mapped = addresses.as_deref_mut().map(|map| map.segment(segment));
            flow = FrameFlow::One(FlowKey::from_segment(mapped.as_ref().unwrap_or(segment)).0);
        });
        self.addresses = addresses;
        if self.needs_order { FrameFlow::NeedsOrder } else { flow }
    }

    /// Returns the number of the fragmented datagram that the latest frame belongs to, whether it completed the datagram or not;
    /// `None` if the frame had no valid fragment. Each datagram has another number.
    pub fn fragmented_datagram(&self) -> Option<u64> {
        self.fragments.datagram_of(self.record)
    }

    /// Returns the counters since the decoder was created.
    pub fn counters(&self) -> &DecodeCounters {
        &self.counters
    }

    /// Returns the earliest example of each counter of packets that could not be read, since the decoder was created.
    pub fn examples(&self) -> &Examples {
        &self.examples
    }

    /// Makes the current frame the example of a counter that counts its first packet.
    #[cold]
    #[inline(never)]
    fn add_example(&mut self, counter: &'static str, ts: Timestamp) {
        self.examples.add(Example {
            counter,
            ts,
            frame: Some(self.number()),
            flow: None,
            addresses: None,
            packet_number: self.record,
        });
    }

    /// Ends the capture: discards and counts incomplete datagrams.
    pub fn finish(&mut self) {
        self.fragments.clear(&mut self.counters, &mut self.examples);
    }

    /// Decodes a frame that does not take the [fast path](FastPath).
    #[inline(never)]
    pub(crate) fn decode_slow(&mut self, frame: &Frame<'_>, each: &mut dyn FnMut(&Segment<'_>)) {
        let number = self.number();
        add(&mut self.counters.frames, 1);
        self.path.clear();
        if self.interface_in_flow_key {
            // An empty path has room.
            let _ = self.path.push(TunnelLayer::Interface(frame.ts.interface()));
        }
        let cut = u32::try_from(frame.data.len()).is_ok_and(|len| len < frame.wire_len);
        let mut context =
            FrameContext { ts: frame.ts, number, cut, headers_left: MAX_PROTOCOL_HEADERS, each };
        let outcome = match link::frame(frame, &mut self.path, cut) {
            // Most frames need no loop, which would cost a third of the time.
            Ok(NextHeader::Ip(data)) => match self.ip_packet(data, &mut context) {
                Ok(None) => return,
                Ok(Some(next)) => self.follow(next, &mut context),
                Err(stop) => Err(stop),
            },
            Ok(next) => self.follow(next, &mut context),
            Err(stop) => Err(stop),
        };
        if let Err(stop) = outcome {
            self.count_skipped(stop, cut, frame.ts);
        }
    }

    /// Counts a packet without a segment. `cut`: whether the snap length cut its frame.
    #[cold]
    fn count_skipped(&mut self, stop: SkipReason, cut: bool, ts: Timestamp) {
        if let Some(counter) = self.counters.count_skipped(stop, cut) {
            self.add_example(counter, ts);
        }
    }

    /// Follows the headers to the transport. The caller counts the error.
    fn follow(&mut self, mut next: NextHeader<'_>, context: &mut FrameContext<'_>) -> Result<(), SkipReason> {
        loop {
            context.headers_left = context.headers_left.checked_sub(1).ok_or(SkipReason::TooDeep)?;
            let inner = match next {
                NextHeader::Ip(data) => self.ip_packet(data, context)?,
                NextHeader::Reassembled(datagram) => self.transport(&datagram.packet(), context)?,
                NextHeader::Ethertype(ethertype, data) => {
                    Some(ethertype::payload(ethertype, data, &mut self.path)?)
                }
                NextHeader::Ppp(data) => Some(ppp::frame(data)?),
                NextHeader::Link(link, data) => Some(link::payload(link, data, &mut self.path, context.cut)?),
                NextHeader::Aggregate(data) => return self.aggregate(data, context),
            };
            match inner {
                Some(inner) => next = inner,
                None => return Ok(()),
            }
        }
    }

    /// Decodes an IP packet; see [`transport`](Self::transport).
    #[inline(never)]
    fn ip_packet<'a>(
        &mut self,
        data: &'a [u8],
        context: &mut FrameContext<'_>,
    ) -> Result<Option<NextHeader<'a>>, SkipReason> {
        match ip::version(data)? {
            Version::V4 => {
                let packet = ip::ipv4(data)?;
                self.count_ip_checksum(packet.header, context.ts);
                self.transport(&packet, context)
            }
            Version::V6 => self.transport(&ip::ipv6(data)?, context),
        }
    }

    /// Emits the segment of an IP packet, or returns the encapsulated header that follows.
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
                    if layer != Some(TunnelLayer::Teredo) {
                        self.mix_endpoints(&packet.header.read());
                    }
                    if let Some(layer) = layer {
                        push_layer(&mut self.path, layer)?;
                    }
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
        self.count_payload(packet, datagram, context.ts);
        (context.each)(&segment((context.ts, context.number), packet, datagram, &self.path));
    }

    #[inline(always)]
    fn count_ip_checksum(&mut self, header: Ipv4<'_>, ts: Timestamp) {
        if !header.checksum_is_correct() {
            add(&mut self.counters.bad_ip_checksum, 1);
            if self.counters.bad_ip_checksum == 1 {
                self.add_example("bad_ip_checksum", ts);
            }
        }
    }

    #[inline(always)]
    fn count_payload<'a, H: Header, T>(
        &mut self,
        packet: &IpPacket<'a, H>,
        datagram: &Datagram<'a, T>,
        ts: Timestamp,
    ) {
        if datagram.missing > 0 {
            add(&mut self.counters.truncated_payload, 1);
            if self.counters.truncated_payload == 1 {
                self.add_example("truncated_payload", ts);
            }
        }
        if self.verify_checksums && !transport::checksum_is_correct(&packet.read()) {
            add(&mut self.counters.bad_transport_checksum, 1);
            if self.counters.bad_transport_checksum == 1 {
                self.add_example("bad_transport_checksum", ts);
            }
        }
    }

    /// Mixes the tunnel endpoints into the flow key, since inner addresses may repeat across tunnels. Callers omit
    /// this for IPv6 over IPv4 (6in4, Teredo): the inner addresses are global, and answers may come through another
    /// relay.
    fn mix_endpoints(&mut self, outer: &IpHeader) {
        self.path.mix_endpoints(outer.addresses);
    }

    /// Decodes an IP payload that is neither TCP nor UDP.
    #[inline(never)]
    fn other_protocol<'a>(
        &mut self,
        packet: IpPacket<'a>,
        context: &mut FrameContext<'_>,
    ) -> Result<Option<NextHeader<'a>>, SkipReason> {
        if packet.is_extended() {
            // The next header is not an extension, so the recursion ends here.
            return self.transport(&packet.skip_extensions()?, context);
        }
        if let Some(inner) = ip_tunnel::null_esp_transport(&packet) {
            push_layer(&mut self.path, TunnelLayer::Esp)?;
            return self.transport(&inner, context);
        }
        let is_ipv4 = packet.header.is_ipv4();
        if !(is_ipv4 && packet.protocol == protocol::IPV6) {
            self.mix_endpoints(&packet.header);
        }
        let protocol = packet.protocol;
        numbers::ip(protocol.into(), &packet, &mut self.path)
            .unwrap_or_else(|| {
                Err(SkipReason::OtherTransport(ProtocolNumber::new(Registry::IpProtocol, protocol)))
            })
            .map(Some)
    }

    /// Buffers a fragment, or follows the datagram that it completes.
    #[inline(never)]
    fn fragment(&mut self, packet: &IpPacket<'_>, context: &mut FrameContext<'_>) -> Result<(), SkipReason> {
        if self.ignores_order {
            self.needs_order = true;
            return Ok(());
        }
        let record = FragmentRecord {
            ts: context.ts,
            number: self.number(),
            record: self.record,
            addresses: packet.header.addresses,
        };
        let tunnel = self.path.key_word();
        let datagram = self.fragments.add(record, tunnel, packet, (&mut self.counters, &mut self.examples));
        if matches!(datagram, Err(SkipReason::BadFragment)) && self.counters.bad_fragment == 0 {
            self.examples.add(record.example("bad_fragment"));
        }
        let mut datagram = datagram?;
        let Some(last) = datagram.take_last_version() else {
            return self.follow(NextHeader::Reassembled(&datagram), context);
        };
        if self.counters.fragment_conflicts == 1 {
            self.examples.add(record.example("fragment_conflicts"));
        }
        // The receiver may have accepted either version, so that both are emitted. The frame's outcome is that of the
        // second one.
        let (path, headers_left) = (self.path, context.headers_left);
        if let Err(stop) = self.follow(NextHeader::Reassembled(&datagram), context) {
            self.count_skipped(stop, context.cut, context.ts);
        }
        add(&mut self.counters.aggregated, 1);
        (self.path, context.headers_left) = (path, headers_left);
        self.follow(NextHeader::Reassembled(&last), context)
    }

    /// Follows each subframe of an 802.11 aggregate. The frame's outcome is that of the last subframe.
    #[inline(never)]
    fn aggregate(&mut self, mut rest: &[u8], context: &mut FrameContext<'_>) -> Result<(), SkipReason> {
        if self.ignores_order {
            self.needs_order = true;
            return Ok(());
        }
        let (path, headers_left) = (self.path, context.headers_left);
        loop {
            let (part, after) = wifi::subframe(rest)?;
            let outcome = wifi::after_mesh_control(part).and_then(|next| self.follow(next, context));
            if after.is_empty() {
                return outcome;
            }
            if let Err(stop) = outcome {
                self.count_skipped(stop, context.cut, context.ts);
            }
            add(&mut self.counters.aggregated, 1);
            (self.path, context.headers_left, rest) = (path, headers_left, after);
        }
    }
}

/// The flow of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameFlow {
    /// The frame has one segment, of this flow.
    One(FlowKey),
    /// The frame has no segment.
    NoSegment,
    /// Fragments and aggregates: the frames before it decide, or it has several segments.
    NeedsOrder,
}

/// Returns the number of a frame's record after the record before it. Records that are not packets count.
#[inline(always)]
pub(crate) fn record_after(record: u64, ts: Timestamp) -> u64 {
    record.wrapping_add(records_of(ts))
}

/// Returns the number of records that a frame counts for: its own, and those before it that are not packets.
#[inline(always)]
fn records_of(ts: Timestamp) -> u64 {
    u64::from(ts.other_records()).wrapping_add(1)
}

/// State of decoding one frame.
struct FrameContext<'w> {
    ts: Timestamp,
    number: u64,
    /// Whether the snap length cut the frame.
    cut: bool,
    /// Number of headers that may still be followed.
    headers_left: u8,
    each: &'w mut dyn FnMut(&Segment<'_>),
}

/// The header that follows.
#[derive(Clone, Copy)]
enum NextHeader<'a> {
    /// An IP packet of either version.
    Ip(&'a [u8]),
    /// A reassembled datagram.
    Reassembled(&'a ReassembledDatagram),
    /// The payload of an ethertype.
    Ethertype(u16, &'a [u8]),
    /// A PPP frame.
    Ppp(&'a [u8]),
    /// A frame of a link type, inside another one or a tunnel.
    Link(u16, &'a [u8]),
    /// The subframes of an 802.11 aggregate.
    Aggregate(&'a [u8]),
}

/// The header that follows, or why there is none.
type HeaderResult<'a> = Result<NextHeader<'a>, SkipReason>;

/// Adds a tag or tunnel to the path.
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
            DecodeError::Fragment { .. } => Self::BadFragment,
            DecodeError::OtherTransport { protocol } => {
                Self::OtherTransport(ProtocolNumber::new(Registry::IpProtocol, protocol))
            }
        }
    }
}

#[inline(always)]
fn segment<'s, 'a: 's>(
    (ts, number): (Timestamp, u64),
    packet: &IpPacket<'a, impl Header>,
    datagram: &Datagram<'a, impl transport::Header<'a>>,
    tunnel: &'s TunnelPath,
) -> Segment<'s> {
    Segment {
        ts,
        packet_number: number,
        ip: packet.header.read(),
        transport: datagram.header.read(),
        payload: datagram.payload,
        payload_missing: datagram.missing,
        tunnel,
    }
}

/// Decodes a single IP packet of either version, without a capture.
///
/// Follows no tunnels and reassembles no fragments. The timestamp of the segment is zero.
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
/// If a header is truncated or invalid, the packet is a fragment, or the payload is neither TCP nor UDP. A payload
/// shorter than stated is not an error; see [`Segment::payload_missing`].
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
        protocol::TCP => Ok(segment((time, 0), &packet, &transport::tcp(&packet)?, tunnel)),
        protocol::UDP => Ok(segment((time, 0), &packet, &transport::udp(&packet)?, tunnel)),
        protocol => Err(DecodeError::OtherTransport { protocol }),
    }
}

/// Reads the total length of an IP packet from its first bytes. Returns `None` if there are too few bytes, or if the
/// field is zero (segmentation offload).
///
/// # Errors
/// If the version is neither 4 nor 6.
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

/// Returns the value of a length field plus the header length that it does not count.
fn stated_len(field: [u8; 2], uncounted: usize) -> Option<usize> {
    let len = usize::from(u16::from_be_bytes(field));
    (len != 0).then(|| len.saturating_add(uncounted))
}
