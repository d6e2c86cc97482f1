//! Output of `huginn-net generate`.

use std::fs;
use std::process::{Command, Output};

fn generate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).arg("generate").args(args).output().unwrap()
}

/// Completions for a shell.
fn completions(shell: &str) -> String {
    let output = generate(&["completions", shell]);
    assert!(output.status.success() && output.stderr.is_empty(), "{shell}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn man_page_describes_live() {
    let folder = tempfile::tempdir().unwrap();
    let output = generate(&["man", folder.path().to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let page = fs::read_to_string(folder.path().join("huginn-net-live.1")).unwrap();
    assert!(page.contains(r"\-\-rotate\-interval") && page.contains("SIGUSR1"), "{page}");
}

#[test]
fn man_pages_need_an_existing_directory() {
    let output = generate(&["man", "/nonexistent/man"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("/nonexistent/man: No such file"), "{stderr}");
}

#[test]
fn completions_name_commands_and_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = completions(shell);
        for word in ["interfaces", "explain", "rotate-keep", "p0f-socket"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(generate(&["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn bash_completes_options_and_their_values() {
    let script = completions("bash");
    // What complete(1) does at a tab: it calls the function with the words of the line.
    for (words, at, wanted) in [
        ("huginn-net li", 1, "live"),
        ("huginn-net live --rotate-k", 2, "--rotate-keep"),
        ("huginn-net pcap --format j", 3, "json"),
    ] {
        let line = format!(
            "{script}\nCOMP_WORDS=({words})\nCOMP_CWORD={at}\n\
             _huginn__net huginn-net \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at}-1]}}\"\n\
             echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), wanted, "{words}");
    }
    let parsed = Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
    assert!(parsed.status.success() && parsed.stderr.is_empty());
}
