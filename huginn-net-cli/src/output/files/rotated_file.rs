//! Rotated files and their names.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use huginn_net::Timestamp;

use crate::paths::parent_directory;

/// Format of the UTC timestamp in the names of rotated files.
#[derive(Clone, Copy, Debug)]
pub(in crate::output) enum StampForm {
    /// `YYYYMMDDTHHMMSSZ`.
    Own,
    /// `YYYY-MM-DD-HH-MM-SS`, in the names of Zeek's logs.
    Zeek,
}

impl StampForm {
    pub(in crate::output) fn format(self, at: impl Into<Timestamp>) -> String {
        let (year, month, day, hour, minute, second) = at.into().civil();
        match self {
            Self::Own => format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z"),
            Self::Zeek => format!("{year:04}-{month:02}-{day:02}-{hour:02}-{minute:02}-{second:02}"),
        }
    }

    fn model(self) -> &'static [u8] {
        match self {
            Self::Own => b"YYYYMMDDTHHMMSSZ",
            Self::Zeek => b"YYYY-MM-DD-HH-MM-SS",
        }
    }
}

/// Rotated file, ordered by age.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::output) struct RotatedFile {
    /// Whether the timestamp is in the past. A future timestamp means that the clock was set back: the file is older than
    /// all files rotated afterwards.
    is_past: bool,
    stamp: Vec<u8>,
    number: u32,
    pub(super) name: OsString,
}

impl RotatedFile {
    /// Removes the oldest rotated files of `path` beyond the number to keep, but never `last`. Their names end in `suffix`.
    /// Tries all of them and returns the first error.
    pub(in crate::output) fn remove_oldest(
        path: &Path,
        form: StampForm,
        suffix: &str,
        keep: usize,
        last: &Path,
        now: impl Into<Timestamp>,
    ) -> io::Result<()> {
        let mut all = Self::from(path, form, suffix, now)?;
        all.retain(|rotated| Some(rotated.name.as_os_str()) != last.file_name());
        all.sort_unstable_by(|a, b| b.cmp(a));
        let mut outcome = Ok(());
        for rotated in all.iter().skip(keep.saturating_sub(1)) {
            match fs::remove_file(parent_directory(path).join(&rotated.name)) {
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => outcome = outcome.and(removed),
            }
        }
        outcome
    }

    /// Lists the rotated files of `path` whose names end in `suffix`.
    pub(super) fn from(
        path: &Path,
        form: StampForm,
        suffix: &str,
        now: impl Into<Timestamp>,
    ) -> io::Result<Vec<Self>> {
        let mut prefix = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        prefix.push(b'.');
        let now = form.format(now).into_bytes();
        let mut all = Vec::new();
        for entry in fs::read_dir(parent_directory(path))? {
            let name = entry?.file_name();
            let rest = name.as_encoded_bytes().strip_prefix(prefix.as_slice());
            let rest = rest.and_then(|rest| rest.strip_suffix(suffix.as_bytes()));
            if let Some((stamp, number)) = rest.and_then(|rest| Self::read(rest, form.model())) {
                all.push(Self { is_past: stamp <= now.as_slice(), stamp: stamp.to_vec(), number, name });
            }
        }
        Ok(all)
    }

    /// Parses the timestamp and the number after the file name.
    fn read<'a>(suffix: &'a [u8], model: &[u8]) -> Option<(&'a [u8], u32)> {
        let (stamp, number) = suffix.split_at_checked(model.len())?;
        let like = |(byte, model): (&u8, &u8)| match model {
            b'T' | b'Z' | b'-' => byte == model,
            _ => byte.is_ascii_digit(),
        };
        if !stamp.iter().zip(model).all(like) {
            return None;
        }
        let number = match number.strip_prefix(b".") {
            Some(digits) => std::str::from_utf8(digits).ok()?.parse().ok()?,
            None if number.is_empty() => 0,
            None => return None,
        };
        Some((stamp, number))
    }
}
