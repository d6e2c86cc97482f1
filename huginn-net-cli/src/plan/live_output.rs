//! The outputs of `live`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::event_run::{WhereEvents, check_event_output, has_fields};
use super::output::{OutputContent, OutputPlan, target};
use super::refusals;
use crate::args::{CertificateArgument, ConfigPlace, Format, LiveArguments, OptionValues};
use crate::config;
use crate::failure::Failure;
use crate::output::{LiveTarget, Rotation, Syslog, Target, TextFormat, TextOptions, names_socket, names_tls};
use crate::paths::{PathName, is_same_file, name_of, resolved};
#[cfg(feature = "tls")]
use crate::{args::TlsArguments, output::TlsFiles};

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
    /// Interval of records of the sensor.
    pub(crate) statistics: Option<Duration>,
    /// The options that it is made of.
    pub(crate) values: OptionValues,
}

impl LiveOutputPlan {
    /// The output of a command line.
    pub(super) fn new(args: &LiveArguments) -> Result<Self, Failure> {
        Self::from_arguments(args).map_err(|failure| config::locate(args.place.as_ref(), failure))
    }

    fn from_arguments(args: &LiveArguments) -> Result<Self, Failure> {
        let LiveArguments { run, rotation, zeek_dir, .. } = args;
        let OutputPlan { target, content, .. } = match zeek_dir {
            Some(folder) => OutputPlan::zeek(&run.output, &run.events, folder)?,
            None => OutputPlan::new(&run.output, &run.events, false)?,
        };
        let rotation = Rotation {
            max_bytes: rotation.rotate_size,
            every: rotation.rotate_interval,
            keep: rotation.rotate_keep,
        };
        let plan = Self::of_target(target, content)?;
        #[cfg(feature = "tls")]
        let plan = {
            let mut plan = plan;
            plan.target.use_tls(tls_files(args)).map_err(|error| Failure::Usage(error.into()))?;
            plan
        };
        let name = zeek_dir.as_deref().map_or(plan.name, name_of);
        let (hour_folders, statistics) = (args.rotation.has_hour_folders(), args.statistics);
        let content = match plan.content {
            OutputContent::Text(options) => {
                OutputContent::Text(TextOptions { is_numbered: statistics.is_some(), ..options })
            }
            content => content,
        };
        let values = output_values(args);
        Ok(Self { name, content, rotation, hour_folders, once: args.once, statistics, values, ..plan })
    }

    /// The option that names its place.
    pub(super) fn option(&self) -> &'static str {
        if matches!(self.content, OutputContent::Zeek(..)) { "--zeek-dir" } else { "--output" }
    }

    /// An output without options.
    pub(super) fn of_target(target: Target, content: OutputContent) -> Result<Self, Failure> {
        let target = LiveTarget::new(target).map_err(|error| Failure::Usage(error.into()))?;
        let name = match &target {
            LiveTarget::Stdout => "stdout".to_owned(),
            target => target.to_string(),
        };
        let form = match &target {
            LiveTarget::Socket(collector) => collector.syslog_form(),
            _ => None,
        };
        let content = match (form, content) {
            (Some(form), OutputContent::Text(mut options)) => {
                refusals::SYSLOG_BLOCKS.check(options.format == TextFormat::Blocks)?;
                options.syslog = Some(Syslog::new(form));
                OutputContent::Text(options)
            }
            (_, content) => content,
        };
        let target = match (target, &content) {
            // One of the logs, in whose folder all are made.
            (LiveTarget::File(folder), OutputContent::Zeek(..)) => {
                LiveTarget::File(resolved(&folder.join("conn.log")))
            }
            (LiveTarget::File(path), _) => LiveTarget::File(resolved(&path)),
            (target, _) => target,
        };
        Ok(Self {
            name,
            target,
            content,
            rotation: Rotation::default(),
            hour_folders: false,
            once: None,
            statistics: None,
            values: OptionValues::new(),
        })
    }
}

