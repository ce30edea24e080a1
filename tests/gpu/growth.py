#!/usr/bin/env python3
"""What CUPTI costs the longer it records: the table of growth.sh.

    growth.py lines SIDE OUTPUT     lines for results.py of what soak.c printed
    growth.py table FILE            one table of them, in their order

A side that failed has a line growth|0|SIDE|failed|WHY|0. Private memory is a straight line through
the last two thirds of the run by kernels (soak.py). What is written `begin -> end` is from 10 % to
30 % of the run and of its last fifth.
"""
import statistics
import sys

import soak
from results import Results

sys.dont_write_bytecode = True

GROUP = "growth"
MIB = 2.0 ** 20


def gpu_growth(samples):
    """Bytes that the GPU's memory in use grew by; a median is not moved by a neighbour that starts
    later or ends sooner."""
    parts = [[sample[soak.DEVICE] for sample in soak.part(samples, name)] for name in soak.PARTS]
    return statistics.median(parts[1]) - statistics.median(parts[0]) if all(parts) else None


def results_of(samples, made):
    yield "all", "kernels", made["kernel"]
    yield from soak.memory_results(samples)
    yield from soak.cpu_results(samples)
    rise = gpu_growth(samples)
    if rise is not None:
        yield "begin to end", "GPU", f"{rise:.0f}"


def print_lines(side, output):
    samples, made, took = soak.read_output(output)
    if not samples or not took or "kernel" not in made:
        sys.exit("the program did not come to its end")
    for phase, kind, number in results_of(samples, made):
        print(f"{GROUP}|0|{side}|{phase}|{kind}|{number}")


def sides(path):
    """Why a side has no numbers, None where it has, by side."""
    found = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for fields in (line.rstrip("\n").split("|") for line in file):
            if len(fields) == 6 and fields[0] == GROUP:
                found[fields[2]] = fields[4] if fields[3] == "failed" else None
    return found


HEAD = ("", "kernels", "private memory, B a kernel", "GPU memory, MiB",
        "threads that flush, % of a core", "CUDA's and CUPTI's, %", "miniprof's, %",
        "CPU of the first two, ns a kernel")


def cells(results, side):
    def number(phase, kind, form, factor=1.0):
        values = results.list(GROUP, side, phase, kind)
        return form.format(values[0] * factor) if values else "-"

    def change(phase, kind):
        both = [number(f"{phase} {part}", kind, "{:,.1f}") for part in soak.PARTS]
        return "-" if both == ["-", "-"] else " -> ".join(both)

    return [side, number("all", "kernels", "{:,.0f}"),
            number("growth a kernel", "host, private", "{:.1f}"),
            number("begin to end", "GPU", "{:+,.1f}", 1 / MIB),
            *(change("CPU", group) for group in ("flush", "others", "miniprof")),
            change("CPU a kernel", " + ".join(soak.CUPTIS_THREADS))]


def print_table(path):
    results = Results.read(path)
    print("| " + " | ".join(HEAD) + " |")
    print("|---" * len(HEAD) + "|")
    for side, why in sides(path).items():
        row = cells(results, side) if why is None else \
            [side, f"failed: {why}", *["-"] * (len(HEAD) - 2)]
        print("| " + " | ".join(row) + " |")


def main():
    if sys.argv[1] == "lines":
        print_lines(*sys.argv[2:4])
    else:
        print_table(sys.argv[2])


if __name__ == "__main__":
    main()
