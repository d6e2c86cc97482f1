//! `huginn-net doctor`: what a sensor needs of this machine.

use std::ffi::OsString;
use std::fmt::{self, Display};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use caps::{CapSet, Capability};
use huginn_net::core::Escaped;
use huginn_net_live::{
    Interface, InterfaceSettings, LiveError, LiveOptions, LiveSource, clock_error, interfaces, is_pattern,
    matching,
};
use nix::sys::utsname::uname;
use rustix::fs::statvfs;
use rustix::process::{Resource, geteuid, getrlimit};
use serde::Serialize;

use crate::args::{DoctorArguments, ListFormat, LiveArguments};
use crate::config;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::LiveTarget;
use crate::paths::{name_of, parent_directory};
use crate::plan::{LiveOutputPlan, live_outputs, target};
use crate::privileges::{Confinement, how_to_get_rights, supported as confinement_supported};
use crate::sensor::{TestDelivery, send_test_alert};
use crate::views::columns::{Layout, Table, stdout_width};

/// Error of the clock from which on times of events cannot be compared with those of other machines.
#[cfg(target_os = "linux")]
const MAX_CLOCK_ERROR: Duration = Duration::from_secs(1);

/// Free bytes of a disk that hold about a day of events of a small network.
#[cfg(target_os = "linux")]
const MIN_FREE_BYTES: u64 = 1 << 30;

/// Number of open files that suffices for any number of workers and interfaces.
#[cfg(target_os = "linux")]
const MIN_OPEN_FILES: u64 = 1024;

/// Size of the buffer of a UDP socket that takes bursts, in bytes.
#[cfg(target_os = "linux")]
const MIN_SOCKET_BUFFER: u64 = 8 << 20;

/// Number of interfaces of a pattern that are named.
const SHOWN_INTERFACES: usize = 10;

pub(super) fn run(args: &DoctorArguments) -> Result<Outcome, Failure> {
    let rows = if args.test_alert { test_alerts(args)? } else { checks(args)? };
    let mut out = io::stdout().lock();
    match args.format {
        ListFormat::Human => write_table(&mut out, &rows)?,
        ListFormat::Json => {
            for row in &rows {
                serde_json::to_writer(&mut out, row).map_err(io::Error::from)?;
                writeln!(out)?;
            }
        }
    }
    let is_wrong = rows.iter().any(|row| row.state == State::Wrong);
    Ok(if is_wrong { Outcome::Failed } else { Outcome::Complete })
}

/// Sends a test alert through each output.
fn test_alerts(args: &DoctorArguments) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let typed = args.output.iter().map(|path| {
        let line = ["huginn-net", "live", "-i", "doctor", "-o"].map(OsString::from);
        config::parse_live_only(line.into_iter().chain([path.into()]).collect())
    });
    for live in args.config.iter().map(|path| config::read(path)).chain(typed) {
        let live = live?;
        let interfaces = live.interfaces.clone();
        for plan in live_outputs(live)? {
            rows.push(test_alert(plan, interfaces.clone())?);
        }
    }
    Ok(rows)
}

fn test_alert(plan: LiveOutputPlan, interfaces: Vec<String>) -> Result<Row, Failure> {
    let name = plan.name.clone();
    let row = |state, found: String| Row::new("test alert", state, found).of(&*name);
    if let Some(owner) = plan.target.file().and_then(other_owner) {
        let found = "root's file could not be written by the sensor".to_owned();
        let fix = format!("sudo -u '#{owner}' huginn-net doctor --test-alert ...");
        return Ok(row(State::Wrong, found).fix(fix));
    }
    Ok(match send_test_alert(plan, interfaces)? {
        TestDelivery::Written => row(State::Ok, "written".into()),
        TestDelivery::NotSelected => {
            row(State::Note, "not written: it selects other events, or its format has no alerts".into())
        }
        TestDelivery::Failed(error) => row(State::Wrong, error),
    })
}

/// The user of the folder of a file that root would make or replace in it.
fn other_owner(path: &Path) -> Option<u32> {
    let owner = fs::metadata(parent_directory(path)).ok()?.uid();
    let is_device = fs::metadata(path).is_ok_and(|found| !found.is_file());
    (geteuid().is_root() && owner != 0 && !is_device).then_some(owner)
}

