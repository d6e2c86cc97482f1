//! SIGUSR1: what is known of hosts, written while packets are analysed.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use huginn_net::hosts::{HostId, HostProfile};
use huginn_net::json::JsonHost;

use super::files::new_name;
use super::status::LiveStatus;
use crate::output::{Messages, PathName};

/// How many hosts are asked for at a time: the analysis waits while they are copied.
const HOSTS_PER_QUERY: usize = 1000;

/// The thread that writes what is known of hosts: it may be much, and read slowly. It ends with the program.
#[derive(Debug)]
pub(super) struct HostsWriter(SyncSender<()>);

impl HostsWriter {
    /// Starts it, to write to this file, which is replaced each time, or to standard error.
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

    /// Has it done once more. Of several requests while it is being done one is remembered.
    pub(super) fn request(&self) {
        let _ = self.0.try_send(());
    }
}

fn write_on_request(status: &LiveStatus, file: Option<&Path>, messages: &Messages, requests: &Receiver<()>) {
    for () in requests {
        let outcome = match file {
            Some(file) => replace(file, status),
            None => write_hosts(&mut WholeLines, status),
        };
        if let Err(error) = outcome {
            let place =
                file.map_or_else(|| "standard error".to_owned(), |file| PathName(file.into()).to_string());
            messages.print(&format_args!("cannot write what is known of hosts to {place}: {error}"));
        }
    }
}

/// Whoever reads the file finds the old one or the new one, never a part.
fn replace(file: &Path, status: &LiveStatus) -> io::Result<()> {
    let name = new_name(file);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o640);
    let mut out = BufWriter::with_capacity(1 << 16, options.open(&name)?);
    let written = write_hosts(&mut out, status).and_then(|()| out.flush());
    drop(out);
    let outcome = written.and_then(|()| fs::rename(&name, file));
    if outcome.is_err() {
        // The rest of what could not be written is of no use.
        let _ = fs::remove_file(&name);
    }
    outcome
}

/// Standard error, of which the lock is held for one line only.
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

/// Writes all hosts in the order of their addresses, a line each; not those that are forgotten meanwhile.
fn write_hosts(out: &mut impl Write, status: &LiveStatus) -> io::Result<()> {
    let ended = || io::Error::other("the watch has not begun, or has ended");
    let mut ids = status.ask(|hosts| hosts.ids().collect::<Vec<HostId>>()).ok_or_else(ended)?;
    ids.sort_unstable();
    let mut text = Vec::new();
    for ids in ids.chunks(HOSTS_PER_QUERY) {
        let ids = ids.to_vec();
        let copied = status.ask(move |hosts| -> Vec<HostProfile> {
            ids.into_iter().filter_map(|id| hosts.profile_of(id).cloned()).collect()
        });
        for host in &copied.ok_or_else(ended)? {
            text.clear();
            JsonHost { host, file: None }.write_to(&mut text);
            text.push(b'\n');
            out.write_all(&text)?;
        }
    }
    Ok(())
}
