//! Compares what the layers of one client say about its software.
//!
//! A client claims a browser in its User-Agent. TCP, TLS, HTTP/2 and the order of HTTP/1 headers show what it is.
//! [`check`] compares them:
//!
//! ```
//! use huginn_net::consistency::{ClientLayers, Outcome, check};
//! use huginn_net::{ClientDatabase, Database};
//! use huginn_net::tls::ClientHello;
//!
//! // Sent by curl 7.88.1 with OpenSSL 3.0.
//! # let bytes = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");
//! let hello = ClientHello::from_records(bytes)?.expect("a complete hello").value;
//! let tls = ClientDatabase::builtin().match_hello(&hello).map(|found| found.software);
//! let akamai = "3:100;4:33554432;2:0|33488897|0|m,p,s,a";
//! let http2 = ClientDatabase::builtin().match_akamai(huginn_net::http::http2::AkamaiHash::from_text(akamai));
//! let http2 = http2.map(|found| found.software);
//!
//! let verdict = check(
//!     &ClientLayers {
//!         user_agent: Some(b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"),
//!         tls: tls.as_deref(),
//!         http2: http2.as_deref(),
//!         ..ClientLayers::default()
//!     },
//!     &Database::builtin(),
//! );
//! assert_eq!(verdict.outcome, Outcome::Imitation);
//! assert!(verdict.to_string().starts_with("imitation: User-Agent says Chromium 131 on Linux; TLS is libcurl"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::str;

use huginn_net_db::{Database, Label, Software};

use crate::hosts::{is_middlebox, same_stack};
use crate::system_check::may_be;

/// What is known of one client, from its connection and its requests. Every part is optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientLayers<'a> {
    /// The operating system that its SYN matches.
    pub system: Option<&'a Label>,
    /// The software that its ClientHello names.
    pub tls: Option<&'a Software>,
    /// The software that its Akamai fingerprint names.
    pub http2: Option<&'a Software>,
    /// The software that its HTTP/1 headers match.
    pub http1: Option<&'a Label>,
    /// The User-Agent header.
    pub user_agent: Option<&'a [u8]>,
    /// The header sec-ch-ua-platform (User-Agent Client Hints), such as `"Windows"` with its quotation marks.
    pub platform: Option<&'a [u8]>,
    /// Whether the request has a header of a proxy: Via, Forwarded or X-Forwarded-For.
    pub forwarded: bool,
}

/// Whether the layers of a client fit each other, with the reasons.
///
/// [`Display`](fmt::Display) writes outcome and reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consistency {
    /// The conclusion.
    pub outcome: Outcome,
    /// The claim and what each layer shows, the claim first.
    pub reasons: Vec<String>,
}

/// A conclusion about a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// TLS, HTTP/2 or the headers are those of the claimed browser, and nothing contradicts it.
    Consistent,
    /// The client is not the browser that it claims to be.
    Imitation,
    /// A proxy, a load balancer or NAT between client and server explains the differences.
    Proxy,
    /// The client claims no browser, or too little is known.
    Unknown,
}

impl Outcome {
    /// The name: `consistent`, `imitation`, `proxy` or `unknown`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Imitation => "imitation",
            Self::Proxy => "proxy",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.outcome)?;
        let mut separator = ": ";
        for reason in &self.reasons {
            write!(f, "{separator}{reason}")?;
            separator = "; ";
        }
        Ok(())
    }
}

