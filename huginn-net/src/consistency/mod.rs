//! Compares what the layers of one client say about its software.
//!
//! A client claims a browser in its User-Agent. TCP, TLS, HTTP/2 and the headers show what it is. A server that ends TLS
//! has the bytes of all layers:
//!
//! ```
//! use huginn_net::consistency::{ClientBytes, Outcome};
//! use huginn_net::{ClientDatabase, Database};
//!
//! let request = b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\
//!     User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36\r\n\
//!     Accept: */*\r\n\r\n";
//! let client = ClientBytes {
//!     // Sent by curl 7.88.1 with OpenSSL 3.0.
//!     tls: Some(include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin")),
//!     http: Some(request),
//!     ..ClientBytes::default()
//! };
//! let found = client.check(&Database::builtin(), ClientDatabase::builtin())?;
//! assert_eq!(found.outcome, Outcome::Imitation);
//! assert!(found.to_string().starts_with("imitation: User-Agent says Chromium 131 on Windows; TLS is libcurl"));
//! # Ok::<(), huginn_net::consistency::ClientBytesError>(())
//! ```
//!
//! [`check`] takes parsed layers instead, for example those of a proxy that parsed them already.

mod bytes;
mod claim;
mod headers;

use std::fmt;

use huginn_net_db::{Database, Label, Software};
use huginn_net_http::Request;
use huginn_net_http::http2::Akamai;

pub use self::bytes::{ClientBytes, ClientBytesError};
use self::claim::Claim;
use self::headers::RequestHeaders;
use crate::hosts::is_middlebox;

/// What is known of one client, from one connection. Every part is optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientLayers<'a> {
    /// The operating system that its SYN matches.
    pub system: Option<&'a Label>,
    /// The software that its ClientHello names.
    pub tls: Option<&'a Software>,
    /// Its Akamai fingerprint.
    pub akamai: Option<&'a Akamai>,
    /// The software that its Akamai fingerprint names.
    pub http2: Option<&'a Software>,
    /// The software that its HTTP/1 headers match.
    pub http1: Option<&'a Label>,
    /// A request: its User-Agent, and the other headers in their order.
    pub request: Option<&'a Request>,
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
/// - **Imitation**: two layers are not those of the claimed browser, and no proxy can explain both; or Sec-CH-UA and
///   User-Agent contradict each other. A proxy that ends TLS changes TLS and HTTP/2 together, adds headers, and keeps the
///   others in their order.
/// - **Proxy**: the operating systems of TCP and User-Agent differ; a header or the SYN shows a proxy; or TLS is that of
///   another library below the complete headers of the browser.
/// - **Unknown**: the User-Agent claims no browser, or too little is known.
pub fn check(layers: &ClientLayers<'_>, database: &Database) -> Consistency {
    let user_agent = layers.request.and_then(Request::user_agent);
    let Some((request, claim)) =
        layers.request.zip(user_agent.and_then(|user_agent| Claim::parse(user_agent, database)))
    else {
        return Consistency { outcome: Outcome::Unknown, reasons: Vec::new() };
    };
    let headers = RequestHeaders::new(request);
    let mut reasons = Reasons(vec![claim.to_string()]);
    let hints = [
        request.header("Sec-CH-UA").and_then(|brands| {
            reasons.compare("Sec-CH-UA says", &String::from_utf8_lossy(brands), claim.compare_brands(brands))
        }),
        request.header("Sec-CH-UA-Platform").and_then(|platform| {
            let agrees = claim.compare_platform(platform);
            reasons.compare("Sec-CH-UA-Platform says", &String::from_utf8_lossy(platform), agrees)
        }),
    ];
    let compared = Compared {
        hints: either(hints),
        tls: layers.tls.and_then(|software| reasons.compare("TLS is", software, claim.compare_tls(software))),
        http2: either([
            layers.http2.and_then(|found| {
                let agrees = claim.compare_http2(found);
                match &*found.candidates {
                    [_, _, ..] if found.application.is_none() => {
                        reasons.compare("HTTP/2 is one of", &found.candidates.join(", "), agrees)
                    }
                    _ => reasons.compare("HTTP/2 is", found, agrees),
                }
            }),
            layers.akamai.and_then(|akamai| {
                let agrees = claim.compare_pseudo_headers(akamai);
                reasons.compare("the order of HTTP/2 pseudo-headers is", akamai.pseudo_headers(), agrees)
            }),
        ]),
        headers: compare_headers(layers, &claim, &headers, &mut reasons),
        system: layers
            .system
            .and_then(|label| reasons.compare("TCP says", &label.name, claim.compare_system(&label.name))),
        has_proxy: headers.is_forwarded() || layers.system.is_some_and(is_middlebox),
    };
    if compared.has_proxy {
        reasons.0.push("a proxy is between client and server".to_owned());
    }
    Consistency { outcome: compared.outcome(), reasons: reasons.0 }
}