/// Checks what a sensor needs.
fn checks(args: &DoctorArguments) -> Result<Vec<Row>, Failure> {
    let (mut typed, mut outputs) = (args.interfaces.clone(), args.output.clone());
    if let Some(path) = &args.config {
        let LiveArguments { interfaces, outputs: configured, .. } = config::read(path)?;
        typed.extend(interfaces);
        outputs.extend(configured.into_iter().filter_map(|output| output.run.output.output));
    }
    let needs_rights = typed.is_empty() || typed.iter().any(|name| is_interface(name));
    let mut rows = vec![rights(needs_rights), kernel(), landlock()];
    let present = interfaces()?;
    let names: Vec<&str> = match typed.as_slice() {
        [] => {
            let is_usual = |interface: &&Interface| interface.is_running && !interface.is_loopback;
            present.iter().filter(is_usual).map(|interface| &*interface.name).collect()
        }
        typed => typed.iter().map(|name| &**name).collect(),
    };
    let has_patterns = names.iter().any(|name| is_pattern(name));
    if has_patterns {
        rows.push(matched(&typed, &present)?);
    }
    for name in names {
        if has_patterns && is_interface(name) {
            continue;
        }
        match present.iter().find(|interface| interface.name == name) {
            Some(interface) => rows.extend(interface_rows(interface)),
            None if is_interface(name) => rows.push(
                Row::new("interface", State::Wrong, "there is no such interface")
                    .of(name)
                    .fix("huginn-net interfaces"),
            ),
            None => rows.push(input(name)),
        }
    }
    rows.extend([clock(), socket_buffer(), open_files()]);
    rows.extend(file_size());
    rows.extend(outputs.iter().filter_map(|path| output(path)));
    Ok(rows)
}

fn write_table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let mut table = Table::new(&["check", "of", "state", "found", "to type"]);
    for Row { check, of, state, found, fix } in rows {
        let of = of.as_deref().map(|of| format!("{:#}", Escaped(of.as_bytes())));
        table.add_row(vec![
            (*check).to_owned(),
            of.unwrap_or_default(),
            state.to_string(),
            found.clone(),
            fix.clone().unwrap_or_default(),
        ]);
    }
    table.write(out, Layout { whole: &[0, 1, 2], numbers: &[] }, stdout_width())
}

/// What was found of one need.
#[derive(Debug, Serialize)]
struct Row {
    check: &'static str,
    /// The interface or file.
    of: Option<String>,
    state: State,
    found: String,
    /// The command that helps.
    fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// Worth knowing, but not wrong.
    Note,
    Wrong,
    /// The system does not say.
    Unknown,
}

impl Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Wrong => "WRONG",
            Self::Unknown => "unknown",
        })
    }
}

impl Row {
    fn new(check: &'static str, state: State, found: impl Into<String>) -> Self {
        Self { check, of: None, state, found: found.into(), fix: None }
    }

    fn of(self, of: impl Into<String>) -> Self {
        Self { of: Some(of.into()), ..self }
    }

    fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}

/// Whether a name is that of an interface, not of a UDP socket or a stream: Linux permits no colon in those.
fn is_interface(name: &str) -> bool {
    !name.contains(':')
}

/// The right to capture. `is_needed`: whether interfaces are captured.
fn rights(is_needed: bool) -> Row {
    match caps::has_cap(None, CapSet::Effective, Capability::CAP_NET_RAW) {
        Ok(true) => Row::new("rights", State::Ok, "CAP_NET_RAW: interfaces can be opened"),
        Ok(false) if !is_needed => {
            Row::new("rights", State::Note, "without CAP_NET_RAW, which UDP sockets and streams do not need")
        }
        Ok(false) => {
            let found = "without CAP_NET_RAW: captures, UDP sockets and streams only, not interfaces";
            Row::new("rights", State::Wrong, found).fix(how_to_get_rights())
        }
        Err(error) => Row::new("rights", State::Unknown, error.to_string()),
    }
}

/// The interfaces that patterns and names match.
fn matched(typed: &[String], present: &[Interface]) -> Result<Row, Failure> {
    let patterns: Vec<&str> = typed.iter().map(|name| &**name).filter(|name| is_interface(name)).collect();
    let found = matching(&patterns, present)?;
    let names: Vec<&str> = found.iter().map(|interface| &*interface.name).take(SHOWN_INTERFACES).collect();
    let row = |state, found: String| Row::new("interfaces", state, found).of(patterns.join(" "));
    Ok(match found.len().saturating_sub(names.len()) {
        _ if found.is_empty() => row(State::Note, "none matches yet".into()).fix("huginn-net interfaces"),
        0 => row(State::Ok, format!("now {}", names.join(", "))),
        more => row(State::Ok, format!("now {}, and {more} more", names.join(", "))),
    })
}

