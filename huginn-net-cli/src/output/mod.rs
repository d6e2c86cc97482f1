//! Output of events, messages and progress.

#[cfg(unix)]
mod append_file;
#[cfg(unix)]
mod counters;
#[cfg(unix)]
mod error;
mod human;
mod line;
#[cfg(unix)]
mod messages;
#[cfg(unix)]
mod paths;
mod progress;
#[cfg(unix)]
mod queue;
#[cfg(unix)]
mod rotated_file;
#[cfg(unix)]
mod rotation;
mod summary;
mod totals;
#[cfg(unix)]
mod writer;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use huginn_net::hosts::Hosts;
use huginn_net::json::{JsonEvent, JsonHost};
use huginn_net::p0f::P0fLine;
use huginn_net::{Event, HuginnNet};

#[cfg(unix)]
pub(crate) use self::counters::OutputCounters;
#[cfg(unix)]
pub(crate) use self::error::{OutputError, PathName};
#[cfg(unix)]
pub(crate) use self::messages::Messages;
#[cfg(unix)]
pub(crate) use self::paths::{check_directory_writable, parent_directory, resolved};
pub(crate) use self::progress::Progress;
#[cfg(unix)]
pub(crate) use self::queue::{OutputHandle, OutputQueue, Target};
#[cfg(unix)]
pub(crate) use self::rotation::{Rotation, parse_interval, parse_size};
use crate::args::{ColorArgument, Format, OutputArguments};
use crate::blind_spots::ExampleFiles;
use crate::failure::Failure;
use crate::overview::Overview;

/// Writes events in the chosen format.
pub(crate) struct EventWriter {
    renderer: Renderer,
    lines: LineWriter,
}

/// Renders events as text.
pub(crate) struct Renderer {
    format: Format,
    human: human::Human,
    lines: line::Lines,
    /// Whether the human format is blocks.
    blocks: bool,
    /// What the events of all files showed.
    overview: Option<Mutex<Overview>>,
    file: Option<String>,
}

/// Writes rendered events.
pub(crate) struct LineWriter {
    out: BufWriter<Box<dyn Write>>,
    /// Whether events are blocks, with an empty line between them.
    blocks: bool,
    /// The name of a file to write before its first event.
    heading: Option<String>,
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
                let colour = args.color == ColorArgument::Always;
                (Box::new(File::create(path).map_err(create)?), false, colour)
            }
            None => {
                let stdout = io::stdout();
                let colour = has_colour(args.color);
                (Box::new(stdout.lock()), io::stdout().is_terminal(), colour)
            }
        };
        let overview =
            (args.format == Format::Human && !args.quiet).then(|| Mutex::new(Overview::new(false)));
        let renderer = Renderer { overview, ..Renderer::new(args.format, args.verbose, colour) };
        let lines = LineWriter {
            out: BufWriter::with_capacity(1 << 18, out),
            blocks: args.format == Format::Human && args.verbose,
            heading: None,
            begun: false,
            on_terminal,
            at_once: on_terminal,
            outcome: Ok(()),
        };
        Ok(Self { renderer, lines })
    }

    /// Returns the renderer and the writer.
    pub(crate) fn parts(&mut self) -> (&Renderer, &mut LineWriter) {
        (&self.renderer, &mut self.lines)
    }

    /// Sets the name of the file that the next events come from.
    pub(crate) fn name_file(&mut self, file: Option<String>) {
        let Renderer { format, blocks, .. } = self.renderer;
        // Lines do not name their file.
        self.lines.heading = file.clone().filter(|_| format == Format::Human && !blocks);
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

    /// Writes the host summary of a file.
    pub(crate) fn write_hosts(&mut self, hosts: &Hosts) -> Result<(), Failure> {
        let Self { renderer: Renderer { format, file, .. }, lines } = self;
        let file = file.as_deref();
        match format {
            Format::Human => {
                if std::mem::replace(&mut lines.begun, true) {
                    lines.out.write_all(b"\n")?;
                }
                summary::write(&mut lines.out, hosts, file, lines.on_terminal)?;
            }
            Format::Json => {
                let mut text = Vec::new();
                for host in hosts.profiles() {
                    text.clear();
                    JsonHost { host, file }.write_to(&mut text);
                    text.push(b'\n');
                    lines.out.write_all(&text)?;
                }
            }
            Format::P0f | Format::P0fBlocks => {}
        }
        Ok(())
    }

    /// Writes the totals of all files, if the format has them.
    pub(crate) fn write_totals(
        &mut self,
        analyzer: &HuginnNet,
        examples: &ExampleFiles,
    ) -> Result<(), Failure> {
        let Self { renderer: Renderer { overview, .. }, lines } = self;
        if let Some(overview) = overview {
            if lines.begun {
                lines.out.write_all(b"\n")?;
            }
            let overview = overview.get_mut().unwrap_or_else(PoisonError::into_inner);
            totals::write(&mut lines.out, overview, analyzer, examples)?;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.lines.out.flush()?)
    }
}

