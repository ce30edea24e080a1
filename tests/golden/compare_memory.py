#!/usr/bin/env python3
"""Compares `miniprof memory` with what follows from the rows that `miniprof dump --json` prints of
a trace: totals and peaks by device and kind, what was alive at each peak, pools, what was not
freed, churn, and the time line. No code is shared with it, and calls and NVTX ranges are looked up
for each row by itself instead of in a sweep.

usage: compare_memory.py MINIPROF TRACE
"""
import collections
import json
import re

import sources

HOST_KINDS = ("pageable", "pinned")
STATIC_KINDS = ("device_static", "managed_static")
MOST = "1000000"


def number(value):
    """Of what is printed in base 16."""
    return int(value, 16) if isinstance(value, str) else value


class Program:
    """Who called what inside which range."""

    def __init__(self, miniprof, trace):
        self.calls = {}
        for row in sources.dumped(miniprof, trace, "call"):
            kept = self.calls.setdefault(row["correlation"], row)
            if row["start"] < kept["start"]:
                self.calls[row["correlation"]] = row
        self.nvtx = sources.dumped(miniprof, trace, "nvtx")
        self.first = min([row["time"] for row in self.nvtx] +
                         [row["start"] for row in self.calls.values()], default=0)

    def ranges_open(self, thread, time):
        """(name, domain) of the pushes of a thread that are open when a call begins."""
        opened = []
        for row in self.nvtx:
            if row["thread"] != thread or row["time"] > time:
                continue
            if row["kind"] == "push":
                opened.append((row["name"] or "<unnamed>", row["domain"]))
            elif row["kind"] == "pop":
                of_domain = [i for i, entry in enumerate(opened) if entry[1] == row["domain"]]
                if of_domain:
                    del opened[of_domain[-1]]
        return opened

    def source(self, row):
        """((function, range, domain), duration) of the call that a row of memory came from."""
        call = self.calls.get(row["correlation"])
        if not row["correlation"] or not call:
            return (None, None, None), 0
        opened = self.ranges_open(call["thread"], call["start"])
        name, domain = opened[-1] if opened else (None, None)
        function = re.sub(r"(_v\d+|_ptsz|_ptds)*$", "", call["function"])
        return (function, name, domain), call["duration"]


class Place:
    """Bytes in one device, kind or pool."""

    def __init__(self):
        self.allocations = self.frees = self.unknown = self.bytes = self.live = self.peak = 0
        self.peak_time, self.alive = None, {}

    def result(self, first):
        """As the command prints it."""
        return {"allocations": self.allocations, "frees": self.frees,
                "unknown_frees": self.unknown, "bytes": self.bytes, "peak_bytes": self.peak,
                "peak_ns": None if self.peak_time is None else self.peak_time - first,
                "end_bytes": self.live}


def places_of(row):
    """Keys of the places that a row counts in."""
    device = "host" if row["kind"] in HOST_KINDS else row["device"]
    places = [("device", device), ("kind", device, row["kind"])]
    if row["pool_type"]:
        places.append(("pool", number(row["pool"])))
    return places


class Story:
    """The rows of memory one after the other."""

    def __init__(self, rows, program):
        self.places = collections.defaultdict(Place)
        self.alive = {}
        self.churn = collections.defaultdict(collections.Counter)
        self.changes = []
        self.timed = set()
        self.program = program
        for row in sorted(rows, key=lambda row: row["time"]):
            self.take(row)

    def end(self, row, time):
        """An allocation is over."""
        for key in places_of(row):
            self.places[key].live -= row["bytes"]
        self.note(row, -row["bytes"], time)

    def note(self, row, change, time):
        """A row of the time line."""
        places = places_of(row)
        self.changes.append((time - self.program.first, change, self.places[places[0]].live,
                             self.places[places[2]].live if len(places) > 2 else None))

    def time_of(self, row, duration):
        """A call's time counts once."""
        if row["correlation"] in self.timed:
            return 0
        self.timed.add(row["correlation"])
        return duration

    def take(self, row):
        """One row."""
        address = number(row["address"])
        before = self.alive.pop(address, None)
        if before:
            self.end(before, row["time"])
        source, duration = self.program.source(row)
        row["source"] = source
        duration = self.time_of(row, duration)
        for key in places_of(row):
            self.count(self.places[key], row, before)
        if row["operation"] == "allocate":
            self.alive[address] = row
            self.note(row, row["bytes"], row["time"])
            for key in places_of(row)[:1]:
                place = self.places[key]
                if place.peak_time == row["time"]:
                    place.alive = {a: r for a, r in self.alive.items() if key in places_of(r)}
        if row["kind"] not in STATIC_KINDS:
            self.count_churn(row, before, duration)

    @staticmethod
    def count(place, row, before):
        """A row into a place."""
        if row["operation"] == "release":
            place.frees += 1
            place.unknown += before is None
            return
        place.allocations += 1
        place.bytes += row["bytes"]
        place.live += row["bytes"]
        if place.peak_time is None or place.live > place.peak:
            place.peak, place.peak_time = place.live, row["time"]

    def count_churn(self, row, before, duration):
        """A row into the churn of its source and of all."""
        for key in (row["source"], "all"):
            counter = self.churn[key]
            if row["operation"] == "release":
                counter.update(frees=1, free_ns=duration,
                               freed_bytes=before["bytes"] if before else row["bytes"])
            else:
                counter.update(allocations=1, bytes=row["bytes"], allocate_ns=duration)
        if row["operation"] == "release" and before:
            for key in (before["source"], "all"):
                self.churn[key].update(pairs=1, lifetime=row["time"] - before["time"])


