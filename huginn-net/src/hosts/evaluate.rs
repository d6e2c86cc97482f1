//! Derives the verdict on a host from its profile.

use std::cmp::Reverse;
use std::sync::Arc;

use huginn_net_consistency::systems::{same_stack, system_from_family};
use huginn_net_db::System;
use huginn_net_http::Role;
use huginn_net_tcp::Handshake;

use super::{
    Cause, Claim, Contradiction, Counted, Evidence, EvidenceLayer, Explanation, Grade, HostProfile,
    SoftwareSeen, Statement, Verdict,
};

/// The name of a device that answers for several servers.
const DEVICE: &str = "a device that answers for several servers";

impl Verdict {
    pub(super) fn from_profile(profile: &HostProfile) -> Self {
        let mut evidence = evidence(profile);
        let shared = profile.sharings.count > 0;
        let named = systems(evidence.iter().filter(|one| one.grade.is_firm_tcp()), same_stack);
        let several = if shared && named.len() > 1 { named } else { Vec::new() };
        let system = if several.is_empty() { most_likely(&evidence) } else { None };
        for one in &mut evidence {
            one.supports = match &system {
                Some(system) => one.speaks_for(system),
                None => several.iter().any(|system| one.speaks_for(system)),
            };
        }
        // What TCP says of a server behind a device is said of the device.
        let is_only_server = profile.own_answer.is_of_device() && profile.as_client.handshakes == 0;
        let mut contradictions: Vec<Contradiction> = profile
            .conflicts
            .by_count()
            .filter(|_| !is_only_server)
            .map(|conflict| conflict.value.to_contradiction(conflict.count))
            .collect();
        if several.is_empty() {
            let mut others = contradictions_in(&evidence);
            others.retain(|found| {
                !profile.conflicts.iter().any(|conflict| conflict.value.matches(&found.other))
            });
            contradictions.append(&mut others);
        }
        let fuzzy = system.is_some() && evidence.first().is_some_and(|one| one.grade.is_fuzzy());
        let behind = behind(&evidence, profile.own_answer.is_of_device());
        Self { system, fuzzy, several, behind, evidence, contradictions }
    }
}

/// All evidence for an operating system, by descending grade.
fn evidence(profile: &HostProfile) -> Vec<Evidence> {
    let handshakes = profile.systems.by_count().filter_map(|seen| {
        let label = seen.value.label.as_ref()?;
        let (handshake, fuzzy) = (seen.value.handshake, seen.value.fuzzy);
        let grade = match Grade::from_handshake(label, fuzzy, handshake)? {
            _ if profile.own_answer.is_of_device() && handshake == Handshake::SynAck => Grade::Middlebox,
            grade => grade,
        };
        let because = Cause::Handshake { handshake, label: Arc::clone(label), fuzzy };
        Some(Evidence::new(EvidenceLayer::Tcp, &label.name, because, seen.count, grade))
    });
    let hellos = profile.tls_clients.by_count().filter_map(|seen| {
        let (family, ja4) = (seen.value.family?, seen.value.ja4);
        let because = Cause::TlsClient { family, software: seen.value.software.clone(), ja4 };
        Some(Evidence::new(
            EvidenceLayer::Tls,
            system_from_family(family)?,
            because,
            seen.count,
            Grade::TlsLibrary,
        ))
    });
    let heads = |list: &HostProfile, role| {
        let (software, headers) = match role {
            Role::Request => (&list.browsers, &list.user_agents),
            Role::Response => (&list.servers, &list.server_headers),
        };
        let software = software.by_count().filter_map(move |seen| software_evidence(seen, role));
        software
            .chain(headers.by_count().filter_map(move |seen| header_evidence(seen, role)))
            .collect::<Vec<_>>()
    };
    let mut all: Vec<Evidence> = handshakes.chain(hellos).collect();
    all.extend(heads(profile, Role::Request));
    all.extend(heads(profile, Role::Response));
    all.sort_by_key(|one| (one.grade, Reverse(one.count)));
    all
}

