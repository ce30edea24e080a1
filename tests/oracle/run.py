#!/usr/bin/env python3
# Takes 30 s.
"""Random programs on the software GPU: does `miniprof deps` say of them what the oracle says?

    run.py                      ORACLE_PROGRAMS programs, or 10000, and ORACLE_WHAT_IF for the
                                what-if, or 2000, and a tenth of these for its equations
    run.py --programs 100 --seed 7 --what-if 0
    run.py --one 1234 -v        the program of one seed, and what the oracle knows of it

The oracle (oracle.py, truth.py) shares no code with src/: it knows from the program what awaits
what, and takes only times from the trace. The last line counts programs: N passed, N failed. For
the first that fails the seed is printed, and the smallest program that still does.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import batch
import generate
import shrink
import truth
import what_if

BATCH = 100  # programs in a process and a trace
MAX_SHOWN = 12
RULES = ("D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D11", "overlapping",
         "woken by host functions")


def check_batch(seeds):
    """(failed {place: texts}, counts) of the programs of some seeds."""
    try:
        found, counts = batch.check([generate.program_of(seed) for seed in seeds])
    except (batch.Failed, truth.Mismatch, AssertionError) as error:
        return {None: [f"{type(error).__name__}: {error}"]}, collections.Counter()
    failed = collections.defaultdict(list)
    for window, text in found:
        failed[None if window is None else window - 1].append(text)
    return dict(failed), counts


def fails(programs):
    """Whether these programs fail, in whatever way."""
    try:
        return bool(batch.check(programs)[0])
    except (batch.Failed, truth.Mismatch, AssertionError):
        return True


def explain(programs):
    """What is wrong with few programs, for people."""
    try:
        found = [text for _, text in batch.check(programs)[0]]
    except (batch.Failed, truth.Mismatch, AssertionError) as error:
        found = [f"{type(error).__name__}: {error}"]
    return found


def report(seeds, failed):
    """Prints a failed batch: seed, values, the smallest program that fails."""
    places = sorted(at for at in failed if at is not None)
    at = places[0] if places else len(seeds) - 1
    print(f"seed {seeds[at]}, in a batch of seeds {seeds[0]} to {seeds[-1]}:")
    for text in (failed.get(at) or failed[None])[:MAX_SHOWN]:
        print("   ", text)
    small = shrink.Shrinker(fails).shrink([generate.program_of(seed) for seed in seeds], at)
    print("the smallest that fails:")
    print("".join("    " + line + "\n" for each in small for line in each.text().splitlines()))
    for text in explain(small)[:MAX_SHOWN]:
        print("   ", text)
    again = " ".join(str(each.seed) for each in small)
    print(f"again: BUILD={batch.BUILD} {pathlib.Path(__file__)} --one {again}\n", flush=True)


def run_all(first, count, jobs):
    """All programs, in batches; returns how many failed."""
    seeds = range(first, first + count)
    batches = [list(seeds[at:at + BATCH]) for at in range(0, count, BATCH)]
    counts, failed_programs, reported = collections.Counter(), 0, False
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for some, (failed, found) in zip(batches, pool.map(check_batch, batches)):
            counts.update(found)
            if not failed:
                continue
            failed_programs += sum(at is not None for at in failed) or len(some)
            if not reported:
                report(some, failed)
            reported = True
    missing = [rule for rule in RULES if not counts[rule]]
    if count >= 1000:
        print("bound or waited by:", ", ".join(f"{rule} {counts[rule]}" for rule in RULES))
        for rule in missing:
            print(f"no program has {rule}: the generator is at fault")
    return failed_programs + (len(missing) if count >= 1000 and not failed_programs else 0)


def show(seeds):
    """The programs of some seeds, alone: text, the oracle's numbers, differences."""
    programs = [generate.program_of(seed) for seed in seeds]
    print("".join(each.text() for each in programs))
    with tempfile.TemporaryDirectory(prefix="miniprof-oracle.") as name:
        o = batch.expected(programs, pathlib.Path(name))
        for x in sorted(o.everything(), key=lambda x: x.begin):
            what = x.op.name if x.kind == "call" else f"stream {x.launch.stream.kind}"
            print(x.key(), what, *batch.numbers_of(o, x))
        for walk in o.windows:
            print(walk.window, walk.end - walk.begin, walk.parts)


def main():
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sanitized = bool(os.environ.get("SAN"))
    parser.add_argument("--programs", type=int, default=1000 if sanitized else
                        int(os.environ.get("ORACLE_PROGRAMS", 10000)))
    parser.add_argument("--what-if", type=int, default=200 if sanitized else
                        int(os.environ.get("ORACLE_WHAT_IF", 2000)))
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--one", type=int, nargs="+", help="only the programs of these seeds")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", 2)))
    parser.add_argument("-v", action="store_true", help="with --one: all numbers of the oracle")
    options = parser.parse_args()
    if not batch.RUN_PROGRAMS.exists():
        print(f"no {batch.RUN_PROGRAMS}: built without the CUDA headers")
        return 77
    if not generate.HOST_NODES:
        print("skipped: host functions in graphs: CUDA's headers are too old")
    if options.one:
        if options.v:
            show(options.one)
        found = explain([generate.program_of(seed) for seed in options.one])
        print("\n".join(found))
        count, failed = len(options.one), len(options.one) if found else 0
    else:
        equations = options.what_if // 10
        count = options.programs + options.what_if + equations
        failed = run_all(options.seed, options.programs, options.jobs)
        failed += what_if.run_all(options.seed, options.what_if, options.jobs)
        failed += what_if.run_equations(options.seed, equations, options.jobs)
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
