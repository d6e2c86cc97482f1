//! Matches of HTTP signatures, compared with those of p0f 3.09b for the same heads and database.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

use huginn_net_db::{Database, HttpMatch, HttpParams, SoftwareClaim};
use huginn_net_http::{Headers, HttpSignature, HttpVersion, Role};
use proptest::prelude::*;

fn database() -> Database {
    include_str!("matching/http.fp").parse().unwrap()
}

#[test]
fn matches_agree_with_p0f() {
    let database = database();
    let rows = include_str!("matching/http.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for row in rows {
        let [role, minor, head, name, params] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let version = if minor == "0" { HttpVersion::Http10 } else { HttpVersion::Http11 };
        let (signature, found) = match role {
            "request" => {
                let signature = HttpSignature::new(Role::Request, version, headers(head));
                let found = database.match_request(&signature);
                (signature, found)
            }
            _ => {
                let signature = HttpSignature::new(Role::Response, version, headers(head));
                let found = database.match_response(&signature);
                (signature, found)
            }
        };
        assert_eq!(printed_name(found.as_ref()), name, "{row}");
        assert_eq!(HttpParams::as_p0f(&signature, found.as_ref()).to_string(), params, "{row}");
        count += 1;
    }
    assert!(count > 100);
}

/// Parses the headers of a table row; a literal `\n` separates them.
fn headers(lines: &str) -> Headers {
    let fields = lines.split("\\n").map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        (name, unescape(value))
    });
    fields.collect()
}

/// Decodes `\xNN` escapes.
fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).unwrap());
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}

fn printed_name(found: Option<&HttpMatch>) -> String {
    match found {
        Some(found) if found.label.is_tool() => format!("app={}", found.label),
        Some(found) => format!("os={}", found.label),
        None => "app=???".into(),
    }
}

