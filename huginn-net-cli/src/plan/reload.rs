//! What `live` reads again on SIGHUP, and the options that may change then.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use huginn_net::Filter;
use huginn_net::clients::NamingDatabases;
use huginn_net::watch::WatchLists;

use super::analysis::{ReplaceableSettings, packet_filter};
use super::databases::read_databases;
use super::pcap::switch_on_kinds;
use super::watch_files::{LoadedLists, WatchFiles, read_lists};
use super::{AnalysisPlan, OutputContent, OutputPlan, rules};
use crate::args::{Command, DatabaseArguments, Format, LiveArguments};
use crate::config;
use crate::failure::Failure;
use crate::output::TextOptions;

/// Options that may change while the program runs.
const CHANGEABLE: [&str; 13] = [
    "add-field",
    "clients",
    "db",
    "exclude-net",
    "exclude-port",
    "fields",
    "fingerprints",
    "from",
    "net",
    "port",
    "sensor-name",
    "to",
    "where",
];

/// Those of them that `--extract` uses from its start on.
const FIXED_WITH_EXTRACT: [&str; 7] = ["exclude-net", "exclude-port", "from", "net", "port", "to", "where"];

/// Those that text alone uses: the columns of a file of Parquet are decided at its start.
const FIXED_WITH_TABLES: [&str; 6] = ["add-field", "fields", "from", "sensor-name", "to", "where"];

/// The value of each option.
type Values = BTreeMap<String, Vec<OsString>>;

/// The files that SIGHUP reads again, and the settings that they change.
#[derive(Debug)]
pub(crate) struct ReloadPlan {
    /// The configuration file, if there is one.
    config: Option<PathBuf>,
    has_extract: bool,
    has_tables: bool,
    /// Whether connections and findings are events.
    has_kinds: (bool, bool),
    /// The current options.
    values: Values,
    files: NamedFiles,
    settings: ReplaceableSettings,
    watch: Option<WatchFiles>,
}

/// Whether connections and findings are events.
const fn kinds(args: &LiveArguments) -> (bool, bool) {
    (args.run.events.connections, args.run.events.findings)
}

/// The files that options name.
#[derive(Clone, Debug)]
struct NamedFiles {
    databases: DatabaseArguments,
    lists: Vec<PathBuf>,
}

/// What was read. Nothing of it is used yet.
pub(crate) struct Reread {
    /// The configuration; `None` without a file.
    pub(crate) configuration: Option<Result<Configuration, Failure>>,
    /// The databases; `None` for the built-in ones.
    pub(crate) databases: Option<Result<NamingDatabases, Failure>>,
    pub(crate) lists: Option<Result<(WatchLists, LoadedLists), Failure>>,
}

/// A valid configuration.
pub(crate) struct Configuration {
    /// The options that differ from the current ones.
    pub(crate) changed: Vec<String>,
    values: Values,
    files: NamedFiles,
    filter: Filter,
    /// How events are written, unless as a table.
    pub(crate) text: Option<TextOptions>,
}

impl ReloadPlan {
    /// Makes the settings of an analysis replaceable; `None` if no file has any.
    pub(super) fn new(args: &LiveArguments, plan: AnalysisPlan) -> (AnalysisPlan, Option<Self>) {
        let files = NamedFiles::new(args);
        if args.config.is_none() && files.paths().next().is_none() {
            return (plan, None);
        }
        // Options change with a configuration file only.
        let filter = args.config.is_some().then(|| packet_filter(&args.run.analysis.packets));
        let (plan, settings) = plan.replaceable(filter);
        let reload = Self {
            config: args.config.clone(),
            has_extract: args.extract.extract.is_some(),
            has_tables: args.run.output.format == Format::Parquet,
            has_kinds: kinds(args),
            values: args.values.clone(),
            files,
            settings,
            watch: plan.watch_files(),
        };
        (plan, Some(reload))
    }

