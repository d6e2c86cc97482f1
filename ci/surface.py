#!/usr/bin/env python3
"""Compares the public items of each library crate with ci/surface: surface.py [--write]

Each crate whose types the items name has a row in docs/library.md. ci/surface/CRATE.txt has a line for each public item: its path and type, `#[non_exhaustive]` where it is, and the traits of each type.
Items of `#[doc(hidden)]` are left out. A change of the public interface is so a change of these files. --write replaces them.
"""

import collections
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "ci" / "surface"
# Not libraries: the program, load generators and measurements.
NO_LIBRARIES = {"huginn-net-cli", "huginn-lab", "huginn-net-benches"}
# The version of rustdoc's JSON that this script reads: that of Rust 1.95.
FORMAT_VERSION = 57
# The row of a crate in this table may name several.
PAGE = ROOT / "docs" / "library.md"
TABLE = "| crate | where | reason |\n|---|---|---|\n"
# Crates with another name in rustdoc, and those whose types are not written in Rust code.
NAMES = {"serde_core": "serde", "serde_json": "serde_json"}
OURS = {"std", "core", "alloc"}
# Traits that every type has or that say nothing of what it does.
COMMON_TRAITS = {"Freeze", "RefUnwindSafe", "StructuralPartialEq", "UnsafeUnpin", "Unpin", "UnwindSafe"}
ITEM_KINDS = ("module", "struct", "union", "enum", "trait", "function", "macro", "constant", "static", "type_alias")


