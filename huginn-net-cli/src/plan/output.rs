//! Where events go, and in which format.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use huginn_net::record::formats::EventFormat;
use huginn_net::record::formats::zeek::ZeekForm;

#[cfg(feature = "parquet")]
use super::fields::columns_of;
use super::fields::{default_columns, own_fields};
use super::{refusals, select};
use crate::args::{
    CertificateArgument, ColorArgument, DocumentArguments, EventArguments, Format, ListFormat,
    ListOutputArguments, OutputArguments,
};
use crate::failure::Failure;
#[cfg(unix)]
use crate::output::names_socket;
#[cfg(feature = "parquet")]
use crate::output::{BatchWriter, TableColumns, TableFormat, is_column};
use crate::output::{
    EventOutput, OwnFields, Renderer, Selected, Target, TextFormat, TextOptions, TextWriter, ZeekFolder, Zone,
};
use crate::paths::name_of;

/// Names of standard output.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// The event of a hit of a watch list.
const MATCH: &str = "match";

/// The output of a command line, before it is opened.
pub(crate) struct OutputPlan {
    pub(crate) target: Target,
    pub(crate) content: OutputContent,
    /// Whether a pager may show readable text.
    pub(crate) pages: bool,
    /// Whether text is appended to a regular file.
    pub(crate) appends: bool,
}

/// The two cases of output.
pub(crate) enum OutputContent {
    Text(TextOptions),
    /// A table with these events.
    #[cfg(feature = "parquet")]
    Table {
        format: TableFormat,
        columns: TableColumns,
        selected: Selected,
    },
    /// A folder of Zeek's logs.
    Zeek(PathBuf, ZeekForm, OwnFields, Selected),
}

impl OutputPlan {
    pub(crate) fn new(args: &OutputArguments, events: &EventArguments, pages: bool) -> Result<Self, Failure> {
        let target = target(args.output.as_deref());
        let selected = select::selected(&args.select, written(args, events))?;
        let format = match args.format {
            // zeek-tsv has a folder.
            Format::Parquet | Format::Arrow | Format::ZeekTsv => None,
            Format::Human if args.verbose => Some(TextFormat::Blocks),
            Format::Human => Some(TextFormat::Lines),
            Format::Json => Some(TextFormat::Json),
            Format::Csv => Some(TextFormat::Csv),
            Format::Tsv => Some(TextFormat::Tsv),
            Format::Eve => Some(TextFormat::Other(EventFormat::Eve)),
            Format::Zeek => Some(TextFormat::Other(EventFormat::Zeek)),
            Format::Ecs => Some(TextFormat::Other(EventFormat::Ecs)),
            Format::Ocsf => Some(TextFormat::Other(EventFormat::Ocsf)),
            Format::P0f => Some(TextFormat::P0fLog),
        };
        let content = match format {
            Some(format) => text(args, selected, &target, format)?,
            None => table(args, selected)?,
        };
        Ok(Self { target, content, pages, appends: false })
    }

    /// A folder with a Parquet file for each kind of events.
    #[cfg(feature = "parquet")]
    pub(super) fn tables(self) -> Result<Self, Failure> {
        if self.target == Target::Stdout {
            return Err(Failure::Usage("--tables writes a folder: name it with -o".into()));
        }
        let content = match self.content {
            OutputContent::Table { columns, selected, .. } => {
                let names_event =
                    |name: &String| columns_of(name).is_some_and(|found| found.find("event").is_some());
                if !columns.fields.is_empty() && !columns.fields.iter().any(names_event) {
                    return Err(Failure::Usage("--tables needs the column event: add it to --fields".into()));
                }
                OutputContent::Table { format: TableFormat::ParquetTables, columns, selected }
            }
            content => content,
        };
        Ok(Self { content, ..self })
    }

    /// A build without tables fails before.
    #[cfg(not(feature = "parquet"))]
    pub(super) fn tables(self) -> Result<Self, Failure> {
        Ok(self)
    }

    /// A folder of Zeek's logs.
    pub(super) fn zeek(
        args: &OutputArguments,
        events: &EventArguments,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let selected = select::selected(&args.select, written(args, events))?;
        let form = if args.format == Format::ZeekTsv { ZeekForm::Tsv } else { ZeekForm::Json };
        let content = OutputContent::Zeek(folder.to_owned(), form, own_fields(args)?, selected);
        Ok(Self { target: Target::File(folder.to_owned()), content, pages: false, appends: false })
    }

    /// Opens the output of captures.
    pub(crate) fn create(self) -> Result<EventOutput, Failure> {
        #[cfg(unix)]
        if let Target::File(path) = &self.target
            && names_socket(path)
        {
            return Err(refusals::SOCKET_OF_CAPTURES.failure(&[&name_of(path)]));
        }
        match self.content {
            OutputContent::Text(options) => {
                let (mut writer, has_headings) = if self.appends {
                    TextWriter::append(&self.target, options.format)
                        .map_err(|source| creating(&self.target, source))?
                } else {
                    let opened = TextWriter::open(&self.target, options.format, self.pages);
                    (opened.map_err(|source| creating(&self.target, source))?, false)
                };
                let renderer = Renderer::new(options);
                if !has_headings {
                    writer.out().write_all(&renderer.headings())?;
                }
                Ok(EventOutput::text_output(renderer, writer))
            }
            OutputContent::Zeek(folder, form, own, selected) => {
                let folder = ZeekFolder::create(folder, form, &own);
                let folder = folder.map_err(|source| creating(&self.target, source))?;
                Ok(EventOutput::zeek(folder, selected))
            }
            #[cfg(feature = "parquet")]
            OutputContent::Table { format, columns, selected } => {
                if matches!(self.target, Target::Stdout) && io::IsTerminal::is_terminal(&io::stdout()) {
                    return Err(Failure::TableOnTerminal);
                }
                let builder = columns.builder().map_err(|error| Failure::Usage(error.to_string().into()))?;
                let builder = builder.events(&selected.events);
                let writer = BatchWriter::create(&self.target, format, builder);
                let writer = writer.map_err(|source| creating(&self.target, source))?;
                Ok(EventOutput::table(writer, selected))
            }
        }
    }
}

