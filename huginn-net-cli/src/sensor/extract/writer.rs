//! The thread that writes packets to pcapng files, one after the other.

use std::cmp::max_by_key;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Instant, SystemTime};

use huginn_net::Timestamp;
use huginn_net::capture::{CaptureInterface, PcapngWriter, TimeResolution};
use huginn_net::core::{Amount, Frame, LinkType};
use huginn_net_live::InterfaceNames;

use super::kept_packet::{KeptPacket, bytes_of};
use super::queue::FlowQueue;
use crate::limits::{WRITE_RETRY_DELAY, WRITE_WARNING_INTERVAL};
use crate::output::{Messages, PCAPNG_APPLICATION, StampedFiles, write_commented};
use crate::paths::{PathName, parent_directory};

/// The files.
pub(super) struct PacketFiles {
    pub(super) names: StampedFiles,
    /// Size after which the next file begins.
    pub(super) max_bytes: u64,
    /// Number of files to keep.
    pub(super) keep: usize,
    pub(super) snap_len: u32,
    /// Names of the interfaces, by their index.
    pub(super) interfaces: InterfaceNames,
}

/// State of the thread.
pub(super) struct PacketWriter {
    pub(super) files: PacketFiles,
    pub(super) flows: Receiver<Vec<KeptPacket>>,
    pub(super) queue: Arc<FlowQueue>,
    pub(super) messages: Messages,
}

struct OpenFile {
    path: PathBuf,
    /// The time in its name.
    begin: Timestamp,
    file: Arc<File>,
    writer: PcapngWriter<Arc<File>>,
    /// Numbers of the interfaces in the file.
    numbers: HashMap<(LinkType, u16), u32>,
    /// Memory of the packets in the file: more than their bytes.
    len: u64,
    /// Position after the last packet that is written completely.
    end: u64,
    /// Whether it has all packets of a connection: it is kept, and stands for one that is removed.
    is_kept: bool,
}

impl PacketWriter {
    /// Writes packets until the queue is closed. After an error, what comes within [`WRITE_RETRY_DELAY`] is lost and counted.
    pub(super) fn run(self) {
        let mut current = None;
        let mut failed: Option<Instant> = None;
        let mut warnings = WriteWarnings::default();
        while let Ok(packets) = self.flows.recv() {
            self.queue.on_taken(bytes_of(&packets));
            if failed.is_some_and(|at| at.elapsed() < WRITE_RETRY_DELAY) {
                self.queue.on_lost(packets.len());
                continue;
            }
            failed = None;
            let mut written = 0_usize;
            if let Err(error) = self.write(&mut current, &packets, &mut written) {
                if !current.take().is_some_and(OpenFile::close_after_error) {
                    written = 0;
                }
                self.queue.on_lost(packets.len().saturating_sub(written));
                self.queue.on_error();
                let now = Instant::now();
                failed = Some(now);
                if let Some(lost) = warnings.lost(self.queue.dropped(), now) {
                    self.messages.warn(&format_args!(
                        "{}: cannot write packets: {error}; lost {lost}",
                        PathName(self.files.names.path().to_owned()),
                    ));
                }
            }
            self.queue.on_written(written);
        }
    }

    /// Writes the packets of a connection, to a new file if they do not fit into the current one.
    fn write(
        &self,
        current: &mut Option<OpenFile>,
        packets: &[KeptPacket],
        written: &mut usize,
    ) -> io::Result<()> {
        let Some(first) = packets.first() else { return Ok(()) };
        // More than they have in the file.
        let len = bytes_of(packets) as u64;
        let file = match current.take() {
            Some(file) if file.len.saturating_add(len) <= self.files.max_bytes => file,
            _ => self.create(first.ts)?,
        };
        let file = current.insert(file);
        file.len = file.len.saturating_add(len);
        for packet in packets {
            file.write(packet, &self.files)?;
            *written = written.saturating_add(1);
        }
        if !file.is_kept {
            file.is_kept = true;
            self.queue.on_file();
            self.remove_oldest(file);
        }
        Ok(())
    }

