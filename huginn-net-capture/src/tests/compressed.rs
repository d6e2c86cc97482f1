//! Compressed captures.

use std::io::{Cursor, Write};
use std::num::NonZeroU32;

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::bytes::{Bytes, pcap, pcapng};
use super::{drain, read, read_complete};
use crate::byte_order::ByteOrder;
use crate::{CaptureError, CaptureReader, Compression};

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
            [gzip(&file), vec![0; 512]].concat(),
            [gzip(head), vec![0; 70_000], gzip(tail), vec![0; 200_000]].concat(),
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

/// A capture with a block of 200 MiB of zeros after its second packet: in parts, the long one repeated.
fn bomb() -> ([Vec<u8>; 3], usize) {
    const MIB: usize = 1 << 20;
    const COUNT: usize = 200;
    let (file, ends) = pcapng();
    let (head, tail) = file.split_at(ends[5].0);
    let block_len = (12 + COUNT * MIB) as u32;
    let header = Bytes::new(ByteOrder::Little).u32s(&[0x8000_4711, block_len]).done();
    ([[head, &header].concat(), vec![0; MIB], [&block_len.to_le_bytes(), tail].concat()], COUNT)
}

/// Compresses a bomb by this function, in members or frames.
fn compressed_bomb(compress: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let ([head, zeros, tail], count) = bomb();
    [compress(&head), compress(&zeros).repeat(count), compress(&tail)].concat()
}

/// Builds a frame of repeated zeros in blocks of 128 KiB, 4 bytes each (RFC 8878, section 3.1.1.2.2).
fn zstd_zeros(len: usize) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    for n in (1..=len >> 17).rev() {
        let header = (1 << 20) | (1 << 1) | u32::from(n == 1);
        frame.extend([&header.to_le_bytes()[..3], &[0]].concat());
    }
    frame
}

#[test]
fn bomb_ends_at_ratio_limit() {
    let zstd_bomb = compressed_bomb(|bytes| {
        if bytes.iter().all(|byte| *byte == 0) { zstd_zeros(bytes.len()) } else { zstd_raw(&[bytes]) }
    });
    let gzip_bomb = compressed_bomb(gzip);
    assert!((900..1000).contains(&((200 << 20) / gzip_bomb.len())), "{}", gzip_bomb.len());
    let whole = read_complete(pcapng().0);
    let ratio = NonZeroU32::new;
    for (bomb, compression, max, is_complete) in [
        (&zstd_bomb, Compression::Zstd, ratio(1000), false),
        (&zstd_bomb, Compression::Zstd, ratio(20_000), false),
        (&zstd_bomb, Compression::Zstd, ratio(40_000), true),
        (&zstd_bomb, Compression::Zstd, None, true),
        (&gzip_bomb, Compression::Gzip, ratio(900), false),
        (&gzip_bomb, Compression::Gzip, ratio(1000), true),
    ] {
        for ahead in [false, true] {
            let capture = CaptureReader::from_reader("x.gz", Cursor::new(bomb.clone())).unwrap();
            let capture = capture.max_compression_ratio(max);
            let (packets, error) = drain(if ahead { capture.decompress_ahead() } else { capture });
            if is_complete {
                assert_eq!((packets, error.map(|error| error.to_string())), (whole.clone(), None));
                continue;
            }
            assert_eq!(packets, whole[..2]);
            let error = error.unwrap();
            assert!(
                matches!(&error, CaptureError::CompressionRatio { packet: 3, compression: found, max_ratio, .. }
                    if *found == compression && Some(*max_ratio) == max),
                "{error:?}"
            );
            let text = format!("{compression} data expands to more than {} times its length", max.unwrap());
            assert!(error.to_string().starts_with("x.gz: packet 3 at byte "), "{error}");
            assert!(error.to_string().ends_with(&text), "{error}");
        }
    }
}

/// The first 64 MiB may have any ratio.
#[test]
fn short_capture_has_no_ratio_limit() {
    let (head, _) = pcap(&[60]);
    let record = Bytes::new(ByteOrder::Little).u32s(&[0, 0, 1 << 17, 1 << 17]).done();
    let zeros = [zstd_raw(&[&record]), zstd_zeros(1 << 17)].concat();
    for (count, is_complete) in [(500, true), (520, false)] {
        let bytes = [zstd_raw(&[&head]), zeros.repeat(count)].concat();
        let (packets, error) = read(bytes);
        assert_eq!(
            (packets.len(), error.is_none()),
            (if is_complete { 1 + count } else { 512 }, is_complete)
        );
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

#[test]
fn other_bytes_after_the_last_member_are_damage() {
    let (file, ends) = pcap(&[60, 90]);
    for rest in [&b"\0\0\x01"[..], b"rest", b"\0\x1f\x8b\x08"] {
        let (packets, error) = read([&gzip(&file), rest].concat());
        assert_eq!(packets.len(), ends.len());
        assert!(is_decompress_error(&error.unwrap(), Compression::Gzip), "{rest:?}");
    }
}
