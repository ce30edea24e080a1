#!/usr/bin/env python3
"""Folded stacks add up: by their last frame to what summary, deps and the rows say of each name,
and by the frames before it to the layers of `miniprof layers`, on every committed trace.
"""
import collections
import json
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from common import add_tests, MINIPROF


def run(*arguments):
    """What a command prints; traces may be damaged."""
    done = subprocess.run([MINIPROF, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    assert done.returncode <= 1, done.stderr
    return done.stdout.decode("utf-8")


def stacks(trace, weight):
    """{frames: ns}, by the rule of flamegraph.pl and speedscope: the last word is the weight."""
    lines = run("export", "--to", "folded", "--weight", weight, "-o", "-", trace).splitlines()
    assert lines == sorted(lines, key=lambda line: line.rpartition(" ")[0].encode())
    found = {}
    for line in lines:
        frames, weight = re.fullmatch(r"(.+) ([1-9][0-9]*)", line).groups()
        assert frames not in found
        found[frames] = int(weight)
    return found


def frame(name):
    """A name as a frame has it."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", (name or "(no name)").replace(";", ":"))


def by_name(found):
    """Sums by the last frame."""
    sums = collections.Counter()
    for frames, weight in found.items():
        sums[frames.rpartition(";")[2]] += weight
    return dict(sums)


def named(rows, key):
    """Sums of what a report says by name."""
    sums = collections.Counter()
    for row in rows:
        if row.get(key):
            sums[frame(row["name"])] += row[key]
    return dict(sums)


def layer_paths(trace):
    """{frames: ns of the work whose innermost range it is}."""
    # null where work is missing
    layers = json.loads(run("layers", "--json", trace)).get("layers") or []
    paths, sums = {}, collections.Counter()
    for layer in layers:
        around = paths.get(layer["parent"], "")
        paths[layer["id"]] = (around + ";" if around else "") + frame(layer["name"])
        if layer["self_ns"]:
            sums[paths[layer["id"]] if layer["name"] is not None else ""] += layer["self_ns"]
    return dict(sums)


class Folded(unittest.TestCase):
    """A method for each trace is added below."""

    maxDiff = 2000

    def check(self, trace):
        """All weights of one trace."""
        groups = json.loads(run("summary", "--json", trace))["groups"]
        work = [row for group in groups if group["name"] == "gpu_activities"
                for row in group["rows"] if not row["name"].startswith("[Unified")]
        device = stacks(trace, "device")
        self.assertEqual(by_name(device), named(work, "total_ns"))
        deps = json.loads(run("deps", "--json", trace))["rows"]
        if deps is None:
            self.check_refused(trace)
        else:
            self.check_path(trace, deps)
        layers = layer_paths(trace)
        if layers:
            paths = collections.Counter()
            for frames, weight in device.items():
                paths[frames.rpartition(";")[0]] += weight
            self.assertEqual(dict(paths), layers)


    def check_path(self, trace, deps):
        """The weights that the analyses give."""
        lines = run("export", "--to", "jsonl", "--analysis", "on", "-o", "-", trace).splitlines()
        rows = [json.loads(line) for line in lines]
        # Of some calls a trace has the row of `sync` alone; deps knows their waiting, rows do not.
        names = {row["name"] for row in rows if row["kind"] in ("call", "wait")}
        self.assertEqual(by_name(stacks(trace, "waiting")),
                         named([row for row in deps if row["name"] in names], "waiting_ns"))
        self.assertEqual(by_name(stacks(trace, "critical")), named(rows, "critical_ns"))

    def check_refused(self, trace):
        """Where work is missing (`deps` has null) there are no such weights."""
        for weight in "waiting", "critical":
            done = subprocess.run([MINIPROF, "export", "--to", "folded", "--weight", weight, "-o",
                                   "-", trace], capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(f"--weight {weight} needs the analyses: ".encode(), done.stderr)


add_tests(Folded)

if __name__ == "__main__":
    unittest.main()
