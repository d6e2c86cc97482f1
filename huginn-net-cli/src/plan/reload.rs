//! What `live` reads again on SIGHUP, and the options that may change then.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use huginn_net::clients::NamingDatabases;
use huginn_net::core::Filter;
use huginn_net::watch::WatchLists;

use super::AnalysisPlan;
use super::analysis::{ReplaceableSettings, follows_handshakes, packet_filter};
use super::databases::read_databases;
use super::live::{is_p0f, needed_outputs, prepare};
use super::live_output::{LiveOutputPlan, Surroundings, is_fixed, output_values};
#[cfg(feature = "tls")]
use super::live_output::{is_tls, tls_files};
use super::watch_files::{LoadedLists, WatchFiles, read_lists};
use crate::args::{Category, DatabaseArguments, LiveArguments, OptionValues};
use crate::config;
use crate::control::{MetricsAccess, MetricsConfig};
use crate::failure::Failure;
#[cfg(feature = "tls")]
use crate::output::TlsFiles;

/// The files that SIGHUP reads again, and the settings that they change.
#[derive(Debug)]
pub(crate) struct ReloadPlan {
    /// The configuration file, if there is one.
    config: Option<PathBuf>,
    has_extract: bool,
    needs: Needs,
    /// The current options.
    options: Options,
    surroundings: Surroundings,
    files: NamedFiles,
    metrics: Option<MetricsConfig>,
    settings: ReplaceableSettings,
    watch: Option<WatchFiles>,
}

/// What outputs need of the analysis, which does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needs {
    /// Whether connections and findings are events.
    kinds: (bool, bool),
    handshakes: bool,
    /// Whether the analysis is limited to what p0f does.
    is_p0f: bool,
}

impl Needs {
    fn new(args: &LiveArguments) -> Self {
        let events = &args.run.events;
        Self {
            kinds: (events.connections, events.findings),
            handshakes: follows_handshakes(&needed_outputs(args)),
            is_p0f: is_p0f(args),
        }
    }

    /// Fails if the analysis of these needs lacks something.
    fn check(self, now: Self) -> Result<(), Failure> {
        let message = if self.kinds != now.kinds {
            "'where' or 'events' names other kinds of events, 'connection' or 'finding': they can change at a restart only"
        } else if now.handshakes && !self.handshakes {
            "'events' names events of handshakes, which are followed from the start only: restart"
        } else if self.is_p0f != now.is_p0f {
            "the only format is or was p0f, to which the analysis is limited: it can change at a restart only"
        } else {
            return Ok(());
        };
        Err(Failure::Usage(message.into()))
    }
}

/// The options of a configuration.
#[derive(Debug)]
struct Options {
    /// Those of the whole program.
    program: OptionValues,
    /// Those of each output.
    outputs: Vec<OptionValues>,
    /// Those of the outputs that are tables.
    tables: Vec<OptionValues>,
}

impl Options {
    fn new(args: &LiveArguments) -> Self {
        let has_extract = args.extract.extract.is_some();
        let is_of_program =
            |category: &Category| !category.is_of_output || has_extract && category.selects_packets;
        let program = args.values.iter().filter(|(_, option)| is_of_program(option.category));
        let tables = args.outputs.iter().filter(|output| is_fixed(output));
        Self {
            program: program.map(|(name, values)| (name.clone(), values.clone())).collect(),
            outputs: args.outputs.iter().map(output_values).collect(),
            tables: tables.map(output_values).collect(),
        }
    }

    /// The options that differ.
    fn changed(&self, now: &Self) -> Changes {
        let mut changes = changes(&self.program, &now.program);
        if self.outputs.len() == now.outputs.len() {
            let pairs = self.outputs.iter().zip(&now.outputs);
            changes.extend(pairs.flat_map(|(before, now)| self::changes(before, now)));
        } else {
            changes.insert("output".to_owned(), &Category::OUTPUT);
        }
        changes
    }

    /// The options that `--extract` uses and that differ: those of tables are for their outputs only.
    fn changed_of_extract(&self, now: &Self) -> Changes {
        let mut changes = changes(&self.program, &now.program);
        changes.retain(|_, category| category.selects_packets);
        changes
    }
}

/// The names of options that differ, with their categories.
type Changes = BTreeMap<String, &'static Category>;

fn changes(before: &OptionValues, now: &OptionValues) -> Changes {
    let all = before.iter().chain(now);
    let changed = all.filter(|(name, _)| before.get(*name) != now.get(*name));
    changed.map(|(name, option)| (name.clone(), option.category)).collect()
}

/// The files that options name.
#[derive(Clone, Debug)]
struct NamedFiles {
    databases: DatabaseArguments,
    lists: Vec<PathBuf>,
    /// Those of outputs over TLS.
    #[cfg(feature = "tls")]
    tls: Vec<TlsFiles>,
}

