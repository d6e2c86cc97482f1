//! gzip (RFC 1952).

use std::io::{self, BufRead, BufReader, Read};
use std::mem;

use flate2::bufread::GzDecoder;

use super::raw::Raw;

/// Decompresses the members of a gzip file.
///
/// Zeros after a member are padding, of a tape or a block device, as gzip(1) reads them.
pub(super) struct GzipDecoder {
    member: GzDecoder<BufReader<Raw>>,
}

impl GzipDecoder {
    pub(super) fn new(source: BufReader<Raw>) -> Self {
        Self { member: GzDecoder::new(source) }
    }

    pub(super) fn source(&self) -> &BufReader<Raw> {
        self.member.get_ref()
    }

    /// Skips padding, and begins the next member. Returns false if there is none.
    fn begin_member(&mut self) -> io::Result<bool> {
        let source = self.member.get_mut();
        loop {
            let buffered = source.fill_buf()?;
            if buffered.is_empty() {
                return Ok(false);
            }
            let zeros = buffered.iter().take_while(|byte| **byte == 0).count();
            if zeros == 0 {
                break;
            }
            source.consume(zeros);
        }
        let source = mem::replace(source, BufReader::with_capacity(0, Raw::nothing()));
        *self = Self::new(source);
        Ok(true)
    }
}

impl Read for GzipDecoder {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.member.read(out)?;
            if len > 0 || out.is_empty() || !self.begin_member()? {
                return Ok(len);
            }
        }
    }
}
