//! The built-in database.

use std::sync::{Arc, LazyLock};

use crate::Database;

/// Defines the signature files of the built-in database and their concatenation.
macro_rules! signature_files {
    ($($name:literal,)*) => {
        /// File names and texts. Their order decides between signatures that match equally well.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../signatures/", $name))),)*];
        /// The text of all files.
        const SIGNATURES: &str = concat!($(include_str!(concat!("../signatures/", $name)),)*);
    };
}

signature_files! {
    "00-classes.fp",
    "10-mtu.fp",
    "20-linux.fp",
    "21-android.fp",
    "30-windows.fp",
    "40-apple.fp",
    "50-bsd.fp",
    "60-solaris.fp",
    "70-devices.fp",
    "75-generic.fp",
    "80-tools.fp",
    "85-http-requests.fp",
    "86-http-responses.fp",
}

static BUILTIN: LazyLock<Arc<Database>> = LazyLock::new(|| {
    // A test parses the text, so the default is never used.
    Arc::new(Database::parse(SIGNATURES).unwrap_or_default())
});

/// A line of a signature file. [`Display`](std::fmt::Display) writes `FILE:LINE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceLine {
    /// The name of the file, without its folder.
    pub file: &'static str,
    /// The line in the file, counted from 1.
    pub line: u32,
}

impl Database {
    /// The built-in database. It is parsed on first use and then shared: lend it, or clone the [`Arc`].
    ///
    /// ```
    /// let database = huginn_net_db::Database::builtin();
    /// assert!(database.stats().tcp_request > 0);
    /// ```
    pub fn builtin() -> &'static Arc<Self> {
        &BUILTIN
    }

    /// The text of the built-in database, in the syntax of p0f v3: a template for other databases.
    pub fn builtin_text() -> &'static str {
        SIGNATURES
    }

    /// The signature file and line of a line of [`Self::builtin_text`], such as [`TcpMatch::line`](crate::TcpMatch::line)
    /// of a match with the built-in database. `None` beyond its end.
    ///
    /// ```
    /// use huginn_net_db::Database;
    ///
    /// let database = Database::builtin();
    /// let first = &database.tcp_request()[0];
    /// assert_eq!(Database::builtin_source(first.line).unwrap().file, "20-linux.fp");
    /// ```
    pub fn builtin_source(line: u32) -> Option<SourceLine> {
        let mut line = line.checked_sub(1)?;
        for &(file, text) in FILES {
            let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
            if line < lines {
                return Some(SourceLine { file, line: line.saturating_add(1) });
            }
            line = line.saturating_sub(lines);
        }
        None
    }
}

impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
