//! Checks the logs of captures.

use serde_json::Value;

use super::{ZeekForm, ZeekLog, ZeekLogs, footer, header};
use crate::record::JsonEvent;
use crate::{CaptureReader, Configure, Event, HuginnNet, Timestamp};

/// The rows of a capture, and its events in our JSON.
fn rows(capture: &str, form: ZeekForm) -> (Vec<(ZeekLog, String)>, Vec<Value>) {
    let path = crate::captures::path(capture);
    let (mut logs, mut rows, mut events) = (ZeekLogs::new(form), Vec::new(), Vec::new());
    let mut take = |log, row: &[u8]| rows.push((log, String::from_utf8(row.to_vec()).unwrap()));
    let mut write = |event: Event| {
        let json = JsonEvent { event: &event, file: None }.to_string();
        events.push(serde_json::from_str(&json).unwrap());
        logs.add(&event, None, &mut take);
    };
    let builder = HuginnNet::builder().handshakes(true).connections(true);
    builder.build().analyze(CaptureReader::open(path).unwrap(), &mut write).unwrap();
    logs.finish(&mut take);
    assert_eq!((logs.open_bytes, logs.flows.len()), (0, 0), "{capture}");
    (rows, events)
}

fn of_log(rows: &[(ZeekLog, String)], log: ZeekLog) -> Vec<Value> {
    rows.iter()
        .filter(|(found, _)| *found == log)
        .map(|(_, row)| serde_json::from_str(row).unwrap())
        .collect()
}

/// Both sides of a connection are in one row, whose uid is that of `conn`.
#[test]
fn rows_join_both_sides_of_a_connection() {
    let (rows, events) = rows("tls-curl.pcap", ZeekForm::Json);
    let (ssl, conn) = (of_log(&rows, ZeekLog::Ssl), of_log(&rows, ZeekLog::Conn));
    assert_eq!((ssl.len(), conn.len()), (6, 6));
    for row in &ssl {
        let end = conn.iter().find(|end| end["uid"] == row["uid"]).unwrap();
        assert_eq!((&end["service"], &end["conn_state"]), (&"ssl".into(), &"S1".into()), "{end}");
        assert!(end["history"].as_str().unwrap().starts_with("ShA"), "{end}");
        let port = &row["id.orig_p"];
        let of = |event: &str, field: &str| {
            let is_wanted = |json: &&Value| json["event"] == event && json["client"]["port"] == *port;
            events.iter().find(is_wanted).map(|json| json[field].clone()).unwrap()
        };
        assert_eq!(row["ja4"], of("tls_client", "ja4"));
        assert_eq!(row["ja3s"], of("tls_server", "ja3s_hash"));
        assert_eq!(row["huginn.server_packet"], of("tls_server", "packet"));
        assert_eq!(row["huginn.packet"], of("tls_client", "packet"));
        assert!(row["huginn.event"].is_null());
    }
    let all = rows.iter().map(|(_, row)| row).collect::<Vec<_>>();
    assert!(all.iter().all(|row| row.ends_with("}\n") && row.starts_with("{\"ts\":")));
}

#[test]
fn exchanges_and_software_have_rows() {
    let (rows, _) = rows("curl-nginx.pcap", ZeekForm::Json);
    let http = of_log(&rows, ZeekLog::Http);
    assert!(http.iter().all(|row| row["method"].is_string() && row["status_code"].is_number()), "{http:?}");
    let conn = of_log(&rows, ZeekLog::Conn);
    assert!(conn.iter().all(|row| row["conn_state"] == "SF" && row["service"] == "http"), "{conn:?}");
    let software = of_log(&rows, ZeekLog::Software);
    let names: Vec<_> = software.iter().map(|row| (&row["software_type"], &row["name"])).collect();
    assert!(names.contains(&(&"HTTP::BROWSER".into(), &"curl".into())), "{names:?}");
    assert!(names.contains(&(&"HTTP::SERVER".into(), &"nginx".into())), "{names:?}");
    assert!(names.contains(&(&"HUGINN::OPERATING_SYSTEM".into(), &"Linux".into())), "{names:?}");
    let server = software.iter().find(|row| row["software_type"] == "HTTP::SERVER").unwrap();
    assert!(server["host_p"].is_number() && server["version.major"] == 1, "{server}");
}

