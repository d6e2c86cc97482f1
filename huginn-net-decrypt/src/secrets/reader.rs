//! Key logs that are read in pieces.

use std::io::{self, ErrorKind, Read};

use zeroize::Zeroizing;

use super::{KeyLogSummary, Secrets};
use crate::limits::KEY_LOG_BUFFER_LEN;

/// Reads a key log of any length, also one that grows. The text in its buffer is zeroed when it is dropped.
pub struct KeyLogReader {
    /// It does not grow, since the memory that it leaves would keep secrets.
    buffer: Zeroizing<Vec<u8>>,
    /// Length of an incomplete line, at the start of the buffer.
    len: usize,
}

impl Default for KeyLogReader {
    fn default() -> Self {
        Self { buffer: Zeroizing::new(vec![0; KEY_LOG_BUFFER_LEN]), len: 0 }
    }
}

impl KeyLogReader {
    /// A reader at the start of a key log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the secrets of complete lines up to the end of the file, and returns the number of bytes. A line that has no end yet waits
    /// for the rest of it.
    ///
    /// # Errors
    /// Those of the file, but for interrupted reads; [`ErrorKind::InvalidData`] for a line of 64 KiB, such as the first one of `/dev/zero`.
    pub fn read(
        &mut self,
        mut file: impl Read,
        secrets: &Secrets,
        summary: &mut KeyLogSummary,
    ) -> io::Result<u64> {
        let Self { buffer, len } = self;
        let mut sum = 0_u64;
        loop {
            let count = match file.read(buffer.get_mut(*len..).unwrap_or_default()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                outcome => outcome?,
            };
            if count == 0 {
                return Ok(sum);
            }
            sum = sum.saturating_add(count as u64);
            *len = len.saturating_add(count);
            let text = buffer.get(..*len).unwrap_or_default();
            let lines = match text.iter().rposition(|byte| *byte == b'\n') {
                Some(last) => last.saturating_add(1),
                None if *len == buffer.len() => {
                    return Err(io::Error::new(ErrorKind::InvalidData, "a line of 64 KiB: not a key log"));
                }
                None => continue,
            };
            secrets.add_key_log_lines(text.get(..lines).unwrap_or_default(), summary);
            buffer.copy_within(lines..*len, 0);
            *len = len.saturating_sub(lines);
        }
    }

    /// Adds the secret of a last line without an end.
    pub fn finish(self, secrets: &Secrets, summary: &mut KeyLogSummary) {
        secrets.add_key_log_lines(self.buffer.get(..self.len).unwrap_or_default(), summary);
    }

    /// Forgets an incomplete line: the file is read again from its start.
    pub fn restart(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_of_endless_line_ends() {
        let (secrets, mut summary) = (Secrets::new(), KeyLogSummary::default());
        let log = format!("{}\nCLIENT_RANDOM {} {}\n", "x".repeat(1000), "ab".repeat(32), "cd".repeat(48));
        let read = KeyLogReader::new().read(log.as_bytes(), &secrets, &mut summary).unwrap();
        assert_eq!((read, summary.secrets, summary.malformed), (log.len() as u64, 1, 1));
        let endless = log.as_bytes().chain(io::repeat(0));
        let error = KeyLogReader::new().read(endless, &secrets, &mut summary).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
