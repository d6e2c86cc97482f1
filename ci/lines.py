#!/usr/bin/env python3
"""Counts the lines of product code of each crate: without tests, comments, blank lines and examples.

    ci/lines.py [--files] [DIRECTORY]

--files lists the files, longest first. DIRECTORY is a checkout (default: this one).
"""
import argparse
import collections
import pathlib
import re

# Formatted code closes an item at the indentation of its first line.
TEST = re.compile(r"(\s*)#\[cfg\((all\()?test\b")


def code_lines(text):
    """The lines of code outside of tests."""
    lines, indent = [], None
    in_comment = False
    for line in text.splitlines():
        bare = line.strip()
        if indent is not None:
            # The attributes and the first line of the item, then all up to its end.
            if bare.endswith(";") and line.startswith(indent) and line[len(indent)] != " " or line.rstrip() == indent + "}":
                indent = None
            continue
        if match := TEST.match(line):
            indent = match[1]
            continue
        if in_comment or bare.startswith("/*"):
            in_comment = "*/" not in bare
            continue
        if bare and not bare.startswith("//"):
            lines.append(line)
    return lines


def is_product(path):
    return not path.name.endswith("tests.rs") and path.name not in ("sizes.rs", "build.rs") and "tests" not in path.parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files, longest first")
    parser.add_argument("directory", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    arguments = parser.parse_args()
    crates, files = collections.Counter(), {}
    for path in sorted(arguments.directory.glob("huginn-net*/src/**/*.rs")):
        name = path.relative_to(arguments.directory)
        if is_product(name):
            files[name] = len(code_lines(path.read_text(encoding="utf-8")))
            crates[name.parts[0]] += files[name]
    rows = sorted(files.items(), key=lambda row: -row[1]) if arguments.files else crates.most_common()
    for name, lines in rows:
        print(f"{lines:>7}  {name}")
    print(f"{sum(crates.values()):>7}  all")


if __name__ == "__main__":
    main()
