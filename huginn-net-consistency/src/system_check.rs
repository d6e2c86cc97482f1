//! Compares the operating system that software claims with the one that TCP shows.

use std::sync::Arc;

use huginn_net_db::{Database, HttpMatch, Label, SoftwareClaim};
use huginn_net_http::{HttpSignature, HttpVersion};
use memchr::memmem;

use crate::connectivity_check::ConnectivityCheck;
use crate::headers::has_proxy_header;
use crate::systems::{may_be, runs_on};

/// The operating system that an HTTP head claims, and whether TCP agrees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SystemCheck {
    /// The system that the User-Agent names: the first `ua_os` text of the database that it contains.
    pub claimed: Option<Arc<str>>,
    /// The text that names the system: `iPhone` means `macOS or iOS`. `None` if the claim is not evidence: TCP shows
    /// another system, and the User-Agent is one that programs on any system send.
    pub text: Option<Arc<str>>,
    /// Whether the handshake of the same connection shows the claimed system. `None` if the handshake shows no system, or
    /// the User-Agent names none.
    pub claim_agrees: Option<bool>,
    /// Whether the claim agrees, and the software is known to run on the system of the handshake. `None` if the handshake
    /// or the head shows no system.
    pub agrees: Option<bool>,
}

impl SystemCheck {
    /// As [`Self::compare`], without contradictions by User-Agents that programs on any system send, or that a proxy may have
    /// forwarded. `check`: the request is a connectivity check, whose User-Agent may name another system than its own.
    pub fn compare_evidence(
        head: &HttpSignature,
        user_agent: Option<&[u8]>,
        check: Option<ConnectivityCheck>,
        software: Option<&HttpMatch>,
        system: Option<&Label>,
        database: &Database,
    ) -> Self {
        let label = software.map(|found| &*found.label);
        let compared = Self::compare(user_agent, label, system, database);
        match check {
            Some(ConnectivityCheck { system: Some(name) }) => {
                let agrees = system.is_none_or(|system| may_be(name, &system.name));
                let agreement = system.is_some().then_some(true).filter(|_| agrees);
                Self {
                    claimed: Some(name.into()),
                    text: agrees.then(|| "connectivity check".into()),
                    claim_agrees: agreement,
                    agrees: agreement,
                }
            }
            _ if compared.claim_agrees == Some(false)
                && user_agent.is_some_and(|text| {
                    check.is_some() || may_be_forwarded(head, text) || is_borrowed(text, software)
                }) =>
            {
                let without_claim = Self::compare(None, label, system, database);
                Self { claimed: compared.claimed, ..without_claim }
            }
            _ => compared,
        }
    }

    /// Compares the systems that the User-Agent and the label of the software name with the system of the handshake.
    pub fn compare(
        user_agent: Option<&[u8]>,
        software: Option<&Label>,
        system: Option<&Label>,
        database: &Database,
    ) -> Self {
        let named = user_agent.and_then(|user_agent| database.user_agent_system(user_agent));
        let (claimed, text) = named.map(|named| (Arc::clone(&named.name), Arc::clone(&named.text))).unzip();
        let software = software.filter(|label| !label.systems.is_empty());
        let claim_agrees =
            claimed.as_ref().zip(system).map(|(claimed, system)| may_be(claimed, &system.name));
        let software_agrees = software.zip(system).map(|(software, system)| runs_on(software, system));
        let agrees = match (claim_agrees, software_agrees) {
            (Some(claim), Some(software)) => Some(claim && software),
            (claim, software) => claim.or(software),
        };
        Self { claimed, text, claim_agrees, agrees }
    }
}

/// Bytes of a User-Agent that are searched for the names of robots. Real ones have fewer.
const MAX_SEARCHED_USER_AGENT: usize = 512;

/// Texts in the User-Agents of robots, in lower case. Robots on Linux claim to be phones and desktop browsers.
const ROBOTS: [&[u8]; 10] = [
    b"+http",
    b"bot/",
    b"bot;",
    b"crawler",
    b"spider",
    b"headlesschrome",
    b"imageproxy",
    b"lighthouse",
    b"gtmetrix",
    b"ptst/",
];

/// Whether a request may come from a proxy: browsers do not speak HTTP/1.0. Hosts know the headers that p0f knows.
fn may_be_forwarded(head: &HttpSignature, user_agent: &[u8]) -> bool {
    (head.version() == HttpVersion::Http10 && user_agent.starts_with(b"Mozilla/5.0 ("))
        || has_proxy_header(head.headers())
}

