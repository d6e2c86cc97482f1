//! SQL over captures.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::any::Any;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::catalog::TableProvider;
use datafusion::error::Result;
use datafusion::physical_plan::displayable;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use huginn_net::{CaptureReader, Configure, HuginnNet, Observers};
use huginn_net_arrow::{EventBatchBuilder, EventBatches, schema};
use huginn_net_datafusion::CaptureTable;

const CAPTURES: [&str; 4] = [
    "tls/tls-curl/tls-curl.pcap",
    "http/http-pages/http-pages.pcap",
    "tcp/fragments-syn/fragments-syn.pcap",
    "tcp/reused-ports/reused-ports.pcap",
];

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(name)
}

fn captures() -> Vec<PathBuf> {
    CAPTURES.map(capture).to_vec()
}

fn session(table: CaptureTable, partitions: usize) -> Result<SessionContext> {
    let config = SessionConfig::new().with_target_partitions(partitions);
    let session = SessionContext::new_with_config(config);
    session.register_table("events", Arc::new(table))?;
    Ok(session)
}

async fn query(session: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    session.sql(sql).await?.collect().await
}

async fn number(session: &SessionContext, sql: &str) -> Result<i64> {
    Ok(query(session, sql).await?[0].column(0).as_primitive::<Int64Type>().value(0))
}

async fn plan_of(session: &SessionContext, sql: &str) -> Result<String> {
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    Ok(displayable(&*plan).indent(false).to_string())
}

/// The events of all captures, without DataFusion.
fn expected() -> RecordBatch {
    let all: Vec<&str> = huginn_net_arrow::columns().iter().map(|column| &*column.name).collect();
    let batches = captures().into_iter().flat_map(|path| {
        let (builder, file) = (EventBatchBuilder::new().columns(&all).unwrap(), path.display().to_string());
        let reader = CaptureReader::open(path).unwrap();
        EventBatches::of_analyzer(HuginnNet::builder().build(), reader, builder, Some(file)).unwrap()
    });
    concat_batches(&schema(), &batches.collect::<Result<Vec<_>, _>>().unwrap()).unwrap()
}

fn count_of(events: &RecordBatch, names: &[&str]) -> i64 {
    let column = events.column_by_name("event").unwrap().as_string::<i32>();
    column.iter().flatten().filter(|event| names.contains(event)).count().try_into().unwrap()
}

#[tokio::test]
async fn rows_equal_those_of_event_batches() -> Result<()> {
    let session = session(CaptureTable::new(captures()), 1)?;
    let rows = query(&session, "SELECT * FROM events").await?;
    let expected = expected();
    assert!(expected.num_rows() > 100, "{}", expected.num_rows());
    assert_eq!(concat_batches(&rows[0].schema(), &rows)?, expected);
    Ok(())
}

#[tokio::test]
async fn captures_are_divided_among_partitions() -> Result<()> {
    let expected = expected();
    for partitions in [2, 3, 16] {
        let session = session(CaptureTable::new(captures()), partitions)?;
        let plan = plan_of(&session, "SELECT ja4 FROM events").await?;
        assert!(plan.contains(&format!("partition_sizes={}", partitions.min(CAPTURES.len()))), "{plan}");
        assert_eq!(
            number(&session, "SELECT count(*) FROM events").await?,
            i64::try_from(expected.num_rows()).unwrap()
        );
        assert_eq!(number(&session, "SELECT count(DISTINCT file) FROM events").await?, 4);
    }
    Ok(())
}

