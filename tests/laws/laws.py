"""What the laws share: traces, views, one run of each command, and readers of its output.

A view is a report command with its options and perhaps one of its tables. The list of views is that
of docs/fields.md's generator (tests/tools/fields.py), so a view that has its fields documented is
under the laws.
"""
import collections
import csv
import functools
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("SOURCE") or os.path.abspath(
    os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("BUILD") or os.path.join(SOURCE, "build")
MINIPROF = os.path.join(BUILD, "miniprof")
DATA = os.path.join(SOURCE, "tests", "data")
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import fields  # noqa: E402 pylint: disable=wrong-import-position

TRACES = sorted(os.path.relpath(path, DATA)
                for path in glob.glob(os.path.join(DATA, "**", "*.mpt"), recursive=True))
# A folder that is not the zoo holds the traces of one job.
FOLDERS = sorted({os.path.dirname(trace) for trace in TRACES} - {"", "zoo"})
PAIRS = [("inference.mpt", "two_streams.mpt"), ("inference.mpt", "captured.mpt"),
         ("resnet50_graph_edges.mpt", "resnet50_graph.mpt")]

View = collections.namedtuple("View", "name report table of listed")
# name: as in docs/fields.md's lists; report: the command with its options, of which CSV has one
# table; table: its name, "" for the main one; of: what it is of, "trace", "folder" or "pair".


def views_of(lists, of):
    found = {}
    for arguments, listed in fields.commands(lists):
        listed = listed if isinstance(listed, str) else " ".join(listed)
        report, table = list(arguments), ""
        if "--table" in report:
            at = report.index("--table")
            table = report[at + 1]
            del report[at:at + 2]
        name = " ".join(report)
        found.setdefault(name, View(name, tuple(report), "", of, name))  # and its main table
        name += " --table " + table if table else ""
        found[name] = View(name, tuple(report), table, of, listed)
    return list(found.values())


VIEWS = (views_of(fields.EACH, "trace") + views_of(fields.SETS, "folder") +
         views_of(fields.JOBS, "job") + views_of(fields.PAIRS, "pair"))


JOBS = [folder for folder in FOLDERS if folder == "ranks"]
SINGLE = tuple(trace for trace in TRACES if os.path.dirname(trace) not in FOLDERS)
# Traces of known content, which have what no committed one has.
_MADE = tempfile.TemporaryDirectory(prefix="miniprof-laws.")
KINDS = ("counters", "stacks", "stacks-sampled", "stacks-native", "layers", "metrics", "nvtx",
         "streams", "plain")
# Commands that take one trace, or say something else of several.
ONE_BY_ONE = ("info", "top")
# Those that join the traces of a job.
JOINING = ("deps", "iters", "advise")
# Views of traces of at most so many bytes: those with a row for each activity, and those that
# build the dependencies anew.
SMALL = {"gpu-trace": 12000, "api-trace": 12000, "deps --trace": 12000, "iters --each": 12000,
         "memory --timeline": 12000, "deps --": 40000}


def made():
    """Paths of the traces of known content; none is in the way of the command's own names."""
    paths = [os.path.join(_MADE.name, kind + ".mpt") for kind in KINDS]
    for kind, path in zip(KINDS, paths):
        if not os.path.exists(path):
            subprocess.run([os.path.join(BUILD, "tests", "tools", "make_trace"), kind, path],
                           check=True)
    return tuple(paths)


def subjects(view):
    """What the view is made of: tuples of files. Several traces are one command, which costs less;
    they get one report each."""
    if view.of == "pair":
        return PAIRS
    if view.of == "job":
        return [(job,) for job in JOBS]
    if view.of == "folder":
        return [(folder,) for folder in FOLDERS]
    if view.report[0] in ONE_BY_ONE:
        return [(trace,) for trace in TRACES]
    single = SINGLE + made()
    most = next((most for name, most in SMALL.items() if view.name.startswith(name)), None)
    if most:
        single = tuple(trace for trace in single if size(trace) <= most)
    return [single] + [
        (folder + "/rank0.mpt" if folder in JOBS and view.report[0] in JOINING else folder,)
        for folder in FOLDERS]


def size(trace):
    return os.path.getsize(os.path.join(DATA, trace))


# ---- Runs ----

_OUTPUTS = {}
_COSTS = tempfile.TemporaryDirectory(prefix="miniprof-laws.")  # not the user's recording costs
_ENVIRONMENT = dict(os.environ, LC_ALL="C", XDG_CACHE_HOME=_COSTS.name)


def run(*arguments):
    """What the command prints; None if it has nothing to say of that (exit code 2: no such
    iterations). Each command runs once."""
    if arguments not in _OUTPUTS:
        result = subprocess.run([MINIPROF, *arguments], cwd=DATA, env=_ENVIRONMENT, check=False,
                                stdin=subprocess.DEVNULL, capture_output=True)
        if result.returncode not in (0, 1, 2):
            raise SystemExit(f"miniprof {' '.join(arguments)}: exit code {result.returncode}: "
                             f"{result.stderr.decode(errors='replace')}")
        _OUTPUTS[arguments] = (None if result.returncode == 2 else
                               result.stdout.decode("utf-8", "replace"))
    return _OUTPUTS[arguments]


def table(view, subject, *more):
    """Rows of the view's CSV, as dictionaries of text; None: no such report."""
    chosen = ("--table", view.table) if view.table else ()
    return rows_of(run(*view.report, "--csv", *chosen, *more, *subject))


def exact(cell):
    """The text of a cell, without the apostrophe that keeps it from being a formula."""
    return re.sub(r"^'('*[=+@-])", r"\1", cell)


def rows_of(text):
    if text is None:
        return None
    rows = list(csv.reader(text.splitlines(), strict=True))
    return [dict(zip(rows[0], map(exact, row))) for row in rows[1:]]


def sheet(*arguments):
    """The same of any command line."""
    return rows_of(run(*arguments[:1], "--csv", *arguments[1:]))


def document(*arguments):
    text = run(*arguments[:1], "--json", *arguments[1:])
    if not text:
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError:  # an object a line
        return [json.loads(line) for line in text.splitlines()]


# ---- Numbers ----

UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 1024, "MiB": 1024 ** 2,
         "GiB": 1024 ** 3, "KB": 1024, "MB": 1024 ** 2, "GB": 1024 ** 3, "B/s": 1, "KB/s": 1e3,
         "MB/s": 1e6, "GB/s": 1e9, "%": 1, "": 1}
