//! Output of events, messages and progress.

#[cfg(unix)]
mod append_file;
#[cfg(feature = "parquet")]
mod batches;
#[cfg(unix)]
mod counters;
#[cfg(unix)]
mod error;
mod fields;
mod fingerprints;
mod human;
mod line;
#[cfg(unix)]
mod messages;
mod pager;
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
pub(crate) mod table;
#[cfg(all(unix, feature = "parquet"))]
mod table_files;
mod totals;
#[cfg(unix)]
mod writer;
pub(crate) mod zone;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use huginn_net::hosts::{HostProfile, JoinedHosts};
use huginn_net::json::{JsonEvent, JsonHost, event_name};
use huginn_net::p0f::P0fLine;
use huginn_net::{Event, HuginnNet};

#[cfg(feature = "parquet")]
pub(crate) use self::batches::BatchWriter;
#[cfg(unix)]
pub(crate) use self::counters::OutputCounters;
#[cfg(unix)]
pub(crate) use self::error::{OutputError, PathName};
use self::fields::Fields;
pub(crate) use self::fingerprints::Selection;
pub(crate) use self::line::Lines;
#[cfg(unix)]
pub(crate) use self::messages::Messages;
use self::pager::Pager;
#[cfg(unix)]
pub(crate) use self::paths::{check_directory_writable, parent_directory, resolved};
pub(crate) use self::progress::Progress;
#[cfg(all(unix, feature = "parquet"))]
pub(crate) use self::queue::EventSender;
#[cfg(unix)]
pub(crate) use self::queue::{OutputHandle, OutputQueue, Target};
#[cfg(unix)]
pub(crate) use self::rotation::{Rotation, parse_interval, parse_size};
pub(crate) use self::summary::HostRow;
#[cfg(all(unix, feature = "parquet"))]
pub(crate) use self::table_files::TableFiles;
use self::zone::Zone;
use crate::args::{ColorArgument, Format, OutputArguments};
use crate::blind_spots::ExampleFiles;
use crate::failure::Failure;
use crate::overview::{Overview, ValueKind};

/// Writes events in the chosen format.
pub(crate) struct EventWriter {
    renderer: Renderer,
    lines: LineWriter,
    has_totals: bool,
    /// Waited for after `lines` are written and closed.
    pager: Option<Pager>,
}

/// Renders events as text.
pub(crate) struct Renderer {
    format: Format,
    human: human::Human,
    lines: Lines,
    /// Whether the human format is blocks.
    blocks: bool,
    /// Names and fingerprints of the events of all files.
    overview: Option<Mutex<Overview>>,
    /// Names of the events that are written; all if empty.
    kinds: Vec<&'static str>,
    fields: Fields,
    /// Names of the interfaces, by their index; empty unless events name theirs.
    interfaces: Vec<String>,
    zone: Zone,
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

/// Content that an [`EventWriter`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Events as they come, and totals at the end.
    Events,
    /// Hosts and totals at the end.
    Summary,
    /// Fingerprints, and hosts if asked for, and totals at the end.
    Fingerprints,
}

impl EventWriter {
    pub(crate) fn create(args: &OutputArguments, content: Content) -> Result<Self, Failure> {
        let mut pager = None;
        let (out, on_terminal, colour): (Box<dyn Write>, bool, bool) = match &args.output {
            Some(path) => {
                let create = |source| Failure::Create { path: path.display().to_string(), source };
                let colour = args.color == ColorArgument::Always;
                (Box::new(File::create(path).map_err(create)?), false, colour)
            }
            None => {
                let colour = has_colour(args.color);
                let on_terminal = io::stdout().is_terminal();
                let pages = on_terminal && args.format == Format::Human && !args.no_pager;
                match pages.then(Pager::start).flatten() {
                    Some((started, input)) => {
                        pager = Some(started);
                        (Box::new(input), on_terminal, colour)
                    }
                    None => (Box::new(io::stdout().lock()), on_terminal, colour),
                }
            }
        };
        let has_totals = args.format == Format::Human && !args.quiet;
        let has_fingerprints = content == Content::Fingerprints;
        let overview = (has_totals || has_fingerprints).then(|| Mutex::new(Overview::new(has_fingerprints)));
        let renderer = Renderer { overview, ..Renderer::new(args, colour) };
        let mut out = BufWriter::with_capacity(1 << 18, out);
        if content == Content::Events && matches!(args.format, Format::Csv | Format::Tsv) {
            renderer.fields.write_headings(&mut out)?;
        }
        let lines = LineWriter {
            out,
            blocks: args.format == Format::Human && args.verbose,
            heading: None,
            begun: false,
            on_terminal,
            at_once: on_terminal && pager.is_none(),
            outcome: Ok(()),
        };
        Ok(Self { renderer, lines, has_totals, pager })
    }

    /// Returns the renderer and the writer.
    pub(crate) fn parts(&mut self) -> (&Renderer, &mut LineWriter) {
        (&self.renderer, &mut self.lines)
    }

    /// Sets the file that the next events come from: its name, if events name their file, and its index.
    pub(crate) fn begin_file(&mut self, name: Option<String>, index: usize) {
        let Renderer { format, blocks, .. } = self.renderer;
        if let Some(overview) = &mut self.renderer.overview {
            overview.get_mut().unwrap_or_else(PoisonError::into_inner).set_file(name.as_ref().map(|_| index));
        }
        // Lines do not name their file.
        self.lines.heading = name.clone().filter(|_| format == Format::Human && !blocks);
        self.renderer.file = name;
    }

    /// Whether a pager shows the output.
    pub(crate) fn has_pager(&self) -> bool {
        self.pager.is_some()
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
        self.lines.at_once = at_once || self.lines.on_terminal && self.pager.is_none();
    }

