#!/usr/bin/env bash
# Builds a wheel of the Python package from its source distribution, installs it into new environments, and runs its tests:
# wheel.sh PROGRAM
#
# The first environment has the wheel alone, and neither Rust nor a package index. The tests need others.
#
# The data source runs on Sail and on Spark in one process. Spark with two executors of its own runs what depends on them: where
# tasks run, what they inherit, and what they are sent.
# Needs python3 with venv, Java 17 and access to PyPI (uv reads UV_INDEX_URL, not the settings of pip).
set -euo pipefail

HUGINN_NET=$(realpath "${1:?the program huginn-net}")
export HUGINN_NET
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# environment NAME PACKAGE...: a new environment with the wheel and these packages. uv unpacks each package once.
environment() {
    "$uv" venv --quiet --python python3 "$folder/$1"
    "$uv" pip install --quiet --python "$folder/$1" --cache-dir "$folder/packages" "$folder"/huginn_net-*.whl "${@:2}"
}

# run_tests NAME FILE...: a test that takes five minutes shows where each thread is.
run_tests() {
    "$folder/$1/bin/python" -m pytest -q -p no:cacheprovider --import-mode=importlib -o faulthandler_timeout=300 "${@:2}"
}

# Without optimisation, which takes minutes and changes no value.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export CARGO_PROFILE_RELEASE_OPT_LEVEL=0
python3 -m venv "$folder/build"
"$folder/build/bin/pip" install --quiet uv
uv=$folder/build/bin/uv
python/build-wheels.sh "$folder" "$(uname -m)-unknown-linux-gnu"

for file in huginn_net/_native.abi3.so huginn_net/py.typed LICENSE-MIT LICENSE-APACHE cyclonedx.json; do
    python3 -m zipfile -l "$folder"/huginn_net-*.whl | grep "$file " >/dev/null || {
        echo "FAILED: the wheel has no $file" >&2
        exit 1
    }
done
python3 -m venv "$folder/empty"
env -i PATH=/usr/bin:/bin "$folder/empty/bin/pip" install --quiet --no-index --find-links "$folder" huginn-net
# The first example of the page needs no other package.
awk '/^```python$/ { inside = 1; next } /^```$/ && inside { exit } inside' python/README.md >"$folder/first.py"
env -i PATH=/usr/bin:/bin "$folder/empty/bin/python" "$folder/first.py" | tee "$folder/first"
grep ' t13d' "$folder/first" >/dev/null
# A method whose package is missing says what to install.
env -i PATH=/usr/bin:/bin "$folder/empty/bin/python" -c 'import huginn_net as hn; hn.read_pcap([]).to_polars()' 2>"$folder/missing" || true
grep 'pip install "huginn-net\[polars\]"' "$folder/missing" >/dev/null

# The versions of Sail and PySpark that the package names.
environment tables "huginn-net[sail] @ file://$(echo "$folder"/huginn_net-*.whl)" boto3 chdb deltalake duckdb "moto[server,s3]" mypy polars \
    "pyiceberg[sql-sqlite]" pytest pytz
run_tests tables python/tests
(cd python && "$folder/tables/bin/python" -m mypy --cache-dir "$folder/mypy" huginn_net)

environment spark boto3 "moto[server,s3]" obstore pandas pyarrow pyspark==4.1.* pytest
PATH=$folder/spark/bin:$PATH
HUGINN_NET_SPARK='local[2]' run_tests spark python/tests/test_spark.py
HUGINN_NET_SPARK='local-cluster[2,1,1024]' run_tests spark python/tests/test_spark.py -k 'counts or s3 or stream_reads'
