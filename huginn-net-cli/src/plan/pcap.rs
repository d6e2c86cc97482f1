//! What `pcap` reads and writes.

use std::time::Duration;

use huginn_net::hosts::{HostLimits, NoticeSettings};
use huginn_net::{Configure, HuginnNet};

use super::output::open_document;
use super::rules;
use super::{AnalysisPlan, BaselineFile, Inputs, OutputPlan, output, select};
use crate::args::{EventRunArguments, Format, PcapArguments};
use crate::failure::Failure;
use crate::output::{Selected, Target, TextFormat, TextWriter, Zone};
use crate::paths::{is_same_file, resolved};
use crate::views::fingerprints::Selection;
use crate::views::store::{Part, Store, ValueKind};

/// Idle time after which p0f forgets a host. It looks for idle hosts every 50 packets only, so that in small captures it
/// forgets none.
pub(super) const P0F_HOST_IDLE: Duration = Duration::from_secs(30 * 86_400);

/// The plan of `pcap`.
pub(crate) struct PcapPlan {
    pub(crate) inputs: Inputs,
    pub(crate) count: Option<u64>,
    pub(crate) analyzer: HuginnNet,
    pub(crate) content: Content,
    pub(crate) baseline: Option<BaselineFile>,
    pub(crate) is_quiet: bool,
    pub(crate) is_verbose: bool,
    pub(crate) has_stats: bool,
}

/// What `pcap` writes.
pub(crate) enum Content {
    /// Events as they come.
    Events {
        output: OutputPlan,
        /// The zone of the totals, if they are written.
        totals: Option<Zone>,
    },
    /// Hosts or fingerprints at the end of a capture, or of all.
    Tables(TablesPlan),
}

/// Hosts and fingerprints.
pub(crate) struct TablesPlan {
    target: Target,
    pages: bool,
    /// Whether objects of JSON are written, instead of tables.
    pub(crate) format: TableFormat,
    /// Hosts; `None` if fingerprints are written.
    pub(crate) hosts: Option<HostScope>,
    /// The events whose fingerprints are counted.
    pub(crate) selected: Selected,
    /// Selections of fingerprints, and their kinds.
    pub(crate) selections: Vec<Selection>,
    pub(crate) kinds: Vec<ValueKind>,
    pub(crate) zone: Zone,
    /// Whether totals are written.
    pub(crate) has_totals: bool,
}

/// The form of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Human,
    Json,
    Csv,
}

/// The hosts of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostScope {
    EachFile,
    AllFiles,
}

impl PcapPlan {
    pub(crate) fn new(mut args: PcapArguments) -> Result<Self, Failure> {
        let writes_tables = args.summary || args.top.is_some() || args.rare.is_some();
        if !writes_tables {
            switch_on_kinds(&mut args.run)?;
        }
        rules::check_pcap(&args)?;
        let inputs = Inputs::find(&args.input)?;
        inputs.refuse_as_output(&output::target(args.run.output.output.as_deref()))?;
        inputs.report_key_logs(args.run.output.quiet, args.run.output.verbose);
        let baseline = BaselineFile::new(&args.run.baseline);
        if let Some(file) = &baseline {
            check_baseline(file, &inputs, &args)?;
        }
        let analyzer = analysis(&args, writes_tables)?
            .decrypt(Some(&inputs.secrets))
            .build_for_files(inputs.longest())?;
        let content =
            if writes_tables { Content::Tables(TablesPlan::new(&args)?) } else { Content::of_events(&args)? };
        Ok(Self {
            inputs,
            count: args.run.analysis.count,
            analyzer,
            content,
            baseline,
            is_quiet: args.run.output.quiet,
            is_verbose: args.run.output.verbose && !args.run.output.quiet,
            has_stats: args.run.output.stats,
        })
    }
}

impl Content {
    fn of_events(args: &PcapArguments) -> Result<Self, Failure> {
        let has_totals = args.run.output.format == Format::Human && !args.run.output.quiet;
        let totals = has_totals.then(|| Zone::new(args.run.output.local_time));
        let EventRunArguments { output, events, .. } = &args.run;
        let output = match &args.zeek_dir {
            Some(folder) => OutputPlan::zeek(output, events, folder)?,
            None => OutputPlan::new(output, events, !args.no_pager)?,
        };
        Ok(Self::Events { output, totals })
    }
}

