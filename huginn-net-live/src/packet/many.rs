//! One packet socket for all interfaces that patterns match.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use huginn_net_core::LinkType;

use super::block::BlockFrame;
use super::copies::Copies;
use super::ffi::Ring;
use super::socket::PacketSocket;
use super::{ALL_INTERFACES, failure, index_filter, link_type, receive_blocks, release_blocks};
use crate::backend::{CaptureBackend, Drops, ReceiveError};
use crate::fanout::PacketGroup;
use crate::frame_batch::FrameBatch;
use crate::limits::MIN_SNAPLEN;
use crate::matched::{Found, MatchedInterfaces};
use crate::{Interface, InterfaceState, LiveError, LiveOptions, Notice};

/// Interfaces that come and go, captured with a packet socket that is bound to none.
pub(crate) struct ManyBackend {
    matched: Arc<MatchedInterfaces>,
    socket: PacketSocket,
    ring: Ring,
    frames: FrameSelection,
    promiscuous: bool,
    snaplen: usize,
    dropped: u64,
}

/// Selects the frames that are captured.
struct FrameSelection {
    interfaces: InterfaceCache,
    copies: Copies,
}

impl ManyBackend {
    /// Opens the socket, which receives nothing until [`begin`](CaptureBackend::begin). Also returns the size of the ring that the kernel granted,
    /// in bytes.
    pub(crate) fn open(
        matched: Arc<MatchedInterfaces>,
        options: &LiveOptions,
        present: &[Interface],
        fanout: Option<&PacketGroup>,
    ) -> Result<(Self, usize), LiveError> {
        let matching = present.iter().filter(|interface| matched.matches(&interface.name));
        let mtu = matching.filter_map(|interface| interface.mtu).max();
        let open = || -> io::Result<_> {
            let socket = PacketSocket::new()?;
            let (ring, ring_len) = socket.ring(options, mtu)?;
            socket.mute()?;
            socket.bind_to_all()?;
            if let Some(fanout) = fanout {
                fanout.join(&socket, ALL_INTERFACES)?;
            }
            Ok((socket, ring, ring_len))
        };
        let (socket, ring, ring_len) = open().map_err(|source| failure(matched.name(), source))?;
        let frames = FrameSelection { interfaces: InterfaceCache::default(), copies: Copies::new() };
        let backend = Self {
            matched,
            socket,
            ring,
            frames,
            promiscuous: options.promiscuous,
            snaplen: usize::try_from(options.snaplen).unwrap_or(usize::MAX).max(MIN_SNAPLEN),
            dropped: 0,
        };
        Ok((backend, ring_len))
    }

    /// Forgets the interfaces of frames after a change, and leaves others out in the kernel.
    #[cold]
    fn on_change(&mut self, version: u64) -> io::Result<()> {
        self.socket.filter(&mut index_filter::without(&self.matched.left_out()))?;
        // If it failed, the next call tries again.
        self.frames.interfaces.clear(version);
        Ok(())
    }

    /// Puts interfaces that joined into promiscuous mode. Needs no privileges.
    fn set_promiscuous(&self) {
        let joined = self.matched.take_promiscuous();
        if self.promiscuous {
            // An interface that has none, or that is gone again, is captured as it is.
            joined.into_iter().for_each(|index| _ = self.socket.set_promiscuous(index));
        }
    }
}

impl CaptureBackend for ManyBackend {
    fn begin(&mut self) -> io::Result<()> {
        self.set_promiscuous();
        self.on_change(self.matched.version())
    }