/// What was read. Nothing of it is used yet.
pub(crate) struct Reread {
    /// The configuration; `None` without a file.
    pub(crate) configuration: Option<Result<Configuration, Failure>>,
    /// The databases; `None` for the built-in ones.
    pub(crate) databases: Option<Result<NamingDatabases, Failure>>,
    pub(crate) lists: Option<Result<(WatchLists, LoadedLists), Failure>>,
    /// Whether the files of outputs over TLS are valid: each connection reads them again.
    pub(crate) tls: Result<(), Failure>,
    /// Who may read metrics; `None` if no file says so.
    pub(crate) metrics: Option<Result<MetricsAccess, Failure>>,
}

/// A valid configuration.
pub(crate) struct Configuration {
    /// The options that differ from the current ones.
    pub(crate) changed: Vec<String>,
    options: Options,
    files: NamedFiles,
    filter: Filter,
    /// All outputs, if one of them differs.
    pub(crate) outputs: Option<Vec<LiveOutputPlan>>,
}

impl ReloadPlan {
    /// Makes the settings of an analysis replaceable; `None` if no file has any.
    pub(super) fn new(
        args: &LiveArguments,
        plan: AnalysisPlan,
        metrics: Option<MetricsConfig>,
    ) -> (AnalysisPlan, Option<Self>) {
        let files = NamedFiles::new(args);
        let metrics = metrics.filter(|metrics| metrics.files.paths().next().is_some());
        if args.config.is_none() && files.paths().next().is_none() && metrics.is_none() {
            return (plan, None);
        }
        // Options change with a configuration file only.
        let filter = args.config.is_some().then(|| packet_filter(&args.run.analysis.flows.packets));
        let (plan, settings) = plan.replaceable(filter);
        let reload = Self {
            config: args.config.clone(),
            has_extract: args.extract.extract.is_some(),
            needs: Needs::new(args),
            options: Options::new(args),
            surroundings: Surroundings::default(),
            files,
            metrics,
            settings,
            watch: plan.watch_files(),
        };
        (plan, Some(reload))
    }

    /// Knows the files of other options, and what the sandbox permits.
    pub(super) fn within(self, surroundings: Surroundings) -> Self {
        Self { surroundings, ..self }
    }

    /// The files that are read again.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let of_metrics = self.metrics.iter().flat_map(|metrics| metrics.files.paths());
        self.config.iter().chain(self.files.paths()).chain(of_metrics).cloned()
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
            tls: files.check_tls(),
            metrics: self
                .metrics
                .as_ref()
                .map(|metrics| metrics.files.read().map_err(|error| Failure::Usage(error.into()))),
            configuration,
        }
    }

    fn read_configuration(&self) -> Result<Configuration, Failure> {
        let mut args = config::parse_live_only(env::args_os().collect())?;
        let options = Options::new(&args);
        let changed = self.options.changed(&options);
        let files = NamedFiles::new(&args);
        let of_extract =
            if self.has_extract { self.options.changed_of_extract(&options) } else { Changes::new() };
        let fixed: Vec<&str> = changed
            .iter()
            .filter(|(name, category)| {
                of_extract.contains_key(*name) || self.is_fixed(name, category, &files)
            })
            .map(|(name, _)| name.as_str())
            .collect();
        if !fixed.is_empty() {
            let names = fixed.join("', '");
            return Err(Failure::Usage(format!("'{names}' can change at a restart only").into()));
        }
        // As at the start. An option that cannot change is named first: others may need it.
        prepare(&mut args).map_err(|failure| config::locate(args.place.as_ref(), failure))?;
        self.needs.check(Needs::new(&args))?;
        if self.options.tables != options.tables {
            let message = "an output of --format parquet or of --zeek-dir can change at a restart only";
            return Err(Failure::Usage(message.into()));
        }
        let outputs = (self.options.outputs != options.outputs).then(|| self.outputs(&args)).transpose()?;
        let filter = packet_filter(&args.run.analysis.flows.packets);
        let changed = changed.into_keys().collect();
        Ok(Configuration { changed, options, files, filter, outputs })
    }

    /// The outputs of a configuration.
    fn outputs(&self, args: &LiveArguments) -> Result<Vec<LiveOutputPlan>, Failure> {
        let outputs = args.outputs.iter().map(LiveOutputPlan::new).collect::<Result<Vec<_>, Failure>>()?;
        self.surroundings.check(&outputs)?;
        self.surroundings.check_ports(&outputs)?;
        Ok(outputs)
    }

    /// Whether a change of an option needs a restart.
    fn is_fixed(&self, name: &str, category: &Category, files: &NamedFiles) -> bool {
        !category.is_reloadable && !category.is_of_output
            // Without lists, events are not compared.
            || name == "fingerprints" && (self.watch.is_none() || files.lists.is_empty())
    }

    /// Uses the databases from now on.
    pub(crate) fn use_databases(&self, databases: NamingDatabases) {
        self.settings.databases.replace(databases);
    }

    /// Admits these readers of metrics from now on.
    pub(crate) fn use_metrics(&self, access: MetricsAccess) {
        if let Some(metrics) = &self.metrics {
            metrics.access.replace(access);
        }
    }

    /// Uses the lists from now on.
    pub(crate) fn use_lists(&self, lists: WatchLists) {
        if let Some(watch) = &self.watch {
            watch.handle.replace(lists);
        }
    }

    /// Uses the filter, and compares the next configuration with this one.
    pub(crate) fn use_configuration(&mut self, configuration: Configuration) {
        let Configuration { options, files, filter, .. } = configuration;
        if let Some(current) = &self.settings.filter {
            current.replace(filter);
        }
        (self.options, self.files) = (options, files);
    }

    /// Frees what was replaced and is not used any more. Returns whether the rest is free.
    pub(crate) fn free_replaced(&self) -> bool {
        let ReplaceableSettings { databases, filter } = &self.settings;
        let filters = filter.as_ref().map_or(0, |filter| filter.free_replaced());
        let lists = self.watch.as_ref().map_or(0, |watch| watch.handle.free_replaced());
        let metrics = self.metrics.as_ref().map_or(0, |metrics| metrics.access.free_replaced());
        databases.free_replaced() == 0 && filters == 0 && lists == 0 && metrics == 0
    }
}

