//! Handling of SIGINT, SIGTERM, SIGHUP and SIGUSR1.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

/// Period after the first stop signal in which another one is ignored: `timeout` and terminals send it twice.
const REPEATED_STOP_WINDOW: Duration = Duration::from_secs(1);

/// Request of the operator, sent as a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT or SIGTERM: write queued events and exit. Another one a second later ends the program at once.
    Stop,
    /// SIGHUP: reopen the output file, and read watch lists again.
    Reopen,
    /// SIGUSR1: write host profiles.
    Dump,
}

/// Registered signals that no thread handles yet. SIGINT and SIGTERM are not among them: they end the program at once
/// until [`Self::watch`] is called.
#[derive(Debug)]
pub(crate) struct PendingSignals(Signals);

/// Makes a write beyond the limit of a file's length (`ulimit -f`) fail with EFBIG. By default, SIGXFSZ ends the program
/// without a word.
pub(crate) fn report_long_files() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Thread that handles signals until it is dropped.
#[derive(Debug)]
pub(crate) struct SignalThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl PendingSignals {
    /// Registers SIGHUP and SIGUSR1, without a thread yet, and ignores SIGUSR2, which would end the program.
    pub(crate) fn new() -> io::Result<Self> {
        flag::register(SIGUSR2, Arc::default())?;
        Ok(Self(Signals::new([SIGHUP, SIGUSR1])?))
    }

    /// Starts a thread that passes signals to `on_signal`, signals received earlier included.
    pub(crate) fn watch(
        self,
        mut on_signal: impl FnMut(Signal) + Send + 'static,
    ) -> io::Result<SignalThread> {
        let Self(mut signals) = self;
        // Set once a request to stop ends the program at once.
        let exit_on_next = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&exit_on_next))?;
            signals.add_signal(signal)?;
        }
        let handle = signals.handle();
        let thread = thread::Builder::new().name("huginn-signals".to_owned()).spawn(move || {
            for signal in &mut signals {
                match signal {
                    SIGHUP => on_signal(Signal::Reopen),
                    SIGUSR1 => on_signal(Signal::Dump),
                    _ => {
                        on_signal(Signal::Stop);
                        let exit_on_next = Arc::clone(&exit_on_next);
                        // Without this thread only SIGKILL ends a program that hangs.
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
