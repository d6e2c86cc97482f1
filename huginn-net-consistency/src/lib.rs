//! Compares what the layers of one client say about its software.
//!
//! A client claims a browser in its User-Agent. TCP, TLS, HTTP/2 and the headers show what it is. A server that ends TLS
//! has the bytes of all layers:
//!
//! ```
//! use huginn_net_consistency::{ClientBytes, Outcome};
//! use huginn_net_db::{ClientDatabase, Database};
//!
//! let request = b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\
//!     User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36\r\n\
//!     Accept: */*\r\n\r\n";
//! // Sent by curl 7.88.1 with OpenSSL 3.0.
//! let hello = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");
//! let client = ClientBytes::default().tls(hello).http(request);
//! let found = client.check(Database::builtin(), ClientDatabase::builtin())?;
//! assert_eq!(found.outcome, Outcome::Imitation);
//! assert!(found.to_string().starts_with("imitation: User-Agent says Chromium 131 on Windows; TLS is libcurl"));
//! # Ok::<(), huginn_net_consistency::ClientBytesError>(())
//! ```
//!
//! [`check`] takes parsed layers instead, for example those of a proxy that parsed them already.
//!
//! # Features
//! | feature | adds |
//! |---|---|
//! | `serde` | `Serialize` and `Deserialize` for [`SystemCheck`] |
//!
//! None is on by default.

mod bytes;
mod claim;
mod connectivity_check;
mod headers;
mod reason;
mod system_check;
#[doc(hidden)]
pub mod systems;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use huginn_net_db::{Database, HttpMatch, Label, Software, TcpMatch};
use huginn_net_http::http2::Akamai;
use huginn_net_http::{HttpVersion, Request};
use huginn_net_wire::Joined;

pub use bytes::{ClientBytes, ClientBytesError};
use claim::BrowserClaim;
#[doc(hidden)]
pub use connectivity_check::ConnectivityCheck;
use headers::RequestHeaders;
pub use reason::{ClaimedBrowser, ConsistencyReason, MissingHeaders};
pub use system_check::{SystemCheck, is_refuted};

/// The parsed layers of one connection. Every part is optional.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ClientLayers<'a> {
    /// The operating system that its SYN [identifies](firm_system).
    pub system: Option<&'a Label>,
    /// The software that its ClientHello names.
    pub tls: Option<&'a Software>,
    /// Its Akamai fingerprint.
    pub akamai: Option<&'a Akamai>,
    /// The software that its Akamai fingerprint names.
    pub http2: Option<&'a Software>,
    /// The software that its HTTP/1 headers match.
    pub http1: Option<&'a HttpMatch>,
    /// A request: its User-Agent, and the other headers in their order.
    pub request: Option<&'a Request>,
}

huginn_net_wire::setters!(ClientLayers<'a> {
    system: impl Into<Option<&'a Label>>,
    tls: impl Into<Option<&'a Software>>,
    akamai: impl Into<Option<&'a Akamai>>,
    http2: impl Into<Option<&'a Software>>,
    http1: impl Into<Option<&'a HttpMatch>>,
    request: impl Into<Option<&'a Request>>,
});

/// The operating system of a match that is certain enough to contradict a claim: neither fuzzy nor generic, and neither a
/// tool nor a middlebox.
pub fn firm_system(found: &TcpMatch) -> Option<&Label> {
    systems::is_firm(found).then_some(&*found.label)
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
    pub reasons: Vec<ConsistencyReason>,
}

huginn_net_wire::named! {
    /// A conclusion about a client, from the least to the most remarkable.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Outcome {
        /// The client claims no browser, or too little is known.
        Unknown = "unknown",
        /// TLS, HTTP/2 or the headers are those of the claimed browser, and nothing contradicts it.
        Consistent = "consistent",
        /// A header says that a proxy forwarded the request, which explains the differences.
        Proxy = "proxy",
        /// The layers differ and nothing shows why: NAT, a proxy or a forged User-Agent.
        Unexplained = "unexplained",
        /// The client is not the browser that it claims to be.
        Imitation = "imitation",
    }
}

/// A text that is not the [name](Outcome::name) of an [`Outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a verdict: expected consistent, imitation, proxy, unexplained or unknown")]
#[non_exhaustive]
pub struct OutcomeParseError;

impl FromStr for Outcome {
    type Err = OutcomeParseError;