#[test]
fn claim_is_dishonest_for_other_product_and_custom_for_own_name() {
    let database = Database::builtin();
    let curl = |user_agent: &str| {
        let headers: [(&str, &[u8]); 3] =
            [("Host", b"x"), ("User-Agent", user_agent.as_bytes()), ("Accept", b"*/*")];
        HttpSignature::new(Role::Request, HttpVersion::Http11, headers.into_iter().collect())
    };
    let ie = |user_agent: &str| {
        let headers: [(&str, &[u8]); 6] = [
            ("Accept", b"text/html, application/xhtml+xml, */*"),
            ("Accept-Language", b"en-US"),
            ("User-Agent", user_agent.as_bytes()),
            ("Accept-Encoding", b"gzip, deflate"),
            ("Host", b"x"),
            ("Connection", b"Keep-Alive"),
        ];
        HttpSignature::new(Role::Request, HttpVersion::Http11, headers.into_iter().collect())
    };
    let firefox = |user_agent: &str| {
        let headers: [(&str, &[u8]); 7] = [
            ("Host", b"x"),
            ("User-Agent", user_agent.as_bytes()),
            ("Accept", b"text/html,*/*;q=0.8"),
            ("Accept-Language", b"en-US"),
            ("Accept-Encoding", b"gzip, deflate"),
            ("DNT", b"1"),
            ("Connection", b"keep-alive"),
        ];
        HttpSignature::new(Role::Request, HttpVersion::Http11, headers.into_iter().collect())
    };
    let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
    let with = |product: &str| format!("{chrome} {product}");
    let table = [
        (curl("curl/8.5.0"), "curl", "none"),
        // Other products of the database.
        (curl(chrome), "curl", "dishonest"),
        (curl(&with("Edg/131.0.0.0")), "curl", "dishonest"),
        (curl("python-requests/2.31.0"), "curl", "dishonest"),
        (curl("Microsoft BITS/7.8"), "curl", "dishonest"),
        (curl("Mozilla/5.0 (Windows NT 6.1; Trident/7.0; rv:11.0) like Gecko"), "curl", "dishonest"),
        (
            curl("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
            "curl",
            "dishonest",
        ),
        // The product of a name with an alternative, Mozilla or Firefox.
        (firefox("Mozilla/5.0 (X11; Linux x86_64; rv:102.0) Gecko/20100101"), "Firefox", "none"),
        // Programs with names of their own.
        (curl("Docker-Client/19.03.8 (linux)"), "curl", "custom"),
        (curl("CUPS/2.2.7 (Linux 4.15; x86_64) IPP/2.0"), "curl", "custom"),
        (curl(&with("Battle.net/1.0.8.4217")), "curl", "custom"),
        (curl("example curl"), "curl", "custom"),
        // Internet Explorer 11 dropped "MSIE"; Edge up to 18 has the same network library.
        (ie("Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1)"), "Internet Explorer or WinINet", "none"),
        (
            ie("Mozilla/5.0 (Windows NT 6.1; Trident/7.0; rv:11.0) like Gecko"),
            "Internet Explorer or WinINet",
            "none",
        ),
        (ie(&with("Edge/13.10586")), "Internet Explorer or WinINet", "custom"),
        (ie(chrome), "Internet Explorer or WinINet", "dishonest"),
    ];
    for (signature, name, params) in table {
        let found = database.match_request(&signature);
        let printed = HttpParams::from_signature(&signature, found.as_ref()).to_string();
        assert_eq!(found.map(|found| found.label.name.to_string()).as_deref(), Some(name), "{signature:?}");
        assert_eq!(printed, params, "{:?}", String::from_utf8_lossy(signature.software().unwrap()));
    }
}

/// The heads of browsers that the database has no signature of, or of which it has signatures for pages alone.
#[test]
fn unrecorded_browser_is_neither_dishonest_nor_another_one() {
    let database = Database::builtin();
    let names = ["Host", "User-Agent", "Accept", "Accept-Language", "Accept-Encoding", "Connection"];
    let values = ["x", "", "*/*", "en-us", "gzip, deflate", "keep-alive"];
    let in_order_of_firefox = |user_agent: &str, accept: &str| {
        let headers = names.iter().zip(values).map(|(name, value)| match *name {
            "User-Agent" => (*name, user_agent),
            "Accept" => (*name, accept),
            _ => (*name, value),
        });
        HttpSignature::new(Role::Request, HttpVersion::Http11, headers.collect())
    };
    let curl = |user_agent: &str, _: &str| {
        let headers = [("Host", "x"), ("User-Agent", user_agent), ("Accept", "*/*")];
        HttpSignature::new(Role::Request, HttpVersion::Http11, headers.into_iter().collect())
    };
    let safari = |version: &str| {
        format!(
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_6_8) AppleWebKit/534.57.2 (KHTML, like Gecko) Version/{version} Safari/534.57.2"
        )
    };
    let chromium = |product: &str| {
        format!(
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) {product} Safari/537.36"
        )
    };
    let android_browser = "Mozilla/5.0 (Linux; U; Android 2.3.4; en-us) AppleWebKit/533.1 (KHTML, like Gecko) Version/4.0 Mobile Safari/533.1";
    let playstation = "Mozilla/5.0 (PlayStation 4 5.55) AppleWebKit/601.2 (KHTML, like Gecko)";
    let ios_app = "Mozilla/5.0 (iPhone; CPU iPhone OS 15_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148";
    let (page, part) = ("text/html,*/*;q=0.8", "*/*");
    let table = [
        (safari("5.1.7"), part, None),
        (safari("5.1.7"), page, None),
        // Signatures of pages alone.
        (safari("15.6"), part, None),
        (safari("15.6"), page, Some("dishonest")),
        (android_browser.to_owned(), part, None),
        (playstation.to_owned(), part, None),
        (ios_app.to_owned(), part, None),
        (chromium("Chrome/7.0.517.44"), part, None),
        (chromium("Chrome/8.0.552.215"), part, Some("dishonest")),
        (chromium("Chrome/131.0.0.0"), part, Some("dishonest")),
        // A browser of its own, made of a recorded one.
        (chromium("Chrome/108.0.0.0 Electron/22.0"), part, None),
    ];
    for (user_agent, accept, params) in &table {
        let signature = in_order_of_firefox(user_agent, accept);
        let found = database.match_request(&signature);
        let printed = HttpParams::from_signature(&signature, found.as_ref()).to_string();
        assert_eq!(found.is_some().then_some(&*printed), *params, "{user_agent}, {accept}");
        assert_eq!(&*database.match_http_as_p0f(&signature).unwrap().label.name, "Firefox");
    }
    assert!(database.match_request(&curl(&safari("5.1.7"), "")).is_none());
    // HTTP/1.0, which a proxy may have written.
    let headers = [("Host", "x"), ("User-Agent", &*chromium("Chrome/131.0.0.0")), ("Accept", "*/*")];
    let by_proxy = HttpSignature::new(Role::Request, HttpVersion::Http10, headers.into_iter().collect());
    assert!(database.match_request(&by_proxy).is_none());
}