fn kernel() -> Row {
    match uname() {
        Ok(found) => Row::new("kernel", State::Ok, format!("Linux {}", found.release().to_string_lossy())),
        Err(error) => Row::new("kernel", State::Unknown, error.desc()),
    }
}

/// Whether the program can confine itself.
fn landlock() -> Row {
    let row = |state, found: &str| Row::new("Landlock", state, found);
    match confinement_supported() {
        Confinement::Full => row(State::Ok, "active"),
        Confinement::Partial => row(State::Ok, "active, without limits on signals (from Linux 6.12 on)"),
        Confinement::Unsupported => {
            let found = "not active (Linux 5.13 has it): the sensor is not confined to its files; give --user, or boot with landlock";
            let row = row(State::Note, found);
            match fs::read_to_string("/sys/kernel/security/lsm") {
                Ok(modules) if !modules.contains("landlock") => {
                    row.fix(format!("lsm=landlock,{} (a parameter of the kernel)", modules.trim()))
                }
                _ => row,
            }
        }
    }
}

fn interface_rows(interface: &Interface) -> Vec<Row> {
    let name = &*interface.name;
    let row = |check, state, found: String| Row::new(check, state, found).of(name);
    let link = match interface {
        Interface { is_up: false, .. } => {
            row("link", State::Wrong, "down".into()).fix(format!("sudo ip link set {name} up"))
        }
        Interface { is_running: false, .. } => {
            row("link", State::Wrong, "no carrier: is a cable plugged in?".into())
        }
        _ => row("link", State::Ok, "up".into()),
    };
    let settings = match InterfaceSettings::read(name) {
        Ok(settings) => settings,
        Err(error) => return vec![link, row("settings", State::Unknown, error.to_string())],
    };
    let mut rows = vec![link];
    let on: Vec<&str> = [("gro", settings.gro), ("lro", settings.lro)]
        .iter()
        .filter(|(_, on)| *on == Some(true))
        .map(|(name, _)| *name)
        .collect();
    rows.push(match on.as_slice() {
        [] if settings.gro.is_none() && settings.lro.is_none() => {
            row("offload", State::Unknown, "the driver does not say".into())
        }
        [] => row("offload", State::Ok, "no segments are joined".into()),
        on => {
            let found = format!(
                "{} joins segments: fewer and longer packets; no signature depends on that",
                on.join(" and ")
            );
            row("offload", State::Note, found).fix(format!("sudo ethtool -K {name} {} off", on.join(" off ")))
        }
    });
    rows.push(match settings.receive_ring {
        Some((len, max)) if len < max => row(
            "ring",
            State::Note,
            format!("{len} of {max} receive descriptors: bursts may be lost in the card"),
        )
        .fix(format!("sudo ethtool -G {name} rx {max}")),
        Some((len, _)) => row("ring", State::Ok, format!("{len} receive descriptors, the maximum")),
        None => row("ring", State::Unknown, "the driver does not say".into()),
    });
    rows
}

/// A UDP socket or a stream: opens it as `live` does, and closes it again.
fn input(name: &str) -> Row {
    let row = |state, found: String| Row::new("input", state, found).of(name);
    let error = match LiveSource::open(&[name], &LiveOptions::default()) {
        Ok(_) => return row(State::Ok, "can be opened".into()),
        Err(error) => error,
    };
    let text = error.to_string();
    let found = text.strip_prefix(name).and_then(|text| text.strip_prefix(": ")).unwrap_or(&text).to_owned();
    let LiveError::Open { source, .. } = &error else { return row(State::Wrong, found) };
    match (source.kind(), name.strip_prefix("file:")) {
        (io::ErrorKind::AddrInUse, _) => {
            row(State::Note, "another program, such as a sensor that runs, has the port".into())
                .fix("sudo ss -lunp")
        }
        (io::ErrorKind::NotFound, Some(folder)) => {
            row(State::Wrong, found).fix(format!("sudo mkdir -p '{}'", name_of(Path::new(folder))))
        }
        _ => row(State::Wrong, found),
    }
}

fn clock() -> Row {
    let row = |state, found: String| Row::new("clock", state, found);
    match clock_error() {
        Ok(Some(error)) if error <= MAX_CLOCK_ERROR => {
            row(State::Ok, format!("synchronised, to {} ms", error.as_millis()))
        }
        Ok(Some(error)) => row(State::Wrong, format!("may be wrong by {} ms", error.as_millis()))
            .fix("chronyc tracking, or timedatectl timesync-status"),
        Ok(None) => {
            let found = "no program of this system keeps it; the host of a virtual machine or container may";
            row(State::Note, found.into()).fix("sudo timedatectl set-ntp true")
        }
        Err(error) => row(State::Unknown, error.to_string()),
    }
}

