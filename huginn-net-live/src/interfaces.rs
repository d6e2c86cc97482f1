//! The interfaces of a source, with their state and counters.

use std::io;
use std::num::NonZeroUsize;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::device_drops::{self, DeviceDrops};
use huginn_net_core::Timestamp;

use crate::backend::CaptureBackend;
use crate::inputs::{self, is_interface};
use crate::stats::InterfaceCounters;
use crate::targets::Target;
use crate::{
    Backend, Interface, InterfaceState, LiveError, LiveOptions, LiveStats, Notice, NoticeKind, interface,
};

/// A handler of notices.
pub(crate) type NoticeHandler = Box<dyn FnMut(&Notice) + Send>;

/// The interfaces of a source.
pub(crate) struct Interfaces {
    slots: Vec<InterfaceSlot>,
    stats: LiveStats,
    /// Notices not yet reported.
    notices: Vec<Notice>,
    handler: Option<NoticeHandler>,
    /// Whether notices say that an interface has gone down or returned, which another queue reports otherwise.
    reports_changes: bool,
}

/// The groups among whose sockets the kernel divides the packets of each interface or UDP socket.
#[derive(Debug, Default)]
pub(crate) struct Fanouts(Vec<Fanout>);

/// The sockets among which the kernel divides packets.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug)]
pub(crate) enum Fanout {
    /// Those of an interface.
    Packet(Arc<crate::fanout::PacketGroup>),
    /// Those of a UDP port.
    Udp(Arc<crate::fanout::UdpGroup>),
}

#[cfg(not(target_os = "linux"))]
pub(crate) type Fanout = std::convert::Infallible;

impl Fanouts {
    /// Creates the groups of interfaces with these many queues. One queue needs no group.
    ///
    /// # Errors
    /// [`LiveError::NoQueues`] for an interface whose packets the kernel does not divide, and errors of invalid names.
    pub(crate) fn new(
        targets: &[Target],
        options: &LiveOptions,
        queues: NonZeroUsize,
    ) -> Result<Self, LiveError> {
        if queues == NonZeroUsize::MIN {
            return Ok(Self::default());
        }
        let group = |name: &str| {
            group(name, options, queues)?.ok_or_else(|| LiveError::NoQueues { name: name.to_owned() })
        };
        targets.iter().map(Target::name).map(group).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the group of an interface; `None` for a single queue.
    fn of(&self, interface: usize) -> Option<Fanout> {
        self.0.get(interface).cloned()
    }
}

/// One interface.
struct InterfaceSlot {
    backend: Box<dyn CaptureBackend>,
    counters: Arc<InterfaceCounters>,
    /// Frames lent at the last maintenance.
    last_received: u64,
    device_drops: DeviceDrops,
    /// Whether the source has abandoned the interface.
    is_abandoned: bool,
    /// Whether the interface has not existed yet.
    is_awaited: bool,
    /// Whether the backend captures from the interfaces that patterns match.
    is_of_patterns: bool,
}

impl Interfaces {
    pub(crate) fn open(
        targets: &[Target],
        options: &LiveOptions,
        present: &[Interface],
        fanouts: &Fanouts,
    ) -> Result<Self, LiveError> {
        let mut notices = Vec::new();
        let mut slots: Vec<InterfaceSlot> = Vec::new();
        for target in targets {
            let name = target.name();
            if slots.iter().any(|slot| slot.counters.name == name) {
                return Err(LiveError::DuplicateInterface { name: name.to_owned() });
            }
            let backend = open(target, options, present, fanouts.of(slots.len()), &mut notices)?;
            let is_awaited =
                notices.iter().any(|notice| notice.interface == name && notice.kind == NoticeKind::Awaited);
            let is_of_patterns = target.is_of_patterns();
            slots.push(InterfaceSlot { is_awaited, is_of_patterns, ..InterfaceSlot::new(name, backend) });
        }
        if slots.is_empty() {
            return Err(LiveError::NoInterface);
        }
        Ok(Self::new(slots, notices))
    }

