#!/usr/bin/env python3
"""Compares `miniprof nvtx` with sums over the rows that tests/readers/mpt.py reads: of each range
the instances, and of each name inside it the calls and the time; of each captured range the nodes
and their work. No code is shared with it, and the ranges around a call are found in another way: by
passing over all of them in order of time.

usage: compare_nvtx.py MINIPROF TRACE
"""
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "readers"))
import mpt  # pylint: disable=wrong-import-position

COPY_KINDS = ("unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
              "PtoP")
PUSH, POP, START, END = 1, 2, 3, 4
MOST_DIFFERENCES = 20


def rows_of(trace, table):
    """The rows of a table as dictionaries."""
    columns = next(columns for name, columns in trace.tables.values() if name == table)
    names = [column for _, column, _ in columns]
    return [dict(zip(names, row)) for row in trace.rows[table]]


def ranges_of(trace, strings, last):
    """[(begin, end, thread, domain, name)] of all NVTX ranges; `last` ends those without one."""
    ranges, stacks, started = [], {}, {}

    def finish(row, end):
        ranges.append((row["time"], end, row["thread"], strings.get(row["domain"]),
                       strings.get(row["name"], "<unnamed>")))

    rows = rows_of(trace, "nvtx")
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
    shapes = {row["id"]: strings[row["kernel"]] for row in rows_of(trace, "shape")}
    for row in rows_of(trace, "kernel"):
        yield shapes[row["shape"]], row
    for row in rows_of(trace, "copy"):
        yield f"[CUDA memcpy {COPY_KINDS[row['kind']]}]", row
    for row in rows_of(trace, "set"):
        yield "[CUDA memset]", row
    for row in rows_of(trace, "graph"):
        yield f"[CUDA graph {row['graph']}]", row


def captured_of(trace):
    """{(thread, domain, name): (nodes, {work: [count, total]})} of the captured ranges."""
    strings = {row["id"]: row["text"] for row in rows_of(trace, "string")}
    nodes = {row["id"]: (row["graph"], row["graph_node"]) for row in rows_of(trace, "node")}
    captured = {(row["graph"], row["graph_node"]): row for row in optional(trace, "captured")}
    around = {0: set()}
    for row in optional(trace, "path"):
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


def optional(trace, table):
    """The rows of a table that older traces do not have."""
    return rows_of(trace, table) if any(table == name for name, _ in trace.tables.values()) else []


def add(sums, key, name, duration):
    """One activity to {key: {name: [count, total]}}."""
    entry = sums.setdefault(key, {}).setdefault(name, [0, 0])
    entry[0] += 1
    entry[1] += duration


def expected_of(trace):
    """{(thread, domain, name): ([count, total], {work: ...}, {calls: ...})}"""
    strings = {row["id"]: row["text"] for row in rows_of(trace, "string")}
    functions = {row["id"]: re.sub(r"(_v\d+|_ptsz|_ptds)*$", "", strings[row["name"]])
                 for row in rows_of(trace, "function")}
    last = max((chunk.greatest for chunk in trace.chunks), default=0)
    ranges = ranges_of(trace, strings, last)
    calls = rows_of(trace, "call")
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
    done = subprocess.run([miniprof, "nvtx", "--json", "--demangling=off", trace],
                          capture_output=True, check=True)

    def rows(group):
        return {row["name"]: [row["calls"], row["total_ns"]] for row in group["rows"]}

    def key(entry):
        return entry["thread"], entry["domain"], entry["name"]

    document = json.loads(done.stdout)
    return ({key(entry): ([entry["instances"], entry["total_ns"]], rows(entry["gpu_activities"]),
                          rows(entry["api_calls"]))
             for entry in document["nvtx_ranges"]},
            {key(entry): (entry["nodes"], rows(entry["gpu_activities"]))
             for entry in document["captured_ranges"]})


def main():
    """The program."""
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    trace = mpt.Trace(pathlib.Path(sys.argv[2]).read_bytes())
    ranges = expected_of(trace), captured_of(trace)
    differences = []
    for expected, found in zip(ranges, found_by(*sys.argv[1:])):
        differences += [f"{key}: {found.get(key)} instead of {expected.get(key)}"
                        for key in sorted(set(expected) | set(found), key=str)
                        if expected.get(key) != found.get(key)]
    print("\n".join(differences[:MOST_DIFFERENCES]))
    print(f"{len(ranges[0])} ranges and {len(ranges[1])} captured ones compared")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