impl TablesPlan {
    fn new(args: &PcapArguments) -> Result<Self, Failure> {
        let selected = &args.run.output.events;
        let is_selected = |kind: &ValueKind| {
            (selected.is_empty() || selected.contains(&kind.event()))
                && (args.kinds.is_empty() || args.kinds.iter().any(|name| name == kind.name()))
        };
        let scope = if args.merge { HostScope::AllFiles } else { HostScope::EachFile };
        let format = match args.run.output.format {
            Format::Json => TableFormat::Json,
            Format::Csv => TableFormat::Csv,
            _ => TableFormat::Human,
        };
        Ok(Self {
            target: output::target(args.run.output.output.as_deref()),
            pages: !args.no_pager,
            format,
            hosts: args.summary.then_some(scope),
            selected: select::selected(&args.run.output.select, Vec::new())?,
            selections: [args.top.map(Selection::Top), args.rare.map(Selection::Rare)]
                .into_iter()
                .flatten()
                .collect(),
            kinds: ValueKind::fingerprints().filter(is_selected).collect(),
            zone: Zone::new(args.run.output.local_time),
            has_totals: format == TableFormat::Human && !args.run.output.quiet,
        })
    }

    /// Opens the output.
    pub(crate) fn create(&self) -> Result<TextWriter, Failure> {
        let format = match self.format {
            TableFormat::Human => TextFormat::Lines,
            TableFormat::Json => TextFormat::Json,
            TableFormat::Csv => TextFormat::Csv,
        };
        open_document(&self.target, format, self.pages)
    }

    /// The store of fingerprints and totals, if there are any.
    pub(crate) fn store(&self) -> Option<Store> {
        let values = if self.hosts.is_none() { Part::Fingerprints } else { Part::Names };
        (self.hosts.is_none() || self.has_totals).then(|| Store::new(&[values, Part::Hosts]))
    }
}

/// Refuses a file of `--write-baseline` that is also an input or the output, or cannot be written.
fn check_baseline(file: &BaselineFile, inputs: &Inputs, args: &PcapArguments) -> Result<(), Failure> {
    inputs.refuse_as_output(&Target::File(file.path().to_owned()))?;
    if let Target::File(output) = output::target(args.run.output.output.as_deref())
        && is_same_file(&resolved(&output), file.path())
    {
        return Err(Failure::Usage("--output and --write-baseline name the same file".into()));
    }
    file.check()
}

fn analysis(args: &PcapArguments, has_hosts: bool) -> Result<AnalysisPlan, Failure> {
    let plan = event_analysis(&args.run)?;
    let plan = match args.zeek_dir {
        // The end of a connection completes its rows.
        Some(_) => plan.configure(|builder| builder.connections(true)),
        None => plan,
    };
    if !has_hosts {
        return Ok(plan);
    }
    // Hosts at the end are those of the complete capture.
    let hosts = HostLimits { idle_timeout: Duration::MAX, ..HostLimits::default() };
    // Hosts with alerts come first.
    let notices = args.summary.then(NoticeSettings::default);
    Ok(plan.configure(|builder| builder.hosts(hosts).profiles(true).notices(notices)))
}

/// Enables the kinds of events that the condition names, unless the format has none of them.
pub(super) fn switch_on_kinds(run: &mut EventRunArguments) -> Result<(), Failure> {
    if run.output.format == Format::P0f {
        return Ok(());
    }
    select::switch_on(&run.output.select, &run.output.events, &mut run.events)
}

/// The analysis of captures whose events are written.
pub(super) fn event_analysis(run: &EventRunArguments) -> Result<AnalysisPlan, Failure> {
    let plan = AnalysisPlan::of_events(run, &[&run.output])?;
    if run.output.format != Format::P0f {
        return Ok(plan);
    }
    let hosts = HostLimits { idle_timeout: P0F_HOST_IDLE, ..HostLimits::default() };
    Ok(plan.configure(|builder| builder.hosts(hosts)).limited_to_p0f())
}
