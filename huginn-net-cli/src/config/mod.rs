//! The configuration file of `live`: each key is a long option, and the command line wins. Each table `[[output]]` has the options of an
//! output.

mod example;
mod file;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser};

pub(crate) use self::example::example;
use self::file::{Entry, File, Table};
use crate::args::{Arguments, Category, Command as Typed, ConfigPlace, LiveArguments, OptionValue};
use crate::failure::Failure;
use crate::paths::name_of;
use crate::similar::most_similar;

/// Maximum number of outputs. Each has a thread and a queue.
const MAX_OUTPUTS: usize = 16;

/// The option that names where an output goes, and the tables of outputs.
const OUTPUT: &str = "output";

/// The option that names a folder of logs instead.
const ZEEK_DIR: &str = "zeek_dir";

/// The command that takes a file.
const LIVE: &str = "live";

/// Least similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.7;

/// Parses a command line, and the configuration file that it names. The outer error is that of the command line, or a request
/// for help; the inner one is that of the file.
pub(crate) fn parse(typed: Vec<OsString>) -> Result<Result<Arguments, Failure>, clap::Error> {
    match parse_all(typed) {
        Ok(arguments) => Ok(Ok(arguments)),
        Err(ParseError::File(failure)) => Ok(Err(failure)),
        Err(ParseError::CommandLine(error)) => Err(error),
    }
}

/// The options of `live` in a file.
///
/// # Errors
/// The file cannot be read, or is not a configuration of `live`.
pub(crate) fn read(path: &Path) -> Result<LiveArguments, Failure> {
    let typed = ["huginn-net", LIVE, "--config"].map(OsString::from);
    parse_live_only(typed.into_iter().chain([path.into()]).collect())
}

/// Parses a command line of `live` and its file.
///
/// # Errors
/// One of the two is invalid, or the command is another one.
pub(crate) fn parse_live_only(typed: Vec<OsString>) -> Result<LiveArguments, Failure> {
    let parsed = parse(typed);
    match parsed.unwrap_or_else(|error| Err(failure(&error)))?.command {
        Typed::Live(args) => Ok(*args),
        _ => Err(Failure::Usage("not a configuration of 'live'".into())),
    }
}

/// What is wrong: the command line, or the file.
enum ParseError {
    CommandLine(clap::Error),
    File(Failure),
}

impl From<clap::Error> for ParseError {
    fn from(error: clap::Error) -> Self {
        Self::CommandLine(error)
    }
}

impl From<Failure> for ParseError {
    fn from(failure: Failure) -> Self {
        Self::File(failure)
    }
}

fn parse_all(typed: Vec<OsString>) -> Result<Arguments, ParseError> {
    // Only `live` has a file: other commands are parsed once.
    if typed.get(1).is_none_or(|command| command != LIVE) {
        return Ok(Arguments::try_parse_from(typed)?);
    }
    let partial = Arguments::command().ignore_errors(true).try_get_matches_from(&typed);
    let mut program = Arguments::command();
    // Options can name themselves once they are built.
    program.build();
    let Some(found) = partial.ok().and_then(|matches| Found::new(&program, &matches)) else {
        let arguments = parse_live(typed.clone())?;
        return Ok(with_outputs(arguments, vec![parse_live(typed)?]));
    };
    let Lines { program, outputs, unused } = found.lines()?;
    let arguments = found.parse(&typed, &program)?;
    let parse = |output: &OutputLine<'_>| found.parse_output(&typed, output);
    for line in &unused {
        parse(line)?;
    }
    let outputs: Result<_, ParseError> = outputs.iter().map(parse).collect();
    Ok(with_outputs(arguments, outputs?))
}

/// Adds the command lines of outputs.
fn with_outputs(mut arguments: Arguments, outputs: Vec<Arguments>) -> Arguments {
    if let Typed::Live(live) = &mut arguments.command {
        let of_output = |arguments: Arguments| match arguments.command {
            Typed::Live(live) => Some(*live),
            _ => None,
        };
        live.outputs = outputs.into_iter().filter_map(of_output).collect::<Vec<LiveArguments>>();
    }
    arguments
}

