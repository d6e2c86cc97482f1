//! Output and exit status of `huginn-net explain`.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The example of FoxIO's `technical_details/JA4.md`.
const HASHED: &str = "t13d1516h2_8daaf6152771_e5627efa2ab1";
const CIPHERS: &str = "002f,0035,009c,009d,1301,1302,1303,c013,c014,c02b,c02c,c02f,c030,cca8,cca9";
const EXTENSIONS: &str = "0005,000a,000b,000d,0012,0015,0017,001b,0023,002b,002d,0033,4469,ff01";
const ALGORITHMS: &str = "0403,0804,0401,0503,0805,0501,0806,0601";
const ORIGINAL: &str = "t13d1516h2_1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035_\
    001b,0000,0033,0010,4469,0017,002d,000d,0005,0023,0012,002b,ff01,000b,000a,0015_\
    0403,0804,0401,0503,0805,0501,0806,0601";

fn raw() -> String {
    format!("t13d1516h2_{CIPHERS}_{EXTENSIONS}_{ALGORITHMS}")
}

fn explain(values: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).arg("explain").args(values).output().unwrap()
}

/// Returns the standard output of `explain`, which must succeed.
fn explanation(values: &[&str]) -> String {
    let output = explain(values);
    assert!(output.status.success(), "{values:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn assert_has_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found.trim_start() == *line), "no line '{line}' in\n{text}");
    }
}

#[test]
fn explains_each_part_of_hash() {
    assert_has_lines(
        &explanation(&[HASHED]),
        &[
            "t             TLS over TCP",
            "13            TLS 1.3",
            "d             with the extension server_name",
            "15            cipher suites, without GREASE",
            "16            extensions, with server_name and ALPN, without GREASE",
            "h2            first and last character of the first ALPN value: h2",
            "8daaf6152771  hash of the cipher suites",
            "e5627efa2ab1  hash of the extensions and signature algorithms",
        ],
    );
    assert_has_lines(
        &explanation(&["q00i0000dt_000000000000_e3b0c44298fc"]),
        &[
            "q             QUIC",
            "00            a version that JA4 has no name for, such as a draft of TLS 1.3",
            "i             without the extension server_name",
            "dt            first and last character of the first ALPN value: dot",
            "000000000000  no cipher suites",
            "it has the hash of nothing for no extensions, not 000000000000",
        ],
    );
}

#[test]
fn explains_lists_by_name() {
    let text = explanation(&[&raw()]);
    assert_has_lines(
        &text,
        &[
            "15 cipher suites",
            "1301  TLS_AES_128_GCM_SHA256",
            "14 extensions, without server_name and ALPN",
            "002b  supported_versions",
            "8 signature algorithms",
            "0804  rsa_pss_rsae_sha256",
            &format!("with hashes  {HASHED}"),
        ],
    );
    assert!(!text.contains("Not by the definition"), "{text}");
    assert_has_lines(
        &explanation(&[ORIGINAL]),
        &[
            "16 extensions, in the order of the wire",
            "with hashes  t13d1516h2_acb858a92679_18f69afefd3d",
            &format!("sorted       {HASHED}"),
        ],
    );
}