    fn new(slots: Vec<InterfaceSlot>, notices: Vec<Notice>) -> Self {
        let stats = LiveStats::new(slots.iter().map(|slot| vec![Arc::clone(&slot.counters)]));
        for slot in slots.iter().filter(|slot| slot.is_awaited) {
            slot.counters.set_state(InterfaceState::Gone);
        }
        let mut slots = Self { slots, stats, notices, handler: None, reports_changes: true };
        slots.update_drops();
        slots
    }

    #[cfg(test)]
    pub(crate) fn from_backends(backends: impl Iterator<Item = (String, Box<dyn CaptureBackend>)>) -> Self {
        Self::new(backends.map(|(name, backend)| InterfaceSlot::new(&name, backend)).collect(), Vec::new())
    }

    /// Begins to capture with all queues of the same interfaces, which count together. The first one reports their changes.
    pub(crate) fn begin(queues: &mut [Self]) -> Result<(), LiveError> {
        for slot in queues.iter_mut().flat_map(|queue| &mut queue.slots) {
            slot.backend
                .begin()
                .map_err(|source| LiveError::Open { name: slot.counters.name.clone(), source })?;
        }
        for queue in queues.iter_mut().skip(1) {
            queue.reports_changes = false;
            queue.notices.retain(|notice| {
                !matches!(notice.kind, NoticeKind::Awaited | NoticeKind::SmallBuffer { .. })
            });
        }
        Self::share_stats(queues);
        Ok(())
    }

    fn share_stats(queues: &mut [Self]) {
        let interfaces = queues.first().map_or(0, Self::len);
        let counters = (0..interfaces).map(|index| {
            let slots = queues.iter().filter_map(|queue| queue.slots.get(index));
            slots.map(|slot| Arc::clone(&slot.counters)).collect()
        });
        let stats = LiveStats::new(counters);
        queues.iter_mut().for_each(|queue| queue.stats = stats.clone());
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn stats(&self) -> LiveStats {
        self.stats.clone()
    }

    pub(crate) fn on_notice(&mut self, handler: NoticeHandler) {
        self.handler = Some(handler);
    }

    /// Whether each interface is a stream.
    pub(crate) fn may_lag(&self) -> impl Iterator<Item = bool> {
        self.slots.iter().map(|slot| slot.backend.may_lag())
    }

    /// Takes the notices that were not reported.
    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Reports pending notices to the handler, or drops them without one.
    #[inline]
    pub(crate) fn emit_notices(&mut self) {
        for notice in self.notices.drain(..) {
            if let Some(handler) = &mut self.handler {
                handler(&notice);
            }
        }
    }

    /// Returns the backend of an interface, to lend its frames.
    #[inline]
    pub(crate) fn backend_ref(&self, slot: usize) -> Option<&dyn CaptureBackend> {
        self.slots.get(slot).map(|slot| &*slot.backend)
    }

    pub(crate) fn set_taken_at(&self, taken_at: Timestamp) {
        self.stats.set_taken_at(taken_at);
    }

    pub(crate) fn backend(&mut self, slot: usize) -> Option<&mut (dyn CaptureBackend + 'static)> {
        self.slots.get_mut(slot).map(|slot| &mut *slot.backend)
    }

    /// Returns the file descriptors of the selected interfaces.
    #[cfg(unix)]
    pub(crate) fn wake_fds(&self, includes: impl Fn(usize) -> bool) -> impl Iterator<Item = BorrowedFd<'_>> {
        let wanted = self.slots.iter().enumerate().filter(move |(slot, _)| includes(*slot));
        wanted.filter_map(|(_, slot)| slot.backend.wake_fd())
    }

    pub(crate) fn name(&self, slot: usize) -> String {
        self.slots.get(slot).map(|slot| slot.counters.name.to_owned()).unwrap_or_default()
    }

    /// Adds lent frames to the counters.
    pub(crate) fn count(&self, slot: usize, lent: u64) {
        if let Some(slot) = self.slots.get(slot).filter(|_| lent > 0) {
            slot.counters.add_received(lent);
        }
    }