def main() -> None:
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    crates = libraries()
    document(crates, target)
    problems, total, foreign = [], collections.Counter(), set()
    expected = {FOLDER / f"{name}.txt" for name in crates}
    for stale in sorted(set(FOLDER.glob("*.txt")) - expected):
        problems.append(f"{stale.relative_to(ROOT)}: no such crate")
    print(f"{'crate':<24}{'types':>7}{'items':>7}{'lines':>7}")
    for name in crates:
        surface = Surface(json.loads((target / "doc" / f"{name.replace('-', '_')}.json").read_text()))
        text = "".join(f"{line}\n" for line in surface.lines())
        foreign |= surface.foreign
        counts = collections.Counter(types=surface.types, items=surface.items, lines=text.count("\n"))
        print(f"{name:<24}{counts['types']:>7}{counts['items']:>7}{counts['lines']:>7}")
        total += counts
        path = FOLDER / f"{name}.txt"
        if "--write" in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text)
            continue
        committed = path.read_text() if path.exists() else ""
        if text != committed:
            names = [str(path.relative_to(ROOT)), "now"]
            problems += difflib.unified_diff(committed.splitlines(), text.splitlines(), *names, n=0, lineterm="")
    print(f"{'all':<24}{total['types']:>7}{total['items']:>7}{total['lines']:>7}")
    table = PAGE.read_text().split(TABLE)[1].split("\n\n")[0]
    listed = {name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    for name in sorted(foreign ^ listed):
        problems.append(f"docs/library.md: {name}: {'no row' if name in foreign else 'a row, but no public item names its types'}")
    if problems:
        print("\n".join(problems))
        sys.exit("the public interface changed: if it should, run ci/surface.py --write, and say so in CHANGELOG.md")


def libraries() -> list[str]:
    """The library crates of the workspace."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--no-deps"]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT))
    return sorted({package["name"] for package in metadata["packages"]} - NO_LIBRARIES)


def document(crates: list[str], target: pathlib.Path) -> None:
    """Writes the JSON of rustdoc, which is unstable. Only rustdoc learns that it may: the crates below stay as they are built."""
    wrapper = target / "ci" / "rustdoc-json"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text('#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n')
    wrapper.chmod(0o755)
    flags = "-Z unstable-options --output-format json --cap-lints allow"
    environment = {**os.environ, "RUSTDOC": str(wrapper), "RUSTDOCFLAGS": flags, "CARGO_TARGET_DIR": str(target)}
    command = ["cargo", "doc", "--locked", "--no-deps", "--all-features", "--lib"]
    packages = [option for name in crates for option in ("-p", name)]
    subprocess.run(command + packages, cwd=ROOT, env=environment, check=True)


class Surface:
    """The public items of a crate."""

    def __init__(self, crate: dict) -> None:
        if crate["format_version"] != FORMAT_VERSION:
            print(f"not checked: rustdoc's JSON has version {crate['format_version']}, this script reads {FORMAT_VERSION}")
            sys.exit(0)
        self.index = crate["index"]
        self.crates = {number: each["name"] for number, each in crate["external_crates"].items()}
        self.paths = crate["paths"]
        # Crates of others whose types or traits the lines name.
        self.foreign: set[str] = set()
        self.types = self.items = 0
        self.found: set[str] = set()
        # Ids of items with their names.
        self.seen: dict[int, str] = {}
        self.modules: list[tuple[list[int], str]] = []
        self.root = self.index[str(crate["root"])]

    def lines(self) -> list[str]:
        """All lines, sorted. Modules are read breadth first: an item that several export is described where it is found first."""
        modules = [(self.root["inner"]["module"]["items"], self.root["name"])]
        for items, path in modules:
            self.modules = []
            self.add_items(items, path)
            # A prelude describes nothing.
            modules += sorted(self.modules, key=lambda module: (module[1].endswith("::prelude"), module[1]))
        return sorted(self.found)

    def add_items(self, ids: list[int], path: str) -> None:
        for number in ids:
            item = self.index.get(str(number))
            # Items without visibility of their own are left out where they are reached otherwise.
            if item and item["visibility"] == "public" or item and "macro" in item["inner"]:
                self.add(item, path)

    def add(self, item: dict, path: str) -> None:
        """Adds an item of a module, and what is in it."""
        (kind, inner), = item["inner"].items()
        name = f"{path}::{item['name']}"
        if kind == "use":
            self.add_use(inner, path)
            return
        if kind in ("impl", "extern_crate"):
            return
        if kind not in ITEM_KINDS:
            sys.exit(f"{name}: no rule for {kind}")
        known = self.seen.setdefault(item["id"], name)
        if known != name:
            self.found.add(f"use {name} = {known}")
            return
        self.items += 1
        mark = " #[non_exhaustive]" if "non_exhaustive" in item["attrs"] else ""
        add = self.found.add
        if kind == "module":
            add(f"mod {name}")
            self.modules.append((inner["items"], name))
        elif kind == "function":
            add(f"fn {name}{self.signature(inner)}")
        elif kind == "macro":
            add(f"macro {name}")
        elif kind == "constant":
            add(f"const {name}: {self.type(inner['type'])}")
        elif kind == "static":
            add(f"static {name}: {self.type(inner['type'])}")
        elif kind == "type_alias":
            add(f"type {name}{self.generics(inner['generics'])} = {self.type(inner['type'])}")
        elif kind == "trait":
            self.types += 1
            bounds = self.bounds(inner["bounds"])
            add(f"trait {name}{self.generics(inner['generics'])}{': ' + bounds if bounds else ''}{mark}")
            for number in inner["items"]:
                self.add_member(number, name)
        else:
            self.types += 1
            add(f"{kind} {name}{self.generics(inner['generics'])}{mark}")
            self.add_contents(kind, inner, name)
            self.add_impls(inner["impls"], name)

    def add_use(self, use: dict, path: str) -> None:
        target = self.index.get(str(use["id"]))
        name = f"{path}::{use['name']}"
        if use["is_glob"]:
            contents = target["inner"] if target else {}
            if "module" in contents:
                self.add_items(contents["module"]["items"], path)
            else:
                self.found.add(f"use {path}::* = {use['source']}")
        elif target and target["crate_id"] == 0:
            self.add({**target, "name": use["name"]}, path)
        else:
            self.items += 1
            self.note(use["id"])
            self.found.add(f"use {name} = {use['source'].replace('crate::', self.root['name'] + '::', 1)}")

    def add_contents(self, kind: str, inner: dict, name: str) -> None:
        """Adds the public fields of a struct, or the variants of an enum."""
        if kind == "enum":
            for number in inner["variants"]:
                variant = self.index.get(str(number))
                if not variant:
                    continue
                form = variant["inner"]["variant"]["kind"]
                mark = " #[non_exhaustive]" if "non_exhaustive" in variant["attrs"] else ""
                label = f"{name}::{variant['name']}"
                if form == "plain":
                    text = ""
                elif "tuple" in form:
                    text = f"({self.fields(form['tuple'])})"
                else:
                    text = ""
                    self.add_fields(form["struct"]["fields"], label)
                self.found.add(f"variant {label}{text}{mark}")
        elif kind == "union":
            self.add_fields(inner["fields"], name)
        elif inner["kind"] != "unit":
            form = inner["kind"]
            self.add_fields(form["tuple"] if "tuple" in form else form["plain"]["fields"], name)

    def add_fields(self, ids: list[int | None], name: str) -> None:
        for number in ids:
            field = number is not None and self.index.get(str(number))
            if field and field["visibility"] in ("public", "default"):
                self.found.add(f"field {name}::{field['name']}: {self.type(field['inner']['struct_field'])}")

    def fields(self, ids: list[int | None]) -> str:
        found = [number is not None and self.index.get(str(number)) for number in ids]
        return ", ".join(self.type(field["inner"]["struct_field"]) if field else "_" for field in found)

    def add_impls(self, ids: list[int], name: str) -> None:
        """Adds the methods and constants of a type, and the traits that it implements."""
        traits = set()
        for number in ids:
            item = self.index.get(str(number))
            if not item:
                continue
            block = item["inner"]["impl"]
            if block["is_synthetic"] or block["blanket_impl"] or block["is_negative"]:
                continue
            if block["trait"]:
                path = self.path(block["trait"])
                if path not in COMMON_TRAITS:
                    traits.add(path)
                continue
            for member in block["items"]:
                self.add_member(member, name, only_public=True)
        if traits:
            self.found.add(f"impl {name}: {', '.join(sorted(traits))}")

    def add_member(self, number: int, name: str, only_public: bool = False) -> None:
        """Adds a function, constant or type of a trait or of a block of methods."""
        item = self.index.get(str(number))
        if not item or only_public and item["visibility"] != "public":
            return
        (kind, inner), = item["inner"].items()
        label = f"{name}::{item['name']}"
        if kind == "function":
            has_default = "" if only_public or not inner["has_body"] else " { .. }"
            self.found.add(f"fn {label}{self.signature(inner)}{has_default}")
        elif kind == "assoc_const":
            self.found.add(f"const {label}: {self.type(inner['type'])}")
        elif kind == "assoc_type":
            bounds = self.bounds(inner["bounds"])
            self.found.add(f"type {label}{self.generics(inner['generics'])}{': ' + bounds if bounds else ''}")
        else:
            sys.exit(f"{label}: no rule for {kind}")

    def signature(self, function: dict) -> str:
        parts = []
        for name, kind in function["sig"]["inputs"]:
            text = self.type(kind)
            receivers = {"Self": "self", "&Self": "&self", "&mut Self": "&mut self"}
            parts.append(receivers.get(text, f"self: {text}") if name == "self" else text)
        output = function["sig"]["output"]
        header = function["header"]
        words = [word for word in ("const", "async", "unsafe") if header[f"is_{word}"]]
        suffix = f" [{' '.join(words)}]" if words else ""
        returned = f" -> {self.type(output)}" if output else ""
        return f"{self.generics(function['generics'])}({', '.join(parts)}){returned}{suffix}"

    def generics(self, generics: dict) -> str:
        """Parameters with their bounds; those of `impl Trait` are in the types of the arguments."""
        parts = []
        for parameter in generics["params"]:
            (kind, inner), = parameter["kind"].items()
            if kind == "type" and inner["is_synthetic"]:
                continue
            text = parameter["name"]
            if kind == "const":
                text = f"const {text}: {self.type(inner['type'])}"
            elif kind == "type" and inner["bounds"]:
                text += f": {self.bounds(inner['bounds'])}"
            if kind == "type" and inner["default"]:
                text += f" = {self.type(inner['default'])}"
            parts.append(text)
        where = []
        for predicate in generics["where_predicates"]:
            (kind, inner), = predicate.items()
            if kind == "bound_predicate":
                where.append(f"{self.type(inner['type'])}: {self.bounds(inner['bounds'])}")
            elif kind == "lifetime_predicate":
                where.append(f"{inner['lifetime']}: {' + '.join(inner['outlives'])}")
            else:
                where.append(f"{self.type(inner['lhs'])} = {self.term(inner['rhs'])}")
        listed = f"<{', '.join(parts)}>" if parts else ""
        return listed + (f" where {', '.join(where)} " if where else "")

    def bounds(self, bounds: list[dict]) -> str:
        return " + ".join(self.bound(bound) for bound in bounds)

    def bound(self, bound: dict) -> str:
        (kind, inner), = bound.items()
        if kind == "outlives":
            return inner
        if kind == "use":
            return "use<..>"
        question = "?" if inner["modifier"] == "maybe" else ""
        return question + self.path(inner["trait"])

    def term(self, term: dict) -> str:
        return self.type(term["type"]) if "type" in term else term["constant"]["expr"]

    def path(self, path: dict) -> str:
        """The last name of a path, with its arguments."""
        self.note(path["id"])
        return path["path"].rsplit("::", 1)[-1] + self.arguments(path["args"])

    def note(self, number: int) -> None:
        """Notes the crate of an item."""
        known = self.paths.get(str(number))
        name = self.crates.get(str(known["crate_id"]), "") if known else ""
        if name and name not in OURS and not name.startswith("huginn_net"):
            self.foreign.add(NAMES.get(name, name.replace("_", "-")))

    def arguments(self, arguments: dict | None) -> str:
        if not arguments:
            return ""
        if "parenthesized" in arguments:
            inner = arguments["parenthesized"]
            output = f" -> {self.type(inner['output'])}" if inner["output"] else ""
            return f"({', '.join(self.type(kind) for kind in inner['inputs'])}){output}"
        if "angle_bracketed" not in arguments:
            return "(..)"
        inner = arguments["angle_bracketed"]
        parts = []
        for argument in inner["args"]:
            if argument == "infer":
                parts.append("_")
                continue
            (kind, value), = argument.items()
            parts.append({"lifetime": lambda: value, "type": lambda: self.type(value), "const": lambda: value["expr"]}[kind]())
        for constraint in inner["constraints"]:
            (kind, value), = constraint["binding"].items()
            parts.append(f"{constraint['name']} = {self.term(value)}" if kind == "equality" else f"{constraint['name']}: {self.bounds(value)}")
        return f"<{', '.join(parts)}>" if parts else ""

    def type(self, kind: dict | str) -> str:
        if isinstance(kind, str):
            return "_"
        (name, inner), = kind.items()
        if name == "resolved_path":
            return self.path(inner)
        if name in ("generic", "primitive"):
            return inner
        if name == "tuple":
            return f"({', '.join(self.type(each) for each in inner)})"
        if name == "slice":
            return f"[{self.type(inner)}]"
        if name == "array":
            return f"[{self.type(inner['type'])}; {inner['len']}]"
        if name == "borrowed_ref":
            lifetime = f"{inner['lifetime']} " if inner["lifetime"] else ""
            return f"&{lifetime}{'mut ' if inner['is_mutable'] else ''}{self.type(inner['type'])}"
        if name == "raw_pointer":
            return f"*{'mut' if inner['is_mutable'] else 'const'} {self.type(inner['type'])}"
        if name == "impl_trait":
            return f"impl {self.bounds(inner)}"
        if name == "dyn_trait":
            traits = [self.path(each["trait"]) for each in inner["traits"]]
            return f"dyn {' + '.join(traits + ([inner['lifetime']] if inner['lifetime'] else []))}"
        if name == "qualified_path":
            own = self.type(inner["self_type"])
            if not inner["trait"] or own == "Self" or not inner["trait"]["path"]:
                return f"{own}::{inner['name']}"
            return f"<{own} as {self.path(inner['trait'])}>::{inner['name']}"
        if name == "function_pointer":
            inputs = ", ".join(self.type(each) for _, each in inner["sig"]["inputs"])
            output = f" -> {self.type(inner['sig']['output'])}" if inner["sig"]["output"] else ""
            return f"fn({inputs}){output}"
        sys.exit(f"no rule for the type {name}")


if __name__ == "__main__":
    main()
