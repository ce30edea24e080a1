#!/usr/bin/env python3
"""What ranges.sh wants to know of a trace, on one line.

    ranges.py INFO SUMMARY KERNEL   `miniprof info --json` and `summary --json` of the trace

Prints: its ranges, kernels whose names begin with KERNEL, other kernels, records dropped, kernels
without times, how often the clock was given again, calls of cuLaunchKernel and of cuGraphLaunch.
"""
import sys

import soak

sys.dont_write_bytecode = True


def main():
    info, summary = soak.load(sys.argv[1]), soak.load(sys.argv[2])
    found = soak.recorded(info, summary)
    ours = sum(r["calls"] for g in summary["groups"] if g["name"] == "gpu_activities"
               for r in g["rows"] if r["name"].startswith(sys.argv[3]))
    quality = info["quality"]
    print(len(info["ranges"]), ours, found["kernel"] - ours, quality["dropped"],
          summary["quality"]["unknown_times"], quality["counters"].get("clock_renewals", 0),
          found["cuLaunchKernel"], found["cuGraphLaunch"])


main()
