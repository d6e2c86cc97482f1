//! Rules that refuse options without effect.
//!
//! A rule speaks of what an option asks for: `--no-pager` with JSON is accepted, because no pager starts;
//! `--color always` with JSON is one, because JSON has no colours.

use std::borrow::Cow;
use std::path::PathBuf;

use huginn_net::record::EVENT_NAMES;

use super::events::{Scope, Written};
use super::fields::check_fields;
#[cfg(unix)]
use super::output::target;
use super::output::written;
use super::select;
use crate::args::{
    AnalysisArguments, BaselineArguments, CertificateArgument, ColorArgument, DatabaseArguments,
    DiffArguments, EventArguments, EventRunArguments, ExplainArguments, ExtractArguments, FollowArguments,
    Format, InventoryArguments, InventoryFormat, ListOutputArguments, ListOutputFormat, OutputArguments,
    PacketArguments, PcapArguments, ProtocolArgument, ReportArguments, SelectArguments, TopArguments,
};
#[cfg(unix)]
use crate::args::{LiveArguments, WatchArguments};
#[cfg(unix)]
use crate::config;
use crate::failure::Failure;
#[cfg(unix)]
use crate::output::{Target, names_socket};
use crate::views::diff::COMPARED_EVENTS;
use crate::views::store::ValueKind;

