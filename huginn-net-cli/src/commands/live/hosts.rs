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
use super::standing::Standing;
use crate::output::{Messages, PathName};

/// How many hosts are asked for at a time: the analysis waits while they are copied.
const AT_ONCE: usize = 1000;

/// The thread that writes what is known of hosts: it may be much, and read slowly. It ends with the program.
#[derive(Debug)]
pub(super) struct HostsWriter(SyncSender<()>);

impl HostsWriter {
    /// Starts it, to write to this file, which is replaced each time, or to standard error.
    pub(super) fn start(
        standing: Arc<Standing>,
        file: Option<PathBuf>,
        messages: Messages,
    ) -> io::Result<Self> {
        let (wish, wishes) = sync_channel(1);
        let run = move || write_when_wished(&standing, file.as_deref(), &messages, &wishes);
        thread::Builder::new().name("huginn-hosts".to_owned()).spawn(run)?;
        Ok(Self(wish))
    }

    /// Has it done once more. Of several wishes while it is being done one is remembered.
    pub(super) fn wish(&self) {
        let _ = self.0.try_send(());
    }
}

fn write_when_wished(standing: &Standing, file: Option<&Path>, messages: &Messages, wishes: &Receiver<()>) {
    for () in wishes {
        let outcome = match file {
            Some(file) => replace(file, standing),
            None => write_hosts(&mut WholeLines, standing),
        };
        if let Err(error) = outcome {
            let place =
                file.map_or_else(|| "standard error".to_owned(), |file| PathName(file.into()).to_string());
            messages.tell(&format_args!("cannot write what is known of hosts to {place}: {error}"));
        }
    }
}

/// Whoever reads the file finds the old one or the new one, never a part.
fn replace(file: &Path, standing: &Standing) -> io::Result<()> {
    let name = new_name(file);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o640);
    let mut out = BufWriter::with_capacity(1 << 16, options.open(&name)?);
    let written = write_hosts(&mut out, standing).and_then(|()| out.flush());
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
fn write_hosts(out: &mut impl Write, standing: &Standing) -> io::Result<()> {
    let ended = || io::Error::other("the watch has not begun, or has ended");
    let mut ids = standing.ask(|hosts| hosts.ids().collect::<Vec<HostId>>()).ok_or_else(ended)?;
    ids.sort_unstable();
    let mut text = Vec::new();
    for ids in ids.chunks(AT_ONCE) {
        let ids = ids.to_vec();
        let copied = standing.ask(move |hosts| -> Vec<HostProfile> {
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
