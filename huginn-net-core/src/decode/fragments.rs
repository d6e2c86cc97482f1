//! Reassembly of IP fragments (RFC 791, section 3.2; RFC 8200, section 4.5).

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::counters::{DecodeCounters, SkipReason, add};
use super::ip::{Fragment, IpPacket};
use crate::limits::MAX_DATAGRAM_LEN;
use crate::{Addresses, Example, Examples, IpHeader, PacketClock, Timestamp};

/// Limits of the fragment table.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentLimits {
    pub(super) datagrams: usize,
    pub(super) bytes: usize,
    pub(super) timeout: Duration,
}

/// Incomplete datagrams, with limits on number, memory and packet time.
///
/// Receivers differ in which copy of overlapping bytes they keep, or drop the datagram (RFC 5722). Where two copies
/// differ, the datagram has two versions: one with the first copies, one with the last. A fragment that contradicts the
/// known length of its datagram is rejected.
#[derive(Clone, Debug)]
pub(super) struct FragmentTable {
    pub(super) limits: FragmentLimits,
    /// Time of the fragments, for the reassembly timeout.
    clock: PacketClock,
    datagrams: HashMap<Key, Datagram>,
    /// Datagrams by the arrival of their first fragment, oldest first.
    by_age: BTreeMap<u64, Key>,
    last_age: u64,
    /// Memory used by the datagrams, in bytes.
    buffered_bytes: usize,
    /// The record of the last fragment, and the number of its datagram.
    latest: (u64, u64),
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
    /// The payload with the last copies, if it differs.
    last_payload: Option<Vec<u8>>,
}

/// A frame with a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentRecord {
    pub(super) ts: Timestamp,
    /// Number of the frame in the capture.
    pub(super) number: u64,
    /// Number of the record since the decoder was created.
    pub(super) record: u64,
    pub(super) addresses: Addresses,
}

impl FragmentRecord {
    /// The frame as the example of a counter.
    #[cold]
    pub(super) fn example(self, counter: &'static str) -> Example {
        let Self { ts, number, record, addresses } = self;
        Example {
            counter,
            ts,
            frame: Some(number),
            flow: None,
            addresses: Some(addresses),
            packet_number: record,
        }
    }
}

#[derive(Clone, Debug)]
struct Datagram {
    age: u64,
    first_seen: Timestamp,
    /// The frame of the fragment that came first.
    first_record: FragmentRecord,
    /// Header and protocol of the fragment at offset 0.
    first: Option<(IpHeader, u8)>,
    /// Received bytes in order of arrival, without duplicates. Memory grows with the bytes received: a single
    /// fragment at the end of a datagram costs little.
    bytes: Vec<u8>,
    /// The ranges of the datagram that `bytes` holds, by their start.
    ranges: BTreeMap<usize, Range>,
    /// One bit per received unit of 8 bytes, the unit of fragmentation.
    received_units: Vec<u64>,
    /// Bits set in `received_units`.
    received_unit_count: usize,
    /// The last copies of units that differ from the first ones, by unit. Their number is bounded by the length of a
    /// datagram.
    last_copies: BTreeMap<usize, Unit>,
    /// Greatest end offset of any fragment so far.
    max_end: usize,
    /// Length of the payload, known from the last fragment.
    len: Option<usize>,
}

/// The bytes of a unit; fewer than eight at the end of the datagram.
#[derive(Clone, Copy, Debug)]
struct Unit {
    bytes: [u8; 8],
    len: u8,
}

/// A contiguous range of the datagram.
#[derive(Clone, Copy, Debug)]
struct Range {
    /// Its place in the received bytes.
    at: usize,
    len: usize,
}

/// Memory of a copied unit in bytes: key and value, in tree nodes that are at least half full.
const UNIT_MEMORY: usize = 2 * size_of::<(usize, Unit)>();

/// Memory of a range in bytes, likewise.
const RANGE_MEMORY: usize = 2 * size_of::<(usize, Range)>();

impl Unit {
    fn new(bytes: &[u8]) -> Self {
        let mut unit = Self { bytes: [0; 8], len: u8::try_from(bytes.len()).unwrap_or(0) };
        unit.bytes.iter_mut().zip(bytes).for_each(|(copy, byte)| *copy = *byte);
        unit
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }
}

