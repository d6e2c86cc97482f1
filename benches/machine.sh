# The conditions of a measurement and the pages of results, for the scripts that source this file from the root of the checkout.

machine() {
    local model memory
    model=$(sed -n '/^model name/{s/[^:]*: //p;q}' /proc/cpuinfo)
    memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
    echo "${model:-$(uname -m)}, $(nproc) cores, $memory, $(uname -s) $(uname -r), $(rustc --version | cut -d' ' -f1,2)"
}

# revision: prints the commit, with -dirty if files other than the pages of results have changed.
revision() {
    local changed=
    git diff --quiet HEAD -- . ':!benches/README.md' ':!benches/results' || changed=-dirty
    echo "$(git rev-parse --short HEAD)$changed"
}

# measure_parts PAGE PART...: puts the output of measure_PART between the part's markers in a page. Files go to $tmp.
measure_parts() {
    local page=$1 part
    shift
    for part; do
        echo "== $part" >&2
        { echo "$(machine); revision $(revision), $(date -u +%F)."; echo; "measure_$part"; } >"$tmp/$part.md"
        replace_part "$page" "$part" "$tmp/$part.md"
    done
}

# replace_part PAGE PART FILE: puts a file between the part's markers in a page.
replace_part() {
    awk -v part="$2" -v file="$3" '
        $0 == "<!-- " part " -->" { print; print ""; while ((getline line <file) > 0) print line; print ""; inside = 1; next }
        $0 == "<!-- end of " part " -->" { inside = 0 }
        !inside' "$1" >"$3.page"
    cp "$3.page" "$1"
}
