#!/usr/bin/env python3
"""Compares `miniprof nvtx` with sums over the rows that tests/readers/mpt.py reads: of each range
the instances, and of each name inside it the calls and the time; of each captured range the nodes
and their work. No code is shared with it, and the ranges around a call are found in another way: by
passing over all of them in order of time.

usage: compare_nvtx.py MINIPROF TRACE
"""
import re

import sources

COPY_KINDS = ("unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
              "PtoP")
PUSH, POP, START, END = 1, 2, 3, 4


def ranges_of(trace, strings, last):
    """[(begin, end, thread, domain, name)] of all NVTX ranges; `last` ends those without one."""
    ranges, stacks, started = [], {}, {}

    def finish(row, end):
        ranges.append((row["time"], end, row["thread"], strings.get(row["domain"]),
                       strings.get(row["name"], "<unnamed>")))

    rows = trace["nvtx"]
    ends = {row["range"]: row["time"] for row in rows if row["kind"] == END}
    for row in rows:
        stack = stacks.setdefault((row["thread"], row["domain"]), [])
        if row["kind"] == PUSH:
            stack.append(row)
        elif row["kind"] == POP and stack:
            finish(stack.pop(), row["time"])
        elif row["kind"] == START:
            started[row["range"]] = row
    for row in started.values():
        finish(row, ends.get(row["range"], last))
    for stack in stacks.values():
        for row in stack:
            finish(row, last)
    return ranges


def ranges_around(calls, ranges):
    """{correlation id: [indexes of the ranges that hold a call of it wholly]}"""
    events = [(begin, 0, index) for index, (begin, *_) in enumerate(ranges)]
    events += [(end, 2, index) for index, (_, end, *_) in enumerate(ranges)]
    events += [(call["start"], 1, index) for index, call in enumerate(calls)]
    around, opened = {}, {}
    for _, kind, index in sorted(events):
        if kind == 1:
            call = calls[index]
            end = call["start"] + call["duration"]
            found = around.setdefault(call["correlation"], set())
            found.update(i for i in opened.get(call["thread"], ()) if ranges[i][1] >= end)
            continue
        of_thread = opened.setdefault(ranges[index][2], set())
        if kind == 0:
            of_thread.add(index)
        else:
            of_thread.discard(index)
    return around


def work_of(trace, strings):
    """Yields (name, row) of everything that ran on a device."""
    shapes = {row["id"]: strings[row["kernel"]] for row in trace["shape"]}
    for row in trace["kernel"]:
        yield shapes[row["shape"]], row
    for row in trace["copy"]:
        yield f"[CUDA memcpy {COPY_KINDS[row['kind']]}]", row
    for row in trace["set"]:
        yield "[CUDA memset]", row
    for row in trace["graph"]:
        yield f"[CUDA graph {row['graph']}]", row


def captured_of(trace):
    """{(thread, domain, name): (nodes, {work: [count, total]})} of the captured ranges."""
    strings = {row["id"]: row["text"] for row in trace["string"]}
    nodes = {row["id"]: (row["graph"], row["graph_node"]) for row in trace["node"]}
    captured = {(row["graph"], row["graph_node"]): row for row in trace["captured"]}
    around = {0: set()}
    for row in trace["path"]:
        key = (strings.get(row["domain"]), strings.get(row["name"], "<unnamed>"))
        around[row["id"]] = around[row["parent"]] | {key}
    seen, work = {}, {}
    for name, row in work_of(trace, strings):
        node = nodes.get(row.get("node"))
        if node not in captured:
            continue
        for key in around[captured[node]["path"]]:
            seen.setdefault((captured[node]["thread"], *key), set()).add(node)
            add(work, (captured[node]["thread"], *key), name, row["duration"])
    return {key: (len(seen[key]), rows) for key, rows in work.items()}


def add(sums, key, name, duration):
    """One activity to {key: {name: [count, total]}}."""
    entry = sums.setdefault(key, {}).setdefault(name, [0, 0])
    entry[0] += 1
    entry[1] += duration


def expected_of(trace, last):
    """{(thread, domain, name): ([count, total], {work: ...}, {calls: ...})}"""
    strings = {row["id"]: row["text"] for row in trace["string"]}
    functions = {row["id"]: re.sub(r"(_v\d+|_ptsz|_ptds)*$", "", strings[row["name"]])
                 for row in trace["function"]}
    ranges = ranges_of(trace, strings, last)
    calls = trace["call"]
    around = ranges_around(calls, ranges)
    instances, work, called, launched = {}, {}, {}, set()
    for begin, end, *key in ranges:
        add(instances, tuple(key), "", end - begin)
    for name, row in work_of(trace, strings):
        launched.add(row["correlation"])
        for index in around.get(row["correlation"], ()):
            add(work, ranges[index][2:], name, row["duration"])
    for call in calls:
        if call["correlation"] in launched:
            for index in around[call["correlation"]]:
                add(called, ranges[index][2:], functions[call["function"]], call["duration"])
    return {key: (entry[""], work.get(key, {}), called.get(key, {}))
            for key, entry in instances.items()}


def found_by(miniprof, trace):
    """The same of what the command prints, and the captured ranges."""
    def rows(group):
        return {row["name"]: [row["calls"], row["total_ns"]] for row in group["rows"]}

    def key(entry):
        return entry["thread"], entry["domain"], entry["name"]

    document = sources.document(miniprof, "nvtx", "--json", "--demangling=off", trace)
    return ({key(entry): ([entry["instances"], entry["total_ns"]], rows(entry["gpu_activities"]),
                          rows(entry["api_calls"]))
             for entry in document["nvtx_ranges"]},
            {key(entry): (entry["nodes"], rows(entry["gpu_activities"]))
             for entry in document["captured_ranges"]})


def compare(miniprof, path):
    """Yields what differs."""
    trace = sources.tables(path)
    last = max((chunk.greatest for chunk in sources.trace(path).chunks), default=0)
    ranges = expected_of(trace, last), captured_of(trace)
    for expected, found in zip(ranges, found_by(miniprof, path)):
        for key in sorted(set(expected) | set(found), key=str):
            if expected.get(key) != found.get(key):
                yield f"{key}: {found.get(key)} instead of {expected.get(key)}"


if __name__ == "__main__":
    sources.main(__doc__, compare)
