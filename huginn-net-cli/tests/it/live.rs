//! Usage errors of `huginn-net live`, which need no root, and its shutdown, which does. `ci/live` tests the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write, pipe};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use huginn_net::CaptureReader;
use nix::sys::stat::Mode;

use crate::captures;

/// Returns the exit status and standard error of `huginn-net live`.
fn live(args: &[&str]) -> (i32, String) {
    let program = env!("CARGO_BIN_EXE_huginn-net");
    let output = Command::new(program).arg("live").args(args).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn wrong_usage_exits_with_2_and_names_option() {
    for (args, named) in [
        (&[][..], "--interface"),
        (&["-i", "lo", "--rotate-size", "1G"], "--output"),
        (&["-i", "lo", "-o", "x", "--rotate-keep", "3"], "--rotate-size"),
        (&["-i", "lo", "-o", "x", "--rotate-size", "1G", "--rotate-keep", "0"], "at least 1"),
        (&["-i", "lo", "-o", "x", "--rotate-size", "0"], "100M"),
        (&["-i", "lo", "--stats-interval", "0"], "from one second"),
        (&["-i", "lo", "--extract", "x"], "--where <CONDITION>|"),
        (&["-i", "lo", "--extract-keep", "2"], "--extract"),
        (
            &["-i", "lo", "-o", "x", "--extract", "x", "--findings"],
            "--output and --extract name the same file",
        ),
        (&["-i", "lo", "--keylog", "/no-such-file"], "/no-such-file: No such file"),
        (&["-i", "lo", "--keylog", "/dev/null"], "/dev/null: a key log that grows is a regular file"),
        (&["-i", "lo", "--metrics", "nowhere"], "[::1]:9100"),
        (&["-i", "lo", "--p0f-socket", "x", "--p0f-socket-mode", "888"], "octal permissions"),
        (&["-i", "lo", "--snaplen", "1"], "--snaplen"),
        (&["-i", "lo", "--buffer", "1024"], "--buffer"),
        (&["-i", "lo", "-o", "x", "--hosts-file", "x"], "x: --output and --hosts-file name the same file"),
        (&["-i", "lo", "-o", "x.new", "--hosts-file", "./x"], "--output and the new file of --hosts-file"),
        (
            &["-i", "lo", "-o", "x", "--write-baseline", "x"],
            "--output and --write-baseline name the same file",
        ),
        (&["-i", "lo", "-o", "x", "--state", "x"], "--output and --state name the same file"),
        (&["-i", "lo", "--baseline", "/no-such-file"], "/no-such-file: No such file"),
        (&["-i", "lo", "--p0f-socket", "../x", "--hosts-file", "../x"], "--hosts-file and --p0f-socket"),
        (&["-i", "lo", "--filter", "tcp", "tcp"], "cannot be used with"),
    ] {
        let (status, stderr) = live(args);
        assert!(status == 2 && stderr.contains(named), "{args:?}: {status}, {stderr}");
    }
}

#[test]
fn unknown_interface_exits_with_1_and_names_those_that_exist() {
    let (status, stderr) = live(&["-i", "no-such-iface"]);
    let said = stderr.contains("no-such-iface: there is no such interface; there are: ");
    assert!(status == 1 && said, "{status}: {stderr}");
}

#[test]
fn wrong_values_of_a_file_have_their_line_or_table() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("live.toml");
    let path = config.to_str().unwrap();
    for (text, wanted) in [
        ("where = \"snii == 'a'\"\n", "line 2: --where: at character 1: unknown field 'snii'"),
        ("format = 'json'\nfields = ['snii']\n", "line 3: --fields: unknown field 'snii'"),
        ("pin = '0-1'\nworkers = 3\n", "line 2: --pin names 2 processors"),
        (
            "format = 'json'\n[[output]]\n[[output]]\noutput = 'x'\nwhere = \"snii == 'a'\"\n",
            "line 6: --where: at character 1: unknown field 'snii'",
        ),
        (
            "format = 'json'\n[[output]]\n[[output]]\noutput = 'x'\nfields = ['snii']\n",
            "line 6: --fields: unknown field 'snii'",
        ),
        // One that no output can have.
        ("sensor-name = 'a'\n[[output]]\nformat = 'human'\n", "line 2: --sensor-name"),
        // One that another output can have, in the wrong table.
        (
            "format = 'json'\n[[output]]\n[[output]]\noutput = 'x'\nformat = 'p0f'\nsensor-name = 'a'\n",
            "line 7: --sensor-name",
        ),
        (
            "[[output]]\n[[output]]\noutput = 'tcp:127.0.0.1:1'\nrotate-size = '1M'\n",
            "[[output]] at line 3: only a file can be rotated",
        ),
    ] {
        fs::write(&config, format!("interface = 'lo'\n{text}")).unwrap();
        let (status, stderr) = live(&["--config", path, "--check"]);
        assert!(
            status == 2 && stderr.starts_with(&format!("huginn-net: {path}: {wanted}")),
            "{text}: {stderr}"
        );
    }
}

/// Keys before the tables hold for the outputs that can have them.
#[test]
fn default_of_a_file_fits_one_output_and_fails_none() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("live.toml");
    let text = "\
interface = 'lo'
format = 'json'
sensor-name = 'berlin-1'
add-field = ['site=berlin']
fields = ['ts']
local-time = true
[[output]]
[[output]]
output = 'p0f.log'
format = 'p0f'
[[output]]
output = 'events.txt'
format = 'human'
[[output]]
output = 'eve.json'
format = 'eve'
";
    fs::write(&config, text).unwrap();
    let (status, stderr) = live(&["--config", config.to_str().unwrap(), "--check", "--no-sandbox"]);
    // Without the rights to capture, the options were good.
    assert!(status == 0 || status == 1 && stderr.contains("CAP_NET_RAW"), "{status}: {stderr}");
}

#[cfg(not(feature = "libpcap"))]
#[test]
fn backend_libpcap_names_the_build_option() {
    let (status, stderr) = live(&["-i", "lo", "--backend", "libpcap"]);
    assert!(status == 2 && stderr.contains("--features libpcap"), "{status}, {stderr}");
}

#[test]
fn invalid_filter_expression_is_named() {
    for backend in if cfg!(feature = "libpcap") { &["packet", "libpcap"][..] } else { &["packet"] } {
        let (status, stderr) = live(&["-i", "lo", "--backend", backend, "tcp", "prot", "80"]);
        // Without privileges libpcap reports the missing permission first.
        assert!(
            status == 2 && stderr.contains("tcp prot 80") || status == 1 && stderr.contains("setcap"),
            "{stderr}"
        );
    }
}

/// Starts `huginn-net live` on the loopback interface.
fn start_live(args: &[&str], prepare: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(["live", "-i", "lo", "--format", "json", "--port", "9"]).args(args);
    prepare(&mut command);
    command.spawn().unwrap()
}

/// Sends SYNs to a closed port until the condition holds; panics after 20 seconds.
fn connect_until(mut done: impl FnMut() -> bool) {
    let start_time = Instant::now();
    while !done() {
        assert!(start_time.elapsed() < Duration::from_secs(20));
        let _ = TcpStream::connect("127.0.0.1:9");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Sends SIGTERM, as a service manager does. Returns the exit status and the time until exit.
fn terminate(child: &mut Child) -> (ExitStatus, Duration) {
    let start_time = Instant::now();
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (status, start_time.elapsed());
        }
        if start_time.elapsed() > Duration::from_secs(15) {
            child.kill().unwrap();
            return (child.wait().unwrap(), start_time.elapsed());
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().count()
}

/// curl logs its secrets while its packets are captured; the key log is empty at the start.
#[test]
#[ignore = "needs root"]
fn secrets_serve_while_they_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [keys, events, certificate, key] = ["keys.log", "events.json", "cert.pem", "key.pem"].map(place);
    fs::write(&keys, "").unwrap();
    let openssl = |args: &[&str]| {
        let mut command = Command::new("openssl");
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let make = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"];
    let made = openssl(&[&make[..], &["-keyout", &key, "-out", &certificate]].concat()).status().unwrap();
    assert!(made.success());
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let serve =
        ["s_server", "-quiet", "-www", "-accept", &address.to_string(), "-key", &key, "-cert", &certificate];
    let mut server = openssl(&serve).spawn().unwrap();
    let mut live = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    live.args(["live", "-i", "lo", "--port", &address.port().to_string(), "--keylog", &keys]);
    live.args(["--format", "json", "--events", "http_request", "--fields", "path,decrypted", "-o", &events]);
    live.args(["--immediate-mode", "-q"]);
    let mut live = live.spawn().unwrap();
    let start = Instant::now();
    let mut requests = 0;
    // Once events come, each further connection yields its own.
    let mut last = None;
    while last.is_none_or(|last| requests < last + 20) {
        assert!(start.elapsed() < Duration::from_secs(60));
        let version = if requests % 2 == 0 { "1.2" } else { "1.3" };
        let mut curl = Command::new("curl");
        curl.args(["-sk", "-o", "/dev/null", "--tls-max", version, "--max-time", "2"]);
        curl.arg(format!("https://{address}/number-{requests}-")).env("SSLKEYLOGFILE", &keys);
        if curl.status().unwrap().success() && last.is_none() && lines(Path::new(&events)) > 0 {
            last = Some(requests);
        }
        requests += 1;
    }
    let (status, _) = terminate(&mut live);
    server.kill().unwrap();
    server.wait().unwrap();
    let events = fs::read_to_string(&events).unwrap();
    assert!(status.success(), "{status}: {events}");
    for number in last.unwrap() + 1..requests {
        let line = format!("{{\"path\":\"/number-{number}-\",\"decrypted\":true}}\n");
        assert_eq!(events.matches(&line).count(), 1, "{number}: {events}");
    }
}

#[test]
#[ignore = "needs root"]
fn unread_standard_error_never_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.json");
    let (_reader, mut writer) = pipe().unwrap();
    // Fill the pipe: its capacity is 64 KiB.
    writer.write_all(&[b'\n'; 1 << 16]).unwrap();
    let args = ["-o", file.to_str().unwrap(), "--no-sandbox", "-v", "--stats-interval", "1s"];
    let mut child = start_live(&args, |command| _ = command.stderr(writer));
    connect_until(|| lines(&file) > 0);
    assert!(Command::new("kill").args(["-USR1", &child.id().to_string()]).status().unwrap().success());
    thread::sleep(Duration::from_secs(2));
    let before = lines(&file);
    connect_until(|| lines(&file) > before);
    let (status, elapsed) = terminate(&mut child);
    assert!(status.success() && elapsed < Duration::from_secs(4), "{status}, {elapsed:?}");
}

#[test]
#[ignore = "needs root"]
fn named_pipe_accepts_new_reader_after_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
    let mut child = start_live(&["-o", path.to_str().unwrap(), "-q"], |_| {});
    for _ in 0..2 {
        let reader = thread::spawn({
            let path = path.clone();
            move || {
                // The previous reader may have consumed the start of the first line.
                BufReader::new(File::open(path).unwrap()).lines().nth(1).unwrap().unwrap()
            }
        });
        connect_until(|| reader.is_finished());
        let line = reader.join().unwrap();
        assert!(line.starts_with('{') && line.ends_with('}'), "{line}");
    }
    let _ = TcpStream::connect("127.0.0.1:9");
    thread::sleep(Duration::from_millis(500));
    let (status, elapsed) = terminate(&mut child);
    assert_eq!(status.code(), Some(1), "events remain unwritten");
    assert!(elapsed < Duration::from_secs(4), "{elapsed:?}");
}

