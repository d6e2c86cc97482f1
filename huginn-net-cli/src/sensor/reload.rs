//! SIGHUP and `huginn-net reload`: read the configuration, databases and watch lists again, while the capture goes on.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::time::Instant;
use std::{io, mem, thread};

use huginn_net_live::Stopper;
use tokio::sync::oneshot;

use super::outputs::{Outputs, PreparedOutputs};
use super::starting;
use super::watch::Watched;
use crate::control::counters::{ReloadCounters, ReloadCounts};
use crate::failure::Failure;
use crate::output::Messages;
use crate::plan::{Configuration, ReloadPlan, Reread};

/// Interval at which what was replaced on SIGHUP is freed, once no worker uses it.
const FREE_INTERVAL: Duration = Duration::from_secs(1);

/// Niceness of the thread that reads files: the capture goes first.
#[cfg(target_os = "linux")]
const READING_NICENESS: i32 = 10;

/// Reads files on request, in a thread of its own.
pub(super) struct Reload {
    pub(super) plan: ReloadPlan,
    pub(super) watched: Arc<Watched>,
    pub(super) outputs: Arc<Outputs>,
    pub(super) counters: Arc<ReloadStatus>,
    /// Wakes the source, so that settings are used before the next packet.
    pub(super) stopper: Stopper,
    pub(super) messages: Messages,
}

/// The counters of reloads, from any thread.
#[derive(Debug, Default)]
pub(super) struct ReloadStatus(Mutex<ReloadCounters>);

impl ReloadStatus {
    pub(super) fn counters(&self) -> ReloadCounters {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, part: impl FnOnce(&mut ReloadCounters) -> &mut ReloadCounts, is_done: bool) {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ReloadCounts { done, failed } = part(&mut counters);
        let count = if is_done { done } else { failed };
        *count = count.saturating_add(1);
    }
}

/// The outcome of a reload: an error has a line for each reason.
pub(super) type ReloadOutcome = Result<(), String>;

/// Who waits for the outcome of the next reload.
type Waiting = Arc<Mutex<Vec<oneshot::Sender<ReloadOutcome>>>>;

/// Requests that files are read again. The thread ends with the last request.
#[derive(Debug)]
pub(super) struct Reloader {
    requests: SyncSender<()>,
    waiting: Waiting,
}

impl Reloader {
    pub(super) fn request(&self) {
        // A request that is pending has the same effect.
        let _ = self.requests.try_send(());
    }

