//! What the system or its operator wants of a program that runs for long.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

/// A wish.
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

/// How long after the first wish to stop another one is not the same: `timeout` and terminals send one twice.
const SAME_WISH: Duration = Duration::from_secs(1);

/// Signals that are kept from now on, and wait to be handed on. Those to stop are not among them until they are watched:
/// they end the program at once, wherever it hangs.
#[derive(Debug)]
pub(crate) struct Caught(Signals);

/// Watches signals until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Caught {
    /// Keeps signals, without a thread yet.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Signals::new([SIGHUP, SIGUSR1])?))
    }

    /// Has signals handed to this, in a thread of its own, those that came before as well.
    pub(crate) fn watch(self, mut told: impl FnMut(Signal) + Send + 'static) -> io::Result<Watch> {
        let Self(mut signals) = self;
        // Whether a wish to stop ends the program at once.
        let impatient = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&impatient))?;
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
                        let impatient = Arc::clone(&impatient);
                        // Without the thread only SIGKILL ends what hangs.
                        let _ = thread::Builder::new().name("huginn-patience".to_owned()).spawn(move || {
                            thread::sleep(SAME_WISH);
                            impatient.store(true, Ordering::Relaxed);
                        });
                    }
                }
            }
        })?;
        Ok(Watch { handle, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