/// Texts of User-Agents, in lower case, that devices and scripts copied when these systems were common.
const COPIED: [&[u8]; 3] = [b"compatible; msie ", b"windows nt 5", b"windows 9"];

/// Whether a User-Agent is one that programs on any system send: that of a robot, that of a browser in an app, or an old
/// one without the headers of its browser.
fn is_borrowed(user_agent: &[u8], software: Option<&HttpMatch>) -> bool {
    let start = user_agent.get(..MAX_SEARCHED_USER_AGENT).unwrap_or(user_agent).to_ascii_lowercase();
    let has = |text: &[u8]| memmem::find(&start, text).is_some();
    let claim = software.map(|found| found.claim);
    let is_app = claim == Some(SoftwareClaim::Custom) && start.starts_with(b"mozilla/");
    is_app
        || ROBOTS.into_iter().any(has)
        || (claim != Some(SoftwareClaim::Agrees) && COPIED.into_iter().any(has))
}

/// Whether a match is refuted: the head names a program of its own, and the handshake shows a system that the software does not
/// run on.
#[doc(hidden)]
pub fn is_refuted(found: &HttpMatch, system: Option<&Label>) -> bool {
    found.claim == SoftwareClaim::Custom
        && !found.label.systems.is_empty()
        && system.is_some_and(|system| !runs_on(&found.label, system))
}

#[cfg(test)]
mod tests {
    use huginn_net_http::{Headers, Request, Role};

    use super::*;

    const DATABASE: &str = "\
classes = win,unix
[tcp:request]
label = s:unix:Linux:
sig = *:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0
label = s:win:Windows:
sig = *:128:0:*:8192,0:mss,nop,nop,sok:df,id+:0
[http:request]
ua_os = Android,Linux,Windows,Windows=[Win64]
label = s:!:anywhere:
sys = @unix,@win
sig = 1:A::
label = s:!:on unix:
sys = @unix
sig = 1:B::
label = s:!:on Windows:
sys = Windows
sig = 1:C::known/
";

    #[test]
    fn claimed_system_is_compared_with_tcp() {
        let database: Database = DATABASE.parse().unwrap();
        let label =
            |name: &str| database.labels().iter().find(|label| &*label.name == name).map(|label| &**label);
        type Row = (Option<&'static [u8]>, &'static str, &'static str, Option<&'static str>, Option<bool>);
        let rows: [Row; 10] = [
            (Some(b"X (Linux; Android 14)"), "anywhere", "Linux", Some("Android"), Some(true)),
            (Some(b"X (Android 14)"), "anywhere", "Windows", Some("Android"), Some(false)),
            (Some(b"X (Linux)"), "anywhere", "Linux", Some("Linux"), Some(true)),
            (Some(b"X (Win64)"), "anywhere", "Linux", Some("Windows"), Some(false)),
            (Some(b"Windows Linux"), "anywhere", "Windows", Some("Linux"), Some(false)),
            (Some(b"X"), "nothing", "Linux", None, None),
            (None, "on unix", "Linux", None, Some(true)),
            (None, "on unix", "Windows", None, Some(false)),
            (Some(b"X (Linux)"), "on Windows", "Linux", Some("Linux"), Some(false)),
            (Some(b"X (Linux)"), "on unix", "nothing", Some("Linux"), None),
        ];
        for (user_agent, software, system, claimed, agrees) in rows {
            let check = SystemCheck::compare(user_agent, label(software), label(system), &database);
            assert_eq!((check.claimed.as_deref(), check.agrees), (claimed, agrees), "{software} on {system}");
        }
    }

    fn evidence(version: HttpVersion, user_agent: &str, header: &str, system: &str) -> SystemCheck {
        let database = Database::builtin();
        let headers = [("Host", "x"), ("User-Agent", user_agent), (header, "x")].into_iter().collect();
        let request = Request::new(version, b"GET", b"/generate_204", headers);
        let check = ConnectivityCheck::from_request(&request).filter(|_| header == "X-Check");
        let head = HttpSignature::from_request(&request);
        let system = database.labels().iter().find(|label| &*label.name == system).map(|label| &**label);
        SystemCheck::compare_evidence(&head, head.software(), check, None, system, database)
    }

