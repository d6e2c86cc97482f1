//! The browser that a User-Agent claims.

use std::str;
use std::sync::Arc;

use huginn_net_db::{Database, HttpMatch, Software, SoftwareClaim};
use huginn_net_http::http2::{Akamai, PseudoHeader};

use crate::systems::{may_be, same_stack};
use crate::{ClaimedBrowser, ConsistencyReason};

/// First version of Chromium with BoringSSL on every system. Earlier ones have NSS or OpenSSL on some.
const MIN_BORINGSSL_CHROMIUM: u32 = 50;

/// First versions of Chromium, Firefox and Safari that send Sec-Fetch headers in every release.
const MIN_FETCH_METADATA_VERSIONS: [u32; 3] = [80, 90, 17];

/// First version of Chromium whose navigations over TLS usually have Sec-CH-UA. Chrome sends it since 89, QtWebEngine
/// since a version between 94 and 108.
const MIN_CLIENT_HINTS_CHROMIUM: u32 = 110;

/// The browser and the system that a User-Agent claims.
pub(crate) struct BrowserClaim<'a> {
    pub(crate) browser: ClaimedBrowser,
    /// The major version of the browser; `None` if the User-Agent has none.
    pub(crate) version: Option<u32>,
    /// The name of the system in the database.
    system: Option<&'a Arc<str>>,
}

/// Products in the User-Agent of a browser with Chromium's network library. Programs that embed Chromium add their own
/// product, and some of them have another network library.
const CHROMIUM_PRODUCTS: [&str; 7] =
    ["AppleWebKit", "Chrome", "Mobile", "Safari", "Edg", "OPR", "QtWebEngine"];
const FIREFOX_PRODUCTS: [&str; 2] = ["Gecko", "Firefox"];
const SAFARI_PRODUCTS: [&str; 7] = ["AppleWebKit", "Version", "Mobile", "Safari", "CriOS", "FxiOS", "EdgiOS"];

/// The systems in the database that each value of Sec-CH-UA-Platform means.
const PLATFORMS: [(&str, &[&str]); 4] = [
    ("Windows", &["Windows"]),
    ("macOS", &["macOS or iOS", "Mac OS X", "macOS"]),
    ("Linux", &["Linux"]),
    ("Android", &["Android"]),
];

impl<'a> BrowserClaim<'a> {
    /// Parses a User-Agent. `None` for programs that are not browsers or say so, such as robots, headless browsers and
    /// programs that embed a browser.
    pub(crate) fn parse(user_agent: &'a [u8], database: &'a Database) -> Option<Self> {
        let text = str::from_utf8(user_agent).ok()?;
        let (platform, products) = text.strip_prefix("Mozilla/5.0 (")?.split_once(')')?;
        if platform.contains("compatible;") || platform.ends_with("; wv") {
            return None;
        }
        let products = products.replace("(KHTML, like Gecko)", "");
        let products = || products.split(' ').filter(|product| !product.is_empty());
        let version = |name: &str| {
            let text = products().find_map(|product| product.strip_prefix(name)?.strip_prefix('/'))?;
            text.split('.').next()?.parse().ok()
        };
        let only = |known: &[&str]| {
            products().all(|product| known.contains(&product.split('/').next().unwrap_or_default()))
        };
        let is_apple = platform.starts_with("Macintosh;") || platform.starts_with("iP");
        let (browser, version) = if platform.starts_with("iP") && only(&SAFARI_PRODUCTS) {
            (ClaimedBrowser::Safari, version("Version"))
        } else if let Some(version) = version("Chrome").filter(|_| only(&CHROMIUM_PRODUCTS)) {
            (ClaimedBrowser::Chromium, Some(version))
        } else if let Some(version) = version("Firefox").filter(|_| only(&FIREFOX_PRODUCTS)) {
            (ClaimedBrowser::Firefox, Some(version))
        } else if is_apple && only(&SAFARI_PRODUCTS) {
            (ClaimedBrowser::Safari, Some(version("Version")?))
        } else {
            return None;
        };
        let system = database.user_agent_system(user_agent).map(|system| &system.name);
        Some(Self { browser, version, system })
    }

    /// The claim as the first reason.
    pub(crate) fn reason(&self) -> ConsistencyReason {
        ConsistencyReason::Claim {
            browser: self.browser,
            version: self.version,
            system: self.system.map(Arc::clone),
        }
    }

    /// Whether the claimed version sends Sec-Fetch headers over TLS (Fetch Metadata Request Headers, W3C).
    pub(crate) fn sends_fetch_metadata(&self) -> bool {
        let [chromium, firefox, safari] = MIN_FETCH_METADATA_VERSIONS;
        let min = match self.browser {
            ClaimedBrowser::Chromium => chromium,
            ClaimedBrowser::Firefox => firefox,
            ClaimedBrowser::Safari => safari,
        };
        self.version.is_some_and(|version| version >= min)
    }

    /// Whether navigations of the claimed version have Sec-CH-UA over TLS (User-Agent Client Hints, WICG).
    pub(crate) fn sends_client_hints(&self) -> bool {
        self.browser == ClaimedBrowser::Chromium && self.version >= Some(MIN_CLIENT_HINTS_CHROMIUM)
    }

