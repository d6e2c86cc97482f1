//! `--state`: host profiles and fingerprints that survive a restart.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use huginn_net::Timestamp;
use huginn_net::core::Amount;
use huginn_net::hosts::state::{self, StateContent, StateError, StateWriter};
use huginn_net::hosts::{HostId, HostRecordError, Hosts, ObservationPoint, SavedHost};
use serde::de::IgnoredAny;

use super::alarms::SavedAlarm;
use super::status::LiveStatus;
use crate::failure::Failure;
use crate::limits::HOSTS_PER_QUERY;
use crate::output::{Messages, OutputError, check_new_file};
use crate::paths::{PathName, name_of, replace_private_file, unread_name};
use crate::plan::StatePlan;

/// Interval at which `live --state` is written: a crash loses what hosts did in this time.
const HOST_STATE_INTERVAL: Duration = Duration::from_secs(300);

/// What became of the state file at the start.
pub(super) struct Restored {
    path: PathBuf,
    outcome: Result<StateContent<SavedAlarm>, StateError>,
}

/// Reads the state, and adds its hosts and fingerprints to the table. Call it before the capture begins: packets would wait meanwhile.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub(super) fn restore(plan: &StatePlan, hosts: &mut Hosts) -> Result<Option<Restored>, Failure> {
    let Some(file) = open(&plan.path)? else { return Ok(None) };
    let outcome = state::restore(file, hosts, &plan.database, plan.point.site.as_deref());
    if matches!(&outcome, Err(error) if !error.is_foreign()) {
        hosts.clear();
    }
    Ok(Some(Restored { path: plan.path.clone(), outcome }))
}

/// What distinguishes a file from the one that replaces it: its number and the time of its last change, if it exists.
pub(super) fn version(plan: &StatePlan) -> Option<(u64, i64, i64)> {
    let found = fs::metadata(&plan.path).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec()))
}

/// Checks that the state can be written. Call it after privileges are dropped.
pub(super) fn check_rights(plan: &StatePlan) -> Result<(), OutputError> {
    check_new_file("--state", &plan.path)
}

/// Returns why the state cannot be read, if so.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub(super) fn check(plan: &StatePlan) -> Result<Option<String>, Failure> {
    let Some(file) = open(&plan.path)? else { return Ok(None) };
    Ok(state::verify(file, plan.point.site.as_deref())
        .err()
        .map(|error| format!("{}: {error}", name_of(&plan.path))))
}

/// What a state says of itself, beside its hosts.
#[derive(Debug)]
pub(crate) struct StateSummary {
    /// The sensor that wrote it.
    pub(crate) point: ObservationPoint,
    /// Number of hosts that the database has no names for, and the reason of the first one.
    pub(crate) left_out: Option<(u64, HostRecordError)>,
}

/// Verifies a state, then passes on its hosts, one after the other. The inner error says why it cannot be read; some hosts may have been
/// passed on then, if it is damaged.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub(crate) fn read_hosts(
    path: &Path,
    add: impl FnMut(&ObservationPoint, SavedHost) -> Result<(), HostRecordError>,
) -> Result<Result<StateSummary, String>, Failure> {
    let not_found = || Failure::Read {
        path: name_of(path),
        source: io::Error::new(io::ErrorKind::NotFound, "no such file"),
    };
    let file = open(path)?.ok_or_else(not_found)?;
    let read = state::read::<IgnoredAny>(file, None, add);
    Ok(read
        .map(|(StateContent { point, left_out, .. }, _)| StateSummary { point, left_out })
        .map_err(|error| format!("{}: {error}", name_of(path))))
}

