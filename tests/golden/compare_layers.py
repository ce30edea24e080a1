#!/usr/bin/env python3
"""Compares `miniprof layers` with what follows from the rows that tests/readers/mpt.py reads: of
each path of NVTX ranges the device time of its own and with all inside, the calls and their
percentiles, kernels, copies and sets, launches, gaps; and of each position in the kernel sequence
the calls and times. No code is shared with it.

usage: compare_layers.py MINIPROF TRACE
"""
import collections

import sources

PUSH, POP, START, END = 1, 2, 3, 4
Link = collections.namedtuple("Link", "label tag")  # of a chain: a layer, and which instance


class OpenRanges:
    """The ranges that are open, when events come in order of time."""

    def __init__(self, strings):
        self.strings = strings
        self.ranges = []  # [(number, row)], by begin
        self.begun = 0

    def take(self, row):
        """One row of nvtx."""
        if row["kind"] in (PUSH, START):
            self.ranges.append((self.begun, row))
            self.begun += 1
        elif row["kind"] == POP:
            self.drop(lambda r: r["kind"] == PUSH and r["thread"] == row["thread"] and
                      r["domain"] == row["domain"])
        elif row["kind"] == END:
            self.drop(lambda r: r["kind"] == START and r["range"] == row["range"])

    def drop(self, fits):
        """The newest that fits."""
        for index in range(len(self.ranges) - 1, -1, -1):
            if fits(self.ranges[index][1]):
                del self.ranges[index]
                return

    def is_shared(self, row, thread):
        """Whether a range that another thread started counts for this one."""
        others = [r for _, r in self.ranges if r["domain"] == row["domain"]]
        return (row["kind"] == START and sum(r["kind"] == START for r in others) == 1 and
                not any(r["kind"] == PUSH and r["thread"] == thread for r in others))

    def chain(self, thread):
        """What is open for a call, outermost first."""
        return tuple(Link((self.strings.get(row["domain"]),
                           self.strings.get(row["name"], "<unnamed>")), number)
                     for number, row in self.ranges
                     if row["thread"] == thread or self.is_shared(row, thread))


@sources.kept
def strings_of(path):
    """{id: text}"""
    return {row["id"]: row["text"] for row in sources.tables(path)["string"]}


@sources.kept
def chains_of_calls(path):
    """{correlation id: (chain, duration)} of the first call with each id."""
    trace = sources.tables(path)
    events = [(row["time"], 0, row) for row in trace["nvtx"]]
    events += [(row["start"], 1, row) for row in trace["call"]]
    opened, chains = OpenRanges(strings_of(path)), {}
    for _, is_call, row in sorted(events, key=lambda event: event[:2]):
        if not is_call:
            opened.take(row)
        elif row["correlation"] not in chains:
            chains[row["correlation"]] = (opened.chain(row["thread"]), row["duration"])
    return chains


@sources.kept
def captured_labels(path):
    """{id of a node: labels of the path it was captured in, outermost first}"""
    trace, strings, paths = sources.tables(path), strings_of(path), {0: ()}
    for row in trace["path"]:
        label = (strings.get(row["domain"]), strings.get(row["name"], "<unnamed>"))
        paths[row["id"]] = paths[row["parent"]] + (label,)
    captured = {(row["graph"], row["graph_node"]): paths[row["path"]]
                for row in trace["captured"]}
    return {row["id"]: captured[row["graph"], row["graph_node"]] for row in trace["node"]
            if (row["graph"], row["graph_node"]) in captured}


def chain_of(activity, launch, captured):
    """The launching chain, and under it what the captured path has inside of it."""
    labels = captured.get(activity.get("node"), ())
    if launch and launch[-1].label in labels:
        labels = labels[labels.index(launch[-1].label) + 1:]
    return launch + tuple(Link(label, ("launch", activity["correlation"])) for label in labels)


def new_entry():
    """The sums of a path."""
    return {"self_ns": 0, "total_ns": 0, "kernels": 0, "copies": 0, "sets": 0, "graphs": 0,
            "launches": 0, "launch_ns": 0, "gaps": 0, "gap_ns": 0}


def labels_of(chain):
    """What the layer is called."""
    return tuple(link.label for link in chain)


def add_gaps(entries, lanes, activity, chain):
    """What the stream leaves between its last activity and this one."""
    end, before = lanes.get(activity["stream"], (0, ()))
    for depth in range(1, len(before) + 1):
        if chain[:depth] != before[:depth]:
            entry = entries[labels_of(before[:depth])]
            entry["gaps"] += 1
            entry["gap_ns"] += max(activity["start"] - end, 0)
    lanes[activity["stream"]] = (max(end, activity["start"] + activity["duration"]), chain)