    /// Writes hosts: those of the file, or those of all files if `is_joined`.
    pub(crate) fn write_hosts<'h>(
        &mut self,
        hosts: impl Iterator<Item = &'h HostProfile>,
        is_joined: bool,
    ) -> Result<(), Failure> {
        let Self { renderer: Renderer { format, file, zone, .. }, lines, .. } = self;
        let file = file.as_deref().filter(|_| !is_joined);
        match format {
            Format::Human => {
                lines.separate()?;
                summary::write(&mut lines.out, hosts, file, table::width(lines.on_terminal), zone)?;
            }
            Format::Json => {
                let mut text = Vec::new();
                for host in hosts {
                    text.clear();
                    JsonHost { host, file }.write_to(&mut text);
                    text.push(b'\n');
                    lines.out.write_all(&text)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes fingerprints of each kind. `file_name` names a file by its index.
    pub(crate) fn write_fingerprints(
        &mut self,
        selection: Selection,
        file_name: &dyn Fn(usize) -> Option<String>,
    ) -> Result<(), Failure> {
        let Self { renderer, lines, .. } = self;
        let shown = &renderer.kinds;
        let kinds: Vec<ValueKind> = ValueKind::fingerprints()
            .filter(|kind| shown.is_empty() || shown.contains(&kind.event()))
            .collect();
        let Some(overview) = &mut renderer.overview else { return Ok(()) };
        let overview = overview.get_mut().unwrap_or_else(PoisonError::into_inner);
        if renderer.format == Format::Human {
            lines.separate()?;
            let width = table::width(lines.on_terminal);
            fingerprints::write(&mut lines.out, overview, selection, &kinds, width, &renderer.zone)?;
        } else {
            fingerprints::write_json(&mut lines.out, overview, selection, &kinds, file_name)?;
        }
        Ok(())
    }

    /// Writes the totals of all files, if the format has them, with the contradictions of `hosts`.
    pub(crate) fn write_totals(
        &mut self,
        analyzer: &HuginnNet,
        examples: &ExampleFiles,
        hosts: Option<&JoinedHosts>,
    ) -> Result<(), Failure> {
        let Self { renderer: Renderer { overview, zone, .. }, lines, has_totals, .. } = self;
        if let Some(overview) = overview.as_mut().filter(|_| *has_totals) {
            lines.separate()?;
            let overview = overview.get_mut().unwrap_or_else(PoisonError::into_inner);
            totals::write(&mut lines.out, overview, analyzer, examples, hosts, zone)?;
        }
        Ok(())
    }

    /// The fields of `--fields` that no event had.
    pub(crate) fn unknown_fields(&self) -> impl Iterator<Item = &str> {
        self.renderer.fields.unknown()
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.lines.out.flush()?)
    }
}

impl Renderer {
    /// Creates a renderer for live events. `interfaces`: the names of the interfaces, if there are several.
    #[cfg(unix)]
    pub(crate) fn live(args: &OutputArguments, to_stdout: bool, interfaces: Vec<String>) -> Self {
        let colour = if to_stdout { has_colour(args.color) } else { args.color == ColorArgument::Always };
        Self { interfaces, ..Self::new(args, colour) }
    }

    /// Creates a renderer without an overview.
    fn new(args: &OutputArguments, colour: bool) -> Self {
        let zone = Zone::new(args.local_time);
        Self {
            format: args.format,
            human: human::Human::new(colour, zone.clone()),
            lines: Lines::new(colour, zone.clone()),
            blocks: args.verbose,
            overview: None,
            kinds: args.events.clone(),
            fields: Fields::new(&args.fields, args.format == Format::Tsv),
            interfaces: Vec::new(),
            zone,
            file: None,
        }
    }

    /// Counts an event that is not written.
    pub(crate) fn count(&self, event: &Event) {
        if let Some(overview) = &self.overview {
            overview.lock().unwrap_or_else(PoisonError::into_inner).add(event);
        }
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
        self.count(event);
        if !self.kinds.is_empty() && !self.kinds.contains(&event_name(&event.kind)) {
            return;
        }
        match self.format {
            // Writing to memory does not fail.
            Format::Human if self.blocks => _ = self.human.write(text, event, self.file.as_deref()),
            Format::Human => _ = self.lines.write(text, event, self.interface(event)),
            Format::Json => {
                self.write_json(event, text);
                text.push(b'\n');
            }
            Format::Csv | Format::Tsv => {
                let mut json = Vec::new();
                self.write_json(event, &mut json);
                let _ = self.fields.write(&json, text);
            }
            Format::P0f => {
                if let Some(line) = P0fLine::from_event(event) {
                    let _ = writeln!(text, "{line}");
                }
            }
            // Written as batches, not as text.
            Format::Parquet | Format::Arrow => {}
            Format::P0fBlocks => {
                if let Some(line) = P0fLine::from_event(event) {
                    let _ = write!(text, "{}", line.block());
                }
            }
        }
    }

    fn write_json(&self, event: &Event, text: &mut Vec<u8>) {
        let json = JsonEvent { event, file: self.file.as_deref() };
        match self.interface(event) {
            Some(name) => json.write_with_interface(name, text),
            None => json.write_to(text),
        }
    }

    /// The name of the interface that captured the packet, if events name it.
    fn interface(&self, event: &Event) -> Option<&str> {
        self.interfaces.get(usize::from(event.ts.interface())).map(String::as_str)
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

    /// Writes an empty line, unless nothing was written before.
    fn separate(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) { self.out.write_all(b"\n") } else { Ok(()) }
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
