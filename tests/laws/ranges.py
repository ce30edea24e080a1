#!/usr/bin/env python3
"""Law: the parts of a trace add up to the whole.

The capture ranges of a trace (--range 1 to N) against all of them; its devices against all; the
processes of a job against their merged table. Every view that has --range is under the law. What
does not add up stands in the tables below, with the reason.
"""
import collections
import os
import subprocess
import sys
import tempfile

import laws

# Columns that name what a row is of.
KEYS = {"device", "device_name", "stream", "context", "tid", "thread", "thread_name", "name",
        "multiprocessors", "type", "domain", "range", "kernel", "layer", "depth", "mark",
        "layer_type", "precision", "dimensions", "tactic", "frame", "function", "file", "line",
        "activity", "kind", "pool", "metric", "unit", "event", "description", "counter", "grid_x",
        "grid_y", "grid_z", "block_x", "block_y", "block_z", "cluster_x", "cluster_y", "cluster_z",
        "registers", "static_shared_bytes", "dynamic_shared_bytes", "configured_shared_bytes",
        "local_memory_bytes", "size_bytes"}
# A name has the shape of its launches only where all have one, so parts may have it.
KEYS_OF = {"kernels --by-name": {"device", "name"}}
# Of the parts the whole has the least, or the greatest.
LEAST = {"min_ns", "min"}
GREATEST = {"max_ns", "max", "most", "max_size_bytes"}
# Columns that do not add up.
NOT_ADDITIVE = {
    "percent": "a share of what the table has in all",
    "critical_path_percent": "a share of the windows", "window_percent": "a share of the windows",
    "share_percent": "a share", "exposed_percent": "a share", "overlapped_percent": "a share",
    "gain_percent": "a share", "difference_percent": "a share",
    "mean_ns": "a mean", "launch_mean_ns": "a mean",
    "gap_mean_ns": "a mean; a gap may span the border", "kernels_at_once": "a mean",
    "std_ns": "a deviation", "p50_ns": "a percentile", "p90_ns": "a percentile",
    "p95_ns": "a percentile", "p99_ns": "a percentile",
    "kernels": "kernels of a call, a mean", "shapes": "those of a part are again in another",
    "multiprocessors": "of the device or the green context",
    "occupancy_percent": "of the shape", "min_occupancy_percent": "of the shape",
    "max_occupancy_percent": "of the shape", "blocks_per_sm": "of the shape",
    "blocks_by_warps": "of the shape", "blocks_by_registers": "of the shape",
    "blocks_by_shared_memory": "of the shape", "blocks_by_blocks": "of the shape",
    "waves": "of the shape", "tensor_cores": "of the kernel", "kernel_names": "a list",
    "limit": "of the shape", "sm_limit": "of the shape", "bound_by": "a judgement",
    "layers": "those of a part are again in another",
}
# Views whose rows are those of the parts, one after the other.
CONCATENATED = {"gpu-trace --with-api", "api-trace", "metrics --each"}
# Views that do not add up.
NO_SUM = {
    "iters": "means and percentiles of iterations; their count is checked",
    "iters --table counts": "the same",
    "iters --table outliers": "the limit follows from all iterations",
    "iters --table threads": "means and percentiles",
    "iters --table host_code": "a mean",
    "iters --each": "iterations count from 1 in each part, and times from its first",
    "iters --candidates": "what repeats in a part may not repeat in all",
    "advise": "findings are of the median iteration",
    "layers --by-position": "the sequence that repeats is that of the part",
    "layers --table positions": "the same",
    "deps --parts --table latencies": "percentiles",
    "deps --parts --table host_code": "lines are those of the path",
    "deps --trace": "activities count from 1 in each part",
    "deps --iterations auto": "means and percentiles",
    "deps --iterations auto --slowest 1": "the same",
    "deps --iterations auto --slowest 1 --table slowest": "against the part's median",
    "deps --what-if launch_latency=0": "a replay begins anew in each part",
    "deps --gains 3": "a main table without the path",
    "deps --gains 3 --table gains": "the best of each part",
    "memory": "what is alive stays alive in the next part",
    "memory --table peaks": "the same", "memory --table pools": "the same",
    "memory --table not_freed": "what a part does not free another may",
    "memory --table churn": "a free pairs with an allocation of another part",
    "memory --iterations auto": "the same", "memory --timeline": "the same",
    "memory --iterations auto --table iterations": "means", "memory --points 5": "the same",
    "counters": "means of samples", "counters --table work": "means of samples",
    "counters --by layer": "means of samples", "counters --by layer --table work": "the same",
}
# Rows that do not add up: a kernel that runs on in the next range makes the windows overlap.
NO_SUM_ROWS = {("overlap", "Idle")}


def has_range(command):
    return "--range=" in laws.run("help", command)


def number_of_ranges(trace):
    return len(laws.document("info", trace)["ranges"])


