//! The plans of commands with few options: `report`, `findings`, `hosts`, `fingerprints`, `inventory`, `top`, `db learn` and `explain`.

use std::fs;
use std::path::{Path, PathBuf};

use huginn_net::clients::NamingDatabases;
use huginn_net::explain::Fingerprint;
use huginn_net::hosts::{FindingSettings, HostLimits};
use huginn_net::observers::EventLimits;
use huginn_net::{Configure, HuginnNet};

use super::analysis::packet_filter;
use super::events::{Scope, Written};
use super::follow::host_limits;
use super::{AnalysisPlan, DocumentPlan, Inputs, ProgramList, output, read_databases, refusals, select};
use crate::args::{
    AnalysisArguments, DatabaseArguments, EventArguments, ExplainArguments, FindingsArguments,
    FingerprintFormat, FingerprintsArguments, HostsArguments, InputArguments, InputLimits,
    InventoryArguments, InventoryFormat, LearnArguments, NetworkArguments, ReportArguments, TopArguments,
};
use crate::failure::Failure;
use crate::output::{Selected, Target, TextFormat, Zone};
use crate::paths::name_of;
use crate::views::fingerprints::Selection;
use crate::views::store::ValueKind;

/// Number of servers and of clients that the human format lists without `--top`: a screen and a half with the sentences.
const SHOWN_INVENTORY_HOSTS: usize = 8;

