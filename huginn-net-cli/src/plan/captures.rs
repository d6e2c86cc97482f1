//! The plans of commands with few options: `report`, `inventory`, `top`, `db learn` and `explain`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use huginn_net::clients::NamingDatabases;
use huginn_net::explain::Fingerprint;
use huginn_net::hosts::HostLimits;
use huginn_net::observers::EventLimits;
use huginn_net::{Configure, HuginnNet};

use super::follow::ListOutput;
use super::output::open_document;
use super::{AnalysisPlan, Inputs, ProgramList, output, read_databases, rules, select};
use crate::args::{
    EventArguments, ExplainArguments, FindingsArguments, InventoryArguments, InventoryFormat, LearnArguments,
    NetworkArguments, ReportArguments, TopArguments,
};
use crate::failure::Failure;
use crate::limits::SHOWN_INVENTORY_HOSTS;
use crate::output::{Selected, Target, TextFormat, TextWriter, Zone};
use crate::paths::name_of;

/// The plan of `report`.
pub(crate) struct ReportPlan {
    pub(crate) inputs: Inputs,
    pub(crate) count: Option<u64>,
    pub(crate) analyzer: HuginnNet,
    pub(crate) hosts: HostLimits,
    pub(crate) networks: NetworkArguments,
    pub(crate) selected: Selected,
    pub(crate) output: Target,
    pub(crate) title: String,
    pub(crate) zone: Zone,
    pub(crate) is_quiet: bool,
}

impl ReportPlan {
    pub(crate) fn new(args: ReportArguments) -> Result<Self, Failure> {
        rules::check_analysis(&args.analysis)?;
        rules::check_key_logs(&args.input.keylog, &args.analysis.packets)?;
        let inputs = Inputs::find(&args.input)?;
        inputs.report_key_logs(args.quiet, false);
        let output = output::target(Some(&args.output));
        inputs.refuse_as_output(&output)?;
        // A report covers the complete captures.
        let hosts = HostLimits { idle_timeout: Duration::MAX, ..HostLimits::default() };
        let mut events = EventArguments::from(args.alerts.clone());
        select::switch_on(&args.select, &[], &mut events)?;
        rules::check_report(&args, &events)?;
        let plan = AnalysisPlan::new(&args.analysis)?.with_events(&events, &[])?;
        let plan = plan.configure(|builder| builder.hosts(hosts).profiles(true));
        Ok(Self {
            count: args.analysis.count,
            analyzer: plan.decrypt(Some(&inputs.secrets)).build_for_files(inputs.longest())?,
            inputs,
            hosts,
            networks: args.networks,
            selected: select::selected(&args.select, Vec::new())?,
            output,
            title: args.title,
            zone: Zone::new(args.local_time),
            is_quiet: args.quiet,
        })
    }
}

/// The plan of `findings`.
pub(crate) struct FindingsPlan {
    pub(crate) inputs: Inputs,
    pub(crate) count: Option<u64>,
    pub(crate) analyzer: HuginnNet,
    pub(crate) networks: NetworkArguments,
    pub(crate) output: ListOutput,
}

impl FindingsPlan {
    pub(crate) fn new(args: FindingsArguments) -> Result<Self, Failure> {
        rules::check_analysis(&args.analysis)?;
        rules::check_key_logs(&args.input.keylog, &args.analysis.packets)?;
        let output = ListOutput::new(&args.output)?;
        let inputs = Inputs::find(&args.input)?;
        inputs.report_key_logs(output.is_quiet, false);
        inputs.refuse_as_output(&output.target)?;
        let events = EventArguments::from(args.alerts);
        let plan = AnalysisPlan::new(&args.analysis)?.with_events(&events, &[])?;
        let analyzer = plan.decrypt(Some(&inputs.secrets)).build_for_files(inputs.longest())?;
        Ok(Self { inputs, count: args.analysis.count, analyzer, networks: args.networks, output })
    }
}

/// The plan of `inventory`.
pub(crate) struct InventoryPlan {
    pub(crate) inputs: Inputs,
    pub(crate) count: Option<u64>,
    pub(crate) analyzer: HuginnNet,
    pub(crate) format: InventoryFormat,
    target: Target,
    /// Number of servers and of clients in the human format.
    pub(crate) top: usize,
    pub(crate) zone: Zone,
    pub(crate) is_quiet: bool,
}