#[test]
#[ignore = "needs root"]
fn standard_output_has_two_names() {
    for name in ["-", "/dev/stdout"] {
        // Standard output is a file, so opening /dev/stdout would succeed.
        let file = tempfile::tempfile().unwrap();
        let mut child =
            start_live(&["-o", name, "-q"], |command| _ = command.stdout(file.try_clone().unwrap()));
        connect_until(|| file.metadata().unwrap().len() > 0);
        assert!(terminate(&mut child).0.success());
        let mut child = start_live(&["-o", name, "-q", "--rotate-size", "1M"], |_| {});
        assert_eq!(child.wait().unwrap().code(), Some(2), "standard output cannot be rotated");
    }
}

#[test]
#[ignore = "needs root"]
fn start_without_reader_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
    let mut child = start_live(&["-o", path.to_str().unwrap(), "-q"], |_| {});
    thread::sleep(Duration::from_millis(300));
    let (_, elapsed) = terminate(&mut child);
    assert!(elapsed < Duration::from_secs(4), "{elapsed:?}");
}

#[test]
#[ignore = "needs root"]
fn writes_all_hosts_while_capture_continues() {
    let folder = tempfile::tempdir().unwrap();
    let (file, hosts) = (folder.path().join("events.json"), folder.path().join("hosts.json"));
    let mut child =
        start_live(&["-o", file.to_str().unwrap(), "-q", "--hosts-file", hosts.to_str().unwrap()], |_| {});
    connect_until(|| lines(&file) > 0);
    for _ in 0..3 {
        assert!(Command::new("kill").args(["-USR1", &child.id().to_string()]).status().unwrap().success());
    }
    connect_until(|| lines(&hosts) > 0);
    assert!(fs::read_to_string(&hosts).unwrap().contains("127.0.0.1"));
    assert!(terminate(&mut child).0.success());
}

/// An interface other than the loopback interface.
fn other_interface() -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(["interfaces", "--format", "json"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let interfaces = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut ethernet =
        interfaces.filter(|interface| interface["mac"].is_string() && interface["state"] == "up");
    ethernet.next().unwrap()["name"].as_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs root"]
fn events_of_several_interfaces_name_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let other = other_interface();
    for (number, (interfaces, workers, named)) in
        [(&[][..], "1", false), (&["-i", &other], "1", true), (&["-i", &other], "2", true)].iter().enumerate()
    {
        let file = folder.path().join(number.to_string());
        let args = [&["-o", file.to_str().unwrap(), "-q", "-w", workers], *interfaces].concat();
        let mut child = start_live(&args, |_| {});
        connect_until(|| lines(&file) > 3);
        assert!(terminate(&mut child).0.success());
        for line in fs::read_to_string(&file).unwrap().lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(event.get("interface"), named.then(|| "lo".into()).as_ref(), "{line}");
        }
    }
}

#[test]
#[ignore = "needs root"]
fn events_of_any_name_the_interface_of_their_packet() {
    let folder = tempfile::tempdir().unwrap();
    for workers in ["1", "2"] {
        let file = folder.path().join(workers);
        let args = ["-i", "any", "-o", file.to_str().unwrap(), "-q", "-w", workers];
        let mut child = start_live(&args, |_| {});
        connect_until(|| lines(&file) > 3);
        assert!(terminate(&mut child).0.success());
        for line in fs::read_to_string(&file).unwrap().lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(event["interface"], "lo", "{line}");
        }
    }
}

/// The program has no rights any more when the interfaces join.
#[test]
#[ignore = "needs root"]
fn joined_veth_ends_count_connections_once() {
    let folder = tempfile::tempdir().unwrap();
    for workers in ["1", "2"] {
        let (file, stderr) = (folder.path().join(workers), folder.path().join("stderr"));
        let id = std::process::id();
        let (name, peer) = (format!("hnx{id}a"), format!("hnx{id}b"));
        let pattern = format!("hnx{id}?");
        let mut child = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .args([
                "live", "-i", &pattern, "--format", "json", "--events", "tcp_syn", "--stats", "-w", workers,
                "-o",
            ])
            .arg(&file)
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let said = |text: &str| fs::read_to_string(&stderr).unwrap().contains(text);
        connect_until(|| said("no interface matches yet; the capture begins when one does"));
        let ip = |args: &str| {
            assert!(Command::new("ip").args(args.split(' ')).status().unwrap().success(), "{args}");
        };
        ip(&format!("link add {name} type veth peer name {peer}"));
        ip(&format!("addr add 198.51.100.1/24 dev {name}"));
        ip(&format!("link set {peer} up"));
        ip(&format!("link set {name} up"));
        ip(&format!("neigh replace 198.51.100.2 lladdr 02:00:00:00:00:02 dev {name}"));
        connect_until(|| said(&format!("{peer}: is captured from now on")));
        let connect = |port: u16| {
            let server: SocketAddr = ([198, 51, 100, 2], port).into();
            let _ = TcpStream::connect_timeout(&server, Duration::from_millis(20));
        };
        connect_until(|| {
            connect(9);
            lines(&file) > 0
        });
        (1000..1010).for_each(connect);
        connect_until(|| fs::read_to_string(&file).unwrap().contains("\"port\":1009"));
        ip(&format!("link del {name}"));
        connect_until(|| said(&format!("{name}: is gone, and captured no longer")));
        assert!(terminate(&mut child).0.success());
        let events: Vec<serde_json::Value> = fs::read_to_string(&file)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        for port in 1000..1010 {
            let of_port: Vec<_> = events.iter().filter(|event| event["server"]["port"] == port).collect();
            assert!(of_port.len() == 1 && of_port[0]["interface"] == *name, "{of_port:?}");
        }
        let stderr = fs::read_to_string(&stderr).unwrap();
        let counters: serde_json::Value = serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
        let counted = &counters["capture"][&pattern];
        assert!(
            counted["copies"].as_u64() >= Some(10) && counted["received"].as_u64() >= Some(10),
            "{counted}"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn interface_that_appears_later_is_captured() {
    let folder = tempfile::tempdir().unwrap();
    for workers in ["1", "2"] {
        let (file, stderr) = (folder.path().join(workers), folder.path().join("stderr"));
        let (name, peer) = (format!("hnw{}", std::process::id()), format!("hnp{}", std::process::id()));
        let mut child = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .args(["live", "-i", &name, "--wait", "--format", "json", "-w", workers, "-o"])
            .arg(&file)
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let said = |text: &str| fs::read_to_string(&stderr).unwrap().contains(text);
        connect_until(|| said("does not exist yet; the capture begins when it does"));
        let ip = |args: &str| {
            assert!(Command::new("ip").args(args.split(' ')).status().unwrap().success(), "{args}");
        };
        // The program has no rights any more, also when the interface returns.
        for round in 0..3 {
            ip(&format!("link add {name} type veth peer name {peer}"));
            ip(&format!("addr add 198.51.100.1/24 dev {name}"));
            ip(&format!("link set {peer} up"));
            ip(&format!("link set {name} up"));
            ip(&format!("neigh replace 198.51.100.2 lladdr 02:00:00:00:00:02 dev {name}"));
            let server: SocketAddr = "198.51.100.2:9".parse().unwrap();
            let before = lines(&file);
            connect_until(|| {
                let _ = TcpStream::connect_timeout(&server, Duration::from_millis(50));
                lines(&file) > before
            });
            assert!(said("has appeared"), "{}", fs::read_to_string(&stderr).unwrap());
            ip(&format!("link del {name}"));
            let gone = || fs::read_to_string(&stderr).unwrap().matches("has vanished").count();
            connect_until(|| gone() > round);
        }
        assert!(terminate(&mut child).0.success());
    }
}

/// Status and body of `/healthz`; `None` if nothing listens.
fn health(address: SocketAddr) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.to_owned(), body.to_owned()))
}

