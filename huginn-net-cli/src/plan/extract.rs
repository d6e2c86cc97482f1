//! What `extract` reads and writes.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

use huginn_net::HuginnNet;
use huginn_net::capture::PcapngWriter;
use huginn_net::core::{DecodeConfig, Frame};

use super::events::{Scope, Written};
use super::output::creating;
use super::{AnalysisPlan, Inputs, output, refusals, select};
use crate::args::{EventArguments, ExtractArguments};
use crate::failure::Failure;
use crate::output::{Document, PCAPNG_APPLICATION, Selected, Target};
use crate::paths::name_of;
use crate::stderr;

/// The plan of `extract`.
pub(crate) struct ExtractPlan {
    pub(crate) inputs: Inputs,
    pub(crate) analyzer: HuginnNet,
    pub(crate) selected: Selected,
    pub(crate) packets: ExtractedPackets,
    pub(crate) decoding: Decoding,
    pub(crate) target: Target,
    pub(crate) is_quiet: bool,
}

/// The packets that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtractedPackets {
    /// Those of connections with selected events.
    Connections,
    /// Those of connections up to their last selected event.
    Handshakes,
    /// All.
    All,
}

/// How frames become segments when they are read again: as in the analysis.
pub(crate) struct Decoding {
    pub(crate) config: DecodeConfig,
    pub(crate) filter: FrameFilter,
}

/// The filter expression of the analysis: frames that it rejects are neither numbered nor written.
pub(crate) struct FrameFilter(Option<huginn_net::core::Bpf>);

impl ExtractPlan {
    pub(crate) fn new(mut args: ExtractArguments) -> Result<Self, Failure> {
        args.event_additions.findings |= args.event_additions.alerts.thresholds.is_set();
        if args.events.is_empty() && !args.select.is_set() && !args.annotate {
            args.events = default_events(&args.event_additions);
        }
        select::switch_on(&args.select, &args.events, &mut args.event_additions)?;
        let written = Written { kinds: &args.events, by: "--events leaves out" };
        refusals::ANONYMOUS_PACKETS.check(args.analysis.flows.anonymize.is_some())?;
        let scope = Scope::new(&args.analysis.protocols.protocols, &args.event_additions, written);
        scope.check(&args.events)?;
        select::check_kinds(&args.select, &scope)?;
        let inputs = Inputs::find(&args.input, &args.analysis.protocols.keylog)?;
        inputs.report_key_logs(args.quiet, false);
        refuse_pipes(&inputs)?;
        let target = output::target(Some(&args.output));
        inputs.refuse_as_output(&target)?;
        check_output(&target)?;
        if !args.quiet {
            report_other_name(&target);
        }
        let plan = AnalysisPlan::new(&args.analysis)?.with_events(&args.event_additions, &[])?;
        let packets = match (args.annotate, args.handshakes) {
            (true, _) => ExtractedPackets::All,
            (false, true) => ExtractedPackets::Handshakes,
            (false, false) => ExtractedPackets::Connections,
        };
        Ok(Self {
            decoding: Decoding {
                config: super::analysis::decode_config(&args.analysis.flows),
                filter: FrameFilter::new(args.analysis.flows.filter.as_deref())?,
            },
            analyzer: plan.build_for(&inputs)?,
            inputs,
            selected: select::selected(&args.select, args.events)?,
            packets,
            target,
            is_quiet: args.quiet,
        })
    }
}

/// The events that select connections if nothing else does: hits of watch lists and findings, if they are asked for. Empty for all.
fn default_events(args: &EventArguments) -> Vec<&'static str> {
    let kinds = [("match", !args.alerts.fingerprints.is_empty()), ("finding", args.findings)];
    kinds.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(kind, _)| kind).collect()
}

/// The pcapng file that `extract` writes.
pub(crate) type ExtractWriter = PcapngWriter<Document>;

/// Creates the output, once there is a packet to write. It replaces a file of this name when it is complete.
pub(crate) fn create_extract(target: &Target) -> Result<ExtractWriter, Failure> {
    let created = Document::create(target).map_err(|source| creating(target, source))?;
    Ok(PcapngWriter::new(created, PCAPNG_APPLICATION)?)
}

/// Fails if the output is a terminal, or a file in a folder that does not exist, before a capture is read.
fn check_output(target: &Target) -> Result<(), Failure> {
    match target {
        Target::Stdout if io::stdout().is_terminal() => Err(Failure::CaptureOnTerminal),
        Target::Stdout => Ok(()),
        Target::File(path) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let failed = |source| Failure::Create { path: name_of(path), source };
            folder.map_or(Ok(()), |folder| fs::metadata(folder).map(drop)).map_err(failed)
        }
    }
}

impl FrameFilter {
    pub(super) fn new(expression: Option<&str>) -> Result<Self, Failure> {
        Ok(Self(expression.map(huginn_net::core::Bpf::new).transpose()?))
    }

    /// Whether a frame is analysed.
    pub(crate) fn passes(&mut self, frame: &Frame<'_>) -> bool {
        self.0.as_mut().is_none_or(|bpf| bpf.passes(frame))
    }
}

/// Reports a name of another format: the file is pcapng all the same.
fn report_other_name(target: &Target) {
    let Target::File(path) = target else { return };
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    if ["pcap", "cap", "dmp", "gz", "zst", "xz", "bz2", "zip"].contains(&&*extension) {
        stderr::report(&format_args!("{}: will be uncompressed pcapng, whatever its name", name_of(path)));
    }
}

/// Fails if an input cannot be read twice.
fn refuse_pipes(inputs: &Inputs) -> Result<(), Failure> {
    let is_pipe =
        |path: &Path| path.as_os_str() == "-" || fs::metadata(path).is_ok_and(|found| !found.is_file());
    match inputs.files.iter().find(|input| is_pipe(&input.path)) {
        Some(input) => Err(Failure::ExtractOfPipe { path: name_of(&input.path) }),
        None => Ok(()),
    }
}
