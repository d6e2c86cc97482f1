//! `huginn-net enrich`: names of clients in the logs of other tools.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem;
use std::path::Path;

use huginn_net::ClientDatabase;
use huginn_net::clients::NamingDatabases;
use huginn_net::core::Amount;
use huginn_net::explain::enrich::Enricher;

use crate::args::EnrichArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::paths::name_of;
use crate::plan::read_databases;
use crate::stderr;

/// Maximum length of a line of `enrich`, in bytes: longer ones pass unread. EVE has lines of some kB.
const MAX_ENRICHED_LINE: usize = 1 << 20;

/// Size of the read buffer of `enrich`, in bytes: a system call costs little beside it.
const ENRICH_BUFFER_BYTES: usize = 256 << 10;

pub(super) fn run(args: &EnrichArguments) -> Result<Outcome, Failure> {
    let NamingDatabases { signatures, clients, .. } = read_databases(&args.databases)?;
    let clients = clients.as_deref().unwrap_or(ClientDatabase::builtin());
    let mut enricher = Enricher::new(clients, &signatures, args.column.as_deref());
    if args.rarity {
        enricher = enricher.with_counts();
    }
    let mut lines = Lines::new(enricher);
    if args.rarity && args.files.iter().all(|path| can_read_twice(path)) {
        for path in &args.files {
            // The second reading reports what cannot be read.
            if let Ok(input) = open(path) {
                _ = lines.copy(input, &mut io::sink(), &name_of(path))?;
            }
        }
        lines.begin_second_reading();
    }
    let mut outcome = Outcome::Complete;
    for path in &args.files {
        let name = name_of(path);
        let read = |source| Failure::Read { path: name.clone(), source };
        let ended = match open(path) {
            Ok(input) => lines.copy(input, &mut io::stdout().lock(), &name)?,
            Err(source) => Err(read(source)),
        };
        if let Err(failure) = ended {
            stderr::report(&failure);
            outcome = Outcome::Failed;
        } else if !lines.enricher.has_fields() {
            stderr::report(&format_args!("{name}: no line has a column with fingerprints"));
        } else if let Some(column) = args.column.as_deref().filter(|_| !lines.enricher.has_column()) {
            stderr::report(&format_args!("{name}: no line has a column '{column}'"));
        }
    }
    let multiline = lines.enricher.multiline();
    if multiline > 0 {
        let multiline = Amount(multiline, "line(s)");
        stderr::report(&format_args!("{multiline} with quoted values over several lines: not read"));
    }
    let uncounted = lines.enricher.uncounted();
    if uncounted > 0 {
        let uncounted = Amount(uncounted, "line(s)");
        stderr::report(&format_args!(
            "{uncounted} without a count: too many fingerprints, or written since the file was counted"
        ));
    }
    if lines.long > 0 {
        let long = Amount(lines.long, "line(s)");
        stderr::report(&format_args!("{long} longer than {MAX_ENRICHED_LINE} bytes: not read"));
    }
    Ok(outcome)
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if path == Path::new("-") { Box::new(io::stdin().lock()) } else { Box::new(File::open(path)?) })
}

/// Whether a second reading finds the same: not in standard input, pipes and sockets. A file that is not there is reported later.
fn can_read_twice(path: &Path) -> bool {
    path != Path::new("-") && fs::metadata(path).map_or(true, |data| data.is_file())
}

/// Passes lines to an enricher.
struct Lines<'d> {
    enricher: Enricher<'d>,
    /// The start of a line whose end has not been read.
    pending: Vec<u8>,
    /// Whether the line is too long, and its start was written.
    is_long: bool,
    long: u64,
    out: Vec<u8>,
    /// Whether the last byte written is not a line feed.
    is_unfinished: bool,
}

/// The first bytes of compressed files, and the programs that write their content.
const COMPRESSED: [(&[u8], &str); 2] = [(b"\x1f\x8b", "zcat"), (b"\x28\xb5\x2f\xfd", "zstdcat")];

impl<'d> Lines<'d> {
    fn new(enricher: Enricher<'d>) -> Self {
        Self { enricher, pending: Vec::new(), is_long: false, long: 0, out: Vec::new(), is_unfinished: false }
    }

    /// Forgets what the first reading of the inputs wrote and reported.
    fn begin_second_reading(&mut self) {
        self.enricher.begin_second_reading();
        self.long = 0;
        self.is_unfinished = false;
    }

