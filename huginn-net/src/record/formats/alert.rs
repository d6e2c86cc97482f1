//! Values of alerts.

use std::net::SocketAddr;

use super::values::{number, text};
use crate::alert::{Alert, Severity};
use crate::observation::FindingKind;
use crate::record::{Ip, describe};
use crate::{Event, Observation};

/// OCSF's number of the class Detection Finding, before that of an activity.
const OCSF_TYPE: u32 = 200_400;

pub(super) fn kind(event: &Event, out: &mut Vec<u8>) -> bool {
    Alert::of(event).is_some_and(|alert| text(out, alert.kind().name()))
}

/// The kind as the only element of a list.
pub(super) fn kinds(event: &Event, out: &mut Vec<u8>) -> bool {
    Alert::of(event).is_some_and(|alert| {
        describe::append(out, &vec![alert.kind().name()]);
        true
    })
}

pub(super) fn kind_number(event: &Event, out: &mut Vec<u8>) -> bool {
    Alert::of(event).is_some_and(|alert| number(out, alert.kind().number()))
}

pub(super) fn title(event: &Event, out: &mut Vec<u8>) -> bool {
    Alert::of(event).is_some_and(|alert| text(out, alert.kind().title()))
}

pub(super) fn page(event: &Event, out: &mut Vec<u8>) -> bool {
    Alert::of(event).is_some_and(|alert| text(out, alert.kind().page()))
}

pub(super) fn reason(event: &Event, out: &mut Vec<u8>) -> bool {
    Alert::of(event).is_some_and(|alert| text(out, &alert.reason().to_string()))
}

/// Zeek's form of the kind: capitals at the start of words, which underscores join.
pub(super) fn note(event: &Event, out: &mut Vec<u8>) -> bool {
    Alert::of(event).is_some_and(|alert| {
        let words = alert.kind().name().split('_').map(|word| {
            let (first, rest) = word.split_at_checked(1).unwrap_or_default();
            first.to_ascii_uppercase() + rest
        });
        text(out, &format!("Huginn::{}", words.collect::<Vec<_>>().join("_")))
    })
}

/// The host that the alert is about.
pub(super) fn host(event: &Event, out: &mut Vec<u8>) -> bool {
    append_ip(event.subject_addr(), out)
}

/// The other side of the connection.
pub(super) fn peer(event: &Event, out: &mut Vec<u8>) -> bool {
    append_ip(event.subject.choose(event.flow.server, event.flow.client), out)
}

fn append_ip(address: SocketAddr, out: &mut Vec<u8>) -> bool {
    describe::append(out, &Ip(address.ip()));
    true
}

pub(super) fn server_port(event: &Event, out: &mut Vec<u8>) -> bool {
    number(out, event.flow.server.port())
}

pub(super) fn transport(event: &Event, out: &mut Vec<u8>) -> bool {
    text(out, event.flow.transport.name())
}

/// The number of an alert that counts: targets of a scan, contacts of a beacon, failed logins, SYNs of a tool.
pub(super) fn count(event: &Event, out: &mut Vec<u8>) -> bool {
    let count = match &event.kind {
        Observation::Tool(found) => found.syns,
        Observation::Finding(finding) => match &finding.kind {
            FindingKind::Scan(found) => found.targets.into(),
            FindingKind::Beacon(found) => found.contacts.into(),
            FindingKind::BruteForce(found) => found.attempts.into(),
            _ => return false,
        },
        _ => return false,
    };
    number(out, count)
}

/// What Zeek did with the notice: it is in the log.
pub(super) fn actions(_: &Event, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(b"[\"Notice::ACTION_LOG\"]");
    true
}

/// Nothing is suppressed: later reports of an alert have its `id`.
pub(super) fn suppress_for(_: &Event, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(b"0.0");
    true
}

/// Writes the number of the severity in a format: low, medium, high.
fn severity(event: &Event, numbers: [u8; 3], out: &mut Vec<u8>) -> bool {
    Alert::of(event).is_some_and(|alert| {
        let found = Severity::ALL.iter().zip(numbers).find(|(severity, _)| **severity == alert.severity());
        found.is_some_and(|(_, severity)| number(out, severity))
    })
}

/// Suricata's priority: 1 is the highest.
pub(super) fn severity_eve(event: &Event, out: &mut Vec<u8>) -> bool {
    severity(event, [3, 2, 1], out)
}

/// The numbers of Elastic's own detection rules.
pub(super) fn severity_ecs(event: &Event, out: &mut Vec<u8>) -> bool {
    severity(event, [21, 47, 73], out)
}

pub(super) fn severity_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    severity(event, [2, 3, 4], out)
}

/// Create, or Update for later reports.
fn activity(event: &Event) -> u32 {
    if Alert::of(event).is_some_and(|alert| alert.is_update()) { 2 } else { 1 }
}

pub(super) fn activity_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    number(out, activity(event))
}

pub(super) fn type_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    number(out, OCSF_TYPE.saturating_add(activity(event)))
}