    fn from_str(name: &str) -> Result<Self, OutcomeParseError> {
        Self::from_name(name).ok_or(OutcomeParseError)
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.reasons.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{}", self.outcome, Joined(&self.reasons, "; "))
    }
}

/// Compares the layers of a client with the browser that its User-Agent claims.
///
/// Each layer agrees with the claim, contradicts it, or says nothing. The headers contradict it if they are those of other
/// software, and the database has signatures of the browser; their order is a layer of its own, which proxies may change.
/// Missing headers alone are no contradiction, and neither is TCP below HTTP/1.0, which proxies speak. The first row that applies decides:
///
/// | layers | outcome |
/// |---|---|
/// | the request is a connectivity check | unknown |
/// | Sec-CH-UA or Sec-CH-UA-Platform contradicts the User-Agent | imitation |
/// | Accept, Accept-Language and Accept-Encoding are all missing; TCP contradicts, or there is nothing but Host and User-Agent | imitation |
/// | a header of a proxy is present, such as Via or X-Forwarded-For, and a layer contradicts | proxy |
/// | TLS [imitates](Software::imitation) a browser | imitation |
/// | TLS or HTTP/2 contradicts, and the headers contradict or lack Sec-Fetch | imitation |
/// | the headers are [exactly](HttpMatch::is_exact) those of other software | imitation |
/// | TLS is the browser's own, and HTTP/2, the headers or their order contradicts | imitation |
/// | TLS or HTTP/2 is that of Firefox, Chromium or libcurl instead; both contradict, or no layer is the browser's own | imitation |
/// | the headers are those of another browser, and the operating system of TCP contradicts | imitation |
/// | TLS or HTTP/2 contradicts; HTTP/2, the headers or their order is the browser's own | unexplained |
/// | TLS, HTTP/2, the headers or their order contradicts | unknown |
/// | the operating system of TCP contradicts | unexplained |
/// | headers are missing that the browser always sends: Accept and its like, Sec-Fetch, Sec-CH-UA of a navigation | unknown |
/// | TLS, HTTP/2 or the headers are the browser's own | consistent |
/// | else, or the User-Agent claims no browser | unknown |
pub fn check(layers: &ClientLayers<'_>, database: &Database) -> Consistency {
    let user_agent = layers.request.and_then(Request::user_agent);
    let Some((request, claim)) =
        layers.request.zip(user_agent.and_then(|user_agent| BrowserClaim::parse(user_agent, database)))
    else {
        return Consistency { outcome: Outcome::Unknown, reasons: Vec::new() };
    };
    if ConnectivityCheck::from_request(request).is_some() {
        return Consistency { outcome: Outcome::Unknown, reasons: Vec::new() };
    }
    let headers = RequestHeaders::new(request);
    let over_tls = layers.tls.is_some();
    let mut reasons = Reasons(vec![claim.reason()]);
    let hints = [
        request.header("Sec-CH-UA").and_then(|brands| {
            reasons.compare(claim.compare_brands(brands), || ConsistencyReason::Brands(brands.into()))
        }),
        request.header("Sec-CH-UA-Platform").and_then(|platform| {
            let agrees = claim.compare_platform(platform);
            reasons.compare(agrees, || ConsistencyReason::Platform(platform.into()))
        }),
    ];
    let compared = Compared {
        hints: either(hints),
        tls: layers.tls.and_then(|software| match &software.imitation {
            Some(imitation) => {
                reasons.compare(Some(false), || ConsistencyReason::TlsImitates(imitation.clone()))
            }
            None => reasons
                .compare(claim.compare_tls(software), || ConsistencyReason::Tls(Box::new(software.clone()))),
        }),
        tls_imitates: layers.tls.is_some_and(|software| software.imitation.is_some()),
        http2: either([
            layers.http2.and_then(|found| {
                reasons
                    .compare(claim.compare_http2(found), || ConsistencyReason::Http2(Box::new(found.clone())))
            }),
            layers.akamai.and_then(|akamai| {
                reasons.compare(claim.compare_pseudo_headers(akamai), || {
                    ConsistencyReason::PseudoHeaders(akamai.pseudo_headers().clone())
                })
            }),
        ]),
        headers: layers.http1.and_then(|found| {
            reasons.compare(claim.compare_http1(found), || {
                ConsistencyReason::Headers(Arc::clone(&found.label.name))
            })
        }),
        lacks_fetch_metadata: over_tls
            && reasons.lack(MissingHeaders::SecFetch, headers.lack_fetch_metadata(&claim)),
        order: reasons.compare(headers.compare_order(&claim), || ConsistencyReason::HeaderOrder),
        lacks_accept: reasons.lack(MissingHeaders::Accept, headers.lack_accept()),
        is_bare: claim.browser != ClaimedBrowser::Safari && headers.is_bare(),
        is_exactly_other: layers
            .http1
            .is_some_and(|found| found.is_exact && claim.compare_http1(found) == Some(false)),
        is_other_browser: layers.http1.is_some_and(|found| claim.is_other_browser(found)),
        has_other_program: layers.tls.is_some_and(|software| claim.has_tls_of_other_program(software))
            || layers.http2.is_some_and(|software| claim.has_http2_of_other_program(software)),
        lacks_hints: over_tls && headers.lack_client_hints(&claim),
        // No browser speaks HTTP/1.0: proxies do, without a header of their own.
        system: layers.system.filter(|_| request.version() != HttpVersion::Http10).and_then(|label| {
            reasons.compare(claim.compare_system(&label.name), || {
                ConsistencyReason::System(Arc::clone(&label.name))
            })
        }),
        has_proxy: headers.is_forwarded(),
    };
    if compared.has_proxy {
        reasons.0.push(ConsistencyReason::Proxy);
    }
    Consistency { outcome: compared.outcome(), reasons: reasons.0 }
}

