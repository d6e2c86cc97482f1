#!/usr/bin/env python3
"""Packages the crates for a registry, under other names if you wish: package.py [PREFIX] [--publish]

The names `huginn-net` and `huginn-net-*` belong to another project on crates.io. PREFIX takes their place: with `example`, the crates are
`example` and `example-core` to `example-cli`. Only names of packages change: libraries keep `huginn_net...` (`[lib] name`), the
program is `huginn-net`, and no source does. The script copies the commit to a temporary folder, renames there, and runs `cargo package`, or with
--publish `cargo publish --workspace`, which needs a token of the registry and compiles each package first.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = "huginn-net"


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--publish"]
    prefix = arguments[0] if arguments else OURS
    if len(arguments) > 1 or not re.fullmatch(r"[a-z][a-z0-9-]*[a-z0-9]", prefix):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE)
        subprocess.run(["tar", "x", "-C", folder], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            sys.exit("git archive failed")
        for manifest in [root / "Cargo.toml", *root.glob("*/Cargo.toml")]:
            rename(manifest, prefix)
            rename_dependencies(manifest, prefix)
        # Names of packages in the workspace.
        subprocess.run(["cargo", "update", "--workspace", "--quiet"], cwd=root, check=True)
        if "--publish" in sys.argv:
            command = ["cargo", "publish", "--workspace"]
        else:
            # CI compiles the same sources.
            command = ["cargo", "package", "--workspace", "--no-verify", "--quiet"]
        excluded = [f"--exclude={name}" for name in ("huginn-lab", f"{prefix}-benches")]
        subprocess.run([*command, *excluded, "--allow-dirty", "--target-dir", root / "target"], cwd=root, check=True)
        packages = sorted((root / "target" / "package").glob("*.crate"))
        for package in packages:
            print(f"{package.stat().st_size:9} {package.name}")
        strangers = [package.name for package in packages if not package.name.startswith(prefix)]
        if strangers or not packages:
            sys.exit(f"not under the name {prefix}: {strangers}")


def renamed(name: str, prefix: str) -> str:
    return prefix + name.removeprefix(OURS)


def rename(manifest: pathlib.Path, prefix: str) -> None:
    """Renames a package; its library keeps its name."""
    text = manifest.read_text()
    name = re.search(r"^\[package\]\nname = \"([^\"]+)\"", text, re.MULTILINE)
    if not name or not name[1].startswith(OURS):
        return
    name = name[1]
    text = text.replace(f'name = "{name}"', f'name = "{renamed(name, prefix)}"', 1)
    library = f'name = "{name.replace("-", "_")}"'
    lib = re.search(r"^\[lib\]\n((?:[^\[\n].*\n)*)", text, re.MULTILINE)
    if lib and "name = " not in lib[1]:
        text = text.replace("[lib]\n", f"[lib]\n{library}\n", 1)
    elif not lib and (manifest.parent / "src" / "lib.rs").exists():
        text += f"\n[lib]\n{library}\n"
    manifest.write_text(text)


def rename_dependencies(manifest: pathlib.Path, prefix: str) -> None:
    """Names the packages of dependencies, whose keys stay."""
    row = re.compile(rf"^({OURS}[a-z-]*) = {{ path", re.MULTILINE)
    manifest.write_text(row.sub(lambda found: f'{found[1]} = {{ package = "{renamed(found[1], prefix)}", path', manifest.read_text()))


if __name__ == "__main__":
    main()
