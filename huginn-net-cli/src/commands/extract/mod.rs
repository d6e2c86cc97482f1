//! `huginn-net extract`: the packets of connections as pcapng.

mod connections;
mod evidence;
mod found;
mod reread;
mod scan;

use std::collections::HashMap;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};

use huginn_net::capture::{CaptureInterface, PcapngWriter};
use huginn_net::core::{Amount, Decoder, Escaped, FlowKey, Frame, Segment};
use huginn_net::{Counters, Event, HuginnNet, Observation};

use self::connections::Connections;
use self::evidence::Evidence;
use self::found::{Found, FoundEvent, FoundLimits, LeftOut};
use self::reread::Reread;
use self::scan::Scan;
use crate::args::ExtractArguments;
use crate::failure::Failure;
use crate::limits::{MAX_EXTRACTED_EVENTS, MAX_EXTRACTED_FINDINGS, MAX_EXTRACTED_FLOWS};
use crate::outcome::Outcome;
use crate::output::{Lines, Selected, Target, Zone, packet_comment, write_commented};
use crate::paths::name_of;
use crate::plan::{Decoding, ExtractPlan, ExtractWriter, ExtractedPackets, create_extract};
use crate::run::{CaptureOutcome, CaptureRun, OpenCapture, Visitor};
use crate::stderr;

pub(super) fn run(args: ExtractArguments) -> Result<Outcome, Failure> {
    let plan = ExtractPlan::new(args)?;
    let ExtractPlan { inputs, analyzer, selected, packets, decoding, target, is_quiet } = plan;
    let max_ratio = inputs.max_ratio;
    let mut run = CaptureRun::start(inputs, analyzer, is_quiet)?;
    let mut extraction = Extraction {
        selected,
        lines: Lines::new(false, Zone::new(false)),
        packets,
        decoding,
        max_ratio,
        target,
        writer: None,
        found: Found::new(FoundLimits::default()),
        has_hit: AtomicBool::new(false),
        before: run.analyzer.counters(),
        totals: Totals::default(),
    };
    run.run(&mut extraction)?;
    let Extraction { target, writer, totals, has_hit, .. } = extraction;
    if let Some(writer) = writer {
        writer.finish()?.complete()?;
    }
    if !is_quiet {
        totals.report(&target);
    }
    let outcome = match run.outcome() {
        Outcome::Complete if totals.left_out => Outcome::Failed,
        outcome => outcome,
    };
    // A hit that a limit left out is one, too.
    Ok(outcome.with_hit(has_hit.into_inner() || run.analyzer.shared_state().matches_suppressed() > 0))
}

/// Notes the events of a capture, then reads it again and writes packets.
struct Extraction {
    selected: Selected,
    lines: Lines,
    packets: ExtractedPackets,
    decoding: Decoding,
    max_ratio: Option<NonZeroU32>,
    target: Target,
    /// The output; `None` before the first packet that is written.
    writer: Option<ExtractWriter>,
    found: Found,
    /// Whether a watch list had a hit that is selected.
    has_hit: AtomicBool,
    /// The counters before the capture.
    before: Counters,
    totals: Totals,
}

