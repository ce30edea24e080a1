#!/usr/bin/env python3
"""Law: nvprof's options print the rows of miniprof's own reports, as text and as nvprof's CSV.

Each cell is the number of the own CSV as it is rounded there, in the unit that stands with it or
above it.
"""
import csv
import functools
import itertools
import os
import sys
import tempfile

import formats
import laws
import totals
import transform

# nvprof's option, and the command that has the same rows.
SPELLINGS = [
    ("--print-gpu-summary", ("summary", "--gpu")),
    ("--print-api-summary", ("summary", "--api")),
    ("--print-summary-per-gpu", ("summary", "--per-gpu")),
    ("--print-gpu-trace", ("gpu-trace",)),
    ("--print-api-trace", ("api-trace",)),
    ("--dependency-analysis --print-gpu-summary", ("deps",)),
    ("--print-gpu-summary --csv", ("summary", "--gpu")),
    ("--print-api-summary --csv", ("summary", "--api")),
    ("--print-summary-per-gpu --csv", ("summary", "--per-gpu")),
    ("--print-gpu-trace --csv", ("gpu-trace",)),
    ("--print-api-trace --csv", ("api-trace",)),
]
# What nvprof's layout has in another form: a cut name, or a unit of 1024 bytes a second.
OTHERWISE = {"Device", "Throughput", "Unified Memory"}
COPIES = tempfile.TemporaryDirectory(prefix="miniprof-laws.")
TRACES = tuple(trace for trace in laws.SINGLE if laws.size(trace) <= laws.SMALL["gpu-trace"])


@functools.lru_cache(maxsize=None)
def without_costs():
    """Copies of the traces of which is not known what recording costs: nvprof's table of the path
    has no row for it."""
    return tuple(transform.write(transform.without_costs(transform.read(
        os.path.join(laws.DATA, trace))), os.path.join(COPIES.name, os.path.basename(trace)))
                 for trace in TRACES)


def traces_of(report):
    return without_costs() if report == ("deps",) else TRACES


def table_of(text):
    """(titles, rows) of nvprof's CSV; numbers get the unit of their column."""
    titles, units, rows, longest, ours = [], None, [], [], True
    for line in text.splitlines():
        if line.startswith("=="):
            ours = "Metric result" not in line and ours or "Profiling result" in line
            continue
        cells = next(csv.reader([line]), [])
        if not ours or len(cells) < 2:
            continue
        if not titles or cells[0] == titles[0]:
            titles, units, longest = cells, None, max(longest, cells, key=len)
        elif units is None:
            units = cells
        else:
            rows.append({title: cell + unit if laws.number_of(cell) else cell or "-"
                         for title, cell, unit in zip(titles, cells, units)})
    return longest, rows


def without_parameters(rows, column):
    """nvprof demangles the parameters of a template in its way."""
    for row in rows:
        if row.get(column):
            row[column] = row[column].split("<")[0] or row[column]
    return rows


def with_other(rows):
    """The rows of a path with nvprof's <Other> instead of the parts that belong to no activity."""
    found = []
    for _, of_trace in itertools.groupby(rows, key=lambda row: row["process"]):
        of_trace = list(of_trace)
        parts = [row for row in of_trace if totals.is_part(row["name"])]
        other = {**of_trace[0], "name": "<Other>", "waiting_ns": "0",
                 "critical_ns": str(sum(int(row["critical_ns"]) for row in parts)),
                 "critical_path_percent": str(sum(float(row["critical_path_percent"])
                                                  for row in parts))}
        found += sorted([row for row in of_trace if row not in parts] + [other],
                        key=lambda row: (-int(row["critical_ns"]), -int(row["waiting_ns"]),
                                         row["name"]))
    return found


def main():
    verdicts = laws.Verdicts()
    for options, report in SPELLINGS:
        traces = (one for trace in traces_of(report) for one in ("-i", trace))
        text = laws.run("nvprof", "--log-file", "%1", *traces, *options.split())
        rows = formats.with_joined(laws.sheet(*report, *traces_of(report)))
        rows = without_parameters(with_other(rows) if report == ("deps",) else rows, "name")
        best = [f"no table with {len(rows)} rows"]
        for titles, cells in ([table_of(text)] if "--csv" in options else
                              formats.tables_of([text])):
            if len(cells) == len(rows):
                best = formats.columns_against(
                    [title for title in titles if title not in OTHERWISE],
                    without_parameters(cells, "Name"), rows, nvprof=True)
        verdicts.say(f"nvprof {options}: {' '.join(report)}", best)
    return verdicts


if __name__ == "__main__":
    sys.exit(main().end())
