//! `--summary`, `--top` and `--rare`: hosts and fingerprints of captures.

use std::fmt::Display;

use huginn_net::hosts::{HostCounters, HostLimits, HostProfile, JoinedHosts, JsonHost};
use huginn_net::{Event, HuginnNet};

use std::io::{self, Write};

use crate::failure::Failure;
use crate::output::TextWriter;
use crate::plan::{HostScope, TableFormat, TablesPlan};
use crate::run::{CaptureOutcome, CaptureRun, OnInterrupt, OpenCapture, Visitor};
use crate::stderr;
use crate::views::columns;
use crate::views::fingerprints::Fingerprints;
use crate::views::store::alerts::AlertList;
use crate::views::store::{Origin, Store};
use crate::views::{hosts, totals};

/// Writes the tables of a run.
pub(super) fn write(run: &mut CaptureRun, plan: TablesPlan, is_quiet: bool) -> Result<(), Failure> {
    let writer = plan.create()?;
    let on_interrupt = if writer.has_pager() { OnInterrupt::LeaveToPager } else { OnInterrupt::EndTwice };
    run.interrupt().on_signals(on_interrupt)?;
    if !writer.has_pager() {
        run.show_progress();
    }
    // Hosts of one file are written at its end. Totals of fingerprints have the contradictions of all hosts.
    let joins_hosts = plan.hosts != Some(HostScope::EachFile);
    let joined = joins_hosts.then(|| JoinedHosts::new(&HostLimits::default()));
    let store = plan.store();
    let mut tables = Tables { plan, writer, store, joined, alerts: AlertList::default(), has_several: false };
    run.run(&mut tables)?;
    tables.finish(run)?;
    let Tables { plan, writer, joined, .. } = tables;
    writer.finish()?;
    if plan.hosts.is_some() && !is_quiet {
        let left_out = joined.as_ref().map_or(0, JoinedHosts::left_out);
        report_evicted_hosts(&run.analyzer.shared_state().counters(), left_out);
    }
    Ok(())
}

/// Counts the fingerprints of events, and keeps or writes hosts.
struct Tables {
    plan: TablesPlan,
    writer: TextWriter,
    store: Option<Store>,
    joined: Option<JoinedHosts>,
    /// The alerts of the hosts that are written next.
    alerts: AlertList,
    /// Whether there are several captures.
    has_several: bool,
}

impl Visitor for Tables {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { plan, store, alerts, .. } = self;
        if plan.hosts == Some(HostScope::EachFile) {
            *alerts = AlertList::default();
        }
        self.has_several = capture.name.is_some();
        let origin = Origin { file: capture.index, network: None };
        if let Some(store) = store {
            store.begin_file(capture.index, None);
        }
        let count = |event: &Event| {
            alerts.add(event, &origin);
            if let Some(store) = store
                && plan.selected.contains(event, capture.name.as_deref(), None)
            {
                store.add(event);
            }
        };
        analyzer.analyze_ref(&mut capture.source, count).map(drop)
    }

    fn end_capture(&mut self, analyzer: &HuginnNet, capture: &OpenCapture<'_>) -> Result<(), Failure> {
        if let Some(joined) = &mut self.joined {
            joined.add(analyzer.shared_state(), None);
        }
        if self.plan.hosts == Some(HostScope::EachFile) {
            self.write_hosts(analyzer.shared_state().profiles(), capture.name.as_deref())?;
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

impl Tables {
    /// Writes what all captures have together.
    fn finish(&mut self, run: &CaptureRun) -> Result<(), Failure> {
        let joined = self.joined.take();
        if let Some(joined) = joined.as_ref().filter(|_| self.plan.hosts == Some(HostScope::AllFiles)) {
            self.write_hosts(joined.profiles(), None)?;
        }
        self.write_fingerprints(run)?;
        if let Some(store) = self.store.as_ref().filter(|_| self.plan.has_totals) {
            // A summary has the contradictions of its hosts.
            let hosts = joined.as_ref().filter(|_| self.plan.hosts.is_none());
            let out = self.writer.begin_part()?;
            totals::write(out, store, &run.analyzer, &run.examples, hosts, &self.plan.zone)?;
        }
        self.joined = joined;
        Ok(())
    }

    /// Writes hosts of a file, or of all files.
    fn write_hosts<'h>(
        &mut self,
        profiles: impl Iterator<Item = &'h HostProfile>,
        file: Option<&str>,
    ) -> io::Result<()> {
        if self.plan.format == TableFormat::Human {
            let width = columns::width(self.writer.is_on_terminal());
            let (alerts, zone) = (&self.alerts, &self.plan.zone);
            return hosts::write(self.writer.begin_part()?, profiles, alerts, file, width, zone);
        }
        let mut text = Vec::new();
        for host in profiles {
            text.clear();
            JsonHost { host, file }.write_to(&mut text);
            text.push(b'\n');
            self.writer.out().write_all(&text)?;
        }
        Ok(())
    }

    /// Writes the selected fingerprints of each kind.
    fn write_fingerprints(&mut self, run: &CaptureRun) -> io::Result<()> {
        let Self { plan, writer, store: Some(store), has_several, .. } = self else { return Ok(()) };
        let width = columns::width(writer.is_on_terminal());
        for selection in plan.selections.iter().copied() {
            let fingerprints = Fingerprints {
                values: &store.values,
                selection,
                kinds: &plan.kinds,
                file_name: &|index| run.name(index).filter(|_| *has_several),
            };
            match plan.format {
                TableFormat::Json => fingerprints.write_json(writer.out())?,
                TableFormat::Csv => fingerprints.write_csv(writer.out())?,
                TableFormat::Human => fingerprints.write(writer.begin_part()?, width, &plan.zone)?,
            }
        }
        Ok(())
    }
}

/// Reports hosts that the summary omits. `left_out`: hosts that were not joined.
fn report_evicted_hosts(hosts: &HostCounters, left_out: u64) {
    let forgotten = hosts.evicted.saturating_add(hosts.evicted_for_memory).saturating_add(left_out);
    if forgotten > 0 {
        stderr::report(&format_args!(
            "the summary omits {forgotten} of {} hosts, the longest idle ones: the host limit was reached",
            hosts.seen
        ));
    }
}
