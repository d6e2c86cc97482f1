//! The libpcap backend.

use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use huginn_net_core::{LinkType, Timestamp};
use pcap::{Active, Capture, Packet, Precision};

use crate::backend::{CaptureBackend, Drops, ReceiveError};
use crate::frame_batch::FrameBatch;
use crate::limits::{MAX_FRAMES_PER_READ, MIN_REOPEN_INTERVAL};
use crate::{Interface, InterfaceState, LiveError, LiveOptions};

/// An interface captured with libpcap.
pub(crate) struct PcapBackend {
    name: String,
    options: LiveOptions,
    /// `None` while the interface is gone.
    capture: Option<Capture<Active>>,
    opened_at: Instant,
    /// The error that ended the last capture.
    failure: Option<pcap::Error>,
    link: LinkType,
    /// Whether the system lists the interface. Pseudo-devices of libpcap, such as `any`, are always present and never
    /// listed.
    is_listed: bool,
    drops: Drops,
    /// Last drop counters of libpcap: kernel and interface.
    last: [u32; 2],
}

impl PcapBackend {
    /// Opens an interface or a pseudo-device.
    pub(crate) fn open(
        name: &str,
        options: &LiveOptions,
        present: &[Interface],
        unknown: impl FnOnce() -> LiveError,
    ) -> Result<Self, LiveError> {
        let is_listed = present.iter().any(|interface| interface.name == name);
        let (capture, link) = open(name, options).map_err(|error| match error {
            LiveError::Open { .. } if !is_listed => unknown(),
            error => error,
        })?;
        Ok(Self {
            name: name.to_owned(),
            options: options.clone(),
            capture: Some(capture),
            opened_at: Instant::now(),
            failure: None,
            link,
            is_listed,
            drops: Drops::default(),
            last: [0; 2],
        })
    }

    fn close(&mut self) {
        let _ = self.drops();
        self.capture = None;
        self.last = [0; 2];
    }

    /// Builds the error of an interface that cannot be reopened.
    fn lost(&mut self, error: LiveError) -> io::Error {
        let reason = match error {
            LiveError::PermissionDenied { source, .. } | LiveError::Open { source, .. } => source.to_string(),
            error => error.to_string(),
        };
        io::Error::other(match self.failure.take() {
            Some(failure) => format!("{reason} (reading from it had failed: {failure})"),
            None => reason,
        })
    }

    fn reopen(&mut self) -> Result<(), LiveError> {
        let (capture, link) = open(&self.name, &self.options)?;
        (self.capture, self.link, self.opened_at) = (Some(capture), link, Instant::now());
        self.failure = None;
        Ok(())
    }
}

impl CaptureBackend for PcapBackend {
    fn receive(&mut self, batch: &mut FrameBatch) -> Result<(), ReceiveError> {
        let Some(capture) = &mut self.capture else { return Ok(()) };
        batch.link = self.link;
        let copy = |packet: Packet<'_>| {
            batch.push(timestamp(packet.header.ts), [packet.data], packet.header.len);
        };
        match capture.dispatch(Some(MAX_FRAMES_PER_READ), copy) {
            Ok(_) => Ok(()),
            Err(error) => {
                // libpcap reports errors only as text. Mostly the interface is gone.
                self.close();
                self.failure = Some(error);
                Err(ReceiveError::Down)
            }
        }
    }

    #[cfg(unix)]
    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.capture.as_ref().map(AsFd::as_fd)
    }

    fn drops(&mut self) -> Drops {
        if let Some(stats) = self.capture.as_mut().and_then(|capture| capture.stats().ok()) {
            let now = [stats.dropped, stats.if_dropped];
            let [kernel, interface] = [0, 1].map(|index: usize| {
                let (now, last) = (now.get(index).copied(), self.last.get(index).copied());
                u64::from(now.unwrap_or(0).wrapping_sub(last.unwrap_or(0)))
            });
            self.last = now;
            self.drops.kernel = self.drops.kernel.saturating_add(kernel);
            self.drops.interface = Some(self.drops.interface.unwrap_or(0).saturating_add(interface));
        }
        self.drops
    }

    fn reports_link_down(&self) -> bool {
        !self.is_listed
    }

    /// libpcap continues by itself when an interface comes up again. A removed interface must be reopened.
    fn refresh(&mut self, present: &[Interface]) -> io::Result<InterfaceState> {
        let interface = present.iter().find(|interface| interface.name == self.name);
        let is_up = match interface {
            Some(interface) => interface.is_up,
            None if self.is_listed => {
                self.close();
                return Ok(InterfaceState::Gone);
            }
            None => true,
        };
        if is_up && self.capture.is_none() {
            if self.opened_at.elapsed() < MIN_REOPEN_INTERVAL {
                return Ok(InterfaceState::Down);
            }
            match self.reopen() {
                Ok(()) => {}
                // libpcap also reports a missing or unready interface as text.
                Err(LiveError::Open { .. }) if self.is_listed => return Ok(InterfaceState::Gone),
                Err(error) => return Err(self.lost(error)),
            }
        }
        Ok(if is_up { InterfaceState::Up } else { InterfaceState::Down })
    }
}

