//! `huginn-net report`: one page that loads nothing, whatever the captures contain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::captures;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).arg("report").args(args).output().unwrap()
}

fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// The page about these captures.
fn page(name: &str, captures: &[&str]) -> String {
    let path = place(name);
    let output = run(&[&["-o", path.to_str().unwrap()], captures].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    fs::read_to_string(path).unwrap()
}

/// The data of the table of hosts.
#[derive(Deserialize)]
struct Hosts {
    texts: Vec<String>,
    folder: String,
    files: Option<String>,
    hosts: Vec<Host>,
}

/// Columns, contradictions, evidence and details.
type Host = (Vec<usize>, Vec<usize>, Vec<usize>, Option<Details>);

/// Names that a host asked for and was asked for, numbers of what is left out, activity, and the timeline.
type Details = (Vec<usize>, Vec<usize>, [u64; 3], String, Vec<i64>);

impl Hosts {
    fn details(&self, address: &str) -> &Details {
        let host = self.hosts.iter().find(|host| self.texts[host.0[0]] == address).unwrap();
        host.3.as_ref().unwrap()
    }

    /// Packet number, file, event, value and peer of each step.
    fn steps(&self, address: &str) -> Vec<(i64, [&str; 4])> {
        let text = |number: &i64| &*self.texts[usize::try_from(*number).unwrap()];
        let steps = self.details(address).4.chunks(7);
        steps
            .map(|step| (step[1], [text(&step[2]), text(&step[3]), text(&step[4]), text(&step[5])]))
            .collect()
    }
}

fn hosts(page: &str) -> Hosts {
    let (_, rest) = page.split_once("<script id=\"host-data\" type=\"application/json\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Replaces a text in a capture by another one of the same length.
fn replaced(name: &str, texts: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = fs::read(captures::path(name)).unwrap();
    for (old, new) in texts {
        assert_eq!(old.len(), new.len());
        let places: Vec<usize> = bytes
            .windows(old.len())
            .enumerate()
            .filter(|(_, text)| *text == old.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty(), "{old}");
        places.iter().for_each(|at| bytes[*at..*at + new.len()].copy_from_slice(new.as_bytes()));
    }
    bytes
}

/// The first four packets of a capture, SYN to ClientHello, repeated with this number of addresses in place of the
/// client's.
fn with_hosts(name: &str, client: [u8; 4], hosts: u32) -> Vec<u8> {
    const FILE_HEADER: usize = 24;
    const PACKET_HEADER: usize = 16;
    let bytes = fs::read(captures::path(name)).unwrap();
    let mut made = bytes[..FILE_HEADER].to_vec();
    for host in 0..hosts {
        let address = (u32::from_be_bytes([100, 64, 0, 0]) + host).to_be_bytes();
        let mut rest = &bytes[FILE_HEADER..];
        for _ in 0..4 {
            let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            let (packet, after) = rest.split_at(PACKET_HEADER + len);
            let mut packet = packet.to_vec();
            let place = packet.windows(4).position(|bytes| bytes == client).unwrap();
            packet[place..place + 4].copy_from_slice(&address);
            made.extend(packet);
            rest = after;
        }
    }
    made
}

#[test]
fn page_shows_hosts_clients_and_blind_spots() {
    let page = page("curl.html", &[captures::path("tls-curl.pcap").to_str().unwrap()]);
    for text in
        ["<title>Hosts and clients in captures</title>", "libcurl 7.88 and older", "<svg role=\"img\""]
    {
        assert!(page.contains(text), "{text}");
    }
    let Hosts { texts, hosts, .. } = hosts(&page);
    assert_eq!(hosts.len(), 4);
    let (columns, _, evidence, _) = &hosts[0];
    assert_eq!(texts[columns[0]], "192.0.2.1");
    let evidence: Vec<&str> = evidence.iter().map(|index| &*texts[*index]).collect();
    assert!(
        evidence.iter().any(|line| line.starts_with("TCP says Linux (Linux 4.20 or newer")),
        "{evidence:?}"
    );
}

#[test]
fn host_has_names_activity_and_timeline_with_packets() {
    let page = page("steps.html", &[captures::path("tls-curl.pcap").to_str().unwrap()]);
    let hosts = hosts(&page);
    let (asked, served, more, spark, _) = hosts.details("192.0.2.1");
    assert_eq!(hosts.texts[asked[0]], "www.example.test");
    assert!(served.is_empty() && *more == [0; 3], "{served:?} {more:?}");
    assert!(spark.len() == 24 && spark.contains('9'), "{spark}");
    assert_eq!(hosts.texts[hosts.details("192.0.2.2").1[0]], "www.example.test");
    let steps = hosts.steps("192.0.2.1");
    // tshark: frame 4 has the ClientHello.
    let (packet, [file, _, value, peer]) = steps.iter().find(|(_, step)| step[1] == "tls_client").unwrap();
    assert_eq!((*packet, *file, *peer), (4, "tls-curl.pcap", "192.0.2.2:443"));
    assert!(
        value.starts_with("www.example.test, t13d") && value.contains("libcurl 7.88 and older"),
        "{value}"
    );
}

/// Packets and alerts: tshark 4.0.17.
#[test]
fn failed_handshakes_and_wrong_certificates_stand_out() {
    let files = ["tls-alerts.pcap", "tls-certificates.pcap", "tls-openssl.pcap"];
    let paths = files.map(|name| captures::path(name).display().to_string());
    let page = page("handshakes.html", &paths.each_ref().map(String::as_str));
    let (stands_out, _) = page.split_once("<script id=\"host-data\"").unwrap();
    for text in [
        "TLS with 192.0.2.2:443: handshake failed, unknown_ca of the client",
        "certificate of port 443, not for the server name: CN=www.example.test",
        "unknown_ca of the client (2 of 12 handshakes)",
        "failed TLS handshakes</span>",
        "frame.number in {40, 53}",
    ] {
        assert!(stands_out.contains(text), "{text}");
    }
    let hosts = hosts(&page);
    for (address, peer) in [("192.0.2.1", "192.0.2.2:443"), ("192.0.2.2", "192.0.2.1:")] {
        let steps = hosts.steps(address);
        let has = |kind: &str, text: &str| {
            steps.iter().any(|(_, [_, event, value, of])| {
                *event == kind && value.contains(text) && of.starts_with(peer)
            })
        };
        assert!(has("tls_handshake", "handshake failed, unknown_ca of the client"), "{steps:?}");
        assert!(has("tls_certificates", "not for the server name"), "{steps:?}");
        assert!(has("tls_certificates", "self-issued"), "{steps:?}");
    }
}

/// A server of a private network, and the same at an address of the Internet.
#[test]
fn self_issued_certificate_names_server_and_clients() {
    let near = captures::path("tls-clients.pcap");
    let far = place("far.pcap");
    let mut bytes = fs::read(&near).unwrap();
    let places: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&[192, 0, 2, 2])).collect();
    places.iter().for_each(|at| bytes[*at..*at + 4].copy_from_slice(&[8, 8, 8, 8]));
    fs::write(&far, bytes).unwrap();
    for (capture, server) in [(&near, "192.0.2.2"), (&far, "8.8.8.8")] {
        let page = page("self-issued.html", &[capture.to_str().unwrap()]);
        let of_certificates = |item: &&str| item.contains("certificate of port 443, self-issued: CN=");
        let items: Vec<&str> = remarks(&page).into_iter().filter(of_certificates).collect();
        // One for each address of the server.
        assert_eq!(items.len(), 2, "{items:#?}");
        let item = items.iter().find(|item| item.contains(&format!("\"#host={server}\""))).unwrap();
        for text in
            ["(4 handshakes) sent to <a href=\"#host=192.0.2.1\">192.0.2.1</a>", "frame.number in {6,"]
        {
            assert!(item.contains(text), "{text}: {item}");
        }
    }
}

/// The certificate is valid from 2026-11-21 to 2036-11-18 (`openssl x509 -dates`).
#[test]
fn expired_and_not_yet_valid_certificates_stand_out() {
    const FILE_HEADER: usize = 24;
    let capture = place("years.pcap");
    for (shift, remark) in [(-200_000_000, "not yet valid"), (400_000_000, "expired")] {
        let mut bytes = replaced("tls-clients.pcap", &[]);
        let mut at = FILE_HEADER;
        while at < bytes.len() {
            let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let seconds = word(&bytes, at).checked_add_signed(shift).unwrap();
            bytes[at..at + 4].copy_from_slice(&seconds.to_le_bytes());
            at += 16 + word(&bytes, at + 8) as usize;
        }
        fs::write(&capture, bytes).unwrap();
        let page = page("years.html", &[capture.to_str().unwrap()]);
        let text = format!("certificate of port 443, {remark}, self-issued: CN=www.example.test");
        let item = remarks(&page).into_iter().find(|item| item.contains(&text)).unwrap();
        assert!(item.contains("sent to"), "{item}");
    }
}

/// The page and the timeline say so in words, too: a lock alone says nothing to a screen reader.
#[test]
fn decrypted_content_has_an_open_lock() {
    let shown = page("lock.html", &[captures::path("http-decrypted-sessions.pcapng").to_str().unwrap()]);
    let (header, _) = shown.split_once("</header>").unwrap();
    assert!(header.contains("<svg role=\"img\" aria-label=\"open lock\""), "{header}");
    assert!(header.contains(" connections of TLS and QUIC decrypted with logged secrets."), "{header}");
    let texts = hosts(&shown).texts;
    assert!(
        texts.iter().any(|text| text.starts_with("\u{1f513} decrypted: GET www.example.test/")),
        "{texts:?}"
    );
    let shown = page("no_lock.html", &[captures::path("tls-curl.pcap").to_str().unwrap()]);
    assert!(!shown.contains("open lock") && !shown.contains("decrypted: "));
}

#[test]
fn queries_of_requests_are_not_in_timelines() {
    let capture = place("query.pcap");
    let texts = ("GET / HTTP/1.1\r\nHost: www.example.test", "GET /p?token=secret HTTP/1.1\r\nHost: ab");
    fs::write(&capture, replaced("curl-nginx.pcap", &[texts])).unwrap();
    let hosts = hosts(&page("query.html", &[capture.to_str().unwrap()]));
    assert!(hosts.texts.iter().any(|text| text.starts_with("GET ab/p, curl")), "{:?}", hosts.texts);
    assert!(hosts.texts.iter().all(|text| !text.contains("secret")), "{:?}", hosts.texts);
}

#[test]
fn time_of_an_unset_clock_is_outside_of_the_timeline() {
    const FILE_HEADER: usize = 24;
    let capture = place("unset.pcap");
    let mut bytes = replaced("tls-curl.pcap", &[]);
    bytes[FILE_HEADER..FILE_HEADER + 4].copy_from_slice(&5_u32.to_le_bytes());
    fs::write(&capture, bytes).unwrap();
    let page = page("unset.html", &[capture.to_str().unwrap()]);
    assert!(page.contains(" outside, from 1970-01-01 00:00:05 to 1970-01-01 00:00:05 UTC"), "{page}");
    assert!(page.contains("events for each second"), "{page}");
}

#[test]
fn what_stands_out_has_severity_host_and_packet() {
    let capture = captures::path("nmap-syn.pcap");
    let page = page("tool.html", &[capture.to_str().unwrap()]);
    let (_, list) = page.split_once("id=\"items\"").unwrap();
    let (item, _) = list.split_once("</li>").unwrap();
    for text in [
        "<strong class=\"severity low\">low</strong>",
        "<strong>tool</strong>: ",
        " SYNs to ",
        " packet 7 of nmap-syn.pcap",
    ] {
        assert!(item.contains(text), "{text}: {item}");
    }
}

/// The alerts.
fn items(page: &str) -> Vec<&str> {
    list(page, "id=\"items\"")
}

/// What else there is to say of hosts.
fn remarks(page: &str) -> Vec<&str> {
    list(page, "id=\"remarks\"")
}

fn list<'p>(page: &'p str, id: &str) -> Vec<&'p str> {
    let Some((_, list)) = page.split_once(id) else { return Vec::new() };
    let (list, _) = list.split_once("</ul>").unwrap();
    list.split("<li").skip(1).collect()
}