fn software_evidence(seen: &Counted<SoftwareSeen>, role: Role) -> Option<Evidence> {
    let SoftwareSeen { label, claim, forwarded } = &seen.value;
    let says = match &*label.systems {
        [] if !label.is_tool() => &label.name,
        [System::Name(name)] => name,
        _ => return None,
    };
    let grade = match (forwarded, label.generic) {
        (true, _) => Grade::Forwarded,
        (false, true) => Grade::Generic,
        (false, false) => Grade::Software,
    };
    let because = Cause::Head { role, label: Arc::clone(label), claim: *claim };
    Some(Evidence::new(EvidenceLayer::Http, says, because, seen.count, grade))
}

fn header_evidence(seen: &Counted<Claim>, role: Role) -> Option<Evidence> {
    let Claim { text, system, honest, forwarded } = &seen.value;
    let (says, _) = system.as_ref()?;
    let grade = match (forwarded, honest) {
        (true, _) => Grade::Forwarded,
        (false, Some(true)) => Grade::Software,
        (false, Some(false)) => Grade::Forged,
        (false, None) => Grade::Claim,
    };
    let because = Cause::Header { role, text: text.clone(), honest: *honest };
    Some(Evidence::new(EvidenceLayer::Http, says, because, seen.count, grade))
}

/// The systems in the evidence, by descending count; among equal counts, the better grade comes first.
fn systems<'a>(
    evidence: impl Iterator<Item = &'a Evidence>,
    is_same: impl Fn(&str, &str) -> bool,
) -> Vec<Arc<str>> {
    let mut sums: Vec<(Arc<str>, u32)> = Vec::new();
    for one in evidence {
        match sums.iter_mut().find(|(system, _)| is_same(system, &one.says)) {
            Some((_, sum)) => *sum = sum.saturating_add(one.count),
            None => sums.push((Arc::clone(&one.says), one.count)),
        }
    }
    sums.sort_by_key(|(_, sum)| Reverse(*sum));
    sums.into_iter().map(|(system, _)| system).collect()
}

fn most_likely(evidence: &[Evidence]) -> Option<Arc<str>> {
    let best = evidence.first().map(|one| one.grade).filter(|grade| grade.decides())?;
    let deciding = evidence.iter().filter(|one| one.grade == best);
    let system = systems(deciding, same_stack).into_iter().next()?;
    let is_name = |one: &&Evidence| {
        one.layer == EvidenceLayer::Http && one.grade <= Grade::Claim && same_stack(&one.says, &system)
    };
    let names = systems(evidence.iter().filter(is_name), |one, other| one == other);
    names.into_iter().next().or(Some(system))
}

/// The middlebox that answers for a host without better TCP evidence.
fn behind(evidence: &[Evidence], is_behind_device: bool) -> Option<Arc<str>> {
    let is_system = |one: &Evidence| one.layer == EvidenceLayer::Tcp && one.grade < Grade::Generic;
    let middlebox = || evidence.iter().find(|one| one.grade == Grade::Middlebox);
    if evidence.iter().any(is_system) {
        None
    } else if is_behind_device {
        Some(DEVICE.into())
    } else {
        middlebox().map(|one| Arc::clone(&one.says))
    }
}

/// The contradictions to the best firm evidence, each statement once. Evidence that supports the verdict takes precedence
/// over other firm evidence.
fn contradictions_in(evidence: &[Evidence]) -> Vec<Contradiction> {
    let firm = || evidence.iter().filter(|one| one.grade.contradicts());
    let Some(one) = firm().find(|one| one.supports).or_else(|| firm().next()) else { return Vec::new() };
    let mut found: Vec<Contradiction> = Vec::new();
    for other in firm().filter(|other| !same_stack(&one.says, &other.says)) {
        let statement = other.statement();
        let is_same_statement = |named: &&mut Contradiction| {
            (named.other.who, &named.other.says) == (statement.who, &statement.says)
        };
        match found.iter_mut().find(is_same_statement) {
            Some(named) => named.count = named.count.saturating_add(other.count),
            None => found.push(Contradiction {
                one: one.statement(),
                other: statement,
                count: other.count,
                explanation: explanation(one, other),
            }),
        }
    }
    found
}

