//! Compares the headers of a request with those that a browser sends.

use huginn_net_http::Request;

use super::claim::{Browser, Claim};

/// The headers of a request. Proxies add headers and keep the order of the others.
pub(super) struct RequestHeaders<'a> {
    request: &'a Request,
}

impl<'a> RequestHeaders<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        Self { request }
    }

    /// Whether a header shows that a proxy forwarded the request.
    pub(super) fn is_forwarded(&self) -> bool {
        ["Via", "Forwarded", "X-Forwarded-For"].iter().any(|name| self.request.header(name).is_some())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.request.headers().iter().position(|header| header.is(name))
    }

    /// Whether the request has the headers of the claimed browser, in the browser's order.
    ///
    /// `Some(false)` if a header is missing that the browser always sends, or if the order is impossible. `None` if the
    /// headers fit the browser but do not identify it.
    pub(super) fn compare(&self, claim: &Claim<'_>, over_tls: bool) -> Option<bool> {
        let [user_agent, accept, encoding, accept_language, fetch] =
            ["User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Sec-Fetch-Mode"]
                .map(|name| self.position(name));
        let in_order = |names: &[Option<usize>]| names.iter().flatten().is_sorted();
        let is_possible = match claim.browser {
            // Scripts may set Accept and Accept-Language, which then come earlier.
            Browser::Chromium => [user_agent, accept, fetch].into_iter().all(|at| in_order(&[at, encoding])),
            Browser::Firefox => in_order(&[user_agent, accept, accept_language, encoding, fetch]),
            Browser::Safari => true,
        };
        if !is_possible || (over_tls && self.lacks_header_of_browser(claim)) {
            return Some(false);
        }
        let is_complete = [accept, encoding, accept_language].iter().all(Option::is_some);
        let is_chromium = in_order(&[accept, fetch, encoding, accept_language]);
        let is_firefox = in_order(&[accept, accept_language, encoding, fetch]);
        let has_order = match claim.browser {
            Browser::Chromium => is_chromium,
            Browser::Firefox => is_firefox,
            // Its order differs between versions.
            Browser::Safari => !is_chromium && !is_firefox,
        };
        (is_complete && fetch.is_some() && has_order).then_some(true)
    }

    /// Whether a header is missing that the claimed browser always sends over TLS.
    fn lacks_header_of_browser(&self, claim: &Claim<'_>) -> bool {
        // Other methods have fewer headers, as has the request that opens a WebSocket.
        if self.request.method() != b"GET" || self.position("Upgrade").is_some() {
            return false;
        }
        let lacks = |name: &str| self.position(name).is_none();
        let lacks_fetch = ["Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site"].into_iter().any(lacks);
        let navigates = self.request.header("Sec-Fetch-Mode") == Some(b"navigate");
        (claim.sends_fetch_metadata() && lacks_fetch)
            || (claim.sends_client_hints() && navigates && lacks("Sec-CH-UA"))
    }
}