#[test]
#[ignore = "needs root"]
fn health_fails_after_end_of_capture() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // No process reads the events, so that the program waits before it exits.
    let (_reader, mut writer) = pipe().unwrap();
    writer.write_all(&[b'\n'; 1 << 16]).unwrap();
    let args = ["-q", "--stats-interval", "1s", "--metrics", &address.to_string()];
    let stderr = tempfile::NamedTempFile::new().unwrap();
    let mut child = start_live(&args, |command| {
        command.stdout(writer).stderr(stderr.reopen().unwrap());
    });
    let is_queued = || {
        let text = fs::read_to_string(stderr.path()).unwrap();
        text.lines().any(|line| !line.contains(r#""queued_lines":0,"#) && line.contains(r#""queued_lines":"#))
    };
    connect_until(is_queued);
    let answer = |status: &str, body: &str| Some((status.to_owned(), body.to_owned()));
    assert_eq!(health(address), answer("200", "capturing\n"));
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let start_time = Instant::now();
    while health(address) == answer("200", "capturing\n") {
        assert!(start_time.elapsed() < Duration::from_secs(4));
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(health(address), answer("503", "the capture has ended\n"));
    assert_eq!(child.wait().unwrap().code(), Some(1), "events remain unwritten");
    assert_eq!(health(address), None);
}

/// Receives a message to the service manager; `None` if none comes in time.
fn notification(socket: &UnixDatagram) -> Option<String> {
    let mut message = [0; 1024];
    let len = socket.recv(&mut message).ok()?;
    Some(String::from_utf8(message[..len].to_vec()).unwrap())
}

#[test]
#[ignore = "needs root"]
fn service_manager_learns_of_progress_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(6))).unwrap();
    for workers in ["1", "2"] {
        let mut child = start_live(&["-o", "/dev/null", "-q", "-w", workers], |command| {
            command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "5000000");
        });
        assert_eq!(notification(&socket).unwrap(), "READY=1\nSTATUS=capturing from lo\n");
        // The link is quiet.
        for _ in 0..3 {
            assert_eq!(notification(&socket).unwrap(), "WATCHDOG=1\n");
        }
        assert!(terminate(&mut child).0.success());
        let rest: Vec<String> = std::iter::from_fn(|| notification(&socket)).collect();
        let (last, before) = rest.split_last().unwrap();
        assert_eq!(last, "STOPPING=1\n");
        assert!(before.len() < 2 && before.iter().all(|message| message == "WATCHDOG=1\n"), "{before:?}");
    }
    // Without WatchdogSec= in the unit there are no reports of progress.
    let mut child = start_live(&["-o", "/dev/null", "-q"], |command| {
        command.env("NOTIFY_SOCKET", &path).env_remove("WATCHDOG_USEC");
    });
    assert!(notification(&socket).unwrap().starts_with("READY=1\n"));
    assert_eq!(notification(&socket), None);
    assert!(terminate(&mut child).0.success());
    assert_eq!(notification(&socket).unwrap(), "STOPPING=1\n");
}

#[test]
#[ignore = "needs root"]
fn failed_start_is_never_ready() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut child = start_live(&["-o", "/nonexistent/events", "-q"], |command| {
        command.env("NOTIFY_SOCKET", &path).stderr(Stdio::null());
    });
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(notification(&socket), None);
}

#[test]
#[ignore = "needs root"]
fn check_ends_as_a_start_would_and_captures_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (config, events, list) =
        (folder.path().join("live.toml"), folder.path().join("events.json"), folder.path().join("list.txt"));
    let check = |text: &str, wanted: i32, message: &str| {
        fs::write(&config, text).unwrap();
        let (status, stderr) = live(&["--check", "--config", config.to_str().unwrap()]);
        assert!(status == wanted && stderr.contains(message), "{text:?}: {status}: {stderr}");
    };
    let good = format!("interface = 'lo'\noutput = '{}'\n", events.display());
    check(&good, 0, "options, files and rights are good: lo");
    assert!(!events.exists(), "a check writes nothing");
    fs::write(&list, "not a value\n").unwrap();
    check(&format!("{good}fingerprints = ['{}']", list.display()), 2, "line 1: 'not a value' is not");
    check("interface = 'nonexistent0'", 1, "nonexistent0");
    check("interface = 'lo'\noutput = '/nonexistent/events'", 1, "/nonexistent");
    check("interface = 'lo'\noutput = '/proc/version'", 1, "/proc/version");
    for option in ["extract", "hosts-file", "state", "write-baseline"] {
        let text = format!("interface = 'lo'\nfindings = true\n{option} = '/nonexistent/file'");
        check(&text, 1, &format!("--{option}: /nonexistent: No such file"));
        let status = if option == "write-baseline" { 2 } else { 1 };
        check(&format!("{text}\nno-sandbox = true"), status, &format!("--{option} /nonexistent/file: "));
    }
    check("interface = 'lo'\nuser = 'no such user'", 2, "no such user");
    check("interface = 'lo'\ntui = true\nformat = 'json'", 2, "--tui");
    check("interface = 'a/b'\nwait = true", 1, "there is no such interface");
    check("interface = 'hnmissing0'\nwait = true", 0, "does not exist yet");
    check("interface = ['!lo', 'any', 'lo']", 0, "are good: !lo, any, lo");
    check("interface = 'hnmissing*'", 0, "no interface matches yet");
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    check(&format!("interface = 'lo'\noutput = '{}'", pipe.display()), 0, "are good");
    let socket = UdpSocket::bind("127.0.0.1:6081").unwrap();
    check("interface = 'udp:127.0.0.1:6081'", 0, "another program has the port");
    drop(socket);
}

/// The events of JSON Lines without their times and tunnels, and whether certificates were valid at those times.
fn events_of(lines: &str) -> Vec<String> {
    let event = |line: &str| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = event.as_object_mut().unwrap();
        fields.retain(|name, _| !["ts", "tunnel", "valid"].contains(&name.as_str()));
        event.to_string()
    };
    lines.lines().map(event).collect()
}

