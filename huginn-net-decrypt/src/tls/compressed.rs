//! Compressed certificates (RFC 8879).

use std::io::Read;

use brotli_decompressor::Decompressor;
use flate2::{Decompress, FlushDecompress, Status};
use huginn_net_wire::Cursor;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::limits::{MAX_MESSAGE_LEN, MAX_ZSTD_WINDOW};

const CERTIFICATE: u8 = 11;
const COMPRESSED_CERTIFICATE: u8 = 25;

/// Replaces the first CompressedCertificate message of a side by the Certificate message in it. A handshake has one of each side;
/// those of later messages cost no time.
#[derive(Debug, Default)]
pub(crate) struct CompressedCertificates {
    has_first: bool,
}

impl CompressedCertificates {
    /// Passes a message to `each`, decompressed if it can be, and without a body if that would be too long.
    pub(crate) fn pass(&mut self, kind: u8, body: &[u8], mut each: impl FnMut(u8, Option<&[u8]>)) {
        if kind == COMPRESSED_CERTIFICATE && !std::mem::replace(&mut self.has_first, true) {
            let Some(message) = CompressedMessage::parse(body) else { return each(kind, Some(body)) };
            if message.len > MAX_MESSAGE_LEN {
                return each(CERTIFICATE, None);
            }
            if let Some(certificate) = message.decompress() {
                return each(CERTIFICATE, Some(&certificate));
            }
        }
        each(kind, Some(body));
    }
}

/// Decompresses the body of a CompressedCertificate message (RFC 8879, section 4) to that of a Certificate message. `None` for other
/// algorithms than zlib, brotli and zstd, for more than 64 KiB, and if the length is not the announced one, which bounds the time.
pub fn decompress_certificate(body: &[u8]) -> Option<Vec<u8>> {
    CompressedMessage::parse(body)?.decompress()
}

/// The fields of a CompressedCertificate message.
struct CompressedMessage<'a> {
    algorithm: u16,
    /// The announced length of the Certificate message.
    len: usize,
    compressed: &'a [u8],
}

impl<'a> CompressedMessage<'a> {
    fn parse(body: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(body);
        let algorithm = cursor.u16_be().ok()?;
        let len = usize::try_from(cursor.u24_be().ok()?).ok()?;
        let compressed_len = usize::try_from(cursor.u24_be().ok()?).ok()?;
        let compressed = cursor.take(compressed_len).ok().filter(|_| cursor.remaining() == 0)?;
        Some(Self { algorithm, len, compressed })
    }

    fn decompress(&self) -> Option<Vec<u8>> {
        const ZLIB: u16 = 1;
        const BROTLI: u16 = 2;
        const ZSTD: u16 = 3;
        let Self { algorithm, len, compressed } = *self;
        if len > MAX_MESSAGE_LEN {
            return None;
        }
        let message = match algorithm {
            ZLIB => inflated(compressed, len),
            BROTLI => decoded_brotli(compressed, len),
            ZSTD => decoded_zstd(compressed, len),
            _ => None,
        };
        message.filter(|message| message.len() == len)
    }
}

/// Decompresses a stream of zlib with at most about `len` bytes; `None` if it has more, or no end.
fn inflated(compressed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len.saturating_add(1));
    let mut decoder = Decompress::new(true);
    let status = decoder.decompress_vec(compressed, &mut bytes, FlushDecompress::Finish).ok()?;
    (status == Status::StreamEnd).then_some(bytes)
}