/// The files of an output over TLS.
#[cfg(feature = "tls")]
pub(super) fn tls_files(args: &LiveArguments) -> TlsFiles {
    let TlsArguments { tls_ca, tls_cert, tls_key, tls_server_name } = args.tls.clone();
    TlsFiles { ca: tls_ca, identity: tls_cert.zip(tls_key), server_name: tls_server_name }
}

/// An option of an output that a default of the file may set.
struct OutputDefault {
    name: &'static str,
    /// Whether the output can have it.
    fits: fn(&LiveArguments) -> bool,
    /// Sets it as if it was not given.
    leave_out: fn(&mut LiveArguments),
}

const DEFAULTS: &[OutputDefault] = &[
    OutputDefault {
        name: "fields",
        fits: |args| is_table(args) || matches!(format(args), Format::Json | Format::Csv | Format::Tsv),
        leave_out: |args| args.run.output.fields.clear(),
    },
    OutputDefault {
        name: "sensor-name",
        fits: |args| has_fields(format(args)),
        leave_out: |args| args.run.output.sensor_name = None,
    },
    OutputDefault {
        name: "add-field",
        fits: |args| has_fields(format(args)),
        leave_out: |args| args.run.output.add_field.clear(),
    },
    OutputDefault {
        name: "connection-ids",
        fits: |args| is_whole_json(args) || is_table(args),
        leave_out: |args| args.run.output.connection_ids = false,
    },
    OutputDefault {
        name: "certificates",
        fits: |args| is_whole_json(args) && !is_socket(args),
        leave_out: |args| args.run.output.certificates = CertificateArgument::Whole,
    },
    OutputDefault {
        name: "local-time",
        fits: |args| format(args) == Format::Human,
        leave_out: |args| args.run.output.local_time = false,
    },
    OutputDefault { name: "tls-ca", fits: is_tls, leave_out: |args| args.tls.tls_ca = None },
    OutputDefault { name: "tls-cert", fits: is_tls, leave_out: |args| args.tls.tls_cert = None },
    OutputDefault { name: "tls-key", fits: is_tls, leave_out: |args| args.tls.tls_key = None },
    OutputDefault {
        name: "tls-server-name",
        fits: is_tls,
        leave_out: |args| args.tls.tls_server_name = None,
    },
    OutputDefault {
        name: "statistics",
        fits: |args| has_numbers(format(args)) && args.zeek_dir.is_none(),
        leave_out: |args| args.statistics = None,
    },
    OutputDefault { name: "rotate-size", fits: is_file, leave_out: |args| args.rotation.rotate_size = None },
    OutputDefault {
        name: "rotate-interval",
        fits: is_file,
        leave_out: |args| args.rotation.rotate_interval = None,
    },
    OutputDefault { name: "rotate-keep", fits: is_file, leave_out: |args| args.rotation.rotate_keep = None },
    #[cfg(feature = "parquet")]
    OutputDefault {
        name: "hour-folders",
        fits: |args| is_file(args) && is_table(args),
        leave_out: |args| args.rotation.hour_folders = false,
    },
];

/// Leaves out the defaults of the file, from keys before its tables, that an output cannot have and another one can.
pub(super) fn drop_defaults(outputs: &mut [LiveArguments]) {
    for OutputDefault { name, fits, leave_out } in DEFAULTS {
        let is_misplaced = |args: &LiveArguments| !fits(args) && is_default(args, name);
        let misplaced: Vec<bool> = outputs.iter().map(is_misplaced).collect();
        // One that no output can have is an error.
        if !misplaced.contains(&false) {
            continue;
        }
        outputs
            .iter_mut()
            .zip(misplaced)
            .filter(|(_, is_misplaced)| *is_misplaced)
            .for_each(|(args, _)| leave_out(args));
    }
}

/// Whether an option of an output is that of a key before the tables of the file.
fn is_default(args: &LiveArguments, name: &str) -> bool {
    let Some(ConfigPlace { table: Some(table), lines, typed, .. }) = &args.place else { return false };
    lines.get(name).is_some_and(|line| line < table) && !typed.contains(name)
}

