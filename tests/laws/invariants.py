#!/usr/bin/env python3
# Takes 120 s. With LAWS_SHORT=1: 8 s.
"""Laws that hold for every trace in every mode, without a known answer: a change that is none, the
bound and the order of changes, the same windows and figures from all commands, a bystander, a
second copy, other times, other numbers, and both directions of a comparison.

The table LAWS says which law is for which traces. What a law needs no equality of stands in
EXEMPT, with the reason. A law that compared nothing has failed. transform.py makes the traces that
are not in tests/data. LAWS_SHORT=1: ten traces. T_LAW=WORD: only laws whose name has the word.
"""
import collections
import functools
import itertools
import json
import math
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import traceback

import laws
import transform

ENVIRONMENT = dict(os.environ, LC_ALL="C", XDG_CACHE_HOME="/nonexistent")
SHORT = bool(os.environ.get("LAWS_SHORT"))
SHORT_TRACES = ("branches.mpt", "captured.mpt", "two_streams.mpt", "zoo/green_contexts.mpt",
                "zoo/noisy_neighbour.mpt", "zoo/pdl_graph_baseline.mpt", "zoo/ptds_legacy.mpt",
                "zoo/cdp_children.mpt", "ranks/rank0.mpt", "generated 2 threads 3 ranges")
# Rounding. JSON prints 12 digits of what is no whole number, so each of two numbers may be wrong
# by half of the last one.
DIGITS = 1e-11

Subject = collections.namedtuple("Subject", "name path size job")
Law = collections.namedtuple("Law", "name holds most_bytes jobs")
# holds: a function of a Check and a Subject; most_bytes: of greater traces it would take too long;
# jobs: whether it is one for folders of ranks too.


class Check:
    """What a law compared, and what was wrong."""

    def __init__(self):
        self.compared, self.wrong = 0, []

    def holds(self, what, condition, found=""):
        self.compared += 1
        if not condition:
            self.wrong.append(f"{what}: {found}")

    def equal(self, what, expected, found):
        self.holds(what, expected == found, f"{shown(expected)} expected, {shown(found)} found")

    def near(self, what, expected, found, relative=DIGITS):
        self.holds(what, expected == found or None not in (expected, found) and
                   math.isclose(expected, found, rel_tol=relative),
                   f"{shown(expected)} expected, {shown(found)} found")


def shown(value):
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    return text if len(text) < 120 else text[:117] + "..."


# ---- Runs ----