/// Compares the layers of a client with the browser that its User-Agent claims.
///
/// - **Imitation**: TLS is that of another library and HTTP is that of another program; TLS is the browser's and HTTP/2
///   is not; or the client's own headers contradict each other. One layer alone is never enough, because a proxy can
///   change it.
/// - **Proxy**: the operating systems of TCP and User-Agent differ; a header or the SYN shows a proxy; or TLS is that of
///   another library below a browser's own HTTP.
/// - **Unknown**: the User-Agent claims no browser, or no other layer is known.
pub fn check(layers: &ClientLayers<'_>, database: &Database) -> Consistency {
    let Some(claim) = layers.user_agent.and_then(|user_agent| Claim::parse(user_agent, database)) else {
        return Consistency { outcome: Outcome::Unknown, reasons: Vec::new() };
    };
    let tls = layers.tls.and_then(|software| claim.compare_tls(software));
    let http2 = layers.http2.and_then(|software| claim.compare_http2(software));
    let http1 = layers.http1.and_then(|label| claim.compare_http1(label));
    let system = layers.system.and_then(|label| claim.compare_system(&label.name));
    let platform = layers.platform.and_then(|platform| claim.compare_platform(platform));
    let named = |title: &str, name: &dyn fmt::Display, agrees: Option<bool>| {
        agrees.filter(|agrees| !agrees).map(|_| format!("{title} {name}"))
    };
    let mut reasons = vec![claim.to_string()];
    reasons.extend(layers.tls.and_then(|software| named("TLS is", software, tls)));
    reasons.extend(layers.http2.and_then(|software| named("HTTP/2 is", software, http2)));
    reasons.extend(layers.http1.and_then(|label| named("the headers are those of", label, http1)));
    reasons.extend(layers.system.and_then(|label| named("TCP says", &label.name, system)));
    let hint = layers.platform.map(String::from_utf8_lossy);
    reasons.extend(hint.and_then(|hint| named("sec-ch-ua-platform says", &hint, platform)));
    let has_proxy = layers.forwarded || layers.system.is_some_and(is_middlebox);
    if has_proxy {
        reasons.push("a proxy is between client and server".to_owned());
    }
    Consistency { outcome: conclude(tls, [http2, http1], system, platform, has_proxy), reasons }
}

/// The outcome of the comparisons: `Some(false)` is a contradiction, `None` a layer that says nothing.
fn conclude(
    tls: Option<bool>,
    http: [Option<bool>; 2],
    system: Option<bool>,
    platform: Option<bool>,
    has_proxy: bool,
) -> Outcome {
    let (http_agrees, http_differs) = (http.contains(&Some(true)), http.contains(&Some(false)));
    match (tls, http_differs) {
        _ if platform == Some(false) => Outcome::Imitation,
        (Some(false), _) | (_, true) if has_proxy => Outcome::Proxy,
        (Some(false), true) if !http_agrees => Outcome::Imitation,
        (Some(false), _) if http_agrees => Outcome::Proxy,
        (Some(true), true) if !http_agrees => Outcome::Imitation,
        (Some(false), _) | (_, true) => Outcome::Unknown,
        _ if system == Some(false) => Outcome::Proxy,
        _ if tls == Some(true) || http_agrees => Outcome::Consistent,
        _ => Outcome::Unknown,
    }
}

/// A browser, by the network library that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Browser {
    /// Chromium and browsers based on it.
    Chromium,
    Firefox,
    /// Safari, and every browser of iOS.
    Safari,
}

/// The browser and the system that a User-Agent claims.
struct Claim<'a> {
    browser: Browser,
    version: &'a str,
    /// The name of the system in the database.
    system: Option<&'a str>,
}

impl<'a> Claim<'a> {
    /// Parses a User-Agent. `None` for programs that are no browsers, and for those that say so: robots.
    fn parse(user_agent: &'a [u8], database: &'a Database) -> Option<Self> {
        let text = str::from_utf8(user_agent).ok()?;
        let is_robot = text.contains("compatible;") || text.contains("Headless") || text.contains("bot");
        if !text.starts_with("Mozilla/5.0 (") || is_robot {
            return None;
        }
        let version = |token: &str| {
            let (_, rest) = text.split_once(token)?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest.get(..end).filter(|version| !version.is_empty())
        };
        let is_ios = text.contains("(iPhone;") || text.contains("(iPad;");
        let (browser, version) = if is_ios {
            (Browser::Safari, version("Version/").unwrap_or_default())
        } else if let Some(version) = version(" Firefox/") {
            (Browser::Firefox, version)
        } else if let Some(version) = version(" Chrome/") {
            (Browser::Chromium, version)
        } else if let Some(version) = version(" Version/").filter(|_| text.contains("(Macintosh;")) {
            (Browser::Safari, version)
        } else {
            return None;
        };
        let system = database.user_agent_system(user_agent).map(|system| &*system.name);
        Some(Self { browser, version, system })
    }