impl NamedFiles {
    fn new(args: &LiveArguments) -> Self {
        let run = &args.run;
        Self {
            databases: run.analysis.databases.clone(),
            lists: run.events.alerts.fingerprints.clone(),
            #[cfg(feature = "tls")]
            tls: args.outputs.iter().filter(|output| is_tls(output)).map(tls_files).collect(),
        }
    }

    fn check_tls(&self) -> Result<(), Failure> {
        #[cfg(feature = "tls")]
        for files in &self.tls {
            files.read().map_err(|error| Failure::Usage(error.into()))?;
        }
        Ok(())
    }

    fn has_databases(&self) -> bool {
        self.databases.db.is_some() || !self.databases.clients.is_empty()
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let paths = self.databases.db.iter().chain(&self.databases.clients).chain(&self.lists);
        #[cfg(feature = "tls")]
        let paths = paths.chain(self.tls.iter().flat_map(TlsFiles::paths));
        paths
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use super::*;
    use crate::args::{Arguments, Command};

    /// Parses a configuration, as at the start.
    fn parsed(text: &str) -> LiveArguments {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("live.toml");
        fs::write(&path, text).unwrap();
        let line = ["huginn-net", "live", "--config", path.to_str().unwrap()].map(OsString::from);
        let Ok(Ok(Arguments { command: Command::Live(mut args) })) = config::parse(line.into()) else {
            panic!("{text}");
        };
        prepare(&mut args).unwrap();
        *args
    }

    #[test]
    fn extract_and_the_terminal_need_events_that_no_output_has() {
        let output = "[[output]]\noutput = 'a'\nevents = ['tcp_syn']\n";
        for (options, wanted) in [
            ("", false),
            ("events = ['http_request']\n", false),
            ("extract = 'x'\nwhere = 'server.port == 1'\n", true),
            ("extract = 'x'\nfingerprints = 'list'\n", false),
            ("tui = true\n", true),
        ] {
            let args = parsed(&format!("interface = 'lo'\n{options}{output}"));
            assert_eq!(Needs::new(&args).handshakes, wanted, "{options}");
        }
    }

    #[test]
    fn with_extract_the_options_of_tables_may_change() {
        let options = |condition: &str, of_table: &str| {
            let text = format!(
                "interface = 'lo'\nformat = 'json'\nextract = 'x'\nwhere = '{condition}'\n[[output]]\noutput = 'a'\nwhere = '{of_table}'\n"
            );
            Options::new(&parsed(&text))
        };
        let before = options("server.port == 1", "server.port == 2");
        for (now, wanted) in [
            (options("server.port == 1", "server.port == 3"), false),
            (options("server.port == 4", "server.port == 2"), true),
        ] {
            assert_eq!(before.changed_of_extract(&now).contains_key("where"), wanted);
        }
        let changed = before.changed(&options("server.port == 1", "server.port == 3"));
        assert_eq!(changed.into_keys().collect::<Vec<_>>(), ["where"]);
    }

    #[test]
    fn key_logs_are_refused_if_every_output_is_p0f_only() {
        let outputs = |formats: [&str; 2]| {
            let [a, b] = formats;
            let text = format!(
                "interface = 'lo'\n[[output]]\noutput = 'a'\nformat = '{a}'\n[[output]]\noutput = 'b'\nformat = '{b}'\n"
            );
            let mut args = parsed(&text);
            for output in &mut args.outputs {
                output.run.analysis.protocols.keylog = vec!["k".into()];
            }
            prepare(&mut args)
        };
        outputs(["p0f", "json"]).unwrap();
        assert!(outputs(["p0f", "p0f"]).unwrap_err().to_string().contains("leave --keylog out"));
    }
}
