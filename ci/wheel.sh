#!/usr/bin/env bash
# Builds the Python package, installs it into a new environment, and runs its tests: wheel.sh PROGRAM
#
# Needs python3 with venv, and access to PyPI.
set -euo pipefail

HUGINN_NET=$(realpath "${1:?the program huginn-net}")
export HUGINN_NET
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet './python[test]'
"$folder/venv/bin/python" -m pytest -q -p no:cacheprovider --import-mode=importlib python/tests