/// The first four packets of `tls-curl.pcap`, SYN to ClientHello, once a minute, each time from another port.
fn with_contacts(count: u16) -> Vec<u8> {
    const FILE_HEADER: usize = 24;
    const PACKET_HEADER: usize = 16;
    // Offsets in the frame: Ethernet has 14 bytes, IPv4 20.
    const SOURCE: std::ops::Range<usize> = 26..30;
    const PORTS: usize = 34;
    let bytes = fs::read(captures::path("tls-curl.pcap")).unwrap();
    let mut made = bytes[..FILE_HEADER].to_vec();
    for contact in 0..count {
        let mut rest = &bytes[FILE_HEADER..];
        for _ in 0..4 {
            let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            let (packet, after) = rest.split_at(PACKET_HEADER + len);
            let mut packet = packet.to_vec();
            let seconds = u32::from_le_bytes(packet[..4].try_into().unwrap()) + 60 * u32::from(contact);
            packet[..4].copy_from_slice(&seconds.to_le_bytes());
            let frame = &mut packet[PACKET_HEADER..];
            let port = if frame[SOURCE] == [192, 0, 2, 1] { PORTS } else { PORTS + 2 };
            frame[port..port + 2].copy_from_slice(&(40_000 + contact).to_be_bytes());
            made.extend(packet);
            rest = after;
        }
    }
    made
}

