//! What the system or its operator wants of a program that runs for long.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

/// A wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT or SIGTERM: write what there is and end. A second one ends the program at once, wherever it hangs.
    Stop,
    /// SIGHUP: open the output file anew.
    Reopen,
    /// SIGUSR1: write what is known of hosts.
    Dump,
}

/// Watches signals until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Has signals handed to this, in a thread of its own.
pub(crate) fn watch(mut told: impl FnMut(Signal) + Send + 'static) -> io::Result<Watch> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])?;
    let stopping = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag as it was.
        flag::register_conditional_default(signal, Arc::clone(&stopping))?;
        flag::register(signal, Arc::clone(&stopping))?;
    }
    let handle = signals.handle();
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in &mut signals {
            told(match signal {
                SIGHUP => Signal::Reopen,
                SIGUSR1 => Signal::Dump,
                _ => Signal::Stop,
            });
        }
    })?;
    Ok(Watch { handle, thread: Some(thread) })
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
