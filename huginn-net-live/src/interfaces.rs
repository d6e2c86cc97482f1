//! The interfaces of a source: what became of them, what was lost.

use std::io;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::device_drops::{self, DeviceDrops};
use huginn_net_core::Timestamp;

use crate::backend::CaptureBackend;
use crate::stats::Tallies;
use crate::{
    Backend, Interface, InterfaceState, LiveError, LiveOptions, LiveStats, Notice, NoticeKind, interface,
};

/// What is told of notices.
pub(crate) type Tell = Box<dyn FnMut(&Notice) + Send>;

/// The interfaces of a source.
pub(crate) struct Interfaces {
    slots: Vec<InterfaceSlot>,
    stats: LiveStats,
    /// What was not told yet.
    notices: Vec<Notice>,
    tell: Option<Tell>,
}

/// One interface.
struct InterfaceSlot {
    backend: Box<dyn CaptureBackend>,
    tallies: Arc<Tallies>,
    /// Frames lent when it was last looked whether there are any.
    received_before: u64,
    device_drops: DeviceDrops,
    /// Whether it is given up.
    is_lost: bool,
}

impl Interfaces {
    pub(crate) fn open<'a>(
        names: impl Iterator<Item = &'a str>,
        options: &LiveOptions,
        present: &[Interface],
    ) -> Result<Self, LiveError> {
        let mut notices = Vec::new();
        let mut slots: Vec<InterfaceSlot> = Vec::new();
        for name in names {
            if slots.iter().any(|slot| slot.tallies.name() == name) {
                return Err(LiveError::NamedTwice { name: name.to_owned() });
            }
            slots.push(InterfaceSlot::new(name, open(name, options, present, &mut notices)?));
        }
        if slots.is_empty() {
            return Err(LiveError::NoInterface);
        }
        Ok(Self::of(slots, notices))
    }

    fn of(slots: Vec<InterfaceSlot>, notices: Vec<Notice>) -> Self {
        let stats = LiveStats::new(slots.iter().map(|slot| Arc::clone(&slot.tallies)));
        let mut slots = Self { slots, stats, notices, tell: None };
        slots.count_drops();
        slots
    }

    #[cfg(test)]
    pub(crate) fn from_backends(backends: impl Iterator<Item = (String, Box<dyn CaptureBackend>)>) -> Self {
        Self::of(backends.map(|(name, backend)| InterfaceSlot::new(&name, backend)).collect(), Vec::new())
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn stats(&self) -> LiveStats {
        self.stats.clone()
    }

    pub(crate) fn on_notice(&mut self, tell: Tell) {
        self.tell = Some(tell);
    }

    /// Tells what happened; where nobody wants to know, it is forgotten.
    #[inline]
    pub(crate) fn tell(&mut self) {
        for notice in self.notices.drain(..) {
            if let Some(tell) = &mut self.tell {
                tell(&notice);
            }
        }
    }

    /// The backend of an interface, to lend its frames.
    #[inline]
    pub(crate) fn lending(&self, slot: usize) -> Option<&dyn CaptureBackend> {
        self.slots.get(slot).map(|slot| &*slot.backend)
    }

    pub(crate) fn set_taken_at(&self, taken_at: Timestamp) {
        self.stats.set_taken_at(taken_at);
    }

    pub(crate) fn backend(&mut self, slot: usize) -> Option<&mut (dyn CaptureBackend + 'static)> {
        self.slots.get_mut(slot).map(|slot| &mut *slot.backend)
    }

    /// What becomes readable when something is there from one of the interfaces that are wanted.
    #[cfg(unix)]
    pub(crate) fn wake_fds(&self, is_wanted: impl Fn(usize) -> bool) -> impl Iterator<Item = BorrowedFd<'_>> {
        let wanted = self.slots.iter().enumerate().filter(move |(slot, _)| is_wanted(*slot));
        wanted.filter_map(|(_, slot)| slot.backend.wake_fd())
    }

    pub(crate) fn name(&self, slot: usize) -> String {
        self.slots.get(slot).map(|slot| slot.tallies.name().to_owned()).unwrap_or_default()
    }

    /// Counts frames that were lent.
    pub(crate) fn count(&self, slot: usize, lent: u64) {
        if let Some(slot) = self.slots.get(slot).filter(|_| lent > 0) {
            slot.tallies.add_received(lent);
        }
    }

    /// Counts a failure to read from an interface.
    pub(crate) fn count_error(&self, slot: usize) {
        if let Some(slot) = self.slots.get(slot) {
            slot.tallies.add_read_error();
        }
    }

    /// Brings the counts of what was dropped up to date.
    pub(crate) fn count_drops(&mut self) {
        let devices = device_drops::read();
        for slot in &mut self.slots {
            let drops = slot.backend.drops();
            slot.tallies.set_kernel_dropped(drops.kernel);
            let device = devices.as_deref().and_then(|text| device_drops::of(text, slot.tallies.name()));
            if let Some(dropped) = device.or(drops.interface) {
                slot.tallies.set_interface_dropped(slot.device_drops.since_start(dropped));
            }
        }
    }

    /// What is to be done once a second: counts, and a look at interfaces that are not up or may not be.
    pub(crate) fn tick(&mut self) -> Result<(), LiveError> {
        self.count_drops();
        let mut present = None;
        for place in 0..self.slots.len() {
            if self.slots.get_mut(place).is_some_and(InterfaceSlot::is_to_be_looked_for) {
                // Where the system does not tell, it is asked again in a second.
                let present = present.get_or_insert_with(|| interface::without_descriptions().ok());
                if let Some(present) = present {
                    self.look(place, present);
                }
            }
        }
        if self.slots.iter().all(|slot| slot.is_lost) { Err(LiveError::NoneLeft) } else { Ok(()) }
    }

    /// Looks at an interface that has said that it is down.
    pub(crate) fn went_down(&mut self, place: usize) {
        if self.is_up(place) {
            match interface::without_descriptions() {
                Ok(present) => self.look(place, &present),
                Err(_) => self.change(place, InterfaceState::Down, NoticeKind::Down),
            }
            if self.is_up(place) {
                self.notice(place, NoticeKind::Down);
                self.notice(place, NoticeKind::Back);
            }
        }
    }

    fn is_up(&self, place: usize) -> bool {
        self.slots.get(place).is_some_and(|slot| slot.tallies.state() == InterfaceState::Up)
    }

    /// Looks for an interface among those that there are, and notes what has changed.
    fn look(&mut self, place: usize, present: &[Interface]) {
        let Some(slot) = self.slots.get_mut(place) else { return };
        let is_gone = slot.tallies.state() == InterfaceState::Gone;
        match slot.backend.look(present) {
            Ok(InterfaceState::Up) => self.change(place, InterfaceState::Up, NoticeKind::Back),
            // One that was removed and is there again but not up is waited for as before.
            Ok(InterfaceState::Down) if is_gone => {}
            Ok(InterfaceState::Down) => self.change(place, InterfaceState::Down, NoticeKind::Down),
            Ok(InterfaceState::Gone) => self.change(place, InterfaceState::Gone, NoticeKind::Vanished),
            // It may have gone since it was listed, and come again.
            Err(error) if !is_for_good(&error) => {
                self.change(place, InterfaceState::Gone, NoticeKind::Vanished);
            }
            Err(error) => {
                slot.is_lost = true;
                slot.tallies.set_state(InterfaceState::Gone);
                self.notice(place, NoticeKind::Lost { reason: error.to_string() });
            }
        }
    }

    /// Notes the state of an interface, and says so where it is another than before.
    fn change(&mut self, place: usize, state: InterfaceState, notice: NoticeKind) {
        let Some(slot) = self.slots.get(place) else { return };
        if slot.tallies.state() != state {
            slot.tallies.set_state(state);
            self.notice(place, notice);
        }
    }

    fn notice(&mut self, place: usize, kind: NoticeKind) {
        let interface = self.name(place);
        self.notices.push(Notice { interface, kind });
    }
}