    /// Counts a read error.
    pub(crate) fn count_error(&self, slot: usize) {
        if let Some(slot) = self.slots.get(slot) {
            slot.counters.add_read_errors(1);
        }
    }

    /// Updates the drop counters.
    pub(crate) fn update_drops(&mut self) {
        let devices = device_drops::read();
        for slot in &mut self.slots {
            let drops = slot.backend.drops();
            slot.counters.set_kernel_dropped(drops.kernel);
            slot.counters.add_read_errors(drops.read_errors);
            if let Some(copies) = drops.copies {
                slot.counters.set_copies(copies);
            }
            let device =
                devices.as_deref().and_then(|text| device_drops::parse_drops(text, &slot.counters.name));
            if let Some(dropped) = device.or(drops.interface) {
                slot.counters.set_interface_dropped(slot.device_drops.add_reading(dropped));
            }
        }
    }

    /// Runs the maintenance: updates the counters, and checks interfaces that are or may be down.
    pub(crate) fn tick(&mut self) -> Result<(), LiveError> {
        self.update_drops();
        let mut present = None;
        for index in 0..self.slots.len() {
            let slot = self.slots.get_mut(index);
            if let Some(state) = slot.and_then(|slot| slot.backend.follow(&mut self.notices)) {
                self.on_refresh(index, Ok(state));
            } else if self.slots.get_mut(index).is_some_and(InterfaceSlot::needs_refresh) {
                // If the system cannot list interfaces, the next maintenance tries again.
                let present = present.get_or_insert_with(|| interface::list_without_descriptions().ok());
                if let Some(present) = present {
                    self.refresh(index, present);
                }
            }
        }
        if self.slots.iter().all(|slot| slot.is_abandoned) { Err(LiveError::NoInterfaceLeft) } else { Ok(()) }
    }

    /// Handles a backend's report that its interface is down.
    pub(crate) fn on_link_down(&mut self, index: usize) {
        if self.is_up(index) {
            match interface::list_without_descriptions() {
                Ok(present) => self.refresh(index, &present),
                Err(_) => self.set_state(index, InterfaceState::Down, NoticeKind::Down),
            }
            if self.is_up(index) {
                self.notice(index, NoticeKind::Down);
                self.notice(index, NoticeKind::Recovered);
            }
        }
    }

    /// Handles the interruption of a stream.
    #[cfg(unix)]
    pub(crate) fn on_interruption(&mut self, index: usize, reason: String) {
        self.set_state(index, InterfaceState::Gone, NoticeKind::Interrupted { reason });
    }

    /// Handles part of a stream that was not read.
    #[cfg(unix)]
    pub(crate) fn on_skipped(&mut self, index: usize, reason: String) {
        self.count_error(index);
        self.notice(index, NoticeKind::Skipped { reason });
    }

    fn is_up(&self, index: usize) -> bool {
        self.slots.get(index).is_some_and(|slot| slot.counters.state() == InterfaceState::Up)
    }

    /// Refreshes the state of an interface, and records a notice if it changed.
    fn refresh(&mut self, index: usize, present: &[Interface]) {
        let refreshed = self.slots.get_mut(index).map(|slot| slot.backend.refresh(present));
        if let Some(refreshed) = refreshed {
            self.on_refresh(index, refreshed);
        }
    }

    /// Sets the state of an interface that was checked.
    fn on_refresh(&mut self, index: usize, refreshed: io::Result<InterfaceState>) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        let is_gone = slot.counters.state() == InterfaceState::Gone;
        match refreshed {
            Ok(InterfaceState::Up) => {
                let is_new = std::mem::take(&mut slot.is_awaited);
                let kind = if is_new { NoticeKind::Appeared } else { NoticeKind::Recovered };
                self.set_state(index, InterfaceState::Up, kind);
            }
            // A removed interface that returned but is not up keeps its state.
            Ok(InterfaceState::Down) if is_gone => {}
            Ok(InterfaceState::Down) => self.set_state(index, InterfaceState::Down, NoticeKind::Down),
            Ok(InterfaceState::Gone) => self.set_state(index, InterfaceState::Gone, NoticeKind::Removed),
            // The interface may have been removed and added since it was listed.
            Err(error) if !is_permanent(&error) => {
                self.set_state(index, InterfaceState::Gone, NoticeKind::Removed);
            }
            Err(error) => {
                slot.is_abandoned = true;
                slot.counters.set_state(InterfaceState::Gone);
                self.notice(index, NoticeKind::Abandoned { reason: error.to_string() });
            }
        }
    }

