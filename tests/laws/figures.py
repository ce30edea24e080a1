"""Invariants of what is said in several places: by the page, the Python package and exports, as by
the commands."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import laws
from checks import ENVIRONMENT, ask, compare, deps, printed, without

DOCUMENT = re.compile(rb'<script type="application/json" id="doc-(\w+)"[^>]*>(.*?)</script>', re.S)
# Documents inside the page that are those of a command.
PAGE = ("iters", "advise", "deps", "overlap", "summary", "layers", "nvtx", "info")
# {document: keys in which the page has only the rows with most time}
CUT = {"layers": {"positions", "work"}}
JAVASCRIPT = 1 << 53   # greater whole numbers stand in the page as texts


def as_in_page(_, value):
    if isinstance(value, str):   # of names a reader sees what a terminal shows (docs/fields.md)
        return re.sub(r"[\x00-\x1f\x7f]", "?", value)
    return str(value) if type(value) is int and abs(value) > JAVASCRIPT else value


def page_is_the_commands(check, subject):
    """What the page holds is what the commands say."""
    page = {name.decode(): json.loads(text) for name, text in
            DOCUMENT.findall(printed("html", "-o", "-", subject.path))}
    for name in PAGE:
        found, shown_there = ask(name, subject.path), page[name]
        if not found or "note" in shown_there:
            continue
        found, shown_there = (without(one, CUT.get(name, ())) for one in (found, shown_there))
        for key in found.keys() & shown_there.keys():
            compare(check, f"html, doc-{name} {subject.name}", found[key], shown_there[key],
                    as_in_page, f"/{key}")
    each = ask("iters", "--each", subject.path)
    if each and "rows" in page["iterations"]:
        columns = page["iterations"]["columns"]
        rows = [dict(zip(columns, row)) for row in page["iterations"]["rows"]]
        shared = set(columns) & set(each["iterations"][0] if each["iterations"] else ())
        check.holds(f"html, doc-iterations {subject.name}: columns", "latency_ns" in shared)
        compare(check, f"html, doc-iterations {subject.name}",
                [{key: row[key] for key in shared} for row in each["iterations"]],
                [{key: row[key] for key in shared} for row in rows], as_in_page)
    busy = {one["device"]: one["busy_ns"]
            for one in ask("overlap", subject.path)["devices"] or ()}
    for one in page["overview"]["devices"] if busy else ():
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
                expected = [row[column] for row in found["iterations"]]
                if column == "begin_ns":  # in CSV times count from the first iteration
                    expected = [begin - expected[0] for begin in expected]
                check.equal(f"{what}: iterations().{column}", expected, values)
        for key in ("count", "headline", "recording_cost", "outliers", "statistics"):
            compare(check, f"{what}: run('iters')", found[key], said["iters"][key], path=f"/{key}")
        report = said["report"]
        if report["latency"]["p50_ns"] is not None:
            check.equal(f"{what}: report(), P50", found["statistics"]["latency_ns"]["p50"],
                        report["latency"]["p50_ns"])
        compare(check, f"{what}: report()", found["headline"], report["headline"])
        compare(check, f"{what}: report()", found["recording_cost"], report["recording_cost"])
        kernels = ask("summary", one.path)["kernel_time"]
        if kernels and kernels["busy_ns"] is not None:
            check.equal(f"{what}: union of kernels", kernels["busy_ns"], said["kernels_busy_ns"])
        if deps(one.path):
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
    if not deps(subject.path):
        return
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
        check.equal(of + "kernels", one["kernels"], len(own["kernel"]) + len(own["graph"]))
        check.equal(of + "copies", one["copies"], sum(row.get("count") or 1 for row in own["copy"]))
        check.equal(of + "bytes_copied", one["bytes_copied"],
                    sum(row["bytes"] for row in own["copy"]))
        check.equal(of + "busy_ns", one["busy_ns"], union(sum(spans.values(), []), *bounds))
        check.equal(of + "kernel_ns", one["kernel_ns"],
                    union(spans.get("kernel", []) + spans.get("graph", []), *bounds))


def kineto_steps_are_iterations(check, subject):
    """The steps that other tools see are the iterations: begin, host time, thread."""
    found = ask("iters", "--each", subject.path)
    if found["by"] == "whole" or not deps(subject.path):
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