    fn compare_tls(&self, software: &Software) -> Option<bool> {
        let library = software.library.as_deref()?;
        let application = software.application.as_deref();
        Some(match self.browser {
            Browser::Chromium => library == "BoringSSL" && application.is_none_or(is_chromium),
            Browser::Firefox => library == "NSS",
            Browser::Safari => library == "Apple",
        })
    }

    /// Compares the candidates: a fingerprint that the browser can have agrees.
    fn compare_http2(&self, software: &Software) -> Option<bool> {
        let genuine = software.candidates.iter().filter(|name| !name.contains(" as "));
        let is_browser = |name: &str| match self.browser {
            Browser::Chromium => is_chromium(name),
            Browser::Firefox => name.starts_with("Firefox"),
            Browser::Safari => name.starts_with("Safari"),
        };
        let imitated = software.candidates.iter().filter_map(|name| name.split_once(" as "));
        let mut all = genuine.map(|name| &**name).chain(imitated.map(|(_, name)| name)).peekable();
        all.peek()?;
        Some(all.any(is_browser))
    }

    fn compare_http1(&self, label: &Label) -> Option<bool> {
        if label.generic {
            return None;
        }
        Some(match &*label.name {
            "Chromium" | "Android" => self.browser == Browser::Chromium,
            "Firefox" => self.browser == Browser::Firefox,
            "Safari" | "CFNetwork" => self.browser == Browser::Safari,
            _ => false,
        })
    }

    fn compare_system(&self, observed: &str) -> Option<bool> {
        let claimed = self.system?;
        Some(may_be(claimed, observed) || same_stack(claimed, observed))
    }

    /// Compares the platform of the Client Hints. Unknown platforms say nothing.
    fn compare_platform(&self, platform: &[u8]) -> Option<bool> {
        let claimed = self.system?;
        let names: &[&str] = match platform {
            b"\"Windows\"" => &["Windows"],
            b"\"macOS\"" => &["macOS or iOS", "Mac OS X", "macOS"],
            b"\"Linux\"" => &["Linux"],
            b"\"Android\"" => &["Android"],
            _ => return None,
        };
        Some(names.contains(&claimed))
    }
}

/// Writes the claim: `User-Agent says Chromium 131 on Windows`.
impl fmt::Display for Claim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "User-Agent says {:?}", self.browser)?;
        if !self.version.is_empty() {
            write!(f, " {}", self.version)?;
        }
        match self.system {
            Some(system) => write!(f, " on {system}"),
            None => Ok(()),
        }
    }
}

