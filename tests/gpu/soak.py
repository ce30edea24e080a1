#!/usr/bin/env python3
"""What soak.c launched against what was recorded, and whether its memory grew.

    soak.py check OUTPUT INFO SUMMARY   OUTPUT: what soak.c printed; INFO and SUMMARY:
                                        `miniprof info --json` and `summary --json` of the trace
    soak.py memory GROUP ROUND SIDE OUTPUT   the greatest and the last sizes, and the growth; CPU
                                        time of the process's threads early and late in the run

Prints what was wrong and lines for results.py; exit code 1 if counts differ, records were dropped
or times are invalid, but for the few that are not known as CUPTI got its clock again. Growth is not
judged here, nor is GPU memory that does not come back, which `check` dates.
"""
import json
import statistics
import sys

LATE_NS = 10_000_000  # what two clocks of one machine may differ by
# Kernels that are under way when CUPTI gets its clock again have no times (activity.h).
MAX_UNREAD = 1e-4  # of all kernels
BEHIND_BYTES = 64 << 20  # GPU memory beyond that of the beginning: buffers that do not come back


def read_output(path):
    """Samples of each second as (ms, anonymous, shared, device, kernels) and, of runs that have it,
    the CPU time of each group of threads (ms), and what was made."""
    samples, made, took = [], {}, None
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    for line in lines:
        fields = line.split("|")
        if fields[0] == "second" and len(fields) in (6, 10):
            samples.append(tuple(float(x) for x in fields[1:]))
        elif fields[0] == "made" and len(fields) == 3:
            made[fields[1]] = int(fields[2])
        elif fields[0] == "took" and len(fields) == 2:
            took = float(fields[1])
    return samples, made, took


TIME, PRIVATE, SHARED, DEVICE, KERNELS = range(5)  # columns of samples
CPU = {"application": 5, "miniprof": 6, "flush": 7, "others": 8}
# Whose CPU time is CUPTI's: threads that flush it are inside of it, and it has its own.
CUPTIS_THREADS = ("flush", "others")

# Parts of a run, by name. The first tenth is left out, in which all is loaded.
PARTS = {"begin": (0.1, 0.3), "end": (0.8, 1.0)}
MIN_PART_MS = 900  # fewer than ninety of the kernel's clock ticks say little


def part(samples, name):
    """The samples of this part of the run; none where that is too short."""
    begin, end = (samples[-1][TIME] * share for share in PARTS[name])
    inside = [sample for sample in samples if begin <= sample[TIME] <= end]
    long = inside and inside[-1][TIME] - inside[0][TIME] >= MIN_PART_MS
    return inside if long else []


def cpu_ms(samples, name, groups):
    """CPU time of the groups of threads in a part of the run, its length in ms and its kernels;
    None where it is not known."""
    inside = part(samples, name)
    if not inside or len(inside[0]) <= max(CPU.values()):
        return None
    first, last = inside[0], inside[-1]
    used = sum(last[CPU[group]] - first[CPU[group]] for group in groups)
    return used, last[TIME] - first[TIME], last[KERNELS] - first[KERNELS]


