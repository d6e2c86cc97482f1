//! `huginn-net enrich`: names of clients in the logs of other tools.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem;
use std::path::Path;

use huginn_net::ClientDatabase;
use huginn_net::core::Amount;
use huginn_net::explain::enrich::Enricher;

use crate::args::EnrichArguments;
use crate::failure::Failure;
use crate::limits::{ENRICH_BUFFER_BYTES, MAX_ENRICHED_LINE};
use crate::outcome::Outcome;
use crate::paths::name_of;
use crate::plan::Databases;
use crate::stderr;

pub(super) fn run(args: &EnrichArguments) -> Result<Outcome, Failure> {
    let Databases { signatures, clients } = Databases::read(&args.databases)?;
    let clients = clients.as_deref().unwrap_or(ClientDatabase::builtin());
    let mut lines = Lines {
        enricher: Enricher::new(clients, &signatures, args.column.as_deref()),
        pending: Vec::new(),
        is_long: false,
        long: 0,
        out: Vec::new(),
    };
    let mut outcome = Outcome::Complete;
    for path in &args.files {
        let read = |source| Failure::Read { path: name_of(path), source };
        match open(path) {
            Ok(input) => lines.copy(input, &mut io::stdout().lock(), read)?,
            Err(source) => {
                stderr::report(&read(source));
                outcome = Outcome::Failed;
            }
        }
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

/// Passes lines to an enricher.
struct Lines<'d> {
    enricher: Enricher<'d>,
    /// The start of a line whose end has not been read.
    pending: Vec<u8>,
    /// Whether the line is too long, and its start was written.
    is_long: bool,
    long: u64,
    out: Vec<u8>,
}

impl Lines<'_> {
    /// Copies an input. Everything that was read is written before the next read, which may wait.
    fn copy(
        &mut self,
        input: impl Read,
        to: &mut impl Write,
        failed: impl Fn(io::Error) -> Failure,
    ) -> Result<(), Failure> {
        let mut input = BufReader::with_capacity(ENRICH_BUFFER_BYTES, input);
        self.enricher.begin_input();
        loop {
            let buffer = match input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(&failed)?,
            };
            if buffer.is_empty() {
                break;
            }
            for part in buffer.split_inclusive(|byte| *byte == b'\n') {
                self.push(part);
            }
            let read = buffer.len();
            input.consume(read);
            self.write(to)?;
        }
        let last = mem::take(&mut self.pending);
        if !last.is_empty() {
            self.enricher.line(&last, &mut self.out);
        }
        self.is_long = false;
        self.write(to)
    }

    /// Takes a line, or a part of one.
    fn push(&mut self, part: &[u8]) {
        let is_end = part.ends_with(b"\n");
        if self.is_long {
            self.out.extend_from_slice(part);
            self.is_long = !is_end;
        } else if self.pending.len().saturating_add(part.len()) > MAX_ENRICHED_LINE {
            self.out.append(&mut self.pending);
            self.out.extend_from_slice(part);
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
            let enricher = Enricher::new(ClientDatabase::builtin(), &signatures, None);
            let mut lines = Lines { enricher, pending: Vec::new(), is_long: false, long: 0, out: Vec::new() };
            let mut to = Vec::new();
            let failed = |source| Failure::Read { path: String::new(), source };
            lines.copy(Slow(input.as_bytes(), step), &mut to, failed).unwrap();
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
}