/// Compares the software that the headers match, and their order.
fn compare_headers(
    layers: &ClientLayers<'_>,
    claim: &Claim<'_>,
    headers: &RequestHeaders<'_>,
    reasons: &mut Reasons,
) -> Option<bool> {
    let software = layers.http1.and_then(|label| {
        reasons.compare("the headers are those of", &label.name, claim.compare_http1(label))
    });
    if software == Some(false) {
        return software;
    }
    let order = headers.compare(claim, layers.tls.is_some());
    either([software, reasons.compare("the headers are", &"not those of the browser", order)])
}

/// The claim, and the layers that contradict it.
struct Reasons(Vec<String>);

impl Reasons {
    /// Returns `agrees`, and records a contradiction.
    fn compare(&mut self, title: &str, shown: &impl fmt::Display, agrees: Option<bool>) -> Option<bool> {
        if agrees == Some(false) {
            self.0.push(format!("{title} {shown}"));
        }
        agrees
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
    http2: Option<bool>,
    /// The names and the order of the headers, which proxies keep.
    headers: Option<bool>,
    system: Option<bool>,
    has_proxy: bool,
}

impl Compared {
    fn outcome(&self) -> Outcome {
        let Self { hints, tls, http2, headers, system, has_proxy } = *self;
        let differs = |layer| layer == Some(false);
        let [other_tls, other_http2, other_headers] = [tls, http2, headers].map(differs);
        let other_connection = other_tls || other_http2;
        if differs(hints) {
            return Outcome::Imitation;
        }
        if has_proxy {
            let differ = other_connection || other_headers || differs(system);
            return if differ { Outcome::Proxy } else { self.agreement() };
        }
        match (other_connection, other_headers) {
            (true, true) => Outcome::Imitation,
            // The browser's own TLS: no proxy ends the connection.
            (true, false) | (false, true) if tls == Some(true) => Outcome::Imitation,
            (false, true) if differs(system) => Outcome::Imitation,
            (true, false) if headers == Some(true) || http2 == Some(true) => Outcome::Proxy,
            (true, false) if other_tls && other_http2 => Outcome::Imitation,
            (true, false) | (false, true) => Outcome::Unknown,
            (false, false) if differs(system) => Outcome::Proxy,
            (false, false) => self.agreement(),
        }
    }