def fell_behind(samples):
    """The first sample from which on more of the GPU's memory is in use than in the first tenth of
    the run by BEHIND_BYTES; None if there is none."""
    tenth = [sample[DEVICE] for sample in samples[:max(len(samples) // 10, 1)]]
    rising = None
    for sample in reversed(samples):
        if sample[DEVICE] <= max(tenth) + BEHIND_BYTES:
            break
        rising = sample
    return rising


def growth(samples, column, along=TIME):
    """The rise of a straight line through the last two thirds of the samples, in bytes, and how
    steep it is along another column; None where there are too few."""
    points = [(s[along], s[column]) for s in samples[len(samples) // 3:]]
    if len(points) < 3 or points[0][0] == points[-1][0]:
        return None
    along, sizes = zip(*points)
    slope = statistics.linear_regression(along, sizes).slope
    return slope * (along[-1] - along[0]), slope


def recorded(info, summary):
    """The same counts as the program's, from the trace."""
    calls = {r["name"]: r["calls"] for g in summary["groups"] if g["name"] == "api_calls"
             for r in g["rows"]}
    rows = {table["table"]: table["rows"] for table in info["tables"]}
    return {"kernel": rows.get("kernel", 0), "nvtx": rows.get("nvtx", 0) / 2,
            "cuLaunchKernel": calls.get("cuLaunchKernel", 0),
            "cuGraphLaunch": calls.get("cuGraphLaunch", 0)}


def unread(info, summary):
    """Rows without times that are counted as such, beside clocks that were given again; 0 if there
    are more than that explains."""
    counters = info["quality"]["counters"]
    missing = summary["quality"]["unknown_times"]
    kernels = recorded(info, summary)["kernel"]
    explained = (counters.get("clock_renewals") and missing <= counters.get("zero_timestamps", 0)
                 and missing <= MAX_UNREAD * kernels)
    return missing if explained else 0


def wrong_times(info, summary, known):
    """Rows whose times cannot be: unknown, but for those that `unread` explains, reversed, of no
    duration, outside of the range."""
    quality = summary["quality"]
    wrong = quality["unknown_times"] - known + quality["reversed_times"]
    wrong += sum(r["min_ns"] <= 0 for g in summary["groups"] if g["name"] == "gpu_activities"
                 for r in g["rows"])
    if len(info["ranges"]) != 1:
        return wrong + 1
    span = info["ranges"][0]
    wrong += info["first_ns"] < span["begin_ns"] - LATE_NS
    wrong += info["last_ns"] > span["end_ns"] + LATE_NS
    return wrong


def print_behind(samples):
    rising = fell_behind(samples)
    if rising is None:
        return
    print(f"CUPTI fell behind at {rising[TIME] / 1e3:.0f} s ({rising[KERNELS]:,.0f} kernels): its "
          "buffers on the GPU are not returned any more")
    print(f"soak|0|miniprof|all|fell behind at s|{rising[TIME] / 1e3:.0f}")


def check(output, info, summary):
    samples, made, took = read_output(output)
    print_behind(samples)
    found = recorded(info, summary)
    if not took or not made:
        print("the program did not come to its end")
        return False
    differs = {what: (made[what], found[what]) for what in made if made[what] != found[what]}
    for what, (program, trace) in differs.items():
        print(f"{what}: {program} made, {trace:.0f} in the trace")
    missing = unread(info, summary)
    dropped, invalid = info["quality"]["dropped"], wrong_times(info, summary, missing)
    if not info["quality"]["whole"] or dropped or invalid:
        print(f"quality: {info['quality']}, times: {invalid} wrong")
    calls = made["cuLaunchKernel"] + made["cuGraphLaunch"]
    numbers = {"seconds": took / 1e3, "kernels": made["kernel"],
               "kernels/s": made["kernel"] / took * 1e3, "launch calls/s": calls / took * 1e3,
               "counts that differ": len(differs), "dropped": dropped, "invalid times": invalid,
               "clock given again": info["quality"]["counters"].get("clock_renewals", 0),
               "without times for that": missing,
               "whole": int(info["quality"]["whole"]), "records": info["records"],
               "bytes a record": info["bytes_per_record"]}
    for what, number in numbers.items():
        print(f"soak|0|miniprof|all|{what}|{number:.10g}")
    return info["quality"]["whole"] and not differs and not dropped and not invalid


def memory_results(samples):
    """(phase, kind, number) of sizes and their growth."""
    for column, what in ((PRIVATE, "host, private"), (SHARED, "host, shared"), (DEVICE, "GPU")):
        sizes = [sample[column] for sample in samples]
        rise, by_kernel = growth(samples, column), growth(samples, column, KERNELS)
        yield "most", what, f"{max(sizes):.0f}"
        yield "last", what, f"{sizes[-1]:.0f}"
        if rise is not None:
            yield "growth", what, f"{rise[0]:.0f}"
        if by_kernel is not None:
            yield "growth a kernel", what, f"{by_kernel[1]:.4f}"


def cpu_results(samples):
    """(phase, kind, number): each group's share of one core in %, ns of CUPTI's threads a kernel;
    nothing of runs that are too short for it."""
    for name in PARTS:
        for group in CPU:
            found = cpu_ms(samples, name, [group])
            if found:
                yield f"CPU {name}", group, f"{100 * found[0] / found[1]:.1f}"
    whose = " + ".join(CUPTIS_THREADS)
    for name in PARTS:
        found = cpu_ms(samples, name, CUPTIS_THREADS)
        if found and found[2]:
            yield f"CPU a kernel {name}", whose, f"{1e6 * found[0] / found[2]:.1f}"


def print_memory(group, round_number, side, output):
    samples, _, _ = read_output(output)
    if not samples:
        sys.exit(f"soak.py: no samples in {output}")
    for phase, kind, number in (*memory_results(samples), *cpu_results(samples)):
        print(f"{group}|{round_number}|{side}|{phase}|{kind}|{number}")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    what = sys.argv[1]
    if what == "check":
        sys.exit(not check(sys.argv[2], load(sys.argv[3]), load(sys.argv[4])))
    print_memory(*sys.argv[2:6])


if __name__ == "__main__":
    main()
