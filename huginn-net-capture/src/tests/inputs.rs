//! Files, pipes and other readers.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::bytes::{Bytes, block, enhanced, interface, pcap, pcapng, section};
use super::compressed::gzip;
use super::{Packet, drain, packet, read, read_complete};
use crate::byte_order::ByteOrder::{Big, Little};
use crate::{CaptureError, CaptureReader};
use huginn_net_core::{Block, Chunk, ChunkReader, Fill, FirstFrames, NextFrame, Source};

/// Returns a few bytes per read, with interruptions, then ends or fails.
struct Trickle {
    bytes: Vec<u8>,
    at: usize,
    reads: usize,
    failure: Option<ErrorKind>,
}

impl Read for Trickle {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if self.reads.is_multiple_of(3) {
            return Err(ErrorKind::Interrupted.into());
        }
        let rest = &self.bytes[self.at..];
        let len = rest.len().min(out.len()).min(1 + self.reads % 5);
        match self.failure {
            Some(kind) if len == 0 => Err(kind.into()),
            _ => {
                out[..len].copy_from_slice(&rest[..len]);
                self.at += len;
                Ok(len)
            }
        }
    }
}

fn trickle(bytes: &[u8], failure: Option<ErrorKind>) -> Result<CaptureReader, CaptureError> {
    CaptureReader::from_reader("a pipe", Trickle { bytes: bytes.to_vec(), at: 0, reads: 0, failure })
}

/// A temporary file, removed on drop.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("huginn-{}-{name}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn short_and_interrupted_reads_are_transparent() {
    for file in [pcap(&[60, 0, 1514]).0, pcapng().0] {
        let want = read_complete(file.clone());
        for bytes in [gzip(&file), file] {
            let (packets, error) = drain(trickle(&bytes, None).unwrap());
            assert!(error.is_none(), "{error:?}");
            assert_eq!(packets, want);
        }
    }
}

#[test]
fn frames_are_lent_once_complete() {
    let (file, ends) = pcap(&[60, 90]);
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(&file[..ends[0]]).unwrap();
    let mut capture = CaptureReader::from_reader("a pipe", reader).unwrap();
    assert_eq!(capture.read_frame().unwrap().unwrap().data.len(), 60);
    writer.write_all(&file[ends[0]..]).unwrap();
    assert_eq!(capture.read_frame().unwrap().unwrap().data.len(), 90);
    drop(writer);
    assert!(capture.read_frame().unwrap().is_none());
}

#[test]
fn fill_returns_complete_frames_without_waiting() {
    let (with_blocks, blocks) = pcapng();
    let ends_of_packets = [2, 4, 6, 9].map(|block: usize| blocks[block].0).to_vec();
    for (file, ends) in [pcap(&[60, 90, 40, 80]), (with_blocks, ends_of_packets)] {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(&file[..ends[1] + 9]).unwrap();
        let mut capture = CaptureReader::from_reader("a pipe", reader).unwrap();
        let mut block = Block::new(1 << 20);
        let mut fill = || {
            block.clear();
            let outcome = capture.fill(&mut block).unwrap();
            (outcome, block.frame_count())
        };
        assert_eq!(fill(), (Fill::Idle, 2));
        writer.write_all(&file[ends[1] + 9..]).unwrap();
        assert_eq!(fill(), (Fill::Idle, 2));
        drop(writer);
        assert_eq!(fill(), (Fill::End, 0));
    }
}

#[test]
fn full_block_at_end_returns_idle() {
    const MAX_BLOCK_FRAMES: usize = 16_384;
    let (file, ends) = pcap(&vec![0; MAX_BLOCK_FRAMES + 1]);
    let [first, others] = [&file[..ends[0]], &file[ends[0]..]].map(|part| Cursor::new(part.to_vec()));
    let mut capture = CaptureReader::from_reader("a pipe", first.chain(others)).unwrap();
    let mut block = Block::new(1 << 20);
    for want in [(Fill::Idle, 1), (Fill::Idle, MAX_BLOCK_FRAMES), (Fill::End, 0)] {
        block.clear();
        let outcome = capture.fill(&mut block).unwrap();
        assert_eq!((outcome, block.frame_count()), want);
    }
}