impl Visitor for Extraction {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { selected, lines, found, has_hit, before, .. } = self;
        *before = analyzer.counters();
        let file = capture.name.as_deref();
        let note = |event: Event| {
            if matches!(event.kind, Observation::Match(_)) && selected.fulfils(&event, file, None) {
                has_hit.store(true, Ordering::Relaxed);
            }
            let flow = FlowKey::from_flow(&event.flow)?;
            let is_selected = selected.contains(&event, file, None);
            is_selected
                .then(|| (flow, event.packet_number, packet_comment(lines, &event), Evidence::of(&event)))
        };
        let mut add = |noted: Option<(FlowKey, u64, String, Option<Evidence>)>| {
            if let Some((flow, packet, comment, evidence)) = noted {
                found.add(flow, packet, &comment, evidence);
            }
        };
        analyzer.analyze_map(&mut capture.source, note, &mut add).map(drop)
    }

    fn end_capture(&mut self, analyzer: &HuginnNet, capture: &OpenCapture<'_>) -> Result<(), Failure> {
        let mut found = std::mem::replace(&mut self.found, Found::new(FoundLimits::default()));
        found.sort();
        let evidence = found.take_evidence();
        let (before, after) = (&self.before, &analyzer.counters());
        let frames = after.frames.saturating_sub(before.frames);
        self.totals.read = self.totals.read.saturating_add(frames);
        if found.is_empty() && self.packets != ExtractedPackets::All {
            return Ok(());
        }
        let connections = match self.packets {
            ExtractedPackets::All => None,
            packets => {
                let ends_early = packets == ExtractedPackets::Handshakes;
                let needs_scan = needs_scan(before, after) || evidence.len() > 0;
                let mut scan = Scan::new(&found, evidence, ends_early);
                if needs_scan {
                    self.scan(&mut scan, capture, frames)?;
                }
                Some(scan.finish())
            }
        };
        let mut left_out = found.left_out();
        if let Some(connections) = &connections {
            left_out.fragments = connections.fragments_left_out;
            left_out.packets_of_findings = connections.packets_left_out;
            self.totals.connections = self.totals.connections.saturating_add(connections.len());
        }
        self.copy(&found, connections.as_ref(), capture, frames)?;
        self.totals.left_out |= report_left_out(capture, &left_out);
        Ok(())
    }
}

/// Whether the packets of a flow may belong to several connections, or to datagrams in fragments. Otherwise all packets of a flow are those
/// of one connection.
fn needs_scan(before: &Counters, after: &Counters) -> bool {
    let counts = |counters: &Counters| {
        let flows = &counters.flows;
        [
            flows.restarted,
            flows.expired,
            flows.evicted,
            flows.evicted_for_memory,
            counters.decode.fragments_buffered,
        ]
    };
    counts(before) != counts(after)
}

impl Extraction {
    /// Finds the connections and fragments of the flows.
    fn scan(&mut self, scan: &mut Scan<'_>, capture: &OpenCapture<'_>, frames: u64) -> Result<(), Failure> {
        let Decoding { config, filter } = &mut self.decoding;
        let mut reread = Reread::open(capture.path, self.max_ratio, frames, filter)?;
        let mut decoder = Decoder::new(config.clone());
        while let Some(next) = reread.next()? {
            let Some(number) = next.number else { continue };
            decoder.decode(&next.frame, &mut |segment| scan.on_segment(segment, number));
            scan.end_frame(number, decoder.fragmented_datagram());
        }
        Ok(())
    }

    /// Writes the packets of connections, or all.
    fn copy(
        &mut self,
        found: &Found,
        connections: Option<&Connections>,
        capture: &OpenCapture<'_>,
        frames: u64,
    ) -> Result<(), Failure> {
        let Self { decoding: Decoding { config, filter }, target, writer, totals, max_ratio, .. } = self;
        let mut reread = Reread::open(capture.path, *max_ratio, frames, filter)?;
        let mut decoder = Decoder::new(config.clone());
        let mut interfaces = Interfaces::of_file(capture);
        let mut next_event = 0;
        while let Some(next) = reread.next()? {
            let Some(number) = next.number else { continue };
            let events = found.of_packet(number, &mut next_event);
            let is_wanted = connections.is_none_or(|connections| {
                let mut is_wanted = !events.is_empty() || connections.has_fragment(number);
                decoder.decode(&next.frame, &mut |segment: &Segment<'_>| {
                    is_wanted = is_wanted || connections.contains(&FlowKey::from_segment(segment).0, number);
                });
                is_wanted
            });
            if is_wanted {
                let writer = created(writer, target)?;
                let interface = interfaces.number(writer, &next.interface, &next.frame)?;
                totals.add(events.len());
                write_frame(writer, interface, &next.frame, found, events)?;
            }
        }
        Ok(())
    }
}

/// The output, which is created first if there is none.
fn created<'w>(
    writer: &'w mut Option<ExtractWriter>,
    target: &Target,
) -> Result<&'w mut ExtractWriter, Failure> {
    let open = match writer.take() {
        Some(open) => open,
        None => create_extract(target)?,
    };
    Ok(writer.insert(open))
}