def source_of(row):
    """As Program.source."""
    return row["function"], row["range"], row["domain"]


def churn_found(rows, timed):
    """{source: counter} of the command's rows."""
    result = {}
    for index, row in enumerate(rows):
        counter = {key: row[key] or 0 for key in ("allocations", "bytes", "allocate_ns", "frees",
                                                  "freed_bytes", "free_ns", "pairs")}
        counter["lifetime"] = round((row["mean_lifetime_ns"] or 0) * row["pairs"])
        if not timed:
            counter["allocate_ns"] = counter["free_ns"] = 0
        result[source_of(row) if index else "all"] = counter
    return result


def churn_expected(story):
    """The same of ours."""
    keys = ("allocations", "bytes", "allocate_ns", "frees", "freed_bytes", "free_ns", "pairs",
            "lifetime")
    found = {key: {name: counter[name] for name in keys}
             for key, counter in story.churn.items()}
    found.setdefault("all", dict.fromkeys(keys, 0))
    return found


def totals_found(document):
    """{place: totals} of the command's rows."""
    result = {}
    for row in document["memory"]:
        device = row["device_name"]
        key = ("device", device) if row["kind"] == "all" else ("kind", device, row["kind"])
        result[key] = {name: value for name, value in row.items()
                       if name not in ("device_name", "kind")}
    for row in document["pools"]:
        result["pool", number(row["pool"])] = {
            name: row[name] for name in ("allocations", "frees", "peak_bytes", "end_bytes")}
    return result


def totals_expected(story):
    """The same of ours."""
    result = {}
    for key, place in story.places.items():
        result[key] = place.result(story.program.first)
        if key[0] == "pool":
            result[key] = {name: result[key][name] for name in ("allocations", "frees",
                                                                "peak_bytes", "end_bytes")}
    return result


def peaks_found(document):
    """{device: {(address, bytes, time, source)}}"""
    return {peak["device_name"]:
            {(number(row["address"]), row["bytes"], row["time_ns"], source_of(row))
             for row in peak["alive"]} for peak in document["peaks"]}


def peaks_expected(story):
    """The same of ours."""
    return {key[1]: {(address, row["bytes"], row["time"] - story.program.first, row["source"])
                     for address, row in place.alive.items()}
            for key, place in story.places.items() if key[0] == "device"}


def kept_found(document):
    """{(size, source): [count, bytes]}"""
    return {(row["size"], source_of(row)): [row["allocations"], row["bytes"]]
            for row in document["not_freed"]["rows"]}


def kept_expected(story):
    """The same of ours."""
    result = {}
    for row in story.alive.values():
        if row["kind"] not in STATIC_KINDS:
            entry = result.setdefault((row["bytes"], row["source"]), [0, 0])
            entry[0] += 1
            entry[1] += row["bytes"]
    return result


def changes_found(miniprof, trace):
    """The time line that the command prints."""
    lines = sources.output(miniprof, "memory", "--timeline", "--json", trace).splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["time_ns"], row["change_bytes"], row["live_bytes"], row["pool_live_bytes"])
            for row in rows]


def compare(miniprof, path):
    """Yields what differs."""
    document = sources.document(miniprof, "memory", "--json", "--top", MOST, path)
    program = Program(miniprof, path)
    story = Story([dict(row) for row in sources.dumped(miniprof, path, "memory")], program)
    pairs = {
        "totals": (totals_expected(story), totals_found(document)),
        "peaks": (peaks_expected(story), peaks_found(document)),
        "not freed": (kept_expected(story), kept_found(document)),
        "churn": (churn_expected(story), churn_found(document["churn"], bool(program.calls))),
        "changes": (dict(enumerate(story.changes)),
                    dict(enumerate(changes_found(miniprof, path)))),
    }
    for name, (expected, found) in pairs.items():
        for key in sorted(set(expected) | set(found), key=str):
            if expected.get(key) != found.get(key):
                yield f"{name} {key}: {found.get(key)} instead of {expected.get(key)}"


if __name__ == "__main__":
    sources.main(__doc__, compare)
