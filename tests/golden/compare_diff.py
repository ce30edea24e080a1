#!/usr/bin/env python3
"""Compares `miniprof diff` of two traces whose iterations are NVTX ranges with what follows from
the rows that tests/readers/mpt.py reads: latencies, their shift and its interval from all
differences; of each kernel, copy and set calls and time in an iteration, and whether it changed;
the longest common sequence of kernels; device time by path of NVTX ranges. No code is shared.

usage: compare_diff.py MINIPROF A B RANGE
"""
import bisect
import collections
import fractions
import json
import math
import re
import subprocess

import sources

PUSH, POP = 1, 2
COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD"}
QUANTILE = {0.95: 1.959963984540054, 0.999: 3.290526731491926}
SAMPLES = 1000  # no trace here has more iterations
NOTABLE = 0.01

Work = collections.namedtuple("Work", "kernel name begin end moment iteration layer")


class Side:
    """What one trace says of its iterations."""

    def __init__(self, path, name):
        self.trace = sources.tables(path)
        self.strings = {row["id"]: row["text"] for row in self.trace["string"]}
        self.ranges, self.events = [], collections.defaultdict(list)
        self.read_ranges(name)
        self.begins = [row[0] for row in self.ranges]
        self.calls = {}
        for row in sorted(self.trace["call"], key=lambda row: row["start"]):
            self.calls.setdefault(row["correlation"], row)
        self.works = list(self.read_work())
        ends = [end for _, end, _ in self.ranges]
        for work in self.works:
            if work.iteration is not None:
                ends[work.iteration] = max(ends[work.iteration], work.end)
        self.latencies = [end - row[0] for end, row in zip(ends, self.ranges)]

    def read_ranges(self, name):
        """Ranges of the name, and of each thread (time, path) as it changes."""
        stacks = collections.defaultdict(list)
        for row in sorted(self.trace["nvtx"], key=lambda row: row["time"]):
            stack = stacks[row["thread"]]
            if row["kind"] == PUSH:
                domain = self.strings.get(row["domain"])
                label = self.strings[row["name"]]
                stack.append((label if not domain else f"{domain}: {label}", row))
            elif row["kind"] == POP and stack:
                at = max((i for i, (_, push) in enumerate(stack)
                          if push["domain"] == row["domain"]), default=None)
                if at is None:
                    continue
                _, push = stack.pop(at)
                if self.strings[push["name"]] == name:
                    self.ranges.append((push["time"], row["time"], row["thread"]))
            self.events[row["thread"]].append(
                (row["time"], tuple(label for label, _ in stack)))
        self.ranges.sort()
        self.times = {thread: [event[0] for event in events]
                      for thread, events in self.events.items()}

    def path_at(self, thread, time):
        """Names of the ranges that are open."""
        at = bisect.bisect_right(self.times.get(thread, []), time)
        return self.events[thread][at - 1][1] if at else ()

    def iteration_of(self, call):
        """By the begin of the launching call; None: of none. They do not overlap here."""
        i = bisect.bisect_right(self.begins, call["start"]) - 1
        if i >= 0 and call["start"] <= self.ranges[i][1] and \
                call["thread"] == self.ranges[i][2]:
            return i
        return None

    def read_work(self):
        """Kernels, copies and sets."""
        shapes = {row["id"]: row for row in self.trace["shape"]}
        paths, iterations = {}, {}
        for table in ("kernel", "copy", "set"):
            for row in self.trace[table]:
                if table == "kernel":
                    name = self.strings[shapes[row["shape"]]["kernel"]]
                elif table == "copy":
                    name = f"[CUDA memcpy {COPIES[row['kind']]}]"
                else:
                    name = "[CUDA memset]"
                call = self.calls[row["correlation"]]
                key = row["correlation"]
                if key not in paths:
                    paths[key] = self.path_at(call["thread"], call["start"])
                    iterations[key] = self.iteration_of(call)
                yield Work(table == "kernel", name, row["start"], row["start"] + row["duration"],
                           call["start"], iterations[key], paths[key])

    def by_name(self, names_of):
        """{name: [ns by iteration]} and {name: calls}."""
        times = collections.defaultdict(lambda: [0] * len(self.ranges))
        calls = collections.Counter()
        for work in self.works:
            if work.iteration is None:
                continue
            for name in names_of(work):
                times[name][work.iteration] += work.end - work.begin
                calls[name] += 1
        return times, calls

    def sequence(self):
        """Names of the kernels of the median iteration as they were launched; which it is."""
        order = sorted(range(len(self.latencies)), key=lambda i: (self.latencies[i], i))
        p50 = self.latencies[order[math.ceil(len(order) / 2) - 1]]
        median = self.latencies.index(p50)
        works = [w for w in self.works if w.kernel and w.iteration == median]
        return [w.name for w in sorted(works, key=lambda w: (w.moment, w.begin))], median + 1


