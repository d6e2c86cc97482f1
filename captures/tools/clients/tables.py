"""The tables of recorded clients, huginn-net-db/clients/*.tsv, and what a recording changes in them."""

import csv
import itertools
import re

from registries import number

FINGERPRINTS = ("ja4_stable", "akamai_hash", "hassh")
# Rows with the same values in these columns differ in the versions of a program alone.
SAME = ("ja4_stable", "ja4", "akamai_hash", "hassh", "library", "application", "imitates", "own_settings", "differs")


class Tables:
    def __init__(self, folder):
        self.folder = folder
        self.rows = {path.name: read(path) for path in sorted(folder.glob("*.tsv"))}
        # The versions of each program and fingerprint.
        self.known = {}
        for row in itertools.chain(*self.rows.values()):
            if fingerprint(row) and not row.get("imitates"):
                program, version = named(row)
                self.known.setdefault((program, fingerprint(row)), []).append(version)

    def recorded(self, package, library_version=""):
        """The recorded versions of a package, with this version of its library, if one is given."""
        rows = (row for row in itertools.chain(*self.rows.values()) if library_version in ("", row.get("library_version")))
        return {version_of(package, row) for row in rows} - {""}

    def changes(self, rows):
        """What rows change: fingerprints that a program did not have, and versions after the last recorded one."""
        for row in rows:
            program, version = named(row)
            versions = self.known.setdefault((program, fingerprint(row)), [])
            last = max(versions, key=number, default=None)
            versions.append(version)
            if row["imitates"]:
                continue
            if last is None:
                yield f"new row: {program} {version}: {fingerprint(row)} ({row['evidence']})"
            elif number(version) > number(last):
                yield f"range grows: {program} {last} to {version}: {fingerprint(row)}"

    def add(self, package, new):
        """Adds rows to tables, after those of their package. They replace the last recorded version, if all of its fingerprints
        were recorded in an older and in this version; imitations replace the same ones of other versions."""
        rows = [row for name in new for row in self.rows.get(name, [])]
        keys, offered = ({of(row) for row in itertools.chain(*new.values())} for of in (same, lambda row: version_of(package, row)))
        before = {version_of(package, row) for row in rows} - offered - {""}
        last = max(before, key=number, default=None)
        older = {same(row) for row in rows if version_of(package, row) in before - {last}}
        is_replaced = all(same(row) in keys & older for row in rows if version_of(package, row) == last)

        def stays(row):
            version = version_of(package, row)
            replaced = version in offered or version == last and (is_replaced or row["imitates"])
            return not version or not replaced or same(row) not in keys

        for name in filter(new.get, new):
            rows = list(filter(stays, self.rows[name]))
            place = max((at for at, row in enumerate(rows, 1) if version_of(package, row)), default=len(rows))
            path = self.folder / name
            write(path, path.read_text().splitlines()[0].split("\t"), rows[:place] + new[name] + rows[place:])
            self.rows[name] = read(path)

    def recorded_rows(self):
        """How many rows are recorded, not constructed."""
        return sum(row.get("source") != "constructed" for row in itertools.chain(*self.rows.values()))


def read(path):
    with path.open(newline="") as table:
        return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(path, columns, rows):
    lines = dict.fromkeys("\t".join(row[column] for column in columns) for row in rows)
    path.write_text("\n".join(["\t".join(columns), *lines]) + "\n")
    print(f"{path.name}: {len(lines)} rows", flush=True)


def fingerprint(row):
    return next(filter(None, map(row.get, FINGERPRINTS)), "")


def same(row):
    return tuple(row.get(column, "") for column in SAME)


def version_of(package, row):
    """The version of a package in the evidence of a row, or an empty text."""
    found = re.search(r"(?:^|\s)" + re.escape(package) + r"([^\s,]+)", row["evidence"])
    return found[1] if found else ""


def named(row):
    """The program that a name shows, and its version: the library, unless the application has settings of its own."""
    if row.get("own_settings") or not row.get("library_version"):
        return row["application"], row["application_version"]
    return row["library"], row["library_version"]