fn explanation(one: &Evidence, other: &Evidence) -> Explanation {
    match (one.grade, other.grade) {
        (Grade::Syn, Grade::Syn) | (Grade::SynAck, Grade::SynAck) => Explanation::SeveralHosts,
        (Grade::Syn, Grade::SynAck) => Explanation::ForwardedPorts,
        (Grade::Syn, _) if other.is_response() => Explanation::ForwardedPorts,
        (Grade::SynAck, _) if other.is_response() => Explanation::LoadBalancer,
        _ if one.is_response() && other.is_response() => Explanation::LoadBalancer,
        _ => Explanation::Unexplained,
    }
}

impl Evidence {
    fn new(layer: EvidenceLayer, says: impl AsRef<str>, because: Cause, count: u32, grade: Grade) -> Self {
        Self { layer, says: says.as_ref().into(), because, count, grade, supports: false }
    }

    fn speaks_for(&self, system: &str) -> bool {
        match self.layer {
            EvidenceLayer::Tcp | EvidenceLayer::Tls => same_stack(&self.says, system),
            EvidenceLayer::Http => *self.says == *system,
        }
    }

    /// Whether it comes from the head of a response.
    fn is_response(&self) -> bool {
        matches!(
            self.because,
            Cause::Head { role: Role::Response, .. } | Cause::Header { role: Role::Response, .. }
        )
    }

    fn statement(&self) -> Statement {
        let (who, by) = match &self.because {
            Cause::Handshake { handshake: Handshake::Syn, .. } => ("SYN", None),
            Cause::Handshake { handshake: Handshake::SynAck, .. } => ("SYN+ACK", None),
            Cause::Head { label, .. } => (self.who(), Some(Arc::clone(&label.name))),
            Cause::Header { .. } => (self.who(), None),
            Cause::TlsClient { family, software, .. } => {
                (self.who(), Some(software.as_deref().unwrap_or(family.name()).into()))
            }
        };
        Statement { who, says: Arc::clone(&self.says), by }
    }
}

#[cfg(test)]
mod tests {
    use huginn_net_core::Timestamp;
    use huginn_net_db::{Database, SoftwareClaim};
    use huginn_net_tls::{ClientFamily, Transport};

    use super::super::{Changes, SystemSeen, Systems, TlsClientSeen};
    use super::*;

    const DATABASE: &str = "\
classes = win,unix,other
[tcp:request]
label = s:unix:Linux:6
sig = *:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:Android:14
sig = *:64:0:*:mss*21,7:mss,sok,ts,nop,ws:df,id+:0
label = s:win:Windows:11
sig = *:128:0:*:8192,0:mss,nop,nop,sok:df,id+:0
label = s:other:VMware NAT:
sig = 4:128:0:1460:mss*44,0:mss::0
label = g:unix:BSD:
sig = *:64:0:*:8193,0:mss,nop,nop,sok:df,id+:0
label = s:!:nmap:
sys = @unix
sig = *:64:0:*:1024,0:mss::0
[http:request]
label = s:!:Safari:
sys = macOS or iOS
sig = 1:A::
label = s:!:anywhere:
sys = @unix,@win
sig = 1:B::
";

    /// Creates a profile with these observations. `S` SYN, `A` SYN+ACK, `F` fuzzy SYN, `f` fuzzy SYN+ACK of a label; `H`
    /// honest, `U` unknown, `L` lying, `V` forwarded User-Agent that names a system; `R` Server header; `B` request of software.
    fn profile(seen: &[(char, &str, u32)]) -> HostProfile {
        let database: Database = DATABASE.parse().unwrap();
        let label = |name: &str| database.labels().iter().find(|label| &*label.name == name).cloned();
        let mut profile = HostProfile::new([192, 0, 2, 1].into(), None, Timestamp::new(0, 0, 6));
        for (kind, name, count) in seen {
            for _ in 0..*count {
                match kind {
                    'S' | 'A' | 'F' | 'f' => {
                        let handshake =
                            if matches!(kind, 'A' | 'f') { Handshake::SynAck } else { Handshake::Syn };
                        let seen = SystemSeen {
                            label: label(name),
                            fuzzy: matches!(kind, 'F' | 'f'),
                            handshake,
                            signature: None,
                        };
                        profile.systems.count(|value| *value == seen, || seen.clone());
                    }
                    'B' => {
                        let label = label(name).unwrap();
                        let seen = SoftwareSeen { label, claim: SoftwareClaim::Agrees, forwarded: false };
                        profile.browsers.count(|value| *value == seen, || seen.clone());
                    }
                    _ => {
                        let claim = Claim {
                            text: name.as_bytes().into(),
                            system: Some(((*name).into(), (*name).into())),
                            honest: matches!(kind, 'H' | 'L').then_some(*kind == 'H'),
                            forwarded: *kind == 'V',
                        };
                        let headers = match kind {
                            'R' => &mut profile.server_headers,
                            _ => &mut profile.user_agents,
                        };
                        headers.count(|value| *value == claim, || claim.clone());
                    }
                }
            }
        }
        profile
    }