/// Refuses a command line with the first rule that it breaks: a condition, and what to do.
fn refuse<const N: usize>(rules: [(bool, &'static str); N]) -> Result<(), Failure> {
    let broken = rules.into_iter().find(|(is_broken, _)| *is_broken);
    broken.map_or(Ok(()), |(_, advice)| Err(Failure::Usage(advice.into())))
}

fn fail(advice: impl Into<Cow<'static, str>>) -> Result<(), Failure> {
    Err(Failure::Usage(advice.into()))
}

/// Checks that key logs decrypt something: HTTP is the only content that is read.
pub(super) fn check_key_logs(key_logs: &[PathBuf], packets: &PacketArguments) -> Result<(), Failure> {
    refuse([(
        !key_logs.is_empty() && !packets.protocols.contains(&ProtocolArgument::Http),
        "--keylog reports the HTTP inside TLS: add http to --protocols, or leave --keylog out",
    )])
}

/// Checks the key logs of a command that writes events.
fn check_event_key_logs(key_logs: &[PathBuf], run: &EventRunArguments) -> Result<(), Failure> {
    refuse([(
        !key_logs.is_empty() && run.output.format == Format::P0f,
        "--format p0f does not decrypt: leave --keylog out, or choose another format",
    )])?;
    check_key_logs(key_logs, &run.analysis.packets)
}

/// Checks the options of `pcap`.
pub(super) fn check_pcap(args: &PcapArguments) -> Result<(), Failure> {
    check_event_key_logs(&args.input.keylog, &args.run)?;
    let is_zeek = matches!(args.run.output.format, Format::Zeek | Format::ZeekTsv);
    refuse([(
        args.zeek_dir.is_some() && !is_zeek,
        "--zeek-dir is for logs of Zeek: add --format zeek or zeek-tsv, or leave it out",
    )])?;
    refuse([(
        !args.kinds.is_empty() && args.top.is_none() && args.rare.is_none(),
        "--kinds selects fingerprints of --top and --rare: add one of them",
    )])?;
    if !args.summary && args.top.is_none() && args.rare.is_none() {
        return check_event_run(&args.run, WhereEvents::Written);
    }
    check_analysis(&args.run.analysis)?;
    if args.summary {
        check_summary(args)?
    } else {
        check_fingerprints(args)?
    }
    check_output(&args.run.output, false)
}

/// Checks the options of `inventory`.
pub(super) fn check_inventory(args: &InventoryArguments) -> Result<(), Failure> {
    let PacketArguments { protocols, .. } = &args.analysis.packets;
    let DatabaseArguments { db, clients } = &args.analysis.databases;
    let is_human = args.format == InventoryFormat::Human;
    refuse([
        (!args.input.keylog.is_empty(), "the inventory reads what is not encrypted: leave --keylog out"),
        (
            !protocols.contains(&ProtocolArgument::Tls) && !protocols.contains(&ProtocolArgument::Ssh),
            "the inventory has TLS and SSH: add one of them to --protocols",
        ),
        (
            db.is_some() || !clients.is_empty(),
            "the inventory names no software: leave --db and --clients out",
        ),
        (
            args.top.is_some() && !is_human,
            "--top is for --format human: other formats have all servers and clients",
        ),
        (args.local_time && !is_human, "--local-time is for --format human: other formats have times in UTC"),
    ])
}

/// Checks the output of `follow` and `diff`.
pub(super) fn check_list_output(args: &ListOutputArguments) -> Result<(), Failure> {
    refuse([(
        args.local_time && args.format != ListOutputFormat::Human,
        "--local-time is for --format human: other formats have times in UTC",
    )])
}

/// Checks the options of `top`.
pub(super) fn check_top(args: &TopArguments) -> Result<(), Failure> {
    check_key_logs(&args.input.keylog, &args.analysis.packets)?;
    check_analysis(&args.analysis)?;
    check_thresholds(&args.events, &[])?;
    select::check_kinds(&args.select, &scope(&args.analysis, &args.events, Written::ALL))
}

/// Checks the condition of `report`.
pub(super) fn check_report(args: &ReportArguments, events: &EventArguments) -> Result<(), Failure> {
    select::check_kinds(&args.select, &scope(&args.analysis, events, Written::ALL))
}

/// Checks the condition of `follow`, which shows connections and findings, but has no watch lists.
pub(super) fn check_follow(args: &FollowArguments) -> Result<(), Failure> {
    let kinds: Vec<&'static str> = EVENT_NAMES.into_iter().filter(|event| *event != "match").collect();
    let written = Written { kinds: &kinds, by: "follow does not show" };
    check_list(&args.analysis, &args.select, written)
}

/// Checks the condition of `diff`.
pub(super) fn check_diff(args: &DiffArguments) -> Result<(), Failure> {
    check_list(&args.analysis, &args.select, Written { kinds: &COMPARED_EVENTS, by: "diff does not compare" })
}

fn check_list(
    analysis: &AnalysisArguments,
    select: &SelectArguments,
    written: Written<'_>,
) -> Result<(), Failure> {
    let scope = Scope {
        format: Format::Json,
        protocols: &analysis.packets.protocols,
        connections: true,
        watches: false,
        has_baseline: false,
        written,
    };
    select::check_kinds(select, &scope)
}

/// What decides which events a command writes as JSON.
fn scope<'a>(analysis: &'a AnalysisArguments, events: &EventArguments, written: Written<'a>) -> Scope<'a> {
    Scope {
        format: Format::Json,
        protocols: &analysis.packets.protocols,
        connections: events.connections,
        watches: !events.fingerprints.is_empty(),
        has_baseline: false,
        written,
    }
}

/// Checks the thresholds of findings. `written`: the kinds of events that are selected.
fn check_thresholds(events: &EventArguments, written: &[&str]) -> Result<(), Failure> {
    refuse([(
        events.thresholds.is_set() && !events.findings && !written.contains(&"finding"),
        "--scan-ports, --scan-hosts and --beacon-count need --findings",
    )])
}

/// Checks the options of `extract`.
pub(super) fn check_extract(args: &ExtractArguments) -> Result<(), Failure> {
    check_key_logs(&args.input.keylog, &args.analysis.packets)?;
    check_analysis(&args.analysis)?;
    check_thresholds(&args.event_additions, &args.events)?;
    let written = Written { kinds: &args.events, by: "--events leaves out" };
    let scope = scope(&args.analysis, &args.event_additions, written);
    match args.events.iter().find_map(|event| scope.obstacle(event)) {
        Some(advice) => fail(advice),
        None => select::check_kinds(&args.select, &scope),
    }
}

/// Checks the options of `live`.
#[cfg(unix)]
pub(super) fn check_live(args: &LiveArguments) -> Result<(), Failure> {
    let key_logs = &args.capture.keylog;
    // The other outputs have what is decrypted.
    let has_other_format = |output: &LiveArguments| output.run.output.format != Format::P0f;
    match args.outputs.iter().find(|output| has_other_format(output)).or(args.outputs.first()) {
        Some(output) => check_event_key_logs(key_logs, &output.run)?,
        None => check_key_logs(key_logs, &args.run.analysis.packets)?,
    }
    for output in &args.outputs {
        check_live_output(output, args.tui)
            .map_err(|failure| config::locate(output.place.as_ref(), failure))?;
    }
    check_effects(args.outputs.iter().map(|output| &output.run))?;
    let EventRunArguments { events, baseline, output, .. } = &args.run;
    refuse([(
        args.extract.extract.is_some()
            && !output.select.is_set()
            && output.events.is_empty()
            && events.fingerprints.is_empty()
            && !events.findings
            && baseline.baseline.is_empty(),
        "--extract needs what selects connections: --where, --events, --fingerprints, --findings or --baseline",
    )])
}

/// Checks the options of an output of `live`, as if it was the only one.
#[cfg(unix)]
fn check_live_output(args: &LiveArguments, has_view: bool) -> Result<(), Failure> {
    let LiveArguments { run, rotation, .. } = args;
    let output = &run.output;
    let target = target(output.output.as_deref());
    let is_socket = matches!(&target, Target::File(path) if names_socket(path));
    let is_written = target != Target::Stdout;
    let has_file = is_written && !is_socket;
    let place = match (has_view, is_written) {
        (true, true) => WhereEvents::ShownAndWritten,
        (true, false) => WhereEvents::Shown,
        (false, _) => WhereEvents::Written,
    };
    check_event_output(run, place)?;
    let is_parquet = output.format == Format::Parquet;
    let has_folders = rotation.has_hour_folders();
    let rotates = rotation.rotate_size.is_some() || rotation.rotate_interval.is_some() || has_folders;
    refuse([
        (
            output.format == Format::Arrow,
            "--format arrow is for captures: 'live' writes Parquet, JSON, CSV or TSV",
        ),
        (
            is_parquet && !(has_file && rotates),
            "--format parquet of 'live' needs -o FILE, and --rotate-interval, --rotate-size or --hour-folders: a file can be \
             read once it is complete",
        ),
        (
            is_socket && output.certificates == CertificateArgument::Once,
            "--certificates once is for files and standard output: a socket has no beginning for its readers",
        ),
        (rotates && is_socket, "a socket cannot be rotated: leave --rotate-size and --rotate-interval out"),
        (has_folders && !is_parquet, "--hour-folders is for --format parquet"),
        (rotates && !has_file, "standard output cannot be rotated: name a file with -o"),
    ])
}

/// Checks the options of `watch`.
#[cfg(unix)]
pub(super) fn check_watch(args: &WatchArguments) -> Result<(), Failure> {
    check_event_key_logs(&args.keylog, &args.run)?;
    check_event_run(&args.run, WhereEvents::Written)?;
    refuse([(args.run.analysis.count.is_some(), "watch reads complete captures: leave --count out")])
}

/// Checks the options of `explain`.
pub(super) fn check_explain(args: &ExplainArguments) -> Result<(), Failure> {
    let DatabaseArguments { db, clients } = &args.databases;
    let is_signature = args.fingerprint.is_signature();
    refuse([
        (
            args.other.is_some() && (db.is_some() || !clients.is_empty()),
            "two fingerprints are compared without databases: leave --db and --clients out",
        ),
        (
            is_signature && !clients.is_empty(),
            "--clients names TLS, HTTP/2 and SSH clients: --db names the senders of p0f signatures",
        ),
        (
            !is_signature && db.is_some(),
            "--db names the senders of p0f signatures: --clients names TLS, HTTP/2 and SSH clients",
        ),
    ])
}

/// Checks that the databases name a protocol that is analysed.
pub(super) fn check_databases(
    databases: &DatabaseArguments,
    packets: &PacketArguments,
) -> Result<(), Failure> {
    let has = |protocol| packets.protocols.contains(&protocol);
    let (tcp, http) = (has(ProtocolArgument::Tcp), has(ProtocolArgument::Http));
    refuse([
        (
            databases.db.is_some() && !tcp && !http,
            "--db names TCP and HTTP signatures: add one of them to --protocols",
        ),
        (
            !databases.clients.is_empty()
                && !http
                && !has(ProtocolArgument::Tls)
                && !has(ProtocolArgument::Ssh),
            "--clients names TLS, HTTP/2 and SSH clients: add one of them to --protocols",
        ),
    ])
}

pub(super) fn check_analysis(args: &AnalysisArguments) -> Result<(), Failure> {
    check_databases(&args.databases, &args.packets)
}

/// Where events go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhereEvents {
    Written,
    /// To the terminal view, and to a file as the options of the output say.
    #[cfg(unix)]
    ShownAndWritten,
    /// To the terminal view only.
    #[cfg(unix)]
    Shown,
}

/// Checks what commands that write events have in common.
fn check_event_run(run: &EventRunArguments, place: WhereEvents) -> Result<(), Failure> {
    check_effects([run].into_iter())?;
    check_event_output(run, place)
}

/// Checks an output of events.
fn check_event_output(run: &EventRunArguments, place: WhereEvents) -> Result<(), Failure> {
    let EventRunArguments { analysis, output, .. } = run;
    check_analysis(analysis)?;
    check_events(run, place)?;
    let is_written = match place {
        #[cfg(unix)]
        WhereEvents::Shown => false,
        _ => true,
    };
    check_output(output, is_written)
}

/// Checks the options of events.
fn check_events(run: &EventRunArguments, place: WhereEvents) -> Result<(), Failure> {
    let EventRunArguments { analysis, events, baseline, output } = run;
    let format = output.format;
    let has_protocol = |wanted: &[ProtocolArgument]| {
        wanted.iter().any(|protocol| analysis.packets.protocols.contains(protocol))
    };
    let writes_once = output.certificates == CertificateArgument::Once;
    refuse([
        (
            !output.fields.is_empty() && !matches!(format, Format::Json | Format::Csv | Format::Tsv),
            "--fields selects fields of --format json, csv or tsv",
        ),
        (
            (output.sensor_name.is_some() || !output.add_field.is_empty()) && format != Format::Json,
            "--sensor-name and --add-field are for --format json",
        ),
        (
            writes_once && !(format == Format::Json && output.fields.is_empty()),
            "--certificates once is for --format json with all fields",
        ),
        (
            output.local_time && format != Format::Human && place == WhereEvents::Written,
            "--local-time is for --format human: other formats have times in UTC",
        ),
        (
            format == Format::P0f && !has_protocol(&[ProtocolArgument::Tcp, ProtocolArgument::Http]),
            "--format p0f has TCP and HTTP only: add one of them to --protocols, or choose another format",
        ),
    ])?;
    #[cfg(unix)]
    refuse([(
        place == WhereEvents::Shown
            && (format != Format::Human
                || !output.events.is_empty()
                || output.only_matches
                || output.select.is_set()
                || output.color == ColorArgument::Always),
        "--tui shows all events: --format, --events, --where and --color are for events in a file, which -o FILE names",
    )])?;
    let kinds = written(output, events);
    let by = if output.only_matches { "--only-matches leaves out" } else { "--events leaves out" };
    let has_baseline = !baseline.baseline.is_empty();
    let scope = Scope { format, has_baseline, ..scope(analysis, events, Written { kinds: &kinds, by }) };
    let certificates = writes_once.then_some("tls_certificates");
    if let Some(advice) =
        output.events.iter().copied().chain(certificates).find_map(|event| scope.obstacle(event))
    {
        return fail(advice);
    }
    refuse([(
        writes_once && !scope.written.contains("tls_certificates"),
        "--certificates once shortens the event 'tls_certificates': add it to --events, or leave --certificates out",
    )])?;
    select::check_kinds(&output.select, &scope)?;
    check_fields(&output.fields, &scope.possible(&kinds))
}

/// Checks that what is asked of the analysis has an effect in an output at least.
fn check_effects<'a>(runs: impl Iterator<Item = &'a EventRunArguments>) -> Result<(), Failure> {
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
    let is_p0f = output.format == Format::P0f;
    refuse([
        (
            is_p0f && events.connections,
            "--format p0f has no event 'connection': leave --connections out, or choose another format",
        ),
        (
            is_p0f && !events.fingerprints.is_empty(),
            "--format p0f has no event 'match': leave --fingerprints out, or choose another format",
        ),
        (
            is_p0f && events.findings,
            "--format p0f has no event 'finding': leave --findings out, or choose another format",
        ),
        (
            events.findings && !output.events.is_empty() && !output.events.contains(&"finding"),
            "--findings reports the event 'finding': add it to --events, or leave --findings out",
        ),
        (
            is_p0f && !analysis.databases.clients.is_empty(),
            "--format p0f has names of --db only: leave --clients out, or choose another format",
        ),
    ])?;
    check_thresholds(events, &output.events)?;
    check_baseline(baseline, output)
}