/// Where a table or another document of text goes, and how it is written.
pub(crate) struct DocumentPlan {
    pub(super) target: Target,
    pub(crate) format: TextFormat,
    pub(crate) zone: Zone,
    pub(crate) is_quiet: bool,
}

impl DocumentPlan {
    /// A document whose human format is lines.
    pub(super) fn new(args: &DocumentArguments, format: TextFormat) -> Result<Self, Failure> {
        if args.local_time && format != TextFormat::Lines {
            return Err(refusals::OF_HUMAN_FORMAT.failure(&["--local-time"]));
        }
        let (target, zone) = (target(args.output.as_deref()), Zone::new(args.local_time));
        Ok(Self { target, format, zone, is_quiet: args.quiet })
    }

    pub(super) fn of_list(args: &ListOutputArguments) -> Result<Self, Failure> {
        let format = match args.format {
            ListFormat::Human => TextFormat::Lines,
            ListFormat::Json => TextFormat::Json,
        };
        Self::new(&args.document, format)
    }

    /// Whether lines of JSON are written.
    pub(crate) fn is_json(&self) -> bool {
        self.format == TextFormat::Json
    }

    /// Opens the document. `pages`: a pager may show it.
    pub(crate) fn create(&self, pages: bool) -> Result<TextWriter, Failure> {
        let Self { target, format, .. } = self;
        TextWriter::open_document(target, *format, pages).map_err(|source| creating(target, source))
    }
}

pub(super) fn creating(target: &Target, source: io::Error) -> Failure {
    match target {
        Target::Stdout => Failure::Write(source),
        Target::File(path) => Failure::Create { path: name_of(path), source },
    }
}

/// The kinds of events that are written; all if there are none. Matches are among them if there are watch lists.
pub(super) fn written(args: &OutputArguments, events: &EventArguments) -> Vec<&'static str> {
    if args.only_matches {
        return vec![MATCH];
    }
    let mut kinds = args.events.clone();
    if !kinds.is_empty() && !events.alerts.fingerprints.is_empty() && !kinds.contains(&MATCH) {
        kinds.push(MATCH);
    }
    kinds
}

/// Standard output, or a file.
pub(crate) fn target(typed: Option<&Path>) -> Target {
    let file = typed.filter(|path| STDOUT.iter().all(|name| *path != Path::new(name)));
    file.map_or(Target::Stdout, |path| Target::File(PathBuf::from(path)))
}

fn text(
    args: &OutputArguments,
    selected: Selected,
    target: &Target,
    format: TextFormat,
) -> Result<OutputContent, Failure> {
    let is_table = matches!(format, TextFormat::Csv | TextFormat::Tsv);
    let fields = match &*args.fields {
        [] if is_table => default_columns(&selected.events),
        fields => fields.to_vec(),
    };
    let own_fields = own_fields(args)?;
    if let TextFormat::Other(format) = format
        && let Some((name, _)) = own_fields.others.iter().find(|(name, _)| format.has_own_field(name))
    {
        return Err(Failure::Usage(format!("--add-field: events have a field '{name}' already").into()));
    }
    // A field that is asked for by its name is written.
    let connection_ids = args.connection_ids || fields.iter().any(|field| field == "connection_id");
    Ok(OutputContent::Text(TextOptions {
        format,
        selected,
        fields,
        connection_ids,
        own_fields,
        repeats_certificates: args.certificates == CertificateArgument::Whole,
        has_colour: has_colour(args.color, target),
        zone: Zone::new(args.local_time),
        is_numbered: false,
        #[cfg(unix)]
        syslog: None,
    }))
}

#[cfg(feature = "parquet")]
fn table(args: &OutputArguments, selected: Selected) -> Result<OutputContent, Failure> {
    let format = if args.format == Format::Arrow { TableFormat::Arrow } else { TableFormat::Parquet };
    let own_fields = own_fields(args)?;
    if let Some((name, _)) = own_fields.iter().find(|(name, _)| is_column(name)) {
        return Err(Failure::Usage(format!("--add-field: tables have a column '{name}' already").into()));
    }
    let (fields, connection_ids) = (args.fields.clone(), args.connection_ids);
    Ok(OutputContent::Table {
        format,
        columns: TableColumns { fields, connection_ids, own_fields },
        selected,
    })
}

#[cfg(not(feature = "parquet"))]
fn table(_: &OutputArguments, _: Selected) -> Result<OutputContent, Failure> {
    Err(Failure::NoTables)
}

fn has_colour(argument: ColorArgument, target: &Target) -> bool {
    match argument {
        ColorArgument::Auto => {
            matches!(target, Target::Stdout) && AutoStream::choice(&io::stdout()) != ColorChoice::Never
        }
        ColorArgument::Always => true,
        ColorArgument::Never => false,
    }
}
