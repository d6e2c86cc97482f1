#!/usr/bin/env bash
# Checks what artifacts are made of, without building one: artifacts.sh
#
# The list of dependencies against the schema of CycloneDX, the example for Kubernetes against the schemas of Kubernetes, and the packages
# of the crates under another name than ours. Compares the interfaces with those of the last release, if there is a tag and `cargo install
# cargo-semver-checks`. Needs python3 with venv, and access to PyPI and crates.io.
set -euo pipefail
cd "$(dirname "$0")/.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python3 -m venv "$tmp/venv"
"$tmp/venv/bin/pip" install -q --disable-pip-version-check 'cyclonedx-python-lib[json-validation]==11.12.0' kubernetes-validate

dist/sbom.py "$(rustc --print host-tuple)" parquet tls >"$tmp/sbom.json"
dist/sbom.py "$(rustc --print host-tuple)" parquet tls | cmp - "$tmp/sbom.json"
"$tmp/venv/bin/python" - "$tmp/sbom.json" <<'CHECK'
import json
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

with open(sys.argv[1]) as file:
    text = file.read()
bom = json.loads(text)
validator = JsonStrictValidator(SchemaVersion.V1_5)
if error := validator.validate_str(text):
    sys.exit(f"SBOM: {error}")
# A validator that accepts everything would be noticed.
if not validator.validate_str(json.dumps({**bom, "components": [{"type": "no-type", "name": ""}]})):
    sys.exit("the validator accepts a component of an unknown type")
names = {component["name"] for component in bom["components"]}
if not {"huginn-net-core", "clap", "parquet", "rustls"} <= names or "criterion" in names:
    sys.exit(f"SBOM: not the crates of the program: {sorted(names)}")
unhashed = [component["name"] for component in bom["components"] if "hashes" not in component and "huginn" not in component["name"]]
if unhashed:
    sys.exit(f"SBOM: without a hash: {unhashed}")
print(f"SBOM: {len(names)} components, valid")
CHECK

"$tmp/venv/bin/kubernetes-validate" --strict dist/kubernetes.yaml
dist/package.py example

tag=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)
if [ -z "$tag" ]; then
    echo "no release yet: no interface to compare with"
elif cargo semver-checks --version >/dev/null 2>&1; then
    cargo semver-checks --workspace --baseline-rev "$tag"
else
    echo "cargo-semver-checks is not installed: interfaces are not compared with $tag"
fi
