#!/usr/bin/env python3
"""The lines of bench_calls.sh as a table for each kind of call: sides by phases."""
import collections
import statistics
import sys


def cell(values):
    if not values:
        return "-"
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def main():
    table = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in open(sys.argv[1], encoding="utf-8"):
        fields = line.rstrip("\n").split("|")
        if len(fields) != 5:
            continue  # nsys writes to the program's output
        side, phase, kind, median, _ = fields
        table[kind][side].setdefault(phase, []).append(float(median))
    for kind, sides in table.items():
        phases = list(dict.fromkeys(phase for side in sides.values() for phase in side))
        print(f"\n| {kind} | " + " | ".join(phases) + " |")
        print("|---" * (len(phases) + 1) + "|")
        for side, measured in sides.items():
            print(f"| {side} | " + " | ".join(cell(measured.get(phase)) for phase in phases) + " |")


if __name__ == "__main__":
    main()
