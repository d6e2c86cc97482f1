//! Reassembly of IP fragments (RFC 791, section 3.2; RFC 8200, section 4.5).

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::counters::{DecodeCounters, SkipReason, add};
use super::ip::{Fragment, IpPacket};
use crate::limits::MAX_DATAGRAM_LEN;
use crate::{Addresses, Cursor, IpHeader, Timestamp};

/// Limits of the fragment table.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentLimits {
    pub(super) datagrams: usize,
    pub(super) bytes: usize,
    pub(super) timeout: Duration,
}

/// Incomplete datagrams, with limits on number, memory and packet time.
///
/// The first copy of overlapping bytes wins. A fragment that contradicts the known length of its datagram is
/// rejected.
#[derive(Clone, Debug)]
pub(super) struct FragmentTable {
    limits: FragmentLimits,
    datagrams: HashMap<Key, Datagram>,
    /// Datagrams by the arrival of their first fragment, oldest first.
    by_age: BTreeMap<u64, Key>,
    last_age: u64,
    /// Memory used by the datagrams, in bytes.
    buffered_bytes: usize,
}

/// The identity of a fragmented datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    addresses: Addresses,
    id: u32,
    /// IPv4 only: an IPv6 identification is unique across protocols.
    protocol: u8,
    tunnel: u64,
}

/// A complete datagram with the header of its first fragment.
pub(super) struct ReassembledDatagram {
    header: IpHeader,
    protocol: u8,
    payload: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Datagram {
    age: u64,
    first_seen: Timestamp,
    /// Header and protocol of the fragment at offset 0.
    first: Option<(IpHeader, u8)>,
    /// Received bytes in order of arrival, without duplicates. Memory grows with the bytes received: a single
    /// fragment at the end of a datagram costs little.
    bytes: Vec<u8>,
    /// The datagram ranges that `bytes` covers, in the same order.
    ranges: Vec<ByteRange>,
    /// One bit per received unit of 8 bytes, the unit of fragmentation.
    received_units: Vec<u64>,
    /// Bits set in `received_units`.
    received_unit_count: usize,
    /// Greatest end offset of any fragment so far.
    max_end: usize,
    /// Length of the payload, known from the last fragment.
    len: Option<usize>,
}

/// A contiguous range of the datagram.
#[derive(Clone, Debug)]
struct ByteRange {
    start: usize,
    len: usize,
}

impl FragmentTable {
    pub(super) fn new(limits: FragmentLimits) -> Self {
        Self { limits, datagrams: HashMap::new(), by_age: BTreeMap::new(), last_age: 0, buffered_bytes: 0 }
    }

    /// Adds a fragment, and returns the datagram if it is now complete.
    pub(super) fn add(
        &mut self,
        ts: Timestamp,
        tunnel: u64,
        packet: &IpPacket<'_>,
        counters: &mut DecodeCounters,
    ) -> Result<ReassembledDatagram, SkipReason> {
        self.expire(ts, counters);
        let Some(fragment) = packet.fragment else { return Err(SkipReason::BadFragment) };
        if packet.missing > 0 {
            return Err(SkipReason::Short);
        }
        if !fits(packet, fragment) {
            return Err(SkipReason::BadFragment);
        }
        let is_ipv4 = packet.header.is_ipv4();
        let key = Key {
            addresses: packet.header.addresses,
            id: fragment.id,
            protocol: if is_ipv4 { packet.protocol } else { 0 },
            tunnel,
        };
        let datagram = self.datagrams.entry(key).or_insert_with(|| {
            self.last_age = self.last_age.wrapping_add(1);
            self.by_age.insert(self.last_age, key);
            let datagram = Datagram::new(self.last_age, ts);
            self.buffered_bytes = self.buffered_bytes.saturating_add(datagram.memory());
            datagram
        });
        let before = datagram.memory();
        let added = datagram.add(packet, fragment);
        self.buffered_bytes = self.buffered_bytes.saturating_sub(before).saturating_add(datagram.memory());
        if datagram.is_complete()
            && let Some(datagram) = self.remove(&key).and_then(Datagram::reassemble)
        {
            add(&mut counters.reassembled, 1);
            return Ok(datagram);
        }
        while self.datagrams.len() > self.limits.datagrams || self.buffered_bytes > self.limits.bytes {
            let Some(oldest) = self.by_age.first_entry().map(|entry| *entry.get()) else { break };
            self.remove(&oldest);
            add(&mut counters.fragment_evictions, 1);
        }
        Err(if added { SkipReason::FragmentBuffered } else { SkipReason::BadFragment })
    }

    /// Discards and counts incomplete datagrams at the end of a capture.
    pub(super) fn clear(&mut self, counters: &mut DecodeCounters) {
        add(&mut counters.fragment_leftovers, self.datagrams.len() as u64);
        self.datagrams.clear();
        self.by_age.clear();
        self.buffered_bytes = 0;
    }

