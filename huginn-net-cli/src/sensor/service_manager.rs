//! Notifications to systemd (`sd_notify(3)`), for units of `Type=notify` and with `WatchdogSec=`.

use sd_notify::{NotifyState, notify, watchdog_enabled};

use crate::output::Messages;

/// The service manager that started the program. Without one, as in a terminal, nothing is sent.
#[derive(Debug)]
pub(super) struct ServiceManager {
    /// Whether the unit has `WatchdogSec=`.
    has_watchdog: bool,
}

impl ServiceManager {
    /// Reads the environment.
    pub(super) fn from_env() -> Self {
        Self { has_watchdog: watchdog_enabled().is_some() }
    }

    /// Reports that packets are captured.
    pub(super) fn notify_ready(&self, interfaces: &[String], messages: &Messages) {
        let status = format!("capturing from {}", interfaces.join(", "));
        if let Err(error) = notify(&[NotifyState::Ready, NotifyState::Status(&status)]) {
            messages.warn(&format_args!("cannot notify the service manager: {error}"));
        }
    }

    /// Reports progress, so that the watchdog does not restart the program. The next report repeats one that fails.
    pub(super) fn notify_progress(&self) {
        if self.has_watchdog {
            let _ = notify(&[NotifyState::Watchdog]);
        }
    }

    /// Reports that the program is about to exit. The service manager notices the exit in any case.
    pub(super) fn notify_stopping(&self) {
        let _ = notify(&[NotifyState::Stopping]);
    }
}