#[test]
fn pipe_is_idle_before_it_waits() {
    let (file, ends) = pcap(&[60, 90]);
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(&file[..ends[0]]).unwrap();
    let mut capture = CaptureReader::from_reader("a pipe", reader).unwrap();
    let mut next = || match Source::next_frame(&mut capture).unwrap() {
        NextFrame::Frame(frame) => frame.data.len().to_string(),
        NextFrame::Idle => "idle".to_owned(),
        NextFrame::End => "end".to_owned(),
    };
    assert_eq!([next(), next()], ["60", "idle"]);
    writer.write_all(&file[ends[0]..]).unwrap();
    assert_eq!([next(), next()], ["90", "idle"]);
    drop(writer);
    assert_eq!([next(), next()], ["end", "end"]);
}

#[test]
fn filled_blocks_contain_all_frames() {
    let (file, _) = pcap(&(0..4000).map(|n| n % 701).collect::<Vec<_>>());
    let open = || CaptureReader::from_reader("a slice", Cursor::new(file.clone())).unwrap();
    for capture in [open(), read_ahead(open())] {
        let (packets, error) = filled(capture, 1 << 18);
        assert!(error.is_none());
        assert_eq!(packets, read_complete(&*file));
    }
}

/// `fill` reads no bytes beyond its buffer once the buffer contains a frame, for any lengths in the file.
#[test]
fn fill_equals_next_frame_in_odd_captures() {
    let file_type = [section(Big), interface(Big, 1, 0, &[]), enhanced(Big, 0, 1, &[7; 20], 20)].concat();
    let (file, _) = pcapng();
    fill_in_pieces(&[&file[..], &file_type].concat());
    // Each block is too short, so that reading it needs more bytes than the file has.
    let shorts = [(0x0a0d_0d0a, 12), (1, 12), (6, 12), (6, 28), (3, 12), (2, 16), (4, 8)];
    for (kind, len) in shorts {
        let head = Bytes::new(Little).u32s(&[kind, len, 0x1a2b_3c4d]).done();
        let short = Bytes::new(Little).raw(&head[..8]).raw(&[0; 20][..len as usize - 8]).done();
        let with_magic =
            Bytes::new(Little).raw(&head).raw(&[0; 16][..(len as usize).saturating_sub(12)]).done();
        for bytes in [short, with_magic] {
            for behind in [&[][..], &enhanced(Little, 0, 1, &[], 0), &block(Little, 6, &[]), &[6, 0, 0, 0]] {
                fill_in_pieces(&[&file, &bytes[..], behind, &block(Little, 4, &[0; 40])].concat());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fill_equals_next_frame_in_damaged_captures(
        ng in any::<bool>(),
        edits in vec((any::<Index>(), prop::sample::select(vec![0, 1, 3, 6, 8, 12, 16, 28, 0x0a, 0x80])), 0..8),
    ) {
        let mut bytes = if ng { pcapng().0 } else { pcap(&[60, 0, 90, 7, 200]).0 };
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        fill_in_pieces(&bytes);
    }
}

/// Compares filled blocks with lent frames of a file that arrives in two pieces, for every length of the first piece.
fn fill_in_pieces(bytes: &[u8]) {
    let open = |first: &[u8], last: &[u8]| {
        let reader = Cursor::new(first.to_vec()).chain(Cursor::new(last.to_vec()));
        CaptureReader::from_reader("two pieces", reader)
    };
    for kept_back in 0..bytes.len() {
        let (first, last) = bytes.split_at(bytes.len() - kept_back);
        let (Ok(lending), Ok(filling)) = (open(first, last), open(first, last)) else { continue };
        let ((lent, error), (packets, fill_error)) = (drain(lending), filled(filling, 1 << 18));
        assert_eq!(packets, lent, "{kept_back} bytes kept back");
        assert_eq!(error.map(|error| error.to_string()), fill_error.map(|error| error.to_string()));
    }
}

/// Returns the frames of the blocks that a capture fills, and the error at its end.
fn filled(mut capture: CaptureReader, limit: usize) -> (Vec<Packet>, Option<CaptureError>) {
    let (mut block, mut packets) = (Block::new(limit), Vec::new());
    loop {
        block.clear();
        let outcome = capture.fill(&mut block);
        let frames = block.iter();
        packets.extend(
            frames.map(|frame| packet(&frame.ts.to_string(), frame.link.0, frame.data, frame.wire_len)),
        );
        match outcome {
            Ok(Fill::More | Fill::Idle) => {}
            Ok(Fill::End) => return (packets, None),
            Err(error) => return (packets, Some(error)),
        }
    }
}

/// A capture with a number of chunks that are read ahead, after its first frame.
struct InChunks {
    capture: CaptureReader,
    chunks: Arc<dyn ChunkReader>,
    packets: Vec<Packet>,
    /// How many chunks are read ahead.
    ahead: usize,
}

impl InChunks {
    fn open(file: &TempFile) -> Self {
        Self::with(file, 1 << 20, 3)
    }

    fn with(file: &TempFile, chunk_len: usize, ahead: usize) -> Self {
        let mut capture = CaptureReader::open(&file.0).unwrap();
        let frame = capture.read_frame().unwrap().unwrap();
        let packets = vec![packet(&frame.ts.to_string(), frame.link.0, frame.data, frame.wire_len)];
        let chunks = capture.chunks(chunk_len).unwrap();
        Self { capture, chunks, packets, ahead }
    }

    /// Fills blocks until the end. `change` may change the chunk with this number. Also returns the number of fills.
    fn read(
        mut self,
        mut change: impl FnMut(usize, &mut Chunk),
    ) -> (Vec<Packet>, Option<CaptureError>, usize) {
        let (mut block, mut ahead) = (Block::new(1 << 20), VecDeque::new());
        let mut number = 0;
        loop {
            while ahead.len() < self.ahead {
                ahead.push_back(self.chunks.read(self.chunks.claim(), Vec::new()));
            }
            let mut chunk = ahead.pop_front().unwrap();
            change(number, &mut chunk);
            number += 1;
            block.clear();
            block.set_chunk(chunk);
            let outcome = self.capture.fill(&mut block);
            let frames = block.iter();
            self.packets.extend(
                frames.map(|frame| packet(&frame.ts.to_string(), frame.link.0, frame.data, frame.wire_len)),
            );
            match outcome {
                Ok(Fill::More) => {
                    assert!(number < 100, "the end is reached");
                    assert!(self.capture.stream.buffer_len() <= 2 << 20, "buffers do not grow");
                }
                Ok(Fill::Idle) => panic!("a file is never idle"),
                Ok(Fill::End) => return (self.packets, None, number),
                Err(error) => return (self.packets, Some(error), number),
            }
        }
    }
}

/// Captures of three chunks and more: of both formats, with frames that are longer than the room before a chunk, with more frames than a
/// block has otherwise, and with a block that is skipped and longer than the chunks that are read ahead.
fn long_captures() -> [Vec<u8>; 4] {
    let record = |n: u32| enhanced(Little, 0, u64::from(n), &[n as u8; 1400], 1400);
    let packets = |range: std::ops::Range<u32>| range.flat_map(record).collect::<Vec<_>>();
    let head = [section(Little), interface(Little, 1, 0, &[])].concat();
    [
        pcap(&(0..40).map(|n| n * 65_537 % 262_145).collect::<Vec<_>>()).0,
        [&head[..], &packets(0..2500)].concat(),
        pcap(&[0; 200_000]).0,
        [&head[..], &packets(0..2500), &block(Little, 10, &vec![7; 8 << 20]), &packets(2500..6000)].concat(),
    ]
}

#[test]
fn chunks_have_all_frames_whatever_is_missing() {
    for (number, bytes) in long_captures().into_iter().enumerate() {
        let file = TempFile::new(&format!("chunks-{number}"), &bytes);
        let want = read_complete(bytes);
        let missing: [fn(usize) -> bool; 4] =
            [|_| false, |number| number % 3 == 1, |number| number > 0, |_| true];
        for is_missing in missing {
            let (packets, error, _) = InChunks::open(&file).read(|number, chunk| {
                if is_missing(number) {
                    chunk.end = 0;
                }
            });
            assert!(error.is_none(), "{error:?}");
            assert!(packets == want, "{} of {} packets", packets.len(), want.len());
        }
    }
}

#[test]
fn chunks_go_on_after_bytes_that_were_read_without_them() {
    let bytes = &long_captures()[3];
    let file = TempFile::new("chunks-skip", bytes);
    let (packets, _, fills) = InChunks::open(&file).read(|_, _| {});
    assert_eq!(packets.len(), 6000);
    // Four chunks up to the skipped block, three that were read before it was skipped, five after it, and the end.
    assert!((12..=14).contains(&fills), "{fills} fills");
}

/// To skip a long block, the stream reads without chunks. These reads may end where a chunk of 256 KiB begins.
#[test]
fn chunks_that_were_claimed_before_are_used_where_they_fit() {
    let head = [section(Little), interface(Little, 1, 0, &[]), enhanced(Little, 0, 0, &[1; 60], 60)].concat();
    let packets: Vec<_> = (0..2000).flat_map(|n| enhanced(Little, 0, n, &[2; 1400], 1400)).collect();
    for skipped in [1_000, 1_100, 1_200, 1_300] {
        let other = block(Little, 10, &vec![7; skipped << 10]);
        let bytes = [&head[..], &packets, &other, &packets, &packets, &packets].concat();
        let file = TempFile::new("chunks-fit", &bytes);
        let (packets, error, fills) = InChunks::with(&file, 256 << 10, 8).read(|_, _| {});
        assert!(error.is_none() && packets.len() == 8001, "{error:?}");
        let least = bytes.len() / (256 << 10);
        assert!(fills < least + 12, "{fills} fills of {least} chunks, {skipped} KiB skipped");
    }
}

/// Each read ends in blocks without a frame.
#[test]
fn buffers_of_chunks_do_not_grow() {
    let other = block(Little, 10, &[7; 60_000]);
    let mut bytes =
        [section(Little), interface(Little, 1, 0, &[]), enhanced(Little, 0, 0, &[1; 60], 60)].concat();
    for n in 1..40 {
        bytes.extend(enhanced(Little, 0, n, &[1; 60], 60));
        (0..n).for_each(|_| bytes.extend(&other));
    }
    let file = TempFile::new("chunks-others", &bytes);
    let (packets, error, _) = InChunks::open(&file).read(|_, _| {});
    assert!(error.is_none() && packets.len() == 40, "{error:?}, {} packets", packets.len());
}

#[test]
fn chunks_follow_a_file_that_changes() {
    let (bytes, ends) = pcap(&[1400; 2500]);
    let kept = ends[1499];
    let file = TempFile::new("chunks-grow", &bytes[..kept]);
    let write = || OpenOptions::new().append(true).open(&file.0).unwrap();
    let (packets, error, _) = InChunks::open(&file).read(|number, _| {
        if number == 1 {
            write().write_all(&bytes[kept..]).unwrap();
        }
    });
    assert!(error.is_none(), "{error:?}");
    assert!(packets == read_complete(bytes.clone()), "{} packets", packets.len());

    let (packets, error, _) = InChunks::open(&file).read(|number, _| {
        if number == 0 {
            write().set_len(kept as u64 - 1).unwrap();
        }
    });
    assert!(packets.len() >= 1499, "three chunks were read before");
    assert!(error.is_some(), "the record that was cut");
}

#[test]
fn damage_in_chunks_is_that_of_the_file() {
    for (number, mut bytes) in long_captures().into_iter().enumerate() {
        bytes.truncate(bytes.len() - 3);
        let file = TempFile::new(&format!("chunks-damaged-{number}"), &bytes);
        let (want, want_error) = read(bytes);
        let (packets, error, _) = InChunks::open(&file).read(|_, _| {});
        assert!(packets == want);
        let [error, want_error] = [error, want_error].map(|error| match error.unwrap() {
            CaptureError::Damaged { packet, offset, defect, .. } => (packet, offset, defect.to_string()),
            other => panic!("{other}"),
        });
        assert_eq!(error, want_error);
    }
}

#[test]
fn limit_of_frames_holds_in_chunks() {
    let bytes = pcap(&[0; 200_000]).0;
    let file = TempFile::new("chunks-first", &bytes);
    let mut source = FirstFrames::new(CaptureReader::open(&file.0).unwrap(), 70_001);
    let chunks = source.chunks(1 << 20).unwrap();
    let (mut block, mut frames) = (Block::new(1 << 20), 0);
    loop {
        block.clear();
        block.set_chunk(chunks.read(chunks.claim(), Vec::new()));
        let outcome = source.fill(&mut block).unwrap();
        frames += block.frame_count();
        if outcome == Fill::End {
            break;
        }
    }
    assert_eq!((frames, source.source().packets()), (70_001, 70_001));
}

/// Starts a read-ahead thread, also for an uncompressed capture.
pub(super) fn read_ahead(capture: CaptureReader) -> CaptureReader {
    CaptureReader { stream: capture.stream.start_read_ahead(), ..capture }
}

#[test]
fn long_frames_are_read_ahead_across_blocks() {
    let lengths = (0..40).map(|n| n * 65_537 % 262_145).collect::<Vec<_>>();
    let (file, ends) = pcap(&lengths);
    let packets = read_complete(&*file);
    assert!(packets.iter().map(|packet| packet.data.len()).eq(lengths));
    let (most, error) = read(&file[..ends[39] - 1]);
    assert_eq!(most, packets[..39]);
    assert!(
        matches!(error, Some(CaptureError::Damaged { packet: 40, offset, .. }) if offset == ends[38] as u64)
    );
}

/// Returns some bytes, then panics.
struct Panicking(Cursor<Vec<u8>>);

impl Read for Panicking {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => panic!("on purpose"),
            len => Ok(len),
        }
    }
}

#[test]
fn panic_in_read_ahead_is_an_error() {
    let (file, ends) = pcap(&[60, 90]);
    for bytes in [&file[..], &file[..ends[0] + 20]] {
        let reader = Panicking(Cursor::new(bytes.to_vec()));
        let (packets, error) = drain(read_ahead(CaptureReader::from_reader("x", reader).unwrap()));
        assert!(packets.len() <= 2);
        assert!(matches!(error, Some(CaptureError::Io { .. })), "{error:?}");
    }
}

/// Returns the same bytes repeatedly, and records the longest read requested.
struct Endless {
    bytes: Vec<u8>,
    at: usize,
    most: Arc<AtomicUsize>,
}

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.most.fetch_max(out.len(), Ordering::Relaxed);
        self.at %= self.bytes.len();
        let len = out.len().min(self.bytes.len() - self.at);
        out[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

#[test]
fn read_ahead_buffers_do_not_grow() {
    let (header, ends) = pcap(&(0..41).map(|n| n * 104_729 % 262_145).collect::<Vec<_>>());
    let most = Arc::new(AtomicUsize::new(0));
    let records =
        Endless { bytes: header[24..*ends.last().unwrap()].to_vec(), at: 0, most: Arc::clone(&most) };
    let reader = Cursor::new(header[..24].to_vec()).chain(records);
    let mut capture = read_ahead(CaptureReader::from_reader("endless", reader).unwrap());
    for _ in 0..2_000 {
        assert!(capture.read_frame().unwrap().is_some());
    }
    assert_eq!(most.load(Ordering::Relaxed), 512 << 10);
}

#[test]
fn read_error_differs_from_damage() {
    let (file, ends) = pcap(&[60, 90]);
    for bytes in [gzip(&file)[..60].to_vec(), file[..ends[0] + 20].to_vec()] {
        for is_read_ahead in [false, true] {
            let outcome = trickle(&bytes, Some(ErrorKind::ConnectionReset))
                .map(|capture| if is_read_ahead { read_ahead(capture) } else { capture });
            match outcome.map_or_else(Some, |capture| drain(capture).1) {
                Some(CaptureError::Io { name, source, .. }) => {
                    assert_eq!(name, "a pipe");
                    assert_eq!(source.kind(), ErrorKind::ConnectionReset);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(matches!(trickle(b"", Some(ErrorKind::TimedOut)), Err(CaptureError::Io { offset: 0, .. })));
}

#[test]
fn progress_counts_the_bytes_of_the_file() {
    let (file, _) = pcap(&[1000; 2000]);
    for bytes in [gzip(&file), file] {
        let temp = TempFile::new(&format!("progress-{}", bytes.len()), &bytes);
        let mut capture = CaptureReader::open(&temp.0).unwrap();
        assert_eq!(capture.input_len(), Some(bytes.len() as u64));
        let mut before = 0;
        while capture.read_frame().unwrap().is_some() {
            assert!(capture.consumed() >= before);
            before = capture.consumed();
        }
        assert_eq!((capture.consumed(), capture.packets()), (bytes.len() as u64, 2000));
    }
}

#[test]
fn rejects_paths_that_are_not_captures() {
    let directory = std::env::temp_dir();
    let error = CaptureReader::open(&directory).unwrap_err();
    assert!(matches!(&error, CaptureError::IsDirectory { .. }));
    assert_eq!(error.to_string(), format!("{}: is a directory, not a capture file", directory.display()));

    let error = CaptureReader::open("/nonexistent/x.pcap").unwrap_err();
    assert!(matches!(&error, CaptureError::Open { source, .. } if source.kind() == ErrorKind::NotFound));
    assert!(error.to_string().starts_with("/nonexistent/x.pcap: cannot be opened: "));
}
