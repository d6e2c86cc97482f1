//! The direction between the modules of each crate: none uses itself through another.
//!
//! The test reads the sources as text. A path counts as a use of the module that defines its item, whatever module exports it
//! again. A module and those below it are one part: a circle lies between the files and folders of one folder.

#![allow(clippy::string_slice, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The reason of a circle that has none.
const TO_DIVIDE: &str = "to be divided";

/// The circles that are there: crate, folder, files and folders in it, and the reason. The name of a folder ends with a slash.
#[rustfmt::skip]
const CIRCLES: &[(&str, &str, &str, &str)] = &[
    ("huginn-net", "explain", "fingerprint hello quic", "a fingerprint is explained by its hello, and both report errors of texts"),
    ("huginn-net", "hosts/findings/scan", "client open", "a client has open scans, which count its targets"),
    ("huginn-net", "record", "event own", "events have a record of own ones, whose names must not be theirs"),
    ("huginn-net", "record", "kinds quic text tls", "records of kinds have those of TLS, and share texts and lists"),
    ("huginn-net", "record/formats/zeek", "columns row software tsv", "columns name the logs that rows are written to"),
    ("huginn-net", "select", "fields parse", "an expression is parsed to tests of fields"),
    ("huginn-net", "watch", "documents rows stix", "a document has rows, and a row may be a document"),
    ("huginn-net-cli", "plan", "live reload", TO_DIVIDE),
    ("huginn-net-core", "decode", "atm counters ethernet ethertype fit gre ip_tunnel juniper lan link mpls numbers overlay ppp udp_tunnel wifi", "each layer may carry any other: the tables of numbers name all decoders"),
    ("huginn-net-core", "engine", "merge_queues queues", "queues start the merging of their outputs, which reads their states"),
    ("huginn-net-core", "packet", "segment tunnel", "a segment has a tunnel, whose key is part of that of the segment"),
    ("huginn-net-core", "protocol", "event shared_state", "the shared state emits events, and an event may be an update of it"),
    ("huginn-net-core", "stream/flow", "first_segment open visitors", "an open stream and its first segment visit the same parsers"),
    ("huginn-net-db", "", "database parser", "a database is parsed from text"),
    ("huginn-net-db", "clients", "browser_fields nearest software table variants/", "software is found by fields, by distance and by variants, which are computed from it"),
    ("huginn-net-db", "clients/variants", "lists session", "a session changes lists, and lists hash those of a session"),
    ("huginn-net-decrypt", "quic", "keys packet", "a packet has a version, whose keys depend on the kind of the packet"),
    ("huginn-net-http", "", "observer parser", "the observer runs the parser, which emits the events of the observer"),
    ("huginn-net-http", "http1", "head head_buffer head_reader", "a head is read from a buffer, which finds its lines, and from pieces by a reader"),
    ("huginn-net-http", "http2", "akamai connection reader", "the reader of frames builds the fingerprint, which reads frames to be parsed from bytes"),
    ("huginn-net-live", "", "backend frame_batch queues", "a backend fills batches, whose clock is that of its queue"),
    ("huginn-net-ssh", "", "observer parser peers", "the observer runs the parsers, which emit the events of the observer"),
    ("huginn-net-tcp", "", "error layout quirks raw_sig signature window", "a signature is parsed from quirks, and written as text that is parsed again"),
    ("huginn-net-tls", "", "fingerprint/ hello/", "a hello keeps its fingerprints, so that each is computed once"),
];

/// The module of a file, by its names below the root of the crate.
type ModulePath = Vec<String>;

/// What the source of a module has.
#[derive(Default)]
struct Module {
    items: BTreeSet<String>,
    /// Names that `use` brings in, with their paths.
    imports: BTreeMap<String, ModulePath>,
    /// The paths of `use path::*`.
    globs: Vec<ModulePath>,
    /// All paths that the source names.
    paths: BTreeSet<ModulePath>,
}

/// The modules of a crate.
#[derive(Default)]
struct Modules(BTreeMap<ModulePath, Module>);

impl Modules {
    fn read(source: &Path) -> Self {
        let mut modules = Self::default();
        modules.add_folder(source, &mut Vec::new());
        modules
    }

