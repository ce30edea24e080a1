#!/usr/bin/env python3
"""What soak.c launched against what was recorded, and whether its memory grew.

    soak.py check OUTPUT INFO SUMMARY   OUTPUT: what soak.c printed; INFO and SUMMARY:
                                        `miniprof info --json` and `summary --json` of the trace
    soak.py memory GROUP ROUND SIDE OUTPUT   the greatest and the last sizes, and the growth

Prints what was wrong and lines for results.py; exit code 1 if counts differ, records were dropped
or times are invalid. Growth is not judged here.
"""
import json
import statistics
import sys

LATE_NS = 10_000_000  # what two clocks of one machine may differ by


def read_output(path):
    """Samples of each second as (ms, anonymous, shared, device, kernels), and what was made."""
    samples, made, took = [], {}, None
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    for line in lines:
        fields = line.split("|")
        if fields[0] == "second" and len(fields) == 6:
            samples.append(tuple(float(x) for x in fields[1:]))
        elif fields[0] == "made" and len(fields) == 3:
            made[fields[1]] = int(fields[2])
        elif fields[0] == "took" and len(fields) == 2:
            took = float(fields[1])
    return samples, made, took


TIME, KERNELS = 0, 4  # columns of samples


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


def wrong_times(info, summary):
    """Rows whose times cannot be: unknown, reversed, of no duration, outside of the range."""
    quality = info["quality"]
    wrong = quality["unknown_times"] + quality["reversed_times"]
    wrong += sum(r["min_ns"] <= 0 for g in summary["groups"] if g["name"] == "gpu_activities"
                 for r in g["rows"])
    if len(info["ranges"]) != 1:
        return wrong + 1
    span = info["ranges"][0]
    wrong += info["first_ns"] < span["begin_ns"] - LATE_NS
    wrong += info["last_ns"] > span["end_ns"] + LATE_NS
    return wrong


def check(output, info, summary):
    _, made, took = read_output(output)
    found = recorded(info, summary)
    if not took or not made:
        print("the program did not come to its end")
        return False
    differs = {what: (made[what], found[what]) for what in made if made[what] != found[what]}
    for what, (program, trace) in differs.items():
        print(f"{what}: {program} made, {trace:.0f} in the trace")
    dropped, invalid = info["quality"]["dropped"], wrong_times(info, summary)
    if not info["quality"]["whole"] or dropped or invalid:
        print(f"quality: {info['quality']}, times: {invalid} wrong")
    calls = made["cuLaunchKernel"] + made["cuGraphLaunch"]
    numbers = {"seconds": took / 1e3, "kernels": made["kernel"],
               "kernels/s": made["kernel"] / took * 1e3, "launch calls/s": calls / took * 1e3,
               "counts that differ": len(differs), "dropped": dropped, "invalid times": invalid,
               "whole": int(info["quality"]["whole"]), "records": info["records"],
               "bytes a record": info["bytes_per_record"]}
    for what, number in numbers.items():
        print(f"soak|0|miniprof|all|{what}|{number:.10g}")
    return info["quality"]["whole"] and not differs and not dropped and not invalid


def print_memory(group, round_number, side, output):
    samples, _, _ = read_output(output)
    if not samples:
        sys.exit(f"soak.py: no samples in {output}")
    for column, what in ((1, "host, private"), (2, "host, shared"), (3, "GPU")):
        sizes = [sample[column] for sample in samples]
        rise, by_kernel = growth(samples, column), growth(samples, column, KERNELS)
        print(f"{group}|{round_number}|{side}|most|{what}|{max(sizes):.0f}")
        print(f"{group}|{round_number}|{side}|last|{what}|{sizes[-1]:.0f}")
        if rise is not None:
            print(f"{group}|{round_number}|{side}|growth|{what}|{rise[0]:.0f}")
        if by_kernel is not None:
            print(f"{group}|{round_number}|{side}|growth a kernel|{what}|{by_kernel[1]:.4f}")


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