    /// The outcome without contradictions.
    fn agreement(&self) -> Outcome {
        if [self.tls, self.http2, self.headers].contains(&Some(true)) {
            Outcome::Consistent
        } else {
            Outcome::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use huginn_net_http::HttpVersion;

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

    fn of_chromium(user_agent: &str) -> Request {
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

    fn of_firefox(user_agent: &str) -> Request {
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

    fn of_safari(user_agent: &str) -> Request {
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

    fn of_python(user_agent: &str) -> Request {
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
        check(&layers, &database).outcome
    }

    #[test]
    fn honest_browsers_are_consistent() {
        let firefox = software("NSS", Some("Firefox"), &["Firefox 140"]);
        let apple = software("Apple", None, &["curl_cffi as Safari 17"]);
        for (request, tls, system) in [
            (of_chromium(CHROME), chromium(), "Windows"),
            (of_firefox(FIREFOX), firefox, "Linux"),
            (of_safari(IPHONE), apple, "macOS or iOS"),
        ] {
            for system in [system, ""] {
                let outcome = outcome(&request, Some(tls.clone()), None, system);
                assert_eq!(outcome, Outcome::Consistent, "{request:?}");
            }
        }
        let all = outcome(&of_chromium(CHROME), Some(chromium()), Some(chromium()), "Windows");
        assert_eq!(all, Outcome::Consistent);
    }

    #[test]
    fn foreign_connection_and_headers_are_imitation() {
        for http2 in [None, Some(go())] {
            let found = outcome(&of_python(CHROME), Some(go()), http2, "Windows");
            assert_eq!(found, Outcome::Imitation);
        }
        let found = outcome(&of_python(CHROME), None, Some(go()), "Windows");
        assert_eq!(found, Outcome::Imitation);
        let found = outcome(&of_python(CHROME), None, None, "Linux");
        assert_eq!(found, Outcome::Imitation, "TCP and headers");
        let found = outcome(&of_python(CHROME), None, None, "Windows");
        assert_eq!(found, Outcome::Unknown, "headers alone");
    }

    #[test]
    fn other_http_below_own_tls_is_imitation() {
        let found = outcome(&of_chromium(CHROME), Some(chromium()), Some(go()), "Windows");
        assert_eq!(found, Outcome::Imitation);
        let found = outcome(&of_python(CHROME), Some(chromium()), None, "Windows");
        assert_eq!(found, Outcome::Imitation);
    }

    #[test]
    fn other_tls_below_own_headers_is_proxy() {
        for http2 in [None, Some(go()), Some(chromium())] {
            let found = outcome(&of_chromium(CHROME), Some(go()), http2, "Windows");
            assert_eq!(found, Outcome::Proxy);
        }
        assert_eq!(outcome(&of_safari(IPHONE), Some(go()), Some(go()), ""), Outcome::Proxy);
        assert_eq!(outcome(&of_chromium(IPHONE), Some(go()), Some(go()), ""), Outcome::Imitation);
        let unusual = request(
            CHROME,
            &[
                "Host",
                "User-Agent",
                "Accept-Language",
                "Sec-Fetch-Site",
                "Sec-Fetch-Mode",
                "Sec-Fetch-Dest",
                "Accept",
                "Accept-Encoding",
            ],
        );
        assert_eq!(outcome(&unusual, Some(go()), None, "Windows"), Outcome::Unknown);
        let other_browser = outcome(&of_firefox(CHROME), Some(go()), None, "Windows");
        assert_eq!(other_browser, Outcome::Imitation);
    }

    #[test]
    fn request_without_fetch_metadata_is_no_new_browser_over_tls() {
        // Node.js sends Sec-Fetch-Mode without the others.
        let names = ["Host", "User-Agent", "Accept", "Sec-Fetch-Mode", "Accept-Encoding", "Accept-Language"];
        let with_version = |version: &str| request(&CHROME.replace("131", version), &names);
        for (version, expected) in [("131", Outcome::Imitation), ("79", Outcome::Consistent)] {
            let found = outcome(&with_version(version), Some(chromium()), None, "Windows");
            assert_eq!(found, expected, "{version}");
        }
        // A navigation without client hints.
        let navigate = |version: &str| {
            let names = ["Sec-Fetch-Dest", "Sec-Fetch-Site", "Accept", "Accept-Encoding", "Accept-Language"];
            let user_agent = CHROME.replace("131", version);
            let headers = [("User-Agent", &*user_agent), ("Sec-Fetch-Mode", "navigate")];
            let headers = headers.into_iter().chain(names.map(|name| (name, "x")));
            Request::new(HttpVersion::Http2, b"GET", b"/", headers.collect())
        };
        for (version, expected) in [("131", Outcome::Imitation), ("94", Outcome::Consistent)] {
            let found = outcome(&navigate(version), Some(chromium()), None, "Windows");
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
    fn other_system_below_browser_is_proxy() {
        let found = outcome(&of_chromium(CHROME), Some(chromium()), None, "Linux");
        assert_eq!(found, Outcome::Proxy);
    }

    #[test]
    fn contradicting_client_hints_are_imitation() {
        let rows: [(&str, &str, &str, Outcome); 8] = [
            (CHROME, "Sec-CH-UA-Platform", "\"Linux\"", Outcome::Imitation),
            (CHROME, "Sec-CH-UA-Platform", "\"Windows\"", Outcome::Consistent),
            (CHROME, "Sec-CH-UA-Platform", "\"Chrome OS\"", Outcome::Consistent),
            (CHROME, "Sec-CH-UA", "\"Chromium\";v=\"124\", \"Edge\";v=\"131\"", Outcome::Imitation),
            (CHROME, "Sec-CH-UA", "\"Chromium\";v=\"131\", \"Edge\";v=\"12\"", Outcome::Consistent),
            (CHROME, "Sec-CH-UA", "\"HeadlessChrome\";v=\"131\"", Outcome::Imitation),
            (CHROME, "Sec-CH-UA", "\"Not a brand\"", Outcome::Consistent),
            (FIREFOX, "Sec-CH-UA", "\"Chromium\";v=\"131\"", Outcome::Imitation),
        ];
        for (user_agent, name, value, expected) in rows {
            let headers = [(name, value), ("User-Agent", user_agent)].into_iter().collect();
            let request = Request::new(HttpVersion::Http2, b"POST", b"/", headers);
            assert_eq!(outcome(&request, Some(chromium()), None, "Windows"), expected, "{name}: {value}");
        }
    }

    #[test]
    fn proxy_header_explains_foreign_layers() {
        for name in ["Via", "Forwarded", "X-Forwarded-For"] {
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
        let request = of_chromium(CHROME);
        let tls = chromium();
        let layers = ClientLayers {
            tls: Some(&tls),
            akamai: Some(&akamai),
            request: Some(&request),
            ..ClientLayers::default()
        };
        let found = check(&layers, &Database::builtin());
        assert_eq!(
            found.to_string(),
            "imitation: User-Agent says Chromium 131 on Windows; the order of HTTP/2 pseudo-headers is m,p,s,a"
        );
    }

    #[test]
    fn claims_without_browser_are_unknown() {
        let agent = |text: &str| of_python(text);
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
        assert_eq!(check(&ClientLayers::default(), &Database::builtin()).outcome, Outcome::Unknown);
    }
}
