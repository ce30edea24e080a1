#!/usr/bin/env python3
"""What passed between the stamps of tests/e2e/steps.

    stamps.py FILE   its output: NAME|us|us|ms, when it was, when that had been told, and the CPU
                     time of CUDA's and CUPTI's threads until then

Prints for each name but "-" the time since the stamp before, median (least to most), and the CPU
time of these threads in all of it.
"""
import sys

from results import with_spread

sys.dont_write_bytecode = True


def passed(lines):
    """Pairs of time (us) and CPU time (ms), by name."""
    spans, told, cpu = {}, None, None
    for line in lines:
        fields = line.split("|")
        if len(fields) != 4:
            continue
        at, done, used = (float(x) for x in fields[1:])
        if fields[0] != "-" and told is not None:
            spans.setdefault(fields[0], []).append([at - told, used - cpu])
        told, cpu = done, used
    return spans


def main():
    """The command."""
    with open(sys.argv[1], encoding="utf-8") as file:
        spans = passed(file.read().splitlines())
    for name, values in spans.items():
        took, cpu = zip(*values)
        print(f"{name}: {with_spread(took)} us; CPU of CUPTI's threads {sum(cpu):,.0f} ms in all")


if __name__ == "__main__":
    main()