@sources.kept
def expected_of(path):
    """{labels: sums}, with () for what is in no range."""
    trace, chains, captured = sources.tables(path), chains_of_calls(path), captured_labels(path)
    work = [(row["start"], order, kind, row) for order, (table, kind) in enumerate(
        (("kernel", "kernels"), ("copy", "copies"), ("set", "sets"), ("graph", "graphs")))
            for row in trace[table]]
    entries = collections.defaultdict(new_entry)
    instances, lanes, launched = collections.Counter(), {}, set()
    for _, _, kind, row in sorted(work, key=lambda item: item[:2]):
        launch, duration = chains.get(row["correlation"], ((), 0))
        chain = chain_of(row, launch, captured)
        add_gaps(entries, lanes, row, chain)
        if row["correlation"] in chains and row["correlation"] not in launched:
            launched.add(row["correlation"])
            for depth in range(1 if launch else 0, len(launch) + 1):
                entries[labels_of(launch[:depth])]["launches"] += 1
                entries[labels_of(launch[:depth])]["launch_ns"] += duration
        entries[labels_of(chain)]["self_ns"] += row["duration"]
        for depth in range(1 if chain else 0, len(chain) + 1):
            entry = entries[labels_of(chain[:depth])]
            entry["total_ns"] += row["duration"]
            entry[kind] += 1
            instances[chain[:depth]] += row["duration"]
    add_calls(entries, instances)
    return {path: entry for path, entry in entries.items() if any(
        entry[kind] for kind in ("kernels", "copies", "sets", "graphs"))}


def add_calls(entries, instances):
    """Calls, mean and percentiles of each path."""
    values = collections.defaultdict(list)
    for chain, total in instances.items():
        values[labels_of(chain)].append(total)
    for path, entry in entries.items():
        of_path = sorted(values[path]) if path else []
        entry["calls"] = len(of_path)
        entry["mean_ns"] = float(f"{sum(of_path) / len(of_path):.12g}") if of_path else None
        for percent in (50, 99):
            rank = -(-percent * len(of_path) // 100)
            entry[f"p{percent}_ns"] = of_path[rank - 1] if of_path else None


def found_by(miniprof, trace, *options):
    """The document that the command prints."""
    return sources.document(miniprof, "layers", "--json", "--demangling=off", *options, trace)


def compare_layers(trace, document):
    """Yields what differs, in words."""
    expected, found, paths = expected_of(trace), {}, {}
    for layer in document["layers"]:
        own = ((layer["domain"], layer["name"]),) if layer["name"] is not None else ()
        paths[layer["id"]] = paths.get(layer["parent"], ()) + own
        found[paths[layer["id"]]] = layer
    for path in sorted(set(expected) | set(found), key=str):
        if path not in expected or path not in found:
            yield f"{path}: only in one of them"
            continue
        for key, value in expected[path].items():
            if found[path][key] != value:
                yield f"{path}: {key} is {found[path][key]} instead of {value}"
    selves = sum(layer["self_ns"] for layer in found.values())
    if selves != document["device_ns"] or selves != sum(e["self_ns"] for e in expected.values()):
        yield "the selves do not sum to the device time"


def compare_positions(trace, document):
    """The same of positions."""
    trace, names = sources.tables(trace), strings_of(trace)
    shapes = {row["id"]: names[row["kernel"]] for row in trace["shape"]}
    kernels = sorted(trace["kernel"], key=lambda row: (row["correlation"], row["start"]))
    start, length, rounds = (document[key] for key in ("start", "round_kernels", "rounds"))
    total = sum(row["duration"] for row in kernels)
    in_rounds = sum(position["total_ns"] for position in document["positions"])
    if document["kernels"] != len(kernels) or document["kernel_ns"] != total:
        yield "not all kernels"
    if document["other_ns"] != total - in_rounds or len(document["positions"]) != length or \
            document["other_kernels"] != len(kernels) - length * rounds:
        yield "the rest is not the rest"
    for index, position in enumerate(document["positions"]):
        rows = [kernels[start + index + length * i] for i in range(rounds)]
        times = sorted(row["duration"] for row in rows)
        if len({row["shape"] for row in rows}) != 1 or shapes[rows[0]["shape"]] != position["name"]:
            yield f"position {index + 1}: other kernels"
        ranks = [times[-(-percent * rounds // 100) - 1] for percent in (50, 99)]
        if [position["calls"], position["total_ns"], position["p50_ns"], position["p99_ns"]] != \
                [rounds, sum(times), *ranks]:
            yield f"position {index + 1}: {position}"


def compare(miniprof, path):
    """Yields what differs."""
    document = found_by(miniprof, path, "--tree")
    if document["by"] == "nvtx":
        yield from compare_layers(path, document)
    yield from compare_positions(path, found_by(miniprof, path, "--by-position"))


if __name__ == "__main__":
    sources.main(__doc__, compare)
