#![allow(clippy::arithmetic_side_effects, reason = "a test may panic")]

use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use tempfile::tempdir;

use super::super::rotated_file::{RotatedFile, StampForm};
use super::*;
use crate::paths::parent_directory;

/// Returns the sorted file names of a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Concatenates the rotated files, oldest first, and the current file.
pub(crate) fn all_text(path: &Path) -> Vec<u8> {
    let mut all =
        RotatedFile::from(path, StampForm::Own, "", SystemTime::now() + Duration::from_secs(1 << 30))
            .unwrap();
    all.sort();
    let mut text = Vec::new();
    for rotated in all {
        text.extend(fs::read(parent_directory(path).join(rotated.name)).unwrap());
    }
    text.extend(fs::read(path).unwrap_or_default());
    text
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// 2026-11-21T18:00:00Z
const SIX: u64 = 1_795_284_000;

#[test]
fn intervals_start_at_utc_boundaries() {
    let every = |seconds| Rotation { every: Some(Duration::from_secs(seconds)), ..Rotation::default() };
    assert_eq!(every(3600).rest_of_period(at(SIX)), Some(Duration::from_secs(3600)));
    assert_eq!(every(3600).rest_of_period(at(SIX + 3599)), Some(Duration::from_secs(1)));
    assert_eq!(every(86_400).rest_of_period(at(SIX)), Some(Duration::from_secs(6 * 3600)), "until midnight");
    assert_eq!(Rotation::default().rest_of_period(at(SIX)), None);
    assert_eq!(StampForm::Own.format(at(SIX + 61)), "20261121T180101Z");
}

#[test]
fn rotates_full_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json");
    let rotation = Rotation { max_bytes: Some(8), ..Rotation::default() };
    let mut file = RotatingFile::open(&path, rotation, at(SIX)).unwrap();
    assert!(!file.is_due(100, at(SIX)), "an empty file accepts a line of any length");
    file.write(b"1234\n", at(SIX)).unwrap();
    assert_eq!(file.room(), 3);
    assert!(!file.is_due(3, at(SIX)));
    assert!(file.is_due(4, at(SIX)));
    file.rotate(at(SIX)).unwrap();
    file.write(b"5\n", at(SIX)).unwrap();
    // Rotations within one second get numbered names.
    file.rotate(at(SIX)).unwrap();
    file.write(b"6\n", at(SIX)).unwrap();
    file.rotate(at(SIX)).unwrap();
    assert_eq!(
        names(folder.path()),
        [
            "events.json",
            "events.json.20261121T180000Z",
            "events.json.20261121T180000Z.1",
            "events.json.20261121T180000Z.2"
        ]
    );
    assert_eq!(all_text(&path), b"1234\n5\n6\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777 & !0o640, 0);
}

#[test]
fn compressed_files_keep_their_ending_and_are_not_continued() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json.zst");
    fs::write(&path, "incomplete").unwrap();
    for other in [
        "events.json.20261121T170000Z.gz",
        "events.json.zst.20261121T170000Z",
        "events.json.20261121T170000Z.zst",
    ] {
        fs::write(folder.path().join(other), "").unwrap();
    }
    let rotation = Rotation { max_bytes: Some(1), keep: Some(2), ..Rotation::default() };
    let mut file = RotatingFile::open(&path, rotation, at(SIX)).unwrap();
    file.write(&[1, 2], at(SIX)).unwrap();
    let rotated = file.rotate(at(SIX)).unwrap();
    file.remove_oldest(&rotated, at(SIX)).unwrap();
    file.write(&[3], at(SIX)).unwrap();
    // No line ends here.
    file.reopen(at(SIX)).unwrap();
    file.write(&[4], at(SIX)).unwrap();
    let stays = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(stays("events.json.20261121T180000Z.zst"), b"incomplete");
    assert_eq!(stays("events.json.20261121T180000Z.1.zst"), [1, 2]);
    assert_eq!(stays("events.json.zst"), [3, 4]);
    assert_eq!(
        names(folder.path()),
        [
            "events.json.20261121T170000Z.gz",
            "events.json.20261121T180000Z.1.zst",
            "events.json.20261121T180000Z.zst",
            "events.json.zst",
            "events.json.zst.20261121T170000Z",
        ]
    );
}

