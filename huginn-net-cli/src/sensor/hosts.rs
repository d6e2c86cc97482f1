//! SIGUSR1: writes host profiles during the analysis.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use huginn_net::hosts::{HostId, HostProfile, JsonHost};

use super::status::LiveStatus;
use crate::limits::HOSTS_PER_QUERY;
use crate::output::{Messages, OutputError, check_new_file};
use crate::paths::{PathName, replace_file};

/// Checks that the hosts file, which is written on request only, can be created.
///
/// Call it after privileges are dropped.
pub(super) fn check_rights(file: Option<&Path>) -> Result<(), OutputError> {
    let Some(path) = file else { return Ok(()) };
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(OutputError::HostsKind { path: PathName(path.to_owned()) });
    }
    check_new_file("--hosts-file", path)
}

/// Thread that writes host profiles, which may be many and read slowly. It ends with the program.
#[derive(Debug)]
pub(super) struct HostsWriter(SyncSender<()>);

impl HostsWriter {
    /// Starts the thread. It replaces `file` at each request, or writes to standard error without a file.
    pub(super) fn start(
        status: Arc<LiveStatus>,
        file: Option<PathBuf>,
        messages: Messages,
    ) -> io::Result<Self> {
        let (request, requests) = sync_channel(1);
        let run = move || write_on_request(&status, file.as_deref(), &messages, &requests);
        thread::Builder::new().name("huginn-hosts".to_owned()).spawn(run)?;
        Ok(Self(request))
    }

    /// Requests one more write. Several requests during a write count as one.
    pub(super) fn request(&self) {
        let _ = self.0.try_send(());
    }
}

fn write_on_request(status: &LiveStatus, file: Option<&Path>, messages: &Messages, requests: &Receiver<()>) {
    for () in requests {
        let outcome = match file {
            Some(file) => replace_file(file, |out| write_hosts(out, status)),
            None => write_hosts(&mut WholeLines, status),
        };
        if let Err(error) = outcome {
            let place =
                file.map_or_else(|| "standard error".to_owned(), |file| PathName(file.into()).to_string());
            messages.error(&format_args!("cannot write host profiles to {place}: {error}"));
        }
    }
}

/// Standard error, locked for one line at a time.
struct WholeLines;

impl Write for WholeLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes one line per host in the order of addresses. Skips hosts that are evicted meanwhile.
fn write_hosts(out: &mut impl Write, status: &LiveStatus) -> io::Result<()> {
    let ended = || io::Error::other("the analysis is not running");
    let mut ids = status.query_hosts(|hosts| hosts.ids().collect::<Vec<HostId>>()).ok_or_else(ended)?;
    ids.sort_unstable();
    let mut text = Vec::new();
    for ids in ids.chunks(HOSTS_PER_QUERY) {
        let ids = ids.to_vec();
        let copied = status.query_hosts(move |hosts| -> Vec<HostProfile> {
            ids.into_iter().filter_map(|id| hosts.profile_of(id).cloned()).collect()
        });
        for host in &copied.ok_or_else(ended)? {
            text.clear();
            JsonHost::new(host).write_to(&mut text);
            text.push(b'\n');
            out.write_all(&text)?;
        }
    }
    Ok(())
}
