//! One measurement: server, sensor, load, comparison.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Deserialize;
use tempfile::TempDir;

use super::events::Format;
use super::network::{Network, Traffic};
use super::process::{Process, Usage};
use super::reader::Reader;
use super::row::Row;
use super::sensor::{Programs, Sensor};
use super::truth::Truth;
use super::{Mode, Options};

const CLEAR_PORT: u16 = 8080;
const TLS_PORT: u16 = 8443;
const START_LIMIT: Duration = Duration::from_secs(20);
/// A sensor that prints nothing for this long has caught up.
const IDLE: Duration = Duration::from_secs(1);
/// A sensor that still prints after this time is stopped, and events that it did not print are missing.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// A load may end this much later than asked: its last requests have time limits.
const LOAD_GRACE: Duration = Duration::from_secs(30);

/// The namespaces with a running server.
pub(super) struct Laboratory {
    // Fields are dropped in this order: processes end before their namespaces.
    _server: Process,
    network: Network,
    own: PathBuf,
    programs: Programs,
    connections: u16,
    folder: TempDir,
}

#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) http: u8,
    pub(super) size: &'a str,
    pub(super) mode: Mode,
    pub(super) sensor: Sensor,
    pub(super) rate: Option<f64>,
    /// Seconds of load.
    pub(super) seconds: u32,
}

/// What `huginn-lab load --json` prints.
#[derive(Debug, Deserialize)]
struct Load {
    requests: u64,
    errors: u64,
    seconds: f64,
    requests_per_second: f64,
    handshakes_per_second: f64,
}

/// A sensor that runs.
struct Running {
    process: Process,
    reader: Reader,
    errors: PathBuf,
}

impl Laboratory {
    pub(super) fn open(
        network: Network,
        own: PathBuf,
        programs: Programs,
        options: &Options,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = network.in_server(&own.to_string_lossy());
        command.args(["serve", "-L", &format!("{}:{CLEAR_PORT}:{TLS_PORT}", network.server_address())]);
        let mut server = Process::spawn(command.args(&options.serve_option))?;
        let start = Instant::now();
        // Each namespace has its own table of sockets; 0A is LISTEN (proc_pid_net(5)).
        while !read_proc(server.id(), "tcp")
            .lines()
            .any(|line| line.contains(&format!(":{TLS_PORT:04X} ")) && line.contains(" 0A "))
        {
            if server.child().try_wait()?.is_some() || start.elapsed() > START_LIMIT {
                bail!("the server does not listen");
            }
            sleep(Duration::from_millis(20));
        }
        Ok(Self { _server: server, network, own, programs, connections: options.connections, folder })
    }

    /// Finds the requests per second that fill this rate on the interface.
    pub(super) fn rate_of(&mut self, gbps: f64, http: u8, size: &str, mode: Mode) -> anyhow::Result<f64> {
        let row = self.measure(&Case { http, size, mode, sensor: Sensor::None, rate: None, seconds: 1 })?;
        Ok(gbps / row.gbps() * row.requests_per_second)
    }

    pub(super) fn measure(&mut self, case: &Case<'_>) -> anyhow::Result<Row> {
        let truth = self.folder.path().join("truth.json");
        let mut sensor = self.start_sensor(case.sensor)?;
        let before = self.network.traffic()?;
        let used_before = sensor.as_ref().map(|sensor| sensor.process.usage()).unwrap_or_default();
        let (load, mut memory) = self.run_load(case, &truth, sensor.as_ref())?;
        let Traffic { packets, bytes } = self.network.traffic()?.since(before);
        let mut row = Row {
            http: case.http,
            size: case.size.to_owned(),
            mode: case.mode.name(),
            sensor: case.sensor.name(),
            requests_per_second: load.requests_per_second,
            handshakes_per_second: load.handshakes_per_second,
            load_errors: load.errors,
            seconds: load.seconds,
            packets,
            bytes,
            cpu: None,
            memory_mib: Vec::new(),
            late_ms: None,
            drops: None,
            verdict: None,
        };
        if load.requests == 0 {
            bail!("no request succeeded: {load:?}");
        }
        if let Some(running) = sensor.take() {
            let used = running.catch_up();
            memory.push(used.memory);
            row.cpu = Some(row.cpu(used.cpu.saturating_sub(used_before.cpu).as_secs_f64()));
            #[allow(clippy::cast_precision_loss, reason = "memory needs less than 53 bits")]
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            row.memory_mib = memory.into_iter().map(mib).collect();
            self.stop_sensor(running, case.sensor, &truth, &mut row)?;
        }
        Ok(row)
    }