/// Sends frames to a mirror target, wrapped in VXLAN of network 7. Returns the events.
fn events_of_mirror(frames: &[Vec<u8>], workers: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (file, config) = (folder.path().join("events.json"), folder.path().join("live.toml"));
    // The ports of VXLAN; another program may have one.
    let (mut child, port) = [48879, 8472, 4789]
        .into_iter()
        .find_map(|port| {
            let text = format!(
                "interface = 'udp:127.0.0.1:{port}'\nformat = 'json'\noutput = '{}'\nworkers = {workers}\n",
                file.display()
            );
            fs::write(&config, text).unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
            let mut child =
                command.args(["live", "--config"]).arg(&config).stderr(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(child.stderr.take().unwrap()).lines();
            lines.map_while(Result::ok).any(|line| line.contains("watching udp:")).then_some((child, port))
        })
        .unwrap();
    // The ports of the mirror change with each packet.
    let senders = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    for (frame, sender) in frames.iter().zip(senders.iter().cycle()) {
        let datagram = [&[8, 0, 0, 0, 0, 0, 7, 0], &frame[..]].concat();
        sender.send_to(&datagram, ("127.0.0.1", port)).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    // What was received before the signal is analysed.
    assert!(terminate(&mut child).0.success());
    fs::read_to_string(&file).unwrap()
}

#[test]
fn mirrored_capture_has_the_events_of_the_file() {
    let capture = captures::path("tls-curl.pcap");
    let found = events_of_mirror(&frames(&capture), 1);
    assert!(found.lines().all(|line| line.contains(r#""tunnel":["vxlan:7"]"#)));
    let wanted = events_of(&of_file(&capture, &["--format", "json"]));
    assert!(wanted.len() > 20);
    assert_eq!(events_of(&found), wanted);
}

#[test]
fn workers_divide_mirrored_capture_by_its_hosts() {
    // The signatures of each connection, and the worker of each pair of hosts: numbers of packets are odd in one, and even in the other.
    let signatures = |lines: &str| {
        let events = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let (mut found, mut workers) = (Vec::new(), BTreeMap::<String, BTreeSet<u64>>::new());
        for event in events.filter(|event| event["event"].as_str().unwrap().starts_with("tcp_syn")) {
            let worker = event["packet"].as_u64().unwrap() % 2;
            let hosts = format!("{} {}", event["client"]["ip"], event["server"]["ip"]);
            workers.entry(hosts).or_default().insert(worker);
            let fields = ["event", "client", "server", "sig"].map(|name| event[name].to_string());
            found.push(fields);
        }
        found.sort();
        (found, workers)
    };
    let capture = captures::path("hosts-uptime.pcap");
    let (wanted, _) = signatures(&of_file(&capture, &["--format", "json"]));
    let (found, workers) = signatures(&events_of_mirror(&frames(&capture), 2));
    assert_eq!(wanted.len(), 12);
    assert_eq!(found, wanted);
    assert!(workers.values().all(|workers| workers.len() == 1), "{workers:?}");
    assert_eq!(workers.values().flatten().collect::<BTreeSet<_>>().len(), 2, "{workers:?}");
}

#[test]
fn streams_have_events_of_file() {
    let folder = tempfile::tempdir().unwrap();
    let capture = captures::path("tls-curl.pcap");
    let count = frames(&capture).len().to_string();
    let wanted = of_file(&capture, &["--format", "json"]);
    assert!(wanted.len() > 1000);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("tcp:{}", listener.local_addr().unwrap());
    let bytes = fs::read(&capture).unwrap();
    let sender = thread::spawn(move || {
        // The first connection ends within a packet; the next one brings the capture again.
        listener.accept().unwrap().0.write_all(&bytes[..30]).unwrap();
        let mut connection = listener.accept().unwrap().0;
        connection.write_all(&bytes).unwrap();
        // The sensor ends it.
        let _ = connection.read(&mut [0]);
    });
    let spool = spool_of(folder.path(), &capture);
    for (name, workers) in [(server, "1"), (format!("file:{}", spool.display()), "2")] {
        let events = folder.path().join(format!("events-{workers}"));
        let (status, stderr) = live(&[
            "-i",
            &name,
            "--format",
            "json",
            "-c",
            &count,
            "-w",
            workers,
            "-o",
            events.to_str().unwrap(),
        ]);
        assert_eq!(status, 0, "{stderr}");
        assert!(fs::read_to_string(&events).unwrap() == wanted, "{name}: {stderr}");
        let is_interrupted = stderr.contains("packet 1") && stderr.contains("waits for a connection");
        assert_eq!(is_interrupted, name.starts_with("tcp:"), "{stderr}");
    }
    sender.join().unwrap();
}

#[test]
fn check_of_a_stream_starts_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(captures::path("tls-curl.pcap"), folder.path().join("1.pcap")).unwrap();
    let name = format!("file:{}", folder.path().display());
    // A thread that ends would be counted at times.
    for _ in 0..10 {
        let (status, stderr) = live(&["--check", "-i", &name]);
        assert!(status == 0 && stderr.contains("are good"), "{status}: {stderr}");
    }
}

/// A folder with one capture, for an input `file:`.
fn spool_of(folder: &Path, capture: &Path) -> PathBuf {
    let spool = folder.join("spool");
    fs::create_dir_all(&spool).unwrap();
    fs::copy(capture, spool.join("1.pcap")).unwrap();
    spool
}

/// What the next client of a listener sends.
fn text_of_connection(listener: &TcpListener) -> String {
    let mut text = String::new();
    listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
    text
}

/// Analyses a capture as a stream with `--extract`, with a limit on the size of files, in units of 512 bytes. Returns the exit
/// status and standard error.
fn extract_with_limit(folder: &Path, blocks: &str) -> (i32, String) {
    let spool = spool_of(folder, &captures::path("tls-clients.pcap"));
    let count = frames(&captures::path("tls-clients.pcap")).len().to_string();
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f $1; shift; exec \"$@\"", "sh", blocks])
        .arg(env!("CARGO_BIN_EXE_huginn-net"))
        .args(["live", "--events", "tls_client", "--extract-keep", "2", "-c", &count, "-i"])
        .arg(format!("file:{}", spool.display()))
        .arg("--extract")
        .arg(folder.join("x.pcapng"))
        .output()
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The files of packets in a folder with their bytes, the oldest first.
fn extracted(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.filter(|path| path.is_file()).collect();
    files.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn failed_extract_keeps_only_complete_files() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        assert_eq!(extract_with_limit(folder.path(), "unlimited").0, 0);
    }
    let complete = extracted(folder.path());
    assert_eq!(complete.len(), 2);
    let (status, stderr) = extract_with_limit(folder.path(), "4");
    assert!(status == 1 && stderr.contains("cannot write packets: File too large"), "{status}: {stderr}");
    assert!(
        stderr.contains(" packets of --extract not written\n") && !stderr.contains("nothing was lost"),
        "{stderr}"
    );
    assert!(extracted(folder.path()) == complete, "{stderr}");
    let (status, stderr) = extract_with_limit(folder.path(), "16");
    assert_eq!(status, 1, "{stderr}");
    let files = extracted(folder.path());
    assert!(files.len() == 2 && files[0] == complete[1]);
    // Every packet of a file is complete, which is shorter than the limit.
    let mut capture = CaptureReader::open(&files[1].0).unwrap();
    let mut packets = 0;
    while capture.read_frame().unwrap().is_some() {
        packets += 1;
    }
    assert!(packets > 10 && files[1].1.len() < 16 * 512, "{packets}");
}

/// The records of a pcap file as two files. `packets`: the number in the first.
fn split_pcap(bytes: &[u8], packets: usize) -> [Vec<u8>; 2] {
    let (header, records) = bytes.split_at(24);
    let mut at = 0;
    for _ in 0..packets {
        let len: [u8; 4] = records[at + 8..at + 12].try_into().unwrap();
        at += 16 + u32::from_le_bytes(len) as usize;
    }
    [[header, &records[..at]].concat(), [header, &records[at..]].concat()]
}

/// Hosts and fingerprints of a state, sorted: the order of hosts is exact to within a second.
fn hosts_of(state: &Path) -> Vec<String> {
    let text = fs::read_to_string(state).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert!(
        lines[0].starts_with("{\"huginn_net_state\":") && lines[lines.len() - 1].starts_with("{\"end\":")
    );
    let without_time = |line: &String| match line.split_once(",\"at\":") {
        // When an alert had its line is a time of the clock.
        Some((alert, rest)) if line.starts_with("{\"alert\":") => {
            alert.to_owned() + rest.trim_start_matches(|digit: char| digit.is_ascii_digit())
        }
        _ => line.clone(),
    };
    let mut lines: Vec<String> = lines[1..lines.len() - 1].iter().map(without_time).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn state_continues_hosts_and_baseline_after_a_restart() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let bytes = fs::read(captures::path("hosts-nat.pcap")).unwrap();
    // No connection has packets before and after this place.
    let [before, after] = split_pcap(&bytes, 120);
    fs::write(path("baseline"), "{\"huginn_net_baseline\":2,\"first\":null,\"last\":null}\n").unwrap();
    let run = |state: &str, capture: &[u8], packets: &str| -> (Vec<String>, String) {
        let spool = path("spool");
        let _ = fs::remove_dir_all(&spool);
        fs::create_dir(&spool).unwrap();
        fs::write(spool.join("1.pcap"), capture).unwrap();
        let (events, state, baseline) = (path("events"), path(state), path("baseline"));
        let _ = fs::remove_file(&events);
        let (status, stderr) = live(&[
            "-i",
            &format!("file:{}", spool.display()),
            "--format",
            "json",
            "-c",
            packets,
            "-o",
            events.to_str().unwrap(),
            "--baseline",
            baseline.to_str().unwrap(),
            "--state",
            state.to_str().unwrap(),
        ]);
        assert_eq!(status, 0, "{stderr}");
        let text = fs::read_to_string(&events).unwrap();
        let kinds = ["host_change", "ip_sharing", "uptime", "new_fingerprint"];
        let is_of_host = |line: &&str| kinds.iter().any(|kind| line.contains(&format!("\"{kind}\"")));
        // The number of a packet is that in its run.
        let without_number = |line: &str| {
            let (before, after) = line.split_once("\"packet\":").unwrap();
            let after = after.split("\"packets\":").next().unwrap();
            before.to_owned() + after.trim_start_matches(|digit: char| digit.is_ascii_digit())
        };
        (text.lines().filter(is_of_host).map(without_number).collect(), stderr)
    };
    let (whole, stderr) = run("whole", &bytes, "240");
    assert!(!whole.is_empty() && !stderr.contains(" hosts and "), "{whole:?}: {stderr}");
    let (mut parts, _) = run("parts", &before, "120");
    let first = hosts_of(&path("parts"));
    assert_eq!(fs::metadata(path("parts")).unwrap().permissions().mode() & 0o777, 0o600);
    let (rest, stderr) = run("parts", &after, "120");
    assert!(stderr.contains(" hosts and ") && stderr.contains(", written 20"), "{stderr}");
    parts.extend(rest);
    assert_eq!(parts, whole);
    let hosts = hosts_of(&path("parts"));
    assert_eq!(hosts, hosts_of(&path("whole")));
    assert!(first != hosts);

    // Another version, and damage: kept aside.
    let text = fs::read_to_string(path("parts")).unwrap();
    for (text, reason, aside) in [
        (
            text.replacen("_state\":3", "_state\":9", 1),
            "version 9 of the format; this program reads version 3",
            "parts.unread",
        ),
        (text.chars().take(text.len() / 2).collect(), "damaged", "parts.unread.1"),
    ] {
        fs::write(path("parts"), &text).unwrap();
        let spool = format!("file:{}", path("spool").display());
        let (status, stderr) = live(&["--check", "-i", &spool, "--state", path("parts").to_str().unwrap()]);
        assert!(status == 0 && stderr.contains(reason), "{status}: {stderr}");
        let (_, stderr) = run("parts", &before, "120");
        assert!(stderr.contains(reason) && stderr.contains("starts without hosts"), "{stderr}");
        assert_eq!(fs::read_to_string(path(aside)).unwrap(), text);
        assert_eq!(hosts_of(&path("parts")), first);
    }
    let (status, stderr) = live(&["--check", "-i", "file:/", "--state", "/"]);
    assert!(status == 2 && stderr.contains("--state needs a regular file"), "{status}: {stderr}");

    // A second sensor would replace the hosts of the first one.
    let (spool, state) = (format!("file:{}", path("spool").display()), path("parts"));
    let args = ["-i", &spool, "-o", "/dev/null", "--state", state.to_str().unwrap()];
    let mut first = Watched::start(folder.path(), &args);
    let (status, stderr) = live(&args);
    assert!(status == 2 && stderr.contains("another huginn-net uses this state"), "{status}: {stderr}");
    assert!(live(&[&["--check"], &args[..]].concat()).0 == 0, "a check takes no lock");
    assert!(terminate(&mut first.child).0.success());
}

#[test]
fn doctor_says_what_is_wrong_and_needs_no_rights() {
    let folder = tempfile::tempdir().unwrap();
    let doctor = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
        let output = command.args(["doctor", "--format", "json"]).args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let rows: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let is_wrong = rows.iter().any(|row| row["state"] == "wrong");
        assert_eq!(output.status.code(), Some(i32::from(is_wrong)), "{text}");
        rows
    };
    let state = |rows: &[serde_json::Value], check: &str| {
        rows.iter().find(|row| row["check"] == check).map(|row| row["state"].clone()).unwrap()
    };
    let absent = folder.path().join("absent/events.json");
    let rows = doctor(&["-i", "lo", "-o", absent.to_str().unwrap()]);
    assert_eq!((state(&rows, "link"), state(&rows, "disk")), ("ok".into(), "wrong".into()));
    let fix = rows.iter().find(|row| row["check"] == "disk").unwrap()["fix"].as_str().unwrap();
    assert_eq!(fix, format!("sudo mkdir -p '{}'", absent.parent().unwrap().display()));
    for check in ["rights", "kernel", "Landlock", "offload", "ring", "clock", "UDP buffer", "open files"] {
        state(&rows, check);
    }
    assert_eq!(state(&doctor(&["-i", "nonexistent0"]), "interface"), "wrong");
    let of_patterns = doctor(&["-i", "any", "-i", "!nonexistent*", "-i", "lo"]);
    let row = of_patterns.iter().find(|row| row["check"] == "interfaces").unwrap();
    assert_eq!((row["state"].as_str(), row["of"].as_str()), (Some("ok"), Some("any !nonexistent* lo")));
    assert!(row["found"].as_str().unwrap().starts_with("now lo"), "{row}");
    assert_eq!(state(&doctor(&["-i", "nonexistent*"]), "interfaces"), "note");
    assert!(state(&rows, "Landlock") != "unknown");
    let config = folder.path().join("live.toml");
    let text = format!("interface = ['lo']\n[[output]]\noutput = '{}'\n", absent.display());
    fs::write(&config, text).unwrap();
    assert_eq!(doctor(&["--config", config.to_str().unwrap()]), rows, "as with these options");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let directory = folder.path().display().to_string();
    // The ports of VXLAN; another program may have one.
    let port =
        [48879, 8472, 4789].into_iter().find(|port| UdpSocket::bind(("127.0.0.9", *port)).is_ok()).unwrap();
    for (input, wanted, text) in [
        (format!("udp:127.0.0.9:{port}"), "ok", "can be opened"),
        ("udp:53".to_owned(), "wrong", "53 is not the port of a tunnel"),
        (format!("tcp:{}", server.local_addr().unwrap()), "ok", "can be opened"),
        ("tcp:127.0.0.1:9".to_owned(), "wrong", "Connection refused"),
        (format!("file:{directory}"), "ok", "can be opened"),
        (format!("file:{directory}/absent"), "wrong", "No such file or directory"),
    ] {
        let rows = doctor(&["-i", &input]);
        let row = rows.iter().find(|row| row["check"] == "input").unwrap();
        assert_eq!((row["state"].as_str(), row["of"].as_str()), (Some(wanted), Some(&*input)), "{row}");
        assert!(row["found"].as_str().unwrap().contains(text), "{row}");
    }
    fs::write(folder.path().join("file"), "").unwrap();
    for (output, check, text) in [
        ("unix:/run/x".to_owned(), None, ""),
        ("tcp:127.0.0.1:9".to_owned(), None, ""),
        ("syslog:udp:127.0.0.1:514".to_owned(), None, ""),
        ("-".to_owned(), None, ""),
        ("/dev/null".to_owned(), None, ""),
        ("tcp:nowhere".to_owned(), Some("output"), "expected tcp:HOST:PORT"),
        (directory.clone(), Some("output"), "is a directory"),
        (format!("{directory}/file/x"), Some("disk"), "file is not a directory"),
    ] {
        let rows = doctor(&["-i", "lo", "-o", &output]);
        let found = rows.iter().find(|row| ["disk", "output"].contains(&row["check"].as_str().unwrap()));
        assert_eq!(found.and_then(|row| row["check"].as_str()), check, "{output}");
        if let Some(row) = found {
            assert_eq!(row["state"], "wrong", "{row}");
            assert!(row["found"].as_str().unwrap().contains(text), "{row}");
        }
    }
}

/// The frames of a capture.
#[test]
fn doctor_sends_a_test_alert_through_each_output() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let syslog = UdpSocket::bind("127.0.0.1:0").unwrap();
    syslog.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (tcp, udp) = (collector.local_addr().unwrap(), syslog.local_addr().unwrap());
    let formats = ["human", "json", "eve", "zeek", "ecs", "ocsf"];
    let mut text = format!("interface = 'lo'\nsensor-name = 'berlin-1'\nfingerprints = ['{place}/list']\n");
    for format in formats {
        text.push_str(&format!("[[output]]\noutput = '{place}/{format}'\nformat = '{format}'\n"));
    }
    for options in [
        format!("'tcp:{tcp}'\nformat = 'json'\nevents = ['match']"),
        format!("'syslog:udp:{udp}'\nformat = 'json'"),
        format!("'{place}/others'\nformat = 'json'\nwhere = \"event == 'tcp_syn'\""),
        format!("'{place}/p0f'\nformat = 'p0f'"),
        format!("'unix:{place}/nobody'\nformat = 'json'"),
        format!("'{place}/absent/events'\nformat = 'json'"),
    ] {
        text.push_str(&format!("[[output]]\noutput = {options}\n"));
    }
    let config = folder.path().join("live.toml");
    fs::write(&config, text).unwrap();
    let received = thread::spawn(move || text_of_connection(&collector));
    let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args(["doctor", "--test-alert", "--format", "json", "--config", config.to_str().unwrap()])
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    let rows: Vec<serde_json::Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().all(|row| row["check"] == "test alert"), "{stdout}");
    let states: Vec<&str> = rows.iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, [&["ok"; 8][..], &["note", "note", "wrong", "wrong"]].concat(), "{stdout}");
    for (row, reason) in rows.iter().rev().zip(["No such file or directory", "No such file or directory"]) {
        assert!(row["found"].as_str().unwrap().starts_with(reason), "{row}");
    }
    let mark = "test of huginn-net doctor";
    for format in formats {
        let text = fs::read_to_string(folder.path().join(format)).unwrap();
        assert!(text.lines().count() == 1 && text.contains(mark), "{format}: {text}");
        assert_eq!(text.contains("berlin-1"), format != "human", "{format}: {text}");
    }
    assert_eq!(lines(&folder.path().join("others")), 0);
    let mut datagram = [0; 10_000];
    let length = syslog.recv(&mut datagram).unwrap();
    for text in [&*received.join().unwrap(), str::from_utf8(&datagram[..length]).unwrap()] {
        assert!(text.contains(mark), "{text}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args(["doctor", "--test-alert", "-o", &format!("{place}/typed")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(fs::read_to_string(folder.path().join("typed")).unwrap().contains(mark));
}

fn frames(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.read_frame().unwrap() {
        frames.push(frame.data.to_vec());
    }
    frames
}

/// A ClientHello with a terminal escape in its server name, which is not part of JA4.
fn hello_with_escape() -> Vec<u8> {
    let mut hello = include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin").to_vec();
    let name = huginn_net::tls::ClientHello::from_records(&hello).unwrap().unwrap().value;
    let name = name.server_name().unwrap().to_vec();
    let at = hello.windows(name.len()).position(|bytes| bytes == name).unwrap();
    hello[at] = 0x1b;
    hello
}

#[test]
#[ignore = "needs root"]
fn matches_are_counted_and_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (list, stderr) = (folder.path().join("list.csv"), folder.path().join("stderr"));
    let hello = hello_with_escape();
    let ja4_stable = huginn_net::tls::ClientHello::from_records(&hello).unwrap().unwrap().value.ja4_stable();
    fs::write(&list, format!("ja4,label,watch\n{ja4_stable},\"bad\u{1b} one\",yes\n{ja4_stable},quiet,no\n"))
        .unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, port) = (server.local_addr().unwrap(), server.local_addr().unwrap().port().to_string());
    for workers in ["1", "2"] {
        let file = folder.path().join(workers);
        let packets_folder = tempfile::tempdir().unwrap();
        let packets = packets_folder.path().join("packets.pcapng");
        let mut child = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .args(["live", "-i", "lo", "--format", "json", "-q", "--stats", "--no-sandbox", "-w", workers])
            .args(["--port", &port, "-o", file.to_str().unwrap(), "--fingerprints", list.to_str().unwrap()])
            .args(["--extract", packets.to_str().unwrap()])
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let clients = || {
            let events = fs::read_to_string(&file).unwrap_or_default();
            events
                .lines()
                .filter(|line| line.contains(r#""event":"tls_client""#))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let start_time = Instant::now();
        while clients().len() < 3 {
            assert!(start_time.elapsed() < Duration::from_secs(20));
            TcpStream::connect(address).unwrap().write_all(&hello).unwrap();
            drop(server.accept().unwrap());
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(terminate(&mut child).0.code(), Some(3));
        let events = clients();
        let listed = r#""listed":[{"label":"bad\u001b one","watch":true},{"label":"quiet","watch":false}]"#;
        assert!(events.iter().all(|event| event.contains(listed)), "{events:?}");
        let stderr = fs::read_to_string(&stderr).unwrap();
        assert!(!stderr.contains('\x1b'), "{stderr}");
        let lines: Vec<&str> = stderr.lines().collect();
        let [first, rest, counters] = lines[..] else { panic!("{stderr}") };
        let severity = first.split(' ').nth(2).unwrap();
        assert!(first.starts_with("huginn-net: 20") && ["medium", "high"].contains(&severity), "{first}");
        assert!(first.contains(&format!("Z {severity} match: 127.0.0.1:")), "{first}");
        assert!(first.contains(&format!(" -> {address} (\\x1b")), "{first}");
        let reason = format!(r"): watched ja4_stable {ja4_stable}, bad\x1b one, list {}", list.display());
        assert!(first.contains(&reason), "{first}");
        let more = format!("huginn-net: {} more alerts without a line", events.len() - 1);
        assert_eq!(rest, more.replace(" 1 more alerts", " 1 more alert"));
        let alerts = r#""match":{"high":0,"low":0,"medium":0}"#;
        let alerts =
            alerts.replace(&format!(r#""{severity}":0"#), &format!(r#""{severity}":{}"#, events.len()));
        assert!(counters.contains(&alerts), "{counters}");
        let counted =
            format!(r#""watch_lists":{{"{}":{{"entries":2,"matches":{}}}}}"#, list.display(), events.len());
        assert!(counters.contains(&counted), "{counters}");
        assert!(counters.ends_with(r#","blind_spots":[]}"#), "{counters}");
        let mut written = fs::read_dir(packets_folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let (Some(written), None) = (written.next(), written.next()) else { panic!("one file of packets") };
        let extracted = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .args(["pcap", "-q", "--events", "tls_client", "--format", "tsv", "--fields", "server.port,ja4"])
            .arg(written)
            .output()
            .unwrap();
        let extracted = String::from_utf8(extracted.stdout).unwrap();
        assert_eq!(extracted.matches(&format!("\n{port}\t")).count(), events.len(), "{extracted}");
    }
}

/// A capture whose standard error is a file.
struct Watched {
    child: Child,
    stderr: PathBuf,
}

impl Drop for Watched {
    /// Ends the program of a test that failed.
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Watched {
    /// Starts `huginn-net live` and waits until it captures.
    fn start(folder: &Path, args: &[&str]) -> Self {
        let stderr = folder.join("stderr");
        let child = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .arg("live")
            .args(args)
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let watched = Self { child, stderr };
        watched.wait_for("watching ");
        watched
    }

    /// Sends SIGHUP.
    fn hang_up(&self) {
        assert!(
            Command::new("kill").args(["-HUP", &self.child.id().to_string()]).status().unwrap().success()
        );
    }

    /// Sends SIGHUP, and waits for a message.
    fn reload(&self, message: &str) {
        let before = self.messages().matches(message).count();
        self.hang_up();
        self.wait_until(message, || self.messages().matches(message).count() > before);
    }

    fn wait_for(&self, message: &str) {
        self.wait_until(message, || self.messages().contains(message));
    }

    fn wait_until(&self, what: &str, mut is_true: impl FnMut() -> bool) {
        let start_time = Instant::now();
        while !is_true() {
            assert!(start_time.elapsed() < Duration::from_secs(20), "{what}: {}", self.messages());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn messages(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }
}

#[test]
#[ignore = "needs root"]
fn sighup_reads_watch_lists_again() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.txt");
    fs::write(&list, "203.0.113.9\n").unwrap();
    let args = ["-i", "lo", "-o", "/dev/null", "--fingerprints", list.to_str().unwrap()];
    let mut watched = Watched::start(folder.path(), &args);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    fs::write(&list, "not a value\n").unwrap();
    watched.reload("; the watch lists stay as they were");
    watched.wait_for("list.txt: line 1: 'not a value' is not a value of a known type");
    fs::write(&list, "127.0.0.1\n").unwrap();
    watched.reload("watch lists read again in ");
    drop(TcpStream::connect(server.local_addr().unwrap()).unwrap());
    watched.wait_for(": watched ip 127.0.0.1, list ");
    assert_eq!(terminate(&mut watched.child).0.code(), Some(3));
}

#[test]
#[ignore = "needs root"]
fn sighup_reads_configuration_and_databases_again() {
    let folder = tempfile::tempdir().unwrap();
    let [config, database, events] =
        ["live.toml", "p0f.fp", "events.json"].map(|name| folder.path().join(name));
    let signatures = |name: &str| {
        format!(
            "classes = unix\n[tcp:request]\nlabel = s:unix:{name}:any\nsig = *:64:0:*:*,*:mss,sok,ts,nop,ws:df,id+:0\n"
        )
    };
    let options = |port: u16, others: &str| {
        let (database, events) = (database.display(), events.display());
        format!(
            "interface = 'lo'\nformat = 'json'\nstats = true\ndb = '{database}'\noutput = '{events}'\nport = {port}\n{others}"
        )
    };
    let servers = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = [0, 1].map(|index: usize| servers[index].local_addr().unwrap().port());
    fs::write(&database, signatures("First")).unwrap();
    fs::write(&config, options(ports[0], "")).unwrap();
    for workers in ["1", "2"] {
        fs::write(&database, signatures("First")).unwrap();
        fs::write(&config, options(ports[0], "")).unwrap();
        let args = ["--config", config.to_str().unwrap(), "-w", workers, "--events", "tcp_syn"];
        let mut watched = Watched::start(folder.path(), &args);
        // Returns the name of the system of the next client, of the first server that has events.
        let next = || {
            fs::write(&events, "").unwrap();
            let found = || fs::read_to_string(&events).unwrap();
            watched.wait_until("an event", || {
                for port in ports {
                    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
                }
                thread::sleep(Duration::from_millis(30));
                found().ends_with('\n')
            });
            let text = found();
            let event: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            let server = event["server"]["port"].as_u64().unwrap();
            (server, event["label"]["name"].as_str().unwrap_or_default().to_owned(), event.to_string())
        };
        let expect = |port: u16, name: &str| {
            let (server, found, event) = next();
            assert_eq!((server, &*found), (u64::from(port), name), "{workers}: {event}");
        };
        expect(ports[0], "First");
        fs::write(&database, "no signature\n").unwrap();
        watched.reload("; the databases stay as they were");
        expect(ports[0], "First");
        fs::write(&database, signatures("Second")).unwrap();
        watched.reload("databases read again in ");
        expect(ports[0], "Second");
        fs::write(&config, options(ports[1], "where = \"label.name == 'Second'\"\n")).unwrap();
        watched.reload("configuration read again: changed 'port', 'where'");
        expect(ports[1], "Second");
        // Options that are used together, or not at all.
        fs::write(&database, "no signature\n").unwrap();
        fs::write(&config, options(ports[0], "")).unwrap();
        watched.reload("huginn-net: the configuration stays as it was");
        expect(ports[1], "Second");
        for (text, reason) in [
            (
                "metrics = '127.0.0.1:0'\n",
                "'metrics' can change at a restart only; the configuration stays as it was",
            ),
            (
                "prot = 1\n",
                "live.toml: line 7: no option \"prot\": did you mean 'port'?; the configuration stays",
            ),
        ] {
            fs::write(&config, options(ports[0], text)).unwrap();
            watched.reload(reason);
        }
        fs::write(&database, signatures("Third")).unwrap();
        fs::write(&config, options(ports[0], "fields = ['server.port', 'label.name']\n")).unwrap();
        watched.reload("configuration read again: changed 'fields', 'port', 'where'");
        watched.wait_until("an event with two fields", || {
            drop(TcpStream::connect(("127.0.0.1", ports[0])).unwrap());
            let last = format!("{{\"server.port\":{},\"label.name\":\"Third\"}}\n", ports[0]);
            fs::read_to_string(&events).unwrap().ends_with(&last)
        });
        assert!(terminate(&mut watched.child).0.success());
        let counters = r#""reloads":{"configuration":{"done":4,"failed":3},"databases":{"done":3,"failed":4},"watch_lists":{"done":0,"failed":0}}"#;
        assert!(watched.messages().contains(counters), "{}", watched.messages());
    }
}

/// Runs `huginn-net reload` or `status`. Returns the exit status, standard output and standard error.
fn ask_sensor(request: &str, socket: &Path) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args([request, "--control", socket.to_str().unwrap()])
        .output()
        .unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), stdout, stderr)
}

#[test]
fn reload_waits_for_its_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let [config, spool, socket, list] =
        ["live.toml", "spool", "control.sock", "list.txt"].map(|name| folder.path().join(name));
    fs::create_dir(&spool).unwrap();
    let write = |options: &str| {
        let (spool, socket, list) = (spool.display(), socket.display(), list.display());
        let text = format!(
            "interface = 'file:{spool}'\noutput = '/dev/null'\nfingerprints = ['{list}']\ncontrol = '{socket}'\n{options}"
        );
        fs::write(&config, text).unwrap();
    };
    write("");
    fs::write(&list, "203.0.113.9\n").unwrap();
    let mut watched = Watched::start(folder.path(), &["--config", config.to_str().unwrap()]);
    let done = |stdout: &str| (Some(0), stdout.to_owned(), String::new());
    let failed = |stderr: String| (Some(1), String::new(), stderr);
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    watched.wait_until("status", || ask_sensor("status", &socket) == done("capturing\n"));
    assert_eq!(ask_sensor("reload", &socket), done(""));
    let stays = "the configuration stays as it was\n";
    for (options, reason) in [
        ("prot = 1\n", format!("{}: line 5: no option \"prot\": did you mean 'port'?", config.display())),
        ("metrics = '127.0.0.1:0'\n", "'metrics' can change at a restart only".to_owned()),
    ] {
        write(options);
        assert_eq!(ask_sensor("reload", &socket), failed(format!("huginn-net: {reason}; {stays}")));
    }
    // Each reason has a line, as on the standard error of the sensor.
    fs::write(&list, "not a value\n").unwrap();
    write("port = 9\n");
    let (status, stdout, stderr) = ask_sensor("reload", &socket);
    assert_eq!((status, &*stdout), (Some(1), ""));
    let of_list =
        format!("huginn-net: {}: line 1: 'not a value' is not a value of a known type", list.display());
    let of_all = format!("; the watch lists stay as they were\nhuginn-net: {stays}");
    assert!(stderr.starts_with(&of_list) && stderr.ends_with(&of_all), "{stderr}");
    assert!(watched.messages().contains(&stderr), "{}", watched.messages());
    fs::write(&list, "203.0.113.10\n").unwrap();
    assert_eq!(ask_sensor("reload", &socket), done(""));
    watched.wait_for("configuration read again: changed 'port'");
    assert!(terminate(&mut watched.child).0.success());
    let (status, _, stderr) = ask_sensor("reload", &socket);
    assert_eq!(status, Some(1));
    let advice = format!("a sensor answers here if it runs with 'live --control {}'", socket.display());
    assert!(stderr.contains(&advice), "{stderr}");
}

#[test]
#[ignore = "needs root"]
fn once_leaves_out_repeated_fingerprints_of_a_host() {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events.json");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    for workers in ["1", "2"] {
        fs::write(&events, "").unwrap();
        let output = [
            "--format",
            "json",
            "-o",
            events.to_str().unwrap(),
            "--sensor-name",
            "s",
            "--stats",
            "-w",
            workers,
        ];
        let args =
            ["-i", "lo", "--port", &port, "--once", "1h", "--connections", "--events", "tcp_syn,connection"];
        let mut watched = Watched::start(folder.path(), &[&args[..], &output].concat());
        for _ in 0..5 {
            drop(TcpStream::connect(server.local_addr().unwrap()).unwrap());
            drop(server.accept().unwrap());
        }
        let count = |event: &str| {
            let text = fs::read_to_string(&events).unwrap();
            assert!(text.lines().all(|line| line.ends_with(r#","sensor":"s"}"#)), "{text}");
            text.lines().filter(|line| line.contains(&format!(r#""event":"{event}""#))).count()
        };
        watched.wait_until("a SYN", || count("tcp_syn") == 1);
        // Connections are reported at the end; the packets of all have arrived.
        thread::sleep(Duration::from_secs(1));
        assert!(terminate(&mut watched.child).0.success());
        assert_eq!((count("tcp_syn"), count("connection")), (1, 5));
        let counters = r#""repeats":{"left_out":4,"forgotten":0}}}"#;
        assert!(watched.messages().contains(counters), "{}", watched.messages());
    }
}

/// The output of `huginn-net pcap` for a capture.
fn of_file(capture: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args(["pcap", "-q"])
        .args(args)
        .arg(capture)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn outputs_do_not_wait_for_a_dead_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let capture = captures::path("tls-curl.pcap");
    let spool = spool_of(folder.path(), &capture);
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let syslog = UdpSocket::bind("127.0.0.1:0").unwrap();
    syslog.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (tcp, udp) = (collector.local_addr().unwrap(), syslog.local_addr().unwrap());
    let config = format!(
        "interface = 'file:{}'\ncount = {}\nstats = true\nformat = 'json'\nwhere = \"sni != null\"\n\
         [[output]]\noutput = '{}'\nwhere = \"event != null\"\n\
         [[output]]\noutput = '{}'\nformat = 'eve'\n\
         [[output]]\noutput = '{}'\nrotate-size = '1G'\nwhere = \"event != null\"\n\
         [[output]]\noutput = 'tcp:{tcp}'\nfields = ['ts', 'sni']\n\
         [[output]]\noutput = 'syslog:udp:{udp}'\nevents = ['tls_client']\n\
         [[output]]\noutput = 'unix:{}'\nonce = '1h'\n\
         [[output]]\nformat = 'p0f'\nwhere = \"event != null\"\n",
        spool.display(),
        frames(&capture).len(),
        path("all.json"),
        path("eve.json"),
        path("all.json.gz"),
        path("nobody"),
    );
    fs::write(path("live.toml"), config).unwrap();
    let received = thread::spawn(move || text_of_connection(&collector));
    for workers in ["1", "2"] {
        let _ = (
            fs::remove_file(path("all.json")),
            fs::remove_file(path("eve.json")),
            fs::remove_file(path("all.json.gz")),
        );
        if workers == "2" {
            // One connection is enough.
            let text =
                fs::read_to_string(path("live.toml")).unwrap().replace(&format!("tcp:{tcp}"), "/dev/null");
            fs::write(path("live.toml"), text).unwrap();
        }
        let began = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .args(["live", "-w", workers, "--config", &path("live.toml")])
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(began.elapsed() < Duration::from_secs(10), "{stderr}");
        let all = of_file(&capture, &["--format", "json"]);
        let named = ["--where", "sni != null"];
        assert_eq!(fs::read_to_string(path("all.json")).unwrap(), all, "{stderr}");
        let eve = of_file(&capture, &[&["--format", "eve"][..], &named].concat());
        // Live, the formats of other tools always name the interface.
        let interface = format!("\"in_iface\":\"file:{}\",", spool.display());
        let live_eve = fs::read_to_string(path("eve.json")).unwrap();
        assert_eq!(live_eve.matches(&interface).count(), eve.lines().count());
        assert_eq!(live_eve.replace(&interface, ""), eve);
        let zcat = Command::new("zcat").arg(path("all.json.gz")).output().unwrap();
        assert_eq!(String::from_utf8(zcat.stdout).unwrap(), all);
        let p0f = of_file(&capture, &["--format", "p0f"]);
        assert!(!p0f.is_empty());
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), p0f.lines().count());
        let clients =
            of_file(&capture, &["--format", "json", "--where", "sni != null", "--events", "tls_client"]);
        for client in clients.lines() {
            let mut datagram = [0; 10_000];
            let length = syslog.recv(&mut datagram).unwrap();
            let message = str::from_utf8(&datagram[..length]).unwrap();
            assert!(
                message.starts_with("<134>1 20") && message.ends_with(&format!(" tls_client - {client}")),
                "{message}"
            );
        }
        // Lines without a reader are lost.
        let counters = stderr.lines().find(|line| line.starts_with("{\"ts\"")).unwrap();
        let counters: serde_json::Value = serde_json::from_str(counters).unwrap();
        let lost = counters["outputs"][format!("unix:{}", path("nobody"))]["dropped_lines"].as_u64().unwrap();
        assert!(lost > 0 && counters["output"]["dropped_lines"] == lost, "{counters}");
        assert_eq!(counters["outputs"][path("all.json")]["written_lines"], all.lines().count());
        // A handshake and its MTU are two lines of p0f, and one event.
        let p0f_events = p0f.lines().filter(|line| !line.contains("mod=mtu"));
        assert_eq!(counters["outputs"]["stdout"]["written_lines"], p0f_events.count());
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!(" of unix:{}: could not write", path("nobody"))), "{stderr}");
    }
    let fields = of_file(&capture, &["--format", "json", "--where", "sni != null", "--fields", "ts,sni"]);
    assert_eq!(received.join().unwrap(), fields);
}

/// A finding that goes on is known by its alert: the analysis itself starts again.
#[test]
fn finding_of_an_earlier_run_is_an_update_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let capture = captures::path("http-imitation.pcap");
    let spool = spool_of(folder.path(), &capture);
    let (spool, count) = (format!("file:{}", spool.display()), frames(&capture).len().to_string());
    let run = |name: &str| {
        let (events, state) = (path(name), path("state"));
        let output = ["--format", "json", "-o", &events, "--events", "finding", "--fields", "id,update"];
        let source = ["-i", &spool, "-c", &count, "--findings", "--state", &state];
        let (status, stderr) = live(&[&source[..], &output].concat());
        assert_eq!(status, 0, "{stderr}");
        (fs::read_to_string(events).unwrap(), stderr)
    };
    let (first, stderr) = run("first");
    assert!(first.contains(r#","update":false}"#) && stderr.contains(" imitation: "), "{first}: {stderr}");
    let (second, stderr) = run("second");
    assert_eq!(second, first.replace("false", "true"));
    assert!(!stderr.contains("imitation") && !stderr.contains("without a line"), "{stderr}");
}

/// A host says of the last datagram that nothing listens once it has arrived.
#[test]
fn refused_datagrams_are_lost_events() {
    let folder = tempfile::tempdir().unwrap();
    let capture = captures::path("tls-curl.pcap");
    fs::copy(&capture, folder.path().join("1.pcap")).unwrap();
    // A port that was free a moment ago.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let spool = format!("file:{}", folder.path().display());
    let (output, count) = (format!("syslog:udp:127.0.0.1:{port}"), frames(&capture).len().to_string());
    let (status, stderr) = live(&["-i", &spool, "-c", &count, "--format", "json", "-o", &output]);
    assert!(status == 1 && !stderr.contains("nothing was lost"), "{status}: {stderr}");
    assert!(stderr.contains(" could not be written") && stderr.contains("huginn-net: lost "), "{stderr}");
}

/// Rows of Zeek's logs without their comments.
fn zeek_rows(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn zeek_logs_of_live_traffic_are_those_of_captures() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let capture = captures::path("tls-curl.pcap");
    for name in ["spool", "zeek", "of-file"] {
        fs::create_dir(path(name)).unwrap();
    }
    fs::copy(&capture, path("spool").join("1.pcap")).unwrap();
    let form = ["--format", "zeek-tsv", "--zeek-dir"];
    of_file(&capture, &[&form[..], &[path("of-file").to_str().unwrap()]].concat());
    let (spool, count) = (format!("file:{}", path("spool").display()), frames(&capture).len().to_string());
    let zeek = path("zeek");
    for _ in 0..2 {
        let source = ["-i", &spool, "-c", &count, "--stats"];
        let (status, stderr) = live(&[&source[..], &form, &[zeek.to_str().unwrap()]].concat());
        assert_eq!(status, 0, "{stderr}");
        let counters = stderr.lines().find(|line| line.starts_with("{\"ts\"")).unwrap();
        let counters: serde_json::Value = serde_json::from_str(counters).unwrap();
        let of_output = &counters["outputs"][zeek.to_str().unwrap()];
        assert!(of_output["written_lines"].as_u64().unwrap() > 20, "{counters}");
        assert_eq!(of_output["dropped_lines"], 0);
    }
    for log in ["conn.log", "ssl.log", "huginn.log"] {
        let text = fs::read_to_string(zeek.join(log)).unwrap();
        assert!(
            text.starts_with("#separator") && text.lines().last().unwrap().starts_with("#close\t"),
            "{text}"
        );
        assert_eq!(zeek_rows(&zeek.join(log)), zeek_rows(&path("of-file").join(log)), "{log}");
    }
    // The second run kept the logs of the first one.
    let names = fs::read_dir(&zeek).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let earlier: Vec<String> = names.filter(|name| name.starts_with("conn.20")).collect();
    let [earlier] = &earlier[..] else { panic!("{earlier:?}") };
    assert_eq!(zeek_rows(&zeek.join(earlier)), zeek_rows(&zeek.join("conn.log")));

    for (args, reason) in [
        (&["--format", "json", "--zeek-dir", "x"][..], "--zeek-dir is for logs of Zeek"),
        (&["--format", "zeek-tsv"], "--zeek-dir"),
        (&["--format", "zeek", "--zeek-dir", "x", "-o", "y"], "--zeek-dir"),
        (&["--format", "zeek", "--zeek-dir", "x", "--statistics", "60s"], "--statistics is for"),
    ] {
        let (status, stderr) = live(&[&["-i", "lo"], args].concat());
        assert!(status == 2 && stderr.contains(reason), "{args:?}: {stderr}");
    }
    let absent = path("absent");
    let (status, stderr) = live(&["-i", &spool, "--format", "zeek", "--zeek-dir", absent.to_str().unwrap()]);
    assert!(status == 1 && stderr.contains("/absent: No such file"), "{status}: {stderr}");
}

#[test]
fn sighup_rotates_zeek_logs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["spool", "zeek"] {
        fs::create_dir(path(name)).unwrap();
    }
    fs::copy(captures::path("tls-curl.pcap"), path("spool").join("1.pcap")).unwrap();
    let (spool, zeek) = (format!("file:{}", path("spool").display()), path("zeek"));
    let args = ["-i", &spool, "--format", "zeek", "--zeek-dir", zeek.to_str().unwrap()];
    let mut watched = Watched::start(folder.path(), &args);
    let rotated = || {
        let names =
            fs::read_dir(&zeek).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("huginn.20")).count()
    };
    for number in [1, 2] {
        if number == 2 {
            fs::copy(captures::path("curl-nginx.pcap"), path("spool").join("2.pcap")).unwrap();
        }
        watched.wait_until("rows", || zeek.join("huginn.log").exists());
        watched.hang_up();
        watched.wait_until("rotated logs", || rotated() == number);
    }
    assert!(terminate(&mut watched.child).0.success());
    for entry in fs::read_dir(&zeek).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(text.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{text}");
    }
}

/// Each output counts its records from 1, those of the sensor among them. Selections do not concern these.
#[test]
fn records_of_the_sensor_are_numbered_among_events() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let capture = captures::path("tls-curl.pcap");
    let spool = spool_of(folder.path(), &capture);
    let counted = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = UnixDatagram::bind(path("log")).unwrap();
    local.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let formats = ["json", "eve", "zeek", "ecs", "ocsf"];
    let of_formats =
        formats.map(|name| format!("[[output]]\noutput = '{}'\nformat = '{name}'\n", path(name)));
    let config = format!(
        "interface = 'file:{}'\ncount = {}\nformat = 'json'\nstatistics = '1h'\n{}\
         [[output]]\noutput = '{}'\nevents = ['tls_client']\nfields = ['sni']\nsensor-name = 'a'\n\
         [[output]]\noutput = 'syslog:tcp:{}'\nevents = ['tls_client']\n\
         [[output]]\noutput = 'syslog:unix:{}'\nevents = ['tls_client']\n\
         [[output]]\noutput = '{}'\nformat = 'csv'\n",
        spool.display(),
        frames(&capture).len(),
        of_formats.concat(),
        path("fields"),
        counted.local_addr().unwrap(),
        path("log"),
        path("csv"),
    );
    fs::write(path("live.toml"), config).unwrap();
    let counted = thread::spawn(move || text_of_connection(&counted));
    let (status, stderr) = live(&["-w", "2", "--config", &path("live.toml")]);
    assert_eq!(status, 0, "{stderr}");
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let read = |name: &str| {
        fs::read_to_string(path(name)).unwrap().lines().map(json).collect::<Vec<serde_json::Value>>()
    };
    let events = of_file(&capture, &["--format", "json"]).lines().count();
    for (name, number, kind) in [
        ("json", "/seq", Some(("/event", "statistics"))),
        ("eve", "/huginn/seq", Some(("/event_type", "stats"))),
        ("zeek", "/huginn.seq", Some(("/_path", "stats"))),
        ("ecs", "/event/sequence", Some(("/event/kind", "metric"))),
        ("ocsf", "/metadata/sequence", None),
    ] {
        let records = read(name);
        assert_eq!(records.len(), events + usize::from(kind.is_some()), "{name}");
        let numbers: Vec<u64> =
            records.iter().map(|record| record.pointer(number).unwrap().as_u64().unwrap()).collect();
        assert!(numbers.iter().copied().eq(1..=records.len() as u64), "{name}: {numbers:?}");
        if let Some((field, value)) = kind {
            assert_eq!(records.last().unwrap().pointer(field).unwrap(), value);
        }
    }
    let json_records = read("json");
    let last = json_records.last().unwrap();
    assert_eq!(last["counters"]["frames"], frames(&capture).len());
    assert_eq!(last["interval"]["received"], frames(&capture).len());
    assert_eq!(read("eve").last().unwrap()["stats"]["decoder"]["pkts"], frames(&capture).len());
    assert!(fs::read_to_string(path("csv")).unwrap().lines().count() > 0);
    // Of each message, what follows its header.
    let clients = of_file(&capture, &["--format", "json", "--events", "tls_client"]).lines().count();
    let fields = read("fields");
    assert_eq!(fields.len(), clients + 1);
    assert!(fields[..clients].iter().all(|event| event.as_object().unwrap().len() == 3), "{fields:?}");
    assert_eq!((&fields[clients]["event"], &fields[clients]["sensor"]), (&"statistics".into(), &"a".into()));
    let mut rest = &*counted.join().unwrap();
    for number in 1..=clients + 1 {
        let (length, text) = rest.split_once(' ').unwrap();
        let (message, after) = text.split_at(length.parse().unwrap());
        rest = after;
        let kind = if number > clients { "statistics" } else { "tls_client" };
        assert!(message.starts_with("<134>1 20") && message.contains(&format!(" {kind} - {{")), "{message}");
        assert!(message.ends_with(&format!(",\"seq\":{number}}}")), "{message}");
        let mut datagram = vec![0; 100_000];
        let length = local.recv(&mut datagram).unwrap();
        let message = str::from_utf8(&datagram[..length]).unwrap();
        let (header, text) = message.split_once(": ").unwrap();
        assert!(header.starts_with("<134>huginn-net[") && header.ends_with(']'), "{message}");
        assert_eq!((&json(text)["event"], &json(text)["seq"]), (&kind.into(), &number.into()));
    }
    assert_eq!(rest, "");
}

#[test]
fn outputs_of_the_documentation_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let page = fs::read_to_string(captures::folder().join("../docs/operating.md")).unwrap();
    let mut blocks = page.split("```toml\n").skip(1).map(|block| block.split_once("```").unwrap().0);
    let text = blocks.find(|text| text.contains("[[output]]")).unwrap();
    let text = text.replace("[\"eth0\"]", &format!("'file:{place}'"));
    let text = text.replace("/var/log/huginn-net", place).replace("/etc/huginn-net", place);
    let [config, list] = ["live.toml", "watch.csv"].map(|name| folder.path().join(name));
    fs::write(&config, text).unwrap();
    fs::write(list, "192.0.2.1\n").unwrap();
    let (status, stderr) = live(&["--check", "--config", config.to_str().unwrap()]);
    assert!(status == 0 && stderr.contains("are good"), "{stderr}");
}

#[test]
fn sighup_adds_changes_and_removes_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let spool = folder.path().join("spool");
    fs::create_dir(&spool).unwrap();
    let write = |outputs: &str| {
        let text =
            format!("interface = 'file:{}'\nformat = 'json'\nstats = true\n{outputs}", spool.display());
        fs::write(path("live.toml"), text).unwrap();
    };
    let output = |name: &str, options: &str| format!("[[output]]\noutput = '{}'\n{options}\n", path(name));
    write(&(output("a", "") + &output("b", "")));
    let mut watched = Watched::start(folder.path(), &["--config", &path("live.toml")]);
    // Reads another capture, and returns what the outputs have of it.
    let mut number = 0;
    let mut lengths = [0, 0, 0];
    let mut next = |watched: &Watched, capture: &str, wanted: &[&str]| {
        number += 1;
        fs::copy(captures::path(capture), spool.join(format!("{number}.pcap"))).unwrap();
        let names = ["a", "b", "c"];
        let new = || {
            [0, 1, 2].map(|index| {
                let text = fs::read_to_string(path(names[index])).unwrap_or_default();
                text.get(lengths[index]..).unwrap_or_default().to_owned()
            })
        };
        // All events are there once no more come for a while.
        let (mut before, mut since) = (new(), Instant::now());
        watched.wait_until("events", || {
            let now = new();
            if now != before {
                (before, since) = (now, Instant::now());
            }
            let has_all =
                names.iter().zip(&before).all(|(name, text)| !wanted.contains(name) || !text.is_empty());
            has_all && since.elapsed() > Duration::from_millis(1500)
        });
        let new = before;
        for (length, text) in lengths.iter_mut().zip(&new) {
            *length += text.len();
        }
        new
    };
    let [a, b, _] = next(&watched, "tls-curl.pcap", &["a", "b"]);
    assert!(a.len() > 1000 && a == b);

    // An output is added, and one changes its form.
    write(&(output("a", "") + &output("b", "fields = ['event']") + &output("c", "format = 'eve'")));
    watched.reload("configuration read again: changed 'output'");
    let [a, b, c] = next(&watched, "curl-nginx.pcap", &["a", "b", "c"]);
    assert!(b.lines().all(|line| line.starts_with("{\"event\":\"")), "{b}");
    assert_eq!(a.lines().count(), b.lines().count());
    assert!(c.contains("\"event_type\""), "{c}");

    // What cannot be used changes nothing.
    for (outputs, reason) in [
        (output("c", "") + &output("no-such-folder/d", ""), "no-such-folder/d: "),
        (output("a", "") + &output("a", ""), "two outputs name "),
        (output("a", "") + "[[output]]\noutput = 'tcp:127.0.0.1:9'\n", "TCP port 9"),
        (output("a", "") + "[[output]]\noutput = 'tcp:x'\n", "tcp:x: expected tcp:HOST:PORT"),
        (output("a", "fields = ['sn']"), ": --fields: unknown field 'sn'"),
        (output("a", "") + "[[output]]\nformat = 'arrow'\n", ": line "),
    ] {
        write(&outputs);
        watched.reload("; the configuration stays as it was");
        watched.wait_for(reason);
    }
    let [a, b, c] = next(&watched, "ssh-openssh.pcap", &["a", "b", "c"]);
    assert!([a, b, c].iter().all(|text| !text.is_empty()));

    // Outputs are removed.
    write(&output("b", "fields = ['event']"));
    watched.reload("configuration read again: changed 'output'");
    let [a, b, c] = next(&watched, "ssh-go.pcap", &["b"]);
    assert!(a.is_empty() && !b.is_empty() && c.is_empty());
    assert!(terminate(&mut watched.child).0.success());
    let messages = watched.messages();
    let counters = messages.lines().rfind(|line| line.starts_with("{\"ts\"")).unwrap();
    let counters: serde_json::Value = serde_json::from_str(counters).unwrap();
    let names: Vec<&String> = counters["outputs"].as_object().unwrap().keys().collect();
    assert_eq!(names, [&path("b")]);
    let lines = ["a", "b", "c"].map(|name| lines(Path::new(&path(name))));
    assert_eq!(counters["output"]["written_lines"], lines.iter().sum::<usize>(), "removed ones count");
    assert_eq!(counters["reloads"]["configuration"], serde_json::json!({ "done": 2, "failed": 6 }));
}
