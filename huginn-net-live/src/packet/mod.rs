//! The backend for `AF_PACKET` sockets of Linux (`packet(7)`).

mod calls;
mod control;
mod socket;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use huginn_net_core::LinkType;

use self::calls::{MAX_FRAMES, Message, Messages};
pub use self::control::ControlMessages;
use self::socket::PacketSocket;
use crate::frame_set::{FrameSet, Place};
use crate::port::{Drops, Port, Trouble};
use crate::{Interface, InterfaceState, LiveError, LiveOptions};

/// The length of a VLAN tag. Before each frame there is so much room.
const TAG_LEN: usize = 4;
/// Where the tag belongs: behind the two addresses of an Ethernet frame.
const TAG_AT: usize = 12;
/// The least that may be kept of a frame.
const MIN_SNAPLEN: usize = 64;
/// The size of a line of the processor's cache.
const CACHE_LINE: usize = 64;

/// An interface, captured from by a packet socket.
pub(crate) struct PacketPort {
    name: String,
    socket: PacketSocket,
    link: LinkType,
    is_loopback: bool,
    promiscuous: bool,
    /// How far one slot for a frame lies from the next, in bytes.
    stride: usize,
    /// Bytes of a slot that are used.
    slot_len: usize,
    messages: Box<Messages>,
    dropped: u64,
}

impl PacketPort {
    /// Opens an interface; tells also how large a buffer the kernel gave.
    pub(crate) fn open(interface: &Interface, options: &LiveOptions) -> Result<(Self, usize), LiveError> {
        let name = || interface.name.clone();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::PermissionDenied => LiveError::Denied { name: name(), source },
            _ => LiveError::Open { name: name(), source },
        };
        let socket = PacketSocket::new().map_err(failed)?;
        let buffer = socket.set_buffer(options.buffer_bytes).map_err(failed)?;
        if interface.is_loopback {
            socket.ignore_outgoing();
        }
        socket.bind(interface, options.promiscuous).map_err(failed)?;
        let hardware = socket.bound().map_or(0, |(_, hardware)| hardware);
        let link = link_type(hardware)
            .ok_or_else(|| LiveError::UnknownLinkType { name: name(), hardware: hardware.into() })?;
        let snaplen = usize::try_from(options.snaplen).unwrap_or(usize::MAX).clamp(MIN_SNAPLEN, 1 << 24);
        let slot_len = snaplen.saturating_add(TAG_LEN);
        let port = Self {
            name: name(),
            socket,
            link,
            is_loopback: interface.is_loopback,
            promiscuous: options.promiscuous,
            stride: stride(slot_len),
            slot_len,
            messages: Box::new(Messages::new()),
            dropped: 0,
        };
        Ok((port, buffer))
    }

    fn rebind(&mut self, interface: &Interface) -> io::Result<()> {
        self.socket.bind(interface, self.promiscuous)?;
        let hardware = self.socket.bound().map_or(0, |(_, hardware)| hardware);
        self.link = link_type(hardware)
            .ok_or_else(|| io::Error::other(format!("frames of hardware type {hardware} cannot be read")))?;
        Ok(())
    }
}

impl Port for PacketPort {
    fn receive(&mut self, set: &mut FrameSet) -> Result<(), Trouble> {
        let needed = self.stride.saturating_mul(MAX_FRAMES);
        if set.bytes.len() != needed {
            set.bytes = vec![0; needed];
        }
        set.link = self.link;
        let slots = set.bytes.chunks_exact_mut(self.stride);
        let slots = slots.filter_map(|slot| slot.get_mut(TAG_LEN..self.slot_len));
        let count = match self.messages.receive(self.socket.as_fd(), slots) {
            Ok(count) => count,
            Err(error) => return trouble(error),
        };
        for (number, message) in self.messages.iter(count).enumerate() {
            // The kernel hands each frame on loopback over as it is sent and as it is received.
            if self.is_loopback && message.packet_type == libc::PACKET_OUTGOING {
                continue;
            }
            let start = number.saturating_mul(self.stride);
            let slot = set.bytes.get_mut(start..start.saturating_add(self.slot_len)).unwrap_or_default();
            let mut place = place(&message, slot, self.link);
            place.start = place.start.saturating_add(start);
            set.push(place);
        }
        Ok(())
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
        Some(libc::EAGAIN | libc::EINTR) => Ok(()),
        Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => Err(Trouble::Down),
        _ => Err(Trouble::Failed(error)),
    }
}

/// Makes a frame of what lies in a slot behind the room for a tag, and tells where in the slot it lies.
#[inline]
fn place(message: &Message<'_>, slot: &mut [u8], link: LinkType) -> Place {
    let control = ControlMessages::parse(message.control);
    let room = slot.len().saturating_sub(TAG_LEN);
    let len = usize::try_from(message.wire_len).unwrap_or(usize::MAX).min(room);
    let wire_len = control.wire_len.unwrap_or(message.wire_len);
    let ts = control.timestamp.unwrap_or_default();
    match control.vlan {
        Some(tag) if link == LinkType::ETHERNET && len >= TAG_AT => {
            put_back(slot, tag);
            let (len, wire_len) = (len.saturating_add(TAG_LEN), wire_len.saturating_add(4));
            Place { ts, start: 0, len, wire_len }
        }
        _ => Place { ts, start: TAG_LEN, len, wire_len },
    }
}

/// Moves the addresses to the beginning of the slot, and writes the tag behind them.
fn put_back(slot: &mut [u8], [tpid, tci]: [u16; 2]) {
    let Some((head, _)) = slot.split_first_chunk_mut::<{ TAG_LEN + TAG_AT }>() else { return };
    head.copy_within(TAG_LEN.., 0);
    if let Some(tag) = head.last_chunk_mut::<TAG_LEN>() {
        let ([a, b], [c, d]) = (tpid.to_be_bytes(), tci.to_be_bytes());
        *tag = [a, b, c, d];
    }
}

/// How far slots lie apart: an odd number of cache lines, so that the headers of frames do not all compete for the same
/// places of the cache.
fn stride(slot_len: usize) -> usize {
    (slot_len.div_ceil(CACHE_LINE) | 1).saturating_mul(CACHE_LINE)
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