    /// Receives one block, or more if the first ones contain no frame. Frames stay where the kernel wrote them.
    fn receive(&mut self, batch: &mut FrameBatch) -> Result<(), ReceiveError> {
        let version = self.matched.version();
        if version != self.frames.interfaces.version {
            self.on_change(version).map_err(ReceiveError::Failed)?;
        }
        batch.has_interfaces = true;
        let Self { ring, socket, frames, matched, snaplen, .. } = self;
        receive_blocks(ring, socket, batch, *snaplen, |frame, link| {
            let Some((number, of_frame)) = frames.select(frame, matched) else { return false };
            *link = of_frame;
            frame.ts = frame.ts.with_interface(number);
            true
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
        Drops {
            kernel: self.dropped,
            interface: None,
            copies: Some(self.frames.copies.found()),
            read_errors: std::mem::take(&mut self.frames.interfaces.lost),
        }
    }

    fn reports_link_down(&self) -> bool {
        true
    }

    fn follow(&mut self, notices: &mut Vec<Notice>) -> Option<InterfaceState> {
        notices.extend(self.matched.check(Instant::now()));
        self.set_promiscuous();
        Some(self.state())
    }

    fn refresh(&mut self, _: &[Interface]) -> io::Result<InterfaceState> {
        Ok(self.state())
    }
}

impl ManyBackend {
    fn state(&self) -> InterfaceState {
        if self.matched.is_up() { InterfaceState::Up } else { InterfaceState::Down }
    }
}

impl FrameSelection {
    /// Returns the number of the interface of a frame and its link type; `None` if the frame is left out.
    #[inline]
    fn select(&mut self, frame: &BlockFrame<'_>, matched: &MatchedInterfaces) -> Option<(u16, LinkType)> {
        let number = self.interfaces.number(frame.interface, matched)?;
        let Some(link) = link_type(frame.hardware) else {
            self.interfaces.on_unreadable(frame, matched);
            return None;
        };
        // The kernel delivers each loopback frame twice: outgoing and incoming.
        let is_twice = frame.hardware == libc::ARPHRD_LOOPBACK && frame.packet_type == libc::PACKET_OUTGOING;
        if is_twice || self.copies.has(frame.interface, frame.ts.as_nanos(), link, frame.data) {
            return None;
        }
        Some((number, link))
    }
}

/// Number of interfaces that a queue remembers.
const CACHED_INTERFACES: usize = 256;

/// What [`MatchedInterfaces::find`] returned, until a change.
struct InterfaceCache {
    /// By the last digits of the index.
    entries: Box<[CachedInterface; CACHED_INTERFACES]>,
    version: u64,
    /// Frames of interfaces that were gone before their names were known.
    lost: u64,
}

#[derive(Clone, Copy, Default)]
struct CachedInterface {
    /// The index; 0, which no interface has, if the entry is empty.
    index: u32,
    number: Option<u16>,
    /// Whether its frames are left out because it was gone before its name was known.
    is_lost: bool,
    /// Whether a notice says that its frames cannot be read.
    is_unreadable: bool,
}

impl Default for InterfaceCache {
    fn default() -> Self {
        Self { entries: Box::new([CachedInterface::default(); CACHED_INTERFACES]), version: 0, lost: 0 }
    }
}

impl InterfaceCache {
    fn clear(&mut self, version: u64) {
        self.entries.fill(CachedInterface::default());
        self.version = version;
    }

    #[inline]
    fn entry(&mut self, index: u32) -> Option<&mut CachedInterface> {
        let place = usize::try_from(index).unwrap_or(0) % CACHED_INTERFACES;
        self.entries.get_mut(place)
    }

    #[inline]
    fn number(&mut self, index: u32, matched: &MatchedInterfaces) -> Option<u16> {
        let entry = self.entry(index)?;
        if entry.index != index {
            let Found { number, is_known } = matched.find(index);
            let is_lost = number.is_none() && !is_known;
            *entry = CachedInterface { index, number, is_lost, is_unreadable: false };
        }
        let (number, is_lost) = (entry.number, entry.is_lost);
        self.lost = self.lost.saturating_add(is_lost.into());
        number
    }

    #[cold]
    fn on_unreadable(&mut self, frame: &BlockFrame<'_>, matched: &MatchedInterfaces) {
        let Some(entry) = self.entry(frame.interface) else { return };
        if !std::mem::replace(&mut entry.is_unreadable, true) {
            matched.on_unreadable(frame.interface, frame.hardware);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_interfaces_without_a_name_are_counted() {
        /// An index that no interface of the machine has.
        const UNUSED: u32 = i32::MAX as u32;
        let frames = |pattern| {
            let matched = MatchedInterfaces::of_patterns(&[pattern]);
            let mut cache = InterfaceCache::default();
            (cache.number(UNUSED, &matched), cache.number(UNUSED, &matched), cache.lost)
        };
        assert_eq!(frames("any"), (Some(1), Some(1), 0));
        assert_eq!(frames("veth*"), (None, None, 2));
    }
}
