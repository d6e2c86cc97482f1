//! Checks the exported names: few at the root of the facade, and no two types with the same name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that the root of the facade may export, modules included.
const MAX_ROOT_NAMES: usize = 40;

/// Keywords that declare a type.
const TYPES: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// Returns the `pub` statements at the start of a line, up to their `;` or `{`.
fn exports(text: &str) -> impl Iterator<Item = &str> {
    text.split("\npub ").skip(1).filter_map(|statement| {
        let is_use = statement.starts_with("use ");
        statement.split(|ended: char| ended == ';' || (!is_use && ended == '{')).next()
    })
}

/// Returns the names that a `pub` statement exports.
fn names(statement: &str) -> Vec<&str> {
    let Some(used) = statement.strip_prefix("use ") else {
        return statement.split_whitespace().nth(1).into_iter().collect();
    };
    let (_, names) = used.split_once('{').unwrap_or(("", used));
    let names = names.trim_end_matches('}').split(',').map(str::trim).filter(|name| !name.is_empty());
    names.filter_map(|name| name.rsplit([' ', ':']).next()).collect()
}

/// Returns the name of the type that a statement declares, if any. An alias with the same name is the same type.
fn type_name(statement: &str) -> Option<&str> {
    let (_, rest) = statement.split_once(' ').filter(|(kind, _)| TYPES.contains(kind))?;
    let name = rest.split(|ended: char| !ended.is_alphanumeric() && ended != '_').next()?;
    let is_alias = rest.split_once('=').is_some_and(|(_, of)| of.contains(&format!("::{name}")));
    (!is_alias).then_some(name)
}

/// Adds the source files below a folder to `files`, without tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "tests" {
                sources(&path, files);
            }
        } else if path.extension().is_some_and(|kind| kind == "rs") && name != "tests.rs" {
            files.push(path);
        }
    }
}

#[test]
fn facade_root_exports_few_names() {
    let root = include_str!("../../src/lib.rs");
    let names: Vec<&str> = exports(root).flat_map(names).collect();
    assert!(names.contains(&"HuginnNet") && names.contains(&"hosts") && names.contains(&"Timestamp"));
    assert!(names.len() <= MAX_ROOT_NAMES, "{} names: {names:?}", names.len());
}

#[test]
fn public_types_have_distinct_names() {
    let mut files = Vec::new();
    for entry in Path::new(env!("CARGO_MANIFEST_DIR")).join("..").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("huginn-net") && path.join("src/lib.rs").is_file() {
            sources(&path.join("src"), &mut files);
        }
    }
    let mut declared: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in files {
        // Macros declare enums, too.
        let text =
            format!("\n{}", fs::read_to_string(&path).unwrap()).replace("\n    pub enum", "\npub enum");
        for name in exports(&text).filter_map(type_name) {
            declared.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    assert!(declared.contains_key("ClientHello") && declared.contains_key("CaptureReader"));
    declared.retain(|_, paths| paths.len() > 1);
    assert!(declared.is_empty(), "{declared:#?}");
}