impl InventoryPlan {
    pub(crate) fn new(args: InventoryArguments) -> Result<Self, Failure> {
        rules::check_inventory(&args)?;
        let inputs = Inputs::find(&args.input)?;
        let target = output::target(args.output.as_deref());
        inputs.refuse_as_output(&target)?;
        // Other protocols have no part in it.
        let plan = AnalysisPlan::new(&args.analysis)?
            .configure(|builder| builder.tcp(false).http(false).handshakes(true));
        Ok(Self {
            count: args.analysis.count,
            analyzer: plan.decrypt(Some(&inputs.secrets)).build_for_files(inputs.longest())?,
            inputs,
            format: args.format,
            target,
            top: args.top.unwrap_or(SHOWN_INVENTORY_HOSTS),
            zone: Zone::new(args.local_time),
            is_quiet: args.quiet,
        })
    }

    /// Opens the output.
    pub(crate) fn create(&self) -> Result<TextWriter, Failure> {
        let format = match self.format {
            InventoryFormat::Human => TextFormat::Lines,
            InventoryFormat::Json | InventoryFormat::Cyclonedx => TextFormat::Json,
        };
        open_document(&self.target, format, false)
    }
}

/// The plan of `top`.
pub(crate) struct TopPlan {
    pub(crate) inputs: Inputs,
    pub(crate) count: Option<u64>,
    pub(crate) analyzer: HuginnNet,
    pub(crate) selected: Selected,
    pub(crate) zone: Zone,
}

impl TopPlan {
    pub(crate) fn new(mut args: TopArguments) -> Result<Self, Failure> {
        // A panel shows them.
        args.events.findings = true;
        select::switch_on(&args.select, &[], &mut args.events)?;
        rules::check_top(&args)?;
        let inputs = Inputs::find(&args.input)?;
        inputs.report_key_logs(false, false);
        let plan = AnalysisPlan::new(&args.analysis)?.with_events(&args.events, &[])?;
        Ok(Self {
            count: args.analysis.count,
            analyzer: plan.decrypt(Some(&inputs.secrets)).build_for_files(inputs.longest())?,
            inputs,
            selected: select::selected(&args.select, Vec::new())?,
            zone: Zone::new(args.local_time),
        })
    }
}

/// The plan of `db learn`.
pub(crate) struct LearnPlan {
    pub(crate) inputs: Inputs,
    /// Has one worker: the frame of each event must be known.
    pub(crate) analyzer: HuginnNet,
    /// Folder of the samples.
    pub(crate) samples: Option<PathBuf>,
    pub(crate) programs: Vec<ProgramList>,
}

impl LearnPlan {
    pub(crate) fn new(args: LearnArguments) -> Result<Self, Failure> {
        rules::check_databases(&args.databases, &args.packets)?;
        rules::check_key_logs(&args.input.keylog, &args.packets)?;
        let inputs = Inputs::find(&args.input)?;
        inputs.report_key_logs(false, false);
        if let Some(folder) = &args.sample {
            check_sample_folder(folder, &inputs)?;
        }
        let plan = AnalysisPlan::of_packets(&args.packets, &args.databases)?;
        let plan = plan.configure(|builder| builder.event_limits(EventLimits::NONE));
        let programs = args.programs.iter().map(|path| ProgramList::read(path)).collect::<Result<_, _>>()?;
        let analyzer = plan.decrypt(Some(&inputs.secrets)).build_for_files(None)?;
        Ok(Self { inputs, analyzer, samples: args.sample, programs })
    }
}

/// Refuses samples of inputs that cannot be read twice, and a folder of samples that contains an input.
fn check_sample_folder(folder: &Path, inputs: &Inputs) -> Result<(), Failure> {
    let is_file = |path: &Path| fs::metadata(path).map_or(true, |found| found.is_file());
    let mut paths = inputs.files.iter().map(|input| &*input.path);
    if let Some(path) = paths.clone().find(|path| path.as_os_str() == "-" || !is_file(path)) {
        return Err(Failure::SampleOfPipe { path: name_of(path) });
    }
    let Ok(folder) = folder.canonicalize() else { return Ok(()) };
    let is_inside = |path: &&Path| path.canonicalize().is_ok_and(|path| path.parent() == Some(&*folder));
    match paths.find(is_inside) {
        Some(path) => Err(Failure::OverInput { path: name_of(path) }),
        None => Ok(()),
    }
}

/// The plan of `explain`.
pub(crate) enum ExplainPlan {
    /// Describes a fingerprint and names its senders.
    Describe(Box<Fingerprint>, NamingDatabases),
    /// Compares two JA4.
    Compare(Box<Fingerprint>, Box<Fingerprint>),
}

impl ExplainPlan {
    pub(crate) fn new(args: ExplainArguments) -> Result<Self, Failure> {
        rules::check_explain(&args)?;
        Ok(match args.other {
            Some(other) => Self::Compare(Box::new(args.fingerprint), Box::new(other)),
            None => Self::Describe(Box::new(args.fingerprint), read_databases(&args.databases)?),
        })
    }
}
