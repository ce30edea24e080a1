#!/usr/bin/env python3
# Takes 50 s; with CHECKS=short 9 s.
"""Every format holds what the trace holds: counts and total times by kind and name, from the
export, against those of `miniprof summary` and `miniprof nvtx`, for every committed trace.

A format adds a file reader_FORMAT.py here, with

    FORMAT         what --to takes
    KINDS          of kernel, copy, set, graph, unified, call, range: those that the format holds
    NAMES = True   False: kinds only, as where the format changes names
    UNIT = 1       ns, to which each duration is rounded in the format
    EXTRA = ()     further options of the export
    rows(path)     gives (kind, name, domain, duration in ns) of each row of such a file or folder

A reader that lacks a program or a module raises unittest.SkipTest.

CHECKS=short leaves out the traces that LONG names.
"""
import collections
import csv
import functools
import glob
import importlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from common import add_tests, HERE, MINIPROF

READERS = [importlib.import_module(os.path.basename(path)[:-3])
           for path in sorted(glob.glob(HERE + "/reader_*.py"))]


# Traces whose kinds of rows others have, in fewer rows: resnet50_graph_edges, inference, and of the
# zoo server, loader, stream_alloc and cupy_streams.
LONG = """resnet50_eager resnet50_graph generate jax_jit jax_scan pdl_graph pdl_graph_baseline
    pdl_launched polling server_baseline torch_compile torch_eager torch_graph
    torch_graph_baseline triton_loop vit_amp workers""".split()


def document(*arguments):
    """What a command prints as JSON."""
    done = subprocess.run([MINIPROF, *arguments], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)


def kind_of(group, name):
    """The kind of a row of the summary."""
    if group == "api_calls":
        return "call"
    for kind, begin in (("copy", "[CUDA memcpy "), ("set", "[CUDA memset]"),
                        ("graph", "[CUDA graph "), ("unified", "[Unified Memory")):
        if name.startswith(begin):
            return kind
    return "kernel"


def batched(trace):
    """{name: copies without a row of their own}: a batch is one row with a count, in the trace and
    in exports, while the summary counts copies."""
    done = subprocess.run([MINIPROF, "dump", "--csv", "--table", "copy", trace],
                          stdout=subprocess.PIPE, text=True, check=False)
    sums = collections.Counter()
    for row in csv.DictReader(done.stdout.splitlines()):
        if int(row["count"] or 0) > 1:
            sums[f"[CUDA memcpy {row['kind']}]"] += int(row["count"]) - 1
    return sums


@functools.lru_cache(maxsize=1)
def expected(trace):
    """{(kind, name, domain): [count, ns]} as the reports have it."""
    sums = collections.defaultdict(lambda: [0, 0])
    for group in document("summary", "--json", trace)["groups"]:
        for row in group["rows"]:
            key = kind_of(group["name"], row["name"]), row["name"], None
            sums[key] = [row["calls"], row["total_ns"]]
    for name, count in batched(trace).items():
        sums["copy", name, None][0] -= count
    for row in document("nvtx", "--json", trace)["nvtx_ranges"]:
        both = sums["range", row["name"], row["domain"]]
        both[0] += row["instances"]
        both[1] += row["total_ns"]
    return dict(sums)


# What the summary leaves out of unified memory: it has a report of its own.
OTHER_UNIFIED = ("thrashing]", "throttling]", "remote map]", "CPU page faults]", "Memory]")


def exported(reader, path):
    """The same of an export."""
    sums = collections.defaultdict(lambda: [0, 0])
    for kind, name, domain, duration in reader.rows(path):
        if kind == "unified" and name.endswith(OTHER_UNIFIED):
            continue
        both = sums[kind, name, domain]
        both[0] += 1
        both[1] += duration
    return {key: both for key, both in sums.items() if key[0] != "unified" or both[1]}


def by_kind(sums):
    """The sums without names."""
    kinds = collections.defaultdict(lambda: [0, 0])
    for (kind, _, _), both in sums.items():
        kinds[kind, None, None][0] += both[0]
        kinds[kind, None, None][1] += both[1]
    return dict(kinds)


class RoundTrip(unittest.TestCase):
    """A method for each trace and format is added below."""

    maxDiff = 2000

    def check(self, trace, reader):
        """One trace in one format."""
        wanted = {key: both for key, both in expected(trace).items() if key[0] in reader.KINDS}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "export")
            done = subprocess.run([MINIPROF, "export", "--to", reader.FORMAT, "-o", path,
                                   *getattr(reader, "EXTRA", ()), trace],
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertLessEqual(done.returncode, 1, done.stderr)
            got = exported(reader, path)
        if not getattr(reader, "NAMES", True):
            wanted, got = by_kind(wanted), by_kind(got)
        self.assertEqual({key: both[0] for key, both in got.items()},
                         {key: both[0] for key, both in wanted.items()})
        for key, (count, total) in wanted.items():
            room = count * (getattr(reader, "UNIT", 1) - 1)
            self.assertLessEqual(abs(got[key][1] - total), room, key)


add_tests(RoundTrip, READERS, () if os.environ.get("CHECKS", "all") == "all" else LONG)

if __name__ == "__main__":
    unittest.main()