    fn expire(&mut self, now: Timestamp, counters: &mut DecodeCounters) {
        let timeout = u64::try_from(self.limits.timeout.as_nanos()).unwrap_or(u64::MAX);
        while let Some(oldest) = self.by_age.first_entry() {
            let key = *oldest.get();
            let first_seen = self.datagrams.get(&key).map_or(0, |datagram| datagram.first_seen.as_nanos());
            if now.as_nanos().saturating_sub(first_seen) <= timeout {
                return;
            }
            self.remove(&key);
            add(&mut counters.fragment_timeouts, 1);
        }
    }

    fn remove(&mut self, key: &Key) -> Option<Datagram> {
        let datagram = self.datagrams.remove(key)?;
        self.by_age.remove(&datagram.age);
        self.buffered_bytes = self.buffered_bytes.saturating_sub(datagram.memory());
        Some(datagram)
    }
}

/// Whether a fragment is valid in itself. It must end within the maximum datagram length. All fragments but the last
/// must be non-empty and end on a multiple of 8 bytes.
fn fits(packet: &IpPacket<'_>, fragment: Fragment) -> bool {
    let len = packet.payload.len();
    // The IPv4 length includes the complete header, the IPv6 length only extension headers.
    let header = if packet.header.is_ipv4() { packet.header.header_len } else { packet.header.options_len };
    let end = usize::from(header).saturating_add(fragment.start.into()).saturating_add(len);
    end <= MAX_DATAGRAM_LEN && (!fragment.more || len > 0 && len & 7 == 0)
}

impl ReassembledDatagram {
    /// Returns the datagram as an IP packet.
    pub(super) fn packet(&self) -> IpPacket<'_> {
        IpPacket {
            header: self.header,
            protocol: self.protocol,
            payload: &self.payload,
            offset: usize::from(self.header.header_len),
            missing: 0,
            fragment: None,
        }
    }
}

impl Datagram {
    fn new(age: u64, first_seen: Timestamp) -> Self {
        Self {
            age,
            first_seen,
            first: None,
            bytes: Vec::new(),
            ranges: Vec::new(),
            received_units: Vec::new(),
            received_unit_count: 0,
            max_end: 0,
            len: None,
        }
    }

    /// Adds the new bytes. Returns false if the fragment contradicts earlier ones.
    fn add(&mut self, packet: &IpPacket<'_>, fragment: Fragment) -> bool {
        let start = usize::from(fragment.start);
        let end = start.saturating_add(packet.payload.len());
        let contradicts = match self.len {
            Some(len) if fragment.more => end > len,
            Some(len) => end != len,
            None if fragment.more => false,
            None => self.max_end > end,
        };
        if contradicts {
            return false;
        }
        if !fragment.more {
            self.len = Some(end);
        }
        if fragment.start == 0 && self.first.is_none() {
            self.first = Some((packet.header, packet.protocol));
        }
        self.max_end = self.max_end.max(end);
        self.received_units.resize(self.max_end.div_ceil(8).div_ceil(64), 0);
        for (unit, bytes) in (start >> 3..).zip(packet.payload.chunks(8)) {
            self.add_unit(unit, bytes);
        }
        true
    }

    fn add_unit(&mut self, unit: usize, bytes: &[u8]) {
        let bit = 1 << (unit & 63);
        match self.received_units.get_mut(unit >> 6) {
            Some(word) if *word & bit == 0 => *word |= bit,
            _ => return,
        }
        self.received_unit_count = self.received_unit_count.saturating_add(1);
        self.bytes.extend_from_slice(bytes);
        let start = unit << 3;
        match self.ranges.last_mut() {
            Some(run) if run.start.saturating_add(run.len) == start => {
                run.len = run.len.saturating_add(bytes.len())
            }
            _ => self.ranges.push(ByteRange { start, len: bytes.len() }),
        }
    }

    fn is_complete(&self) -> bool {
        self.len.is_some_and(|len| self.received_unit_count == len.div_ceil(8))
    }

    fn reassemble(self) -> Option<ReassembledDatagram> {
        let (header, protocol) = self.first?;
        let mut payload = vec![0; self.len?];
        let mut bytes = Cursor::new(&self.bytes);
        for run in &self.ranges {
            let source = bytes.take(run.len).ok()?;
            payload.get_mut(run.start..)?.get_mut(..run.len)?.copy_from_slice(source);
        }
        Some(ReassembledDatagram { header: IpHeader { reassembled: true, ..header }, protocol, payload })
    }

    /// Returns the memory used by the datagram, in bytes, without the tables that refer to it.
    fn memory(&self) -> usize {
        size_of::<(Key, Self)>()
            .saturating_add(self.bytes.capacity())
            .saturating_add(self.ranges.capacity().saturating_mul(size_of::<ByteRange>()))
            .saturating_add(self.received_units.capacity().saturating_mul(size_of::<u64>()))
    }
}