    pub(crate) fn compare_tls(&self, software: &Software) -> Option<bool> {
        let library = software.library.as_deref()?;
        let application = software.application.as_deref();
        match self.browser {
            ClaimedBrowser::Chromium if self.version < Some(MIN_BORINGSSL_CHROMIUM) => None,
            // Proxies have BoringSSL, too.
            ClaimedBrowser::Chromium if library == "BoringSSL" && software.candidates.is_empty() => None,
            ClaimedBrowser::Chromium => Some(library == "BoringSSL" && application.is_none_or(is_chromium)),
            ClaimedBrowser::Firefox => Some(library == "NSS"),
            ClaimedBrowser::Safari => Some(library == "Apple"),
        }
    }

    /// Whether TLS is that of another program that no proxy is made of.
    pub(crate) fn has_tls_of_other_program(&self, software: &Software) -> bool {
        is_no_proxy(software) && self.compare_tls(software) == Some(false)
    }

    /// Whether HTTP/2 is that of another program that no proxy is made of.
    pub(crate) fn has_http2_of_other_program(&self, software: &Software) -> bool {
        is_no_proxy(software) && self.compare_http2(software) == Some(false)
    }

    /// Compares the candidates: a fingerprint that the browser can have agrees.
    pub(crate) fn compare_http2(&self, software: &Software) -> Option<bool> {
        let is_browser = |name: &str| match self.browser {
            ClaimedBrowser::Chromium => is_chromium(name),
            ClaimedBrowser::Firefox => name.starts_with("Firefox"),
            ClaimedBrowser::Safari => name.starts_with("Safari"),
        };
        let mut names = software.candidates.iter().map(|name| match name.split_once(" as ") {
            Some((_, imitated)) => imitated,
            None => name,
        });
        let first = names.next()?;
        Some(is_browser(first) || names.any(is_browser))
    }

    /// Compares the order of the pseudo-header fields, which is the same in all versions of Chromium and of Firefox.
    pub(crate) fn compare_pseudo_headers(&self, akamai: &Akamai) -> Option<bool> {
        use PseudoHeader::{Authority, Method, Path, Scheme};
        let expected = match self.browser {
            ClaimedBrowser::Chromium => [Method, Authority, Scheme, Path],
            ClaimedBrowser::Firefox => [Method, Path, Authority, Scheme],
            ClaimedBrowser::Safari => return None,
        };
        Some(akamai.pseudo_headers().iter().eq(expected)).filter(|agrees| !agrees)
    }

    /// Compares the software that the headers match. Another one contradicts only if the database has signatures of the
    /// browser itself, and the headers contradict these.
    pub(crate) fn compare_http1(&self, found: &HttpMatch) -> Option<bool> {
        let label = &*found.label;
        if label.generic {
            return None;
        }
        let is_own = match &*label.name {
            "Firefox" | "Mozilla or Firefox" => self.browser == ClaimedBrowser::Firefox,
            "Safari" | "CFNetwork" => self.browser == ClaimedBrowser::Safari,
            name => is_chromium(name) && self.browser == ClaimedBrowser::Chromium,
        };
        (is_own || found.claim == SoftwareClaim::Dishonest).then_some(is_own)
    }

    /// Whether the headers are those of another browser, and contradict the claimed one.
    pub(crate) fn is_other_browser(&self, found: &HttpMatch) -> bool {
        let name = &*found.label.name;
        let is_browser = is_chromium(name) || ["Firefox", "Safari", "Mozilla or Firefox"].contains(&name);
        is_browser && self.compare_http1(found) == Some(false)
    }

    pub(crate) fn compare_system(&self, observed: &str) -> Option<bool> {
        let claimed: &str = self.system?;
        Some(may_be(claimed, observed) || same_stack(claimed, observed))
    }

    /// Compares Sec-CH-UA-Platform. Unknown platforms and systems say nothing, and neither does Android: browsers on it ask
    /// for the desktop site with the User-Agent of another system.
    pub(crate) fn compare_platform(&self, platform: &[u8]) -> Option<bool> {
        let platform = str::from_utf8(platform).ok()?.strip_prefix('"')?.strip_suffix('"')?;
        let (shown, _) = PLATFORMS.iter().find(|(name, _)| *name == platform)?;
        let system: &str = self.system?;
        let (claimed, _) = PLATFORMS.iter().find(|(_, systems)| systems.contains(&system))?;
        let agrees = shown == claimed;
        (agrees || *shown != "Android").then_some(agrees)
    }

    /// Compares Sec-CH-UA, which only Chromium sends, with its own version among the brands.
    pub(crate) fn compare_brands(&self, brands: &[u8]) -> Option<bool> {
        if self.browser != ClaimedBrowser::Chromium {
            return Some(false);
        }
        let brands = str::from_utf8(brands).ok()?;
        if brands.contains("\"HeadlessChrome\"") {
            return Some(false);
        }
        let (_, rest) = brands.split_once("\"Chromium\";v=\"")?;
        let version = rest.split(['"', '.']).next()?.parse().ok()?;
        Some(self.version == Some(version))
    }
}

/// Whether the software is Firefox, Chromium or libcurl, which no proxy is made of.
fn is_no_proxy(software: &Software) -> bool {
    let application = software.application.as_deref();
    software.library.as_deref() == Some("NSS")
        || application.is_some_and(|name| is_chromium(name) || name == "libcurl")
}

/// Whether a name is that of a browser with Chromium's network library.
fn is_chromium(name: &str) -> bool {
    ["Chromium", "Chrome", "Edge", "Opera"].iter().any(|browser| name.starts_with(browser))
}
