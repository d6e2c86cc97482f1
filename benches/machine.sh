# The conditions of a measurement, for the scripts that source this file from the root of the checkout.

machine() {
    local model memory
    model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
    echo "${model:-$(uname -m)}, $(nproc) cores, $memory, $(uname -s) $(uname -r), $(rustc --version | cut -d' ' -f1,2)"
}

# revision: prints the commit, with -dirty if files other than the pages of results have changed.
revision() {
    local changed=
    git diff --quiet HEAD -- . ':!benches/README.md' ':!benches/results' || changed=-dirty
    echo "$(git rev-parse --short HEAD)$changed"
}