impl InterfaceSlot {
    fn new(name: &str, backend: Box<dyn CaptureBackend>) -> Self {
        Self {
            backend,
            tallies: Arc::new(Tallies::new(name)),
            received_before: 0,
            device_drops: DeviceDrops::default(),
            is_lost: false,
        }
    }

    /// Whether the system must be asked what became of the interface.
    fn is_to_be_looked_for(&mut self) -> bool {
        let received = self.tallies.received();
        let is_quiet = std::mem::replace(&mut self.received_before, received) == received;
        let is_doubtful = is_quiet && !self.backend.tells_when_down();
        !self.is_lost && (is_doubtful || self.tallies.state() != InterfaceState::Up)
    }
}

/// Whether an interface that cannot be opened anew for this reason never can be: for want of rights, or for something that
/// is not the system's to say.
fn is_for_good(error: &io::Error) -> bool {
    error.raw_os_error().is_none() || error.kind() == io::ErrorKind::PermissionDenied
}

/// What libpcap calls all interfaces of Linux as one.
#[cfg(target_os = "linux")]
const ANY: &str = "any";

/// Opens an interface with the backend that was chosen.
fn open(
    name: &str,
    options: &LiveOptions,
    present: &[Interface],
    notices: &mut Vec<Notice>,
) -> Result<Box<dyn CaptureBackend>, LiveError> {
    let unknown = || LiveError::UnknownInterface {
        name: name.to_owned(),
        known: present.iter().map(|interface| interface.name.clone()).collect(),
    };
    match options.backend {
        Backend::Packet if options.expression.is_some() => Err(LiveError::ExpressionNeedsLibpcap),
        #[cfg(target_os = "linux")]
        Backend::Packet if name == ANY => Err(LiveError::AnyNeedsLibpcap),
        #[cfg(target_os = "linux")]
        Backend::Packet => {
            let interface = present.iter().find(|interface| interface.name == name).ok_or_else(unknown)?;
            let (backend, given) = crate::packet::PacketBackend::open(interface, options)?;
            let asked = options.buffer_bytes;
            if given < asked {
                let kind = NoticeKind::SmallBuffer { asked, given };
                notices.push(Notice { interface: name.to_owned(), kind });
            }
            Ok(Box::new(backend))
        }
        #[cfg(feature = "libpcap")]
        Backend::Pcap => Ok(Box::new(crate::libpcap::PcapBackend::open(name, options, present, unknown)?)),
        #[allow(unreachable_patterns, reason = "unless a backend is missing")]
        _ => Err(LiveError::NoBackend),
    }
}