NUMBER = re.compile(r"([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?:e([+-]\d+))?)"
                    r"(ns|us|ms|s|[KMG]i?B|B|[KMG]?B/s|%|)")


@functools.lru_cache(maxsize=None)
def number_of(text):
    """(value in base units, half of its last digit) of a number as reports print it; None: it is
    no number."""
    match = NUMBER.fullmatch(text)
    if not match:
        return None
    scale = UNITS[match.group(4)]
    last = 10.0 ** (int(match.group(3) or 0) - len(match.group(2) or ""))
    return float(match.group(1).replace(",", "")) * scale, last * scale / 2


def value_of(cell):
    """A number of CSV or JSON; None: it is none."""
    if isinstance(cell, (int, float)):
        return float(cell)
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def near(a, b, absolute=1e-6, relative=1e-9):
    return math.isclose(a, b, rel_tol=relative, abs_tol=absolute)


# ---- Verdicts ----

class Verdicts:
    """Prints what is wrong and counts: of each statement one, however many rows it has."""

    def __init__(self):
        self.passed = self.failed = 0

    def say(self, what, wrong):
        """`wrong`: a list of texts; none: it holds."""
        if not wrong:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {what}")
        for line in wrong[:5]:
            print(f"    {line}")
        if len(wrong) > 5:
            print(f"    and {len(wrong) - 5} more")

    def end(self):
        """The last line; returns the exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return int(self.failed != 0)
