//! Where events and progress go.

mod human;
mod progress;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;

use anstream::{AutoStream, ColorChoice};
use huginn_net::{Event, JsonEvent, P0fLine, Sink};

pub(crate) use self::progress::Progress;
use crate::args::{Format, OutputArguments};
use crate::failure::Failure;

/// Writes events in the chosen format.
pub(crate) struct EventWriter {
    out: BufWriter<Box<dyn Write>>,
    line: Vec<u8>,
    format: Format,
    human: human::Human,
    file: Option<String>,
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
        Ok(Self {
            out: BufWriter::with_capacity(1 << 16, out),
            line: Vec::new(),
            format: args.format,
            human: human::Human::new(colour),
            file: None,
            on_terminal,
            at_once: on_terminal,
            outcome: Ok(()),
        })
    }

    /// Names the file that the next events come from.
    pub(crate) fn name_file(&mut self, file: Option<String>) {
        self.file = file;
    }

    /// Whether events scroll over the screen.
    pub(crate) fn is_on_terminal(&self) -> bool {
        self.on_terminal
    }

    /// The error that made the writer stop the analysis, if one did.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        Ok(std::mem::replace(&mut self.outcome, Ok(()))?)
    }

    /// Whether events shall not wait for others before they are written out; on a terminal they never do.
    pub(crate) fn write_at_once(&mut self, at_once: bool) {
        self.at_once = at_once || self.on_terminal;
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        match self.format {
            Format::Human => self.human.write(&mut self.out, event, self.file.as_deref()),
            Format::Json => {
                self.line.clear();
                JsonEvent { event, file: self.file.as_deref() }.write_to(&mut self.line);
                self.line.push(b'\n');
                self.out.write_all(&self.line)
            }
            Format::P0f => match P0fLine::of(event) {
                Some(line) => writeln!(self.out, "{line}"),
                None => Ok(()),
            },
        }
    }
}

impl Sink<Event> for EventWriter {
    fn event(&mut self, event: Event) -> ControlFlow<()> {
        let written = self.write(&event).and_then(|()| if self.at_once { self.out.flush() } else { Ok(()) });
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    }
}
