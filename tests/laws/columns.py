#!/usr/bin/env python3
"""Law: no column of a view is empty in all traces.

A column in which no trace has a value but blank or 0 is either of no use, or its traces are
missing here, and then nobody looks at it. The exceptions stand below, each with its reason, and
fail once they are not needed.
"""
import collections
import fnmatch
import re
import sys

import laws

EXCEPTIONS = {
    # (list of docs/fields.md, column), as fnmatch has them: why no trace has a value.
    ("gpu-trace, api-trace", "*_context"): "no trace has a copy between contexts",
    ("gpu-trace, api-trace*", "static_shared_bytes"): "the small traces have none",
    ("gpu-trace, api-trace --merge", "dynamic_shared_bytes"): "nor have the jobs",
    ("gpu-trace, api-trace --merge", "*_device"): "no job copies between devices",
    ("gpu-trace, api-trace --merge", "*_context"): "no job copies between contexts",
    ("gpu-trace, api-trace --merge", "unified_value"): "no job has unified memory",
    ("gpu-trace, api-trace --merge", "address"): "no job has unified memory",
    ("gpu-trace, api-trace --merge", "captured_in"): "no job captures a graph",
    ("stacks", "depth"): "of a tree",
    ("*", "pcie_*"): "the known trace's samples have no PCIe",
    ("kernels", "tensor_active*"): "the known trace's samples have no tensor cores",
    ("kernels", "local_memory_bytes"): "no kernel has any",
    ("layers", "*_active_*"): "40 runs of a layer are too few samples for device memory",
    ("layers", "bound_by"): "40 runs of a layer are too few samples for device memory",
    ("iters --table outliers", "*_percent"): "no trace has samples of clocks",
    ("iters --each", "idle_unknown_ns"): "nothing is idle for no reason",
    ("overlap", "with_*"): "no trace has other copies, sets or communication beside others",
    ("memory --table pools", "*"): "two pools, which are empty at the end",
    ("top", "dropped"): "whole traces",
    ("info FOLDER", "dropped"): "whole traces",
    ("ranks --trace", "replay"): "no graph holds an operation",
    ("*", "hidden*_ns"): "no transfer is hidden",
}
# Columns in which 0 is a value.
NUMBERED = {"device", "depth"}


# Commands with CSV that are no report of a trace.
NO_VIEWS = {"dump": "the rows themselves", "nvprof": "spellings.py has it",
            "calibrate": "reads no trace"}


def empty(name, cell):
    if name in NUMBERED:
        return not cell
    return cell in ("", "no", "none") or laws.value_of(cell) == 0


def not_views():
    """Commands and tables that have CSV and are under no law."""
    wrong, known = [], {(view.report[0], view.table) for view in laws.VIEWS}
    for command in re.findall(r"^  ([a-z-]+) ", laws.run("help"), re.MULTILINE):
        text = laws.run("help", command) or ""
        if "--csv " not in text or command in NO_VIEWS:
            continue
        tables = re.search(r"another table of the report:(.*?)\n +--", text, re.DOTALL)
        names = re.findall(r"[a-z_]+", re.sub(r"\(.*?\)", "", tables.group(1))) if tables else []
        wrong += [f"{command} {name}" for name in [""] + [name for name in names if name != "and"]
                  if (command, name) not in known | {("deps", "gains")}]  # main one of --gains
    return wrong


def main():
    verdicts, met = laws.Verdicts(), set()
    filled, seen = collections.defaultdict(set), collections.defaultdict(dict)
    for view in laws.VIEWS:
        for subject in laws.subjects(view):
            names = seen[view.listed]
            for row in laws.table(view, subject) or ():
                names.update(dict.fromkeys(row))
                filled[view.listed].update(name for name, cell in row.items()
                                           if not empty(name, cell))
    for listed, names in seen.items():
        wrong = [] if names else ["no trace has a row"]
        for name in names:
            if name in filled[listed]:
                continue
            reason = next((one for one in EXCEPTIONS if fnmatch.fnmatchcase(listed, one[0]) and
                           fnmatch.fnmatchcase(name, one[1])), None)
            if reason:
                met.add(reason)
            else:
                wrong.append(f"{name} is empty in every row")
        verdicts.say(f"{listed}: columns have values", wrong)
    verdicts.say("every command and table is a view of tests/tools/fields.py", not_views())
    verdicts.say("exceptions are needed", [f"{' '.join(one)}: every column has values now"
                                           for one in EXCEPTIONS if one not in met])
    return verdicts


if __name__ == "__main__":
    sys.exit(main().end())