/// The plan of `report`.
pub(crate) struct ReportPlan {
    pub(crate) inputs: Inputs,
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
        let inputs = Inputs::find(&args.input, &args.analysis.protocols.keylog)?;
        inputs.report_key_logs(args.quiet, false);
        let output = output::target(Some(&args.output));
        inputs.refuse_as_output(&output)?;
        let hosts = host_limits();
        let mut events = EventArguments::from(args.alerts.clone());
        select::switch_on(&args.select, &[], &mut events)?;
        let scope = Scope::new(&args.analysis.protocols.protocols, &events, Written::ALL);
        select::check_kinds(&args.select, &scope)?;
        let plan = AnalysisPlan::new(&args.analysis)?.with_events(&events, &[])?;
        let plan = plan.configure(|builder| builder.hosts(hosts).profiles(true));
        Ok(Self {
            analyzer: plan.build_for(&inputs)?,
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
    pub(crate) analyzer: HuginnNet,
    pub(crate) networks: NetworkArguments,
    pub(crate) output: DocumentPlan,
}

impl FindingsPlan {
    pub(crate) fn new(args: FindingsArguments) -> Result<Self, Failure> {
        let output = DocumentPlan::of_list(&args.output)?;
        let inputs = find_inputs(&args.input, &args.analysis, &output)?;
        let events = EventArguments::from(args.alerts);
        let plan = AnalysisPlan::new(&args.analysis)?.with_events(&events, &[])?;
        let analyzer = plan.build_for(&inputs)?;
        Ok(Self { inputs, analyzer, networks: args.networks, output })
    }
}

/// The plan of `hosts`.
pub(crate) struct HostsPlan {
    pub(crate) inputs: Inputs,
    pub(crate) analyzer: HuginnNet,
    /// Whether the hosts of all captures are joined.
    pub(crate) is_joined: bool,
    pub(crate) output: DocumentPlan,
    pub(crate) pages: bool,
    pub(crate) has_stats: bool,
}

impl HostsPlan {
    pub(crate) fn new(args: HostsArguments) -> Result<Self, Failure> {
        let output = DocumentPlan::of_list(&args.output)?;
        let inputs = find_inputs(&args.input, &args.analysis, &output)?;
        // Hosts with alerts come first.
        let findings = Some(FindingSettings::default());
        let plan = AnalysisPlan::new(&args.analysis)?.configure(|builder| {
            builder.hosts(host_limits()).profiles(true).handshakes(true).findings(findings)
        });
        Ok(Self {
            analyzer: plan.build_for(&inputs)?,
            inputs,
            is_joined: args.merge,
            output,
            pages: !args.no_pager,
            has_stats: args.stats,
        })
    }
}

/// The plan of `fingerprints`.
pub(crate) struct FingerprintsPlan {
    pub(crate) inputs: Inputs,
    pub(crate) analyzer: HuginnNet,
    /// The events whose fingerprints are counted.
    pub(crate) selected: Selected,
    pub(crate) selection: Selection,
    pub(crate) kinds: Vec<ValueKind>,
    pub(crate) output: DocumentPlan,
    pub(crate) pages: bool,
}

impl FingerprintsPlan {
    pub(crate) fn new(args: FingerprintsArguments) -> Result<Self, Failure> {
        let format = match args.format {
            FingerprintFormat::Human => TextFormat::Lines,
            FingerprintFormat::Json => TextFormat::Json,
            FingerprintFormat::Csv => TextFormat::Csv,
        };
        let output = DocumentPlan::new(&args.output, format)?;
        let kinds = kinds(&args.kinds)?;
        let counted: Vec<&'static str> = kinds.iter().map(|kind| kind.event()).collect();
        let written = Written { kinds: &counted, by: "fingerprints does not count" };
        let scope = Scope::of_view(&args.analysis.protocols.protocols, written);
        select::check_kinds(&args.select, &scope)?;
        let inputs = find_inputs(&args.input, &args.analysis, &output)?;
        // Totals have the contradictions of all hosts.
        let plan = AnalysisPlan::new(&args.analysis)?
            .configure(|builder| builder.hosts(host_limits()).profiles(true).handshakes(true));
        Ok(Self {
            analyzer: plan.build_for(&inputs)?,
            inputs,
            selected: select::selected(&args.select, Vec::new())?,
            selection: args.rare.map_or(Selection::Top(args.top), Selection::Rare),
            kinds,
            output,
            pages: !args.no_pager,
        })
    }
}

/// The kinds of fingerprints with these names; all without one.
fn kinds(names: &[String]) -> Result<Vec<ValueKind>, Failure> {
    let all = ValueKind::fingerprints;
    if let Some(unknown) = names.iter().find(|name| !all().any(|kind| kind.name() == **name)) {
        let known: Vec<&str> = all().map(ValueKind::name).collect();
        let known = known.join(", ");
        return Err(Failure::Usage(
            format!("--kinds: unknown kind '{unknown}', expected one of {known}").into(),
        ));
    }
    let is_named = |kind: &ValueKind| names.is_empty() || names.iter().any(|name| name == kind.name());
    Ok(all().filter(is_named).collect())
}

/// Finds captures that the output does not overwrite.
fn find_inputs(
    input: &InputArguments,
    analysis: &AnalysisArguments,
    output: &DocumentPlan,
) -> Result<Inputs, Failure> {
    let inputs = Inputs::find(input, &analysis.protocols.keylog)?;
    inputs.report_key_logs(output.is_quiet, false);
    inputs.refuse_as_output(&output.target)?;
    Ok(inputs)
}

/// The plan of `inventory`.
pub(crate) struct InventoryPlan {
    pub(crate) inputs: Inputs,
    pub(crate) analyzer: HuginnNet,
    pub(crate) format: InventoryFormat,
    /// Number of servers and of clients in the human format.
    pub(crate) top: usize,
    pub(crate) output: DocumentPlan,
}

impl InventoryPlan {
    pub(crate) fn new(args: InventoryArguments) -> Result<Self, Failure> {
        let format = match args.format {
            InventoryFormat::Human => TextFormat::Lines,
            InventoryFormat::Json | InventoryFormat::Cyclonedx => TextFormat::Json,
        };
        if args.top.is_some() && format != TextFormat::Lines {
            return Err(refusals::OF_HUMAN_FORMAT.failure(&["--top"]));
        }
        let output = DocumentPlan::new(&args.output, format)?;
        let inputs = Inputs::find(&args.input, &[])?;
        inputs.refuse_as_output(&output.target)?;
        // Other protocols have no part in it, and it names no software.
        let plan = AnalysisPlan::with_databases(&DatabaseArguments::default())?
            .configure(|builder| builder.tcp(false).http(false).handshakes(true));
        Ok(Self {
            analyzer: plan.with_flows(&args.flows)?.build_for(&inputs)?,
            inputs,
            format: args.format,
            top: args.top.unwrap_or(SHOWN_INVENTORY_HOSTS),
            output,
        })
    }
}

/// The plan of `top`.
pub(crate) struct TopPlan {
    pub(crate) inputs: Inputs,
    pub(crate) analyzer: HuginnNet,
    pub(crate) selected: Selected,
    pub(crate) zone: Zone,
}

impl TopPlan {
    pub(crate) fn new(args: TopArguments) -> Result<Self, Failure> {
        // A panel shows findings.
        let mut events = EventArguments { connections: args.connections, ..args.alerts.into() };
        select::switch_on(&args.select, &[], &mut events)?;
        let scope = Scope::new(&args.analysis.protocols.protocols, &events, Written::ALL);
        select::check_kinds(&args.select, &scope)?;
        let inputs = Inputs::find(&args.input, &args.analysis.protocols.keylog)?;
        inputs.report_key_logs(false, false);
        let plan = AnalysisPlan::new(&args.analysis)?.with_events(&events, &[])?;
        Ok(Self {
            analyzer: plan.build_for(&inputs)?,
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
        let limits = InputLimits { count: None, decompression: args.decompression };
        let inputs = Inputs::find_files(&args.files, limits, &args.protocols.keylog)?;
        inputs.report_key_logs(false, false);
        if let Some(folder) = &args.sample {
            check_sample_folder(folder, &inputs)?;
        }
        let plan = AnalysisPlan::with_databases(&args.databases)?.parse(&args.protocols)?;
        let filter = packet_filter(&args.packets);
        let plan = plan.configure(|builder| builder.filter(filter).event_limits(EventLimits::NONE));
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
        Ok(match args.other {
            Some(other) => Self::Compare(Box::new(args.fingerprint), Box::new(other)),
            None => Self::Describe(Box::new(args.fingerprint), read_databases(&args.databases)?),
        })
    }
}
