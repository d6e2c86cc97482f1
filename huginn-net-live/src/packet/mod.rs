//! The AF_PACKET backend of Linux (`packet(7)`).

mod block;
mod copies;
pub(crate) mod ffi;
mod index_filter;
mod many;
mod socket;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use huginn_net_core::LinkType;

pub use self::block::{BlockFrame, BlockFrames};
use self::ffi::Ring;
pub(crate) use self::many::ManyBackend;
use self::socket::PacketSocket;
use crate::backend::{CaptureBackend, Drops, ReceiveError};
use crate::fanout::PacketGroup;
use crate::frame_batch::FrameBatch;
use crate::limits::MIN_SNAPLEN;
use crate::{Interface, InterfaceState, LiveError, LiveOptions};

/// The index that stands for all interfaces.
const ALL_INTERFACES: u32 = 0;

/// A link type that no decoder has, so that its frames are counted.
const UNKNOWN_LINK: LinkType = LinkType(u16::MAX);

/// Offset of a VLAN tag in an Ethernet frame: after the two addresses.
const VLAN_TAG_OFFSET: usize = 12;

/// An interface captured with a packet socket.
pub(crate) struct PacketBackend {
    name: String,
    socket: PacketSocket,
    ring: Ring,
    link: LinkType,
    is_loopback: bool,
    options: LiveOptions,
    snaplen: usize,
    /// The sockets that share the frames of the interface; `None` for a single socket.
    fanout: Option<Arc<PacketGroup>>,
    /// Whether the socket belongs to that group. It joins once its interface is there.
    is_member: bool,
    /// A socket that takes the place of the member of a group, which the kernel does not bind again.
    spare: Option<Spare>,
    /// The index of the interface, if the socket is bound to all and a filter selects it.
    selected: Option<u32>,
    dropped: u64,
}

/// A socket without a ring, for another group.
struct Spare {
    socket: PacketSocket,
    /// Whether the socket belongs to the group: the kernel then binds it no more.
    is_member: bool,
}

impl Spare {
    fn new() -> io::Result<Self> {
        Ok(Self { socket: PacketSocket::new()?, is_member: false })
    }

    /// Adds the socket to a group of sockets that are bound to all interfaces, and creates its ring. If a call fails, the next one goes on.
    fn open(&mut self, fanout: &PacketGroup, options: &LiveOptions, mtu: Option<u32>) -> io::Result<Ring> {
        if !self.is_member {
            self.socket.mute()?;
            self.socket.bind_to_all()?;
            fanout.join(&self.socket, ALL_INTERFACES)?;
            self.is_member = true;
        }
        // The kernel creates one ring for each socket, so nothing that fails may follow.
        Ok(self.socket.ring(options, mtu)?.0)
    }
}

/// A socket that captures from an interface.
struct Capture {
    socket: PacketSocket,
    ring: Ring,
    /// Length of the ring in bytes.
    ring_len: usize,
}

impl Capture {
    /// Opens a socket, with a ring, on an interface. The socket of a group is muted, since it would receive all frames until it joins.
    fn open(interface: &Interface, options: &LiveOptions, fanout: Option<&PacketGroup>) -> io::Result<Self> {
        let socket = PacketSocket::new()?;
        let (ring, ring_len) = socket.ring(options, interface.mtu)?;
        if interface.is_loopback {
            socket.ignore_outgoing();
        }
        if fanout.is_some() {
            socket.mute()?;
        }
        socket.bind(interface, options.promiscuous)?;
        if let Some(fanout) = fanout {
            fanout.join(&socket, interface.index)?;
        }
        Ok(Self { socket, ring, ring_len })
    }
}

impl PacketBackend {
    /// Opens an interface. Also returns the size of the ring that the kernel granted, in bytes.
    pub(crate) fn open(
        interface: &Interface,
        options: &LiveOptions,
        fanout: Option<Arc<PacketGroup>>,
    ) -> Result<(Self, usize), LiveError> {
        let name = &interface.name;
        let capture =
            Capture::open(interface, options, fanout.as_deref()).map_err(|source| failure(name, source))?;
        let Capture { socket, ring, ring_len } = capture;
        let hardware = socket.bound().map_or(0, |(_, hardware)| hardware);
        let link = link_type(hardware)
            .ok_or_else(|| LiveError::UnknownLinkType { name: name.clone(), hardware: hardware.into() })?;
        let is_member = fanout.is_some();
        let new = Self::new(name, socket, ring, link, options, fanout);
        let new = new.map_err(|source| failure(name, source))?;
        let backend = Self { is_loopback: interface.is_loopback, is_member, ..new };
        Ok((backend, ring_len))
    }

