#!/usr/bin/env bash
# Checks the files for Prometheus and Grafana in dist: the alerting rules, their unit tests, and the syntax of the queries of
# the dashboard. A test of huginn-net-cli checks the names of the metrics. Needs the Debian packages prometheus and jq.
set -euo pipefail
cd "$(dirname "$0")/.."

queries=$(mktemp --suffix .json)
trap 'rm -f "$queries"' EXIT

promtool check rules dist/prometheus-rules.yml
promtool test rules ci/prometheus-rules-test.yml
# The queries as recording rules, with values for the variables of Grafana.
jq '{groups: [{name: "dashboard", rules: [.panels[] | select(.targets) | . as $panel | .targets[] | {
        record: "panel_\($panel.id)_\(.refId)",
        expr: .expr | gsub("\\$__rate_interval|\\$__range"; "5m") | gsub("\\$(job|instance)"; "x")
    }]}]}' dist/grafana-dashboard.json >"$queries"
promtool check rules "$queries"
