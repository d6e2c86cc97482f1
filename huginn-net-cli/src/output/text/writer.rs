//! Writes text to a file or to standard output, where a pager may show it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::str;

use huginn_net::core::is_printable;

use super::super::Target;
use super::super::pager::Pager;
use super::super::unfinished_file::Document;
use super::TextFormat;
#[cfg(unix)]
use crate::output::files::append;
use crate::paths::create_output;

/// Writes the text of events, and other text after it.
pub(crate) struct TextWriter {
    out: Document,
    format: TextFormat,
    /// The name of a file to write before its first event.
    heading: Option<String>,
    begun: bool,
    on_terminal: bool,
    /// Whether each event is written out as it comes.
    at_once: bool,
    /// Waited for after `out` is written and closed.
    pager: Option<Pager>,
}

impl TextWriter {
    /// Opens the target of events, which others may read while they are written. `pages`: a pager shows readable text on a terminal.
    pub(crate) fn open(target: &Target, format: TextFormat, pages: bool) -> io::Result<Self> {
        let create = |target: &Target| match target {
            Target::File(path) => Ok(Document::new(create_output(path)?, None)),
            Target::Stdout => Document::create(target),
        };
        Self::start(target, format, pages, create)
    }

    /// Opens the target of a document as [`Self::open`] does, but a regular file stays as it is until the document is complete.
    pub(crate) fn open_document(target: &Target, format: TextFormat, pages: bool) -> io::Result<Self> {
        Self::start(target, format, pages, Document::create)
    }

    fn start(
        target: &Target,
        format: TextFormat,
        pages: bool,
        create: impl FnOnce(&Target) -> io::Result<Document>,
    ) -> io::Result<Self> {
        let on_terminal = matches!(target, Target::Stdout) && io::stdout().is_terminal();
        let is_readable = matches!(format, TextFormat::Lines | TextFormat::Blocks);
        let started = (on_terminal && is_readable && pages).then(Pager::start).flatten();
        let (out, pager) = match started {
            Some((pager, input)) => (Document::new(input, None), Some(pager)),
            None => (create(target)?, None),
        };
        Ok(Self {
            out,
            format,
            heading: None,
            begun: false,
            on_terminal,
            at_once: on_terminal && pager.is_none(),
            pager,
        })
    }

    /// Opens the target as [`Self::open`] does, but appends to a regular file; a partial last line ends before. Returns
    /// whether the file had text, too.
    pub(crate) fn append(target: &Target, format: TextFormat) -> io::Result<(Self, bool)> {
        match target {
            #[cfg(unix)]
            Target::File(path) if path.is_file() || !path.exists() => {
                let (file, has_text) = append(path)?;
                let create = |_: &Target| Ok(Document::new(file, None));
                let writer = Self::start(target, format, false, create)?;
                Ok((Self { begun: has_text, ..writer }, has_text))
            }
            _ => Self::open(target, format, false).map(|writer| (writer, false)),
        }
    }

    /// Begins a file; `name` if events name their file.
    pub(crate) fn begin_file(&mut self, name: Option<&str>) {
        // Lines do not name their file.
        self.heading = name.filter(|_| self.format == TextFormat::Lines).map(str::to_owned);
    }

    /// Whether a pager shows the output.
    pub(crate) fn has_pager(&self) -> bool {
        self.pager.is_some()
    }

    /// Whether the output is a terminal.
    pub(crate) fn is_on_terminal(&self) -> bool {
        self.on_terminal
    }

    /// Whether events shall not wait for others before they are written out; on a terminal they never do.
    pub(crate) fn write_at_once(&mut self, at_once: bool) {
        self.at_once = at_once || self.on_terminal && self.pager.is_none();
    }

    /// Begins another part of the output, after an empty line unless it is the first one.
    pub(crate) fn begin_part(&mut self) -> io::Result<&mut impl Write> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.write_all(b"\n")?;
        }
        Ok(&mut self.out)
    }

    /// The output, to go on with what was begun.
    pub(crate) fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes what is buffered, and gives the file of a document its name.
    pub(crate) fn finish(self) -> io::Result<()> {
        // The pager ends after its input.
        let Self { out, pager: _pager, .. } = self;
        out.complete()
    }

    /// Writes the text of an event, which is not empty, after the heading of a new day.
    pub(crate) fn write(&mut self, day: Option<&str>, text: &[u8]) -> io::Result<()> {
        let heading = self.heading.take();
        let is_apart = self.format == TextFormat::Blocks || heading.is_some();
        if std::mem::replace(&mut self.begun, true) && is_apart {
            self.out.write_all(b"\n")?;
        }
        if let Some(file) = heading {
            writeln!(self.out, "==> {file} <==")?;
        }
        if let Some(day) = day {
            self.out.write_all(day.as_bytes())?;
        }
        let shown = if self.on_terminal { self.format.shown(text) } else { Cow::Borrowed(text) };
        self.out.write_all(&shown)?;
        if self.at_once { self.out.flush() } else { Ok(()) }
    }
}

impl TextFormat {
    /// The text of an event as a terminal shows it: JSON without characters that a terminal obeys or hides.
    pub(crate) fn shown(self, text: &[u8]) -> Cow<'_, [u8]> {
        let is_json = matches!(self, Self::Json | Self::Other(_));
        match str::from_utf8(text).ok().filter(|_| is_json).map(shown_json) {
            Some(Cow::Owned(shown)) => Cow::Owned(shown.into_bytes()),
            Some(Cow::Borrowed(_)) | None => Cow::Borrowed(text),
        }
    }
}

/// JSON whose characters that a terminal obeys or hides are escaped (RFC 8259, section 7).
fn shown_json(text: &str) -> Cow<'_, str> {
    if text.chars().all(|character| character == '\n' || is_printable(character)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\n' || is_printable(character) {
            shown.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Formatting into a string does not fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_shows_json_without_control_characters() {
        let value = "a\u{9b}31m\u{202e}\u{2028}\u{7f}\u{e0041}b\u{e9}";
        let json = format!("{}\n", serde_json::to_string(value).unwrap());
        let shown = shown_json(&json);
        assert_eq!(shown, "\"a\\u009b31m\\u202e\\u2028\\u007f\\udb40\\udc41b\u{e9}\"\n");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), value);
        assert!(matches!(shown_json("{\"a\":1}\n"), Cow::Borrowed(_)));
    }
}
