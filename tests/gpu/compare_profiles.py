#!/usr/bin/env python3
"""Compares a miniprof summary with torch.profiler's trace of the same loop.

    compare_profiles.py SUMMARY.json TRACE.json [--tolerance PERCENT]

Calls per kernel name must be equal, total kernel time within the tolerance (3 %). The two are
different runs of one program: counts are a property of the program, times are not, hence the
tolerance.
Copies and sets are compared as counts per kind. Exit status 1 on a difference.
"""
import argparse
import collections
import gzip
import json
import re
import sys


def spelled(name):
    """A kernel's name without the blanks in which demanglers differ."""
    return re.sub(r"\s+", "", name)


def torch_rows(path):
    """Calls and ns per kernel name, and calls per copy or set name, of a Chrome trace."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    kernels = collections.defaultdict(lambda: [0, 0.0])
    memory = collections.Counter()
    device = [e for e in events if e.get("ph") == "X" and
              e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    for event in device:
        if event["cat"] == "kernel":
            row = kernels[spelled(event["name"])]
            row[0] += 1
            row[1] += event["dur"] * 1e3
        else:
            kind = "memset" if event["cat"] == "gpu_memset" else event["name"].split()[1]
            memory[kind] += 1
    return kernels, memory


def miniprof_rows(path):
    """The same of `miniprof summary --json`."""
    with open(path) as file:
        report = json.load(file)
    kernels = collections.defaultdict(lambda: [0, 0.0])
    memory = collections.Counter()
    groups = [g for g in report["groups"] if g["name"] == "gpu_activities"]
    for row in (row for group in groups for row in group["rows"]):
        match = re.fullmatch(r"\[CUDA (memcpy (\w+)|memset)\]", row["name"])
        if match:
            memory[match.group(2) or "memset"] += row["calls"]
        else:
            entry = kernels[spelled(row["name"])]
            entry[0] += row["calls"]
            entry[1] += row["total_ns"]
    return kernels, memory


def compare_counts(ours, theirs, what):
    differences = 0
    for name in sorted(set(ours) | set(theirs)):
        if ours.get(name, 0) != theirs.get(name, 0):
            print(f"{what}: miniprof {ours.get(name, 0)}, torch.profiler {theirs.get(name, 0)}:"
                  f" {name[:120]}")
            differences += 1
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("summary")
    parser.add_argument("trace")
    parser.add_argument("--tolerance", type=float, default=3.0, help="of the total time, percent")
    arguments = parser.parse_args()
    ours, our_memory = miniprof_rows(arguments.summary)
    theirs, their_memory = torch_rows(arguments.trace)
    differences = compare_counts({n: r[0] for n, r in ours.items()},
                                 {n: r[0] for n, r in theirs.items()}, "calls")
    differences += compare_counts(our_memory, their_memory, "copies and sets")
    our_time = sum(row[1] for row in ours.values())
    their_time = sum(row[1] for row in theirs.values())
    percent = 100 * (our_time / their_time - 1) if their_time else float("inf")
    print(f"{len(ours)} kernel names, {sum(r[0] for r in ours.values())} kernels,"
          f" {differences} differences in counts; GPU time {our_time / 1e6:.3f} ms,"
          f" torch.profiler {their_time / 1e6:.3f} ms ({percent:+.2f} %)")
    sys.exit(differences > 0 or abs(percent) > arguments.tolerance)


if __name__ == "__main__":
    main()
