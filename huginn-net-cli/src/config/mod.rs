//! The configuration file of `live`: each key is a long option, and the command line wins.

mod example;
mod file;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser};

pub(crate) use self::example::example;
use self::file::Entry;
use crate::args::{Arguments, Command as Typed};
use crate::failure::Failure;
use crate::paths::name_of;
use crate::similar::most_similar;

/// Options that a file cannot have: they are about the file itself, or end the program.
const NOT_IN_FILES: [&str; 4] = ["config", "check", "help", "version"];

/// The command that takes a file.
const LIVE: &str = "live";

/// Least similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.7;

/// Parses a command line, and the configuration file that it names. The outer error is that of the command line, or a request
/// for help; the inner one is that of the file.
pub(crate) fn parse(typed: Vec<OsString>) -> Result<Result<Arguments, Failure>, clap::Error> {
    // Only `live` has a file: other commands are parsed once.
    if typed.get(1).is_none_or(|command| command != LIVE) {
        return Arguments::try_parse_from(typed).map(Ok);
    }
    let partial = Arguments::command().ignore_errors(true).try_get_matches_from(&typed);
    let mut program = Arguments::command();
    // Options can name themselves once they are built.
    program.build();
    let Some(found) = partial.ok().and_then(|matches| Found::new(&program, &matches)) else {
        return parse_live(typed).map(Ok);
    };
    let entries = match found.entries() {
        Ok(entries) => entries,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut all = typed;
    // After the names of the program and of the command.
    let start = all.len().min(2);
    all.splice(start..start, entries.iter().flat_map(|applied| applied.options.clone()));
    parse_live(all).map(Ok).or_else(|error| match wrong_entry(&error, &entries) {
        Some(entry) => Ok(Err(found.failure(entry, reason(&error)))),
        None if error.kind() == ErrorKind::MissingRequiredArgument => {
            let text =
                format!("{}; neither the command line nor {} has it", reason(&error), name_of(&found.path));
            Ok(Err(Failure::Usage(text.into())))
        }
        None => Err(error),
    })
}

/// Parses a command line of `live`, and keeps the value of each option.
fn parse_live(all: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let mut program = Arguments::command();
    let matches = program.try_get_matches_from_mut(all)?;
    let mut arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut program))?;
    if let (Typed::Live(args), Some(matches)) = (&mut arguments.command, matches.subcommand_matches(LIVE)) {
        let options =
            live(&program).into_iter().flat_map(Command::get_arguments).filter(|option| is_key(option));
        args.values = options
            .filter_map(|option| {
                let values = matches.get_raw(option.get_id().as_str())?.map(OsString::from).collect();
                Some((option.get_long()?.to_owned(), values))
            })
            .collect();
    }
    Ok(arguments)
}

/// An error of the command line, without its usage.
pub(crate) fn failure(error: &clap::Error) -> Failure {
    Failure::Usage(reason(error).into())
}

/// The options of `live`.
fn live(program: &Command) -> Option<&Command> {
    program.find_subcommand(LIVE)
}

/// Whether a file may have this option.
fn is_key(argument: &Arg) -> bool {
    argument.get_long().is_some_and(|long| !NOT_IN_FILES.contains(&long))
}

/// An entry that becomes part of the command line.
struct Applied<'a> {
    entry: Entry,
    argument: &'a Arg,
    options: Vec<OsString>,
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

    /// Reads the entries of the file that the command line leaves.
    fn entries(&self) -> Result<Vec<Applied<'a>>, Failure> {
        let mut entries = Vec::new();
        for entry in file::read(&self.path)? {
            let argument = self.argument(&entry)?;
            if !self.yields(argument) {
                let options = entry.options(argument).map_err(|reason| self.failure(&entry, reason))?;
                entries.push(Applied { entry, argument, options });
            }
        }
        Ok(entries)
    }

    /// The option that a key names.
    fn argument(&self, entry: &Entry) -> Result<&'a Arg, Failure> {
        let keys = || self.live.get_arguments().filter(|argument| is_key(argument));
        keys().find(|argument| argument.get_long() == Some(&entry.key)).ok_or_else(|| {
            let key = &entry.key;
            if NOT_IN_FILES.contains(&key.as_str()) {
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

    /// Whether the command line has this option, or one that excludes it.
    fn yields(&self, argument: &Arg) -> bool {
        let excluded = self.live.get_arg_conflicts_with(argument);
        let is_typed = |argument: &Arg| self.typed.contains(argument.get_id().as_str());
        let excludes = |other: &Arg| {
            self.live
                .get_arg_conflicts_with(other)
                .iter()
                .any(|excluded| excluded.get_id() == argument.get_id())
        };
        is_typed(argument)
            || excluded.into_iter().any(is_typed)
            || self.live.get_arguments().any(|other| is_typed(other) && excludes(other))
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