    /// Prepares for an interface that does not exist yet. [`refresh`](CaptureBackend::refresh) captures from it once it does.
    pub(crate) fn await_interface(
        name: &str,
        options: &LiveOptions,
        fanout: Option<Arc<PacketGroup>>,
    ) -> Result<(Self, usize), LiveError> {
        let prepare = || -> io::Result<_> {
            let socket = PacketSocket::new()?;
            let (ring, ring_len) = socket.ring(options, None)?;
            if fanout.is_some() {
                socket.mute()?;
            }
            Ok((socket, ring, ring_len))
        };
        let (socket, ring, ring_len) = prepare().map_err(|source| failure(name, source))?;
        // The link type is that of the interface once it exists.
        let new = Self::new(name, socket, ring, LinkType::RAW, options, fanout);
        Ok((new.map_err(|source| failure(name, source))?, ring_len))
    }

    fn new(
        name: &str,
        socket: PacketSocket,
        ring: Ring,
        link: LinkType,
        options: &LiveOptions,
        fanout: Option<Arc<PacketGroup>>,
    ) -> io::Result<Self> {
        let spare = fanout.is_some().then(Spare::new).transpose()?;
        Ok(Self {
            name: name.to_owned(),
            socket,
            ring,
            link,
            is_loopback: false,
            options: options.clone(),
            snaplen: usize::try_from(options.snaplen).unwrap_or(usize::MAX).max(MIN_SNAPLEN),
            fanout,
            is_member: false,
            spare,
            selected: None,
            dropped: 0,
        })
    }

    /// Adds the socket of an interface that was awaited to its group. Needs no privileges.
    ///
    /// # Errors
    /// `EINVAL` while the interface is down.
    fn join(&mut self, interface: &Interface) -> io::Result<()> {
        if let Some(fanout) = self.fanout.as_ref().filter(|_| !self.is_member) {
            fanout.join(&self.socket, interface.index)?;
            self.is_member = true;
            self.socket.unmute()?;
        }
        Ok(())
    }

    /// Captures from an interface that was removed, with the spare socket: the kernel does not bind a member of a group again. One that is
    /// bound to all interfaces stays a member, and needs another filter only. Needs no privileges.
    fn select(&mut self, interface: &Interface) -> io::Result<()> {
        if let (Some(fanout), Some(spare)) = (&self.fanout, &mut self.spare) {
            let ring = spare.open(fanout, &self.options, interface.mtu)?;
            self.dropped = self.dropped.saturating_add(self.socket.dropped().into());
            self.ring = ring;
            if let Some(spare) = self.spare.take() {
                self.socket = spare.socket;
            }
            self.is_member = true;
        }
        self.socket.filter(&mut index_filter::only(interface.index))?;
        if self.options.promiscuous {
            self.socket.set_promiscuous(interface.index)?;
        }
        self.is_loopback = interface.is_loopback;
        self.selected = Some(interface.index);
        Ok(())
    }

    /// Captures from an interface that was removed or awaited, and is there.
    fn rebind(&mut self, interface: &Interface) -> io::Result<()> {
        if self.is_member || self.fanout.as_ref().is_some_and(|fanout| fanout.is_of_all()) {
            return self.select(interface);
        }
        self.socket.bind(interface, self.options.promiscuous)?;
        // The interface may have been removed meanwhile; the socket is then unbound.
        let hardware = self.socket.bound().map(|(_, hardware)| hardware).filter(|hardware| *hardware != 0);
        let hardware = hardware.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
        self.link = link_type(hardware)
            .ok_or_else(|| io::Error::other(format!("unsupported hardware type {hardware}")))?;
        Ok(())
    }
}

impl CaptureBackend for PacketBackend {
    fn begin(&mut self) -> io::Result<()> {
        // The others capture once they belong to their group.
        if self.is_member { self.socket.unmute() } else { Ok(()) }
    }

    /// Receives one block, or more if the first ones contain no frame. Frames stay where the kernel wrote them.
    fn receive(&mut self, batch: &mut FrameBatch) -> Result<(), ReceiveError> {
        let Self { ring, socket, is_loopback, selected, snaplen, .. } = self;
        batch.link = self.link;
        receive_blocks(ring, socket, batch, *snaplen, |frame, link| {
            // The kernel delivers each loopback frame twice: outgoing and incoming.
            let is_twice = *is_loopback && frame.packet_type == libc::PACKET_OUTGOING;
            if selected.is_some() && !is_twice {
                *link = link_type(frame.hardware).unwrap_or(UNKNOWN_LINK);
            }
            !is_twice
        })
    }

    #[inline]
    fn bytes(&self, start: usize, len: usize) -> &[u8] {
        self.ring.bytes(start, len)
    }

    fn release(&mut self, batch: &mut FrameBatch) {
        release_blocks(&mut self.ring, batch);
    }

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn drops(&mut self) -> Drops {
        self.dropped = self.dropped.saturating_add(self.socket.dropped().into());
        Drops { kernel: self.dropped, ..Drops::default() }
    }

    fn reports_link_down(&self) -> bool {
        self.selected.is_none()
    }