/// Whether a name is that of a browser with Chromium's network library.
fn is_chromium(name: &str) -> bool {
    ["Chromium", "Chrome", "Edge", "Opera"].iter().any(|browser| name.starts_with(browser))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/120.0.0.0 Mobile/15E148 Safari/604.1";

    fn software(library: &str, application: Option<&str>, candidates: &[&str]) -> Software {
        let mut software = Software::default();
        software.library = Some(library.into());
        software.application = application.map(Into::into);
        software.candidates = candidates.iter().map(|name| Arc::from(*name)).collect();
        software
    }

    /// The outcome for a User-Agent, TLS, HTTP/2 and the system of TCP.
    fn outcome(user_agent: &str, tls: Option<Software>, http2: Option<Software>, system: &str) -> Outcome {
        let database = Database::builtin();
        let system = database.labels().iter().find(|label| &*label.name == system).map(|label| &**label);
        let layers = ClientLayers {
            user_agent: Some(user_agent.as_bytes()),
            tls: tls.as_ref(),
            http2: http2.as_ref(),
            system,
            ..ClientLayers::default()
        };
        check(&layers, &database).outcome
    }

    #[test]
    fn honest_browsers_are_consistent() {
        let chromium =
            || software("BoringSSL", Some("Chromium"), &["Chromium 124-131", "curl_cffi as Chrome 124"]);
        let firefox = || software("NSS", Some("Firefox"), &["Firefox 140"]);
        let apple = || software("Apple", None, &["curl_cffi as Safari 17"]);
        for (user_agent, tls, system) in [
            (CHROME, chromium(), "Windows"),
            (FIREFOX, firefox(), "Linux"),
            (IPHONE, apple(), "macOS or iOS"),
        ] {
            assert_eq!(
                outcome(user_agent, Some(tls.clone()), None, system),
                Outcome::Consistent,
                "{user_agent}"
            );
            assert_eq!(outcome(user_agent, Some(tls), None, ""), Outcome::Consistent, "{user_agent}");
        }
        assert_eq!(outcome(CHROME, Some(chromium()), Some(chromium()), "Windows"), Outcome::Consistent);
    }

    #[test]
    fn two_foreign_layers_are_imitation() {
        let go = || software("Go crypto/tls", Some("Go net/http"), &["Go net/http 1.25"]);
        assert_eq!(outcome(CHROME, Some(go()), Some(go()), "Linux"), Outcome::Imitation);
        assert_eq!(outcome(CHROME, Some(go()), None, "Windows"), Outcome::Unknown);
        let chromium = software("BoringSSL", Some("Chromium"), &["Chromium 131"]);
        assert_eq!(outcome(CHROME, Some(chromium.clone()), Some(go()), "Windows"), Outcome::Imitation);
        assert_eq!(outcome(CHROME, Some(go()), Some(chromium), "Windows"), Outcome::Proxy);
    }

    #[test]
    fn other_system_below_browser_is_proxy() {
        let chromium = software("BoringSSL", Some("Chromium"), &["Chromium 131"]);
        assert_eq!(outcome(CHROME, Some(chromium), None, "Linux"), Outcome::Proxy);
    }

    #[test]
    fn contradicting_headers_are_imitation() {
        let database = Database::builtin();
        let layers = |platform: &'static [u8]| ClientLayers {
            user_agent: Some(CHROME.as_bytes()),
            platform: Some(platform),
            ..ClientLayers::default()
        };
        assert_eq!(check(&layers(b"\"Linux\""), &database).outcome, Outcome::Imitation);
        assert_eq!(check(&layers(b"\"Windows\""), &database).outcome, Outcome::Unknown);
        assert_eq!(check(&layers(b"\"Chrome OS\""), &database).outcome, Outcome::Unknown);
    }

    #[test]
    fn proxy_header_explains_foreign_layers() {
        let go = software("Go crypto/tls", None, &["Go net/http 1.25"]);
        let layers = ClientLayers {
            user_agent: Some(CHROME.as_bytes()),
            tls: Some(&go),
            http2: Some(&go),
            forwarded: true,
            ..ClientLayers::default()
        };
        assert_eq!(check(&layers, &Database::builtin()).outcome, Outcome::Proxy);
    }

    #[test]
    fn claims_without_browser_are_unknown() {
        let go = || software("Go crypto/tls", Some("Go net/http"), &["Go net/http 1.25"]);
        for user_agent in [
            "",
            "curl/8.5.0",
            "Go-http-client/2.0",
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/131.0.0.0 Safari/537.36",
            "Mozilla/5.0 (X11; U; Linux) \u{e9}",
        ] {
            assert_eq!(
                outcome(user_agent, Some(go()), Some(go()), "Linux"),
                Outcome::Unknown,
                "{user_agent}"
            );
        }
        let invalid =
            ClientLayers { user_agent: Some(b"Mozilla/5.0 (\xff) Chrome/1"), ..ClientLayers::default() };
        assert_eq!(check(&invalid, &Database::builtin()).outcome, Outcome::Unknown);
    }
}