    /// Requests a reload, and returns where its outcome comes.
    pub(super) fn request_outcome(&self) -> oneshot::Receiver<ReloadOutcome> {
        let (outcome, received) = oneshot::channel();
        {
            let mut waiting = lock(&self.waiting);
            waiting.retain(|outcome| !outcome.is_closed());
            waiting.push(outcome);
        }
        if let Err(TrySendError::Disconnected(())) = self.requests.try_send(()) {
            lock(&self.waiting).clear();
        }
        received
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, Vec<oneshot::Sender<ReloadOutcome>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reload {
    /// Starts the thread.
    pub(super) fn start(mut self) -> Result<Reloader, Failure> {
        // Requests while files are read are one.
        let (requests, received) = mpsc::sync_channel(1);
        let waiting = Waiting::default();
        let of_thread = Arc::clone(&waiting);
        let run = move || self.run(&received, &of_thread);
        let started = thread::Builder::new().name("huginn-reload".to_owned()).spawn(run);
        started.map_err(starting("the thread that reads files again"))?;
        Ok(Reloader { requests, waiting })
    }

    fn run(&mut self, requests: &Receiver<()>, waiting: &Waiting) {
        let mut is_free = true;
        loop {
            let requested = if is_free {
                requests.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                requests.recv_timeout(FREE_INTERVAL)
            };
            match requested {
                Ok(()) => {
                    // Later ones wait for the next reload: files may change while they are read.
                    let waiting = mem::take(&mut *lock(waiting));
                    let outcome = self.reload();
                    waiting.into_iter().for_each(|to| _ = to.send(outcome.clone()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // Workers never free what was replaced: a list of a million entries takes long.
            is_free = self.free_replaced();
        }
    }

    fn free_replaced(&self) -> bool {
        self.plan.free_replaced() && self.outputs.free_replaced() == 0
    }

    /// Reads all files, then uses those that are valid. With changed options, all files must be.
    fn reload(&mut self) -> ReloadOutcome {
        let mut errors = Vec::new();
        self.read_and_use(&mut errors);
        if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
    }

    fn read_and_use(&mut self, errors: &mut Vec<String>) {
        let start = Instant::now();
        let Reread { configuration, databases, lists, tls, metrics } =
            match at_low_priority(|| self.plan.read()) {
                Ok(reread) => reread,
                Err(error) => {
                    self.fail(format!("cannot read files again: {error}"), errors);
                    return;
                }
            };
        let is_valid = !matches!(databases, Some(Err(_)))
            && !matches!(lists, Some(Err(_)))
            && tls.is_ok()
            && !matches!(metrics, Some(Err(_)));
        // Options that changed are used together, with the files that they name.
        let has_changes =
            matches!(&configuration, Some(Ok(configuration)) if !configuration.changed.is_empty());
        // New outputs are opened last: that makes files.
        let (configuration, outputs) = match configuration {
            Some(Ok(mut read)) if is_valid => match self.prepare_outputs(&mut read) {
                Ok(outputs) => (Some(Ok(read)), outputs),
                Err(error) => (Some(Err(error)), None),
            },
            configuration => (configuration, None),
        };
        let is_refused = has_changes && (!is_valid || matches!(configuration, Some(Err(_))));
        if let Some(read) = &configuration {
            self.counters.count(|counters| &mut counters.configuration, read.is_ok() && !is_refused);
        }
        match databases {
            Some(Ok(databases)) if !is_refused => {
                self.counters.count(|counters| &mut counters.databases, true);
                self.plan.use_databases(databases);
                self.messages.print(&format_args!("databases read again in {:.1?}", start.elapsed()));
            }
            Some(Err(error)) => {
                self.counters.count(|counters| &mut counters.databases, false);
                self.stays(&error, "the databases stay as they were", errors);
            }
            _ => {}
        }
        match lists {
            Some(Ok((lists, loaded))) if !is_refused => {
                self.counters.count(|counters| &mut counters.watch_lists, true);
                self.plan.use_lists(lists);
                self.watched.on_reload(&loaded);
            }
            Some(Err(error)) => {
                self.counters.count(|counters| &mut counters.watch_lists, false);
                self.stays(&error, "the watch lists stay as they were", errors);
            }
            _ => {}
        }
        match metrics {
            Some(Ok(access)) if !is_refused => self.plan.use_metrics(access),
            Some(Err(error)) => {
                self.counters.count(|counters| &mut counters.configuration, false);
                self.stays(&error, "the readers of metrics stay as they were", errors);
            }
            _ => {}
        }
        // An invalid configuration may name others.
        if let (Err(error), None | Some(Ok(_))) = (&tls, &configuration) {
            self.counters.count(|counters| &mut counters.configuration, false);
            self.stays(error, "outputs use the certificates that they have", errors);
        }
        match configuration {
            Some(Err(error)) => self.stays(&error, "the configuration stays as it was", errors),
            Some(Ok(_)) if is_refused => self.fail("the configuration stays as it was".to_owned(), errors),
            Some(Ok(configuration)) if has_changes => self.use_configuration(configuration, outputs, errors),
            _ => {}
        }
        self.stopper.wake();
    }

    /// Opens the outputs that are new, if outputs differ.
    fn prepare_outputs(&self, configuration: &mut Configuration) -> Result<Option<PreparedOutputs>, Failure> {
        configuration.outputs.take().map(|plans| self.outputs.prepare(plans)).transpose()
    }

    fn use_configuration(
        &mut self,
        configuration: Configuration,
        outputs: Option<PreparedOutputs>,
        errors: &mut Vec<String>,
    ) {
        if let Some(outputs) = outputs
            && let Err(error) = self.outputs.replace(outputs)
        {
            self.fail(error.to_string(), errors);
        }
        let changed = configuration.changed.join("', '");
        self.plan.use_configuration(configuration);
        self.messages.print(&format_args!("configuration read again: changed '{changed}'"));
    }

    fn stays(&self, error: &Failure, what: &str, errors: &mut Vec<String>) {
        self.fail(format!("{error}; {what}"), errors);
    }

    fn fail(&self, error: String, errors: &mut Vec<String>) {
        self.messages.error(&error);
        errors.push(error);
    }
}

/// Calls `read` in a thread that gets the processor after the others, and waits for its result.
fn at_low_priority<T: Send>(read: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let reader = thread::Builder::new().name("huginn-reading".to_owned()).spawn_scoped(scope, || {
            lower_priority();
            read()
        })?;
        Ok(reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Lowers the priority of this thread: on Linux, threads have their own.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(READING_NICENESS);
}
