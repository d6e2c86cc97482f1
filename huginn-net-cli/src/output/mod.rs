//! Where events and progress go.

mod human;
mod progress;
mod summary;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;

use anstream::{AutoStream, ColorChoice};
use huginn_net::{Event, Hosts, JsonEvent, JsonHost, P0fLine, Sink};

pub(crate) use self::progress::Progress;
use crate::args::{Format, OutputArguments};
use crate::failure::Failure;

/// Room for the text of most events, in bytes.
const TEXT_LEN: usize = 1 << 10;

/// Writes events in the chosen format.
pub(crate) struct EventWriter {
    renderer: Renderer,
    lines: LineWriter,
    /// The text of the present event.
    text: Vec<u8>,
}

/// Makes events the text that they are written as.
pub(crate) struct Renderer {
    format: Format,
    human: human::Human,
    file: Option<String>,
}

/// Writes events that are text already.
pub(crate) struct LineWriter {
    out: BufWriter<Box<dyn Write>>,
    /// Whether events are blocks, with an empty line between them.
    blocks: bool,
    begun: bool,
    on_terminal: bool,
    /// Whether each event is written out as it comes.
    at_once: bool,
    outcome: io::Result<()>,
}

impl EventWriter {
    pub(crate) fn create(args: &OutputArguments) -> Result<Self, Failure> {
        let (out, on_terminal, colour): (Box<dyn Write>, bool, bool) = match &args.output {
            Some(path) => {
                let create = |source| Failure::Create { path: path.display().to_string(), source };
                (Box::new(File::create(path).map_err(create)?), false, false)
            }
            None => {
                let stdout = io::stdout();
                let colour = AutoStream::choice(&stdout) != ColorChoice::Never;
                (Box::new(stdout.lock()), io::stdout().is_terminal(), colour)
            }
        };
        let renderer = Renderer { format: args.format, human: human::Human::new(colour), file: None };
        let lines = LineWriter {
            out: BufWriter::with_capacity(1 << 16, out),
            blocks: args.format == Format::Human,
            begun: false,
            on_terminal,
            at_once: on_terminal,
            outcome: Ok(()),
        };
        Ok(Self { renderer, lines, text: Vec::new() })
    }

    /// What makes events text, and what writes that: for events that become text elsewhere.
    pub(crate) fn parts(&mut self) -> (&Renderer, &mut LineWriter) {
        (&self.renderer, &mut self.lines)
    }

    /// Names the file that the next events come from.
    pub(crate) fn name_file(&mut self, file: Option<String>) {
        self.renderer.file = file;
    }

    /// Whether events scroll over the screen.
    pub(crate) fn is_on_terminal(&self) -> bool {
        self.lines.on_terminal
    }

    /// The error that made the writer stop the analysis, if one did.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        Ok(std::mem::replace(&mut self.lines.outcome, Ok(()))?)
    }

    /// Whether events shall not wait for others before they are written out; on a terminal they never do.
    pub(crate) fn write_at_once(&mut self, at_once: bool) {
        self.lines.at_once = at_once || self.lines.on_terminal;
    }

    /// Writes what was learned of the hosts of a file.
    pub(crate) fn write_hosts(&mut self, hosts: &Hosts) -> Result<(), Failure> {
        let Self { renderer: Renderer { format, file, .. }, lines, text } = self;
        let file = file.as_deref();
        match format {
            Format::Human => {
                if std::mem::replace(&mut lines.begun, true) {
                    lines.out.write_all(b"\n")?;
                }
                summary::write(&mut lines.out, hosts, file, lines.on_terminal)?;
            }
            Format::Json => {
                for host in hosts.profiles() {
                    text.clear();
                    JsonHost { host, file }.write_to(text);
                    text.push(b'\n');
                    lines.out.write_all(text)?;
                }
            }
            Format::P0f => {}
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.lines.out.flush()?)
    }
}

impl Renderer {
    /// An event as text; empty where the format has none for it.
    pub(crate) fn render(&self, event: &Event) -> io::Result<Vec<u8>> {
        let mut text = Vec::with_capacity(TEXT_LEN);
        self.write(&mut text, event)?;
        Ok(text)
    }

    fn write(&self, text: &mut Vec<u8>, event: &Event) -> io::Result<()> {
        match self.format {
            Format::Human => self.human.write(text, event, self.file.as_deref()),
            Format::Json => {
                JsonEvent { event, file: self.file.as_deref() }.write_to(text);
                text.push(b'\n');
                Ok(())
            }
            Format::P0f => match P0fLine::of(event) {
                Some(line) => writeln!(text, "{line}"),
                None => Ok(()),
            },
        }
    }
}

impl LineWriter {
    /// Writes what an event was made to. Breaks where that fails.
    fn write(&mut self, text: &[u8]) -> ControlFlow<()> {
        let mut written = Ok(());
        if std::mem::replace(&mut self.begun, true) && self.blocks {
            written = self.out.write_all(b"\n");
        }
        written = written.and_then(|()| self.out.write_all(text));
        if self.at_once {
            written = written.and_then(|()| self.out.flush());
        }
        self.note(written)
    }

    fn note(&mut self, written: io::Result<()>) -> ControlFlow<()> {
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl Sink<Event> for EventWriter {
    fn event(&mut self, event: Event) -> ControlFlow<()> {
        self.text.clear();
        match self.renderer.write(&mut self.text, &event) {
            Ok(()) => self.lines.write(&self.text),
            Err(error) => self.lines.note(Err(error)),
        }
    }
}

impl Sink<io::Result<Vec<u8>>> for LineWriter {
    fn event(&mut self, text: io::Result<Vec<u8>>) -> ControlFlow<()> {
        match text {
            Ok(text) => self.write(&text),
            Err(error) => self.note(Err(error)),
        }
    }
}
