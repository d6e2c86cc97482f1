//! Conditions on events.

use huginn_net::record::EVENT_NAMES;
use huginn_net::select::{Selection, SelectionError, SelectionErrorKind};

use super::events::Scope;
use super::fields::{MIN_SIMILARITY, suggest};
use super::refusals;
use crate::args::{EventArguments, SelectArguments};
use crate::failure::Failure;
use crate::output::Selected;
use crate::similar::most_similar;

/// Fields of other programs, and those of this one.
const FIELDS: [(&[&str], &str); 13] = [
    (&["src", "src_ip", "srcip", "source", "ip.src", "src.ip", "saddr", "id.orig_h"], "'client.ip'"),
    (
        &["dst", "dst_ip", "dstip", "dest", "dest_ip", "destination", "ip.dst", "dst.ip", "id.resp_h"],
        "'server.ip'",
    ),
    (&["src_port", "sport", "srcport", "tcp.srcport", "udp.srcport", "id.orig_p"], "'client.port'"),
    (
        &["dst_port", "dport", "dest_port", "dstport", "tcp.dstport", "udp.dstport", "id.resp_p"],
        "'server.port'",
    ),
    (&["addr", "address", "ip.addr", "host.ip"], "'ip'"),
    (&["tcp.port", "udp.port"], "'port'"),
    (&["domain", "hostname", "fqdn", "dns", "server_name", "tls.sni"], "'sni' or 'host'"),
    (&["time", "timestamp", "date", "frame.time", "@timestamp"], "'ts'"),
    (&["useragent", "ua", "http.user_agent", "agent"], "'user_agent'"),
    (&["os", "system", "platform"], "'label.name'"),
    (&["kind", "event_type", "proto"], "'event'"),
    (&["ja3.hash", "tls.ja3"], "'ja3_hash'"),
    (&["frame.number", "frame", "number", "packet_number"], "'packet'"),
];

/// Enables the events 'connection' and 'finding' if they are selected, or the condition names them or a field that few other events have.
/// `written`: the kinds of events that are written, all if there are none.
pub(super) fn switch_on(
    args: &SelectArguments,
    written: &[&str],
    events: &mut EventArguments,
) -> Result<(), Failure> {
    let is_written = |kind: &str| written.is_empty() || written.contains(&kind);
    events.connections |= written.contains(&"connection");
    events.findings |= written.contains(&"finding");
    let Some(condition) = condition(args)? else { return Ok(()) };
    events.connections |= condition.requests("connection") && is_written("connection");
    events.findings |= condition.requests("finding") && is_written("finding");
    Ok(())
}

/// Fails if the condition can hold only in events that are not written, or a comparison only in events that cannot occur.
pub(super) fn check_kinds(args: &SelectArguments, scope: &Scope<'_>) -> Result<(), Failure> {
    let Some(condition) = condition(args)? else { return Ok(()) };
    match obstacle(&condition, scope) {
        Some(advice) => Err(Failure::Usage(format!("--where: {advice}").into())),
        None => Ok(()),
    }
}

/// What to do so that each comparison can hold in an event that is written.
fn obstacle(condition: &Selection, scope: &Scope<'_>) -> Option<String> {
    let mut possible = condition.possible_kinds();
    if let Some(advice) = scope.common_omission(&possible) {
        return Some(advice);
    }
    possible.retain(|kind| scope.written.contains(kind));
    let mut wanted = condition.wanted_kinds().into_iter().chain([possible]);
    if let Some(advice) = wanted.find_map(|kinds| scope.common_obstacle(&kinds)) {
        return Some(advice);
    }
    condition.wanted_fields().find_map(|(field, texts)| scope.field_obstacle(field, texts))
}

fn condition(args: &SelectArguments) -> Result<Option<Selection>, Failure> {
    args.condition.as_ref().map(|text| text.parse().map_err(|error| wrong(text, &error))).transpose()
}

/// Reads what selects events, of these kinds, or of all if there are none.
pub(super) fn selected(args: &SelectArguments, events: Vec<&'static str>) -> Result<Selected, Failure> {
    let SelectArguments { from, to, .. } = args;
    if let (Some(from), Some(to)) = (from, to)
        && from.as_nanos() >= to.as_nanos()
    {
        return Err(refusals::TIMES.failure(&[]));
    }
    Ok(Selected { events, condition: condition(args)?, from: *from, to: *to })
}

/// Points at the error of a condition.
fn wrong(text: &str, error: &SelectionError) -> Failure {
    let hint = match &error.kind {
        SelectionErrorKind::UnknownField(path) => format!(": {}", field_like(path)),
        SelectionErrorKind::UnknownValue { value, known, .. } => format!(": {}", value_like(value, known)),
        _ => String::new(),
    };
    let marker = format!("{}^", " ".repeat(error.position));
    Failure::Usage(format!("--where: {error}{hint}\n  {text}\n  {marker}").into())
}

/// Names the field that another program calls so, or the most similar ones.
fn field_like(path: &str) -> String {
    let lower = path.to_ascii_lowercase();
    match FIELDS.iter().find(|(names, _)| names.contains(&&*lower)) {
        Some((_, field)) => format!("did you mean {field}?"),
        None => suggest(&lower, EVENT_NAMES),
    }
}

/// Names the most similar value, or all.
fn value_like(value: &str, known: &[&str]) -> String {
    let lower = value.to_ascii_lowercase();
    let similarity = |name: &&&str| strsim::jaro_winkler(&lower, name);
    match most_similar(known.iter(), similarity, MIN_SIMILARITY).next() {
        Some(name) => format!("did you mean '{name}'?"),
        None => format!("it is one of {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(condition: &str) -> String {
        let args = SelectArguments { condition: Some(condition.to_owned()), ..SelectArguments::default() };
        let error = selected(&args, Vec::new()).unwrap_err().to_string();
        error.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn unknown_names_have_the_nearest_ones() {
        for (condition, hint) in [
            ("src_ip == 10.0.0.1", "unknown field 'src_ip': did you mean 'client.ip'?"),
            ("ip.src == 10.0.0.1", "unknown field 'ip.src': did you mean 'client.ip'?"),
            ("addr == 10.0.0.1", "unknown field 'addr': did you mean 'ip'?"),
            ("dst_port == 443", "unknown field 'dst_port': did you mean 'server.port'?"),
            ("domain ~ 'x'", "unknown field 'domain': did you mean 'sni' or 'host'?"),
            ("SNI ~ 'x'", "unknown field 'SNI': did you mean 'sni'"),
            ("event == 'tls_clien'", "unknown event 'tls_clien': did you mean 'tls_client'?"),
            ("finding == 'sacn'", "unknown finding 'sacn': did you mean 'scan'?"),
            ("finding in ('scan', 'x')", "unknown finding 'x': it is one of c2_certificate, "),
        ] {
            let error = error(condition);
            assert!(error.contains(hint), "{condition}: {error}");
        }
    }

    #[test]
    fn names_of_other_programs_stand_for_fields_of_events() {
        for (names, fields) in FIELDS {
            for field in fields.split('\'').filter(|part| !part.trim().is_empty() && *part != " or ") {
                assert!(format!("{field} != null").parse::<Selection>().is_ok(), "{field}");
            }
            for name in names {
                let known = format!("{name} != null").parse::<Selection>();
                assert!(known.is_err(), "{name}");
            }
        }
    }
}