#[tokio::test]
async fn projection_builds_only_its_columns_in_its_order() -> Result<()> {
    let table = CaptureTable::new(captures());
    let place = |name| table.schema().index_of(name).unwrap();
    let session = SessionContext::new();
    let plan = table.scan(&session.state(), Some(&vec![place("ja4"), place("ts")]), &[], None).await?;
    let names = |schema: &datafusion::arrow::datatypes::Schema| {
        schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    let exec = (&*plan as &dyn Any).downcast_ref::<StreamingTableExec>().unwrap();
    assert_eq!(names(exec.partition_schema()), ["ts", "ja4"]);
    assert_eq!(names(&plan.schema()), ["ja4", "ts"]);
    let rows = datafusion::physical_plan::collect(plan, session.task_ctx()).await?;
    assert_eq!(names(&rows[0].schema()), ["ja4", "ts"]);
    assert!(rows.iter().any(|batch| batch.column(0).as_string::<i32>().iter().flatten().count() > 0));
    Ok(())
}

#[tokio::test]
async fn filter_on_event_selects_events() -> Result<()> {
    let (session, expected) = (session(CaptureTable::new(captures()), 2)?, expected());
    let all = ["tls_client", "http_request", "tcp_syn", "tcp_syn_ack", "uptime"];
    for (condition, events) in [
        ("event = 'tls_client'", &all[..1]),
        ("'tls_client' = event", &all[..1]),
        ("event IN ('tls_client', 'http_request')", &all[..2]),
        ("event IN ('tls_client', 'http_request', 'tcp_syn', 'tcp_syn_ack', 'uptime')", &all[..]),
        ("event = 'tls_client' OR event = 'http_request'", &all[..2]),
        ("event IN ('tls_client', 'http_request') AND event IN ('tcp_syn', 'http_request')", &all[1..2]),
        ("event = 'tls_client' AND event = 'tcp_syn'", &[]),
        ("event = 'no_event'", &[]),
    ] {
        let plan = plan_of(&session, &format!("SELECT ts FROM events WHERE {condition}")).await?;
        assert!(!plan.contains("FilterExec"), "{plan}");
        let count = number(&session, &format!("SELECT count(*) FROM events WHERE {condition}")).await?;
        assert_eq!(count, count_of(&expected, events), "{condition}");
        assert!(events.is_empty() || count > 0, "{condition}");
    }
    Ok(())
}

#[tokio::test]
async fn filter_on_other_columns_is_left_to_datafusion() -> Result<()> {
    let (session, expected) = (session(CaptureTable::new(captures()), 2)?, expected());
    let rows = i64::try_from(expected.num_rows()).unwrap();
    let count = |condition: &str| format!("SELECT count(*) FROM events WHERE {condition}");
    let of_events = count_of(&expected, &["tls_client"]);
    assert_eq!(number(&session, &count("event <> 'tls_client'")).await?, rows - of_events);
    assert_eq!(number(&session, &count("event NOT IN ('tls_client', 'no_event')")).await?, rows - of_events);
    assert_eq!(number(&session, &count("event = 'tls_client' OR ja4 IS NULL")).await?, rows);
    assert_eq!(number(&session, &count("event = 'tls_client' AND ja4 LIKE 't%'")).await?, of_events);
    assert_eq!(number(&session, &count("event = 'tls_client' AND ja4 IS NULL")).await?, 0);
    assert_eq!(number(&session, &count("event = NULL")).await?, 0);
    Ok(())
}

#[tokio::test]
async fn analyzer_is_that_of_the_caller() -> Result<()> {
    let build = || HuginnNet::builder_with(Observers::default().tcp(false)).build();
    let session = session(CaptureTable::new(captures()).analyzer(build), 2)?;
    assert_eq!(number(&session, "SELECT count(*) FROM events WHERE event = 'tcp_syn'").await?, 0);
    assert!(number(&session, "SELECT count(*) FROM events WHERE event = 'tls_client'").await? > 0);
    Ok(())
}

#[tokio::test]
async fn damaged_capture_is_an_error_after_its_rows() -> Result<()> {
    let folder = Folder::new("damaged");
    let bytes = fs::read(capture(CAPTURES[0])).unwrap();
    let path = folder.0.join("damaged.pcap");
    fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    let session = session(CaptureTable::new([path]), 1)?;
    let mut stream = session.sql("SELECT event FROM events").await?.execute_stream().await?;
    assert!(stream.next().await.unwrap()?.num_rows() > 0);
    let error = stream.next().await.unwrap().unwrap_err().to_string();
    assert!(error.contains("damaged.pcap"), "{error}");
    assert!(stream.next().await.is_none());
    let missing = CaptureTable::new([folder.0.join("missing.pcap")]);
    session.register_table("missing", Arc::new(missing))?;
    let error = query(&session, "SELECT * FROM missing").await.unwrap_err().to_string();
    assert!(error.contains("missing.pcap"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_ends_the_analysis_of_an_endless_capture() -> Result<()> {
    let folder = Folder::new("limit");
    let (path, writer) = folder.endless_capture();
    let session = session(CaptureTable::new([path]), 1)?;
    let rows = query(&session, "SELECT event, client_port FROM events LIMIT 10").await?;
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    assert_eq!(writer.join().unwrap(), ErrorKind::BrokenPipe);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_stream_ends_an_analysis_without_rows() -> Result<()> {
    let folder = Folder::new("dropped");
    let (path, writer) = folder.endless_capture();
    let session = session(CaptureTable::new([path]), 1)?;
    let mut stream =
        session.sql("SELECT * FROM events WHERE event = 'ssh_client'").await?.execute_stream().await?;
    let next = tokio::time::timeout(std::time::Duration::from_millis(200), stream.next()).await;
    assert!(next.is_err(), "no row");
    drop(stream);
    assert_eq!(writer.join().unwrap(), ErrorKind::BrokenPipe);
    Ok(())
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("huginn-net-datafusion-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A pipe with SYNs from all ports, again and again. The thread returns the error that ends it.
    fn endless_capture(&self) -> (PathBuf, thread::JoinHandle<ErrorKind>) {
        let path = self.0.join("endless.pcap");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let bytes = fs::read(capture("tcp/curl-nginx/curl-nginx.pcap")).unwrap();
        let (header, rest) = bytes.split_at(24);
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let mut packet = rest[..16 + length].to_vec();
        // Ethernet, and IPv4 without options.
        assert_eq!((&packet[28..31], packet[39]), (&[8, 0, 0x45][..], 6));
        let (header, place) = (header.to_vec(), path.clone());
        let writer = thread::spawn(move || {
            let mut pipe = File::create(place).unwrap();
            pipe.write_all(&header).unwrap();
            loop {
                let mut block = Vec::new();
                for port in 1024..=u16::MAX {
                    packet[50..52].copy_from_slice(&port.to_be_bytes());
                    block.extend_from_slice(&packet);
                }
                if let Err(error) = pipe.write_all(&block) {
                    return error.kind();
                }
            }
        });
        (path, writer)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
