//! What the system or its operator wants of a program that runs for long.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT or SIGTERM: write what there is and end. Another one a second later ends the program at once, wherever it
    /// hangs.
    Stop,
    /// SIGHUP: open the output file anew.
    Reopen,
    /// SIGUSR1: write what is known of hosts.
    Dump,
}

/// How long after the first request to stop another one is not the same: `timeout` and terminals send one twice.
const REPEATED_STOP_WINDOW: Duration = Duration::from_secs(1);

/// Signals that are kept from now on, and wait to be handed on. Those to stop are not among them until they are watched:
/// they end the program at once, wherever it hangs.
#[derive(Debug)]
pub(crate) struct PendingSignals(Signals);

/// Watches signals until it is dropped.
#[derive(Debug)]
pub(crate) struct SignalThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl PendingSignals {
    /// Keeps signals, without a thread yet.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Signals::new([SIGHUP, SIGUSR1])?))
    }

    /// Has signals handed to this, in a thread of its own, those that came before as well.
    pub(crate) fn watch(self, mut told: impl FnMut(Signal) + Send + 'static) -> io::Result<SignalThread> {
        let Self(mut signals) = self;
        // Whether a request to stop ends the program at once.
        let exit_on_next = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&exit_on_next))?;
            signals.add_signal(signal)?;
        }
        let handle = signals.handle();
        let thread = thread::Builder::new().name("huginn-signals".to_owned()).spawn(move || {
            for signal in &mut signals {
                match signal {
                    SIGHUP => told(Signal::Reopen),
                    SIGUSR1 => told(Signal::Dump),
                    _ => {
                        told(Signal::Stop);
                        let exit_on_next = Arc::clone(&exit_on_next);
                        // Without the thread only SIGKILL ends what hangs.
                        let _ = thread::Builder::new().name("huginn-stop".to_owned()).spawn(move || {
                            thread::sleep(REPEATED_STOP_WINDOW);
                            exit_on_next.store(true, Ordering::Relaxed);
                        });
                    }
                }
            }
        })?;
        Ok(SignalThread { handle, thread: Some(thread) })
    }
}

impl Drop for SignalThread {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