    /// The files that are read again.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.config.iter().chain(self.files.paths()).cloned()
    }

    /// Whether options may change.
    pub(crate) fn has_configuration(&self) -> bool {
        self.config.is_some()
    }

    /// Reads the files.
    pub(crate) fn read(&self) -> Reread {
        let configuration = self.config.as_ref().map(|_| self.read_configuration());
        let files = match &configuration {
            Some(Ok(configuration)) => &configuration.files,
            _ => &self.files,
        };
        let has_databases = files.has_databases() || self.files.has_databases();
        Reread {
            databases: has_databases.then(|| read_databases(&files.databases)),
            lists: self.watch.is_some().then(|| read_lists(&files.lists)),
            configuration,
        }
    }

    fn read_configuration(&self) -> Result<Configuration, Failure> {
        let parsed = config::parse(env::args_os().collect());
        let arguments = parsed.unwrap_or_else(|error| Err(config::failure(&error)))?;
        let Command::Live(mut args) = arguments.command else {
            return Err(Failure::Usage("not a configuration of 'live'".into()));
        };
        // As at the start.
        switch_on_kinds(&mut args.run)?;
        rules::check_live(&args)?;
        if kinds(&args) != self.has_kinds {
            let message = "'where' names other kinds of events, 'connection' or 'finding': they can change at a restart only";
            return Err(Failure::Usage(message.into()));
        }
        let options = self.values.keys().chain(args.values.keys());
        let mut changed: Vec<String> =
            options.filter(|name| self.values.get(*name) != args.values.get(*name)).cloned().collect();
        changed.sort_unstable();
        changed.dedup();
        let files = NamedFiles::new(&args);
        let fixed: Vec<&str> =
            changed.iter().map(String::as_str).filter(|name| self.is_fixed(name, &files)).collect();
        if !fixed.is_empty() {
            let names = fixed.join("', '");
            return Err(Failure::Usage(format!("'{names}' can change at a restart only").into()));
        }
        let content = OutputPlan::new(&args.run.output, &args.run.events, false)?.content;
        let text = match content {
            OutputContent::Text(options) => Some(options),
            _ => None,
        };
        let filter = packet_filter(&args.run.analysis.packets);
        Ok(Configuration { changed, values: args.values, files, filter, text })
    }

    /// Whether a change of an option needs a restart.
    fn is_fixed(&self, name: &str, files: &NamedFiles) -> bool {
        !CHANGEABLE.contains(&name)
            || self.has_extract && FIXED_WITH_EXTRACT.contains(&name)
            || self.has_tables && FIXED_WITH_TABLES.contains(&name)
            // Without lists, events are not compared.
            || name == "fingerprints" && (self.watch.is_none() || files.lists.is_empty())
    }

    /// Uses the databases from now on.
    pub(crate) fn use_databases(&self, databases: NamingDatabases) {
        self.settings.databases.replace(databases);
    }

    /// Uses the lists from now on.
    pub(crate) fn use_lists(&self, lists: WatchLists) {
        if let Some(watch) = &self.watch {
            watch.handle.replace(lists);
        }
    }

    /// Uses the filter, and compares the next configuration with this one.
    pub(crate) fn use_configuration(&mut self, configuration: Configuration) {
        let Configuration { values, files, filter, .. } = configuration;
        if let Some(current) = &self.settings.filter {
            current.replace(filter);
        }
        (self.values, self.files) = (values, files);
    }

    /// Frees what was replaced and is not used any more. Returns whether the rest is free.
    pub(crate) fn free_replaced(&self) -> bool {
        let ReplaceableSettings { databases, filter } = &self.settings;
        let filters = filter.as_ref().map_or(0, |filter| filter.free_replaced());
        let lists = self.watch.as_ref().map_or(0, |watch| watch.handle.free_replaced());
        databases.free_replaced() == 0 && filters == 0 && lists == 0
    }
}

impl NamedFiles {
    fn new(args: &LiveArguments) -> Self {
        let run = &args.run;
        Self { databases: run.analysis.databases.clone(), lists: run.events.fingerprints.clone() }
    }

    fn has_databases(&self) -> bool {
        self.databases.db.is_some() || !self.databases.clients.is_empty()
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.databases.db.iter().chain(&self.databases.clients).chain(&self.lists)
    }
}
