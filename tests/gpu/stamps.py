#!/usr/bin/env python3
"""What passed between the stamps of tests/e2e/steps.

    stamps.py FILE   its output: NAME|us|CPU us of the other threads

Prints for each name but "-" the time since the stamp before, and the CPU time of the other threads
in it: median, least and most.
"""
import statistics
import sys

sys.dont_write_bytecode = True


def passed(lines):
    """Pairs of time and CPU time, us, by name."""
    spans, before = {}, None
    for line in lines:
        fields = line.split("|")
        if len(fields) != 3:
            continue
        now = [float(x) for x in fields[1:]]
        if fields[0] != "-" and before:
            spans.setdefault(fields[0], []).append([a - b for a, b in zip(now, before)])
        before = now
    return spans


def spread(values):
    """Median (least to most)."""
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{middle:,.0f} us" + (f" ({least:,.0f} to {most:,.0f})" if len(values) > 1 else "")


def main():
    """The command."""
    with open(sys.argv[1], encoding="utf-8") as file:
        spans = passed(file.read().splitlines())
    for name, values in spans.items():
        took, cpu = zip(*values)
        print(f"{name}: {spread(took)}; other threads' CPU {spread(cpu)}")


if __name__ == "__main__":
    main()
