//! `huginn-net findings`: what stands out in captures, a line each.

use std::io::{self, Write};

use huginn_net::alert::Severity;
use huginn_net::core::Amount;
use huginn_net::hosts::HostLimits;

use super::fold::Fold;
use crate::args::FindingsArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::FindingsPlan;
use crate::run::{CaptureRun, Networks};
use crate::stderr;
use crate::views::store::Part;
use crate::views::store::alerts::RankedAlert;
use crate::views::store::statement::Statement;

pub(super) fn run(args: FindingsArguments) -> Result<Outcome, Failure> {
    let FindingsPlan { inputs, analyzer, networks, output } = FindingsPlan::new(args)?;
    let networks = Networks::new(&networks, &inputs);
    let mut writer = output.create(false)?;
    let mut run = CaptureRun::start(inputs, analyzer, output.is_quiet)?;
    let mut fold = Fold { networks, ..Fold::new(&[Part::Alerts], &HostLimits::default()) };
    run.run(&mut fold)?;
    let alerts = fold.store.alerts;
    let ranked = alerts.ranked();
    let out = writer.begin_part()?;
    for alert in &ranked {
        let file = run.name(alert.alert.statement.packets.file);
        if output.is_json() {
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
    let Statement { host, reason, packets, .. } = &alert.statement;
    let (severity, kind, host) = (alert.severity.name(), alert.kind.name(), host.to_string());
    write!(out, "{severity:<6}  {kind:<17}  {host:<15}  {reason}")?;
    match &*alert.numbers() {
        "" => {}
        numbers => write!(out, ", {numbers}")?,
    }
    if *others > 0 {
        write!(out, " ({})", Amount(*others, "other(s)"))?;
    }
    let file = file.map_or(String::new(), |file| format!("{file} "));
    writeln!(out, "  [{file}{packets}: {}]", alert.filter)
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