/// Opens a regular file; `None` if there is none.
fn open(path: &Path) -> Result<Option<File>, Failure> {
    let failed = |source| Failure::Read { path: name_of(path), source };
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(Failure::StateNotRegular { path: name_of(path) }),
        Ok(_) => File::open(path).map(Some).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

impl Restored {
    /// Says what was read, and returns the alerts that had a line. Keeps a file that could not be read under another name. Call it after
    /// privileges are dropped.
    pub(super) fn report(self, has_totals: bool, messages: &Messages) -> Vec<SavedAlarm> {
        let Self { path, outcome } = self;
        match outcome {
            Ok(content) => {
                if has_totals {
                    messages.print(&format_args!(
                        "{}: {} and {}, written {}",
                        name_of(&path),
                        Amount(content.hosts, "host(s)"),
                        Amount(content.fingerprints, "fingerprint(s)"),
                        content.written
                    ));
                }
                if let Some((left_out, reason)) = content.left_out {
                    let hosts = Amount(left_out, "host(s)");
                    messages.warn(&format_args!("{}: {hosts} left out: {reason}", name_of(&path)));
                }
                content.alerts
            }
            Err(error) => {
                let aside = unread_name(&path);
                let kept = match fs::rename(&path, &aside) {
                    Ok(()) => format!("the file is kept as {}", PathName(aside)),
                    Err(error) => format!("the file will be replaced: {error}"),
                };
                messages.warn(&format_args!("{}: {error}: starts without hosts; {kept}", name_of(&path)));
                Vec::new()
            }
        }
    }
}

/// Thread that writes the state at intervals and on request.
#[derive(Debug)]
pub(super) struct StateKeeper {
    path: PathBuf,
    point: ObservationPoint,
    status: Arc<LiveStatus>,
    requests: StateRequests,
    thread: JoinHandle<()>,
}

/// Requests that the state is written. The thread ends with the first one after the end of the analysis.
#[derive(Clone, Debug)]
pub(super) struct StateRequests(SyncSender<()>);

impl StateRequests {
    pub(super) fn request(&self) {
        // A request that is pending has the same effect.
        let _ = self.0.try_send(());
    }
}

impl StateKeeper {
    pub(super) fn start(
        plan: StatePlan,
        status: Arc<LiveStatus>,
        messages: Messages,
    ) -> io::Result<(Self, StateRequests)> {
        let StatePlan { path, point, .. } = plan;
        let (requests, received) = sync_channel(1);
        let (of_thread, to) = ((path.clone(), point.clone()), Arc::clone(&status));
        let run = move || write_on_request(&of_thread.0, &of_thread.1, &to, &messages, &received);
        let thread = thread::Builder::new().name("huginn-state".to_owned()).spawn(run)?;
        let requests = StateRequests(requests);
        Ok((Self { path, point, status, requests: requests.clone(), thread }, requests))
    }

    /// Waits for the thread, and writes the state of an analysis that has ended.
    pub(super) fn finish(self, hosts: &Hosts, messages: &Messages) -> Result<(), Failure> {
        self.requests.request();
        let _ = self.thread.join();
        let written = replace_private_file(&self.path, |out| {
            let mut writer = StateWriter::new(out, &self.point, now())?;
            for id in hosts.ids_by_age() {
                hosts.saved(id).map_or(Ok(()), |host| writer.add(&host))?;
            }
            writer.add_alerts(&self.status.alarms().saved())?;
            writer.finish(hosts.learned().as_ref())
        });
        self.status.state().count(written.is_ok());
        let left_out = written.map_err(|source| Failure::Create { path: name_of(&self.path), source })?;
        report_left_out(left_out, &self.path, messages);
        Ok(())
    }
}

fn write_on_request(
    path: &Path,
    point: &ObservationPoint,
    status: &LiveStatus,
    messages: &Messages,
    requests: &Receiver<()>,
) {
    while !matches!(requests.recv_timeout(HOST_STATE_INTERVAL), Err(RecvTimeoutError::Disconnected)) {
        let written =
            replace_private_file(path, |out| write_hosts(StateWriter::new(out, point, now())?, status));
        match written {
            // The last state is that of the end.
            Err(_) if status.has_ended() => return,
            Err(error) => {
                status.state().count(false);
                messages.error(&format_args!("cannot write the state to {}: {error}", name_of(path)));
            }
            Ok(left_out) => {
                status.state().count(true);
                report_left_out(left_out, path, messages);
            }
        }
    }
}

fn now() -> Timestamp {
    SystemTime::now().into()
}

fn report_left_out(left_out: u64, path: &Path, messages: &Messages) {
    if left_out > 0 {
        let hosts = Amount(left_out, "host(s)");
        messages.warn(&format_args!("{}: {hosts} left out: the file would be too long", name_of(path)));
    }
}

/// Writes the hosts of a running analysis, which goes on between two queries. Returns the number of those that were left out.
fn write_hosts<W: io::Write>(mut writer: StateWriter<W>, status: &LiveStatus) -> io::Result<u64> {
    let ended = || io::Error::other("the analysis is not running");
    let ids = status.query_hosts(|hosts| hosts.ids_by_age().collect::<Vec<HostId>>()).ok_or_else(ended)?;
    for ids in ids.chunks(HOSTS_PER_QUERY) {
        let ids = ids.to_vec();
        let copied = status.query_hosts(move |hosts| -> Vec<SavedHost> {
            ids.into_iter().filter_map(|id| hosts.saved(id)).collect()
        });
        copied.ok_or_else(ended)?.iter().try_for_each(|host| writer.add(host))?;
    }
    writer.add_alerts(&status.alarms().saved())?;
    let learned = status.query_hosts(|hosts| hosts.learned()).ok_or_else(ended)?;
    writer.finish(learned.as_ref())
}

#[cfg(test)]
mod tests {
    use huginn_net::{CaptureReader, Configure, Database, Event, HuginnNet, Observers};

    use super::*;

    #[test]
    fn a_state_that_turns_out_bad_leaves_no_trace() {
        let analyzer = || HuginnNet::builder_with(Observers::default().profiles(true)).build();
        let mut first = analyzer();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/hosts/hosts-plain/hosts-plain.pcap");
        first.analyze(CaptureReader::open(path).unwrap(), &mut |_: Event| {}).unwrap();
        let mut bytes = Vec::new();
        let mut writer = StateWriter::new(&mut bytes, &ObservationPoint::default(), now()).unwrap();
        let hosts = first.shared_state();
        hosts.ids_by_age().for_each(|id| writer.add(&hosts.saved(id).unwrap()).unwrap());
        writer.add_alerts(&["not a host"]).unwrap();
        writer.finish(None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.jsonl");
        fs::write(&path, &bytes).unwrap();
        let plan =
            StatePlan { path, point: ObservationPoint::default(), database: Database::builtin().clone() };
        let mut second = analyzer();
        let restored = restore(&plan, second.shared_state_mut()).unwrap().unwrap();
        assert!(matches!(restored.outcome, Err(StateError::Line(_))));
        let counters = second.shared_state().counters();
        assert_eq!((counters.restored, counters.seen, counters.cleared, counters.active), (0, 0, 0, 0));
    }
}
