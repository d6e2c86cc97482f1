//! The database that comes with the crate.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use huginn_net_db::Database;

#[test]
fn it_is_what_its_files_hold_in_the_order_of_their_names() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("signatures");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let all: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    assert_eq!(Database::builtin_text(), all);
    assert!(files.iter().all(|file| fs::read(file).unwrap().ends_with(b"\n")));
}

#[test]
fn it_is_read_without_error_or_remark() {
    let database = Database::parse(Database::builtin_text()).unwrap();
    assert_eq!(database.lint(), []);
    assert_eq!(database.stats(), Database::builtin().stats());
    assert!(database.stats().tcp_request > 100 && database.stats().tcp_response > 100);
}