#[test]
fn rejects_malformed_value_with_position() {
    for (value, offset) in
        [("t14d", 2), ("t13d1516h2_8daaf6152771_e5627efa2ab", 35), ("t13d1516h2_1301,13", 18)]
    {
        let output = explain(&[value]);
        assert_eq!(output.status.code(), Some(2), "{value}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(&format!("offset {offset},")), "{error}");
        assert_eq!(output.stdout, b"");
    }
}

/// Each row has the JA4_a of the definition, the JA4_a of a deviating tool, and the explanation.
#[test]
fn names_deviations_of_ja4_a() {
    let with = |head: &str| HASHED.replace("t13d1516h2", head);
    let rows = [
        (
            "t13d1516h1",
            "t13d1516ht",
            "B has the first two characters of http/1.1, not the first and the last",
        ),
        (
            "t13d1516xx",
            "t13d1516x0",
            "B fills an ALPN value of one character with 0, where it stands for both",
        ),
        (
            "t13d1516h2",
            "t13i1516h2",
            "with as many extensions in both, B may take an IP address in server_name for no name; the definition \
             only checks that the extension is present",
        ),
        ("t13d1516h2", "t13d1616h2", "the lists are the same, so B may count GREASE"),
        ("t13d1516h2", "t13d1518h2", "the lists are the same, so B may count GREASE"),
        ("t13d1516h2", "t13d1514h2", "the lists are the same, so B may count without server_name and ALPN"),
        (
            "t13d1516h2",
            "t12d1516h2",
            "B may have the version of the hello itself, not the highest of supported_versions",
        ),
        ("t12d1516h2", "t10d1516h2", "B may have the version of the TLS record, not that of the hello"),
        (
            "t13d1516h2",
            "q13d1516h2",
            "one may decide by the extension quic_transport_parameters (0039), not by the transport of the hello",
        ),
    ];
    for (definition, deviation, wanted) in rows {
        let text = explanation(&[&with(definition), &with(deviation)]);
        assert_has_lines(&text, &[wanted, "b  the same", "c  the same"]);
        let swapped =
            wanted.replace("B may", "A may").replace("B has", "A has").replace("B fills", "A fills");
        assert_has_lines(&explanation(&[&with(deviation), &with(definition)]), &[&swapped]);
    }
}

/// Python's `hashlib` computed the hashes of the deviating lists.
#[test]
fn finds_list_deviations_by_recomputing_hashes() {
    let rows = [
        ("8daaf6152771_0adf69b4533f", "B has its signature algorithms sorted, not in the order of the wire"),
        ("8daaf6152771_a7826127fcf8", "B leaves server_name and ALPN in the list of extensions"),
        ("6a824f026652_e5627efa2ab1", "B keeps GREASE among its cipher suites, such as 3a3a"),
        ("8daaf6152771_f43e90038a36", "B keeps GREASE among its extensions, such as 1a1a and fafa"),
        ("8daaf6152771_e6933462598d", "B keeps GREASE among its signature algorithms, such as 2a2a"),
        ("8daaf6152771_6d807ffa2a79", "B leaves out the signature algorithms"),
        ("8daaf6152771_9381a8ef4792", "B has an underscore and no signature algorithms behind it"),
        ("8d0f5bff77f8_e5627efa2ab1", "B hashes a list in upper case"),
        ("b7ed17d66830_e5627efa2ab1", "B hashes a list of decimal numbers with '-', as JA3 does"),
        ("8daaf6152771_59204b37da4c", "B is ja4_stable, without 0015, 0023, 0029 and 002a"),
        (
            "8daaf6152771_8b8af37844ec",
            "B is the ja4_s1 of huginn-net 2.2, without nine extensions of sessions",
        ),
        ("8daaf6152771_e3b0c44298fc", "B has the hash of nothing: it saw no extensions"),
    ];
    for (hashes, wanted) in rows {
        let hashed = format!("t13d1516h2_{hashes}");
        assert_has_lines(&explanation(&[&raw(), &hashed]), &["a  the same", wanted]);
        assert_has_lines(&explanation(&[&hashed, &raw()]), &[&wanted.replacen('B', "A", 1)]);
    }
    let resumed = raw().replace("0023,002b", "0023,0029,002a,002b");
    let text = explanation(&[&resumed, "t13d1516h2_8daaf6152771_5852bc479b9c"]);
    assert_has_lines(&text, &["B is the stable form of nDPI, without 0015, 0023 and 0029"]);
    let two = explanation(&[&raw(), "t13d1516h2_8daaf6152771_5afd1c25efaa"]);
    assert_has_lines(&two, &["B leaves server_name in the list of extensions"]);
    assert_has_lines(&two, &["B has its signature algorithms sorted, not in the order of the wire"]);
}

/// Issue 40 of `FoxIO-LLC/ja4-nginx-module`: OpenSSL 3.5 hides two extensions of Chrome 143 from the module.
#[test]
fn finds_extensions_omitted_by_tls_library() {
    let chrome = format!(
        "t13d1516h2_{CIPHERS}_0005,000a,000b,000d,0012,0017,001b,0023,002b,002d,0033,44cd,fe0d,ff01_{ALGORITHMS}"
    );
    assert_has_lines(
        &explanation(&[&chrome, "t13d1514h2_8daaf6152771_bc9a4605e104"]),
        &[
            "a  extensions: 16 in A, 14 in B",
            "b  the cipher suites give 8daaf6152771",
            "B leaves out extensions that its TLS library may not know: encrypted_client_hello, application_settings",
        ],
    );
}

#[test]
fn raw_form_gives_its_own_hashes() {
    let expected = ["a  the same", "b  the cipher suites give 8daaf6152771"];
    assert_has_lines(&explanation(&[&raw(), HASHED]), &expected);
    assert_has_lines(&explanation(&[ORIGINAL, HASHED]), &expected);
    assert_has_lines(
        &explanation(&["t13d1516h2_acb858a92679_18f69afefd3d", ORIGINAL]),
        &["b  the cipher suites give acb858a92679 in the order of the wire"],
    );
}

#[test]
fn two_lists_differ_by_number_and_by_order() {
    let fewer = raw().replace("c02b,", "").replace("4469", "44cd").replace("0403,0804", "0804,0403");
    assert_has_lines(
        &explanation(&[&raw(), &fewer]),
        &[
            "b  cipher suites:",
            "only in A  c02b  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "c  extensions:",
            "only in A  4469  application_settings (draft, old number)",
            "only in B  44cd  application_settings (draft)",
            "c  signature algorithms: the same in another order",
            "B counts 15 cipher suites where 14 are listed: perhaps with GREASE",
        ],
    );
    let same = ["b  cipher suites: the same", "c  extensions: the same", "c  signature algorithms: the same"];
    assert_has_lines(&explanation(&[&raw(), ORIGINAL]), &same);
    let sorted = raw().replace(ALGORITHMS, "0401,0403,0501,0503,0601,0804,0805,0806");
    assert_has_lines(
        &explanation(&[&raw(), &sorted]),
        &["B may sort them, where the order of the wire should stay"],
    );
}

#[test]
fn reports_values_outside_the_definition() {
    let kept = raw().replace("_002f", "_1a1a,002f").replace("_0005", "_0000,0005");
    assert_has_lines(
        &explanation(&[&kept]),
        &[
            "it keeps GREASE among its cipher suites: 1a1a",
            "it lists server_name (0000), which only the original order does",
        ],
    );
    assert_has_lines(
        &explanation(&[&HASHED.to_uppercase().replacen("T13D1516H2", "t13d1516h2", 1)]),
        &["it writes hexadecimal digits in upper case"],
    );
    assert_has_lines(
        &explanation(&[&format!("t13d1516h2_{CIPHERS}_{EXTENSIONS}_")]),
        &["it ends in an underscore, with no signature algorithms behind it"],
    );
    assert_has_lines(
        &explanation(&[&raw().replace("1516", "1514")]),
        &["it counts 14 extensions where 16 are listed or implied: without server_name and ALPN"],
    );
}

#[test]
fn explains_hash_of_empty_list() {
    let text = explanation(&["t13d1500h2_8daaf6152771_000000000000", "t13d1500h2_8daaf6152771_e3b0c44298fc"]);
    assert_has_lines(&text, &["b  the same", "c  the same"]);
    let text = explanation(&["t13d1500h2_000000000000_e5627efa2ab1", "t13d1500h2_e3b0c44298fc_e5627efa2ab1"]);
    assert_has_lines(&text, &["b  the same", "c  the same"]);
}

/// An unoptimised build needs a few seconds. Building each combination as a string took minutes.
#[test]
fn long_lists_are_compared_within_time_limit() {
    let list = |len: u16, start: u16| {
        (start..start.saturating_add(len)).map(|number| format!("{number:04x}")).collect::<Vec<_>>().join(",")
    };
    for (extensions, algorithms) in [(50, 40), (150, 150), (500, 500)] {
        let raw = format!("t13d9999h2_{}_{}_{}", list(150, 1), list(extensions, 20), list(algorithms, 0x400));
        let start_time = Instant::now();
        let text = explanation(&[&raw, HASHED]);
        assert!(
            start_time.elapsed() < Duration::from_secs(30),
            "{extensions}, {algorithms}: {:?}",
            start_time.elapsed()
        );
        assert!(text.contains("do not give e5627efa2ab1"), "{text}");
    }
}

/// Writes a table with one client and returns its path.
fn table(name: &str, columns: &str, row: &str) -> String {
    let path = format!("{}/explain-{name}.tsv", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, format!("{columns}\tlibrary\tapplication\town_settings\tevidence\tdate\n{row}\tLib\tApp\tyes\tPackage 1.0\t2026-01-02\n"))
        .unwrap();
    path
}

/// The ALPN characters are case-sensitive, so only a JA4 without any small letter is that of a tool that writes capitals.
#[test]
fn names_software_of_ja4_in_capitals() {
    let key = "t13d0102h2_a1b2c3d4e5f6_0a0b0c0d0e0f";
    let table = table("capitals", "ja4_stable\tja4", &format!("{key}\t{key}"));
    let capitals = key.to_uppercase();
    for typed in [capitals.clone(), capitals.replace("H2", "h2")] {
        let text = explanation(&[&typed, "--clients", &table]);
        assert_has_lines(
            &text,
            &["it writes letters in upper case", "match         exact", "software      App"],
        );
    }
    let text = explanation(&[&capitals.replace("T13D", "t13d"), "--clients", &table]);
    assert_has_lines(&text, &["it writes hexadecimal digits in upper case"]);
    assert!(!text.contains("App"), "{text}");
}

const NAMED: [&str; 3] = ["software      App", "candidates    App", "evidence      Package 1.0 (2026-01-02)"];

#[test]
fn names_software_of_every_kind() {
    let ja4_stable = "t13d0102h2_a1b2c3d4e5f6_0a0b0c0d0e0f";
    let tls = table(
        "tls",
        "ja4_stable\tja4\tja3_hash",
        &format!("{ja4_stable}\tt13d0103h2_a1b2c3d4e5f6_111111111111\t3c9c0f5a6f2b8e7d4c1b0a9f8e7d6c5b"),
    );
    let http2 = table("http2", "akamai_hash", "fd07c74c4990fc43ef9f4b3277cf3cf2");
    let firefox = table("firefox", "akamai_hash", "6ea73faa8fc5aac76bded7bd238f6433");
    let http3 = table("http3", "http3", "1:65536;6:262144;GREASE|m,a,s,p");
    let ssh = table("ssh", "hassh", "16574631849ea8d13c926c9905839928");
    for (fingerprint, table, kind) in [
        (ja4_stable, &tls, "match         stable"),
        ("t13d0103h2_a1b2c3d4e5f6_111111111111", &tls, "match         exact"),
        ("3:100;4:33554432;2:0|33488897|0|m,p,s,a", &http2, "Akamai's fingerprint of an HTTP/2 client"),
        (
            "1:65536;2:0;4:131072;5:16384|12517377|0|m,p,a,s",
            &firefox,
            "Akamai's fingerprint of an HTTP/2 client",
        ),
        ("fd07c74c4990fc43ef9f4b3277cf3cf2", &http2, "Akamai's fingerprint of an HTTP/2 client, as MD5"),
        ("1:65536;6:262144;GREASE|m,a,s,p", &http3, "a fingerprint of an HTTP/3 client"),
        ("16574631849ea8d13c926c9905839928", &ssh, "HASSH, the MD5 of an SSH client's algorithms"),
    ] {
        let text = explanation(&[fingerprint, "--clients", table]);
        assert_has_lines(&text, &NAMED);
        assert_has_lines(&text, &[kind]);
    }
    // Applications share a JA3.
    let text = explanation(&["3C9C0F5A6F2B8E7D4C1B0A9F8E7D6C5B", "--clients", &tls]);
    assert_has_lines(&text, &["JA3, the MD5 of a ClientHello", "software      Lib", "candidates    App"]);
}

#[test]
fn unknown_lists_name_nearest_client() {
    let table = table(
        "near",
        "ja4_stable\tja4_stable_r",
        "t13d0102h2_0f2cb44170f4_59388c796b42\tt13d0102h2_1301_000a,002b_0403",
    );
    let text = explanation(&["t13d0103h2_1301_000a,0016,0023_0403", "--clients", &table]);
    assert_has_lines(
        &text,
        &["software      unknown", "difference    with extensions 0016; without extensions 002b"],
    );
    assert!(text.contains("\nnearest       t13d0102h2_0f2cb44170f4_"), "{text}");
    assert!(text.contains(": App\n"), "{text}");
}

#[test]
fn explains_ja3_text_and_p0f_signature() {
    let ja3 = explanation(&["771,4865-4866,0-23,29,0"]);
    assert_has_lines(
        &ja3,
        &["JA3 of a ClientHello", "ja3_hash      27a5061c22108817120d1d3870cba0e0", "software      unknown"],
    );
    let ja3s = explanation(&["771,4865,0"]);
    assert_has_lines(&ja3s, &["ja3s_hash     44b9d4c934b5bf459d93b02cd6f3336f"]);
    let tcp = explanation(&["4:64:0:1460:mss*44,7:mss,sok,ts,nop,ws:df,id+:0"]);
    assert!(tcp.contains("as SYN        Linux "), "{tcp}");
}

#[test]
fn explains_http_signature_and_hassh_algorithms() {
    let curl = "1:Host,User-Agent,Accept=[*/*]:Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:";
    for (software, matched) in
        [("curl/8.5.0", "curl 7.43 or newer"), ("X", "curl 7.43 or newer (custom User-Agent)")]
    {
        let text = explanation(&[&format!("{curl}{software}")]);
        let request = format!("as request    {matched}");
        assert_has_lines(&text, &["HTTP signature of p0f", &request, "as response   unknown"]);
    }
    let text = explanation(&["curve25519-sha256;aes128-ctr;hmac-sha2-256;none"]);
    assert_has_lines(&text, &["hassh         e97d07603350d1111ec2b64bf25413c9"]);
}

#[test]
fn explains_by_own_database() {
    let path = std::env::temp_dir().join(format!("huginn-net-explain-{}.fp", std::process::id()));
    std::fs::write(
        &path,
        "classes = unix\n[tcp:request]\nlabel = s:unix:Mine:\nsig = *:64:0:*:1234,0:mss::0\n\
         [http:response]\nlabel = s:!:Server:\nsys = @unix\nsig = *:Server::\n",
    )
    .unwrap();
    let db = path.to_str().unwrap();
    let tcp = explanation(&["4:64:0:1460:1234,0:mss::0", "--db", db]);
    assert_has_lines(&tcp, &["as SYN        Mine, 0 hops away"]);
    let http = explanation(&["1:Server::x", "--db", db]);
    assert_has_lines(&http, &["as request    unknown", "as response   Server"]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn rejects_text_of_no_kind() {
    for (value, reason) in [
        ("nonsense", "neither JA4, JA3, JA3S"),
        ("1:2:3", "no p0f signature of TCP: 3 fields"),
        ("771,4865", "neither JA4"),
        ("16574631849ea8d13c926c990583992g", "neither JA4"),
    ] {
        let output = explain(&[value]);
        assert_eq!(output.status.code(), Some(2), "{value}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(reason), "{value}: {errors}");
    }
    let output = explain(&["771,4865,0", "t13d0103h2_a1b2c3d4e5f6_111111111111"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn explains_quic_fingerprint() {
    let text = explanation(&["1|4:786432;1:30000;g;f*0;11:1,g,1;3128:x4f524947"]);
    assert_has_lines(
        &text,
        &[
            "1             QUIC version 1 (RFC 9000)",
            "6 transport parameters",
            "4           initial_max_data: 786432 bytes",
            "1           max_idle_timeout: 30000 ms",
            "g           reserved, to be ignored (GREASE)",
            "f           initial_source_connection_id: 0 bytes, whose content is left out",
            "11          version_information: version 1 chosen, available: reserved, 1",
            "3128        google_connection_options: 4f524947 (ORIG)",
            "sorted        1|1:30000;4:786432;f*0;11:1,1,g;3128:x4f524947;g",
        ],
    );
    let output = explain(&["1|4:5;4:y"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("no QUIC fingerprint: \"4:y\" is not a transport parameter"), "{error}");
}
