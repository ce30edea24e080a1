#!/usr/bin/env python3
"""Compares what `miniprof` says of a trace with tests/readers/mpt.py, which shares no code with it.

usage: compare.py rows|sums MINIPROF TRACE
       compare.py sums MINIPROF FOLDER

rows  each row of each table as raw numbers, in file order
sums  count, sum, least and greatest of `summary` for each name, computed anew from those rows;
      of a folder those of `summary --merge`, from the rows of all its traces
"""
import csv
import io
import pathlib
import re
import sys

import sources

COPY_KINDS = ("unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
              "PtoP")


def number(text):
    """A field as a number where it is one: 0x10, 16 and a REF column's empty 0 are the same, and so
    are -1 and the 64 bits that it is stored in."""
    try:
        return int(text, 16) if text.startswith("0x") else int(text) % 2**64
    except ValueError:
        return text


def dumped(miniprof, trace):
    """{table: (column names, rows)} as `dump` prints each table; units are part of its names."""
    tables = {}
    for table in sources.document(miniprof, "info", "--json", trace)["tables"]:
        name = table["table"]
        titles, *rows = csv.reader(io.StringIO(sources.output(
            miniprof, "dump", "--raw", "--csv", "--table", name, trace), newline=""))
        columns = [column if title == "text" else tuple(number(value or "0") for value in column)
                   for title, column in zip(titles, zip(*rows))]
        tables[name] = (titles, list(zip(*columns)))
    return tables


def compare_rows(miniprof, trace):
    """Yields what differs in the rows."""
    ours = dumped(miniprof, trace)
    theirs = {table: (sources.columns(trace)[table], rows)
              for table, rows in sources.trace(trace).rows.items() if rows}
    if not theirs:
        yield "the reader finds no rows"
    for table in sorted(set(ours) | set(theirs)):
        (columns, rows), (their_columns, their_rows) = (
            tables.get(table, ([], [])) for tables in (ours, theirs))
        if len(columns) != len(their_columns) or not all(
                re.fullmatch(theirs + "(_ns|_bytes|_khz|_kilobytes_per_second)?", name)
                for name, theirs in zip(columns, their_columns)):
            yield f"{table}: columns {columns}, reader {their_columns}"
        if len(rows) != len(their_rows):
            yield f"{table}: {len(rows)} rows, reader {len(their_rows)}"
        for place, (row, their_row) in enumerate(zip(rows, their_rows)):
            if row != their_row:
                yield f"{table} {place}: {row}, reader {their_row}"


UNIFIED = {1: "[Unified Memory Memcpy HtoD]", 2: "[Unified Memory Memcpy DtoH]",
           4: "[Unified Memory GPU page faults]", 8: "[Unified Memory Memcpy DtoD]"}


class Sums(dict):
    """{name: [calls, total, least, greatest]}"""

    def add(self, name, start, duration):
        """One activity; those with unknown or reversed times are left out."""
        if not start or duration < 0:
            return
        entry = self.setdefault(name, [0, 0, duration, duration])
        entry[0] += 1
        entry[1] += duration
        entry[2] = min(entry[2], duration)
        entry[3] = max(entry[3], duration)

    def join(self, other):
        """Those of another process."""
        for name, (calls, total, least, greatest) in other.items():
            entry = self.setdefault(name, [0, 0, least, greatest])
            self[name] = [entry[0] + calls, entry[1] + total, min(entry[2], least),
                          max(entry[3], greatest)]


def sums_of(path):
    """Sums of device activities and of API calls, from the rows."""
    tables = sources.tables(path)
    strings = {row["id"]: row["text"] for row in tables["string"]}
    shapes = {row["id"]: strings.get(row["kernel"]) for row in tables["shape"]}
    functions = {row["id"]: re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", strings.get(row["name"]) or "")
                 for row in tables["function"]}
    device, calls = Sums(), Sums()
    for row in tables["kernel"]:
        device.add(shapes.get(row["shape"]) or "[unnamed kernel]", row["start"], row["duration"])
    for row in tables["copy"]:
        device.add(f"[CUDA memcpy {COPY_KINDS[row['kind']]}]", row["start"], row["duration"])
    for row in tables["set"]:
        device.add("[CUDA memset]", row["start"], row["duration"])
    for row in tables["unified"]:
        if row["kind"] in UNIFIED:  # those that take time on a device
            device.add(UNIFIED[row["kind"]], row["start"], row["duration"])
    for row in tables["call"]:
        calls.add(functions.get(row["function"]) or "[unnamed call]", row["start"],
                  row["duration"])
    return {"gpu_activities": device, "api_calls": calls}


def compare_sums(miniprof, trace):
    """Yields what differs between `summary` and the sums of the reader's rows."""
    folder = pathlib.Path(trace)
    expected = {"gpu_activities": Sums(), "api_calls": Sums()}
    for file in folder.glob("*.mpt") if folder.is_dir() else [folder]:
        for group, sums in sums_of(str(file)).items():
            expected[group].join(sums)
    merge = ["--merge"] if folder.is_dir() else []
    summary = sources.document(miniprof, "summary", *merge, "--json", "--demangling=off", trace)
    for group in summary["groups"]:
        sums = expected[group["name"]]
        seen = set()
        for row in group["rows"]:
            name = row["name"]
            if name.startswith("[CUDA graph"):
                continue
            actual = [row["calls"], row["total_ns"], row["min_ns"], row["max_ns"]]
            if actual != sums.get(name):
                yield f"{group['name']} {name}: {actual}, reader {sums.get(name)}"
            seen.add(name)
        for name in set(sums) - seen:
            yield f"{group['name']}: {name} is missing"
    if expected["gpu_activities"] and not summary["groups"]:
        yield "the summary is empty"


if __name__ == "__main__":
    COMPARE = {"rows": compare_rows, "sums": compare_sums}[sys.argv.pop(1)]
    sources.main(__doc__, COMPARE)