#[test]
fn beacon_comes_first_with_its_packets() {
    let capture = place("beacon.pcap");
    fs::write(&capture, with_contacts(12)).unwrap();
    let name = capture.to_str().unwrap();
    let shown = page("beacon.html", &["--beacon-count", "10", name]);
    let first = items(&shown)[0];
    for text in [
        "severity low",
        "<a href=\"#host=192.0.2.1\">",
        "www.example.test every 60.0 s (jitter 0.0 %), 10 times",
        " of beacon.pcap",
        "<code>ip.addr == 192.0.2.1 &amp;&amp; ip.addr == ",
    ] {
        assert!(first.contains(text), "{text}: {first}");
    }
    let steps = hosts(&shown);
    assert!(steps.steps("192.0.2.1").iter().any(|(_, step)| step[1] == "finding"));
    // The default threshold is 10 for intervals as regular as these.
    fs::write(&capture, with_contacts(9)).unwrap();
    let shown = page("no_beacon.html", &[name]);
    assert!(items(&shown).iter().all(|item| !item.contains(" every ")), "{:?}", items(&shown));
}

#[test]
fn beacon_of_several_captures_is_one_item() {
    let captures = [place("beacon_one.pcap"), place("beacon_two.pcap")];
    captures.iter().for_each(|capture| fs::write(capture, with_contacts(25)).unwrap());
    let [one, two] = captures.each_ref().map(|capture| capture.to_str().unwrap());
    let shown = page("beacons.html", &[one, two]);
    let beacons: Vec<&str> = items(&shown).into_iter().filter(|item| item.contains(" every ")).collect();
    assert_eq!(beacons.len(), 1, "{beacons:?}");
    assert!(
        beacons[0].contains("(in 2 captures)") && beacons[0].contains(" of beacon_one.pcap"),
        "{beacons:?}"
    );
}

