//! `huginn-net p0f`: p0f's command line.

use std::fs;
use std::process::{Command, Output};

use crate::captures;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

/// From p0f 3.09b, with this project's database: `p0f -f FILE -r curl-nginx.pcap`.
#[test]
fn blocks_equal_those_of_p0f() {
    let output = run(&["p0f", "-r", &capture("curl-nginx.pcap")]);
    assert!(output.status.success());
    let expected = "
.-[ 192.0.2.1/60544 -> 192.0.2.2/80 (syn) ]-
|
| client   = 192.0.2.1/60544
| os       = Linux 4.20 or newer
| dist     = 0
| params   = none
| raw_sig  = 4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws:df,id+:0
|
`----

.-[ 192.0.2.1/60544 -> 192.0.2.2/80 (mtu) ]-
|
| client   = 192.0.2.1/60544
| link     = Ethernet
| raw_mtu  = 1500
|
`----

.-[ 192.0.2.1/60544 -> 192.0.2.2/80 (syn+ack) ]-
|
| server   = 192.0.2.2/80
| os       = Linux 4.20 or newer
| dist     = 0
| params   = none
| raw_sig  = 4:64+0:0:1460:mss*45,10:mss,sok,ts,nop,ws:df:0
|
`----
";
    let found = text(&output.stdout);
    assert!(found.starts_with(expected), "{found}");
    assert!(found.contains("| app      = curl 7.43 or newer\n| lang     = none\n"), "{found}");
    assert!(found.ends_with("`----\n\n\nAll done. Processed 32 packets.\n"), "{found}");
}

#[test]
fn log_is_appended_and_equals_golden() {
    let log = format!("{}/p0f-command.log", env!("CARGO_TARGET_TMPDIR"));
    let _ = fs::remove_file(&log);
    let name = capture("curl-nginx.pcap");
    let golden = fs::read_to_string(name.replace(".pcap", ".p0f")).unwrap();
    for times in 1..=2 {
        let output = run(&["p0f", "-o", &log, "-r", &name]);
        assert!(output.status.success() && text(&output.stdout).contains(".-[ "));
        assert_eq!(fs::read_to_string(&log).unwrap(), golden.repeat(times));
    }
}

#[test]
fn limits_reach_the_tables() {
    let name = capture("hosts-uptime.pcap");
    let count = |args: &[&str]| text(&run(args).stdout).matches("(uptime) ]-").count();
    let all = count(&["p0f", "-r", &name]);
    assert!(all > 0);
    assert!(count(&["p0f", "-m", "1,1", "-r", &name]) < all);
    assert_eq!(count(&["p0f", "-m", "1000,10000", "-t", "300,120", "-r", &name]), all);
}

#[test]
fn refused_command_lines_name_the_reason() {
    let name = capture("curl-nginx.pcap");
    for (args, status, reason) in [
        (&["-r", &*name, "-i", "lo"][..], 2, "'-r <FILE>' cannot be used with '-i <IFACE>'"),
        (&["-r", &name, "-p"], 2, "cannot be used with '-p'"),
        (&["-r", &name, "-s", "/nowhere/s"], 2, "cannot be used with '-s <PATH>'"),
        (&["-r", &name, "-d", "-o", "log"], 2, "cannot be used with '-d'"),
        (&["-i", "lo", "-d"], 2, "<-o <FILE>|-s <PATH>>"),
        (&["-i", "lo", "-S", "5"], 2, "-s <PATH>"),
        (&["-r", &name, "-t", "0,1"], 2, "expected two positive numbers"),
        (&["-r", &name, "-m", "5"], 2, "expected two positive numbers"),
        (&["-r", "/nowhere/x.pcap"], 1, "/nowhere/x.pcap: "),
        (&["-f", "/nowhere/p0f.fp", "-r", &name], 2, "/nowhere/p0f.fp: "),
        (&["-Q"], 2, "unexpected argument '-Q'"),
    ] {
        let output = run(&[&["p0f"], args].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {message}");
        assert!(message.contains(reason), "{args:?}: {message}");
    }
}

#[test]
fn options_of_other_programs_get_hints() {
    let name = capture("curl-nginx.pcap");
    for (args, hint) in [
        (&["pcap", "-r", &*name][..], "'huginn-net pcap FILE'"),
        (&["pcap", "-f", "p0f.fp", &name], "'--db FILE'"),
        (&["live", "-i", "lo", "-f", "p0f.fp"], "'--db FILE'"),
        (&["pcap", "-T", "fields", &name], "'--format json'"),
        (&["pcap", "-w", "out.pcap", &name], "number of worker threads"),
        (&["pcap", "-n", &name], "never resolved"),
        (&["live", "-L"], "'huginn-net interfaces'"),
    ] {
        let output = run(args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(message.lines().last().unwrap().contains(hint), "{args:?}: {message}");
    }
    let other = run(&["pcap", "--frobnicate"]);
    assert!(!text(&other.stderr).contains("huginn-net: "), "{}", text(&other.stderr));
}

/// Ends the program in the background, also after a failed assertion.
#[cfg(target_os = "linux")]
struct Daemon(String);

#[cfg(target_os = "linux")]
impl Drop for Daemon {
    fn drop(&mut self) {
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&line).contains(&self.0) {
                let pid = process.file_name().into_string().unwrap();
                Command::new("kill").arg(pid).status().unwrap();
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs root"]
fn daemon_writes_log_of_interface() {
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    let log = format!("{}/p0f-daemon.log", env!("CARGO_TARGET_TMPDIR"));
    let _ = fs::remove_file(&log);
    let _daemon = Daemon(log.clone());
    let output = run(&["p0f", "-pdo", &log, "-i", "lo"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let wanted = format!("srv=127.0.0.1/{}|subj=cli|os=Linux", server.local_addr().unwrap().port());
    let _client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while !fs::read_to_string(&log).unwrap_or_default().contains(&wanted) {
        assert!(Instant::now() < end, "{:?}", fs::read_to_string(&log));
        std::thread::sleep(Duration::from_millis(50));
    }
    let failed = run(&["p0f", "-d", "-o", &log, "-i", "nosuch"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("nosuch"), "{}", text(&failed.stderr));
}

#[test]
fn user_without_effect_on_files_is_reported() {
    let output = run(&["p0f", "-u", "nobody", "-r", &capture("curl-nginx.pcap")]);
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "huginn-net: -u has no effect on files: no privileges are needed\n");
    assert!(text(&output.stdout).contains("(syn)"));
}
