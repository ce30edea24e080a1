"""Reads `miniprof export --to csv`: a folder with a file for each kind."""
import csv
import os
import re
import sys

FORMAT = "csv"
KINDS = {"kernel", "copy", "set", "graph", "unified", "call", "range"}


def exact(cell):
    """The text of a cell, without the apostrophe that keeps it from being a formula."""
    return re.sub(r"^'('*[=+@-])", r"\1", cell)


def rows(path):
    """(kind, name, domain, duration in ns) of each row."""
    csv.field_size_limit(sys.maxsize)
    for kind in KINDS:
        with open(os.path.join(path, kind + ".csv"), encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield (kind, exact(row["name"]), exact(row.get("domain") or "") or None,
                       int(row["dur_ns"]))
