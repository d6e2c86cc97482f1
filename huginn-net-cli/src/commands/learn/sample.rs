//! `--sample`: a small capture of each group.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use huginn_net::core::{DecodeConfig, Decoder, FlowId, LinkType, Segment};
use huginn_net::{Side, Timestamp};

use super::groups::{FlowEnds, Groups};
use super::packet::{self, BuiltFrame};
use crate::failure::Failure;
use crate::paths::{name_of, open_output};
use crate::run::open;

/// Maximum number of packets of a sample. A longer flow gives no sample.
const MAX_SAMPLE_PACKETS: usize = 1000;

/// Maximum number of samples of one flow: a hostile connection may have a request for each group.
const MAX_SAMPLES_PER_FLOW: usize = 16;

/// Maximum memory of the packets of all samples of one file, in bytes.
const MAX_SAMPLE_BYTES: usize = 64 << 20;

/// Writes the samples of all groups to a folder, which is created. Reads each file again up to its last sample.
pub(super) fn write_all(
    folder: &Path,
    files: &[PathBuf],
    max_ratio: Option<NonZeroU32>,
    groups: &mut Groups,
) -> Result<(), Failure> {
    let failure = |path: &Path, source| Failure::Create { path: name_of(path), source };
    fs::create_dir_all(folder).map_err(|source| failure(folder, source))?;
    let mut number = 0_u32;
    let mut last_kind = None;
    let names: Vec<String> = groups
        .sorted
        .iter()
        .map(|group| {
            number = if last_kind == Some(group.kind) { number.saturating_add(1) } else { 1 };
            last_kind = Some(group.kind);
            format!("{}-{number:03}.pcap", group.kind.file_prefix())
        })
        .collect();
    for (index, path) in files.iter().enumerate() {
        let mut samples = Samples::default();
        for (group_index, group) in groups.sorted.iter().enumerate() {
            if group.first_at.file == index {
                samples.add(group_index, group.flow, group.first_at.frame);
            }
        }
        if samples.all.is_empty() {
            continue;
        }
        samples.collect(path, max_ratio);
        for sample in samples.all {
            let group = groups.sorted.get_mut(sample.group);
            let (Some(group), Some(name)) = (group, names.get(sample.group)) else { continue };
            if sample.too_long || sample.frames.is_empty() {
                groups.left_out.samples = groups.left_out.samples.saturating_add(1);
                continue;
            }
            let path = folder.join(name);
            write_pcap(&path, &sample.frames).map_err(|source| failure(&path, source))?;
            group.sample = Some(name.clone());
        }
    }
    Ok(())
}

/// The samples of one file.
#[derive(Default)]
struct Samples {
    all: Vec<Sample>,
    /// Indices of the samples of each flow.
    by_flow: HashMap<FlowEnds, Vec<usize>>,
    last_frame: u64,
    bytes: usize,
}

/// The packets of one flow up to a frame.
struct Sample {
    /// Index of the group.
    group: usize,
    client: std::net::SocketAddr,
    /// Index of the frame that completed the fingerprint.
    last_frame: u64,
    /// The sequence number of the SYN that started the connection.
    syn: Option<u32>,
    frames: Vec<(Timestamp, BuiltFrame)>,
    too_long: bool,
}

impl Samples {
    fn add(&mut self, group: usize, flow: FlowEnds, last_frame: u64) {
        let of_flow = self.by_flow.entry(flow).or_default();
        // Without its flow, a sample stays empty and is reported.
        if of_flow.len() < MAX_SAMPLES_PER_FLOW {
            of_flow.push(self.all.len());
        }
        self.last_frame = self.last_frame.max(last_frame);
        self.all.push(Sample {
            group,
            client: flow.client,
            last_frame,
            syn: None,
            frames: Vec::new(),
            too_long: false,
        });
    }

    /// Reads a file up to the last frame of a sample. Its errors were reported when it was analysed.
    fn collect(&mut self, path: &Path, max_ratio: Option<NonZeroU32>) {
        let Ok(mut reader) = open(path, max_ratio) else { return };
        let mut decoder = Decoder::new(DecodeConfig::default());
        let mut index = 0_u64;
        while index <= self.last_frame {
            let Ok(Some(frame)) = reader.read_frame() else { return };
            decoder.decode(&frame, &mut |segment| self.on_segment(segment, index));
            index = index.saturating_add(1);
        }
    }

    fn on_segment(&mut self, segment: &Segment<'_>, index: u64) {
        for sender in [Side::Client, Side::Server] {
            let flow = FlowEnds::new(&FlowId::from_segment(segment, sender));
            let Some(samples) = self.by_flow.get(&flow) else { continue };
            for at in samples {
                if let Some(sample) = self.all.get_mut(*at).filter(|sample| index <= sample.last_frame) {
                    sample.add(segment, sender, &mut self.bytes);
                }
            }
            return;
        }
    }
}

impl Sample {
    fn add(&mut self, segment: &Segment<'_>, sender: Side, bytes: &mut usize) {
        let syn = segment.tcp().filter(|tcp| tcp.flags.is_initial_syn() && segment.source() == self.client);
        // A new connection with the same ports.
        if syn.is_some_and(|tcp| self.syn.replace(tcp.seq) != Some(tcp.seq)) {
            let len: usize = self.frames.iter().map(|(_, frame)| memory_of(frame)).sum();
            *bytes = bytes.saturating_sub(len);
            self.frames.clear();
            self.too_long = false;
        }
        if self.too_long {
            return;
        }
        let frame = packet::ethernet(segment, sender);
        let total = bytes.saturating_add(memory_of(&frame));
        if self.frames.len() >= MAX_SAMPLE_PACKETS || total > MAX_SAMPLE_BYTES {
            self.too_long = true;
            return;
        }
        *bytes = total;
        self.frames.push((segment.ts, frame));
    }
}

/// The memory of a buffered frame, in bytes.
fn memory_of(frame: &BuiltFrame) -> usize {
    frame.data.capacity().saturating_add(size_of::<(Timestamp, BuiltFrame)>())
}

/// Writes frames as a little-endian pcap file with times in nanoseconds (draft-ietf-opsawg-pcap).
fn write_pcap(path: &Path, frames: &[(Timestamp, BuiltFrame)]) -> io::Result<()> {
    // An older sample is replaced, not followed: it may be a link to an input.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = BufWriter::new(open_output(path, File::options().write(true).create_new(true), 0)?);
    let snap_len = 1 << 18;
    for word in [0xa1b2_3c4d, 2 | 4 << 16, 0, 0, snap_len, u32::from(LinkType::ETHERNET.0)] {
        file.write_all(&word.to_le_bytes())?;
    }
    for (ts, BuiltFrame { data, wire_len }) in frames {
        let seconds = u32::try_from(ts.as_secs()).unwrap_or(u32::MAX);
        let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
        for word in [seconds, ts.subsec_nanos(), len, *wire_len] {
            file.write_all(&word.to_le_bytes())?;
        }
        file.write_all(data)?;
    }
    file.flush()
}