    /// Sets the state of an interface, and records a notice if it changed.
    fn set_state(&mut self, index: usize, state: InterfaceState, notice: NoticeKind) {
        let Some(slot) = self.slots.get(index) else { return };
        if slot.counters.state() != state {
            slot.counters.set_state(state);
            self.notice(index, notice);
        }
    }

    fn notice(&mut self, index: usize, kind: NoticeKind) {
        let is_change = matches!(
            kind,
            NoticeKind::Awaited
                | NoticeKind::Appeared
                | NoticeKind::Down
                | NoticeKind::Removed
                | NoticeKind::Recovered
        );
        if is_change && !self.reports_changes {
            return;
        }
        let is_of_patterns = self.slots.get(index).is_some_and(|slot| slot.is_of_patterns);
        self.notices.push(Notice { is_of_patterns, ..Notice::new(self.name(index), kind) });
    }
}

impl InterfaceSlot {
    fn new(name: &str, backend: Box<dyn CaptureBackend>) -> Self {
        Self {
            backend,
            counters: Arc::new(InterfaceCounters::new(name)),
            last_received: 0,
            device_drops: DeviceDrops::default(),
            is_abandoned: false,
            is_awaited: false,
            is_of_patterns: false,
        }
    }

    /// Whether the state of the interface must be checked with the system.
    fn needs_refresh(&mut self) -> bool {
        let received = self.counters.received();
        let is_quiet = std::mem::replace(&mut self.last_received, received) == received;
        let may_be_down = is_quiet && !self.backend.reports_link_down();
        !self.is_abandoned && (may_be_down || self.counters.state() != InterfaceState::Up)
    }
}

/// Whether a failure to reopen an interface is permanent: missing privileges, or an error that does not come from the
/// OS.
fn is_permanent(error: &io::Error) -> bool {
    error.raw_os_error().is_none() || error.kind() == io::ErrorKind::PermissionDenied
}

/// Whether the kernel can divide the packets of an interface, or of a UDP socket, among several queues.
pub(crate) fn has_queues(name: &str, options: &LiveOptions) -> bool {
    group(name, options, NonZeroUsize::MIN).is_ok_and(|group| group.is_some())
}

