#!/usr/bin/env python3
"""Copies README.md and docs/*.md for a package. A link to a file that is not among them becomes its text: package-docs.py FOLDER

`package-docs.py --check FOLDER` fails if a page there links to a file that does not exist.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[([^\[\]]*)\]\(([^()\s]+)\)")


def pages(folder: pathlib.Path) -> list[pathlib.Path]:
    return [folder / "README.md", *sorted(folder.glob("docs/*.md"))]


def is_elsewhere(target: str, page: pathlib.Path, known: set[pathlib.Path]) -> bool:
    """Whether a link of a page names a file that is not known."""
    path = target.split("#")[0]
    return bool(path) and "://" not in path and (page.parent / path).resolve() not in known


def main() -> None:
    match sys.argv[1:]:
        case ["--check", folder]:
            folder = pathlib.Path(folder).resolve()
            known = set(folder.rglob("*"))
            broken = [
                f"{page.relative_to(folder)}: {link[2]}"
                for page in pages(folder)
                for link in LINK.finditer(page.read_text())
                if is_elsewhere(link[2], page, known)
            ]
            if broken:
                sys.exit("links to files that the package lacks:\n" + "\n".join(broken))
        case [folder]:
            known = set(pages(ROOT))
            for page in pages(ROOT):
                plain = lambda link: link[1] if is_elsewhere(link[2], page, known) else link[0]
                copy = pathlib.Path(folder) / page.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(LINK.sub(plain, page.read_text()))
        case _:
            sys.exit(__doc__)


main()