    /// Copies an input. Everything that was read is written before the next read, which may wait.
    ///
    /// # Errors
    ///
    /// The outer error is of the output; the inner one ended this input.
    fn copy(
        &mut self,
        input: impl Read,
        to: &mut impl Write,
        name: &str,
    ) -> Result<Result<(), Failure>, Failure> {
        let mut input = BufReader::with_capacity(ENRICH_BUFFER_BYTES, input);
        self.enricher.begin_input();
        let mut is_first = true;
        let ended = loop {
            let buffer = match input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => break Err(Failure::Read { path: name.to_owned(), source }),
                Ok(buffer) => buffer,
            };
            if buffer.is_empty() {
                break Ok(());
            }
            if is_first {
                if let Some((_, program)) = COMPRESSED.iter().find(|(magic, _)| buffer.starts_with(magic)) {
                    return Ok(Err(Failure::CompressedLog { path: name.to_owned(), program }));
                }
                // The last line of the input before stays a line.
                if self.is_unfinished {
                    self.out.push(b'\n');
                }
                is_first = false;
            }
            for part in buffer.split_inclusive(|byte| *byte == b'\n') {
                self.push(part);
            }
            let read = buffer.len();
            input.consume(read);
            self.write(to)?;
        };
        let last = mem::take(&mut self.pending);
        match &ended {
            _ if last.is_empty() => {}
            Ok(()) => self.enricher.line(&last, &mut self.out),
            Err(_) => self.out.extend_from_slice(&last),
        }
        self.is_long = false;
        self.write(to)?;
        Ok(ended)
    }

    /// Takes a line, or a part of one.
    fn push(&mut self, part: &[u8]) {
        let is_end = part.ends_with(b"\n");
        if self.is_long {
            self.enricher.pass(part, &mut self.out);
            self.is_long = !is_end;
        } else if self.pending.len().saturating_add(part.len()) > MAX_ENRICHED_LINE {
            self.enricher.pass(&self.pending, &mut self.out);
            self.pending.clear();
            self.enricher.pass(part, &mut self.out);
            self.is_long = !is_end;
            self.long = self.long.saturating_add(1);
        } else if !is_end {
            self.pending.extend_from_slice(part);
        } else if self.pending.is_empty() {
            self.enricher.line(part, &mut self.out);
        } else {
            self.pending.extend_from_slice(part);
            self.enricher.line(&self.pending, &mut self.out);
            self.pending.clear();
        }
    }

    fn write(&mut self, to: &mut impl Write) -> Result<(), Failure> {
        to.write_all(&self.out)?;
        to.flush()?;
        self.is_unfinished = self.out.last().map_or(self.is_unfinished, |byte| *byte != b'\n');
        self.out.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use huginn_net::Database;

    use super::*;

    /// Gives few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len()).min(to.len());
            let (now, later) = self.0.split_at(len);
            to[..len].copy_from_slice(now);
            self.0 = later;
            Ok(len)
        }
    }

    #[test]
    fn lines_of_any_length_and_in_any_parts_pass() {
        let long = "x".repeat(MAX_ENRICHED_LINE + 1);
        let known = r#"{"ja4":"t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"}"#;
        let input = format!("{{}}\n{known}\n{long}\n{known}\n\nlast");
        let outputs = [7, 1 << 20].map(|step| {
            let signatures = Database::builtin();
            let enricher = Enricher::new(ClientDatabase::builtin(), signatures, None);
            let mut lines = Lines::new(enricher);
            let mut to = Vec::new();
            lines.copy(Slow(input.as_bytes(), step), &mut to, "log").unwrap().unwrap();
            assert_eq!((lines.long, lines.enricher.named()), (1, 2));
            String::from_utf8(to).unwrap()
        });
        assert_eq!(outputs[0], outputs[1]);
        let [first, named, passed, other, empty, last] = outputs[0].lines().collect::<Vec<_>>()[..] else {
            panic!("other lines")
        };
        assert_eq!((first, passed, empty, last), ("{}", &*long, "", "last"));
        assert!(named.contains("libcurl") && named == other);
    }

    #[test]
    fn inputs_are_separated_by_a_line_feed() {
        let signatures = Database::builtin();
        let mut lines = Lines::new(Enricher::new(ClientDatabase::builtin(), signatures, None));
        let mut to = Vec::new();
        for input in ["{}\n{\"a\":1}", "", "{}", "{}\n", "{}\n"] {
            lines.copy(input.as_bytes(), &mut to, "log").unwrap().unwrap();
        }
        assert_eq!(String::from_utf8(to).unwrap(), "{}\n{\"a\":1}\n{}\n{}\n{}\n");
    }

    #[test]
    fn a_second_reading_begins_anew() {
        let signatures = Database::builtin();
        let enricher = Enricher::new(ClientDatabase::builtin(), signatures, None).with_counts();
        let mut lines = Lines::new(enricher);
        let long = "x".repeat(MAX_ENRICHED_LINE + 1);
        let input = format!("{{\"ja3\":\"00000000000000000000000000000000\"}}\n{long}");
        lines.copy(input.as_bytes(), &mut io::sink(), "log").unwrap().unwrap();
        assert_eq!(lines.long, 1);
        lines.begin_second_reading();
        let mut to = Vec::new();
        lines.copy(input.as_bytes(), &mut to, "log").unwrap().unwrap();
        assert!(to.starts_with(
            b"{\"ja3\":\"00000000000000000000000000000000\",\"huginn\":{\"seen\":1,\"lines\":1}}\n"
        ));
        assert_eq!(lines.long, 1);
    }

    #[test]
    fn compressed_inputs_are_refused() {
        let signatures = Database::builtin();
        let mut lines = Lines::new(Enricher::new(ClientDatabase::builtin(), signatures, None));
        let mut to = Vec::new();
        let failure = lines.copy(&b"\x1f\x8b\x08"[..], &mut to, "a.gz").unwrap().unwrap_err();
        assert_eq!(failure.to_string(), "a.gz: compressed; run: zcat a.gz | huginn-net enrich -");
        assert!(to.is_empty());
    }
}
