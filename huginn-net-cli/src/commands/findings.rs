//! `huginn-net findings`: what stands out in captures, a line each.

use std::io::{self, Write};

use huginn_net::alert::Severity;
use huginn_net::core::Amount;
use huginn_net::{Event, HuginnNet};

use crate::args::FindingsArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::FindingsPlan;
use crate::run::{CaptureOutcome, CaptureRun, Networks, OpenCapture, Visitor};
use crate::stderr;
use crate::views::alerts::{AlertList, RankedAlert};

pub(super) fn run(args: FindingsArguments) -> Result<Outcome, Failure> {
    let FindingsPlan { inputs, count, analyzer, networks, output } = FindingsPlan::new(args)?;
    let networks = Networks::new(&networks, &inputs);
    let mut writer = output.create()?;
    let mut run = CaptureRun::start(inputs, count, analyzer, output.is_quiet)?;
    let mut found = Found { networks, alerts: AlertList::default() };
    run.run(&mut found)?;
    let Found { alerts, .. } = found;
    let ranked = alerts.ranked();
    let out = writer.begin_part()?;
    for alert in &ranked {
        let file = run.name(alert.alert.packets.file);
        if output.is_json {
            let json = alert.alert.to_json(file.as_deref()).map_err(io::Error::from)?;
            writeln!(out, "{json}")?;
        } else {
            write_line(out, alert, file.as_deref())?;
        }
    }
    writer.finish()?;
    if !output.is_quiet {
        stderr::report(&summary(&ranked, alerts.left_out()));
    }
    let has_hit = alerts.has_hit() || run.analyzer.shared_state().matches_suppressed() > 0;
    Ok(run.outcome().with_hit(has_hit))
}

/// Writes severity, kind, host and reason, then the evidence: file, packets, display filter.
fn write_line(out: &mut impl Write, ranked: &RankedAlert<'_>, file: Option<&str>) -> io::Result<()> {
    let RankedAlert { alert, others } = ranked;
    let (severity, kind, host) = (alert.severity.name(), alert.kind.name(), alert.host.to_string());
    write!(out, "{severity:<6}  {kind:<17}  {host:<15}  {}", alert.reason)?;
    match &*alert.numbers() {
        "" => {}
        numbers => write!(out, ", {numbers}")?,
    }
    if *others > 0 {
        write!(out, " ({})", Amount(*others, "other(s)"))?;
    }
    writeln!(
        out,
        "  [{}{}: {}]",
        file.map_or(String::new(), |file| format!("{file} ")),
        alert.packets,
        alert.filter
    )
}

/// How many alerts there are, by severity.
fn summary(ranked: &[RankedAlert<'_>], left_out: u64) -> String {
    let of = |severity| ranked.iter().filter(|ranked| ranked.alert.severity == severity).count();
    let mut text = match ranked.len() {
        0 => "nothing stands out".to_owned(),
        all => {
            let (high, medium, low) = (of(Severity::High), of(Severity::Medium), of(Severity::Low));
            format!("{}: {high} high, {medium} medium, {low} low", Amount(all as u64, "alert(s)"))
        }
    };
    if left_out > 0 {
        text.push_str(&format!("; {} more were not kept", Amount(left_out, "report(s)")));
    }
    text
}

/// The alerts of all captures.
struct Found {
    networks: Networks,
    alerts: AlertList,
}

impl Visitor for Found {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { networks, alerts } = self;
        alerts.set_file(capture.index, networks.of(capture.index));
        analyzer.analyze_ref(&mut capture.source, |event: &Event| alerts.add(event)).map(drop)
    }
}
