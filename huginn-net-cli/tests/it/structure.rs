//! The files of modules in all crates, their front pages, and the paths that pages for contributors name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Adds the files below a folder to `files`, without build outputs and hidden folders.
fn add_files(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_symlink() || name == "target" || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            add_files(&path, files);
        } else {
            files.insert(path);
        }
    }
}

#[test]
fn module_with_a_folder_is_mod_rs() {
    let mut files = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    add_files(&root, &mut files);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    for file in
        ["fuzz/fuzz_targets/decode.rs", "huginn-net-tls/src/lib.rs", "lab/src/main.rs", "python/src/lib.rs"]
    {
        assert!(files.contains(&root.join(file)), "{file}");
    }
    let folders: BTreeSet<&Path> = files.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    let beside_folder: Vec<&PathBuf> =
        files.iter().filter(|path| folders.contains(path.with_extension("").as_path())).collect();
    assert!(beside_folder.is_empty(), "move each to mod.rs in its folder: {beside_folder:?}");
}

/// Whether a page means this word as a path from the root of the repository: a folder at the top or a crate comes first.
/// Build outputs do not exist in a fresh checkout.
fn is_path_from_root(word: &str, root: &Path) -> bool {
    let Some((first, _)) = word.split_once('/') else { return false };
    let is_at_top = first.starts_with("huginn-net") || !first.is_empty() && root.join(first).is_dir();
    is_at_top && first != "target"
}

/// Whether a page means this word as a file whose folder it names elsewhere. `name.rs` stands for any module.
fn is_source_file(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("fp" | "md" | "py" | "rs" | "sh" | "toml" | "tsv"))
        && !matches!(word, "name.rs" | "name/mod.rs")
}

#[test]
fn paths_of_contributor_pages_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = BTreeSet::new();
    add_files(&root, &mut files);
    let mut missing = Vec::new();
    let (mut from_root, mut by_name) = (0, 0);
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        for word in quoted.flat_map(str::split_whitespace) {
            let exists = if is_path_from_root(word, &root) {
                from_root += 1;
                root.join(word).exists()
            } else if is_source_file(word) {
                by_name += 1;
                files.iter().any(|file| file.ends_with(word))
            } else {
                continue;
            };
            if !exists {
                missing.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
    assert!(from_root > 100 && by_name > 50, "{from_root} paths, {by_name} names");
}

/// The front page of a crate: the documentation at the start of its lib.rs.
fn front_page(source: &str) -> Vec<&str> {
    source.lines().filter_map(|line| line.strip_prefix("//!")).map(str::trim).collect()
}

/// The features of a manifest without `default`.
fn features(manifest: &str) -> Vec<&str> {
    let after = manifest.split("\n[features]\n").nth(1).unwrap_or_default();
    let lines = after.lines().take_while(|line| !line.starts_with('['));
    let names = lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    names.map(|(name, _)| name).filter(|name| *name != "default").collect()
}

/// The first cells of the first table of a page, below its head.
fn first_column<'a>(page: impl Iterator<Item = &'a str>, head: &str) -> Vec<&'a str> {
    let table = page.skip_while(|line| !line.starts_with(head)).take_while(|line| line.starts_with('|'));
    table.skip(2).filter_map(|line| line.split('|').nth(1)).map(str::trim).collect()
}

#[test]
fn front_page_lists_features_and_has_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut crates, mut named) = (0, 0);
    for entry in fs::read_dir(&root).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(source) = fs::read_to_string(folder.join("src/lib.rs")) else { continue };
        if !folder.file_name().unwrap().to_str().unwrap().starts_with("huginn-net") {
            continue;
        }
        crates += 1;
        let page = front_page(&source);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let expected = features(&manifest);
        let listed = first_column(page.iter().copied(), "| feature |");
        let listed: BTreeSet<_> = listed.iter().map(|name| name.trim_matches('`')).collect();
        assert_eq!(listed, expected.iter().copied().collect(), "{}", folder.display());
        let says_none = page.contains(&"The crate has no features.");
        assert_eq!(says_none, expected.is_empty(), "{}", folder.display());
        assert!(page.contains(&"```"), "an example that runs: {}", folder.display());
        named += expected.len();
    }
    assert!(crates >= 16 && named > 30, "{crates} crates, {named} features");
}

#[test]
fn front_page_begins_with_table_of_library_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = fs::read_to_string(root.join("huginn-net/src/lib.rs")).unwrap();
    let guide = fs::read_to_string(root.join("docs/library.md")).unwrap();
    let expected = first_column(guide.lines(), "| you have |");
    assert!(expected.len() >= 5, "{expected:?}");
    let page = front_page(&source);
    let start = page.iter().position(|line| line.starts_with('|'));
    assert_eq!(start.map(|line| page[line]), Some("| you have | use | crate |"));
    assert_eq!(first_column(page.into_iter(), "| you have |"), expected);
}
