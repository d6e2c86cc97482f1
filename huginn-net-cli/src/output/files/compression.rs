//! Compression of files, in members and frames that are complete in themselves.

use std::io::{self, Write};
use std::path::Path;

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// The compression of a file, as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::output) enum Compression {
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Compression {
    /// The compression that the end of a name stands for, such as `events.json.zst`.
    pub(in crate::output) fn of(path: &Path) -> Option<Self> {
        // A name that is nothing else is hidden.
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The end of names of files.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    /// Compresses a text as a whole: files are such pieces one after the other.
    pub(in crate::output) fn compress(self, text: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(text)?;
                encoder.finish()
            }
            Self::Zstd => Ok(compress_to_vec(text, CompressionLevel::Fastest)),
        }
    }
}

#[cfg(test)]
pub(in crate::output) mod tests {
    use std::io::Read;

    use flate2::read::MultiGzDecoder;
    use proptest::prelude::*;
    use ruzstd::decoding::StreamingDecoder;

    use super::*;

    /// Decompresses all members or frames of a file.
    pub(crate) fn decompressed(compression: Compression, mut bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        match compression {
            Compression::Gzip => _ = MultiGzDecoder::new(bytes).read_to_end(&mut text).unwrap(),
            Compression::Zstd => {
                while !bytes.is_empty() {
                    StreamingDecoder::new(&mut bytes).unwrap().read_to_end(&mut text).unwrap();
                }
            }
        }
        text
    }

    #[test]
    fn names_say_the_compression() {
        for (name, wanted) in [
            ("/x/events.json.zst", Some(Compression::Zstd)),
            ("events.gz", Some(Compression::Gzip)),
            ("events.json", None),
            (".gz", None),
            ("zst", None),
        ] {
            assert_eq!(Compression::of(Path::new(name)), wanted, "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn pieces_are_decompressed_in_their_order(
            pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(&b"ab{}\":0\n"[..]), 1..3000), 1..4),
        ) {
            for compression in [Compression::Gzip, Compression::Zstd] {
                let bytes: Vec<u8> = pieces.iter().flat_map(|piece| compression.compress(piece).unwrap()).collect();
                prop_assert_eq!(decompressed(compression, &bytes), pieces.concat());
            }
        }
    }
}
