//! Hosts as JSON objects.

use std::fmt;
use std::str;

use huginn_net_tcp::Handshake;

use super::object::Object;
use super::{write_clock, write_label};
use crate::hosts::{
    Activity, Claim, Contradiction, Counted, Evidence, HostProfile, SoftwareSeen, Statement, SystemSeen,
    TlsClientSeen, Verdict,
};

/// A host profile and its verdict as an event `host`: one JSON object (RFC 8259).
///
/// Lists are sorted by descending count. Absent values are `null`; absent `tunnel` and `file` fields are
/// omitted. [`Display`](fmt::Display) is the object, in one line.
#[derive(Clone, Copy, Debug)]
pub struct JsonHost<'a> {
    /// The host.
    pub host: &'a HostProfile,
    /// The capture file, if several are read.
    pub file: Option<&'a str>,
}

impl JsonHost<'_> {
    /// Appends the object to a buffer, in UTF-8 and without a newline.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let Self { host, file } = self;
        let mut object = Object::begin(out);
        object.plain("ts", host.last_seen.text());
        object.plain("event", "host");
        object.token("ip", host.ip);
        if let Some(tunnel) = &host.tunnel {
            object.texts("tunnel", tunnel.layers());
        }
        if let Some(file) = file {
            object.string("file", file);
        }
        object.plain("first_seen", host.first_seen.text());
        object.plain("last_seen", host.last_seen.text());
        object.object("as_client", |object| write_activity(object, &host.as_client, "requests"));
        object.object("as_server", |object| write_activity(object, &host.as_server, "responses"));
        write_path(&mut object, host);
        write_lists(&mut object, host);
        object.number("changes", host.changes.count);
        object.texts("change_reasons", host.changes.reasons.names());
        object.bool("shared", host.sharings.count > 0);
        object.texts("sharing_reasons", host.sharings.reasons.names());
        object.object("verdict", |object| write_verdict(object, &host.verdict()));
        object.end();
    }
}

impl fmt::Display for JsonHost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::new();
        self.write_to(&mut line);
        f.write_str(str::from_utf8(&line).map_err(|_| fmt::Error)?)
    }
}

fn write_activity(object: &mut Object<'_>, activity: &Activity, heads: &str) {
    object.number("handshakes", activity.handshakes);
    object.number(heads, activity.heads);
    object.number("forwarded", activity.forwarded);
    object.number("hellos", activity.hellos);
}

fn write_path(object: &mut Object<'_>, host: &HostProfile) {
    let link = host.links.most();
    object.or_null("link", link.and_then(|seen| seen.link.as_deref()), Object::string);
    object.or_null("mtu", link.map(|seen| seen.mtu.0), Object::number);
    object.or_null("distance", host.distances.most().map(|distance| distance.hops), Object::number);
    object.or_null("uptime", host.uptime.as_ref(), |object, key, clock| {
        object.object(key, |object| write_clock(object, clock));
    });
}

fn write_lists(object: &mut Object<'_>, host: &HostProfile) {
    object.objects("systems", host.systems.by_count(), write_system);
    object.objects("browsers", host.browsers.by_count(), write_software);
    object.objects("user_agents", host.user_agents.by_count(), write_claim);
    object.objects("servers", host.servers.by_count(), write_software);
    object.objects("server_headers", host.server_headers.by_count(), write_claim);
    object.objects("tls_clients", host.tls_clients.by_count(), write_tls_client);
    object.objects("languages", host.languages.by_count(), |object, seen| {
        object.string("language", &seen.value);
        object.number("count", seen.count);
    });
    object.number("left_out", host.left_out());
}

fn write_system(object: &mut Object<'_>, seen: &Counted<SystemSeen>) {
    let SystemSeen { label, fuzzy, handshake, signature } = &seen.value;
    write_label(object, label.as_deref());
    object.bool("fuzzy", *fuzzy);
    let segment = match handshake {
        Handshake::Syn => "syn",
        Handshake::SynAck => "syn_ack",
    };
    object.plain("segment", segment);
    object.or_null("sig", signature.as_deref(), Object::token);
    object.number("count", seen.count);
}

fn write_software(object: &mut Object<'_>, seen: &Counted<SoftwareSeen>) {
    let SoftwareSeen { label, dishonest, forwarded } = &seen.value;
    write_label(object, Some(label));
    object.bool("dishonest", *dishonest);
    object.bool("forwarded", *forwarded);
    object.number("count", seen.count);
}

fn write_claim(object: &mut Object<'_>, seen: &Counted<Claim>) {
    let Claim { text, system, honest, forwarded } = &seen.value;
    object.wire("text", text);
    object.or_null("claimed_os", system.as_ref().map(|(system, _)| &**system), Object::string);
    object.or_null("honest", *honest, Object::bool);
    object.bool("forwarded", *forwarded);
    object.number("count", seen.count);
}

fn write_tls_client(object: &mut Object<'_>, seen: &Counted<TlsClientSeen>) {
    let TlsClientSeen { ja4, transport, family } = &seen.value;
    object.token("ja4", ja4);
    object.token("transport", transport);
    object.or_null("family", family.as_ref(), Object::token);
    object.number("count", seen.count);
}

fn write_verdict(object: &mut Object<'_>, verdict: &Verdict) {
    let Verdict { system, several, behind, evidence, contradictions } = verdict;
    object.or_null("system", system.as_deref(), Object::string);
    object.texts("several", several);
    object.or_null("behind", behind.as_deref(), Object::string);
    object.objects("evidence", evidence, |object, one: &Evidence| {
        object.token("layer", one.layer);
        object.string("says", &one.says);
        object.token("grade", one.grade);
        object.bool("supports", one.supports);
        object.number("count", one.count);
        object.text("text", one);
    });
    object.objects("contradictions", contradictions, |object, found: &Contradiction| {
        write_statement(object, "one", &found.one);
        write_statement(object, "other", &found.other);
        object.number("count", found.count);
        object.plain("explanation", found.explanation.name());
        object.text("text", found);
    });
}

fn write_statement(object: &mut Object<'_>, key: &str, statement: &Statement) {
    object.object(key, |object| {
        object.plain("who", statement.who);
        object.string("says", &statement.says);
        object.or_null("by", statement.by.as_deref(), Object::string);
    });
}
