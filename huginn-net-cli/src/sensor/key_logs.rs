//! Key logs that grow: their secrets are used as they come.

use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::starting;
use crate::failure::Failure;
use crate::output::Messages;
use crate::plan::GrowingKeyLogs;

/// Interval at which key logs of live traffic are looked at: shorter than most round trips, so that few packets wait for their secret.
const KEY_LOG_INTERVAL: Duration = Duration::from_millis(20);

/// The thread that reads key logs on. It ends with the first of its stop and its drop.
pub(super) struct KeyLogReader {
    /// Nothing is sent: its end is the request to stop.
    stop: SyncSender<()>,
    thread: JoinHandle<GrowingKeyLogs>,
    messages: Messages,
}

impl KeyLogReader {
    /// Starts the thread.
    pub(super) fn start(mut key_logs: GrowingKeyLogs, messages: Messages) -> Result<Self, Failure> {
        let (stop, stopped) = mpsc::sync_channel(0);
        let to = messages.clone();
        let read = move || {
            while stopped.recv_timeout(KEY_LOG_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                key_logs.read_on(&|error| _ = to.error(error));
            }
            key_logs
        };
        let thread = thread::Builder::new().name("huginn-keys".to_owned()).spawn(read);
        Ok(Self { stop, thread: thread.map_err(starting("the key log thread"))?, messages })
    }

    /// Stops the thread, and reports key logs without secrets or with malformed lines; with `is_verbose` also how many secrets the others
    /// had.
    pub(super) fn stop(self, is_quiet: bool, is_verbose: bool) {
        let Self { stop, thread, messages } = self;
        drop(stop);
        let key_logs = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if !is_quiet {
            key_logs.report(is_verbose, &|summary| _ = messages.print(summary));
        }
    }
}