def shift(before, after, quantile):
    """(center, low, high) of all differences; low and high None: too few."""
    differences = sorted(b - a for a in before for b in after)
    n, m, count = len(before), len(after), len(differences)
    center = (differences[(count - 1) // 2] + differences[count // 2]) / 2
    rank = math.floor(n * m / 2 - quantile * math.sqrt(n * m * (n + m + 1) / 12))
    if rank < 1:
        return center, None, None
    return center, differences[rank - 1], differences[count - rank]


def percentile(values, percent):
    """Nearest rank."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def common(left, right):
    """Length of the longest common subsequence."""
    row = [0] * (len(right) + 1)
    for a in left:
        before = row[:]
        for j, b in enumerate(right):
            row[j + 1] = before[j] + 1 if a == b else max(row[j], before[j + 1])
    return row[-1]


class Comparison:
    """Counts what is not as it should be."""

    def __init__(self, said, sides):
        self.said, self.sides, self.wrong = said, sides, []

    def same(self, what, expected, got):
        """Numbers may differ by how they are rounded."""
        if isinstance(expected, float) and isinstance(got, (int, float)):
            equal = math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-6)
        else:
            equal = expected == got
        if not equal:
            self.wrong.append(f"{what}: expected {expected}, got {got}")

    def latencies(self):
        """The head."""
        said = self.said["iterations"]
        for key, side in zip("ab", self.sides):
            self.same(f"{key} count", len(side.latencies), said[key]["count"])
            self.same(f"{key} mean", sum(side.latencies) / len(side.latencies),
                      said[key]["mean_ns"])
            for percent in (50, 90, 99):
                self.same(f"{key} P{percent}", percentile(side.latencies, percent),
                          said[key][f"p{percent}_ns"])
        center, low, high = shift(*(side.latencies for side in self.sides), QUANTILE[0.95])
        self.same("latency shift", float(center), said["shift_ns"])
        self.same("latency interval", [low, high], [said["low_ns"], said["high_ns"]])
        change = "unchanged" if low <= 0 <= high else "slower" if low > 0 else "faster"
        self.same("latency change", change, said["change"])

    def page(self, said):
        """Latencies in order of time, and percentiles."""
        for key, side in zip("ab", self.sides):
            self.same(f"{key} latencies of the page", side.latencies, said[key]["latencies_ns"])
            self.same(f"{key} numbers", list(range(1, len(side.latencies) + 1)),
                      said[key]["iterations"])
            self.same(f"{key} percentiles",
                      [percentile(side.latencies, fractions.Fraction(str(percent)))
                       for percent in said["percents"]], said[key]["percentiles_ns"])

    def rows(self, member, counted, names_of):
        """Kernels or layers."""
        (before, a_calls), (after, b_calls) = (side.by_name(names_of) for side in self.sides)
        n, m = (len(side.ranges) for side in self.sides)
        said = {row["name"]: row for row in self.said[member]}
        self.same(f"{member}: names", sorted(set(before) | set(after)), sorted(said))
        effects = [abs(row["difference_ns"]) for row in self.said[member]]
        self.same(f"{member}: by effect", sorted(effects, reverse=True), effects)
        for name, row in said.items():
            self.same(f"{name}: calls", [a_calls[name] / n, b_calls[name] / m],
                      [row[f"a_{counted}"], row[f"b_{counted}"]])
            self.same(f"{name}: A", sum(before[name]) / n, row["a_ns"])
            self.same(f"{name}: B", sum(after[name]) / m, row["b_ns"])
            self.same(f"{name}: difference", sum(after[name]) / m - sum(before[name]) / n,
                      row["difference_ns"])
            self.row_change(name, row, (a_calls[name], before[name]), (b_calls[name], after[name]))

    def row_change(self, name, row, before, after):
        """Shift, interval and what follows."""
        if not before[0] or not after[0]:
            self.same(f"{name}: change", "removed" if before[0] else "added", row["change"])
            return
        quantile = QUANTILE[self.said["confidence_of_rows"]]
        center, low, high = shift(before[1], after[1], quantile)
        self.same(f"{name}: shift", float(center), row["shift_ns"])
        self.same(f"{name}: interval", [low, high], [row["low_ns"], row["high_ns"]])
        usual = sum(before[1]) / len(before[1])
        if abs(center) < NOTABLE * usual or low <= 0 <= high:
            change = "unchanged"
        else:
            change = "slower" if low > 0 else "faster"
        self.same(f"{name}: change", change, row["change"])

    def positions(self):
        """The sequences are whole, in order, and have as many in common as can be."""
        said = self.said["positions"]
        sequences = []
        for key, side in zip("ab", self.sides):
            names, iteration = side.sequence()
            sequences.append(names)
            self.same(f"{key} median iteration", iteration, said[key]["iteration"])
            places = [row for row in said["kernels"] if row[key] is not None]
            self.same(f"{key} positions", list(range(1, len(names) + 1)),
                      [row[key] for row in places])
            self.same(f"{key} names", names, [row[f"{key}_name"] for row in places])
        equal = [row for row in said["kernels"] if row["change"] == "equal"]
        self.same("equal kernels are", [row["a_name"] for row in equal],
                  [row["b_name"] for row in equal])
        self.same("equal kernels", common(*sequences), len(equal))
        self.same("equal", len(equal), said["equal"])


def page_latencies(arguments):
    """The second document of `miniprof diff --html`."""
    output = subprocess.run([*arguments, "--html", "-"], check=False, capture_output=True,
                            encoding="utf-8")
    return json.loads(re.search(r'id="doc-latencies"[^>]*>(.*?)</script>', output.stdout, re.S)[1])


def prefixes(work):
    """Layers that a piece of work counts in."""
    if not work.layer:
        return ["[no NVTX range]"]
    return [" > ".join(work.layer[:i + 1]) for i in range(len(work.layer))]


def compare(program, a, b, name):
    """What differs."""
    arguments = [program, "diff", "--demangling", "off", "--iterations", "nvtx:" + name, a, b]
    said = sources.document(*arguments, "--json", "--positions")
    comparison = Comparison(said, [Side(path, name) for path in (a, b)])
    assert all(len(side.ranges) <= SAMPLES for side in comparison.sides)
    comparison.latencies()
    comparison.page(page_latencies(arguments))
    comparison.rows("kernels", "calls", lambda work: [work.name])
    comparison.positions()
    if comparison.said["layers"] is not None:
        comparison.rows("layers", "work", prefixes)
    return comparison.wrong


if __name__ == "__main__":
    sources.main(__doc__, compare)
