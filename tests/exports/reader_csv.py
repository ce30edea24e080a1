"""Reads `miniprof export --to csv`: a folder with a file for each kind."""
import csv
import os
import sys

FORMAT = "csv"
KINDS = {"kernel", "copy", "set", "graph", "unified", "call", "range"}


def rows(path):
    """(kind, name, domain, duration in ns) of each row."""
    csv.field_size_limit(sys.maxsize)
    for kind in KINDS:
        with open(os.path.join(path, kind + ".csv"), encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield kind, row["name"], row.get("domain") or None, int(row["dur_ns"])