/// Two captures in which a private address is the client.
#[test]
fn local_address_is_a_host_of_each_network() {
    let captures = ["lone.pcap", "other.pcap"].map(|name| {
        let capture = place(name);
        let mut bytes = fs::read(captures::path("tls-curl.pcap")).unwrap();
        // Captures that share two servers are of one network.
        let server = if name == "lone.pcap" { [192, 0, 2, 2] } else { [203, 0, 113, 9] };
        for (old, new) in [([192, 0, 2, 1], [10, 0, 0, 1]), ([192, 0, 2, 2], server)] {
            let is_old = |at: &usize| bytes[*at..].starts_with(&old);
            let places: Vec<usize> = (0..bytes.len()).filter(is_old).collect();
            places.iter().for_each(|at| bytes[*at..*at + 4].copy_from_slice(&new));
        }
        fs::write(&capture, bytes).unwrap();
        capture.display().to_string()
    });
    let rows = |options: &[&str]| {
        let page = page("networks.html", &[options, &captures.each_ref().map(String::as_str)].concat());
        let hosts = hosts(&page);
        let addresses = hosts.hosts.iter().map(|host| hosts.texts[host.0[0]].clone());
        addresses.filter(|address| address.starts_with("10.0.0.1")).collect::<Vec<_>>()
    };
    let [one, other] = &rows(&[])[..] else { panic!("{:?}", rows(&[])) };
    assert!(one.ends_with("lone.pcap") && other.ends_with("other.pcap"), "{one} {other}");
    assert_eq!(rows(&["--merge"]), ["10.0.0.1"]);
    assert_eq!(rows(&["--network", "office"]), ["10.0.0.1\nin office"]);
}