/// Checks the options of baselines.
fn check_baseline(baseline: &BaselineArguments, output: &OutputArguments) -> Result<(), Failure> {
    let BaselineArguments { baseline, write_baseline } = baseline;
    let is_p0f = output.format == Format::P0f;
    refuse([
        (
            is_p0f && !baseline.is_empty(),
            "--format p0f has no event 'finding': leave --baseline out, or choose another format",
        ),
        (
            is_p0f && write_baseline.is_some(),
            "--format p0f has SYN signatures only: leave --write-baseline out, or choose another format",
        ),
        (
            !baseline.is_empty() && !output.events.is_empty() && !output.events.contains(&"finding"),
            "--baseline reports the event 'finding': add it to --events, or leave --baseline out",
        ),
    ])
}

/// Checks the options of `pcap --summary`.
fn check_summary(args: &PcapArguments) -> Result<(), Failure> {
    refuse([
        (
            args.top.is_some() || args.rare.is_some(),
            "--summary writes hosts, --top and --rare write fingerprints: run the program once for each",
        ),
        (
            !args.run.output.events.is_empty(),
            "--summary writes hosts, which --events does not select: leave one of them out",
        ),
        (
            args.run.output.select.is_set(),
            "--summary writes hosts, and --where, --from and --to select events: leave one of them out",
        ),
    ])?;
    check_totals(args)
}

