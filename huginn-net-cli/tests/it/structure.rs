//! The direction of the parts of the program: what was typed, what is meant, the commands, and what they use; the
//! files of modules in all crates; and the paths that pages for contributors name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Adds the modules at the top that the files of a module name, without those in tests.
fn add_uses(path: &Path, modules: &BTreeSet<String>, uses: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            add_uses(&entry.unwrap().path(), modules, uses);
        }
        return;
    }
    if path.file_name().unwrap() == "tests.rs" {
        return;
    }
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("\nmod tests {").next().unwrap();
    for part in code.split("crate::").skip(1) {
        let name = part.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap();
        uses.extend(modules.get(name).cloned());
    }
}

/// Whether `to` can be reached from `from`.
fn reaches(
    uses: &BTreeMap<String, BTreeSet<String>>,
    from: &str,
    to: &str,
    seen: &mut BTreeSet<String>,
) -> bool {
    uses[from].iter().any(|next| next == to || seen.insert(next.clone()) && reaches(uses, next, to, seen))
}

#[test]
fn no_part_of_the_program_uses_itself_through_another() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let names = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let entries: Vec<_> = fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path()).collect();
    let modules: BTreeSet<String> =
        entries.iter().map(|path| names(path)).filter(|name| name != "main").collect();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in entries.iter().filter(|path| modules.contains(&names(path))) {
        add_uses(path, &modules, uses.entry(names(path)).or_default());
    }
    for (module, used) in &mut uses {
        used.remove(module);
    }
    let in_circle: Vec<&String> =
        modules.iter().filter(|module| reaches(&uses, module, module, &mut BTreeSet::new())).collect();
    assert!(in_circle.is_empty(), "{in_circle:?}");
    assert!(uses["args"].is_empty(), "{:?}", uses["args"]);
    for (user, used) in [("plan", "args"), ("run", "plan"), ("commands", "run"), ("sensor", "output")] {
        assert!(uses[user].contains(used), "{user}: {:?}", uses[user]);
    }
}

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
