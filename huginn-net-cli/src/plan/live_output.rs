//! The outputs of `live`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::output::{OutputContent, OutputPlan};
use crate::args::{Format, LiveArguments};
use crate::config;
use crate::failure::Failure;
use crate::output::{LiveTarget, Rotation, Syslog, Target, TextFormat};
use crate::paths::{PathName, is_same_file, resolved};

/// Options by their names, with their values.
pub(crate) type OptionValues = BTreeMap<String, Vec<OsString>>;

/// Where some events go, and in which form.
pub(crate) struct LiveOutputPlan {
    /// What counters and messages call it.
    pub(crate) name: String,
    pub(crate) target: LiveTarget,
    pub(crate) content: OutputContent,
    pub(crate) rotation: Rotation,
    /// Whether Parquet files go to folders by their hour.
    pub(crate) hour_folders: bool,
    /// Time in which a fingerprint of a host is written once.
    pub(crate) once: Option<Duration>,
    /// The options that it is made of.
    pub(crate) values: OptionValues,
}

impl LiveOutputPlan {
    /// The output of a command line.
    pub(super) fn new(args: &LiveArguments) -> Result<Self, Failure> {
        Self::from_arguments(args).map_err(|failure| config::locate(args.place.as_ref(), failure))
    }

    fn from_arguments(args: &LiveArguments) -> Result<Self, Failure> {
        let LiveArguments { run, rotation, .. } = args;
        let OutputPlan { target, content, .. } = OutputPlan::new(&run.output, &run.events, false)?;
        let rotation = Rotation {
            max_bytes: rotation.rotate_size,
            every: rotation.rotate_interval,
            keep: rotation.rotate_keep,
        };
        let plan = Self::of_target(target, content)?;
        let hour_folders = args.rotation.has_hour_folders();
        Ok(Self { rotation, hour_folders, once: args.once, values: output_values(args), ..plan })
    }

    /// An output without options.
    pub(super) fn of_target(target: Target, content: OutputContent) -> Result<Self, Failure> {
        let target = LiveTarget::new(target).map_err(|error| Failure::Usage(error.into()))?;
        let name = match &target {
            LiveTarget::Stdout => "stdout".to_owned(),
            target => target.to_string(),
        };
        let content = match (&target, content) {
            (LiveTarget::Socket(collector), OutputContent::Text(mut options)) if collector.is_syslog => {
                if options.format == TextFormat::Blocks {
                    return Err(Failure::Usage("messages of syslog are lines: leave --verbose out".into()));
                }
                options.syslog = Some(Syslog::new(!collector.has_datagrams()));
                OutputContent::Text(options)
            }
            (_, content) => content,
        };
        let target = match target {
            LiveTarget::File(path) => LiveTarget::File(resolved(&path)),
            target => target,
        };
        Ok(Self {
            name,
            target,
            content,
            rotation: Rotation::default(),
            hour_folders: false,
            once: None,
            values: OptionValues::new(),
        })
    }
}

/// The options of an output.
pub(super) fn output_values(args: &LiveArguments) -> OptionValues {
    let values = args.values.iter().filter(|(name, _)| config::is_output_option(name));
    values.map(|(name, values)| (name.clone(), values.clone())).collect()
}

/// Whether an output of a command line is a table.
pub(super) fn is_table(args: &LiveArguments) -> bool {
    args.run.output.format == Format::Parquet
}

/// The files of other options, and the ports that outputs may connect to.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// The files that other options name.
    pub(super) files: Vec<(&'static str, PathBuf)>,
    /// The ports of TCP that the sandbox permits; `None` without a sandbox.
    pub(super) ports: Option<Vec<u16>>,
}

impl Surroundings {
    /// Refuses outputs and options that name the same file, socket or standard output.
    pub(super) fn check(&self, outputs: &[LiveOutputPlan]) -> Result<(), Failure> {
        for (index, output) in outputs.iter().enumerate() {
            let mut others = outputs.iter().skip(index.saturating_add(1));
            if others.clone().any(|other| other.target == output.target) {
                return Err(Failure::Usage(format!("two outputs name {}", output.target).into()));
            }
            // Counters and messages could not tell them apart.
            if others.any(|other| other.name == output.name) {
                let name = &output.name;
                let message =
                    format!("standard output and a file are both called {name}: write ./{name} for the file");
                return Err(Failure::Usage(message.into()));
            }
        }
        let of_outputs = outputs.iter().filter_map(|output| Some(("--output", output.target.file()?)));
        let of_others = self.files.iter().map(|(option, path)| (*option, path.as_path()));
        let mut seen: Vec<(&str, &Path)> = Vec::new();
        for (option, path) in of_outputs.chain(of_others) {
            if let Some((first, _)) = seen.iter().find(|(_, other)| is_same_file(path, other)) {
                return Err(Failure::SameFile { path: PathName(path.to_owned()), first, second: option });
            }
            seen.push((option, path));
        }
        Ok(())
    }

    /// Refuses connections that the sandbox forbids.
    pub(super) fn check_ports(&self, outputs: &[LiveOutputPlan]) -> Result<(), Failure> {
        let Some(ports) = &self.ports else { return Ok(()) };
        let ports_of_outputs = outputs.iter().filter_map(|output| output.target.tcp_port());
        match ports_of_outputs.into_iter().find(|port| !ports.contains(port)) {
            Some(port) => Err(Failure::Usage(
                format!("no output or interface had TCP port {port} at the start, so that the sandbox forbids it: restart").into(),
            )),
            None => Ok(()),
        }
    }
}