#[test]
fn rotates_file_after_interval() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json");
    let rotation = Rotation { every: Some(Duration::from_secs(3600)), ..Rotation::default() };
    let mut file = RotatingFile::open(&path, rotation, at(SIX)).unwrap();
    assert_eq!(file.due_in(at(SIX + 4000)), None, "an empty file is not rotated");
    assert!(!file.is_due(1, at(SIX + 4000)));
    file.write(b"1\n", at(SIX + 4000)).unwrap();
    assert_eq!(file.due_in(at(SIX + 4000)), Some(Duration::from_secs(3200)));
    assert!(!file.is_due(1, at(SIX + 7199)));
    assert!(file.is_due(1, at(SIX + 7200)));
    assert_eq!(file.due_in(at(SIX + 7200)), Some(Duration::ZERO));
    assert!(file.is_due(1, at(SIX - 1)), "the clock was set back");
}

#[test]
fn dates_existing_file_by_last_event() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json");
    fs::write(&path, "1\n").unwrap();
    File::options().append(true).open(&path).unwrap().set_modified(at(SIX)).unwrap();
    let rotation = Rotation { every: Some(Duration::from_secs(3600)), ..Rotation::default() };
    let file = RotatingFile::open(&path, rotation, at(SIX + 3599)).unwrap();
    assert!(!file.is_due(1, at(SIX + 3599)));
    let file = RotatingFile::open(&path, rotation, at(SIX + 3600)).unwrap();
    assert!(file.is_due(1, at(SIX + 3600)));
}

#[test]
fn keeps_newest_files() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("e");
    let others = [
        "e.20261121T180000Z.gz",
        "e.2026",
        "e.20261121T18000AZ",
        "e.20261121T180000Zx",
        "f.20261121T180000Z",
    ];
    for name in others.iter().chain(&["e.20261121T180000Z", "e.20261121T180000Z.2", "e.20261121T180000Z.10"])
    {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let rotation = Rotation { max_bytes: Some(1), keep: Some(2), ..Rotation::default() };
    let mut file = RotatingFile::open(&path, rotation, at(SIX + 60)).unwrap();
    file.write(b"1\n", at(SIX + 60)).unwrap();
    let rotated = file.rotate(at(SIX + 60)).unwrap();
    file.remove_oldest(&rotated, at(SIX + 60)).unwrap();
    let mut wanted: Vec<&str> = others.to_vec();
    wanted.extend(["e", "e.20261121T180000Z.10", "e.20261121T180100Z"]);
    wanted.sort_unstable();
    assert_eq!(names(folder.path()), wanted);
}

#[test]
fn terminates_partial_line_of_existing_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json");
    fs::write(&path, "{\"ts\":\"20").unwrap();
    let mut file = RotatingFile::open(&path, Rotation::default(), at(SIX)).unwrap();
    file.write(b"1\n", at(SIX)).unwrap();
    drop(RotatingFile::open(&path, Rotation::default(), at(SIX)).unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"{\"ts\":\"20\n1\n");
}

#[test]
fn keeps_file_after_failed_rotation() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json");
    let rotation = Rotation { max_bytes: Some(1), ..Rotation::default() };
    let mut file = RotatingFile::open(&path, rotation, at(SIX)).unwrap();
    file.write(b"1\n", at(SIX)).unwrap();
    // Another process has moved the file, so the rename fails.
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    assert_eq!(file.rotate(at(SIX)).unwrap_err().kind(), io::ErrorKind::NotFound);
    file.write(b"2\n", at(SIX)).unwrap();
    assert_eq!(fs::read(folder.path().join("elsewhere")).unwrap(), b"1\n2\n");
    file.reopen(at(SIX)).unwrap();
    file.write(b"3\n", at(SIX)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"3\n");
}

