//! What `pcap`, `watch` and `live` have in common: they write events as they come.

use std::time::Duration;

use huginn_net::Configure;
use huginn_net::hosts::HostLimits;

use super::events::{Scope, Written};
use super::fields::{check_columns, check_fields};
use super::output::written;
use super::{AnalysisPlan, refusals, select};
use crate::args::{CertificateArgument, ColorArgument, EventRunArguments, Format, ProtocolArgument};
use crate::failure::Failure;

/// Idle time after which p0f forgets a host. It looks for idle hosts every 50 packets only, so that in small captures it
/// forgets none.
pub(super) const P0F_HOST_IDLE: Duration = Duration::from_secs(30 * 86_400);

/// Where events go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhereEvents {
    Written,
    /// To the terminal view, and to a file as the options of the output say.
    #[cfg(unix)]
    ShownAndWritten,
    /// To the terminal view only.
    #[cfg(unix)]
    Shown,
}

/// Enables the kinds of events that options and the condition name; of the condition, unless the format has none of them.
pub(super) fn switch_on_kinds(run: &mut EventRunArguments) -> Result<(), Failure> {
    let EventRunArguments { events, output, .. } = run;
    events.findings |= events.alerts.thresholds.is_set();
    if output.format == Format::P0f {
        return Ok(());
    }
    select::switch_on(&output.select, &output.events, events)
}

/// The analysis of captures whose events are written.
pub(super) fn event_analysis(run: &EventRunArguments) -> Result<AnalysisPlan, Failure> {
    let plan = AnalysisPlan::of_events(run, &[&run.output])?;
    if run.output.format != Format::P0f {
        return Ok(plan);
    }
    let hosts = HostLimits::default().idle_timeout(P0F_HOST_IDLE);
    Ok(plan.configure(|builder| builder.hosts(hosts)).limited_to_p0f())
}

/// Checks the options of a command with one output.
pub(super) fn check_event_run(run: &EventRunArguments) -> Result<(), Failure> {
    check_effects([run].into_iter())?;
    let is_used = has_fields(run.output.format) || run.baseline.is_set();
    refusals::OWN_FIELDS_FORMAT.check(run.output.site.is_some() && !is_used)?;
    check_event_output(run, WhereEvents::Written)
}

/// Checks the options of an output of events.
pub(super) fn check_event_output(run: &EventRunArguments, place: WhereEvents) -> Result<(), Failure> {
    let EventRunArguments { analysis, events, baseline, output } = run;
    let format = output.format;
    let protocols = &*analysis.protocols.protocols;
    let is_human = format == Format::Human;
    let is_table = matches!(format, Format::Parquet | Format::Arrow);
    let is_in_fields = is_table || matches!(format, Format::Json | Format::Csv | Format::Tsv);
    refusals::FIELDS_FORMAT.check(!output.fields.is_empty() && !is_in_fields)?;
    let has_own_fields = output.sensor_name.is_some() || !output.add_field.is_empty();
    refusals::OWN_FIELDS_FORMAT.check(has_own_fields && !has_fields(format))?;
    let has_all_fields = format == Format::Json && output.fields.is_empty();
    refusals::CONNECTION_IDS.check(output.connection_ids && !(has_all_fields || is_table))?;
    let writes_once = output.certificates == CertificateArgument::Once;
    refusals::CERTIFICATES_FORMAT.check(writes_once && !has_all_fields)?;
    if output.local_time && !is_human && place == WhereEvents::Written {
        return Err(refusals::OF_HUMAN_FORMAT.failure(&["--local-time"]));
    }
    let has_p0f_protocols =
        [ProtocolArgument::Tcp, ProtocolArgument::Http].iter().any(|protocol| protocols.contains(protocol));
    refusals::P0F_PROTOCOLS.check(format == Format::P0f && !has_p0f_protocols)?;
    let selects = !output.events.is_empty() || output.only_matches || output.select.is_set();
    let has_colours = output.color == ColorArgument::Always;
    #[cfg(unix)]
    refusals::TERMINAL_VIEW.check(place == WhereEvents::Shown && (!is_human || selects || has_colours))?;
    let kinds = written(output, events);
    let by = if output.only_matches { "--only-matches leaves out" } else { "--events leaves out" };
    let scope = Scope {
        format,
        has_baseline: !baseline.baseline.is_empty(),
        ..Scope::new(protocols, events, Written { kinds: &kinds, by })
    };
    scope.check(&output.events)?;
    select::check_kinds(&output.select, &scope)?;
    if is_table {
        check_columns(&output.fields, &scope.possible(&kinds))?;
    } else {
        check_fields(&output.fields, &scope.possible(&kinds))?;
    }
    refusals::COLOUR.check(has_colours && !is_human)
}

/// Whether events of a format have fields.
pub(super) fn has_fields(format: Format) -> bool {
    !matches!(format, Format::Human | Format::P0f)
}

/// Checks that what is asked of the analysis has an effect in an output at least.
pub(super) fn check_effects<'a>(runs: impl Iterator<Item = &'a EventRunArguments>) -> Result<(), Failure> {
    let mut outcome = Ok(());
    for run in runs {
        match check_effect(run) {
            Ok(()) => return Ok(()),
            error if outcome.is_ok() => outcome = error,
            Err(_) => {}
        }
    }
    outcome
}

/// Checks that an output has what is asked of the analysis.
fn check_effect(run: &EventRunArguments) -> Result<(), Failure> {
    let EventRunArguments { analysis, events, baseline, output } = run;
    let of_findings = [("--findings", events.findings), ("--baseline", !baseline.baseline.is_empty())];
    let not_of_p0f = [
        ("--connections", events.connections),
        ("--fingerprints", !events.alerts.fingerprints.is_empty()),
        ("--write-baseline", baseline.write_baseline.is_some()),
        ("--clients", !analysis.databases.clients.is_empty()),
        ("--keylog", !analysis.protocols.keylog.is_empty()),
    ];
    let is_set = |(_, is_set): &(&str, bool)| *is_set;
    if output.format == Format::P0f
        && let Some((option, _)) = of_findings.into_iter().chain(not_of_p0f).find(is_set)
    {
        return Err(refusals::P0F_OPTION.failure(&[option]));
    }
    if !output.events.is_empty()
        && !output.events.contains(&"finding")
        && let Some((option, _)) = of_findings.into_iter().find(is_set)
    {
        return Err(refusals::FINDINGS_LEFT_OUT.failure(&[option, option]));
    }
    Ok(())
}
