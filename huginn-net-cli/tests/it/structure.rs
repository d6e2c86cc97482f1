//! The direction of the parts of the program: what was typed, what is meant, the commands, and what they use; and the
//! files of modules in all crates.

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

/// Adds the Rust files below a folder to `files`, without build outputs and hidden folders.
fn add_sources(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_symlink() || name == "target" || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            add_sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(path);
        }
    }
}

#[test]
fn module_with_a_folder_is_mod_rs() {
    let mut files = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    add_sources(&root, &mut files);
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