    #[test]
    fn borrowed_user_agent_does_not_contradict_tcp() {
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
        let googlebot = "Mozilla/5.0 (iPhone; CPU iPhone OS 14_7_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/14.1.2 Mobile/15E148 Safari/604.1 (compatible; AdsBot-Google-Mobile; +http://www.google.com/mobile/adsbot.html)";
        let copied = "Mozilla/4.0 (compatible; MSIE 6.0; Windows 98)";
        let old = "Mozilla/5.0 (Windows; U; Windows NT 5.1; en-US; rv:1.9) Gecko/2009042316 Firefox/3.0.10";
        for (version, user_agent, header, claimed, agrees) in [
            (HttpVersion::Http11, chrome, "X", "Windows", Some(false)),
            (HttpVersion::Http11, chrome, "X-Real-IP", "Windows", None),
            (HttpVersion::Http10, chrome, "X", "Windows", None),
            (HttpVersion::Http11, chrome, "X-Check", "Windows", None),
            (HttpVersion::Http11, googlebot, "X", "macOS or iOS", None),
            (HttpVersion::Http11, copied, "X", "Windows", None),
            (HttpVersion::Http11, old, "X", "Windows", None),
        ] {
            let found = evidence(version, user_agent, header, "Linux");
            assert_eq!(
                (found.claimed.as_deref(), found.claim_agrees, found.agrees),
                (Some(claimed), agrees, agrees)
            );
            assert_eq!(found.text.is_some(), agrees.is_some(), "{user_agent} {header}");
        }
    }

    #[test]
    fn only_own_headers_make_an_old_user_agent_evidence() {
        let database = Database::builtin();
        let old = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko/20100101 Firefox/11.0";
        let new = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let own = ["Host", "User-Agent", "Accept", "Accept-Language", "Accept-Encoding", "Connection"];
        let app = ["Host", "Connection", "Accept-Encoding", "User-Agent"];
        let linux = database.labels().iter().find(|label| &*label.name == "Linux").map(|label| &**label);
        for (user_agent, names, connection, agrees) in [
            (old, &own[..], "keep-alive", Some(false)),
            (new, &own, "keep-alive", Some(false)),
            (new, &app, "close", Some(false)),
            // OkHttp.
            (new, &app, "Keep-Alive", Some(true)),
            (old, &app, "close", None),
        ] {
            let headers = names.iter().map(|name| match *name {
                "User-Agent" => (*name, user_agent),
                "Connection" => (*name, connection),
                "Accept-Encoding" if names.len() == 4 => (*name, "gzip"),
                "Accept-Encoding" => (*name, "gzip, deflate"),
                _ => (*name, "*/*"),
            });
            let head = HttpSignature::new(Role::Request, HttpVersion::Http11, headers.collect());
            let found = database.match_request(&head);
            let check =
                SystemCheck::compare_evidence(&head, head.software(), None, found.as_ref(), linux, database);
            assert_eq!(check.agrees, agrees, "{user_agent} {connection}");
            assert_eq!(check.text.is_some(), agrees == Some(false), "{user_agent} {connection}");
        }
    }

    #[test]
    fn connectivity_check_names_the_system_that_sends_it() {
        let android = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0.3112.32 Safari/537.36";
        for (system, agrees) in
            [("Linux", Some(true)), ("Android", Some(true)), ("Windows", None), ("", None)]
        {
            let found = evidence(HttpVersion::Http11, android, "X-Check", system);
            assert_eq!((found.claimed.as_deref(), found.agrees), (Some("Android"), agrees), "{system}");
            let is_evidence = agrees.is_some() || system.is_empty();
            assert_eq!(found.text.as_deref(), is_evidence.then_some("connectivity check"), "{system}");
        }
    }

    #[test]
    fn unknown_program_on_another_system_is_refuted() {
        let database: Database = DATABASE.parse().unwrap();
        let system = |name: &str| database.labels().iter().find(|label| &*label.name == name);
        for (user_agent, name, refuted) in [
            ("other/1", "Linux", true),
            ("other/1", "Windows", false),
            ("other/1", "nothing", false),
            ("known/1", "Linux", false),
        ] {
            let headers: Headers = [("User-Agent", user_agent), ("C", "")].into_iter().collect();
            let signature = HttpSignature::new(Role::Request, HttpVersion::Http11, headers);
            let found = database.match_request(&signature).unwrap();
            let system = system(name).map(|label| &**label);
            assert_eq!(is_refuted(&found, system), refuted, "{user_agent} on {name}");
        }
    }
}
