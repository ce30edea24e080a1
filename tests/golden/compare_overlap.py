#!/usr/bin/env python3
"""Compares `miniprof overlap` with the rows that tests/readers/mpt.py reads: at each moment at
which something begins or ends, which activities run until the next one. No code is shared with it.

usage: compare_overlap.py MINIPROF TRACE
"""
import math

import sources

KEYS = ("kernel", "htod", "dtoh", "copy", "set", "communication")
COPIES = {"htod", "dtoh", "copy"}


def activities_of(tables, names=("kernel", "graph", "copy", "set")):
    """{device: [(begin, end, what, stream id)]}; no trace of tests/data communicates by name."""
    devices = {row["id"]: row["device"] for row in tables["stream"]}
    activities = {}
    for table in names:
        for row in tables.get(table, []):
            what = {"kernel": "kernel", "graph": "kernel", "set": "set"}.get(table)
            what = what or {1: "htod", 3: "htod", 2: "dtoh", 4: "dtoh",
                            10: "communication"}.get(row["kind"], "copy")
            activities.setdefault(devices[row["stream"]], []).append(
                (row["start"], row["start"] + row["duration"], what, row["stream"]))
    return activities


def pieces_of(activities):
    """Yields (ns, {what: how many}, {streams}) of each piece of time in which the same run."""
    moments = sorted([(begin, 1, what, stream) for begin, _, what, stream in activities] +
                     [(end, -1, what, stream) for _, end, what, stream in activities])
    running, streams, last = dict.fromkeys(KEYS, 0), {}, 0
    for moment, step, what, stream in moments:
        if moment > last and any(running.values()):
            yield (moment - last, running, {one for one, count in streams.items() if count})
        running[what] += step
        streams[stream] = streams.get(stream, 0) + step
        last = moment


def device_of(activities):
    """What the command should print of a device."""
    busy = dict.fromkeys(KEYS, 0)
    exposed, calls, total = dict(busy), dict(busy), dict(busy)
    together = {one: dict.fromkeys(KEYS, 0) for one in KEYS}
    levels, streams, sums = [0] * 4, {}, {"any": 0, "copies": 0, "exposed": 0, "most": 0}
    for begin, end, what, stream in activities:
        calls[what] += 1
        total[what] += end - begin
        streams.setdefault(stream, [0, 0, 0])[0] += 1
    for ns, running, active in pieces_of(activities):
        present = {what for what, count in running.items() if count}
        sums["any"] += ns
        sums["copies"] += ns if present & COPIES else 0
        sums["exposed"] += ns if present & COPIES and "kernel" not in present else 0
        sums["most"] = max(sums["most"], running["kernel"])
        if running["kernel"]:
            levels[min(running["kernel"], 4) - 1] += ns
        for what in present:
            busy[what] += ns
            exposed[what] += ns if "kernel" not in present else 0
            for other in present:
                together[what][other] += ns if other != what or running[what] > 1 else 0
        for stream in active:
            streams[stream][1] += ns
            streams[stream][2] += ns if len(active) > 1 else 0
    return {
        "busy_ns": sums["any"],
        "activities": [{"activity": what, "calls": calls[what], "total_ns": total[what],
                        "busy_ns": busy[what],
                        "exposed_ns": None if what == "kernel" else exposed[what],
                        "with_ns": together[what]} for what in KEYS],
        "copies": {"busy_ns": sums["copies"], "exposed_ns": sums["exposed"]},
        "kernels_at_once": (sums["most"], levels,
                            total["kernel"] / busy["kernel"] if busy["kernel"] else 0),
        "streams": streams,
    }


def streams_of(tables, streams):
    """{(context, stream): [calls, busy, overlapped]}"""
    known = {row["id"]: (row["context"], row["stream"]) for row in tables["stream"]}
    return {known[stream]: numbers for stream, numbers in streams.items()}


def unused_of(tables, device):
    """Streams that the program made on a device and that ran nothing."""
    contexts = {row["context"]: row["device"] for row in tables.get("context_info", [])}
    known = {row["id"]: (row["context"], row["stream"]) for row in tables["stream"]}
    used = {known[row["stream"]] for table in ("kernel", "graph", "copy", "set")
            for row in tables.get(table, [])}
    made = {(row["context"], row["stream"]) for row in tables.get("stream_info", [])
            if row["correlation"]}
    # A stream of a green context is made in its parent.
    parents = {row["context"]: row.get("parent") for row in tables.get("context_info", [])}
    used |= {(parents.get(context), stream) for context, stream in used}
    return [stream for context, stream in sorted(made - used) if contexts.get(context) == device]


def kernel_time_of(activities):
    """The key kernel_time: durations of kernels, and the time in which each stream and device has
    some, which is that of the moments at which one begins or ends."""
    total, streams, busy = 0, 0, 0
    for of_device in activities.values():
        kernels = [one for one in of_device if one[2] == "kernel"]
        total += sum(end - begin for begin, end, _, _ in kernels)
        for ns, _, active in pieces_of(kernels):
            busy += ns
            streams += ns * len(active)
    return {"total_ns": total, "busy_ns": busy, "beyond_busy_ns": total - busy,
            "within_streams_ns": total - streams, "between_streams_ns": streams - busy}


def compare_kernel_time(miniprof, path, activities):
    """The same in each report. In `overlap` whole graphs are kernels too."""
    differences = []
    for command in ("overlap", "kernels", "summary"):
        expected = kernel_time_of(activities[command == "overlap"])
        found = sources.document(miniprof, command, "--json", path)["kernel_time"]
        if found != expected:
            differences.append(f"{command}: kernel_time: {found} instead of {expected}")
    return differences


def compare_device(tables, found, expected):
    """Differences as texts; `found` is what the command prints."""
    differences = []

    def same(what, one, other):
        if one != other:
            differences.append(f"{what}: {one} instead of {other}")

    for key in ("busy_ns", "activities", "copies"):
        same(key, found[key], expected[key])
    most, levels, mean = expected["kernels_at_once"]
    same("most kernels", found["kernels_at_once"]["max"], most)
    same("levels", found["kernels_at_once"]["time_ns"], levels)
    if not math.isclose(found["kernels_at_once"]["mean"], mean, rel_tol=1e-9):
        differences.append(f"mean {found['kernels_at_once']['mean']} instead of {mean}")
    same("streams", {(row["context"], row["stream"]):
                     [row["calls"], row["busy_ns"], row["overlapped_ns"]]
                     for row in found["streams"]}, streams_of(tables, expected["streams"]))
    same("unused", found["unused_streams"], unused_of(tables, found["device"]))
    same("shares", round(sum(row["share_percent"] for row in found["streams"]), 6), 100)
    return differences


def compare(miniprof, path):
    """What differs."""
    tables = sources.tables(path)
    document = sources.document(miniprof, "overlap", "--json", path)
    activities = activities_of(tables)
    differences = compare_kernel_time(miniprof, path,
                                      (activities_of(tables, ("kernel",)), activities))
    if [device["device"] for device in document["devices"]] != sorted(activities):
        differences.append("other devices")
    every = [one for of_device in activities.values() for one in of_device]
    window = max(one[1] for one in every) - min(one[0] for one in every) if every else 0
    if document["windows"] < 2 and document["window_ns"] != window:
        differences.append(f"window {document['window_ns']} instead of {window}")
    for device in document["devices"]:
        expected = device_of(activities[device["device"]])
        differences += compare_device(tables, device, expected)
        if device["busy_ns"] + device["idle_ns"] != document["window_ns"]:
            differences.append("busy and idle are not the window")
    return differences


if __name__ == "__main__":
    sources.main(__doc__, compare)