/// Creates the group of an interface with these many queues; `None` if the kernel does not divide its packets.
///
/// # Errors
/// The name of a UDP socket is invalid.
fn group(name: &str, options: &LiveOptions, queues: NonZeroUsize) -> Result<Option<Fanout>, LiveError> {
    #[cfg(target_os = "linux")]
    {
        use crate::fanout::{PacketGroup, UdpGroup};
        let udp = || {
            let sockets = u32::try_from(queues.get()).unwrap_or(u32::MAX);
            Fanout::Udp(Arc::new(UdpGroup::new(sockets)))
        };
        let packet = || Fanout::Packet(Arc::new(PacketGroup::default()));
        match name.strip_prefix(inputs::UDP_PREFIX) {
            Some(target) => Ok(crate::udp::has_queues(name, target)?.then(udp)),
            None => Ok((options.backend == Backend::Packet && is_interface(name)).then(packet)),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (name, options, queues);
        Ok(None)
    }
}

/// Whether Linux admits this name of an interface (`dev_valid_name`): 1 to 15 bytes, without slash, colon and white space.
#[cfg(target_os = "linux")]
fn can_exist(name: &str) -> bool {
    let is_allowed = |byte: &u8| !matches!(byte, b'/' | b':') && !byte.is_ascii_whitespace();
    (1..libc::IFNAMSIZ).contains(&name.len())
        && ![".", ".."].contains(&name)
        && name.as_bytes().iter().all(is_allowed)
}

/// The notice of a buffer that is smaller than requested.
#[cfg(target_os = "linux")]
fn small_buffer(name: &str, options: &LiveOptions, granted: usize) -> Option<Notice> {
    let requested = options.buffer_bytes;
    let kind = NoticeKind::SmallBuffer { requested, granted };
    (granted < requested).then(|| Notice::new(name, kind))
}

/// Opens an interface with the selected backend, all interfaces that match, or a UDP socket.
fn open(
    target: &Target,
    options: &LiveOptions,
    present: &[Interface],
    fanout: Option<Fanout>,
    notices: &mut Vec<Notice>,
) -> Result<Box<dyn CaptureBackend>, LiveError> {
    #[cfg(not(target_os = "linux"))]
    let _ = fanout;
    let name = target.name();
    let unknown = || LiveError::UnknownInterface {
        name: name.to_owned(),
        known: present.iter().map(|interface| interface.name.clone()).collect(),
    };
    if !is_interface(name) && options.expression.is_some() {
        return Err(LiveError::ExpressionNeedsInterface { name: name.to_owned() });
    }
    #[cfg(target_os = "linux")]
    if let Some(target) = name.strip_prefix(inputs::UDP_PREFIX) {
        let group = match &fanout {
            Some(Fanout::Udp(group)) => Some(&**group),
            _ => None,
        };
        let (backend, granted) = crate::udp::UdpBackend::open(name, target, options, group)?;
        notices.extend(small_buffer(name, options, granted));
        return Ok(Box::new(backend));
    }
    #[cfg(unix)]
    {
        use crate::stream::StreamBackend;
        let connect =
            || name.strip_prefix(inputs::TCP_PREFIX).map(|to| StreamBackend::connect(name, to, options));
        let follow =
            || name.strip_prefix(inputs::FILE_PREFIX).map(|path| StreamBackend::follow(name, path, options));
        if let Some(opened) = connect().or_else(follow) {
            let (backend, is_up) = opened?;
            if !is_up {
                notices.push(Notice::new(name, NoticeKind::Awaited));
            }
            return Ok(Box::new(backend));
        }
    }
    match options.backend {
        Backend::Packet if options.expression.is_some() => Err(LiveError::ExpressionNeedsLibpcap),
        #[cfg(target_os = "linux")]
        Backend::Packet => {
            use crate::packet::{ManyBackend, PacketBackend};
            let fanout = match fanout {
                Some(Fanout::Packet(group)) => Some(group),
                _ => None,
            };
            if let Target::Matching(matched) = target {
                if !matched.has_any() {
                    let awaited = Notice::new(name, NoticeKind::Awaited);
                    notices.push(Notice { is_of_patterns: true, ..awaited });
                }
                let matched = Arc::clone(matched);
                let (backend, granted) = ManyBackend::open(matched, options, present, fanout.as_deref())?;
                notices.extend(small_buffer(name, options, granted));
                return Ok(Box::new(backend));
            }
            let found = present.iter().find(|interface| interface.name == name);
            let (backend, granted) = match found {
                Some(interface) => PacketBackend::open(interface, options, fanout)?,
                None if options.wait && can_exist(name) => {
                    notices.push(Notice::new(name, NoticeKind::Awaited));
                    PacketBackend::await_interface(name, options, fanout)?
                }
                None => return Err(unknown()),
            };
            notices.extend(small_buffer(name, options, granted));
            Ok(Box::new(backend))
        }
        #[cfg(feature = "libpcap")]
        Backend::Pcap => Ok(Box::new(crate::libpcap::PcapBackend::open(name, options, present, unknown)?)),
        #[allow(unreachable_patterns, reason = "unless a backend is missing")]
        _ => Err(LiveError::NoBackend),
    }
}
