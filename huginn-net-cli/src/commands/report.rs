//! `huginn-net report`: one HTML page about capture files.

use std::io::Write;

use huginn_net::hosts::{HostLimits, JoinedHosts};
use huginn_net::{Event, HuginnNet};

use crate::args::ReportArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::{Document, Selected, Target, Zone};
use crate::paths::name_of;
use crate::plan::ReportPlan;
use crate::run::{CaptureOutcome, CaptureRun, Networks, OpenCapture, Visitor};
use crate::views::alerts::AlertList;
use crate::views::inventory::Inventory;
use crate::views::overview::Overview;
use crate::views::overview::timeline::Timeline;
use crate::views::report::{self, Activity, HostList, HostSources, Remarks, Report};

pub(super) fn run(args: ReportArguments) -> Result<Outcome, Failure> {
    let ReportPlan { inputs, count, analyzer, hosts, networks, selected, output, title, zone, is_quiet } =
        ReportPlan::new(args)?;
    let networks = Networks::new(&networks, &inputs);
    let mut out = create(&output)?;
    let mut run = CaptureRun::start(inputs, count, analyzer, is_quiet)?;
    let mut content = Content::new(&hosts, networks, selected);
    run.run(&mut content)?;
    content.write(&mut out, &title, &zone, &run)?;
    out.complete()?;
    // A hit that a limit left out is one, too.
    let has_hit = content.alerts.has_hit() || run.analyzer.shared_state().matches_suppressed() > 0;
    Ok(run.outcome().with_hit(has_hit))
}

fn create(output: &Target) -> Result<Document, Failure> {
    Document::create(output).map_err(|source| match output {
        Target::Stdout => Failure::Write(source),
        Target::File(path) => Failure::Create { path: name_of(path), source },
    })
}

/// What the page shows of events and hosts.
struct Content {
    networks: Networks,
    selected: Selected,
    overview: Overview,
    timeline: Timeline,
    inventory: Inventory,
    activity: Activity,
    alerts: AlertList,
    remarks: Remarks,
    hosts: JoinedHosts,
}

impl Content {
    fn new(limits: &HostLimits, networks: Networks, selected: Selected) -> Self {
        Self {
            networks,
            selected,
            overview: Overview::new(true),
            timeline: Timeline::default(),
            inventory: Inventory::default(),
            activity: Activity::default(),
            alerts: AlertList::default(),
            remarks: Remarks::default(),
            hosts: JoinedHosts::new(limits),
        }
    }

    fn write(&self, out: &mut impl Write, title: &str, zone: &Zone, run: &CaptureRun) -> Result<(), Failure> {
        let Self { networks, overview, timeline, inventory, activity, alerts, remarks, hosts, .. } = self;
        let folder = common_folder(run);
        let file_name = &|index| Some(run.name(index)?.split_off(folder.len()));
        let captures = (0..).map_while(|index| Some((run.path(index)?, run.name(index)?)));
        let arguments = report::file_arguments(captures, folder.len());
        let sources = HostSources {
            hosts,
            activity,
            overview,
            span: timeline.main_span(),
            file_name,
            zone,
            folder: &folder,
            arguments: arguments.as_deref(),
        };
        let evicted = run.analyzer.shared_state().counters();
        let not_kept = evicted.evicted.saturating_add(evicted.evicted_for_memory);
        let counters = run.analyzer.counters();
        let page = Report {
            title,
            captures: usize::try_from(run.opened()).unwrap_or(usize::MAX),
            networks: networks.count(),
            packets: counters.frames,
            flows: counters.flows.opened,
            decrypted: run.analyzer.protocol().counters().decryption.connections,
            span: run.analyzer.span(),
            is_cut: run.interrupt().is_set(),
            overview,
            timeline,
            inventory,
            alerts,
            remarks,
            folder: &folder,
            file_name,
            hosts: &HostList::new(&sources),
            host_counts: (hosts.profiles().count(), not_kept.saturating_add(hosts.left_out())),
            blind_spots: &run.examples.locate(&run.analyzer),
            zone,
        };
        Ok(report::write(out, &page)?)
    }
}

/// The folder of all captures with the separator after it; empty if they have none in common.
fn common_folder(run: &CaptureRun) -> String {
    let names = (0..).map_while(|index| run.name(index));
    let common = names.reduce(|one, other| {
        let same = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
        let end = same.last().map_or(0, |((at, character), _)| at.saturating_add(character.len_utf8()));
        one.get(..end).unwrap_or_default().to_owned()
    });
    let common = common.unwrap_or_default();
    let end = common.rfind('/').map_or(0, |slash| slash.saturating_add(1));
    common.get(..end).unwrap_or_default().to_owned()
}

impl Visitor for Content {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { networks, selected, overview, timeline, inventory, activity, alerts, remarks, .. } = self;
        let network = networks.of(capture.index);
        overview.set_file(Some(capture.index));
        activity.set_file(capture.index, network.clone());
        alerts.set_file(capture.index, network);
        remarks.set_file(capture.index);
        let add = |event: &Event| {
            if !selected.contains(event, capture.name.as_deref(), None) {
                return;
            }
            overview.add(event);
            timeline.add(event);
            activity.add(event);
            alerts.add(event);
            remarks.add(event);
            inventory.add(event);
        };
        let outcome = analyzer.analyze_ref(&mut capture.source, add);
        inventory.count_pending();
        outcome.map(drop)
    }

    fn end_capture(&mut self, analyzer: &HuginnNet, capture: &OpenCapture<'_>) -> Result<(), Failure> {
        self.hosts.add(analyzer.shared_state(), self.networks.of(capture.index).as_ref());
        Ok(())
    }
}