    /// Creates the next file, named by its first packet.
    fn create(&self, first: Timestamp) -> io::Result<OpenFile> {
        let names = &self.files.names;
        let path = names.unused_name(&parent_directory(names.path()), first)?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o640).open(&path)?;
        let file = Arc::new(file);
        // A file without its header is of no use.
        let writer = PcapngWriter::new(Arc::clone(&file), PCAPNG_APPLICATION)
            .inspect_err(|_| _ = fs::remove_file(&path))?;
        let numbers = HashMap::new();
        Ok(OpenFile { path, begin: first, file, writer, numbers, len: 0, end: 0, is_kept: false })
    }

    /// Removes the oldest files beyond the number to keep, but not the newest one.
    fn remove_oldest(&self, newest: &OpenFile) {
        let PacketFiles { names, keep, .. } = &self.files;
        // The clock of a stream of packets may be ahead.
        let now = max_by_key(SystemTime::now().into(), newest.begin, |at: &Timestamp| at.as_nanos());
        if let Err(error) = names.remove_oldest(*keep, &newest.path, now) {
            self.queue.on_error();
            self.messages.warn(&format_args!("cannot remove the oldest file of packets: {error}"));
        }
    }
}

/// The last warning of a failed write.
#[derive(Debug, Default)]
struct WriteWarnings {
    /// Packets that were lost until then.
    dropped: u64,
    at: Option<Instant>,
}

impl WriteWarnings {
    /// What was lost since the last warning; `None` within [`WRITE_WARNING_INTERVAL`] of it. `dropped`: packets lost since the
    /// start.
    fn lost(&mut self, dropped: u64, now: Instant) -> Option<String> {
        if self.at.is_some_and(|at| now.saturating_duration_since(at) < WRITE_WARNING_INTERVAL) {
            return None;
        }
        let is_first = self.at.is_none();
        let lost = dropped.saturating_sub(self.dropped);
        *self = Self { dropped, at: Some(now) };
        let since = if is_first { "" } else { " since the last such warning" };
        Some(format!("{}{since}", Amount(lost, "packet(s)")))
    }
}

impl OpenFile {
    fn write(&mut self, packet: &KeptPacket, files: &PacketFiles) -> io::Result<()> {
        let KeptPacket { ts, link, wire_len, data, comments, events } = packet;
        let key = (*link, ts.interface());
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None => {
                let name = files.interfaces.get(ts.interface());
                let interface = CaptureInterface::new(*link, files.snap_len, TimeResolution::NANOS);
                let number = self.writer.add_interface(&interface, name.as_deref())?;
                self.numbers.insert(key, number);
                number
            }
        };
        let frame = Frame { ts: *ts, link: *link, data, wire_len: *wire_len };
        write_commented(&mut self.writer, number, &frame, *events, comments.iter().map(String::as_str))?;
        self.end = (&*self.file).stream_position()?;
        Ok(())
    }

    /// Cuts what follows the last complete packet, or removes the file if it has no complete connection. Returns whether the
    /// file is kept.
    fn close_after_error(self) -> bool {
        // A failure of either leaves a file that ends within a block.
        if self.is_kept {
            let _ = self.file.set_len(self.end);
        } else {
            let _ = fs::remove_file(&self.path);
        }
        self.is_kept
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn warnings_count_all_packets_lost_since_the_last_one() {
        let mut warnings = WriteWarnings::default();
        let start = Instant::now();
        let said: Vec<_> = [(0, 19), (1, 800), (59, 1826), (61, 2019), (62, 2100)]
            .into_iter()
            .filter_map(|(seconds, dropped)| {
                warnings.lost(dropped, start.checked_add(Duration::from_secs(seconds)).unwrap_or(start))
            })
            .collect();
        assert_eq!(said, ["19 packets", "2000 packets since the last such warning"]);
    }
}