#[test]
fn contradiction_has_the_packet_of_its_finding() {
    let page = page("contradiction.html", &[captures::path("hosts-ua.pcap").to_str().unwrap()]);
    let items = items(&page);
    let found = items.iter().find(|item| item.contains("TCP says Linux, User-Agent says Windows")).unwrap();
    assert!(found.contains(" packet 14 of hosts-ua.pcap"), "{found}");
}

#[test]
fn imitation_is_one_item() {
    let page = page("imitation.html", &[captures::path("http-imitation.pcap").to_str().unwrap()]);
    let items = items(&page);
    let words = "<strong>imitation</strong>: User-Agent says Chromium 131";
    assert!(items.iter().any(|item| item.contains(words)), "{items:?}");
    // The event "mismatch" has the same words.
    assert!(remarks(&page).iter().all(|item| !item.contains("imitation: ")), "{items:?}");
}

#[test]
fn hit_of_a_watch_list_comes_first_and_sets_the_status() {
    // The JA4 of the first client in `tls-rustls.pcap`.
    const JA4: &str = "t13d1011h1_61a7ad8aa9b6_0d308c48d2a3";
    let (list, path) = (place("watch.csv"), place("watched.html"));
    let capture = captures::path("tls-rustls.pcap");
    let args = |value: &str, more: &[&str]| {
        fs::write(&list, format!("type,value,label\nja4,{value},<b>loader\n")).unwrap();
        let fixed = ["--fingerprints", list.to_str().unwrap(), "-o", path.to_str().unwrap()];
        let output = run(&[&fixed[..], more, &[capture.to_str().unwrap()]].concat());
        (output.status.code(), fs::read_to_string(&path).unwrap())
    };
    let (status, page) = args(JA4, &[]);
    assert_eq!(status, Some(3));
    let items = items(&page);
    for text in [
        "severity high",
        &format!("watched ja4 {JA4}, &lt;b&gt;loader, list "),
        "watch.csv",
        "tls-rustls.pcap",
    ] {
        assert!(items[0].contains(text), "{text}: {}", items[0]);
    }
    assert!(items[1..].iter().all(|item| !item.contains("watched")), "{items:?}");
    assert_eq!(args(JA4, &["no-such-capture.pcap"]).0, Some(3));
    assert!(hosts(&page).texts.iter().any(|text| *text == format!("ja4 {JA4}, <b>loader")));
    // The packet is that of the ClientHello.
    let (_, numbers) = items[0].split_once(" packet").unwrap();
    let first: i64 = numbers.split(|c: char| !c.is_ascii_digit()).find_map(|text| text.parse().ok()).unwrap();
    let hosts = hosts(&page);
    let clients = hosts.hosts.iter().map(|host| &*hosts.texts[host.0[0]]);
    let mut hellos =
        clients.filter(|ip| items[0].contains(&format!("#host={ip}\""))).flat_map(|ip| hosts.steps(ip));
    assert!(hellos.any(|(packet, step)| packet == first && step[1] == "tls_client" && step[2].contains(JA4)));
    // Another fingerprint, and events that a condition leaves out.
    assert_eq!(args("t13d1011h1_61a7ad8aa9b6_000000000000", &[]).0, Some(0));
    let (status, page) = args(JA4, &["--where", "sni == 'none.example'"]);
    assert!(status == Some(0) && !page.contains("watched ja4"), "{status:?}");
}