/// What the User-Agent of a client claims and its TLS contradicts, where TLS is that of Firefox, Chromium or libcurl, which
/// no proxy is made of; or `None`.
///
/// ```
/// use huginn_net_consistency::tls_contradicts;
/// use huginn_net_db::{ClientDatabase, Database};
///
/// // Of curl.
/// let found = ClientDatabase::builtin().match_ja4("t13d3112h2_e8f1e7e78f70_b26ce05bbdd6".parse()?).expect("known");
/// let says = |user_agent: &[u8]| tls_contradicts(user_agent, &found.software, Database::builtin());
/// let firefox = b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
/// assert_eq!(says(firefox).as_deref(), Some("User-Agent says Firefox 128 on Linux; TLS is libcurl 7.88 and older"));
/// assert_eq!(says(b"curl/7.88.1"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(hidden)]
pub fn tls_contradicts(user_agent: &[u8], tls: &Software, database: &Database) -> Option<String> {
    let claim = BrowserClaim::parse(user_agent, database)?;
    claim.has_tls_of_other_program(tls).then(|| format!("{}; TLS is {tls}", claim.reason()))
}

/// The claim, and the layers that contradict it.
struct Reasons(Vec<ConsistencyReason>);

impl Reasons {
    /// Returns `agrees`, and records a contradiction.
    fn compare(&mut self, agrees: Option<bool>, reason: impl FnOnce() -> ConsistencyReason) -> Option<bool> {
        if agrees == Some(false) {
            self.0.push(reason());
        }
        agrees
    }

    /// Returns `lacks`, and records that headers are missing.
    fn lack(&mut self, headers: MissingHeaders, lacks: bool) -> bool {
        if lacks {
            self.0.push(ConsistencyReason::Missing(headers));
        }
        lacks
    }
}

/// Combines two comparisons of one layer: a contradiction decides.
fn either([one, other]: [Option<bool>; 2]) -> Option<bool> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one && other),
        (one, other) => one.or(other),
    }
}

/// Comparisons of the layers with the claim: `Some(false)` is a contradiction, `None` a layer that says nothing.
struct Compared {
    /// Client hints: headers that say what the User-Agent says.
    hints: Option<bool>,
    tls: Option<bool>,
    /// Whether TLS is that of an imitation of a browser.
    tls_imitates: bool,
    http2: Option<bool>,
    /// The software of the headers.
    headers: Option<bool>,
    /// Whether a request over TLS lacks Sec-Fetch.
    lacks_fetch_metadata: bool,
    /// The order of the headers.
    order: Option<bool>,
    system: Option<bool>,
    has_proxy: bool,
    /// Whether the request has none of Accept, Accept-Language and Accept-Encoding.
    lacks_accept: bool,
    /// Whether the request has nothing but Host and User-Agent, as scripts send.
    is_bare: bool,
    /// Whether the headers are those of other software and no others.
    is_exactly_other: bool,
    /// Whether the headers are those of another browser, which adds some to its own. A proxy that removes headers can leave
    /// those of a script, never those of a browser.
    is_other_browser: bool,
    /// Whether TLS or HTTP/2 is that of another program that no proxy is made of.
    has_other_program: bool,
    /// Whether a navigation lacks Sec-CH-UA.
    lacks_hints: bool,
}

