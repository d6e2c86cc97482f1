//! Compressed captures.

use std::io::Write;

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::bytes::{pcap, pcapng};
use super::{read, read_complete};
use crate::{CaptureError, Compression};

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Builds a frame of raw blocks (RFC 8878, section 3.1.1) with a window of 16 KiB, without size and checksum.
fn zstd_raw(blocks: &[&[u8]]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 4 << 3];
    for (n, block) in blocks.iter().enumerate() {
        let last = u32::from(n + 1 == blocks.len());
        let header = ((block.len() as u32) << 3) | last;
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

fn zstd_skippable(bytes: &[u8]) -> Vec<u8> {
    [&[0x53, 0x2a, 0x4d, 0x18][..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

/// Splits the bytes of a capture at these offsets.
fn pieces<'a>(file: &'a [u8], ends: &[usize]) -> Vec<&'a [u8]> {
    let starts = [0].into_iter().chain(ends.iter().copied());
    starts.zip(ends).map(|(start, end)| &file[start..*end]).collect()
}

fn is_decompress_error(error: &CaptureError, of: Compression) -> bool {
    matches!(error, CaptureError::Decompress { compression, .. } if *compression == of)
}

#[test]
fn compression_is_transparent() {
    for file in [pcap(&[60, 0, 1514, 90]).0, pcapng().0] {
        let want = read_complete(file.clone());
        let (head, tail) = file.split_at(file.len() / 3);
        for compressed in [
            gzip(&file),
            [gzip(head), gzip(b""), gzip(tail)].concat(),
            zstd(&file),
            [zstd(head), zstd(tail)].concat(),
            zstd_raw(&[head, &tail[..100], b"", &tail[100..]]),
            [zstd_skippable(b"index"), zstd(head), zstd_skippable(b""), zstd_raw(&[b""]), zstd(tail)]
                .concat(),
        ] {
            assert_eq!(read_complete(compressed), want);
        }
    }
}

#[test]
fn truncated_gzip_yields_preceding_frames() {
    let (file, ends) = pcap(&[60, 0, 90, 7]);
    let members: Vec<_> = pieces(&file, &ends).into_iter().map(gzip).collect();
    let expected = read_complete(members.concat());
    cut_anywhere(&members, &expected, Compression::Gzip);
}

#[test]
fn truncated_zstd_yields_preceding_frames() {
    let (file, ends) = pcap(&[60, 0, 90, 7]);
    let frames: Vec<_> = pieces(&file, &ends).into_iter().map(|piece| zstd_raw(&[piece])).collect();
    let expected = read_complete(frames.concat());
    cut_anywhere(&frames, &expected, Compression::Zstd);
}

/// Truncates a compressed capture at every length. Each part is a member or frame with one record; detecting the
/// compression needs the first two bytes.
fn cut_anywhere(parts: &[Vec<u8>], expected: &[super::Packet], compression: Compression) {
    let compressed = parts.concat();
    let ends: Vec<_> = (1..=parts.len()).map(|n| parts[..n].concat().len()).collect();
    for cut in 4..compressed.len() {
        let complete = ends.iter().filter(|end| **end <= cut).count();
        let (packets, error) = read(&compressed[..cut]);
        assert_eq!(packets, expected[..packets.len()], "cut at {cut}");
        // A record may be complete although the checksum after it is not.
        assert!((complete..=complete + 1).contains(&packets.len()), "cut at {cut}");
        match error {
            None => assert!(ends.contains(&cut), "cut at {cut}"),
            Some(error) => assert!(is_decompress_error(&error, compression), "cut at {cut}: {error}"),
        }
    }
}

#[test]
fn truncated_zstd_releases_window() {
    let (file, ends) = pcap(&[60, 0, 90, 7]);
    let blocks = pieces(&file, &ends);
    let frame = zstd_raw(&blocks);
    let mut end = 6;
    for (n, block) in blocks.iter().enumerate() {
        let (packets, error) = read(&frame[..end + 2]);
        assert_eq!(packets.len(), n);
        assert!(is_decompress_error(&error.unwrap(), Compression::Zstd));
        end += 3 + block.len();
    }
}

#[test]
fn wrong_checksums_are_reported_after_all_packets() {
    let (file, ends) = pcap(&[60, 90]);
    for (mut compressed, from_end, compression) in
        [(gzip(&file), 8, Compression::Gzip), (zstd(&file), 1, Compression::Zstd)]
    {
        let at = compressed.len() - from_end;
        compressed[at] ^= 1;
        let (packets, error) = read(compressed);
        assert_eq!(packets.len(), ends.len());
        match error {
            Some(CaptureError::Decompress { packet: 3, offset, reached, compression: found, .. }) => {
                assert_eq!((offset, reached), (file.len() as u64, file.len() as u64));
                assert_eq!(found, compression);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn rejects_zstd_window_above_limit() {
    // Window descriptor: 2^(10 + 18) bytes, 256 MiB (section 3.1.1.1.2), in the first frame and in a later one.
    let wide = [0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3, 1, 0, 0];
    let (file, ends) = pcap(&[60, 90]);
    for (bytes, count) in [(wide.to_vec(), 0), ([zstd(&file), wide.to_vec()].concat(), ends.len())] {
        let (packets, error) = read(bytes);
        assert_eq!(packets.len(), count);
        assert!(is_decompress_error(&error.unwrap(), Compression::Zstd));
    }
}

#[test]
fn zstd_block_size_is_bounded() {
    // 33,512 sequences that each repeat the last four bytes, zeros, for 131,074 bytes: one literal, the number of
    // sequences (section 3.1.1.3.2.1), one code for all literal lengths, offsets and match lengths, and the extra
    // bits of each match length.
    let sequences: u16 = 1000;
    let mut block = vec![0x08, 0, 0xff];
    block.extend_from_slice(&sequences.to_le_bytes());
    block.extend_from_slice(&[0b0101_0100, 0, 0, 52]);
    block.resize(block.len() + 2 * (0x7f00 + usize::from(sequences)), 0xff);
    block.push(1);
    let header = ((block.len() as u32) << 3) | (2 << 1) | 1;
    let (mut file, _) = pcap(&[]);
    file.resize(40, 0);
    let mut frame = zstd_raw(&[&file, b""]);
    frame.truncate(frame.len() - 3);
    frame.extend_from_slice(&header.to_le_bytes()[..3]);
    frame.extend_from_slice(&block);
    let (packets, error) = read(frame);
    // Records of zeros, slightly more than fit in one block of 128 KiB.
    assert!((1..20_000).contains(&packets.len()));
    assert!(is_decompress_error(&error.unwrap(), Compression::Zstd));
}
