//! The backend for `AF_PACKET` sockets of Linux (`packet(7)`).

mod block;
mod calls;
mod socket;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use huginn_net_core::LinkType;

use self::block::BlockPlace;
pub use self::block::{BlockFrame, BlockFrames};
use self::calls::Ring;
use self::socket::PacketSocket;
use crate::frame_set::FrameSet;
use crate::port::{Drops, Port, Trouble};
use crate::{Interface, InterfaceState, LiveError, LiveOptions};

/// Where a VLAN tag belongs: behind the two addresses of an Ethernet frame.
const TAG_AT: usize = 12;
/// The least that may be kept of a frame.
const MIN_SNAPLEN: usize = 64;
/// Frames that are taken at once at most.
const MAX_FRAMES: usize = 64;

/// An interface, captured from by a packet socket.
pub(crate) struct PacketPort {
    name: String,
    socket: PacketSocket,
    ring: Ring,
    /// Where it goes on in the block whose turn it is; none at its beginning.
    place: Option<BlockPlace>,
    link: LinkType,
    is_loopback: bool,
    promiscuous: bool,
    snaplen: usize,
    dropped: u64,
}

impl PacketPort {
    /// Opens an interface; tells also how large a ring the kernel gave.
    pub(crate) fn open(interface: &Interface, options: &LiveOptions) -> Result<(Self, usize), LiveError> {
        let name = || interface.name.clone();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::PermissionDenied => LiveError::Denied { name: name(), source },
            _ => LiveError::Open { name: name(), source },
        };
        let socket = PacketSocket::new().map_err(failed)?;
        let (ring, len) = socket.ring(options.buffer_bytes, options.hold_back).map_err(failed)?;
        if interface.is_loopback {
            socket.ignore_outgoing();
        }
        socket.bind(interface, options.promiscuous).map_err(failed)?;
        let hardware = socket.bound().map_or(0, |(_, hardware)| hardware);
        let link = link_type(hardware)
            .ok_or_else(|| LiveError::UnknownLinkType { name: name(), hardware: hardware.into() })?;
        let port = Self {
            name: name(),
            socket,
            ring,
            place: None,
            link,
            is_loopback: interface.is_loopback,
            promiscuous: options.promiscuous,
            snaplen: usize::try_from(options.snaplen).unwrap_or(usize::MAX).max(MIN_SNAPLEN),
            dropped: 0,
        };
        Ok((port, len))
    }

    fn rebind(&mut self, interface: &Interface) -> io::Result<()> {
        self.socket.bind(interface, self.promiscuous)?;
        // One that has gone again meanwhile is bound to nothing.
        let hardware = self.socket.bound().map(|(_, hardware)| hardware).filter(|hardware| *hardware != 0);
        let hardware = hardware.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
        self.link = link_type(hardware)
            .ok_or_else(|| io::Error::other(format!("frames of hardware type {hardware} cannot be read")))?;
        Ok(())
    }
}

impl Port for PacketPort {
    /// Blocks are given back as soon as their frames are taken.
    fn receive(&mut self, set: &mut FrameSet) -> Result<(), Trouble> {
        set.link = self.link;
        let mut left = MAX_FRAMES;
        while let Some(block) = self.ring.block().filter(|_| left > 0) {
            let mut frames = match self.place {
                None => BlockFrames::new(block),
                Some(place) => BlockFrames::resume(block, place),
            };
            for frame in frames.by_ref().take(left) {
                left = left.saturating_sub(1);
                // The kernel hands each frame on loopback over as it is sent and as it is received.
                if !self.is_loopback || frame.packet_type != libc::PACKET_OUTGOING {
                    push(set, &frame, self.snaplen);
                }
            }
            self.place = frames.place();
            if self.place.is_none() {
                self.ring.give_back();
            }
        }
        // Of errors the ring says nothing.
        if left == MAX_FRAMES { self.socket.error().or_else(trouble) } else { Ok(()) }
    }

    fn bell(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn drops(&mut self) -> Drops {
        self.dropped = self.dropped.saturating_add(self.socket.dropped().into());
        Drops { kernel: self.dropped, interface: None }
    }

    fn tells_when_down(&self) -> bool {
        true
    }

    /// An interface that comes up again is captured from without further ado. One that was removed has left the socket
    /// unbound, and no other takes its place by itself.
    fn look(&mut self, present: &[Interface]) -> io::Result<InterfaceState> {
        let bound = self.socket.bound().map(|(index, _)| index);
        let interface = match present.iter().find(|interface| Some(interface.index) == bound) {
            Some(interface) => interface,
            None => {
                let Some(interface) = present.iter().find(|interface| interface.name == self.name) else {
                    return Ok(InterfaceState::Gone);
                };
                self.rebind(interface)?;
                interface
            }
        };
        Ok(if interface.is_up { InterfaceState::Up } else { InterfaceState::Down })
    }
}

/// What an error of the socket means.
fn trouble(error: io::Error) -> Result<(), Trouble> {
    match error.raw_os_error() {
        Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => Err(Trouble::Down),
        _ => Err(Trouble::Failed(error)),
    }
}

/// Copies a frame, cut at the snap length, with the tag that was taken off it.
#[inline]
fn push(set: &mut FrameSet, frame: &BlockFrame<'_>, snaplen: usize) {
    let data = frame.data.get(..snaplen).unwrap_or(frame.data);
    match (frame.vlan, data.split_at_checked(TAG_AT)) {
        (Some([tpid, tci]), Some((addresses, rest))) if set.link == LinkType::ETHERNET => {
            let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
            let tag = [a, b, c, d];
            set.push(frame.ts, [addresses, &tag, rest], frame.wire_len.saturating_add(4));
        }
        _ => set.push(frame.ts, [data], frame.wire_len),
    }
}

/// How frames of an interface begin, by its `ARPHRD_` type (`linux/if_arp.h`).
///
/// Interfaces without a link-layer header (tunnels, PPP) hand over IP packets.
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

/// IP as it is.
const ARPHRD_RAWIP: u16 = 519;
/// GRE over IPv6.
const ARPHRD_IP6GRE: u16 = 823;
