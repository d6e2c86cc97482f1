use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::thread;

use tempfile::tempdir;

use super::*;

/// Environment variable of the child tests: the folder in which they may still write.
const FOLDER: &str = "HUGINN_NET_TEST_FOLDER";
/// Environment variable of the child tests: the user to run as.
const USER: &str = "HUGINN_NET_TEST_USER";
const NOBODY: u32 = 65_534;

/// Runs a test of this file in a child process, because privileges cannot be regained.
fn run_in_child_process(test: &str, folder: &Path, user: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            &format!("privileges::tests::{test}"),
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .envs([(FOLDER, folder.as_os_str()), (USER, OsStr::new(user))])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Parses `/proc/thread-self/status`, which lists the credentials of the calling thread, into values by name.
fn status() -> BTreeMap<String, String> {
    let text = fs::read_to_string("/proc/thread-self/status").unwrap();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect()
}

fn is_denied<T>(outcome: io::Result<T>) -> bool {
    outcome.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

#[test]
#[ignore = "needs root"]
fn unprivileged_user_writes_to_allowed_paths() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    // The unprivileged user must be able to enter the folder.
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(folder.join("log")).unwrap();
    fs::create_dir(folder.join("other")).unwrap();
    fs::create_dir(folder.join("run")).unwrap();
    fs::write(folder.join("run/foreign"), "").unwrap();
    let _socket = UnixListener::bind(folder.join("run/socket")).unwrap();
    for name in ["log", "other", "run", "run/foreign"] {
        chown(folder.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    run_in_child_process("child_checks_file_access", folder, "65534:65534");
}

#[test]
#[ignore = "started by another test, which needs root"]
fn child_checks_file_access() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let file = folder.join("log/events.json");
    let mut policy = Policy {
        user: std::env::var(USER).ok(),
        writable: vec![("--output", file.clone())],
        readable: Vec::new(),
        folders: Vec::new(),
        ports: Vec::new(),
        makes_folders: false,
        removable: vec![folder.join("run/socket")],
        sandbox: true,
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Dropping privileges makes root the owner of the files in /proc, so open this one before.
    let mut status_file = File::open("/proc/thread-self/status").unwrap();

    let dropped = drop_in_this_thread(&policy).unwrap();

    let mut text = String::new();
    io::Read::read_to_string(&mut status_file, &mut text).unwrap();
    for line in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(|set| format!("{set}:\t{:016x}\n", 0))
    {
        assert!(text.contains(&line), "{text}");
    }
    for line in
        ["Uid:\t65534\t65534\t65534\t65534\n", "Gid:\t65534\t65534\t65534\t65534\n", "NoNewPrivs:\t1\n"]
    {
        assert!(text.contains(line), "{text}");
    }
    assert!(
        dropped.to_string().starts_with("runs as uid 65534, gid 65534, without capabilities"),
        "{dropped}"
    );

    // Threads inherit the restrictions.
    thread::spawn({
        let folder = folder.to_owned();
        move || {
            File::create(&file).unwrap();
            fs::rename(&file, folder.join("log/rotated")).unwrap();
            let mut options = OpenOptions::new();
            options.append(true).create(true).read(true).open(&file).unwrap().set_len(0).unwrap();
            assert_eq!(fs::read_dir(folder.join("log")).unwrap().count(), 2);
            fs::remove_file(folder.join("log/rotated")).unwrap();
            fs::remove_file(folder.join("run/socket")).unwrap();
            assert!(is_denied(UnixListener::bind(folder.join("run/socket"))));
            assert!(is_denied(File::create(folder.join("run/file"))));
            assert!(is_denied(OpenOptions::new().write(true).open(folder.join("run/foreign"))));
            assert!(is_denied(fs::create_dir(folder.join("log/folder"))));
            assert!(is_denied(File::create(folder.join("other/file"))));
            assert!(is_denied(File::create("/etc/huginn-net-test")));
            assert!(is_denied(fs::rename(&file, folder.join("other/file"))));
            // The sandbox also denies access that every user has.
            assert!(is_denied(File::open("/etc/passwd")));
            assert!(is_denied(File::create("/tmp/huginn-net-test")));
            assert!(is_denied(Command::new("/bin/true").status()));
            fs::read_dir("/sys/class/net").unwrap();
            fs::read("/sys/class/net/lo/statistics/rx_dropped").unwrap();
        }
    })
    .join()
    .unwrap();
    assert!(is_denied(TcpStream::connect(listener.local_addr().unwrap())));
    assert!(is_denied(TcpListener::bind("127.0.0.1:0")));

    // The thread cannot become root again.
    policy.user = Some("0:0".to_owned());
    policy.sandbox = false;
    assert!(matches!(drop_in_this_thread(&policy), Err(PrivilegeError::NotRoot { .. })));
}

#[test]
#[ignore = "needs root"]
fn root_without_user_option_has_no_capabilities() {
    run_in_child_process("child_checks_capabilities", Path::new("/"), "");
}

#[test]
#[ignore = "started by another test, which needs root"]
fn child_checks_capabilities() {
    if std::env::var_os(FOLDER).is_none() {
        return;
    }
    drop_in_this_thread(&Policy::default()).unwrap();
    let status = thread::spawn(status).join().unwrap();
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status[set], "0000000000000000", "{set}");
    }
    assert_eq!((status["Uid"].as_str(), status["NoNewPrivs"].as_str()), ("0 0 0 0", "1"));
    // A child process has no capabilities either.
    let output = Command::new("grep").args(["CapEff", "/proc/self/status"]).output().unwrap();
    assert_eq!(output.stdout, b"CapEff:\t0000000000000000\n");
    assert!(is_denied(chown("/tmp", Some(NOBODY), None)));
}

#[test]
fn reports_remaining_access() {
    let dropped = |uid, confinement| Dropped {
        uid: Uid::from_raw(uid),
        gid: Gid::from_raw(0),
        bounding: 0,
        confinement,
    };
    for (uid, confinement, parts) in [
        (0, None, &[][..]),
        (0, Some(Confinement::Full), &[]),
        (0, Some(Confinement::Unsupported), &["no Landlock", "root", "--user", "--no-sandbox"]),
        (NOBODY, Some(Confinement::Partial), &["as far as this kernel can", "--no-sandbox"]),
    ] {
        let warning = dropped(uid, confinement).warning();
        assert_eq!(warning.is_some(), !parts.is_empty(), "{warning:?}");
        for part in parts {
            assert!(warning.as_ref().is_some_and(|text| text.contains(part)), "{warning:?}");
        }
        assert!(uid == 0 || !warning.unwrap_or_default().contains("--user"));
    }
}

#[test]
fn finds_user_by_name_and_number() {
    for name in ["root", "0"] {
        let account = Account::find(name).unwrap();
        assert!(account.assume().is_ok() || !unistd::geteuid().is_root());
    }
    for name in ["no-such-user", "", "4000000000", "1:", ":1", "1:2:3", "-1:0", "ro\0ot"] {
        let refused = Account::find(name).unwrap_err();
        assert!(!refused.to_string().is_empty());
    }
}

#[test]
fn drops_privileges_before_threads_start() {
    // The thread of this test is the second one of the process.
    let refused = thread::spawn(|| drop(&Policy::default())).join().unwrap().unwrap_err();
    assert!(matches!(refused, PrivilegeError::Threads { threads: 2.. }), "{refused}");
}

#[test]
fn names_missing_capability_and_program() {
    let message = how_to_get_rights();
    let program = std::env::current_exe().unwrap();
    assert!(message.contains(&format!("setcap cap_net_raw=eip '{}'", program.display())), "{message}");
}