    /// The kernel resumes capture on an interface that comes up again. A removed interface leaves the socket unbound,
    /// which must then be bound again.
    fn refresh(&mut self, present: &[Interface]) -> io::Result<InterfaceState> {
        let bound = self.selected.or_else(|| self.socket.bound().map(|(index, _)| index));
        let interface = match present.iter().find(|interface| Some(interface.index) == bound) {
            Some(interface) => interface,
            None => {
                let Some(interface) = present.iter().find(|interface| interface.name == self.name) else {
                    return Ok(InterfaceState::Gone);
                };
                if self.is_member && self.spare.is_some() && self.ring.has_taken() {
                    // Another socket has another ring: the frames in this one come first.
                    return Ok(InterfaceState::Gone);
                }
                self.rebind(interface)?;
                interface
            }
        };
        if !interface.is_up {
            return Ok(InterfaceState::Down);
        }
        self.join(interface)?;
        Ok(InterfaceState::Up)
    }
}

/// The error of opening an interface.
fn failure(name: &str, source: io::Error) -> LiveError {
    let name = name.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => LiveError::PermissionDenied { name, source },
        _ => LiveError::Open { name, source },
    }
}

/// Classifies an error of the socket.
fn receive_error(error: io::Error) -> Result<(), ReceiveError> {
    match error.raw_os_error() {
        Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => Err(ReceiveError::Down),
        _ => Err(ReceiveError::Failed(error)),
    }
}

/// Receives one block, or more if the first ones contain no frame that `select` keeps. It may change the link type of a frame.
#[inline]
fn receive_blocks(
    ring: &mut Ring,
    socket: &PacketSocket,
    batch: &mut FrameBatch,
    snaplen: usize,
    mut select: impl FnMut(&mut BlockFrame<'_>, &mut LinkType) -> bool,
) -> Result<(), ReceiveError> {
    let Some(first) = ring.next_block() else {
        // Only the socket reports errors.
        return socket.error().or_else(receive_error);
    };
    let mut next = Some(first);
    while let Some(block) = next {
        batch.ring_blocks = batch.ring_blocks.saturating_add(1);
        for mut frame in BlockFrames::new(ring.block(block)) {
            if select(&mut frame, &mut batch.link) {
                push(batch, &frame, block, snaplen);
            }
        }
        next = if batch.remaining() == 0 { ring.next_block() } else { None };
    }
    Ok(())
}

/// Returns the blocks of a batch to the kernel.
fn release_blocks(ring: &mut Ring, batch: &mut FrameBatch) {
    for _ in 0..std::mem::take(&mut batch.ring_blocks) {
        ring.release_oldest();
    }
}

/// Adds a frame of the block at this ring offset, cut at the snap length. A frame whose VLAN tag the kernel removed
/// is copied with the tag restored.
#[inline]
fn push(batch: &mut FrameBatch, frame: &BlockFrame<'_>, block: usize, snaplen: usize) {
    let data = frame.data.get(..snaplen).unwrap_or(frame.data);
    match (frame.vlan, data.split_at_checked(VLAN_TAG_OFFSET)) {
        (Some([tpid, tci]), Some((addresses, rest))) if batch.link == LinkType::ETHERNET => {
            let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
            let tag = [a, b, c, d];
            batch.push(frame.ts, [addresses, &tag, rest], frame.wire_len.saturating_add(4));
        }
        _ => batch.push_in_place(frame.ts, block.saturating_add(frame.start), data.len(), frame.wire_len),
    }
}

/// Returns the link type of an `ARPHRD_` type (`linux/if_arp.h`).
///
/// Interfaces without a link-layer header (tunnels, PPP) deliver IP packets.
fn link_type(hardware: u16) -> Option<LinkType> {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(LinkType::ETHERNET),
        libc::ARPHRD_NONE
        | ARPHRD_RAWIP
        | libc::ARPHRD_PPP
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT
        | libc::ARPHRD_IPGRE
        | ARPHRD_IP6GRE => Some(LinkType::RAW),
        libc::ARPHRD_CISCO => Some(LinkType::CISCO_HDLC),
        libc::ARPHRD_IEEE80211 => Some(LinkType::IEEE802_11),
        libc::ARPHRD_IEEE80211_RADIOTAP => Some(LinkType::IEEE802_11_RADIOTAP),
        _ => None,
    }
}

/// Raw IP.
const ARPHRD_RAWIP: u16 = 519;
/// GRE over IPv6.
const ARPHRD_IP6GRE: u16 = 823;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs CAP_NET_RAW"]
    fn spare_socket_opens_after_a_failure() {
        /// Maximum number of sockets of a group, unless its first socket asks for another one (`fanout_add` of Linux).
        const MAX_MEMBERS: usize = 256;
        let fanout = PacketGroup::default();
        let member = || {
            let socket = PacketSocket::new().unwrap();
            socket.mute().unwrap();
            socket.bind_to_all().unwrap();
            fanout.join(&socket, ALL_INTERFACES).unwrap();
            socket
        };
        let mut members: Vec<_> = (0..MAX_MEMBERS).map(|_| member()).collect();
        let mut spare = Spare::new().unwrap();
        let mut open = || spare.open(&fanout, &LiveOptions::default(), None).err();
        assert_eq!([open(), open()].map(|error| error.unwrap().raw_os_error()), [Some(libc::ENOSPC); 2]);
        drop(members.pop());
        assert!(open().is_none());
    }
}