/// TSV has the values of JSON, under the names of the header.
#[test]
fn tsv_has_the_columns_of_its_header() {
    for capture in ["tls-curl.pcap", "curl-nginx.pcap", "ssh-openssh.pcap", "quic-chromium.pcap"] {
        let ((tsv, _), (json, _)) = (rows(capture, ZeekForm::Tsv), rows(capture, ZeekForm::Json));
        assert_eq!(tsv.len(), json.len());
        for ((log, row), (_, object)) in tsv.iter().zip(&json) {
            let header = header(*log, Timestamp::default());
            let lines: Vec<Vec<&str>> = header.lines().map(|line| line.split('\t').collect()).collect();
            let [.., open, fields, types] = &lines[..] else { panic!("{header}") };
            assert_eq!(open, &["#open", "1970-01-01-00-00-00"]);
            let values: Vec<&str> = row.strip_suffix('\n').unwrap().split('\t').collect();
            assert_eq!((fields.len(), types.len()), (values.len() + 1, values.len() + 1), "{row}");
            let object: Value = serde_json::from_str(object).unwrap();
            for (name, value) in fields[1..].iter().zip(values) {
                match &object[*name] {
                    Value::Null => assert_eq!(value, "-", "{name}"),
                    Value::String(text) if !text.contains('\\') => assert_eq!(value, text, "{name}"),
                    _ => assert_ne!(value, "-", "{name}"),
                }
            }
        }
    }
    assert_eq!(footer(Timestamp::new(1, 0, 6)), "#close\t1970-01-01-00-00-01\n");
}

#[test]
fn tunnel_is_a_list_in_tsv() {
    let (rows, events) = rows("made-qinq.pcap", ZeekForm::Tsv);
    let layers: Vec<&str> =
        events[0]["tunnel"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(layers.len(), 2);
    let (log, row) = rows.iter().find(|(log, _)| *log != ZeekLog::Software).unwrap();
    let header = header(*log, Timestamp::default());
    let column = |line: &str| header.lines().find_map(|text| text.strip_prefix(line)).unwrap().to_owned();
    let (fields, types) = (column("#fields\t"), column("#types\t"));
    let number = fields.split('\t').position(|name| name == "huginn.tunnel").unwrap();
    assert_eq!(types.split('\t').nth(number), Some("vector[string]"));
    assert_eq!(row.split('\t').nth(number), Some(&*layers.join(",")));
}

/// The table of formats and the logs agree.
#[test]
fn events_are_in_the_log_of_the_table() {
    use crate::record::formats::{EventFormat, FormattedEvent};

    let path = crate::captures::path("curl-nginx.pcap");
    let mut write = |event: Event| {
        let line: Value =
            serde_json::from_str(&FormattedEvent::new(EventFormat::Zeek, &event).to_string()).unwrap();
        assert_eq!(line["_path"], ZeekLog::of(line["huginn.event"].as_str().unwrap()).name());
    };
    let builder = HuginnNet::builder().connections(true);
    builder.build().analyze(CaptureReader::open(path).unwrap(), &mut write).unwrap();
}

/// Rows of many open connections are written before they take more memory.
#[test]
fn open_rows_are_bounded() {
    let path = crate::captures::path("tls-curl.pcap");
    let (mut logs, mut hellos) = (ZeekLogs::new(ZeekForm::Json), Vec::new());
    logs.max_open_bytes = 1 << 18;
    let mut keep = |event: Event| hellos.push(event);
    HuginnNet::builder().build().analyze(CaptureReader::open(path).unwrap(), &mut keep).unwrap();
    let hello = hellos.iter().find(|event| crate::record::EventKind::of(&event.kind).number() > 5).unwrap();
    let (mut event, mut rows) = (hello.clone(), 0_u32);
    for number in 0..1_000_u32 {
        event.flow.client.set_ip(std::net::Ipv4Addr::from(number).into());
        logs.add(&event, None, &mut |log, _| rows += u32::from(log == ZeekLog::Ssl));
        assert!(logs.open_bytes <= logs.max_open_bytes);
    }
    assert!(rows > 0);
    logs.finish(&mut |log, _| rows += u32::from(log == ZeekLog::Ssl));
    assert_eq!((rows, logs.open_bytes), (1_000, 0));
}