fn format(args: &LiveArguments) -> Format {
    args.run.output.format
}

/// Whether events of a format can have a number: those that are JSON.
fn has_numbers(format: Format) -> bool {
    matches!(format, Format::Json | Format::Eve | Format::Zeek | Format::Ecs | Format::Ocsf)
}

/// Whether the output is JSON with all fields.
fn is_whole_json(args: &LiveArguments) -> bool {
    format(args) == Format::Json && args.run.output.fields.is_empty()
}

fn is_socket(args: &LiveArguments) -> bool {
    args.run.output.output.as_deref().is_some_and(names_socket)
}

/// Whether the output is a socket with TLS.
pub(super) fn is_tls(args: &LiveArguments) -> bool {
    args.run.output.output.as_deref().is_some_and(names_tls)
}

fn is_file(args: &LiveArguments) -> bool {
    args.zeek_dir.is_some() || target(args.run.output.output.as_deref()) != Target::Stdout && !is_socket(args)
}

/// The options of an output.
pub(super) fn output_values(args: &LiveArguments) -> OptionValues {
    let values = args.values.iter().filter(|(_, option)| option.category.is_of_output);
    values.map(|(name, option)| (name.clone(), option.clone())).collect()
}

/// Checks the options of an output, as if it was the only one. `has_view`: the terminal shows all events.
pub(super) fn check(args: &LiveArguments, has_view: bool) -> Result<(), Failure> {
    let LiveArguments { run, rotation, .. } = args;
    let target = target(run.output.output.as_deref());
    let is_socket = matches!(&target, Target::File(path) if names_socket(path));
    let has_logs = args.zeek_dir.is_some();
    let is_written = target != Target::Stdout || has_logs;
    let place = match (has_view, is_written) {
        (true, true) => WhereEvents::ShownAndWritten,
        (true, false) => WhereEvents::Shown,
        (false, _) => WhereEvents::Written,
    };
    check_event_output(run, place)?;
    let is_zeek = matches!(run.output.format, Format::Zeek | Format::ZeekTsv);
    refusals::ZEEK_FORMAT.check(has_logs && !is_zeek)?;
    let has_place = has_numbers(run.output.format) && !has_logs;
    refusals::STATISTICS_FORMAT.check(args.statistics.is_some() && !has_place)?;
    let has_folders = rotation.has_hour_folders();
    let rotates = rotation.rotate_size.is_some() || rotation.rotate_interval.is_some() || has_folders;
    let is_rotated_file = rotates && is_written && !is_socket;
    refusals::PARQUET_ROTATION.check(is_table(args) && !is_rotated_file)?;
    let writes_once = run.output.certificates == CertificateArgument::Once;
    refusals::CERTIFICATES_SOCKET.check(is_socket && writes_once)?;
    refusals::TLS_OPTIONS.check(args.tls.is_set() && !is_tls(args))?;
    if has_folders && !is_table(args) {
        return Err(refusals::PARQUET_OPTION.failure(&["--hour-folders"]));
    }
    refusals::ROTATION_WITHOUT_FILE.check(rotates && !is_rotated_file)
}

/// Whether an output of a command line cannot change while the program runs.
pub(super) fn is_fixed(args: &LiveArguments) -> bool {
    is_table(args) || args.zeek_dir.is_some()
}

/// Whether an output of a command line is a table.
fn is_table(args: &LiveArguments) -> bool {
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
            if let Some(other) = others.find(|other| other.name == output.name) {
                let name = &output.name;
                if other.target.is_socket() {
                    return Err(Failure::Usage(format!("two outputs name {name}").into()));
                }
                let message =
                    format!("standard output and a file are both called {name}: write ./{name} for the file");
                return Err(Failure::Usage(message.into()));
            }
        }
        let of_outputs = outputs.iter().filter_map(|output| Some((output.option(), output.target.file()?)));
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
