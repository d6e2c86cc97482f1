//! The direction of the parts of the program: what was typed, what is meant, the commands, and what they use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

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