def together(parts, keys):
    """{key: {column: value}} of the rows of all parts."""
    found = {}
    for row in (row for rows in parts for row in rows):
        key = tuple(row[name] for name in row if name in keys)
        into = found.setdefault(key, collections.defaultdict(list))
        for name, cell in row.items():
            if name not in KEYS and name not in NOT_ADDITIVE and laws.value_of(cell) is not None:
                into[name].append(float(cell))
    return {key: {name: min(values) if name in LEAST else max(values) if name in GREATEST else
                  sum(values) for name, values in one.items()} for key, one in found.items()}


def against(name, whole, parts):
    """What is wrong with the sums."""
    keys = KEYS_OF.get(name, KEYS)
    a, b = together([whole], keys), together(parts, keys)
    wrong = [f"{key} is in {'no part' if key in a else 'parts only'}"
             for key in a.keys() ^ b.keys()]
    for key in a.keys() & b.keys():
        for column in a[key].keys() | b[key].keys():
            one, other = a[key].get(column, 0), b[key].get(column, 0)
            if not (laws.near(one, other, 1e-3, 1e-6) or
                    any(view == name and word in key for view, word in NO_SUM_ROWS)):
                wrong.append(f"{key} {column}: {one:.10g} in all, {other:.10g} in parts")
    return wrong


def known_trace(folder):
    """One more trace with two ranges, one kernel of which runs in the other's time."""
    path = os.path.join(folder, "known.mpt")
    subprocess.run([os.path.join(laws.BUILD, "tests/tools/make_trace"), "plain", path], check=True)
    return path


def capture_ranges(verdicts, traces):
    for view in laws.VIEWS:
        if view.of != "trace" or view.name in NO_SUM or not has_range(view.report[0]):
            continue
        for trace, count in traces:
            whole = laws.table(view, (trace,))
            parts = [laws.table(view, (trace,), "--range", str(number))
                     for number in range(1, count + 1)]
            if view.name in CONCATENATED:
                rows = [row for part in parts for row in part]
                a, b = (sorted(map(str, rows)) for rows in (whole, rows))
                wrong = [f"{len(a)} rows in all, {len(b)} in ranges" if len(a) != len(b) else
                         "another row"] if a != b else []
            else:
                wrong = against(view.name, whole, parts)
            verdicts.say(f"{view.name} {trace}: ranges", wrong)


def counts(verdicts, traces):
    """Iterations, which begin in one range each."""
    for trace, count in traces:
        whole = laws.document("iters", trace)
        parts = [laws.document("iters", "--range", str(number), trace)
                 for number in range(1, count + 1)]
        if all(part and part["by"] == whole["by"] for part in parts):
            found = sum(part["count"] for part in parts)
            verdicts.say(f"iters {trace}: iterations of ranges",
                         [f"{whole['count']} in all, {found} in ranges"] *
                         (found != whole["count"]))


def devices(verdicts):
    """What ran on each device against all that ran."""
    for trace in laws.TRACES:
        whole = laws.sheet("summary", "--gpu", trace)
        parts = laws.sheet("summary", "--per-gpu", trace)
        for row in parts:
            del row["device"], row["device_name"]
        verdicts.say(f"summary --per-gpu {trace}: devices", against("summary", whole, [parts]))


def processes(verdicts):
    for folder in laws.FOLDERS:
        whole = laws.sheet("summary", "--merge", folder)
        traces = [trace for trace in laws.TRACES if os.path.dirname(trace) == folder]
        verdicts.say(f"summary --merge {folder}: processes",
                     against("summary", whole, [laws.sheet("summary", trace) for trace in traces]))
        side = laws.sheet("summary", "--side-by-side", folder)
        for row in side:
            for name in ("process", "of", "mean_total_ns", "deviation_percent"):
                del row[name]
        for row in whole:
            del row["min_ns"], row["max_ns"]
        verdicts.say(f"summary --side-by-side {folder}: processes",
                     against("summary", whole, [side]))
        for command in ("gpu-trace", "api-trace"):
            count = len(laws.sheet(command, "--merge", folder))
            found = sum(len(laws.sheet(command, trace)) for trace in traces)
            verdicts.say(f"{command} --merge {folder}: rows of processes",
                         [f"{count} merged, {found} in processes"] * (count != found))


def main():
    verdicts = laws.Verdicts()
    with tempfile.TemporaryDirectory(prefix="miniprof-ranges.") as folder:
        traces = [(trace, number_of_ranges(trace)) for trace in laws.TRACES]
        traces = [(trace, count) for trace, count in traces if count > 1]
        traces.append((known_trace(folder), 2))
        capture_ranges(verdicts, traces)
        counts(verdicts, traces)
    devices(verdicts)
    processes(verdicts)
    return verdicts


if __name__ == "__main__":
    sys.exit(main().end())
