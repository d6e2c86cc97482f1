//! Compares the headers of a request with those that a browser sends.

use huginn_net_http::{Headers, Request};

use super::ClaimedBrowser;
use super::claim::BrowserClaim;

/// Headers that proxies, load balancers and content delivery networks add, besides those that p0f knows.
const PROXY_HEADERS: [&str; 8] = [
    "X-Real-IP",
    "X-Client-IP",
    "Client-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "X-BlueCoat-Via",
    "X-IMForwards",
    "X-Proxy-ID",
];

/// Whether a header that p0f does not know shows that a proxy forwarded a request.
pub(crate) fn has_proxy_header(headers: &Headers) -> bool {
    headers.iter().any(|header| PROXY_HEADERS.iter().any(|name| header.is(name)))
}

/// The headers of a request.
pub(crate) struct RequestHeaders<'a> {
    request: &'a Request,
}

impl<'a> RequestHeaders<'a> {
    pub(crate) fn new(request: &'a Request) -> Self {
        Self { request }
    }

    /// Whether a header shows that a proxy forwarded the request.
    pub(crate) fn is_forwarded(&self) -> bool {
        ["Via", "Forwarded", "X-Forwarded-For"].iter().any(|name| self.has(name))
            || has_proxy_header(self.request.headers())
    }

    /// Whether the request has none of Accept, Accept-Language and Accept-Encoding. Every request of a browser has at least
    /// one of them, except those that ask a proxy for a connection (CONNECT).
    pub(crate) fn lack_accept(&self) -> bool {
        let names = ["Accept", "Accept-Language", "Accept-Encoding"];
        let has_any = names.iter().any(|name| self.has(name));
        !has_any && self.request.method() != b"CONNECT" && !self.request.headers().is_cut()
    }

    /// Whether the request has nothing but Host, User-Agent, and headers that describe its body or that pages cause. Every
    /// request of Chromium and Firefox has Connection or Accept-Encoding, even if a proxy or a filter removes one of them.
    pub(crate) fn is_bare(&self) -> bool {
        let names = ["Host", "User-Agent", "Content-Length", "Content-Type", "Cookie", "Referer"];
        let headers = self.request.headers();
        !headers.is_cut() && headers.iter().all(|header| names.iter().any(|name| header.is(name)))
    }

    fn has(&self, name: &str) -> bool {
        self.request.header(name).is_some()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.request.headers().iter().position(|header| header.is(name))
    }

    /// Whether the headers are in the order of the claimed browser.
    ///
    /// `Some(true)` if they identify the browser, `Some(false)` if the browser cannot send this order. Proxies may sort
    /// headers: Go's `net/http` does.
    pub(crate) fn compare_order(&self, claim: &BrowserClaim<'_>) -> Option<bool> {
        if self.is_for_media() {
            return None;
        }
        let [user_agent, accept, encoding, accept_language, fetch] =
            ["User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Sec-Fetch-Mode"]
                .map(|name| self.position(name));
        let in_order = |names: &[Option<usize>]| names.iter().flatten().is_sorted();
        let is_possible = match claim.browser {
            // Scripts may set Accept and Accept-Language, which then come earlier.
            ClaimedBrowser::Chromium => {
                [user_agent, accept, fetch].into_iter().all(|at| in_order(&[at, encoding]))
            }
            ClaimedBrowser::Firefox => in_order(&[user_agent, accept, accept_language, encoding, fetch]),
            ClaimedBrowser::Safari => true,
        };
        if !is_possible {
            return Some(false);
        }
        let is_complete = [accept, encoding, accept_language, fetch].iter().all(Option::is_some);
        let is_chromium = in_order(&[accept, fetch, encoding, accept_language]);
        let is_firefox = in_order(&[accept, accept_language, encoding, fetch]);
        let has_order = match claim.browser {
            ClaimedBrowser::Chromium => is_chromium,
            ClaimedBrowser::Firefox => is_firefox,
            // Its order differs between versions.
            ClaimedBrowser::Safari => !is_chromium && !is_firefox,
        };
        (is_complete && has_order).then_some(true)
    }

    /// Whether a header is missing that the claimed browser always sends with GET over TLS.
    pub(crate) fn lack_fetch_metadata(&self, claim: &BrowserClaim<'_>) -> bool {
        // WebSocket handshakes also have fewer headers.
        let may_lack = self.request.method() != b"GET" || self.has("Upgrade");
        let names = ["Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site"];
        !may_lack && claim.sends_fetch_metadata() && !names.iter().all(|name| self.has(name))
    }

    /// Whether a navigation has no Sec-CH-UA, which the claimed browser sends over TLS unless a policy or disabled
    /// JavaScript prevents it.
    pub(crate) fn lack_client_hints(&self, claim: &BrowserClaim<'_>) -> bool {
        let navigates = self.request.header("Sec-Fetch-Mode") == Some(b"navigate");
        claim.sends_client_hints() && navigates && !self.has("Sec-CH-UA")
    }

    /// Whether the request is for audio or video. The media players of browsers write Range and Accept-Encoding first.
    fn is_for_media(&self) -> bool {
        let encoding = self.request.header("Accept-Encoding").unwrap_or_default();
        let destination = self.request.header("Sec-Fetch-Dest").unwrap_or_default();
        self.has("Range")
            || encoding.starts_with(b"identity")
            || matches!(destination, b"audio" | b"video" | b"track")
    }
}
