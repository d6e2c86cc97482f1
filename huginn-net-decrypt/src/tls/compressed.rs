//! Compressed certificates (RFC 8879).

use std::io::Read;

use brotli_decompressor::Decompressor;
use flate2::{Decompress, FlushDecompress, Status};
use huginn_net_wire::Cursor;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

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
    /// Passes a message to `each`, decompressed if it can be.
    pub(crate) fn pass(&mut self, kind: u8, body: &[u8], mut each: impl FnMut(u8, &[u8])) {
        if kind == COMPRESSED_CERTIFICATE
            && !std::mem::replace(&mut self.has_first, true)
            && let Some(certificate) = decompress_certificate(body)
        {
            return each(CERTIFICATE, &certificate);
        }
        each(kind, body);
    }
}

/// Decompresses the body of a CompressedCertificate message (RFC 8879, section 4) to that of a Certificate message. `None` for other
/// algorithms than zlib, brotli and zstd, for more than 64 KiB, and if the length is not the announced one.
pub fn decompress_certificate(body: &[u8]) -> Option<Vec<u8>> {
    const ZLIB: u16 = 1;
    const BROTLI: u16 = 2;
    const ZSTD: u16 = 3;
    let mut cursor = Cursor::new(body);
    let algorithm = cursor.u16_be().ok()?;
    let len = usize::try_from(cursor.u24_be().ok()?).ok().filter(|len| *len <= MAX_MESSAGE_LEN)?;
    let compressed_len = usize::try_from(cursor.u24_be().ok()?).ok()?;
    let compressed = cursor.take(compressed_len).ok().filter(|_| cursor.remaining() == 0)?;
    let message = match algorithm {
        ZLIB => inflated(compressed, len),
        BROTLI => read(Decompressor::new(compressed, compressed_len), len),
        ZSTD => {
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(MAX_ZSTD_WINDOW);
            read(StreamingDecoder::new_with_decoder(compressed, decoder).ok()?, len)
        }
        _ => None,
    };
    message.filter(|message| message.len() == len)
}

/// Decompresses a stream of zlib with at most about `len` bytes; `None` if it has more, or no end.
fn inflated(compressed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len.saturating_add(1));
    let mut decoder = Decompress::new(true);
    let status = decoder.decompress_vec(compressed, &mut bytes, FlushDecompress::Finish).ok()?;
    (status == Status::StreamEnd).then_some(bytes)
}

/// Reads the bytes of a decoder, and no more than one after `len`.
fn read(decoder: impl Read, len: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len.saturating_add(1));
    let limit = u64::try_from(len).unwrap_or(u64::MAX).saturating_add(1);
    decoder.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::io::Write;

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
        compressed.pass(COMPRESSED_CERTIFICATE, body, |kind, body| found = Some((kind, body.to_vec())));
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
