#!/usr/bin/env python3
"""Has HTA (github.com/facebookresearch/HolisticTraceAnalysis) read exports of traces, and compares
its figures with ours: iterations, kernels by name, time in which kernels run. Its critical path and
idle times, which it defines in another way, are printed beside ours.

Not part of any suite: HTA is in no Debian package. Debian has what it needs: python3-pandas,
python3-networkx, python3-plotly.

usage: HTA=FOLDER hta_compare.py [TRACE...]
"""
import collections
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MINIPROF = os.path.join(os.environ.get("BUILD", os.path.join(SOURCE, "build")), "miniprof")
TRACES = [f"{SOURCE}/tests/data/{name}.mpt"
          for name in ("inference", "two_streams", "zoo/torch_eager", "zoo/cupy_streams",
                       "zoo/generate", "zoo/vit_amp")]

# Else HTA rounds times to microseconds, longer than many kernels.
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")
sys.path.insert(0, os.environ.get("HTA", "."))


def report(*arguments):
    """What a command prints as JSON."""
    return json.loads(subprocess.run([MINIPROF, *arguments], stdout=subprocess.PIPE,
                                     check=False).stdout)


def ours(trace):
    """Counts and ns of kernels by name, ns in which they run, iterations."""
    rows = collections.defaultdict(lambda: [0, 0])
    summary = report("summary", "--json", trace)
    for group in summary["groups"]:
        for row in group["rows"]:
            if group["name"] == "gpu_activities" and not row["name"].startswith("["):
                rows[row["name"]] = [row["calls"], row["total_ns"]]
    iterations = report("iters", "--json", trace)
    return dict(rows), summary["kernel_time"]["busy_ns"], iterations


def theirs(trace, folder):
    """HTA's analysis of the export."""
    from hta.trace_analysis import TraceAnalysis
    subprocess.run([MINIPROF, "export", "--to", "kineto", "-o", folder + "/rank0.json.gz", trace],
                   check=True)
    logging.getLogger("hta").setLevel(logging.ERROR)
    return TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)


def compare(trace):
    """Prints the figures; whether those that must be equal are."""
    rows, busy, iterations = ours(trace)
    with tempfile.TemporaryDirectory() as folder:
        analysis = theirs(trace, folder)
        frame = analysis.t.get_trace(0)
        names = analysis.t.symbol_table.get_sym_table()
        kernels = frame[frame["cat"] == analysis.t.symbol_table.get_sym_id_map()["kernel"]]
        found = {names[name]: [len(group), round(group["dur"].sum() * 1000)]
                 for name, group in kernels.groupby("name")}
        steps = sorted(set(frame["iteration"]) - {-1})
        linked = (kernels["index_correlation"] > 0).sum()
        idle = analysis.get_idle_time_breakdown(visualize=False)[0]
        try:
            path, fine = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep",
                                                         instance_id=len(steps) // 2)
            parts = path.summary().round(1).to_dict() if fine else "failed"
        except Exception as problem: # pylint: disable=broad-except
            parts = repr(problem)
    ends = sorted(zip(kernels["ts"], kernels["ts"] + kernels["dur"]))
    union, last = 0, 0
    for begin, end in ends:
        union += max(0, end - max(begin, last))
        last = max(last, end)
    equal = (found == rows and len(steps) == iterations["count"] and
             abs(union * 1000 - busy) <= 1 + len(ends))
    print(f"{os.path.basename(trace)}: {'equal' if equal else 'DIFFERENT'}: "
          f"{sum(count for count, _ in found.values())} kernels, "
          f"{sum(total for _, total in found.values())} ns, {len(steps)} iterations, "
          f"busy {union * 1000:.0f} ns; {linked} kernels linked to their calls")
    print("  HTA, idle by cause (us):", idle.groupby("idle_category").idle_time.sum().to_dict())
    print("  miniprof, idle (ns of the median iteration):",
          {key[5:-3]: value["p50"] for key, value in iterations["statistics"].items()
           if key.startswith("idle_") and value["p50"]})
    print("  HTA, critical path of the middle iteration (%):", parts)
    return equal


def main():
    """Exits with 1 if a figure is not ours."""
    results = [compare(trace) for trace in sys.argv[1:] or TRACES]
    sys.exit(not all(results))


main()