#[test]
fn user_agent_of_app_is_custom() {
    let database = Database::builtin();
    for (names, name) in [
        (&["User-Agent", "Host", "Connection", "Accept-Encoding"][..], "Android"),
        (&["Host", "Connection", "Accept-Encoding", "User-Agent"], "OkHttp"),
    ] {
        let headers = names.iter().map(|name| match *name {
            "User-Agent" => (*name, "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0.3112.32 Safari/537.36"),
            "Connection" => (*name, "Keep-Alive"),
            "Accept-Encoding" => (*name, "gzip"),
            _ => (*name, "x"),
        });
        let signature = HttpSignature::new(Role::Request, HttpVersion::Http11, headers.collect());
        let found = database.match_request(&signature);
        let printed = HttpParams::from_signature(&signature, found.as_ref()).to_string();
        assert_eq!(found.map(|found| found.label.name.to_string()).as_deref(), Some(name));
        assert_eq!(printed, "custom", "{name}");
    }
}

#[test]
fn own_signature_is_preferred_to_dishonest_match() {
    let database: Database = "classes = unix
[http:request]
label = s:!:One:2 or newer
sys = @unix
sig = 1:Host,A=[x]::One/
label = s:!:Other:
sys = @unix
sig = 1:Host,A,B::Other/
"
    .parse()
    .unwrap();
    for (user_agent, name, claim) in [
        ("One/2", "One", SoftwareClaim::Agrees),
        ("Other/1", "Other", SoftwareClaim::Agrees),
        ("Third/1", "One", SoftwareClaim::Custom),
    ] {
        let headers =
            [("Host", "x"), ("A", "x"), ("B", "x"), ("User-Agent", user_agent)].into_iter().collect();
        let signature = HttpSignature::new(Role::Request, HttpVersion::Http11, headers);
        let found = database.match_request(&signature).unwrap();
        assert_eq!((&*found.label.name, found.claim), (name, claim), "{user_agent}");
        assert_eq!(&*database.match_http_as_p0f(&signature).unwrap().label.name, "One");
    }
}

#[test]
fn dishonest_head_is_exact_without_other_headers() {
    let database = Database::builtin();
    let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36";
    for (user_agent, others, is_exact) in [
        (chrome, &[][..], true),
        (chrome, &["Content-Length", "Content-Type", "cookie", "Referer"], true),
        (chrome, &["Accept-Language"], false),
        (chrome, &["Upgrade-Insecure-Requests"], false),
        (chrome, &["X"], false),
        // Not dishonest.
        ("curl/8.5.0", &[], false),
        ("Docker-Client/19.03.8 (linux)", &[], false),
    ] {
        let headers = [("Host", "x"), ("User-Agent", user_agent), ("Accept", "*/*")].into_iter();
        let headers = headers.chain(others.iter().map(|name| (*name, "x"))).collect();
        let found = database.match_request(&HttpSignature::new(Role::Request, HttpVersion::Http11, headers));
        let found = found.map(|found| (found.label.name.to_string(), found.is_exact));
        assert_eq!(found, Some(("curl".to_owned(), is_exact)), "{user_agent} {others:?}");
    }
}

#[test]
fn match_names_line_and_label() {
    let database = database();
    let signature = HttpSignature::new(Role::Request, HttpVersion::Http10, headers("BA: 1\\nBC: 1"));
    let found = database.match_request(&signature).unwrap();
    let entry = database.http_request().iter().find(|entry| entry.line == found.line).unwrap();
    assert_eq!(entry.pattern.to_string(), "*:BA,BC::");
    assert_eq!((&*found.label.name, found.label.flavor.as_deref()), ("Specific", Some("late")));
    assert_eq!(database.match_response(&signature), None);
}

