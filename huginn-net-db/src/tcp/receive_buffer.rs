//! Receive buffers that programs set: then window and scale tell no version.
//!
//! A program that sets `SO_RCVBUF` (tcp(7)) chooses the window of its connections, and with it the scale: the smallest one
//! that the buffer needs. Such a SYN may look like that of another version of the system, whose default is this window.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use huginn_net_tcp::kind::WINDOW_SCALE;
use huginn_net_tcp::{IpVersion, OptionLayout, Quirks, TcpSignature};

use super::pattern::{TcpPattern, TtlPattern};
use crate::Entry;
use crate::limits::MAX_SET_SCALE;

/// Whether a program may have set the receive buffer: the scale is the smallest one for a window of this size. A larger buffer
/// than 65535 bytes fills the window, but for a part of a segment.
///
/// A segment without the option for the scale tells nothing of the buffer.
pub(super) fn may_be_set(signature: &TcpSignature) -> bool {
    let TcpSignature { window, mss, scale, layout, .. } = signature;
    let is_full = || u32::from(*window).saturating_add((*mss).into()) > u16::MAX.into();
    let is_smallest = *scale == 0 || *scale <= MAX_SET_SCALE && is_full();
    is_smallest && layout.kinds().contains(&WINDOW_SCALE)
}

/// All fields of a signature but window and scale, for packets of one IP version.
#[derive(PartialEq, Eq, Hash)]
struct OtherFields<'a> {
    name: &'a str,
    ttl: TtlPattern,
    ip_options_len: u8,
    mss: Option<u16>,
    layout: OptionLayout,
    payload: Option<bool>,
    version: IpVersion,
    quirks: Quirks,
}

/// For each signature: whether window and scale alone distinguish it from one of another version of the same system, for packets of
/// IPv4 and of IPv6.
pub(super) fn is_version_by_window(entries: &[Entry<TcpPattern>]) -> Vec<[bool; 2]> {
    const VERSIONS: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];
    let is_system = |entry: &&Entry<TcpPattern>| !entry.label.generic && !entry.label.is_tool();
    let is_of = |entry: &Entry<TcpPattern>, version| entry.pattern.version.is_none_or(|only| only == version);
    // The first flavor, and whether there is another one.
    let mut flavors: HashMap<OtherFields<'_>, (Option<&str>, bool), RandomState> = HashMap::default();
    for entry in entries.iter().filter(is_system) {
        let flavor = entry.label.flavor.as_deref();
        // Signatures of one IP version describe its packets alone, although they are compared with those of the other one, too.
        for version in VERSIONS.into_iter().filter(|version| is_of(entry, *version)) {
            let (first, has_more) = flavors.entry(OtherFields::of(entry, version)).or_insert((flavor, false));
            *has_more |= *first != flavor;
        }
    }
    let has_more = |entry: &Entry<TcpPattern>, version| {
        is_system(&entry)
            && is_of(entry, version)
            && flavors.get(&OtherFields::of(entry, version)).is_some_and(|(_, has_more)| *has_more)
    };
    entries.iter().map(|entry| VERSIONS.map(|version| has_more(entry, version))).collect()
}

impl<'a> OtherFields<'a> {
    fn of(entry: &'a Entry<TcpPattern>, version: IpVersion) -> Self {
        let pattern = &entry.pattern;
        let TcpPattern { ttl, ip_options_len, mss, layout, payload, .. } = *pattern;
        let quirks = pattern.quirks_for(version);
        Self { name: &entry.label.name, ttl, ip_options_len, mss, layout, payload, version, quirks }
    }
}