/// Parses a command line of `live`, and keeps the value of each option.
fn parse_live(all: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let mut program = Arguments::command();
    let matches = program.try_get_matches_from_mut(all)?;
    let mut arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut program))?;
    if let (Typed::Live(args), Some(matches)) = (&mut arguments.command, matches.subcommand_matches(LIVE)) {
        let options = live(&program).into_iter().flat_map(Command::get_arguments);
        args.values = options
            .filter_map(|option| {
                let category = Category::of(option)?;
                let values = matches.get_raw(option.get_id().as_str())?.map(OsString::from).collect();
                Some((option.get_long()?.to_owned(), OptionValue { category, values }))
            })
            .collect();
    }
    Ok(arguments)
}

/// An error of the command line, without its usage.
pub(crate) fn failure(error: &clap::Error) -> Failure {
    Failure::Usage(reason(error).into())
}

/// Names the line of a wrong value in the file, or else its table `[[output]]`. `place`: where the options come from.
pub(crate) fn locate(place: Option<&ConfigPlace>, failure: Failure) -> Failure {
    let (Some(ConfigPlace { path, table, lines, typed }), Failure::Usage(reason)) = (place, &failure) else {
        return failure;
    };
    let option = reason.strip_prefix("--").and_then(|text| text.split([':', ' ', ',']).next());
    if option.is_some_and(|option| typed.contains(option)) {
        return failure;
    }
    let path = path.clone();
    match (option.and_then(|option| lines.get(option)), *table) {
        (Some(line), _) => Failure::Config { path, line: *line, reason: reason.clone().into_owned() },
        (None, Some(table)) => Failure::ConfigTable { path, table, reason: reason.clone() },
        (None, None) => failure,
    }
}

/// The options of `live`.
fn live(program: &Command) -> Option<&Command> {
    program.find_subcommand(LIVE)
}

/// Whether a file may have this option.
fn is_key(argument: &Arg) -> bool {
    argument.get_long().is_some() && Category::of(argument).is_some()
}

/// Whether each output has this option for itself.
fn is_of_output(argument: &Arg) -> bool {
    Category::of(argument).is_some_and(|category| category.is_of_output)
}

/// An entry that becomes part of a command line.
#[derive(Clone)]
struct Applied<'a> {
    entry: Entry,
    argument: &'a Arg,
    options: Vec<OsString>,
}

/// The entries of the command lines that a file stands for.
struct Lines<'a> {
    /// That of the whole program.
    program: Vec<Applied<'a>>,
    /// Those of the outputs.
    outputs: Vec<OutputLine<'a>>,
    /// Those of outputs in whose place another one was typed: they are checked.
    unused: Vec<OutputLine<'a>>,
}

/// The entries of the command line of an output.
struct OutputLine<'a> {
    /// The line of its table in the file; `None` if the options of the program stand for the only output.
    table: Option<usize>,
    entries: Vec<Applied<'a>>,
}

impl<'a> OutputLine<'a> {
    fn of_program(entries: &[Applied<'a>]) -> Self {
        Self { table: None, entries: entries.to_vec() }
    }
}

/// A configuration file on a command line.
struct Found<'a> {
    path: PathBuf,
    live: &'a Command,
    /// The identifiers of what was typed.
    typed: BTreeSet<String>,
}

impl<'a> Found<'a> {
    /// Finds the file that a command line names, from what could be parsed of the line.
    fn new(program: &'a Command, matches: &ArgMatches) -> Option<Self> {
        let matches = matches.subcommand_matches(LIVE)?;
        let live = live(program)?;
        let path = matches.get_one::<PathBuf>("config")?.clone();
        let is_typed = |argument: &&Arg| is_typed(matches, argument.get_id().as_str());
        let typed =
            live.get_arguments().filter(is_typed).map(|argument| argument.get_id().to_string()).collect();
        Some(Self { path, live, typed })
    }