/// The buffer that a UDP socket may have.
fn socket_buffer() -> Row {
    let setting = "net.core.rmem_max";
    let found = fs::read_to_string("/proc/sys/net/core/rmem_max")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    let row = |state, found: String| Row::new("UDP buffer", state, found);
    match found {
        Some(len) if len < MIN_SOCKET_BUFFER => {
            row(State::Note, format!("{setting} is {len} bytes: bursts to udp:PORT may be lost"))
                .fix(format!("sudo sysctl -w {setting}={}", MIN_SOCKET_BUFFER))
        }
        Some(len) => row(State::Ok, format!("{setting} is {len} bytes")),
        None => row(State::Unknown, format!("{setting} cannot be read here")),
    }
}

fn open_files() -> Row {
    let row = |state, found: String| Row::new("open files", state, found);
    match getrlimit(Resource::Nofile).current {
        Some(soft) if soft < MIN_OPEN_FILES => row(State::Wrong, format!("at most {soft}"))
            .fix(format!("ulimit -n {MIN_OPEN_FILES}, or LimitNOFILE={MIN_OPEN_FILES} in the unit")),
        Some(soft) => row(State::Ok, format!("at most {soft}")),
        None => row(State::Ok, "without a limit".into()),
    }
}

/// A limit on the size of files, which ends a program that exceeds it; `None` without one.
fn file_size() -> Option<Row> {
    let soft = getrlimit(Resource::Fsize).current?;
    let found = format!("files of at most {soft} bytes: a longer one ends the program");
    Some(
        Row::new("file size", State::Wrong, found)
            .fix("ulimit -f unlimited, or LimitFSIZE=infinity in the unit"),
    )
}

/// Where events will go, as `live` names it. Standard output, sockets, pipes and devices have no disk.
fn output(path: &Path) -> Option<Row> {
    let wrong = |found: String| Row::new("output", State::Wrong, found).of(name_of(path));
    match LiveTarget::new(target(Some(path))) {
        Ok(LiveTarget::File(path)) if path.is_dir() => Some(wrong("is a directory, not a file".into())),
        Ok(LiveTarget::File(path)) if path.exists() && !path.is_file() => None,
        Ok(LiveTarget::File(path)) => Some(disk(&path)),
        Ok(LiveTarget::Socket(collector)) if !collector.is_resolved() => {
            Some(wrong("the name of the host has no address, or cannot be looked up".into()))
        }
        Ok(LiveTarget::Socket(_) | LiveTarget::Stdout) => None,
        Err(error) => {
            let name = format!("{}: ", name_of(path));
            Some(wrong(error.strip_prefix(&name).unwrap_or(&error).to_owned()))
        }
    }
}

/// The disk of a file, which need not exist.
fn disk(path: &Path) -> Row {
    let folder = parent_directory(path);
    let row = |state, found: String| Row::new("disk", state, found).of(name_of(path));
    if folder.exists() && !folder.is_dir() {
        return row(State::Wrong, format!("{} is not a directory", name_of(&folder)));
    }
    let found = match statvfs(&folder) {
        Ok(found) => found,
        Err(error) => {
            return row(State::Wrong, format!("{}: {}", name_of(&folder), io::Error::from(error)))
                .fix(format!("sudo mkdir -p '{}'", name_of(&folder)));
        }
    };
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    let (free, all) = (bytes(found.f_bavail), bytes(found.f_blocks));
    let text = format!("{} of {} MiB are free", free >> 20, all >> 20);
    if free < MIN_FREE_BYTES {
        row(State::Wrong, text).fix("--rotate-size and --rotate-keep bound what events take")
    } else if found.f_files > 0 && found.f_favail == 0 {
        row(State::Wrong, "no file can be created: the disk has no inode left".into()).fix("df -i")
    } else {
        row(State::Ok, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_is_that_of_a_future_file() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(disk(&folder.path().join("events.json")).state, State::Unknown);
        let absent = disk(&folder.path().join("absent/events.json"));
        assert_eq!(absent.state, State::Wrong);
        assert!(absent.found.ends_with("absent: No such file or directory (os error 2)"), "{absent:?}");
    }
}