#[test]
fn captures_are_arguments_of_a_shell_in_their_folder() {
    let folder = place("a folder");
    fs::create_dir_all(&folder).unwrap();
    let names = ["it's.pcap", "plain.pcap"].map(|name| folder.join(name));
    names.iter().for_each(|path| {
        fs::copy(captures::path("tls-curl.pcap"), path).unwrap();
    });
    let [one, two] = names.each_ref().map(|path| path.to_str().unwrap());
    let found = hosts(&page("arguments.html", &[one, two]));
    assert_eq!(found.files.as_deref(), Some("'it'\\''s.pcap' plain.pcap"));
    assert!(found.folder.ends_with("/a folder/"), "{}", found.folder);
}

#[test]
fn page_refers_to_nothing_outside() {
    let page =
        page("alone.html", &["-q", captures::path("tls-curl.pcap").parent().unwrap().to_str().unwrap()]);
    assert!(page.contains("default-src 'none'"));
    for text in ["http://", "https://", "src=", "url(", "@import", " style=", "onclick"] {
        assert!(!page.contains(text), "{text}");
    }
}

#[test]
fn markup_in_packets_is_text() {
    let hello = place("hostile-tls.pcap");
    fs::write(&hello, replaced("tls-curl.pcap", &[("www.example.test", "<img src=x id=y>")])).unwrap();
    let http = place("hostile-http.pcap");
    let texts = [("curl/7.88.1", "<b id=pwn>&"), ("nginx/1.22.1", "</script><i>")];
    fs::write(&http, replaced("curl-nginx.pcap", &texts)).unwrap();
    let page = page("hostile.html", &["--title", "<u>", hello.to_str().unwrap(), http.to_str().unwrap()]);
    for text in ["<img", "<b id", "</script><i>", "<u>"] {
        assert!(!page.contains(text), "{text}");
    }
    for text in
        ["&lt;img src=x id=y&gt;", "\\u003cb id=pwn\\u003e\\u0026", "&lt;/script&gt;&lt;i&gt;", "&lt;u&gt;"]
    {
        assert!(page.contains(text), "{text}");
    }
    let texts = hosts(&page).texts;
    for text in ["User-Agent <b id=pwn>&", "Server </script><i>"] {
        assert!(texts.iter().any(|found| found == text), "{texts:?}");
    }
}

#[test]
fn page_of_many_hosts_is_small() {
    let capture = place("many.pcap");
    for (count, is_complete) in [(10_000, true), (40_000, false)] {
        fs::write(&capture, with_hosts("tls-curl.pcap", [192, 0, 2, 1], count)).unwrap();
        let page = page("many.html", &[capture.to_str().unwrap()]);
        assert!(page.len() < 2_000_000, "{count} hosts: {} bytes", page.len());
        let listed = hosts(&page).hosts.len();
        let all = count as usize + 1;
        assert_eq!(listed == all, is_complete, "{listed} of {all}");
        assert_eq!(page.contains(&format!("The table has {listed} of {all} hosts")), !is_complete);
        assert!(page.contains(&format!("<span>{all} hosts</span>")));
    }
}

#[test]
fn capture_without_findings_has_a_reason() {
    let capture = place("none.pcap");
    // The file header, and the first bytes of the first packet.
    let bytes = replaced("tls-curl.pcap", &[]);
    fs::write(&capture, [&bytes[..32], &[4, 0, 0, 0], &bytes[36..44]].concat()).unwrap();
    let page = page("none.html", &[capture.to_str().unwrap()]);
    assert!(page.contains("No events: see <a href=\"#blind-spots\">"), "{page}");
    assert!(page.contains("1 packet whose headers the snap length cut"), "{page}");
}

