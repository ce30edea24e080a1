#!/usr/bin/env python3
"""Do the random programs notice? Leaves out one rule of the oracle at a time and counts the
programs whose numbers then differ. A rule that nobody misses is a gap of the generator. Not part of
make check.

    mutation.py [--programs N] [--seed S]
"""
import argparse
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import batch
import generate
import oracle
import truth

BROKEN = ("D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D11", "D4-record", "D4-clear",
          "D4-value", "D4-value-later", "D4-value-last",
          "D5-nonblocking", "D6-copy", "D7-empty", "D8-context", "D9-function", "D9-waker",
          "watches", "shortest", "percentile", "overlap", "overlap-alone", "overlap-bound",
          "overlap-latency",
          "sleep")
BATCH = 100


def windows(o):
    """What is compared, by range."""
    found = {}
    for x in o.everything():
        found.setdefault(x.window.range, []).append((x.key(), batch.numbers_of(o, x)))
    for walk in o.windows:
        found.setdefault(walk.window.range, []).append(tuple(walk.parts.items()))
    return found


def main():
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    noticed = dict.fromkeys(BROKEN, 0)
    for first in range(options.seed, options.seed + options.programs, BATCH):
        programs = [generate.program_of(seed) for seed in range(first, first + BATCH)]
        with tempfile.TemporaryDirectory(prefix="miniprof-oracle.") as name:
            log, trace = batch.record(programs, pathlib.Path(name))
        whole = windows(oracle.Oracle(truth.Truth(programs, log, trace)))
        for rule in BROKEN:
            other = windows(oracle.Oracle(truth.Truth(programs, log, trace), [rule]))
            noticed[rule] += sum(whole[at] != other[at] for at in whole)
    for rule, count in noticed.items():
        print(f"without {rule}: {count} of {options.programs} programs differ")
    print(f"{sum(map(bool, noticed.values()))} passed, "
          f"{sum(not count for count in noticed.values())} failed")
    return min(noticed.values()) == 0


if __name__ == "__main__":
    sys.exit(main())