    fn start_sensor(&self, sensor: Sensor) -> anyhow::Result<Option<Running>> {
        let log = self.log(sensor);
        let _ = fs::remove_file(&log);
        let Some(mut command) = sensor.command(&self.network, &self.programs, &log) else { return Ok(None) };
        let errors = self.folder.path().join("errors");
        command.stdout(Stdio::piped()).stderr(File::create(&errors)?);
        let mut process = Process::spawn(&mut command)?;
        let output = process.child().stdout.take().context("the sensor has no output")?;
        // p0f also prints, in another form than its log.
        let printed = if sensor == Sensor::P0f { PathBuf::from("/dev/null") } else { log };
        let reader = Reader::start(output, &printed)?;
        let start = Instant::now();
        // A line of heading, and one for each packet socket (packet(7)) of the namespace.
        while read_proc(process.id(), "packet").lines().count() < 2 {
            if process.child().try_wait()?.is_some() || start.elapsed() > START_LIMIT {
                bail!("{} does not capture: {}", sensor.name(), fs::read_to_string(&errors)?.trim());
            }
            sleep(Duration::from_millis(20));
        }
        // The socket is open, but may not be bound to the interface yet.
        sleep(Duration::from_millis(500));
        Ok(Some(Running { process, reader, errors }))
    }

    fn log(&self, sensor: Sensor) -> PathBuf {
        self.folder.path().join(if sensor == Sensor::P0f { "p0f.log" } else { "events" })
    }

    /// Runs the load; returns its report, and the sensor's memory in bytes at every second.
    fn run_load(
        &self,
        case: &Case<'_>,
        truth: &Path,
        sensor: Option<&Running>,
    ) -> anyhow::Result<(Load, Vec<u64>)> {
        let (scheme, port) = if case.http == 1 { ("http", CLEAR_PORT) } else { ("https", TLS_PORT) };
        let url = format!("{scheme}://{}:{port}/?s={}", self.network.server_address(), case.size);
        let sources: Vec<String> =
            self.network.client_addresses().map(|address| address.to_string()).collect();
        let mut command = self.network.in_client(&self.own.to_string_lossy());
        command.args([
            "load",
            &url,
            "--json",
            "--http",
            &case.http.to_string(),
            "-d",
            &case.seconds.to_string(),
        ]);
        command
            .args(["-c", &self.connections.to_string(), "--bind", &sources.join(",")])
            .arg("--truth")
            .arg(truth);
        if case.mode == Mode::Churn {
            command.arg("--churn");
        }
        if let Some(rate) = case.rate {
            command.args(["--rate", &rate.to_string()]);
        }
        let report = self.folder.path().join("report.json");
        let mut load = Process::spawn(command.stdout(File::create(&report)?))?;
        let limit = Duration::from_secs(case.seconds.into()).saturating_add(LOAD_GRACE);
        let start = Instant::now();
        let mut memory = Vec::new();
        let mut sampled = start;
        while load.child().try_wait()?.is_none() {
            if start.elapsed() > limit {
                bail!("the load did not end within {limit:?}");
            }
            sleep(Duration::from_millis(20));
            if sampled.elapsed() >= Duration::from_secs(1) {
                sampled = Instant::now();
                memory.extend(sensor.map(|sensor| sensor.process.usage().memory));
            }
        }
        let text = fs::read_to_string(&report)?;
        Ok((serde_json::from_str(&text).context("the load failed")?, memory))
    }

    fn stop_sensor(
        &self,
        mut running: Running,
        sensor: Sensor,
        truth: &Path,
        row: &mut Row,
    ) -> anyhow::Result<()> {
        running.process.terminate()?;
        running.process.wait(STOP_LIMIT).with_context(|| format!("{} does not stop", sensor.name()))?;
        row.late_ms = running.reader.finish(sensor.format())?;
        row.drops = sensor.drops(&fs::read_to_string(&running.errors)?);
        if sensor.format() != Format::Silent {
            let mut truth = Truth::read(
                BufReader::new(File::open(truth)?),
                sensor.kinds(),
                sensor.reports_every_request(),
            )?;
            for line in BufReader::new(File::open(self.log(sensor))?).lines() {
                if let Some(event) = sensor.format().parse(&line?) {
                    truth.add(&event);
                }
            }
            row.verdict = Some(truth.verdict());
        }
        Ok(())
    }
}

impl Running {
    /// Waits until the sensor neither prints nor works any more, and returns what it has used.
    fn catch_up(&self) -> Usage {
        let start = Instant::now();
        let mut lines = self.reader.lines();
        let mut used = self.process.usage();
        let mut idle = Instant::now();
        while idle.elapsed() < IDLE && start.elapsed() < CATCH_UP_LIMIT {
            sleep(Duration::from_millis(100));
            let usage = self.process.usage();
            // Idle sensors wake up now and then.
            let worked = usage.cpu.saturating_sub(used.cpu) > Duration::from_millis(20);
            if worked || self.reader.lines() != lines {
                idle = Instant::now();
            }
            lines = self.reader.lines();
            used = usage;
        }
        used
    }
}

/// Reads a file of the process's network namespace; empty once the process has ended.
fn read_proc(id: u32, name: &str) -> String {
    fs::read_to_string(format!("/proc/{id}/net/{name}")).unwrap_or_default()
}