#[test]
fn only_regular_files_are_rotated() {
    let rotation = Rotation { max_bytes: Some(1), ..Rotation::default() };
    let refused = RotatingFile::open(Path::new("/dev/null"), rotation, at(SIX)).unwrap_err();
    assert_eq!(refused.to_string(), "/dev/null: cannot be rotated: not a regular file");
    let mut file = RotatingFile::open(Path::new("/dev/null"), Rotation::default(), at(SIX)).unwrap();
    assert_eq!(file.write(b"1\n", at(SIX)).unwrap(), 2);
    assert!(file.truncate_tail(1).is_err());
}

#[test]
fn future_file_names_count_as_oldest() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("e");
    // Two files were written while the clock was ahead.
    for name in ["e.20261121T175900Z", "e.20990101T000000Z", "e.20990102T000000Z"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let rotation = Rotation { max_bytes: Some(1), keep: Some(2), ..Rotation::default() };
    let mut file = RotatingFile::open(&path, rotation, at(SIX)).unwrap();
    file.write(b"1\n", at(SIX)).unwrap();
    let rotated = file.rotate(at(SIX)).unwrap();
    file.remove_oldest(&rotated, at(SIX)).unwrap();
    assert_eq!(names(folder.path()), ["e", "e.20261121T175900Z", "e.20261121T180000Z"]);
    // The clock is ahead, then set back by a day. The newest rotated file stays, whatever its name.
    let now = at(SIX + 86_400);
    for (now, with) in [(now, "e.20261122T180000Z"), (at(SIX - 1), "e.20261121T175959Z")] {
        file.write(b"2\n", now).unwrap();
        let rotated = file.rotate(now).unwrap();
        file.remove_oldest(&rotated, now).unwrap();
        let names = names(folder.path());
        assert!(names.len() == 3 && names.iter().any(|name| name == with), "{names:?}");
    }
}

#[test]
fn removes_other_files_after_failed_removal() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("e");
    fs::create_dir(folder.path().join("e.20261121T170000Z")).unwrap();
    for name in ["e.20261121T160000Z", "e.20261121T175900Z"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let rotation = Rotation { max_bytes: Some(1), keep: Some(1), ..Rotation::default() };
    let mut file = RotatingFile::open(&path, rotation, at(SIX)).unwrap();
    file.write(b"1\n", at(SIX)).unwrap();
    let rotated = file.rotate(at(SIX)).unwrap();
    assert!(file.remove_oldest(&rotated, at(SIX)).is_err());
    assert_eq!(names(folder.path()), ["e", "e.20261121T170000Z", "e.20261121T180000Z"]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(usize),
    Wait(u64),
    Reopen,
    /// Renames the file and reopens it, as logrotate does.
    MoveAway,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (1_usize..40).prop_map(Step::Write),
        2 => (1_u64..5000).prop_map(Step::Wait),
        1 => Just(Step::Reopen),
        1 => Just(Step::MoveAway),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any sequence of steps keeps all lines in order, and no file exceeds its size limit.
    #[test]
    fn no_line_is_lost_or_duplicated(steps in steps(), max_bytes in prop::option::of(20_u64..60)) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("events.json");
        let rotation = Rotation { max_bytes, every: Some(Duration::from_secs(3600)), keep: None };
        let mut now = SIX;
        let mut file = RotatingFile::open(&path, rotation, at(now)).unwrap();
        let mut wanted = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Write(len) => {
                    let line = format!("{:<len$}\n", number % 10);
                    if file.is_due(line.len() as u64, at(now)) {
                        file.rotate(at(now)).unwrap();
                    }
                    prop_assert!(file.opened.len == 0 || file.room() >= line.len() as u64);
                    prop_assert_eq!(file.write(line.as_bytes(), at(now)).unwrap(), line.len());
                    wanted.extend(line.into_bytes());
                }
                Step::Wait(seconds) => now += seconds,
                Step::Reopen => _ = file.reopen(at(now)).unwrap(),
                Step::MoveAway => {
                    fs::rename(&path, StampedFiles::new(path.clone(), "").unused_name(folder.path(), at(now)).unwrap()).unwrap();
                    assert!(file.reopen(at(now)).unwrap());
                }
            }
        }
        let text = all_text(&path);
        prop_assert_eq!(text, wanted);
    }
}