impl FragmentTable {
    pub(super) fn new(limits: FragmentLimits) -> Self {
        Self {
            limits,
            clock: PacketClock::new(limits.timeout),
            datagrams: HashMap::new(),
            by_age: BTreeMap::new(),
            last_age: 0,
            buffered_bytes: 0,
            latest: (0, 0),
        }
    }

    /// Returns the number of the datagram that a fragment of this record belongs to.
    pub(super) fn datagram_of(&self, record: u64) -> Option<u64> {
        let (latest, datagram) = self.latest;
        (latest == record && datagram != 0).then_some(datagram)
    }

    /// Adds a fragment of a record, and returns the datagram if it is now complete.
    pub(super) fn add(
        &mut self,
        record: FragmentRecord,
        tunnel: u64,
        packet: &IpPacket<'_>,
        (counters, examples): (&mut DecodeCounters, &mut Examples),
    ) -> Result<ReassembledDatagram, SkipReason> {
        let now = self.clock.tick(record.ts);
        self.expire(now, counters, examples);
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
            let datagram = Datagram::new(self.last_age, now, record);
            self.buffered_bytes = self.buffered_bytes.saturating_add(datagram.memory());
            datagram
        });
        self.latest = (record.record, datagram.age);
        let before = datagram.memory();
        let added = datagram.add(packet, fragment);
        self.buffered_bytes = self.buffered_bytes.saturating_sub(before).saturating_add(datagram.memory());
        if datagram.is_complete()
            && let Some(datagram) = self.remove(&key).and_then(Datagram::reassemble)
        {
            add(&mut counters.reassembled, 1);
            add(&mut counters.fragment_conflicts, datagram.last_payload.is_some().into());
            return Ok(datagram);
        }
        while self.datagrams.len() > self.limits.datagrams || self.buffered_bytes > self.limits.bytes {
            let Some(oldest) = self.by_age.first_entry().map(|entry| *entry.get()) else { break };
            self.discard(&oldest, "fragment_evictions", examples);
            add(&mut counters.fragment_evictions, 1);
        }
        Err(if added { SkipReason::FragmentBuffered } else { SkipReason::BadFragment })
    }

    /// Discards and counts incomplete datagrams at the end of a capture.
    pub(super) fn clear(&mut self, counters: &mut DecodeCounters, examples: &mut Examples) {
        add(&mut counters.fragment_leftovers, self.datagrams.len() as u64);
        if let Some(oldest) = self.by_age.first_entry().map(|entry| *entry.get()) {
            self.discard(&oldest, "fragment_leftovers", examples);
        }
        self.datagrams.clear();
        self.by_age.clear();
        self.buffered_bytes = 0;
    }

    fn expire(&mut self, now: Timestamp, counters: &mut DecodeCounters, examples: &mut Examples) {
        let timeout = u64::try_from(self.limits.timeout.as_nanos()).unwrap_or(u64::MAX);
        while let Some(oldest) = self.by_age.first_entry() {
            let key = *oldest.get();
            let first_seen = self.datagrams.get(&key).map_or(0, |datagram| datagram.first_seen.as_nanos());
            if now.as_nanos().saturating_sub(first_seen) <= timeout {
                return;
            }
            self.discard(&key, "fragment_timeouts", examples);
            add(&mut counters.fragment_timeouts, 1);
        }
    }

    /// Removes an incomplete datagram, which may be the example of the counter that counts it.
    fn discard(&mut self, key: &Key, counter: &'static str, examples: &mut Examples) {
        if let Some(datagram) = self.remove(key) {
            examples.add(datagram.first_record.example(counter));
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

    /// Removes and returns the version of the datagram with the last copies of its bytes, if some copies differ.
    pub(super) fn take_last_version(&mut self) -> Option<Self> {
        let payload = self.last_payload.take()?;
        Some(Self { header: self.header, protocol: self.protocol, payload, last_payload: None })
    }
}

impl Datagram {
    fn new(age: u64, first_seen: Timestamp, first_record: FragmentRecord) -> Self {
        Self {
            age,
            first_seen,
            first_record,
            first: None,
            bytes: Vec::new(),
            ranges: BTreeMap::new(),
            received_units: Vec::new(),
            received_unit_count: 0,
            last_copies: BTreeMap::new(),
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
        let (mut unit, mut rest) = (start >> 3, packet.payload);
        while !rest.is_empty() {
            let is_received = self.has(unit);
            let count = (unit..)
                .take(rest.len().div_ceil(8))
                .take_while(|unit| self.has(*unit) == is_received)
                .count();
            let (run, after) = rest.split_at(rest.len().min(count << 3));
            if is_received {
                self.compare(unit, run)
            } else {
                self.store(unit, run)
            }
            (unit, rest) = (unit.saturating_add(count), after);
        }
        true
    }

    /// Whether a unit was received.
    fn has(&self, unit: usize) -> bool {
        self.received_units.get(unit >> 6).is_some_and(|word| word >> (unit & 63) & 1 != 0)
    }

    /// Adds new bytes.
    fn store(&mut self, unit: usize, bytes: &[u8]) {
        let count = bytes.len().div_ceil(8);
        for unit in (unit..).take(count) {
            if let Some(word) = self.received_units.get_mut(unit >> 6) {
                *word |= 1 << (unit & 63);
            }
        }
        self.received_unit_count = self.received_unit_count.saturating_add(count);
        let (start, at) = (unit << 3, self.bytes.len());
        self.bytes.extend_from_slice(bytes);
        match self.ranges.range_mut(..start).next_back() {
            Some((before, range))
                if before.saturating_add(range.len) == start && range.at.saturating_add(range.len) == at =>
            {
                range.len = range.len.saturating_add(bytes.len());
            }
            _ => {
                self.ranges.insert(start, Range { at, len: bytes.len() });
            }
        }
    }

    /// Keeps the units of another copy that differ from the first one.
    fn compare(&mut self, unit: usize, bytes: &[u8]) {
        if self.last_copies.is_empty() && self.first_copy(unit).starts_with(bytes) {
            return;
        }
        for (unit, bytes) in (unit..).zip(bytes.chunks(8)) {
            if self.first_copy(unit).iter().zip(bytes).any(|(first, last)| first != last) {
                self.last_copies.insert(unit, Unit::new(bytes));
            } else {
                self.last_copies.remove(&unit);
            }
        }
    }

    /// Returns the first copy of a received unit, and what was received with it and follows it.
    fn first_copy(&self, unit: usize) -> &[u8] {
        let start = unit << 3;
        let Some((from, range)) = self.ranges.range(..=start).next_back() else { return &[] };
        let range = self.bytes.get(range.at..).and_then(|bytes| bytes.get(..range.len)).unwrap_or_default();
        range.get(start.saturating_sub(*from)..).unwrap_or_default()
    }

    fn is_complete(&self) -> bool {
        self.len.is_some_and(|len| self.received_unit_count == len.div_ceil(8))
    }

    fn reassemble(self) -> Option<ReassembledDatagram> {
        let (header, protocol) = self.first?;
        let mut payload = vec![0; self.len?];
        for (start, range) in &self.ranges {
            let source = self.bytes.get(range.at..)?.get(..range.len)?;
            payload.get_mut(*start..)?.get_mut(..range.len)?.copy_from_slice(source);
        }
        let last_payload = self.last_payload(&payload);
        let header = IpHeader { reassembled: true, ..header };
        Some(ReassembledDatagram { header, protocol, payload, last_payload })
    }

    /// Returns the payload with the last copies in place of the first ones, if they differ.
    fn last_payload(&self, first: &[u8]) -> Option<Vec<u8>> {
        if self.last_copies.is_empty() {
            return None;
        }
        let mut payload = first.to_vec();
        for (unit, copy) in &self.last_copies {
            let unit = payload.get_mut(unit << 3..).unwrap_or_default();
            unit.iter_mut().zip(copy.bytes()).for_each(|(byte, last)| *byte = *last);
        }
        Some(payload)
    }

    /// Returns the memory used by the datagram, in bytes, without the tables that refer to it.
    fn memory(&self) -> usize {
        size_of::<(Key, Self)>()
            .saturating_add(self.bytes.capacity())
            .saturating_add(self.ranges.len().saturating_mul(RANGE_MEMORY))
            .saturating_add(self.received_units.capacity().saturating_mul(size_of::<u64>()))
            .saturating_add(self.last_copies.len().saturating_mul(UNIT_MEMORY))
    }
}
