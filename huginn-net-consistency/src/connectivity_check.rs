//! Connectivity checks: requests by which systems and programs ask whether a network has a captive portal.
//!
//! Many have the fixed User-Agent of a browser that did not send them. Such a User-Agent is no imitation, and the system
//! that it names is not evidence.

use huginn_net_http::Request;
use memchr::memrchr;

/// A connectivity check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectivityCheck {
    /// The name of the system that sends it. `None` if several do.
    pub system: Option<&'static str>,
}

/// The last segments of the paths of connectivity checks, with their sources.
const PATHS: [&[u8]; 14] = [
    // AOSP, NetworkMonitor.java: DEFAULT_HTTP_URL; the same in Chromium, Fire OS (fireoscaptiveportal.com), MIUI
    // (connect.rom.miui.com) and EMUI (connectivitycheck.platform.hicloud.com).
    b"generate_204",
    // AOSP, NetworkMonitor.java: DEFAULT_FALLBACK_URL.
    b"gen_204",
    // ColorOS: conn1.coloros.com, conn2, conn3.
    b"generate204",
    // Amazon, Alexa Voice Service SDK, InternetConnectionMonitor: S3_TEST_URL; Kindle and Echo ask for variants.
    b"wifistub.html",
    b"wifistub-echo.html",
    b"wifistub-eink.html",
    // PICO: connectivitycheck.picovr.com.
    b"wifi.html",
    // Apple: captive.apple.com, www.apple.com/library/test.
    b"hotspot-detect.html",
    b"success.html",
    // Microsoft, "Network Connectivity Status Indicator overview": www.msftconnecttest.com, www.msftncsi.com.
    b"connecttest.txt",
    b"ncsi.txt",
    // Mozilla, captivedetect.canonicalURL: detectportal.firefox.com; success.txt before.
    b"canonical.html",
    b"success.txt",
    // NetworkManager.conf(5) of GNOME: nmcheck.gnome.org.
    b"check_network_status.txt",
];

/// The fixed User-Agents of Android: DEFAULT_USER_AGENT of AOSP's NetworkMonitor.java since Android 8, and that of 7.1.
const ANDROID: [&[u8]; 2] = [
    b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0.3112.32 Safari/537.36",
    b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/52.0.2743.82 Safari/537.36",
];

/// The starts of User-Agents that name a program of a system, but not the system.
const PROGRAMS: [(&[u8], &str); 2] = [
    // Apple, CaptiveNetworkSupport.
    (b"CaptiveNetworkSupport", "macOS or iOS"),
    // Microsoft, Network Connectivity Status Indicator.
    (b"Microsoft NCSI", "Windows"),
];

/// Headers that browsers send and connectivity checks do not.
const BROWSER_HEADERS: [&str; 4] = ["Accept-Language", "Cookie", "Referer", "Sec-Fetch-Mode"];

impl ConnectivityCheck {
    /// Recognises a check by its method, its path, its User-Agent and its headers, whatever host it asks.
    pub fn from_request(request: &Request) -> Option<Self> {
        let path = request.target().split(|byte| matches!(byte, b'?' | b'#')).next()?;
        let segment = path.get(memrchr(b'/', path)?.saturating_add(1)..)?;
        if !PATHS.contains(&segment) || request.method() != b"GET" {
            return None;
        }
        if BROWSER_HEADERS.iter().any(|name| request.header(name).is_some()) {
            return None;
        }
        let user_agent = request.user_agent()?;
        let is_android = ANDROID.contains(&user_agent);
        let of_program = || {
            let mut programs = PROGRAMS.iter();
            programs.find(|(start, _)| user_agent.starts_with(start)).map(|(_, system)| *system)
        };
        Some(Self { system: if is_android { Some("Android") } else { of_program() } })
    }
}

#[cfg(test)]
mod tests {
    use huginn_net_http::HttpVersion;

    use super::*;

    const ANDROID_8: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0.3112.32 Safari/537.36";
    const CHROME: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

    fn system(method: &str, path: &str, user_agent: &str, other: &str) -> Option<Option<&'static str>> {
        let headers = [("User-Agent", user_agent), ("Host", "x"), (other, "x")].into_iter().collect();
        let request = Request::new(HttpVersion::Http11, method.as_bytes(), path.as_bytes(), headers);
        ConnectivityCheck::from_request(&request).map(|check| check.system)
    }

    #[test]
    fn check_is_recognised_by_method_path_user_agent_and_headers() {
        for (path, user_agent, expected) in [
            ("/generate_204", ANDROID_8, Some(Some("Android"))),
            ("/generate_204", &*ANDROID_8.replace("60.0.3112.32", "52.0.2743.82"), Some(Some("Android"))),
            ("/gen_204?x=/y", ANDROID_8, Some(Some("Android"))),
            ("http://connect.rom.miui.com/generate_204", ANDROID_8, Some(Some("Android"))),
            ("/kindle-wifi/wifistub.html", ANDROID_8, Some(Some("Android"))),
            ("/hotspot-detect.html", "CaptiveNetworkSupport-407 wispr", Some(Some("macOS or iOS"))),
            ("/ncsi.txt", "Microsoft NCSI", Some(Some("Windows"))),
            ("/generate_204", CHROME, Some(None)),
            ("/generate_204/x", ANDROID_8, None),
            ("/index.html", ANDROID_8, None),
            ("*", ANDROID_8, None),
        ] {
            assert_eq!(system("GET", path, user_agent, "Accept-Encoding"), expected, "{path} {user_agent}");
        }
        assert_eq!(system("POST", "/generate_204", ANDROID_8, "Accept-Encoding"), None);
        assert_eq!(system("GET", "/generate_204", ANDROID_8, "Accept-Language"), None);
    }
}