/// Writes a frame with the comments of its events.
fn write_frame(
    writer: &mut PcapngWriter<impl Write>,
    interface: u32,
    frame: &Frame<'_>,
    found: &Found,
    events: &[FoundEvent],
) -> io::Result<()> {
    let comments = events.iter().filter_map(|event| found.comment(event));
    write_commented(writer, interface, frame, events.len(), comments)
}

/// The interfaces of one capture in the output.
struct Interfaces {
    /// The name of the capture file, without its folder.
    file: String,
    /// Numbers in the output, by interface and its index in the capture.
    numbers: HashMap<(CaptureInterface, u16), u32>,
}

impl Interfaces {
    fn of_file(capture: &OpenCapture<'_>) -> Self {
        let name = capture.path.file_name().unwrap_or_default();
        let file = format!("{:#}", Escaped(name.as_encoded_bytes()));
        Self { file, numbers: HashMap::new() }
    }

    /// Returns the number of the interface of a frame, which is described before its first frame.
    fn number(
        &mut self,
        writer: &mut PcapngWriter<impl Write>,
        interface: &CaptureInterface,
        frame: &Frame<'_>,
    ) -> io::Result<u32> {
        let key = (*interface, frame.ts.interface());
        if let Some(number) = self.numbers.get(&key) {
            return Ok(*number);
        }
        let number = writer.add_interface(interface, Some(&self.file))?;
        self.numbers.insert(key, number);
        Ok(number)
    }
}

/// What was written.
#[derive(Debug, Default)]
struct Totals {
    read: u64,
    written: u64,
    connections: u64,
    /// Packets with comments, and the events that these stand for.
    commented: u64,
    events: u64,
    /// Whether limits left something out.
    left_out: bool,
}

impl Totals {
    /// Counts a packet that these events come from.
    fn add(&mut self, events: usize) {
        self.written = self.written.saturating_add(1);
        self.commented = self.commented.saturating_add((events > 0).into());
        self.events = self.events.saturating_add(events as u64);
    }

    fn report(&self, target: &Target) {
        let name = match target {
            Target::Stdout => "standard output".to_owned(),
            Target::File(path) => name_of(path),
        };
        let Self { read, written, connections, commented, events, .. } = *self;
        if written == 0 {
            stderr::report(&format_args!(
                "{name}: not written, none of {} is selected",
                Amount(read, "packet(s)")
            ));
            return;
        }
        let of_connections = match connections {
            0 => String::new(),
            count => format!(" of {}", Amount(count, "connection(s)")),
        };
        stderr::report(&format_args!(
            "{name}: {written} of {}{of_connections}, {commented} with comments on {}",
            Amount(read, "packet(s)"),
            Amount(events, "event(s)")
        ));
    }
}

/// Reports what limits left out of a capture. Returns whether there is anything.
fn report_left_out(capture: &OpenCapture<'_>, left_out: &LeftOut) -> bool {
    let LeftOut { events_of_flows, events, comments, fragments, findings, packets_of_findings } = *left_out;
    let name = name_of(capture.path);
    for (count, what, limit) in [
        (events_of_flows, "event(s) of flows", Some((MAX_EXTRACTED_FLOWS, "flows"))),
        (events, "event(s)", Some((MAX_EXTRACTED_EVENTS, "events"))),
        (comments, "comment(s)", None),
        (fragments, "IP fragment(s)", None),
        (findings, "finding(s)", Some((MAX_EXTRACTED_FINDINGS, "findings"))),
        (packets_of_findings, "packet(s) of findings", Some((MAX_EXTRACTED_FLOWS, "flows"))),
    ] {
        if count == 0 {
            continue;
        }
        let limit = limit.map(|(limit, of)| format!(" of {limit} {of}")).unwrap_or_default();
        stderr::report(&format_args!(
            "{name}: {} beyond the limit{limit} left out: select fewer events, with --where for instance",
            Amount(count, what)
        ));
    }
    *left_out != LeftOut::default()
}