#[test]
fn report_does_not_overwrite_a_capture() {
    let capture = place("input.pcap");
    fs::copy(captures::path("tls-curl.pcap"), &capture).unwrap();
    let before = fs::read(&capture).unwrap();
    let name = capture.to_str().unwrap();
    let output = run(&[name, "-o", name]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read(&capture).unwrap(), before);
}

#[test]
fn stopped_report_leaves_the_earlier_page() {
    let folder = place("stopped");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("page.html");
    fs::write(&path, "earlier").unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    program.args(["report", "-o", path.to_str().unwrap(), "-"]).stdin(Stdio::piped());
    let mut program = program.spawn().unwrap();
    let has_started = || fs::read_dir(&folder).unwrap().count() > 1;
    let deadline = Instant::now() + Duration::from_secs(30);
    while !has_started() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(has_started());
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "earlier");
}

#[test]
fn damaged_capture_is_reported_and_shown() {
    let capture = place("cut.pcap");
    let bytes = replaced("tls-curl.pcap", &[]);
    fs::write(&capture, &bytes[..bytes.len() - 10]).unwrap();
    let path = place("cut.html");
    let output = run(&[capture.to_str().unwrap(), "-o", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cut.pcap"));
    assert!(fs::read_to_string(path).unwrap().contains("libcurl 7.88 and older"));
}

#[test]
fn page_has_key_exchanges_and_servers_that_need_attention() {
    let capture = captures::path("tls-openssl.pcap");
    let page = page("cryptography.html", &[capture.to_str().unwrap()]);
    let (_, section) = page.split_once("<section id=\"cryptography\"").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    for text in [
        // tshark: 7 ServerHellos, none with a hybrid group.
        "7 connections: 0 % hybrid or post-quantum key exchange, 100 % classical, 0 % unknown",
        "<td class=\"value\">x448</td><td>classical</td><td class=\"number\">1</td><td class=\"number\">1</td>",
        "<a href=\"#host=192.0.2.2\">192.0.2.2:4443</a></td><td class=\"value\"></td><td>TLS 1.0, TLS 1.1, classical only</td>",
    ] {
        assert!(section.contains(text), "{text}\n{section}");
    }
}

#[test]
fn page_has_key_exchanges_and_weak_methods_of_ssh() {
    let capture = captures::path("ssh-weak.pcap");
    let page = page("ssh.html", &[capture.to_str().unwrap()]);
    let (_, section) = page.split_once("<section id=\"cryptography\"").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    for text in [
        "SSH: 4 connections of 3 servers, 1 client: 50 % hybrid or post-quantum, 50 % classical, 0 % unknown",
        "weak methods in use: diffie-hellman-group1-sha1 (1 server), 3des-cbc (1 server)",
        "<td class=\"value\">diffie-hellman-group1-sha1</td><td>classical</td>",
        "<td>diffie-hellman-group1-sha1, 3des-cbc, hmac-md5 and 4 more, classical only</td>",
        "<td>offers diffie-hellman-group1-sha1, 3des-cbc, hmac-md5 and 4 more",
    ] {
        assert!(section.contains(text), "{text}\n{section}");
    }
}

#[test]
fn names_of_ssh_peers_are_printable_on_the_page() {
    let long = format!("\u{1b}[2J\u{7}<b>{}", "x".repeat(1000));
    let lists = [long.as_str(), "ssh-ed25519", "none", "none"];
    let capture = crate::inventory::ssh_capture("page.pcap", &[(lists, lists)]);
    let page = page("ssh_names.html", &[capture.to_str().unwrap()]);
    let (_, section) = page.split_once("<section id=\"cryptography\"").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    assert!(section.contains("<td class=\"value\">\\x1b[2J\\x07&lt;b&gt;xxx"), "{section}");
    assert!(section.contains("x…</td>") && !section.contains(&"x".repeat(64)), "{section}");
    assert!(!section.contains(|c: char| c.is_control() && c != '\n'), "{section:?}");
    assert!(section.contains("<td>no encryption, no MAC</td>"), "{section}");
}