impl Renderer {
    /// Creates a renderer for live events.
    #[cfg(unix)]
    pub(crate) fn live(args: &OutputArguments, to_stdout: bool) -> Self {
        let colour = if to_stdout { has_colour(args.color) } else { args.color == ColorArgument::Always };
        Self::new(args.format, args.verbose, colour)
    }

    /// Creates a renderer. `blocks`: whether the human format is blocks instead of lines.
    fn new(format: Format, blocks: bool, colour: bool) -> Self {
        let (human, lines) = (human::Human::new(colour), line::Lines::new(colour));
        Self { format, human, lines, blocks, overview: None, file: None }
    }

    /// Appends an event as text that stands for itself, whatever is written before and after.
    #[cfg(unix)]
    pub(crate) fn render_live(&self, event: &Event, text: &mut Vec<u8>) {
        let before = text.len();
        self.render(event, text);
        if self.format == Format::Human && self.blocks && text.len() > before {
            text.push(b'\n');
        }
    }

    /// Appends an event as text; nothing where the format has none for it.
    pub(crate) fn render(&self, event: &Event, text: &mut Vec<u8>) {
        if let Some(overview) = &self.overview {
            overview.lock().unwrap_or_else(PoisonError::into_inner).add(event);
        }
        match self.format {
            // Writing to memory does not fail.
            Format::Human if self.blocks => _ = self.human.write(text, event, self.file.as_deref()),
            Format::Human => _ = self.lines.write(text, event),
            Format::Json => {
                JsonEvent { event, file: self.file.as_deref() }.write_to(text);
                text.push(b'\n');
            }
            Format::P0f => {
                if let Some(line) = P0fLine::from_event(event) {
                    let _ = writeln!(text, "{line}");
                }
            }
            Format::P0fBlocks => {
                if let Some(line) = P0fLine::from_event(event) {
                    let _ = write!(text, "{}", line.block());
                }
            }
        }
    }
}

/// Whether standard output has colours.
fn has_colour(argument: ColorArgument) -> bool {
    match argument {
        ColorArgument::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        ColorArgument::Always => true,
        ColorArgument::Never => false,
    }
}

impl LineWriter {
    /// Writes the text of an event. Breaks where that fails.
    pub(crate) fn write(&mut self, text: &[u8]) -> ControlFlow<()> {
        match self.try_write(text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    }

    fn try_write(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let heading = self.heading.take();
        if std::mem::replace(&mut self.begun, true) && (self.blocks || heading.is_some()) {
            self.out.write_all(b"\n")?;
        }
        if let Some(file) = heading {
            writeln!(self.out, "==> {file} <==")?;
        }
        self.out.write_all(text)?;
        if self.at_once { self.out.flush() } else { Ok(()) }
    }
}