@functools.lru_cache(maxsize=40)
def printed(*arguments):
    """What the command prints; None: it has nothing to say of that (exit code 2)."""
    result = subprocess.run([laws.MINIPROF, *arguments], cwd=laws.DATA, env=ENVIRONMENT,
                            check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if result.returncode not in (0, 1, 2):
        raise RuntimeError(f"miniprof {' '.join(arguments)}: exit code {result.returncode}: "
                           f"{result.stderr.decode(errors='replace')}")
    return None if result.returncode == 2 else result.stdout


def ask(*arguments):
    """The document of a command line, the path at last; None: there is none."""
    text = printed(arguments[0], "--json", *arguments[1:])
    return json.loads(text) if text else None


def lengths(windows):
    return [one["window_ns"] for one in windows]


def busiest_thread(path):
    """System's id of the thread whose iterations have most work."""
    found = ask("iters", path)
    threads = found and found.get("by_thread")
    return threads and str(max(threads, key=lambda one: one["busy_ns"])["thread"])


def modes(subject):
    """Options of deps by which the windows are different ones."""
    yield ()
    yield ("--iterations", "auto")
    thread = None if subject.job else busiest_thread(subject.path)
    if thread and ask("deps", "--thread", thread, subject.path):
        yield ("--thread", thread)


def ways(path, most=4):
    """What --iterations takes, besides auto."""
    found = ask("iters", "--candidates", path)
    if not isinstance(found, dict):
        return []
    return [one["by"] for one in found["candidates"]][:most]


def chosen_way(path):
    """The way that auto takes, under its name."""
    found = ask("iters", "--candidates", path)
    return next((one["by"] for one in found["candidates"] if one["chosen"]), None)


# ---- What-if ----

def nothing_changes(check, subject):
    """A change by the factor 1 leaves every window as it is."""
    changes = ["*=1x", "kernel=1x", "host=1x"] + ["late=1x"] * subject.job
    for mode, change in itertools.product(modes(subject), changes):
        found = ask("deps", *mode, "--what-if", change, subject.path)
        if found:
            check.equal(f"deps {' '.join(mode)} --what-if '{change}' {subject.name}",
                        lengths(found["windows"]), lengths(found["what_if"]["windows"]))
            check.equal(f"deps {' '.join(mode)} --what-if '{change}' {subject.name}, the sum",
                        found["window_ns"], found["what_if"]["window_ns"])


FACTORS = ("0", "0.25", "0.5", "1", "2", "4")


def top_kernel(subject):
    """The name of the kernel with most time, as --what-if takes it."""
    found = None if subject.job else ask("kernels", subject.path)
    name = found and found["kernels"] and found["kernels"][0]["name"]
    return [] if not name or re.search(r"[=,]", re.sub(r"[(<\[].*[)>\]]", "", name)) else [name]


def factors_are_in_order(check, subject):
    """A greater factor makes no window shorter; so none is below that of the factor 0."""
    names = ["kernel", "host", "launch", "*"] + top_kernel(subject)
    for mode, name in itertools.product(modes(subject), names):
        changes = [f"{name}={factor}x" if factor != "0" else f"{name}=0" for factor in FACTORS]
        found = [ask("deps", *mode, "--what-if", change, subject.path) for change in changes]
        if None in found:
            continue
        windows = [lengths(one["what_if"]["windows"]) for one in found]
        for (less, shorter), (more, longer) in itertools.pairwise(zip(changes, windows)):
            at = [number for number, (a, b) in enumerate(zip(shorter, longer)) if a > b]
            check.holds(f"deps {' '.join(mode)} {subject.name}: '{less}' against '{more}'",
                        len(shorter) == len(longer) and not at,
                        at and f"{len(at)} windows, as number {at[0] + 1}: {shorter[at[0]]} > "
                        f"{longer[at[0]]}")


def gains_are_bounded(check, subject):
    """What an activity can gain is not less than nothing, nor more than it has on the path."""
    for mode in modes(subject):
        found = ask("deps", *mode, "--gains", "20", subject.path)
        for row in (found or {}).get("top", []):
            check.holds(f"deps {' '.join(mode)} --gains 20 {subject.name}: {row['name']}",
                        0 <= row["gain_ns"] <= row["critical_ns"],
                        f"gains {row['gain_ns']} of {row['critical_ns']}")


# ---- Windows and iterations ----

def windows_are_iterations(check, subject):
    """Window N of deps is iteration N of iters, whatever an iteration is."""
    for way in ["auto"] + ([] if subject.job else ways(subject.path)):
        found = ask("iters", "--each", "--iterations", way, subject.path)
        windows = ask("deps", "--iterations", way, subject.path)
        if subject.job:
            found = next(one for one in found if one.get("iterations") and one.get("by"))
        if not found or not windows:
            check.holds(f"--iterations={way} {subject.name}", not found and not windows,
                        f"only {'iters' if found else 'deps'} has it")
            continue
        expected = [(one["iteration"], one["begin_ns"], one["end_ns"], one["latency_ns"])
                    for one in found["iterations"]]
        got = [(one["iteration"], one["begin_ns"], one["end_ns"], one["window_ns"])
               for one in windows["windows"]]
        check.equal(f"--iterations={way} {subject.name}: their number", len(expected), len(got))
        odd = [pair for pair in zip(expected, got) if pair[0] != pair[1]]
        check.holds(f"--iterations={way} {subject.name}: iteration, begin, end, length", not odd,
                    odd and f"{len(odd)} differ, as {odd[0][0]} of iters, {odd[0][1]} of deps")


# ---- The page, Python and exports ----

def compare(check, what, before, after, expected=lambda path, value: value, path=""):
    """Each value of a document against that of another one. `expected` says what a value of the
    first is in the second, or `...`: anything."""
    if isinstance(before, dict) and isinstance(after, dict):
        check.equal(f"{what}{path}, keys", sorted(before), sorted(after))
        for key in before.keys() & after.keys():
            compare(check, what, before[key], after[key], expected, f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list):
        check.equal(f"{what}{path}, rows", len(before), len(after))
        for number, (one, other) in enumerate(zip(before, after)):
            compare(check, what, one, other, expected, f"{path}/{number}")
    else:
        value = expected(path, before)
        if value is not ...:
            rounded = any(isinstance(number, float) for number in (value, after))
            (check.near if rounded and number_or_none(value) and number_or_none(after)
             else check.equal)(what + path, value, after)


def number_or_none(value):
    return value is None or isinstance(value, (int, float)) and not isinstance(value, bool)


DOCUMENT = re.compile(rb'<script type="application/json" id="doc-(\w+)"[^>]*>(.*?)</script>', re.S)
# Documents inside the page that are those of a command.
PAGE = ("iters", "advise", "deps", "overlap", "summary", "layers", "nvtx", "info")


def page_is_the_commands(check, subject):
    """What the page holds is what the commands say."""
    page = {name.decode(): json.loads(text) for name, text in
            DOCUMENT.findall(printed("html", "-o", "-", subject.path))}
    for name in PAGE:
        found, shown_there = ask(name, subject.path), page[name]
        if not found or "note" in shown_there:
            continue
        for key in found.keys() & shown_there.keys():
            compare(check, f"html, doc-{name} {subject.name}", found[key], shown_there[key],
                    path=f"/{key}")
    each = ask("iters", "--each", subject.path)
    if each and "rows" in page["iterations"]:
        columns = page["iterations"]["columns"]
        rows = [dict(zip(columns, row)) for row in page["iterations"]["rows"]]
        shared = set(columns) & set(each["iterations"][0] if each["iterations"] else ())
        check.holds(f"html, doc-iterations {subject.name}: columns", "latency_ns" in shared)
        compare(check, f"html, doc-iterations {subject.name}",
                [{key: row[key] for key in shared} for row in each["iterations"]],
                [{key: row[key] for key in shared} for row in rows])
    busy = {one["device"]: one["busy_ns"] for one in ask("overlap", subject.path)["devices"]}
    for one in page["overview"]["devices"]:
        check.equal(f"html, doc-overview {subject.name}: busy_ns of device {one['device']}",
                    busy.get(one["device"], 0), one["busy_ns"])


def python_says_the_same(check, subject):
    """What the Python package says of all traces, in one run of it (tests/tools/python_says.py)."""
    paths = [one.path for one in subject.path]
    result = subprocess.run(
        [sys.executable, os.path.join(laws.SOURCE, "tests/tools/python_says.py"), *paths],
        cwd=laws.DATA, env=dict(ENVIRONMENT, BUILD=laws.BUILD, SOURCE=laws.SOURCE), check=False,
        stdin=subprocess.DEVNULL, capture_output=True)
    if result.returncode == 77:
        check.compared = None
        return
    if result.returncode:
        raise RuntimeError(result.stderr.decode(errors="replace"))
    for one, line in zip(subject.path, result.stdout.splitlines(), strict=True):
        said, found = json.loads(line), ask("iters", "--each", one.path)
        what = f"Python {one.name}"
        for column, values in said["iterations"].items():
            if found["iterations"] and column in found["iterations"][0]:
                check.equal(f"{what}: iterations().{column}",
                            [row[column] for row in found["iterations"]], values)
        for key in ("count", "headline", "recording_cost", "outliers", "statistics"):
            compare(check, f"{what}: run('iters')", found[key], said["iters"][key], path=f"/{key}")
        report = said["report"]
        check.equal(f"{what}: report(), P50", found["statistics"]["latency_ns"]["p50"],
                    report["latency"]["p50_ns"])
        compare(check, f"{what}: report()", found["headline"], report["headline"])
        compare(check, f"{what}: report()", found["recording_cost"], report["recording_cost"])
        check.equal(f"{what}: union of kernels", ask("summary", one.path)["kernel_time"]["busy_ns"],
                    said["kernels_busy_ns"])
        check.equal(f"{what}: run('deps', iterations='auto')",
                    [row["latency_ns"] for row in found["iterations"]], said["windows"])


def union(intervals, begin, end):
    """Time between begin and end in which at least one interval is."""
    total, until = 0, begin
    for start, stop in sorted(intervals):
        start, stop = max(start, until), min(stop, end)
        total += max(stop - start, 0)
        until = max(until, stop)
    return total


def realtime_offset(path):
    """ns since 1970 minus the trace's clock."""
    header = ask("info", path)["properties"]
    if "start_realtime_ns" not in header or "start_clock_ns" not in header:
        return 0
    return int(header["start_realtime_ns"]) - int(header["start_clock_ns"])


def json_lines_are_iterations(check, subject):
    """The work that an exported row gives to an iteration adds up to that of iters."""
    found, offset = ask("iters", "--each", subject.path), realtime_offset(subject.path)
    work = collections.defaultdict(lambda: collections.defaultdict(list))
    lines = printed("export", "--to", "jsonl", "--analysis", "on", "-o", "-", subject.path)
    for row in map(json.loads, lines.splitlines()):
        if row["kind"] in ("kernel", "copy", "set", "graph") and row.get("iteration"):
            work[row["iteration"]][row["kind"]].append(row)
    what = f"export --to jsonl {subject.name}"
    check.holds(f"{what}: greatest iteration", max(work, default=0) <= found["count"],
                f"{max(work, default=0)} of {found['count']}")
    for one in found["iterations"]:
        own, bounds = work[one["iteration"]], (one["begin_ns"] + offset, one["end_ns"] + offset)
        spans = {kind: [(row["start_ns"], row["start_ns"] + row["dur_ns"]) for row in rows]
                 for kind, rows in own.items()}
        of = f"{what}: iteration {one['iteration']}, "
        check.equal(of + "kernels", one["kernels"], len(own["kernel"]))
        check.equal(of + "copies", one["copies"], sum(row.get("count") or 1 for row in own["copy"]))
        check.equal(of + "bytes_copied", one["bytes_copied"],
                    sum(row["bytes"] for row in own["copy"]))
        check.equal(of + "busy_ns", one["busy_ns"], union(sum(spans.values(), []), *bounds))
        check.equal(of + "kernel_ns", one["kernel_ns"],
                    union(spans.get("kernel", []) + spans.get("graph", []), *bounds))


def kineto_steps_are_iterations(check, subject):
    """The steps that other tools see are the iterations: begin, host time, thread."""
    found = ask("iters", "--each", subject.path)
    if found["by"] == "whole":
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        printed("export", "--to", "kineto", "-o", path, subject.path)
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
    offset = realtime_offset(subject.path)
    steps = {int(one["name"].split("#")[1]): one for one in trace["traceEvents"]
             if one.get("cat") == "user_annotation" and one["name"].startswith("ProfilerStep#")}
    what = f"export --to kineto {subject.name}"
    check.equal(f"{what}: number of steps", found["count"], len(steps))
    for one in found["iterations"]:
        step = steps.get(one["iteration"], {"ts": 0, "dur": 0})
        # ts has three decimals and is below 2 ** 53 / 1000, so rounding gives it back.
        begin = trace["baseTimeNanoseconds"] + round(step["ts"] * 1000) - offset
        check.equal(f"{what}: step {one['iteration']}", (one["begin_ns"], one["host_ns"]),
                    (begin, round(step["dur"] * 1000)))


# ---- Transformed traces ----

TIMES = {"begin_ns", "end_ns", "host_end_ns"}
# {transformation: {pattern of a command and a place in its document: why it may differ}}
EXEMPT = {
    "unchanged": {},
    "shifted": {},
    "scaled": {
        r" /recording_cost/": "the cost of a call is that of the recorder, in ns",
        r"/quality/counters/": "the recorder's own counters are no times of rows",
    },
    "renumbered": {
        r"^iters --each /iterations/\d+/thread$": "the thread's number in the trace",
    },
}
TRANSFORMATIONS = {
    "unchanged": (transform.unchanged, 0, 1),
    "shifted": (lambda trace: transform.shifted(trace, 10 ** 12), 10 ** 12, 1),
    "scaled": (lambda trace: transform.scaled(trace, 2), 0, 2),
    "renumbered": (transform.renumbered, 0, 1),
}
VIEWS = (("iters", "--each"), ("iters", "--candidates"), ("deps",), ("deps", "--parts"),
         ("deps", "--iterations", "auto"), ("deps", "--iterations", "auto", "--what-if",
                                            "kernel=0.5x"), ("summary",), ("overlap",))


def moved(name, view, by, factor):
    """What a value of a document is in that of the transformed trace."""
    exempt = [re.compile(pattern) for pattern in EXEMPT[name]]

    def expected(path, value):
        if any(pattern.search(f"{' '.join(view)} {path}") for pattern in exempt):
            return ...
        if value is None or not number_or_none(value) or "/quality/" in path:
            return value
        keys = path.split("/")
        if keys[-1] in TIMES:
            return value * factor + by if value else value
        if keys[-1].endswith("per_s"):
            return value / factor
        return value * factor if any(key.endswith("_ns") for key in keys) else value
    return expected


def transformed(name):
    """The law of one transformation."""
    change, by, factor = TRANSFORMATIONS[name]

    def law(check, subject):
        with tempfile.TemporaryDirectory() as folder:
            path = transform.write(change(transform.read(in_data(subject.path))),
                                   os.path.join(folder, "other.mpt"))
            for view in VIEWS:
                before, after = ask(*view, subject.path), ask(*view, path)
                if before is None or after is None:
                    check.holds(f"{name}: {' '.join(view)} {subject.name}", before is after,
                                f"there is none of the {'first' if after else 'second'}")
                    continue
                compare(check, f"{name}: {' '.join(view)} {subject.name} ", before, after,
                        moved(name, view, by, factor))
    return law


def in_data(path):
    return os.path.join(laws.DATA, path)


# A call of a thread without an iteration belongs to the one that is open (docs/iterations.md,
# section 2), so the queries themselves may count there.
NOT_OF_BYSTANDERS = {"api_ns"}


def bystander_changes_nothing(check, subject):
    """A thread that only asks for events, at the begin and near the end of each range."""
    with tempfile.TemporaryDirectory() as folder:
        path = transform.write(transform.with_poller(transform.read(in_data(subject.path))),
                               os.path.join(folder, "polled.mpt"))
        before, after = (ask("iters", "--each", one) for one in (subject.path, path))
        what = f"with a poller {subject.name}: "
        for key in ("by", "name", "count"):
            check.equal(f"{what}iters, {key}", before[key], after[key])
        compare(check, f"{what}iters", *({key: value for key, value in one["statistics"].items()
                                          if key not in NOT_OF_BYSTANDERS}
                                         for one in (before, after)))
        check.equal(f"{what}iters --each, begins",
                    *([one["begin_ns"] for one in found["iterations"]]
                      for found in (before, after)))
        for options in ((), ("--iterations", "auto")):
            before, after = (ask("deps", *options, one) for one in (subject.path, path))
            check.equal(f"{what}deps {' '.join(options)}", lengths(before["windows"]),
                        lengths(after["windows"]))
            for change in ("kernel=0", "kernel=0.5x"):
                before, after = (ask("deps", *options, "--what-if", change, one)
                                 for one in (subject.path, path))
                if before:
                    check.equal(f"{what}deps {' '.join(options)} --what-if {change}",
                                lengths(before["what_if"]["windows"]),
                                lengths(after["what_if"]["windows"]))


# Percentiles are by nearest rank (docs/iterations.md, section 4): that of rank r among n is that of
# rank 2r, or 2r - 1, among 2n, where each value is there twice. So all of them stay.
SAME_TWICE = ("mean", "min", "p50", "p90", "p95", "p99", "max")


def compare_statistics(check, what, one, two):
    for name, values in one["statistics"].items():
        for key in SAME_TWICE:
            check.near(f"{what}, {key} of {name}", values[key], two["statistics"][name][key])
    check.near(f"{what}, throughput", one["throughput_per_s"], two["throughput_per_s"])
    check.near(f"{what}, P50 of the headline", one["headline"]["p50_ns"],
               two["headline"]["p50_ns"])


def compare_twice(check, name, single, double, ranges):
    way = chosen_way(single) or "range"
    of = ("--iterations", way)
    one, two = ask("iters", *of, single), ask("iters", *of, double)
    if not one or not two:
        check.holds(f"twice {name}: {way}", one is two, "only one of them has it")
        return
    check.equal(f"twice {name}: iters --iterations={way}, count", 2 * one["count"], two["count"])
    check.equal(f"twice {name}: iters --iterations={way}, outliers", 2 * len(one["outliers"]),
                len(two["outliers"]))
    compare_statistics(check, f"twice {name}: iters --iterations={way}", one, two)
    windows = [ask("deps", *of, path)["windows"] for path in (single, double)]
    check.equal(f"twice {name}: deps --iterations={way}", 2 * lengths(windows[0]),
                lengths(windows[1]))
    for number in range(1, ranges + 1):
        first, copy, alone = (
            ask("iters", *of, "--range", str(which), path)
            for which, path in ((number, double), (number + ranges, double), (number, single)))
        for which, found in ((number, first), (number + ranges, copy)):
            what = f"twice {name}: iters --iterations={way} --range {which}"
            if alone is None or found is None:
                check.holds(what, alone is found, "only one of them has it")
                continue
            check.equal(f"{what}, count", alone["count"], found["count"])
            compare_statistics(check, what, alone, found)


def copy_keeps_statistics(check, subject):
    """The trace given twice, as further capture ranges, has the same iterations twice."""
    trace = transform.bracketed(transform.read(in_data(subject.path)))
    double, ranges = transform.twice(trace)
    with tempfile.TemporaryDirectory() as folder:
        one = transform.write(trace, os.path.join(folder, "one.mpt"))
        two = transform.write(double, os.path.join(folder, "two.mpt"))
        windows = [ask("deps", path)["windows"] for path in (one, two)]
        check.equal(f"twice {subject.name}: deps", 2 * lengths(windows[0]), lengths(windows[1]))
        check.equal(f"twice {subject.name}: deps, the sum", 2 * ask("deps", one)["window_ns"],
                    ask("deps", two)["window_ns"])
        compare_twice(check, subject.name, one, two, ranges)


# ---- Comparisons ----

OPPOSITE = {"slower": "faster", "faster": "slower", "more": "less", "less": "more",
            "added": "removed", "removed": "added"}
NEGATED = {"shift", "shift_ns", "difference", "difference_ns"}
LEAST_SHIFT = 0.01   # of a name's time in A, for it to be slower or faster (docs/diff.md)


def other_side(key):
    """The key of the same value of the other side."""
    if key in OPPOSITE:
        return OPPOSITE[key]
    return {"a": "b", "b": "a"}.get(key) or re.sub(r"^([ab])_", lambda match: {
        "a": "b_", "b": "a_"}[match.group(1)], key)


def mirrored(value, key=""):
    """The document of `diff B A`, made of that of `diff A B`."""
    if isinstance(value, dict):
        found = {other_side(name): mirrored(one, name) for name, one in value.items()}
        if "low_ns" in value and value["low_ns"] is not None:
            found.update(low_ns=-value["high_ns"], high_ns=-value["low_ns"])
        return found
    if isinstance(value, list):
        return [mirrored(one) for one in value]
    if key in NEGATED and value is not None:
        return -value
    return OPPOSITE.get(value, value) if key == "change" else value


def by_name(rows, key):
    return {row[key]: row for row in rows}


def of_both(expected, got):
    """Without the `change` of rows that are slower by 1 % of A's time, but not of B's."""
    for name in expected.keys() & got.keys():
        one, other = expected[name], got[name]
        if one["shift_ns"] is None or "a_calls" not in one:
            continue
        least, most = sorted((one["a_ns"] * LEAST_SHIFT, one["b_ns"] * LEAST_SHIFT))
        if least <= abs(one["shift_ns"]) < most:
            one["change"] = other["change"] = "of one side only"
    return expected, got


def diff_has_two_directions(check, subject):
    """B against A is A against B with the sides exchanged."""
    one, other = subject.path
    there, back = ask("diff", one, other), ask("diff", other, one)
    what = f"diff {subject.name}"
    if not there or not back:
        check.holds(what, there is back, "only one direction has an answer")
        return
    expected = mirrored(there)
    percent = expected["iterations"].pop("percent"), back["iterations"].pop("percent")
    base = back["iterations"]["a"]["p50_ns"]
    if percent[1] is not None and base:
        check.near(f"{what}: percent of the new A's P50",
                   100 * back["iterations"]["shift_ns"] / base, percent[1])
    compare(check, f"{what}: ", expected["iterations"], back["iterations"], path="/iterations")
    for table, key in (("quantities", "quantity"), ("kernels", "name"), ("layers", "name")):
        tables = [by_name(found[table] or [], key) for found in (expected, back)]
        compare(check, f"{what}: ", *of_both(*tables), path=f"/{table}")
    for key in ("equal", "replaced", "added", "removed", "a", "b"):
        compare(check, f"{what}: ", expected["positions"][key], back["positions"][key],
                path=f"/positions/{key}")


def zero(check, what, value, path=""):
    """No difference anywhere in a document of diff."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in NEGATED or key in ("percent", "added", "removed", "replaced"):
                check.holds(f"{what}{path}/{key}", not one, one)
            elif key == "change":
                check.holds(f"{what}{path}/{key}", one in ("unchanged", "unknown"), one)
            else:
                zero(check, what, one, f"{path}/{key}")
        if value.get("low_ns") is not None:
            check.holds(f"{what}{path}/low_ns", value["low_ns"] <= 0 <= value["high_ns"],
                        f"{value['low_ns']} to {value['high_ns']}")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            zero(check, what, one, f"{path}/{number}")


def diff_of_itself_is_zero(check, subject):
    """A trace against itself, and against the same rows written anew."""
    found = ask("diff", subject.path, subject.path)
    if found:
        zero(check, f"diff {subject.name} {subject.name}: ",
             {key: found[key] for key in ("iterations", "quantities", "kernels", "positions",
                                          "layers")})


# ---- The table ----

LAWS = (
    Law("a change that is none changes nothing", nothing_changes, None, True),
    Law("a greater factor makes no window shorter", factors_are_in_order, 70000, True),
    Law("a gain is between nothing and the critical time", gains_are_bounded, 70000, False),
    Law("windows of deps are iterations of iters", windows_are_iterations, None, True),
    Law("the page says what the commands say", page_is_the_commands, 120000, False),
    Law("JSON lines add up to the iterations", json_lines_are_iterations, 120000, False),
    Law("steps of kineto are the iterations", kineto_steps_are_iterations, 120000, False),
    Law("a thread that only polls changes nothing", bystander_changes_nothing, 40000, False),
    Law("a second copy keeps the statistics", copy_keeps_statistics, 40000, False),
    *(Law(f"{name} traces have the same reports", transformed(name), 40000, False)
      for name in TRANSFORMATIONS),
    Law("a trace does not differ from itself", diff_of_itself_is_zero, 100000, False),
)
# Those of several traces at once.
PYTHON = Law("Python says what the commands say", python_says_the_same, 120000, False)
PAIRS = Law("diff B A is diff A B with the sides exchanged", diff_has_two_directions, 70000, False)
ALL = (*LAWS, PYTHON, PAIRS)
# Compared with each other, and each with the next one of all traces.
ALL_PAIRS = ("inference.mpt", "two_streams.mpt", "captured.mpt", "resnet50_graph.mpt",
             "resnet50_graph_edges.mpt", "zoo/pdl_graph_baseline.mpt", "zoo/pdl_launched.mpt",
             "zoo/polling.mpt", "zoo/server_baseline.mpt", "zoo/loader.mpt")


# ---- Subjects ----

def made_subjects(folder):
    """Traces that are in no folder: of known content, generated ones, and jobs."""
    for path in laws.made():
        yield Subject("made " + os.path.basename(path), path, os.path.getsize(path), False)
    for name, trace in transform.generated().items():
        path = transform.write(trace, os.path.join(folder, name.replace(" ", "_") + ".mpt"))
        yield Subject(name, path, os.path.getsize(path), False)
    for name, ranks in (("job of 2", 2), ("job of 9", 9)):
        path = os.path.join(folder, name.replace(" ", "_"))
        os.mkdir(path)
        subprocess.run([os.path.join(laws.BUILD, "tests/tools/make_job"), path, str(ranks), "30"],
                       check=True)
        yield Subject(name, path, 0, True)


def subjects(folder):
    found = [Subject(trace, trace, laws.size(trace), False) for trace in laws.TRACES]
    found += [Subject(job, job, 0, True) for job in laws.JOBS]
    found += made_subjects(folder)
    return [one for one in found if not SHORT or one.name in SHORT_TRACES]


def pairs(found):
    """Each with the next one, and all of some with each other."""
    some = [one for one in found if one.name in ALL_PAIRS]
    chosen = list(itertools.combinations(some, 2)) + list(itertools.pairwise(found))
    return [Subject(f"{a.name} {b.name}", (a.path, b.path), a.size + b.size, False)
            for a, b in dict.fromkeys(chosen)]


def fits(law, subject):
    return (law.jobs or not subject.job) and (law.most_bytes is None or
                                              subject.size <= law.most_bytes)


def tasks(found):
    """(number of the law, subject), what takes longest first."""
    single = [one for one in found if not one.job]
    chosen = [(number, one) for number, law in enumerate(LAWS) for one in found if fits(law, one)]
    chosen.append((ALL.index(PYTHON), Subject("all traces", [one for one in single if fits(
        PYTHON, one)], 10 ** 9, False)))
    chosen += [(ALL.index(PAIRS), pair) for pair in pairs([one for one in single if
                                                           fits(PAIRS, one)])]
    only = os.environ.get("T_LAW", "")
    chosen = [(law, one) for law, one in chosen if only in ALL[law].name]
    return sorted(chosen, key=lambda task: -task[1].size)


def examine(task):
    """Runs in another process."""
    number, subject = task
    check = Check()
    try:
        ALL[number].holds(check, subject)
    except (RuntimeError, ValueError, LookupError, TypeError, AttributeError, OSError):
        check.wrong.append(f"{subject.name}: {traceback.format_exc(limit=-3)}")
    return number, check.compared, check.wrong


def main():
    verdicts = laws.Verdicts()
    compared, wrong, of = collections.Counter(), collections.defaultdict(list), set()
    skipped = set()
    with tempfile.TemporaryDirectory(prefix="miniprof-invariants.") as folder:
        todo = tasks(subjects(folder))
        with multiprocessing.Pool(2) as pool:
            for number, count, found in pool.imap_unordered(examine, todo):
                of.add(number)
                if count is None:
                    skipped.add(number)
                compared[number] += count or 0
                wrong[number] += found
    for number in sorted(of):
        name = ALL[number].name
        if number in skipped:
            print(f"skipped: {name}: no numpy and pandas")
            continue
        print(f"{compared[number]:8} comparisons: {name}")
        verdicts.say(name, wrong[number] or ["nothing was compared"] * (not compared[number]))
    return verdicts


if __name__ == "__main__":
    sys.exit(main().end())