#[test]
fn first_signature_without_forbidden_header_matches() {
    let signature = |n| format!("label = s:!:{n}:\nsys = @win\nsig = *:Host,N{n}:A{n}:\n");
    let generic = "label = g:!:any:\nsys = @win\nsig = *:?Host:X:\n";
    let signatures: String = (0..200).map(signature).collect();
    let database: Database = format!("classes = win\n[http:request]\n{signatures}{generic}").parse().unwrap();
    let table: [(&str, Option<&str>); 7] = [
        ("Host,N0", Some("0")),
        ("Host,N199", Some("199")),
        ("Host,N150,N63,N64", Some("63")),
        ("Host,N150,N63,A63,N64", Some("64")),
        ("N64,Host", Some("any")),
        ("Host,N100,A100", Some("any")),
        ("Host,N100,A100,X", None),
    ];
    for (names, expected) in table {
        let headers = names.split(',').map(|name| (name, "")).collect();
        let found = database.match_request(&HttpSignature::new(Role::Request, HttpVersion::Http11, headers));
        assert_eq!(found.as_ref().map(|found| &*found.label.name), expected, "{names}");
    }
}

#[test]
fn contains_names_of_all_signatures() {
    // Like p0f, raw signatures truncate the values of these headers at a bar. The names come from both sections and
    // include headers that must be absent.
    let database = database();
    for name in ["V", "O", "X", "VC", "VB", "Last-Modified"] {
        assert!(database.contains_header_name(name.as_bytes()), "{name}");
    }
    for name in ["v", "", "Host", "Tool"] {
        assert!(!database.contains_header_name(name.as_bytes()), "{name}");
    }
}

#[test]
fn http2_never_matches() {
    let database: Database = "[http:request]\nlabel = s:!:A:\nsys =\nsig = *:::\n".parse().unwrap();
    let matches = |version| {
        let signature = HttpSignature::new(Role::Request, version, headers("a: 1"));
        database.match_request(&signature).is_some()
    };
    assert!(matches(HttpVersion::Http10) && matches(HttpVersion::Http11));
    assert!(!matches(HttpVersion::Http2));
}

proptest! {
    #[test]
    fn head_with_required_headers_matches(
        names in prop::collection::vec("[A-C]", 0..6),
        optional in prop::collection::vec(any::<bool>(), 6),
        values in prop::collection::vec(prop::option::of("[a-c]{1,2}"), 6),
        fillers in prop::collection::vec(any::<bool>(), 6),
    ) {
        let patterns: Vec<String> = names.iter().zip(&optional).zip(&values).map(|((name, optional), value)| {
            let value = value.as_ref().map_or(String::new(), |value| format!("=[{value}]"));
            format!("{}{name}{value}", if *optional { "?" } else { "" })
        }).collect();
        let file = format!("[http:request]\nlabel = s:!:A:\nsys =\nsig = *:{}:X:\n", patterns.join(","));
        let database: Database = file.parse().unwrap();
        let mut head = Vec::new();
        for ((name, value), filler) in names.iter().zip(&values).zip(&fillers) {
            if *filler {
                head.push(("Filler", "1".to_owned()));
            }
            head.push((name, format!("<{}>", value.as_deref().unwrap_or(""))));
        }
        let found = |head: &[(&str, String)]| {
            let headers = head.iter().map(|(name, value)| (name, value)).collect();
            let signature = HttpSignature::new(Role::Request, HttpVersion::Http11, headers);
            database.match_request(&signature).is_some()
        };
        prop_assert!(found(&head));
        head.push(("X", String::new()));
        prop_assert!(!found(&head));
    }

    #[test]
    fn arbitrary_head_never_panics(fields in prop::collection::vec(("[A-CVXY]{1,2}", any::<Vec<u8>>()), 0..40)) {
        let signature = HttpSignature::new(Role::Request, HttpVersion::Http11, fields.into_iter().collect());
        let _ = database().match_request(&signature);
        let _ = Database::builtin().match_request(&signature);
        let _ = Database::builtin().match_response(&signature);
    }
}