/// Checks the options of `pcap --top` and `pcap --rare`.
fn check_fingerprints(args: &PcapArguments) -> Result<(), Failure> {
    let names = || ValueKind::fingerprints().map(ValueKind::name);
    if let Some(kind) = args.kinds.iter().find(|kind| !names().any(|name| name == *kind)) {
        let known: Vec<&str> = names().collect();
        return fail(format!("--kinds: unknown kind '{kind}', expected one of {}", known.join(", ")));
    }
    let has_fingerprint = |event: &str| ValueKind::fingerprints().any(|kind| kind.event() == event);
    if let Some(event) = args.run.output.events.iter().find(|event| !has_fingerprint(event)) {
        return fail(format!("--top and --rare count fingerprints, and the event '{event}' has none"));
    }
    let counted: Vec<&'static str> = ValueKind::fingerprints()
        .map(ValueKind::event)
        .filter(|event| args.run.output.events.is_empty() || args.run.output.events.contains(event))
        .collect();
    let scope = Scope {
        format: args.run.output.format,
        protocols: &args.run.analysis.packets.protocols,
        connections: true,
        watches: false,
        has_baseline: false,
        written: Written { kinds: &counted, by: "--top and --rare do not count" },
    };
    check_totals(args)?;
    select::check_kinds(&args.run.output.select, &scope)?;
    match args.run.output.events.iter().find_map(|event| scope.obstacle(event)) {
        Some(advice) => fail(advice),
        None => Ok(()),
    }
}

