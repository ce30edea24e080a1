#!/usr/bin/env python3
"""Prints what the Python package says of traces, a JSON object on a line for each: python_says.py
TRACE... Exit code 77: no numpy and pandas."""
import json
import os
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import common  # noqa: F401 pylint: disable=unused-import
import miniprof  # pylint: disable=wrong-import-order


def busy_ns(frame):
    """Time in which at least one row ran."""
    total = until = 0
    for start, length in sorted(zip(frame.start_ns.tolist(), frame.duration_ns.tolist())):
        end = start + length
        total += max(end - max(start, until), 0)
        until = max(until, end)
    return total


def said(path):
    """What is compared with the command's JSON (tests/laws/invariants.py)."""
    with miniprof.open(path) as trace:
        frame = trace.iterations()
        return {"iterations": {name: [None if value != value else value  # an empty cell
                                      for value in frame[name].tolist()]
                               for name in frame.columns},
                "iters": trace.run("iters", json=True), "report": dict(trace.report()),
                "kernels_busy_ns": busy_ns(trace.kernels),
                "windows": [one["window_ns"] for one in
                            trace.run("deps", json=True, iterations="auto")["windows"] or ()]}


def main():
    """The program."""
    warnings.simplefilter("ignore")
    for path in sys.argv[1:]:
        print(json.dumps(said(os.path.abspath(path))))


if __name__ == "__main__":
    main()
