#!/usr/bin/env python3
"""Compares `miniprof top --json` of a whole trace with sums over the rows that tests/readers/mpt.py
reads: time in which each device was busy, kernels, layers (the innermost NVTX range of the
launching call), copies, iterations. No code is shared with it.

usage: compare_top.py MINIPROF TRACE
"""
import bisect
import collections
import json

import sources

PUSH, POP, START, END = 1, 2, 3, 4
DIRECTIONS = {1: "HtoD", 3: "HtoD", 2: "DtoH", 4: "DtoH"}


def innermost(rows):
    """{thread: ([times], [(domain, name) since then])} and {(domain, name): [count, ns]} of the
    pushes around which no other is open."""
    history, opened, steps = {}, collections.defaultdict(list), {}
    for row in rows:
        thread = opened[row["thread"]]
        if row["kind"] in (PUSH, START):
            thread.append((row["domain"], row["name"], row["time"], row["range"], row["kind"]))
        elif row["kind"] == POP:
            found = [i for i, entry in enumerate(thread)
                     if entry[0] == row["domain"] and entry[4] == PUSH]
            if found:
                entry = thread.pop(found[-1])
                if not thread:
                    step = steps.setdefault(entry[:2], [0, 0])
                    step[0] += 1
                    step[1] += row["time"] - entry[2]
        elif row["kind"] == END:
            for entries in opened.values():
                entries[:] = [e for e in entries if e[4] != START or e[3] != row["range"]]
        else:
            continue
        times, names = history.setdefault(row["thread"], ([], []))
        times.append(row["time"])
        names.append(thread[-1][:2] if thread else (0, 0))
    return history, steps


def union(stretches):
    """Length of what the stretches cover."""
    total, until = 0, 0
    for begin, end in sorted(stretches):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


class Sums:
    """What follows from the rows."""

    def __init__(self, trace):
        self.kernels, self.layers = collections.Counter(), {}
        self.copies = collections.Counter()
        self.stretches = collections.defaultdict(list)
        self.texts = {row["id"]: row["text"] for row in trace["string"]}
        self.history, self.steps = innermost(trace["nvtx"])
        self.calls = {}
        for row in trace["call"]:
            self.calls.setdefault(row["correlation"], row)
        self.devices = {row["id"]: row["device"] for row in trace["stream"]}
        shapes = {row["id"]: row["kernel"] for row in trace["shape"]}
        kernels = {}
        for row in trace["kernel"]:
            entry = kernels.setdefault(shapes[row["shape"]], [0, 0])
            entry[0] += 1
            entry[1] += row["duration"]
            self.work(row)
        self.kernels = sorted(map(tuple, kernels.values()))
        for row in trace["copy"]:
            self.copies[DIRECTIONS.get(row["kind"], "other")] += row["bytes"]
            self.work(row)
        for table in ("set", "graph"):
            for row in trace[table]:
                self.work(row)
        self.busy = {device: union(stretches) for device, stretches in self.stretches.items()}

    def work(self, row):
        """A row of work on a device."""
        self.stretches[self.devices[row["stream"]]].append(
            (row["start"], row["start"] + row["duration"]))
        call = self.calls.get(row["correlation"])
        if not call:
            return
        times, names = self.history.get(call["thread"], ([], []))
        at = bisect.bisect_right(times, call["start"])
        domain, name = names[at - 1] if at else (0, 0)
        key = (self.texts.get(domain), self.texts.get(name, "<no range>"))
        entry = self.layers.setdefault(key, [0, 0])
        entry[0] += 1
        entry[1] += row["duration"]

    def iteration(self):
        """The most frequent outermost pushes."""
        if not self.steps:
            return None
        (_, name), (count, total) = max(self.steps.items(), key=lambda item: item[1][0])
        return self.texts.get(name), count, (total + count // 2) // count


def compare(miniprof, path):
    """Yields what differs."""
    expected = Sums(sources.tables(path))
    text = sources.output(miniprof, "top", "--json", "--top", "100", path)
    found = json.loads(text.splitlines()[-1])
    iterations = found["iterations"]
    pairs = {
        "busy": (expected.busy, {d["device"]: d["busy_ns_all"] for d in found["devices"]}),
        "kernels": (expected.kernels[-100:] if len(expected.kernels) <= 100 else None,
                    sorted((k["count_all"], k["ns_all"]) for k in found["kernels"])),
        "layers": (expected.layers if len(expected.layers) <= 100 else None,
                   {(k["domain"], k["name"]): [k["count_all"], k["ns_all"]]
                    for k in found["layers"]}),
        "copies": ({name: expected.copies[name] for name in found["copies"]},
                   {name: entry["bytes_all"] for name, entry in found["copies"].items()}),
        "iterations": (expected.iteration(), iterations and (
            iterations["name"], iterations["all"]["count"], iterations["all"]["mean_ns"])),
    }
    for name, (ours, theirs) in pairs.items():
        if ours is not None and ours != theirs:
            yield f"{name}: {theirs} instead of {ours}"


if __name__ == "__main__":
    sources.main(__doc__, compare)
