//! `huginn-net hosts`: what the hosts of captures run.

use std::fmt::Display;
use std::io::{self, Write};

use huginn_net::hosts::{HostCounters, HostProfile, JoinedHosts, JsonHost};
use huginn_net::{Event, HuginnNet};

use crate::args::HostsArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::TextWriter;
use crate::plan::{DocumentPlan, HostsPlan, host_limits};
use crate::run::{CaptureOutcome, CaptureRun, OpenCapture, Visitor};
use crate::stderr;
use crate::views::store::alerts::AlertList;
use crate::views::store::{Part, Store};
use crate::views::{columns, hosts, totals};

pub(super) fn run(args: HostsArguments) -> Result<Outcome, Failure> {
    let HostsPlan { inputs, analyzer, is_joined, output, pages, has_stats } = HostsPlan::new(args)?;
    let writer = output.create(pages)?;
    let is_quiet = output.is_quiet;
    let mut run = CaptureRun::start_paged(inputs, analyzer, is_quiet, writer.has_pager())?;
    // Hosts of one capture are written at its end.
    let joined = is_joined.then(|| JoinedHosts::new(&host_limits()));
    let has_totals = !output.is_json() && !is_quiet;
    let of_totals = [Part::Names, Part::Hosts].into_iter().filter(|_| has_totals);
    let parts: Vec<Part> = of_totals.chain([Part::Alerts]).collect();
    let mut tables = Tables { output, writer, joined, store: Store::new(&parts) };
    run.run(&mut tables)?;
    let joined = tables.joined.take();
    if let Some(joined) = &joined {
        tables.write(joined.profiles(), None)?;
    }
    let Tables { output, mut writer, store, .. } = tables;
    if has_totals {
        totals::write(writer.begin_part()?, &store, &run.analyzer, &run.examples, None, &output.zone)?;
    }
    writer.finish()?;
    if !is_quiet {
        let left_out = joined.as_ref().map_or(0, JoinedHosts::left_out);
        report_evicted(&run.analyzer.shared_state().counters(), left_out);
    }
    if has_stats {
        run.write_stats()?;
    }
    Ok(run.outcome())
}

/// Writes the hosts of each capture, or joins them.
struct Tables {
    output: DocumentPlan,
    writer: TextWriter,
    joined: Option<JoinedHosts>,
    /// The alerts of the hosts that are written next, and the names of the totals.
    store: Store,
}

impl Tables {
    fn write<'h>(
        &mut self,
        profiles: impl Iterator<Item = &'h HostProfile>,
        file: Option<&str>,
    ) -> io::Result<()> {
        write_hosts(&self.output, &mut self.writer, profiles, &self.store.alerts, file)
    }
}

/// Writes hosts as the options say, those with alerts first.
pub(super) fn write_hosts<'h>(
    output: &DocumentPlan,
    writer: &mut TextWriter,
    profiles: impl Iterator<Item = &'h HostProfile>,
    alerts: &AlertList,
    file: Option<&str>,
) -> io::Result<()> {
    if !output.is_json() {
        let width = columns::width(writer.is_on_terminal());
        return hosts::write(writer.begin_part()?, profiles, alerts, file, width, &output.zone);
    }
    let mut text = Vec::new();
    for host in profiles {
        text.clear();
        JsonHost::new(host).file(file).write_to(&mut text);
        text.push(b'\n');
        writer.out().write_all(&text)?;
    }
    Ok(())
}

impl Visitor for Tables {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { joined, store, .. } = self;
        if joined.is_none() {
            store.alerts = AlertList::default();
        }
        store.begin_file(capture.index, None);
        analyzer.analyze_ref(&mut capture.source, |event: &Event| store.add(event)).map(drop)
    }

    fn end_capture(&mut self, analyzer: &HuginnNet, capture: &OpenCapture<'_>) -> Result<(), Failure> {
        match &mut self.joined {
            Some(joined) => joined.add(analyzer.shared_state(), None),
            None => self.write(analyzer.shared_state().profiles(), capture.name.as_deref())?,
        }
        Ok(())
    }

    fn report(&mut self, error: &dyn Display) -> Result<(), Failure> {
        // What was written before the error comes before its message.
        self.writer.flush()?;
        stderr::report(error);
        Ok(())
    }
}

/// Reports hosts that are not listed. `left_out`: hosts that were not joined.
fn report_evicted(hosts: &HostCounters, left_out: u64) {
    let evicted = hosts.evicted.saturating_add(hosts.evicted_for_memory).saturating_add(left_out);
    if evicted > 0 {
        stderr::report(&format_args!(
            "the list omits {evicted} of {} hosts, the longest idle ones: the host limit was reached",
            hosts.seen
        ));
    }
}