impl Compared {
    fn outcome(&self) -> Outcome {
        let Self { hints, tls, http2, headers, order, system, .. } = *self;
        let [differ_hints, differ_headers, differ_order, differ_system] =
            [hints, headers, order, system].map(|layer| layer == Some(false));
        let differ_connection = [tls, http2].contains(&Some(false));
        let lacks_any = self.lacks_accept || self.lacks_fetch_metadata || self.lacks_hints;
        let differ_any = differ_connection || differ_headers || differ_order;
        let has_own = |layers: &[Option<bool>]| layers.contains(&Some(true));
        let has_own_above_tls = has_own(&[http2, headers, order]);
        if differ_hints || (self.lacks_accept && (differ_system || self.is_bare)) {
            Outcome::Imitation
        } else if self.has_proxy && (differ_any || differ_system) {
            Outcome::Proxy
        } else if self.tls_imitates
            || (differ_connection && (differ_headers || self.lacks_fetch_metadata))
            || self.is_exactly_other
            || (has_own(&[tls]) && differ_any)
            || (self.has_other_program && ([tls, http2] == [Some(false); 2] || !has_own_above_tls))
            || (self.is_other_browser && differ_system)
        {
            Outcome::Imitation
        } else if differ_connection && !differ_order && has_own_above_tls {
            Outcome::Unexplained
        } else if differ_any {
            Outcome::Unknown
        } else if differ_system {
            Outcome::Unexplained
        } else if !lacks_any && has_own(&[tls, http2, headers, order]) {
            Outcome::Consistent
        } else {
            Outcome::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use huginn_net_db::SoftwareClaim;
    use huginn_net_http::{Headers, HttpSignature, HttpVersion, Role};

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

    fn chromium() -> Software {
        software("BoringSSL", Some("Chromium"), &["Chromium 124-131", "curl_cffi as Chrome 124"])
    }

    fn go() -> Software {
        software("Go crypto/tls", Some("Go net/http"), &["Go net/http 1.25"])
    }

    /// A request with these headers.
    fn request(user_agent: &str, names: &[&str]) -> Request {
        let headers = names.iter().map(|name| (*name, if *name == "User-Agent" { user_agent } else { "x" }));
        Request::new(HttpVersion::Http11, b"GET", b"/", headers.collect())
    }

    fn chromium_request(user_agent: &str) -> Request {
        let names = [
            "Host",
            "User-Agent",
            "Accept",
            "Sec-Fetch-Site",
            "Sec-Fetch-Mode",
            "Sec-Fetch-Dest",
            "Accept-Encoding",
            "Accept-Language",
        ];
        request(user_agent, &names)
    }

    fn firefox_request(user_agent: &str) -> Request {
        let names = [
            "Host",
            "User-Agent",
            "Accept",
            "Accept-Language",
            "Accept-Encoding",
            "Sec-Fetch-Dest",
            "Sec-Fetch-Mode",
            "Sec-Fetch-Site",
        ];
        request(user_agent, &names)
    }

    fn safari_request(user_agent: &str) -> Request {
        let names = [
            "Sec-Fetch-Dest",
            "User-Agent",
            "Accept",
            "Sec-Fetch-Site",
            "Sec-Fetch-Mode",
            "Accept-Language",
            "Accept-Encoding",
        ];
        request(user_agent, &names)
    }

    fn python_request(user_agent: &str) -> Request {
        request(user_agent, &["Host", "User-Agent", "Accept-Encoding", "Accept"])
    }

    fn outcome(request: &Request, tls: Option<Software>, http2: Option<Software>, system: &str) -> Outcome {
        let database = Database::builtin();
        let system = database.labels().iter().find(|label| &*label.name == system).map(|label| &**label);
        let layers = ClientLayers {
            tls: tls.as_ref(),
            http2: http2.as_ref(),
            system,
            request: Some(request),
            ..ClientLayers::default()
        };
        check(&layers, database).outcome
    }

    #[test]
    fn honest_browsers_are_consistent() {
        let firefox = software("NSS", Some("Firefox"), &["Firefox 140"]);
        let apple = software("Apple", None, &["curl_cffi as Safari 17"]);
        for (request, tls, system) in [
            (chromium_request(CHROME), chromium(), "Windows"),
            (firefox_request(FIREFOX), firefox, "Linux"),
            (safari_request(IPHONE), apple, "macOS or iOS"),
        ] {
            for system in [system, ""] {
                let outcome = outcome(&request, Some(tls.clone()), None, system);
                assert_eq!(outcome, Outcome::Consistent, "{request:?}");
            }
        }
        let all = outcome(&chromium_request(CHROME), Some(chromium()), Some(chromium()), "Windows");
        assert_eq!(all, Outcome::Consistent);
    }

    #[test]
    fn foreign_connection_and_headers_are_imitation() {
        for http2 in [None, Some(go())] {
            let found = outcome(&python_request(CHROME), Some(go()), http2, "Windows");
            assert_eq!(found, Outcome::Imitation);
        }
        // In the clear, headers have no Sec-Fetch: their order alone decides nothing.
        for (http2, system) in [(Some(go()), "Windows"), (None, "Linux"), (None, "Windows")] {
            let found = outcome(&python_request(CHROME), None, http2, system);
            assert_eq!(found, Outcome::Unknown, "{system}");
        }
    }

    #[test]
    fn headers_of_other_program_contradict() {
        let database = Database::builtin();
        let request = request(CHROME, &["Accept-Encoding", "Host", "User-Agent", "Connection"]);
        let headers = Headers::from_iter([
            ("Accept-Encoding", "identity"),
            ("Host", "x"),
            ("User-Agent", CHROME),
            ("Connection", "close"),
        ]);
        let signature = HttpSignature::new(Role::Request, HttpVersion::Http11, headers);
        let mut found = database.match_request(&signature).unwrap();
        assert_eq!((&*found.label.name, found.claim), ("Python urllib", SoftwareClaim::Dishonest));
        let linux = database.labels().iter().find(|label| &*label.name == "Linux").unwrap();
        let verdict = |found: &HttpMatch| {
            let layers = ClientLayers { system: Some(linux), http1: Some(found), ..ClientLayers::default() };
            check(&ClientLayers { request: Some(&request), ..layers }, database).outcome
        };
        assert_eq!((verdict(&found), found.is_exact), (Outcome::Imitation, true));
        let windows = database.labels().iter().find(|label| &*label.name == "Windows").unwrap();
        let on_windows = |found: &HttpMatch| {
            let layers =
                ClientLayers { system: Some(windows), http1: Some(found), ..ClientLayers::default() };
            check(&ClientLayers { request: Some(&request), ..layers }, database).outcome
        };
        // The claimed system agrees.
        assert_eq!(on_windows(&found), Outcome::Imitation);
        found.is_exact = false;
        assert_eq!(on_windows(&found), Outcome::Unknown);
        // A proxy on Linux may have removed the other headers.
        assert_eq!(verdict(&found), Outcome::Unknown);
        // A program of another database that has this User-Agent.
        found.claim = SoftwareClaim::Agrees;
        assert_eq!(verdict(&found), Outcome::Unknown);
    }

    #[test]
    fn other_http_below_own_tls_is_imitation() {
        let found = outcome(&chromium_request(CHROME), Some(chromium()), Some(go()), "Windows");
        assert_eq!(found, Outcome::Imitation);
        let found = outcome(&python_request(CHROME), Some(chromium()), None, "Windows");
        assert_eq!(found, Outcome::Imitation);
        // The structure of a hello without a known fingerprint: a proxy may have BoringSSL.
        let boringssl = software("BoringSSL", None, &[]);
        let found = outcome(&chromium_request(CHROME), Some(boringssl), Some(go()), "Windows");
        assert_eq!(found, Outcome::Unexplained);
    }

    #[test]
    fn other_browser_is_imitation() {
        let firefox = software("NSS", Some("Firefox"), &["Firefox 140"]);
        let found = outcome(&chromium_request(CHROME), Some(firefox.clone()), Some(firefox), "Windows");
        assert_eq!(found, Outcome::Imitation);
    }

    #[test]
    fn connection_of_libcurl_is_imitation_unless_headers_are_own() {
        let curl = || Some(software("OpenSSL", Some("libcurl"), &["libcurl 7.88 and older"]));
        let sorted = ["Accept", "Accept-Encoding", "Accept-Language", "Sec-Fetch-Dest", "Sec-Fetch-Mode"];
        let sorted = request(CHROME, &[&sorted[..], &["Sec-Fetch-Site", "User-Agent"]].concat());
        for (tls, http2, expected) in [
            (curl(), None, Outcome::Imitation),
            (None, curl(), Outcome::Imitation),
            (Some(go()), Some(go()), Outcome::Unknown),
        ] {
            assert_eq!(outcome(&sorted, tls, http2, "Windows"), expected);
        }
        let own = chromium_request(CHROME);
        assert_eq!(outcome(&own, curl(), None, "Windows"), Outcome::Unexplained);
        assert_eq!(outcome(&own, curl(), curl(), "Windows"), Outcome::Imitation);
    }

    #[test]
    fn request_with_nothing_but_user_agent_is_imitation() {
        let with = |method: &[u8], names: &[&str]| {
            let names = [&["Host", "User-Agent"], names].concat();
            let values = names.iter().map(|name| (*name, if *name == "User-Agent" { CHROME } else { "x" }));
            Request::new(HttpVersion::Http11, method, b"/", values.collect())
        };
        let table: [(&[u8], &[&str], Outcome); 9] = [
            (b"GET", &[], Outcome::Imitation),
            (b"POST", &["Content-Type"], Outcome::Imitation),
            // A filter removed Accept-Encoding from a request that Chromium sends for itself.
            (b"GET", &["Connection"], Outcome::Unknown),
            (b"GET", &["X-Forwarded-For"], Outcome::Unknown),
            (b"CONNECT", &[], Outcome::Unknown),
            (b"GET", &["accept"], Outcome::Unknown),
            (b"GET", &["Accept-Language"], Outcome::Unknown),
            (b"GET", &["Accept-Encoding"], Outcome::Unknown),
            (b"GET", &["Accept", "Accept-Encoding"], Outcome::Unknown),
        ];
        for (method, names, expected) in table {
            let request = with(method, names);
            assert_eq!(outcome(&request, None, None, "Windows"), expected, "{request:?}");
        }
        let no_accept = with(b"GET", &["Connection"]);
        assert_eq!(outcome(&no_accept, None, None, "Linux"), Outcome::Imitation);
        let layers = ClientLayers { request: Some(&with(b"GET", &[])), ..ClientLayers::default() };
        assert_eq!(
            check(&layers, Database::builtin()).to_string(),
            "imitation: User-Agent says Chromium 131 on Windows; the headers lack Accept, Accept-Language and Accept-Encoding"
        );
        let other =
            Request::new(HttpVersion::Http11, b"GET", b"/", [("User-Agent", "curl/8")].into_iter().collect());
        assert_eq!(outcome(&other, None, None, "Windows"), Outcome::Unknown);
    }

    #[test]
    fn names_of_outcomes_parse() {
        for name in ["unknown", "consistent", "proxy", "unexplained", "imitation"] {
            assert_eq!(name.parse::<Outcome>().unwrap().to_string(), name);
        }
        assert_eq!("Proxy".parse::<Outcome>(), Err(OutcomeParseError));
    }

    #[test]
    fn other_tls_below_own_headers_is_unexplained() {
        for http2 in [None, Some(go()), Some(chromium())] {
            let found = outcome(&chromium_request(CHROME), Some(go()), http2, "Windows");
            assert_eq!(found, Outcome::Unexplained);
        }
        assert_eq!(outcome(&safari_request(IPHONE), Some(go()), Some(go()), ""), Outcome::Unexplained);
        // Every browser of iOS is based on Safari. A proxy may have changed the order.
        assert_eq!(outcome(&chromium_request(IPHONE), Some(go()), Some(go()), ""), Outcome::Unknown);
        assert_eq!(outcome(&firefox_request(CHROME), Some(go()), None, "Windows"), Outcome::Unknown);
    }

    #[test]
    fn sorted_headers_of_go_proxy_are_unknown() {
        let names = [
            "Host",
            "User-Agent",
            "Accept",
            "Accept-Encoding",
            "Accept-Language",
            "Sec-Fetch-Dest",
            "Sec-Fetch-Mode",
            "Sec-Fetch-Site",
        ];
        for user_agent in [CHROME, FIREFOX] {
            let found = outcome(&request(user_agent, &names), Some(go()), Some(go()), "Linux");
            assert_eq!(found, Outcome::Unknown, "{user_agent}");
        }
    }

    #[test]
    fn order_of_media_requests_says_nothing() {
        let firefox = software("NSS", Some("Firefox"), &["Firefox 140"]);
        let names =
            ["Accept-Encoding", "User-Agent", "Accept", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site"];
        for (user_agent, tls) in [(CHROME, chromium()), (FIREFOX, firefox)] {
            for (name, value, expected) in [
                ("Sec-Fetch-Dest", "video", Outcome::Consistent),
                ("Accept-Encoding", "identity;q=1, *;q=0", Outcome::Consistent),
                ("Sec-Fetch-Dest", "empty", Outcome::Imitation),
            ] {
                let headers = names.map(|header| match header {
                    "User-Agent" => (header, user_agent),
                    _ if header == name => (header, value),
                    _ => (header, "x"),
                });
                let request = Request::new(HttpVersion::Http11, b"GET", b"/", headers.into_iter().collect());
                let found = outcome(&request, Some(tls.clone()), None, "");
                assert_eq!(found, expected, "{user_agent}, {name}: {value}");
            }
        }
    }

    #[test]
    fn request_without_fetch_metadata_is_unknown_below_own_tls() {
        // Node.js sends Sec-Fetch-Mode without the others.
        let names = ["Host", "User-Agent", "Accept", "Sec-Fetch-Mode", "Accept-Encoding", "Accept-Language"];
        let with_version = |version: &str| request(&CHROME.replace("131", version), &names);
        for (version, expected) in [("131", Outcome::Unknown), ("79", Outcome::Consistent)] {
            let found = outcome(&with_version(version), Some(chromium()), None, "Windows");
            assert_eq!(found, expected, "{version}");
        }
        // Not sent over cleartext, for other methods, or when a connection becomes a WebSocket.
        let found = outcome(&with_version("131"), None, Some(chromium()), "Windows");
        assert_eq!(found, Outcome::Consistent);
        let socket =
            request(CHROME, &["Host", "Upgrade", "User-Agent", "Accept-Encoding", "Accept-Language"]);
        assert_eq!(outcome(&socket, Some(chromium()), None, "Windows"), Outcome::Consistent);
    }

    #[test]
    fn navigation_without_client_hints_is_unknown() {
        let navigate = |version: &str| {
            let names = ["Sec-Fetch-Dest", "Sec-Fetch-Site", "Accept", "Accept-Encoding", "Accept-Language"];
            let user_agent = CHROME.replace("131", version);
            let headers = [("User-Agent", &*user_agent), ("Sec-Fetch-Mode", "navigate")];
            let headers = headers.into_iter().chain(names.map(|name| (name, "x")));
            Request::new(HttpVersion::Http2, b"GET", b"/", headers.collect())
        };
        for (version, expected) in [("131", Outcome::Unknown), ("94", Outcome::Consistent)] {
            let found = outcome(&navigate(version), Some(chromium()), None, "Windows");
            assert_eq!(found, expected, "{version}");
        }
    }

    #[test]
    fn reasons_quote_headers_without_control_characters() {
        let brands = format!("\"Chromium\";v=\"1\"\x1b[2J{}", "x".repeat(100));
        let headers = [("Sec-CH-UA", &*brands), ("User-Agent", CHROME), ("Accept", "*/*")];
        let headers = headers.into_iter().collect();
        let request = Request::new(HttpVersion::Http2, b"GET", b"/", headers);
        let layers = ClientLayers { request: Some(&request), ..ClientLayers::default() };
        let text = check(&layers, Database::builtin()).to_string();
        assert!(text.starts_with(r#"imitation: User-Agent says Chromium 131 on Windows; Sec-CH-UA says "Chromium";v="1"\x1b[2Jxx"#), "{text}");
        assert!(text.ends_with("x...") && text.len() < 170, "{text}");
    }

    #[test]
    fn other_system_below_browser_is_unexplained() {
        let found = outcome(&chromium_request(CHROME), Some(chromium()), None, "Linux");
        assert_eq!(found, Outcome::Unexplained);
    }

    #[test]
    fn system_below_http_1_0_says_nothing() {
        let headers = [("Host", "x"), ("User-Agent", CHROME), ("Accept", "*/*"), ("Connection", "close")];
        for (version, expected) in
            [(HttpVersion::Http10, Outcome::Unknown), (HttpVersion::Http11, Outcome::Unexplained)]
        {
            let request = Request::new(version, b"GET", b"/", headers.into_iter().collect());
            assert_eq!(outcome(&request, None, None, "Linux"), expected, "{version:?}");
        }
    }

    #[test]
    fn connectivity_check_is_unknown() {
        let with_path = |path: &str| {
            let headers = [("User-Agent", CHROME), ("Host", "x")].into_iter().collect();
            Request::new(HttpVersion::Http11, b"GET", path.as_bytes(), headers)
        };
        for (path, expected) in [("/generate_204", Outcome::Unknown), ("/", Outcome::Imitation)] {
            assert_eq!(outcome(&with_path(path), None, None, "Linux"), expected, "{path}");
        }
    }

    #[test]
    fn contradicting_client_hints_are_imitation() {
        let rows: [(&str, &str, &str, Outcome); 9] = [
            (CHROME, "Sec-CH-UA-Platform", "\"Linux\"", Outcome::Imitation),
            (CHROME, "Sec-CH-UA-Platform", "\"Windows\"", Outcome::Consistent),
            (CHROME, "Sec-CH-UA-Platform", "\"Chrome OS\"", Outcome::Consistent),
            // A browser of Android that asks for the desktop site.
            (CHROME, "Sec-CH-UA-Platform", "\"Android\"", Outcome::Consistent),
            (CHROME, "Sec-CH-UA", "\"Chromium\";v=\"124\", \"Edge\";v=\"131\"", Outcome::Imitation),
            (CHROME, "Sec-CH-UA", "\"Chromium\";v=\"131\", \"Edge\";v=\"12\"", Outcome::Consistent),
            (CHROME, "Sec-CH-UA", "\"HeadlessChrome\";v=\"131\"", Outcome::Imitation),
            (CHROME, "Sec-CH-UA", "\"Not a brand\"", Outcome::Consistent),
            (FIREFOX, "Sec-CH-UA", "\"Chromium\";v=\"131\"", Outcome::Imitation),
        ];
        for (user_agent, name, value, expected) in rows {
            let headers = [(name, value), ("User-Agent", user_agent), ("Accept", "*/*")];
            let request = Request::new(HttpVersion::Http2, b"POST", b"/", headers.into_iter().collect());
            assert_eq!(outcome(&request, Some(chromium()), None, "Windows"), expected, "{name}: {value}");
        }
    }

    #[test]
    fn proxy_header_explains_foreign_layers() {
        for name in ["Via", "Forwarded", "X-Forwarded-For", "X-Real-IP", "X-BlueCoat-Via"] {
            let request = request(CHROME, &["Host", "User-Agent", "Accept-Encoding", "Accept", name]);
            assert_eq!(outcome(&request, Some(go()), Some(go()), "Linux"), Outcome::Proxy, "{name}");
        }
        let request = request(CHROME, &["User-Agent", "Accept", "Via"]);
        assert_eq!(outcome(&request, None, Some(chromium()), ""), Outcome::Consistent);
    }

    #[test]
    fn pseudo_headers_of_other_program_contradict() {
        // A SETTINGS frame, and HEADERS with :method, :path, :scheme, :authority: the order of curl.
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0xff, 0xff]);
        bytes.extend([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x87, 0x41, 1, b'a']);
        let akamai = Akamai::from_client_bytes(&bytes).unwrap().unwrap().value;
        let request = chromium_request(CHROME);
        let tls = chromium();
        let layers = ClientLayers {
            tls: Some(&tls),
            akamai: Some(&akamai),
            request: Some(&request),
            ..ClientLayers::default()
        };
        let found = check(&layers, Database::builtin());
        assert_eq!(
            found.to_string(),
            "imitation: User-Agent says Chromium 131 on Windows; the order of HTTP/2 pseudo-headers is m,p,s,a"
        );
    }

    #[test]
    fn claims_without_browser_are_unknown() {
        let agent = |text: &str| python_request(text);
        for user_agent in [
            "",
            "curl/8.5.0",
            "Go-http-client/2.0",
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/131.0.0.0 Safari/537.36",
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/64.0.3282.140 Safari/537.36 Edge/18.17763",
            "Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.0.0 Mobile Safari/537.36",
            "Mozilla/5.0 (X11; U; Linux) \u{e9}",
            "Mozilla/5.0 (",
            "Mozilla/5.0 () Chrome/",
        ] {
            let found = outcome(&agent(user_agent), Some(go()), Some(go()), "Linux");
            assert_eq!(found, Outcome::Unknown, "{user_agent}");
        }
        let headers = [("User-Agent", &b"Mozilla/5.0 (\xff) Chrome/1"[..])].into_iter().collect();
        let invalid = Request::new(HttpVersion::Http11, b"GET", b"/", headers);
        assert_eq!(outcome(&invalid, Some(go()), Some(go()), "Linux"), Outcome::Unknown);
        assert_eq!(check(&ClientLayers::default(), Database::builtin()).outcome, Outcome::Unknown);
    }
}
