//! Digests of files, by which one is known again after its time changed.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::FileId;

/// Bytes that are read at each end.
const END_BYTES: u64 = 4096;

/// The digest of both ends of a file. Captures are written once, from the start to the end: the times of their packets are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest(u64);

impl Digest {
    /// Computes the digest of a file; `None` if it cannot be read, or is another one than `id`.
    pub(super) fn of_file(path: &Path, id: FileId) -> Option<Self> {
        // A name of another kind of file since the scan must not block.
        let file = open(path).ok()?;
        if FileId::of(&file.metadata().ok()?) != id {
            return None;
        }
        Self::of_ends(file, id.size).ok()
    }

    fn of_ends(mut file: File, size: u64) -> io::Result<Self> {
        let mut ends = Vec::new();
        Read::by_ref(&mut file).take(END_BYTES).read_to_end(&mut ends)?;
        file.seek(SeekFrom::Start(size.saturating_sub(END_BYTES)))?;
        file.take(END_BYTES).read_to_end(&mut ends)?;
        let hash = Sha256::digest(&ends);
        let bytes = hash.first_chunk().copied().unwrap_or_default();
        Ok(Self(u64::from_be_bytes(bytes)))
    }

    /// Reads 16 hexadecimal digits.
    pub(super) fn from_digits(digits: &str) -> Option<Self> {
        let is_digits = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u64::from_str_radix(digits, 16).ok().filter(|_| is_digits).map(Self)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use nix::fcntl::OFlag;

    File::options().read(true).custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW).bits()).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}