/// Checks the options that `--summary`, `--top` and `--rare` share: they write no events.
fn check_totals(args: &PcapArguments) -> Result<(), Failure> {
    let EventRunArguments { events, baseline, output, .. } = &args.run;
    refuse([
        (
            args.summary && !matches!(output.format, Format::Human | Format::Json),
            "--summary writes --format human or json",
        ),
        (
            !matches!(output.format, Format::Human | Format::Json | Format::Csv),
            "--top and --rare write --format human, json or csv",
        ),
        (
            output.format == Format::Csv && args.top.is_some() && args.rare.is_some(),
            "--top and --rare are two tables: with --format csv, run the program once for each",
        ),
        (
            !output.fields.is_empty(),
            "--fields selects fields of events, which --summary, --top and --rare do not write",
        ),
        (
            output.certificates == CertificateArgument::Once,
            "--certificates once shortens events, which --summary, --top and --rare do not write",
        ),
        (
            output.sensor_name.is_some() || !output.add_field.is_empty(),
            "--sensor-name and --add-field add to events, which --summary, --top and --rare do not write",
        ),
        (events.connections, "--connections adds events, which --summary, --top and --rare do not write"),
        (
            events.findings || events.thresholds.is_set(),
            "--findings adds events, which --summary, --top and --rare do not write",
        ),
        (
            !baseline.baseline.is_empty(),
            "--baseline adds events, which --summary, --top and --rare do not write",
        ),
        (
            baseline.write_baseline.is_some(),
            "--write-baseline is for events: run the program without --summary, --top and --rare",
        ),
        (
            !events.fingerprints.is_empty(),
            "--fingerprints adds events, which --summary, --top and --rare do not write",
        ),
        (
            output.local_time && output.format != Format::Human,
            "--local-time is for --format human: other formats have times in UTC",
        ),
    ])
}

/// Checks the options of the output, whatever it contains.
fn check_output(output: &OutputArguments, has_events: bool) -> Result<(), Failure> {
    let has_blocks = has_events && output.format == Format::Human;
    let has_colours = has_events && output.format == Format::Human;
    refuse([
        (
            output.verbose && output.quiet && !has_blocks,
            "--verbose prints what --quiet leaves out: leave one of them out",
        ),
        (
            output.color == ColorArgument::Always && !has_colours,
            "--color is for events of --format human: others have no colours",
        ),
    ])
}