    fn add_folder(&mut self, folder: &Path, parent: &mut ModulePath) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                parent.push(name);
                self.add_folder(&path, parent);
                parent.pop();
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&name) {
                let module = Module::parse(&fs::read_to_string(&path).unwrap());
                let mut at = parent.clone();
                at.extend(Some(name).filter(|name| !matches!(&**name, "lib" | "main" | "mod")));
                self.0.insert(at, module);
            }
        }
    }

    /// The module that defines what a path in a module leads to; `None` outside of the crate.
    fn resolve(&self, at: &[String], path: &[String], depth: usize) -> Option<ModulePath> {
        if depth > 12 {
            return None;
        }
        let mut current = at.to_vec();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => (current, rest) = (Vec::new(), &path[1..]),
            Some("self") => rest = &path[1..],
            Some("super") => {
                while let Some((_, others)) = rest.split_first().filter(|(first, _)| *first == "super") {
                    current.pop();
                    rest = others;
                }
            }
            Some(first) if !self.has_child(at, first) && !self.imports(at, first) => return None,
            _ => {}
        }
        while let Some((first, others)) = rest.split_first() {
            if self.has_child(&current, first) {
                current.push(first.clone());
                rest = others;
                continue;
            }
            let module = self.0.get(&current)?;
            if let Some(import) = module.imports.get(first).filter(|_| self.imports(&current, first)) {
                let path: ModulePath = import.iter().chain(others).cloned().collect();
                return self.resolve(&current, &path, depth + 1);
            }
            if !module.items.contains(first) {
                for glob in &module.globs {
                    let target = self.resolve(&current, glob, depth + 1);
                    let has = |target: &ModulePath| self.0[target].items.contains(first);
                    if target.as_ref().is_some_and(has) {
                        return target;
                    }
                }
            }
            break;
        }
        Some(current)
    }

    fn has_child(&self, at: &[String], name: &str) -> bool {
        self.0.contains_key(&[at, &[name.to_owned()]].concat())
    }

    /// Whether a `use` brings a name in, from elsewhere than a crate of that name.
    fn imports(&self, at: &[String], name: &str) -> bool {
        self.0.get(at).and_then(|module| module.imports.get(name)).is_some_and(|path| path[0] != name)
    }

    /// The circles of each folder: its files and folders that use each other.
    fn circles(&self) -> BTreeSet<(String, String)> {
        let mut folders: BTreeMap<&[String], BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
        let mut uses = Vec::new();
        for (user, module) in &self.0 {
            uses.extend(module.paths.iter().filter_map(|path| Some((user, self.resolve(user, path, 0)?))));
        }
        for (user, used) in &uses {
            let common = user.iter().zip(used).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (user.get(common), used.get(common)) {
                folders.entry(&user[..common]).or_default().entry(from).or_default().insert(to);
            }
        }
        let mut circles = BTreeSet::new();
        for (folder, uses) in folders {
            for &name in uses.keys() {
                let circle =
                    uses.keys().filter(|other| reaches(&uses, name, other) && reaches(&uses, other, name));
                let names: Vec<String> = circle.map(|name| self.title(folder, name)).collect();
                if names.len() > 1 {
                    circles.insert((folder.join("/"), names.join(" ")));
                }
            }
        }
        circles
    }

    /// The name of a file, or that of a folder with a slash.
    fn title(&self, folder: &[String], name: &str) -> String {
        let path = [folder, &[name.to_owned()]].concat();
        let is_folder = self.0.keys().any(|other| other.len() > path.len() && other.starts_with(&path));
        format!("{name}{}", if is_folder { "/" } else { "" })
    }
}

fn is_test(name: &str) -> bool {
    matches!(name, "sizes" | "tests") || name.ends_with("_tests")
}

fn reaches(uses: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(name) = open.pop() {
        open.extend(uses.get(name).into_iter().flatten().filter(|used| seen.insert(**used)));
    }
    seen.contains(to)
}

