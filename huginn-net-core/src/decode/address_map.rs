//! Addresses that take the place of those of the packets.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::limits::MAPPED_ADDRESSES;
use crate::{Addresses, Segment};

/// Gives each address another one, such as a pseudonym; see [`Builder::address_map`](crate::Builder::address_map).
///
/// An address must always have the same one, and no two addresses one: hosts would be mixed up.
pub trait AddressMap: fmt::Debug + Send + Sync {
    /// The address that takes the place of this one of IPv4.
    fn map_v4(&self, address: Ipv4Addr) -> Ipv4Addr;

    /// The address that takes the place of this one of IPv6.
    fn map_v6(&self, address: Ipv6Addr) -> Ipv6Addr;
}

/// An address map, and its answers for the latest addresses: those of a capture repeat.
#[derive(Clone, Debug)]
pub(crate) struct MappedAddresses {
    map: Arc<dyn AddressMap>,
    v4: Latest<Ipv4Addr>,
    v6: Latest<Ipv6Addr>,
}

impl MappedAddresses {
    pub(super) fn new(map: Arc<dyn AddressMap>) -> Self {
        Self { map, v4: Latest(Vec::new()), v6: Latest(Vec::new()) }
    }

    /// The segment with other addresses.
    pub(crate) fn segment<'s>(&mut self, segment: &Segment<'s>) -> Segment<'s> {
        let mut segment = *segment;
        segment.ip.addresses = self.map(segment.ip.addresses);
        segment
    }

    /// The addresses that take the place of these.
    pub(crate) fn map(&mut self, addresses: Addresses) -> Addresses {
        let Self { map, v4, v6 } = self;
        match addresses {
            Addresses::V4 { src, dst } => {
                let mut mapped = |address| v4.get_or_insert_with(address, |address| map.map_v4(address));
                Addresses::V4 { src: mapped(src), dst: mapped(dst) }
            }
            Addresses::V6 { src, dst } => {
                let mut mapped = |address| v6.get_or_insert_with(address, |address| map.map_v6(address));
                Addresses::V6 { src: mapped(src), dst: mapped(dst) }
            }
        }
    }
}

/// The latest addresses and what takes their place, each in the slot of its hash; without memory before the first.
#[derive(Clone, Debug)]
struct Latest<A>(Vec<Option<(A, A)>>);

impl<A: Copy + Eq + Hash> Latest<A> {
    fn get_or_insert_with(&mut self, address: A, map: impl FnOnce(A) -> A) -> A {
        let Self(slots) = self;
        slots.resize(MAPPED_ADDRESSES, None);
        let slot = FixedState::default().hash_one(address).checked_rem(MAPPED_ADDRESSES as u64);
        let slot = slot.and_then(|slot| slots.get_mut(usize::try_from(slot).ok()?));
        match slot {
            Some(Some((known, mapped))) if *known == address => *mapped,
            slot => {
                let mapped = map(address);
                if let Some(slot) = slot {
                    *slot = Some((address, mapped));
                }
                mapped
            }
        }
    }
}