    /// Reads the file. What was typed wins over its entries, and the entries of an output over those of the whole program.
    fn lines(&self) -> Result<Lines<'a>, Failure> {
        let File { entries, outputs } = file::read(&self.path)?;
        let program = self.applied(entries, &self.typed)?;
        if outputs.is_empty() {
            let outputs = vec![OutputLine::of_program(&program)];
            return Ok(Lines { outputs, program, unused: Vec::new() });
        }
        if outputs.len() > MAX_OUTPUTS {
            let message = format!("{}: more than {MAX_OUTPUTS} outputs", name_of(&self.path));
            return Err(Failure::Usage(message.into()));
        }
        let of_output = |Table { line, entries }: Table| {
            for entry in &entries {
                if !is_of_output(self.argument(entry)?) {
                    let key = &entry.key;
                    let reason =
                        format!("'{key}' is for the whole program: write it before the first [[output]]");
                    return Err(self.failure(entry, reason));
                }
            }
            let own = self.applied(entries, &self.typed)?;
            let named = own.iter().map(|applied| applied.argument.get_id().to_string()).collect();
            let others = program.iter().filter(|applied| !self.is_overruled(applied.argument, &named));
            let entries = others.cloned().chain(own.iter().cloned()).collect();
            Ok(OutputLine { table: Some(line), entries })
        };
        let outputs = outputs.into_iter().map(of_output).collect::<Result<Vec<_>, Failure>>()?;
        // `-o` takes the place of all outputs, as `--zeek-dir` does.
        if self.typed.contains(OUTPUT) || self.typed.contains(ZEEK_DIR) {
            let of_program = vec![OutputLine::of_program(&program)];
            return Ok(Lines { outputs: of_program, program, unused: outputs });
        }
        // Options of rotation that were typed need an output. Those of the file may need each other, and are for outputs only.
        let entries = outputs.iter().flat_map(|output| &output.entries);
        let named = entries
            .into_iter()
            .find(|applied| [OUTPUT, ZEEK_DIR].contains(&applied.argument.get_id().as_str()));
        let is_rotation =
            |applied: &&Applied<'_>| Category::of(applied.argument) == Some(&Category::ROTATION);
        let of_program = program.iter().filter(|applied| !is_rotation(applied)).chain(named);
        Ok(Lines { program: of_program.cloned().collect(), outputs, unused: Vec::new() })
    }

    /// The entries that become options, but for those that these options overrule.
    fn applied(&self, entries: Vec<Entry>, by: &BTreeSet<String>) -> Result<Vec<Applied<'a>>, Failure> {
        let mut all = Vec::new();
        for entry in entries {
            let argument = self.argument(&entry)?;
            if !self.is_overruled(argument, by) {
                let options = entry.options(argument).map_err(|reason| self.failure(&entry, reason))?;
                all.push(Applied { entry, argument, options });
            }
        }
        Ok(all)
    }

    /// Parses what was typed, with the entries of the program.
    fn parse(&self, typed: &[OsString], entries: &[Applied<'_>]) -> Result<Arguments, ParseError> {
        self.parse_line(typed, entries, None)
    }

    /// Parses what was typed, with the entries of an output.
    fn parse_output(&self, typed: &[OsString], output: &OutputLine<'_>) -> Result<Arguments, ParseError> {
        self.parse_line(typed, &output.entries, output.table)
    }

    fn parse_line(
        &self,
        typed: &[OsString],
        entries: &[Applied<'_>],
        table: Option<usize>,
    ) -> Result<Arguments, ParseError> {
        let mut all = typed.to_vec();
        // After the names of the program and of the command.
        let start = all.len().min(2);
        all.splice(start..start, entries.iter().flat_map(|applied| applied.options.clone()));
        let lines = entries.iter().map(|applied| (applied.entry.key.clone(), applied.entry.line));
        let is_typed = |option: &&Arg| self.typed.contains(option.get_id().as_str());
        let typed_options = self.live.get_arguments().filter(is_typed).filter_map(Arg::get_long);
        let place = ConfigPlace {
            path: name_of(&self.path),
            table,
            lines: lines.collect(),
            typed: typed_options.map(str::to_owned).collect(),
        };
        let parsed = parse_live(all).map(|mut arguments| {
            if let Typed::Live(live) = &mut arguments.command {
                live.place = Some(place.clone());
            }
            arguments
        });
        parsed.map_err(|error| match wrong_entry(&error, entries) {
            Some(entry) => self.failure(entry, reason(&error)).into(),
            None if error.kind() == ErrorKind::MissingRequiredArgument && table.is_some() => {
                locate(Some(&place), failure(&error)).into()
            }
            None if error.kind() == ErrorKind::MissingRequiredArgument => {
                let path = name_of(&self.path);
                let text = format!("{}; neither the command line nor {path} has it", reason(&error));
                Failure::Usage(text.into()).into()
            }
            None => error.into(),
        })
    }

    /// The option that a key names.
    fn argument(&self, entry: &Entry) -> Result<&'a Arg, Failure> {
        let keys = || self.live.get_arguments().filter(|argument| is_key(argument));
        keys().find(|argument| argument.get_long() == Some(&entry.key)).ok_or_else(|| {
            let key = &entry.key;
            if self.live.get_arguments().any(|argument| argument.get_long() == Some(key)) {
                return self.failure(entry, format!("'{key}' belongs on the command line"));
            }
            let similarity = |argument: &&Arg| match argument.get_short() {
                Some(short) if key.chars().eq([short]) => 1.0,
                _ => strsim::jaro_winkler(key, argument.get_long().unwrap_or_default()),
            };
            let nearest = most_similar(keys(), similarity, MIN_SIMILARITY).next().and_then(Arg::get_long);
            let hint = nearest.map(|nearest| format!(": did you mean '{nearest}'?")).unwrap_or_default();
            self.failure(entry, format!("no option {:?}{hint}", key))
        })
    }

    /// Whether one of these options is this one, or excludes it.
    fn is_overruled(&self, argument: &Arg, by: &BTreeSet<String>) -> bool {
        let excluded = self.live.get_arg_conflicts_with(argument);
        let is_one = |argument: &Arg| by.contains(argument.get_id().as_str());
        let excludes = |other: &Arg| {
            self.live
                .get_arg_conflicts_with(other)
                .iter()
                .any(|excluded| excluded.get_id() == argument.get_id())
        };
        is_one(argument)
            || excluded.into_iter().any(is_one)
            || self.live.get_arguments().any(|other| is_one(other) && excludes(other))
    }

    fn failure(&self, entry: &Entry, reason: String) -> Failure {
        wrong_line(&self.path, entry.line, reason)
    }
}

fn wrong_line(path: &Path, line: usize, reason: String) -> Failure {
    Failure::Config { path: name_of(path), line, reason }
}

fn is_typed(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// The entry of the file that an error is about; `None` if it is about the command line.
fn wrong_entry<'a>(error: &clap::Error, entries: &'a [Applied<'_>]) -> Option<&'a Entry> {
    let argument = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(argument) => argument,
        ContextValue::Strings(arguments) => arguments.first()?,
        _ => return None,
    };
    entries.iter().find(|applied| applied.argument.to_string() == *argument).map(|applied| &applied.entry)
}

/// A message of clap in one line, without its prefix and the usage behind it.
fn reason(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = text.find("\n\nUsage:").or_else(|| text.find("\n\nFor more")).unwrap_or(text.len());
    let words: Vec<&str> = text.get(..end).unwrap_or(text).split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