impl Module {
    fn parse(text: &str) -> Self {
        let tokens = tokens(&without_tests(text));
        let mut module = Self::default();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let follows_path = at > 1 && tokens[at - 2] == "::";
            match &**token {
                "use" => module.add_import(&tokens, &mut at, &[]),
                "struct" | "enum" | "trait" | "fn" | "type" | "const" | "static" | "union"
                | "macro_rules" => {
                    let name = tokens[at..].iter().find(|token| *token != "!");
                    module.items.extend(name.cloned());
                }
                _ if is_name(token) && !follows_path && tokens.get(at).is_some_and(|next| next == "::") => {
                    let mut path = vec![token.clone()];
                    while tokens.get(at).is_some_and(|next| next == "::")
                        && let Some(name) = tokens.get(at + 1).filter(|name| is_name(name))
                    {
                        path.push(name.clone());
                        at += 2;
                    }
                    module.paths.insert(path);
                }
                _ => {}
            }
        }
        module
    }

    /// Takes one tree of a `use`, up to the comma or bracket after it.
    fn add_import(&mut self, tokens: &[String], at: &mut usize, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let mut name = None;
        while let Some(token) = tokens.get(*at) {
            match &**token {
                "{" => {
                    while tokens[*at] != "}" {
                        *at += 1;
                        self.add_import(tokens, at, &path);
                    }
                    *at += 1;
                    return;
                }
                "*" => {
                    *at += 1;
                    self.paths.insert(path.clone());
                    self.globs.push(path);
                    return;
                }
                "," | "}" | ";" => break,
                "as" => {
                    *at += 1;
                    name = tokens.get(*at).cloned();
                }
                token if is_name(token) => path.push(token.to_owned()),
                _ => {}
            }
            *at += 1;
        }
        path.truncate(path.len() - usize::from(path.len() > 1 && path.ends_with(&["self".to_owned()])));
        if let Some(last) = name.or_else(|| path.last().cloned()) {
            self.imports.insert(last, path.clone());
            self.paths.insert(path);
        }
    }
}

/// Formatted code without its tests: an item ends at the indentation of its first line.
fn without_tests(text: &str) -> String {
    let (mut code, mut test) = (String::new(), None);
    for line in text.lines() {
        let bare = line.trim_start();
        let indent = &line[..line.len() - bare.len()];
        match test {
            Some(first) if indent == first && (bare == "}" || bare.ends_with(';')) => test = None,
            Some(_) => {}
            None if bare.starts_with("#[cfg(test") || bare.starts_with("#[cfg(all(test") => {
                test = Some(indent)
            }
            None => code.extend([line, "\n"]),
        }
    }
    code
}

/// Names and signs, without comments and without the content of texts.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let name_len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let raw = rest.trim_start_matches('b').strip_prefix('r').map(|text| text.trim_start_matches('#'));
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(text) = raw.filter(|text| text.starts_with('"') && name_len < 3) {
            let start = rest.len() - text.len() + 1;
            let end = format!("\"{}", "#".repeat(rest[..start].matches('#').count()));
            start + rest[start..].find(&end).unwrap() + end.len()
        } else if first == '"' {
            let mut is_escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            end.unwrap() + 2
        } else if rest.starts_with("'\\") {
            3 + rest[3..].find('\'').unwrap() + 1
        } else if first == '\'' && rest.chars().nth(2) == Some('\'') {
            rest.char_indices().nth(3).map_or(rest.len(), |(len, _)| len)
        } else {
            let len = if name_len > 0 {
                name_len
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push(rest[..len].to_owned());
            len
        };
        rest = rest[len..].trim_start();
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[test]
fn no_module_uses_itself_through_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    let mut crates = 0;
    for entry in fs::read_dir(&root).unwrap() {
        let source = entry.unwrap().path().join("src");
        let name = source.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("huginn-net") && source.is_dir() {
            crates += 1;
            let circles = Modules::read(&source).circles();
            found.extend(circles.into_iter().map(|(folder, names)| (name.clone(), folder, names)));
        }
    }
    let listed = CIRCLES
        .iter()
        .map(|(name, folder, names, _)| (String::from(*name), String::from(*folder), String::from(*names)));
    let listed: BTreeSet<_> = listed.collect();
    let new: Vec<_> = found.difference(&listed).collect();
    assert!(new.is_empty(), "circles: {new:#?}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "no longer circles: {gone:#?}");
    assert!(crates > 15, "{crates} crates");
}