fn open(name: &str, options: &LiveOptions) -> Result<(Capture<Active>, LinkType), LiveError> {
    let failed = |error: pcap::Error| {
        // libpcap reports missing privileges only as text: here of Linux, the BSDs (`/dev/bpf`) and macOS.
        let text = error.to_string().to_lowercase();
        let source = io::Error::other(error);
        let is_denied = ["permission", "not permitted", "denied", "eacces", "cap_net_raw", "privilege"]
            .iter()
            .any(|word| text.contains(word));
        let name = name.to_owned();
        if is_denied {
            LiveError::PermissionDenied { name, source }
        } else {
            LiveError::Open { name, source }
        }
    };
    // Zero would mean no timeout.
    let timeout_ms = i32::try_from(options.buffer_timeout.as_millis()).unwrap_or(i32::MAX).max(1);
    let capture = Capture::from_device(name).map_err(failed)?;
    let mut capture = capture
        .promisc(options.promiscuous)
        .snaplen(i32::try_from(options.snaplen).unwrap_or(i32::MAX))
        .buffer_size(i32::try_from(options.buffer_bytes).unwrap_or(i32::MAX))
        .immediate_mode(options.buffer_timeout.is_zero())
        .timeout(timeout_ms)
        .precision(PRECISION)
        .open()
        .and_then(Capture::setnonblock)
        .map_err(failed)?;
    let dlt = capture.get_datalink().0;
    let link =
        link_type(dlt).ok_or_else(|| LiveError::UnknownLinkType { name: name.to_owned(), hardware: dlt })?;
    if let Some(expression) = &options.expression {
        capture.filter(expression, true).map_err(|error| LiveError::Expression {
            expression: expression.clone(),
            reason: error.to_string(),
        })?;
    }
    Ok((capture, link))
}

/// The timestamp precision to request. The `pcap` crate does not expose whether other systems support nanoseconds.
const PRECISION: Precision = if cfg!(target_os = "linux") { Precision::Nano } else { Precision::Micro };

/// Converts a timestamp. With nanosecond precision libpcap stores nanoseconds in `tv_usec`.
fn timestamp(time: libc::timeval) -> Timestamp {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let fraction = u32::try_from(time.tv_usec).unwrap_or(0);
    if matches!(PRECISION, Precision::Nano) {
        Timestamp::new(seconds, fraction, 9)
    } else {
        Timestamp::new(seconds, fraction.saturating_mul(1000), 6)
    }
}

/// Converts a `DLT_` number of libpcap to a link type. Among the decoded types only raw IP and ATM differ.
fn link_type(dlt: i32) -> Option<LinkType> {
    const DLT_ATM_RFC1483: u16 = 11;
    const ATM: LinkType = LinkType(100);
    match LinkType(u16::try_from(dlt).ok()?) {
        LinkType::RAW_BSD | LinkType::RAW_OPENBSD => Some(LinkType::RAW),
        LinkType(DLT_ATM_RFC1483) => Some(ATM),
        link => link.is_decoded().then_some(link),
    }
}