    #[test]
    fn best_grade_decides_then_highest_count() {
        type Row = (&'static [(char, &'static str, u32)], Option<&'static str>);
        let rows: [Row; 18] = [
            (&[], None),
            (&[('S', "Linux", 1), ('H', "Windows", 9)], Some("Linux")),
            (&[('S', "Linux", 1), ('A', "Windows", 9)], Some("Linux")),
            (&[('A', "Windows", 1), ('F', "Linux", 9)], Some("Windows")),
            (&[('F', "Linux", 1), ('H', "Windows", 9)], Some("Linux")),
            (&[('S', "BSD", 9), ('U', "Windows", 1)], Some("Windows")),
            (&[('S', "BSD", 9)], Some("BSD")),
            (&[('U', "Windows", 9), ('H', "Linux", 1)], Some("Linux")),
            (&[('U', "Windows", 9), ('B', "Safari", 1), ('B', "anywhere", 9)], Some("macOS or iOS")),
            (&[('V', "Windows", 9)], None),
            (&[('S', "nmap", 9)], None),
            (&[('S', "Linux", 1), ('S', "Windows", 2)], Some("Windows")),
            (&[('S', "Linux", 2), ('S', "Windows", 3), ('S', "Android", 2)], Some("Linux")),
            (&[('S', "unheard of", 2)], None),
            (&[('f', "Linux", 9), ('H', "Windows", 1)], Some("Windows")),
            (&[('f', "Linux", 1), ('U', "Windows", 9)], Some("Linux")),
            (&[('L', "Windows", 9), ('U', "Linux", 1)], Some("Linux")),
            (&[('L', "Windows", 9)], None),
        ];
        for (seen, system) in rows {
            assert_eq!(profile(seen).verdict().system.as_deref(), system, "{seen:?}");
        }
    }

    #[test]
    fn software_distinguishes_systems_with_equal_tcp_stack() {
        type Row = (&'static [(char, &'static str, u32)], &'static str);
        let rows: [Row; 5] = [
            (&[('S', "Linux", 5), ('U', "Android", 1)], "Android"),
            (&[('S', "Linux", 5), ('U', "Android", 1), ('U', "Linux", 2)], "Linux"),
            (&[('S', "Android", 5), ('H', "Linux", 1)], "Linux"),
            (&[('S', "Linux", 5), ('V', "Android", 9)], "Linux"),
            (&[('S', "Linux", 5), ('U', "Windows", 9)], "Linux"),
        ];
        for (seen, system) in rows {
            assert_eq!(profile(seen).verdict().system.as_deref(), Some(system), "{seen:?}");
        }
    }

    #[test]
    fn two_systems_contradict_unless_address_is_shared() {
        let mut host =
            profile(&[('S', "Linux", 2), ('S', "Windows", 3), ('S', "Android", 4), ('F', "BSD", 9)]);
        let unshared = host.verdict();
        assert_eq!(unshared.system.as_deref(), Some("Android"));
        let sentences: Vec<String> = unshared.contradictions.iter().map(ToString::to_string).collect();
        assert_eq!(
            sentences,
            ["SYN says Android, SYN says Windows, 3 times: NAT, or the address went to another host"]
        );

        host.sharings = Changes { count: 1, ..Changes::default() };
        let shared = host.verdict();
        assert_eq!((shared.system, shared.contradictions.len()), (None, 0));
        assert_eq!(shared.several.iter().map(|system| &**system).collect::<Vec<_>>(), ["Android", "Windows"]);
        assert_eq!(
            shared.evidence.iter().filter(|one| one.supports).count(),
            3,
            "the generic match supports none of them"
        );
    }

    #[test]
    fn evidence_and_contradictions_display_as_sentences() {
        let seen = [
            ('S', "Linux", 1),
            ('A', "Windows", 2),
            ('H', "Linux", 3),
            ('B', "Safari", 1),
            ('V', "Windows", 1),
        ];
        let verdict = profile(&seen).verdict();
        let named: Vec<(bool, String)> =
            verdict.evidence.iter().map(|one| (one.supports, one.to_string())).collect();
        let want = [
            (true, "TCP says Linux (Linux 6, 1 SYN)"),
            (false, "TCP says Windows (Windows 11, 2 SYN+ACKs)"),
            (true, "User-Agent says Linux (Linux, 3 requests)"),
            (false, "software says macOS or iOS (Safari, 1 request)"),
            (false, "User-Agent says Windows (Windows, 1 request, forwarded)"),
        ];
        assert_eq!(named, want.map(|(supports, text)| (supports, text.to_owned())));
        let sentences: Vec<String> = verdict.contradictions.iter().map(ToString::to_string).collect();
        assert_eq!(
            sentences,
            [
                "SYN says Linux, SYN+ACK says Windows, 2 times: NAT that forwards ports, or a proxy",
                "SYN says Linux, software says macOS or iOS (Safari): unexplained (NAT, a proxy or a forgery)",
            ]
        );
    }

    #[test]
    fn tls_evidence_names_software_with_its_remark() {
        let mut host = profile(&[]);
        for software in [Some("Apple or an imitation"), None] {
            let ja4 = "t13d2613h2_2802a3db6c62_845d286b0d67".parse().unwrap();
            let (transport, family) = (Transport::Tls, Some(ClientFamily::Apple));
            let seen = TlsClientSeen { ja4, transport, software: software.map(Into::into), family };
            host.tls_clients.count(|value| *value == seen, || seen.clone());
        }
        let named: Vec<String> = host.verdict().evidence.iter().map(ToString::to_string).collect();
        let want = ["Apple or an imitation", "Apple"].map(|software| {
            format!("TLS says macOS or iOS ({software}, t13d2613h2_2802a3db6c62_845d286b0d67, 1 hello)")
        });
        assert_eq!(named, want);
    }

    #[test]
    fn middlebox_is_no_system_and_never_contradicts() {
        let unnamed = profile(&[('A', "VMware NAT", 3)]).verdict();
        assert_eq!((unnamed.system.as_deref(), unnamed.behind.as_deref()), (None, Some("VMware NAT")));
        let named = profile(&[('A', "VMware NAT", 3), ('H', "Linux", 1)]).verdict();
        assert_eq!((named.system.as_deref(), named.behind.as_deref()), (Some("Linux"), Some("VMware NAT")));
        assert_eq!(named.contradictions, []);
        let named = profile(&[('A', "VMware NAT", 3), ('S', "Windows", 1)]).verdict();
        assert_eq!(
            (named.system.as_deref(), named.behind, named.contradictions),
            (Some("Windows"), None, vec![])
        );
    }

    #[test]
    fn system_without_exact_evidence_is_fuzzy() {
        type Row = (&'static [(char, &'static str, u32)], &'static str);
        let rows: [Row; 9] = [
            (&[('S', "Linux", 1)], "Linux 6"),
            (&[('A', "Linux", 1)], "Linux 6"),
            (&[('H', "Windows", 1)], "Windows"),
            (&[('F', "Linux", 1)], "Linux 6 (fuzzy)"),
            (&[('f', "Linux", 1)], "Linux 6 (fuzzy)"),
            (&[('f', "Linux", 1), ('H', "Linux", 1)], "Linux"),
            (&[('S', "BSD", 1)], "BSD (fuzzy)"),
            (&[('f', "BSD", 1)], "BSD (fuzzy)"),
            (&[('U', "Windows", 1)], "Windows (fuzzy)"),
        ];
        for (seen, want) in rows {
            let verdict = profile(seen).verdict();
            assert!(matches!(verdict.systems(), Systems::One(name) if name.to_string() == want), "{seen:?}");
            assert_eq!(verdict.fuzzy, want.ends_with("(fuzzy)"), "{seen:?}");
        }
    }

    #[test]
    fn firm_evidence_contradicts_once_per_statement() {
        let sentences = |seen: &[(char, &str, u32)]| -> Vec<String> {
            profile(seen).verdict().contradictions.iter().map(ToString::to_string).collect()
        };
        let windows =
            [('S', "Windows", 1), ('H', "macOS or iOS", 2), ('U', "Linux", 1), ('U', "macOS or iOS", 1)];
        assert_eq!(
            sentences(&windows),
            [
                "SYN says Windows, User-Agent says macOS or iOS, 3 times: unexplained (NAT, a proxy or a forgery)",
                "SYN says Windows, User-Agent says Linux: unexplained (NAT, a proxy or a forgery)",
            ]
        );
        let fuzzy = [('F', "Linux", 3), ('U', "Windows", 2), ('U', "macOS or iOS", 1)];
        assert_eq!(
            sentences(&fuzzy),
            [
                "User-Agent says Windows, User-Agent says macOS or iOS: unexplained (NAT, a proxy or a forgery)"
            ]
        );
        let silent: [&[(char, &str, u32)]; 4] = [
            &[('S', "Linux", 1), ('F', "Windows", 1), ('f', "Windows", 1)],
            &[('F', "Linux", 1), ('U', "Windows", 1)],
            &[('S', "Linux", 1), ('L', "Windows", 1), ('V', "Windows", 1), ('S', "BSD", 1)],
            &[('S', "Linux", 1), ('U', "Android", 1)],
        ];
        for seen in silent {
            assert_eq!(sentences(seen), [""; 0], "{seen:?}");
        }
    }

    #[test]
    fn server_header_of_another_system_is_that_of_load_balancer() {
        let explanations = |seen: &[(char, &str, u32)]| -> Vec<Explanation> {
            profile(seen).verdict().contradictions.iter().map(|found| found.explanation).collect()
        };
        assert_eq!(explanations(&[('A', "Linux", 3), ('R', "Windows", 2)]), [Explanation::LoadBalancer]);
        assert_eq!(explanations(&[('R', "Linux", 3), ('R', "Windows", 2)]), [Explanation::LoadBalancer]);
        assert_eq!(explanations(&[('S', "Linux", 3), ('R', "Windows", 2)]), [Explanation::ForwardedPorts]);
        assert_eq!(explanations(&[('S', "Linux", 3), ('U', "Windows", 2)]), [Explanation::Unexplained]);
        let verdict = profile(&[('A', "Linux", 3), ('R', "Windows", 2)]).verdict();
        let [found] = &*verdict.contradictions else { panic!("{verdict:?}") };
        assert!(found.is_expected());
        assert_eq!(
            found.to_string(),
            "SYN+ACK says Linux, Server says Windows, 2 times: a CDN or a load balancer"
        );
    }

    #[test]
    fn name_has_version_of_any_handshake() {
        let mut host = profile(&[('S', "Linux", 1)]);
        let label = host.systems.iter().find_map(|seen| seen.value.label.clone()).unwrap();
        let mut without_flavor = (*label).clone();
        without_flavor.flavor = None;
        let without_flavor = Arc::new(without_flavor);
        for _ in 0..9 {
            let seen = SystemSeen {
                label: Some(Arc::clone(&without_flavor)),
                fuzzy: false,
                handshake: Handshake::Syn,
                signature: None,
            };
            host.systems.count(|value| *value == seen, || seen.clone());
        }
        let verdict = host.verdict();
        assert!(matches!(verdict.systems(), Systems::One(name) if name.to_string() == "Linux 6"));
    }

    #[test]
    fn http_heads_contradict_without_tcp() {
        let verdict = profile(&[('U', "Windows", 2), ('U', "Linux", 1)]).verdict();
        let sentences: Vec<String> = verdict.contradictions.iter().map(ToString::to_string).collect();
        assert_eq!(
            sentences,
            ["User-Agent says Windows, User-Agent says Linux: unexplained (NAT, a proxy or a forgery)"]
        );
        assert!(profile(&[('U', "Windows", 2), ('V', "Linux", 1)]).verdict().contradictions.is_empty());
    }
}