/// Decompresses a stream of brotli with at most one byte after `len`.
///
/// The decoder fills its window before it passes bytes on, and the stream chooses the window: up to 16 MiB. One of 256 KiB refers to the
/// same bytes, because all of at most 64 KiB are in both (RFC 7932, section 4): larger windows are replaced by it.
fn decoded_brotli(compressed: &[u8], len: usize) -> Option<Vec<u8>> {
    /// The four bits of a window of 2^18 bytes, and those of the larger windows but for three bits (RFC 7932, section 9.1).
    const WINDOW_256_KIB: u8 = 0b0011;
    let (first, rest) = compressed.split_first()?;
    let is_larger = first & 1 == 1 && first & 0b1110 != 0;
    let first = [if is_larger { first & 0xf0 | WINDOW_256_KIB } else { *first }];
    let decoder = Decompressor::new(first.chain(rest), compressed.len());
    let mut bytes = Vec::with_capacity(len.saturating_add(1));
    let limit = u64::try_from(len).unwrap_or(u64::MAX).saturating_add(1);
    decoder.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Decompresses a frame of zstd with at most `len` bytes and a block; `None` if it has more.
fn decoded_zstd(mut compressed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_ZSTD_WINDOW);
    decoder.init(&mut compressed).ok()?;
    // A frame may say its length.
    if ![0, u64::try_from(len).ok()?].contains(&decoder.content_size()) {
        return None;
    }
    let limit = BlockDecodingStrategy::UptoBytes(len.saturating_add(1));
    let is_complete = decoder.decode_blocks(&mut compressed, limit).ok()?;
    is_complete.then(|| decoder.collect()).flatten()
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, Instant};

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// `zlib.brotliCompressSync("a certificate, a certificate")`, by Node.js 20.
    const TEXT: &[u8] = b"a certificate, a certificate";
    const BROTLI: &[u8] = include_bytes!("../../recordings/compressed/text.br");

    /// `printf 'a certificate, a certificate' | zstd -c`, version 1.5.4.
    const ZSTD: &[u8] = include_bytes!("../../recordings/compressed/text.zst");

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn message(algorithm: u16, len: usize, compressed: &[u8]) -> Vec<u8> {
        let lens = [len, compressed.len()].map(|len| u32::try_from(len).unwrap().to_be_bytes());
        [&algorithm.to_be_bytes()[..], &lens[0][1..], &lens[1][1..], compressed].concat()
    }

    fn passed(compressed: &mut CompressedCertificates, body: &[u8]) -> (u8, Vec<u8>) {
        let mut found = None;
        compressed.pass(COMPRESSED_CERTIFICATE, body, |kind, body| {
            found = Some((kind, body.unwrap().to_vec()));
        });
        found.unwrap()
    }

    #[test]
    fn certificates_are_decompressed_once() {
        let texts = [(1, zlib(TEXT)), (2, BROTLI.to_vec()), (3, zstd(TEXT)), (3, ZSTD.to_vec())];
        for (algorithm, compressed) in texts {
            let body = message(algorithm, TEXT.len(), &compressed);
            let mut certificates = CompressedCertificates::default();
            assert_eq!(passed(&mut certificates, &body), (CERTIFICATE, TEXT.to_vec()), "{algorithm}");
            assert_eq!(passed(&mut certificates, &body), (COMPRESSED_CERTIFICATE, body.clone()));
            for wrong in [
                message(4, TEXT.len(), &compressed),
                message(algorithm, TEXT.len() - 1, &compressed),
                message(algorithm, TEXT.len() + 1, &compressed),
                message(algorithm, TEXT.len(), &compressed[..compressed.len() - 2]),
                [&*body, b"rest"].concat(),
                body[..body.len() - 1].to_vec(),
            ] {
                assert_eq!(decompress_certificate(&wrong), None, "{algorithm}: {wrong:?}");
            }
        }
    }

    #[test]
    fn too_long_certificates_have_no_body() {
        let mut found = Vec::new();
        let body = message(3, MAX_MESSAGE_LEN + 1, ZSTD);
        CompressedCertificates::default()
            .pass(COMPRESSED_CERTIFICATE, &body, |kind, body| found.push((kind, body.is_some())));
        assert_eq!(found, [(CERTIFICATE, false)]);
    }

    /// `zlib.brotliCompressSync` with windows of 2^18 to 2^24 bytes, or smaller ones, writes these first bytes before others.
    #[test]
    fn smaller_window_of_brotli_changes_no_byte() {
        let first = BROTLI[0];
        for window in 1..8 {
            let stream = [&[first & 0xf0 | window << 1 | 1][..], &BROTLI[1..]].concat();
            assert_eq!(decompress_certificate(&message(2, TEXT.len(), &stream)), Some(TEXT.to_vec()));
        }
    }

    /// Bounds the work generously: a bomb costs at most what 64 KiB and a window of 256 KiB cost.
    #[test]
    fn announced_length_bounds_the_time() {
        let (zlib, zstd) = (zlib(&vec![0; 8 << 20]), zstd(&vec![0; 8 << 20]));
        for (algorithm, bomb) in [(1, &zlib[..]), (2, BROTLI_BOMB), (3, &zstd)] {
            let body = message(algorithm, 10, bomb);
            let start = Instant::now();
            for _ in 0..100 {
                assert_eq!(decompress_certificate(&body), None);
            }
            assert!(start.elapsed() < Duration::from_secs(2), "{algorithm}: {:?}", start.elapsed());
        }
    }

    /// The announced length, or the limit, ends the decompression.
    #[test]
    fn bombs_are_refused() {
        let zeros = vec![0; 4 << 20];
        let (zlib, zstd) = (zlib(&zeros), zstd(&zeros));
        for len in [0, 1000, MAX_MESSAGE_LEN, MAX_MESSAGE_LEN + 1, 0xff_ffff] {
            assert_eq!(decompress_certificate(&message(1, len, &zlib)), None);
            assert_eq!(decompress_certificate(&message(3, len, &zstd)), None);
            assert_eq!(decompress_certificate(&message(2, len, BROTLI_BOMB)), None);
        }
    }

    /// `zlib.brotliCompressSync(Buffer.alloc(100 << 20))`, by Node.js 20.
    const BROTLI_BOMB: &[u8] = include_bytes!("../../recordings/compressed/bomb.br");

    /// A frame whose window is larger than the limit (RFC 8878, section 3.1.1.1.2).
    #[test]
    fn windows_of_zstd_are_limited() {
        let frame = |window: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0, window][..], &[0x09, 0, 0, b'x']].concat();
        assert_eq!(decompress_certificate(&message(3, 1, &frame(13 << 3))), Some(b"x".to_vec()));
        assert_eq!(decompress_certificate(&message(3, 1, &frame(14 << 3))), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(algorithm in 1_u16..4, len in 0_usize..70_000, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let found = decompress_certificate(&message(algorithm, len, &bytes));
            prop_assert!(found.is_none_or(|found| found.len() == len));
        }
    }
}
