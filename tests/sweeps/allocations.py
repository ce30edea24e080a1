#!/usr/bin/env python3
# Takes 120 s.
"""Every allocation of libminiprof.so fails once, and every one of the command: the first and the
last of those at one place (tests/e2e/preload/fail_allocation.c), with SWEEP_ALL=1 all of the
recorder's.

The recorder: the program does what it does without miniprof, and nothing is lost without a word
(sweep.py). The command: it prints what it prints untroubled, or ends with another exit code than 0
and one line about memory. A name of C++ may stay mangled. A crash is harm, other output is a loss.

    allocations.py FUNCTION...      those of the recorder in these functions alone"""
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
import sweep

FAILING = sweep.BUILD / "tests/e2e/fail_allocation.so"
DATA = sweep.SOURCE / "tests/data"
COMMANDS = [words.split() for words in (
    "report captured.mpt", "summary captured.mpt", "deps captured.mpt", "iters captured.mpt",
    "check captured.mpt", "info --json captured.mpt", "dump --json captured.mpt",
    "nvtx captured.mpt", "layers captured.mpt", "kernels captured.mpt", "overlap captured.mpt",
    "memory memory.mpt", "advise inference.mpt", "gpu-trace --csv captured.mpt",
    "api-trace --json captured.mpt", "report --json inference.mpt", "iters inference.mpt",
    "layers inference.mpt", "diff captured.mpt branches.mpt", "deps --what-if alpha=0 captured.mpt",
    "summary --merge captured.mpt branches.mpt", "summary --side-by-side ranks", "ranks ranks",
    "report ranks", "deps ranks", "advise ranks", "info set", "html -o page.html captured.mpt",
    "html -o page.html ranks", "diff --html page.html captured.mpt branches.mpt",
    "export --to perfetto -o out captured.mpt", "export --to perfetto -o out ranks",
    "export --to kineto -o out captured.mpt", "export --to parquet -o out captured.mpt",
    "export --to chrome -o out captured.mpt", "export --to folded -o out captured.mpt",
    "export --to jsonl -o out captured.mpt", "export --to csv -o out captured.mpt",
    "export --to nsys-sqlite -o out captured.mpt", "export --to nsys-parquet -o out captured.mpt")]


def failing(module, log, place=None, turn=1):
    """The settings under which that allocation of the module fails, or under which all are
    listed."""
    settings = {"LD_PRELOAD": str(FAILING), "FAIL_MODULE": module, "FAIL_LOG": str(log)}
    if place:
        settings.update(FAIL_PLACE=place, FAIL_TURN=str(turn))
    return settings


def turns_of(log, every=False):
    """[(place, turn)] of the log, the first and the last of each place or all."""
    counts = collections.Counter(line.split()[0] for line in log.read_text().splitlines())
    return [(place, turn) for place, count in counts.items()
            for turn in (range(1, count + 1) if every else sorted({1, count}))]


def functions_of(line, binary):
    """The functions of a line of the log, the innermost first."""
    # An address is that of the next instruction, which may belong to another function.
    calls = [hex(int(address, 16) - 1) for address in line.split()[1:]]
    found = subprocess.run(["addr2line", "-fsie", binary, *calls], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return found[0:-1:2]


def lines_of(log, names):
    """The lines of the log with one of these functions."""
    lines = log.read_text().splitlines()
    chains = {line: functions_of(line, sweep.RECORDER) for line in set(lines)}
    if all(name == "??" for chain in chains.values() for name in chain):
        print("skipped: libminiprof.so has no debug information")
        sys.exit(77)
    return "".join(f"{line}\n" for line in lines if set(names) & set(chains[line]))


def chain_of(log, binary):
    """Where the allocation failed, for people."""
    return "failed in " + " < ".join(functions_of(log.read_text(), binary))


# ---- The recorder --------------------------------------------------------------------------------


def record(folder, place=None, turn=1):
    """A recorded run in which that allocation fails."""
    settings = sweep.recording(folder, MINIPROF_CAPTURE="range")
    extra = failing("libminiprof.so", folder / "log", place, turn)
    extra["LD_PRELOAD"] += f":{settings['LD_PRELOAD']}"
    return sweep.Run([sweep.STEPS, *sweep.steps_of_ranges()], folder, {**settings, **extra})


def sweep_recorder(tries, names):
    """Every allocation of libminiprof.so; with names those in functions of these names."""
    whole = sweep.whole_rows(tries.folder)
    bare = sweep.Run([sweep.STEPS, *sweep.steps_of_ranges()], tries.folder, {})
    record(tries.folder)
    log = tries.folder / "log"
    if names:
        log.write_text(lines_of(log, names))
    every = turns_of(log, sweep.ALL)
    print(f"libminiprof.so: {len(every)} allocations at {len(set(p for p, _ in every))} places",
          flush=True)

    def judge(what, folder):
        run = record(folder, *what)
        if not (folder / "log").exists():
            return None  # the last allocation at a place is not the last one in each run
        verdict, text = sweep.judge_recording(run, bare, folder / "a.mpt", whole)
        return verdict, text and f"{chain_of(folder / 'log', sweep.RECORDER)}; {text}"

    tries.attempt(every, judge)


# ---- The command ---------------------------------------------------------------------------------


def command_line(words):
    """With the traces and folders of tests/data by their paths."""
    return [sweep.MINIPROF, words[0], *(str(DATA / word) if (DATA / word).exists() else word
                                        for word in words[1:])]


def written(folder):
    """{name: bytes} of what the command wrote."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and path.name != "log"}


def sweep_command(tries):
    """Every allocation of the command."""
    untroubled = {}
    every = []
    for words in COMMANDS:
        name = " ".join(words)
        folder = tries.folder / name.replace(" ", "_").replace("/", "_")
        folder.mkdir()
        run = sweep.Run(command_line(words), folder, failing("miniprof", folder / "log"))
        if run.code not in (0, 1):
            sys.exit(f"miniprof {name}: {run}")
        untroubled[name] = (run, written(folder))
        every += [(name, *turn) for turn in turns_of(folder / "log")]
    print(f"miniprof: {len(every)} allocations in {len(COMMANDS)} commands", flush=True)

    def judge(what, folder):
        name, place, turn = what
        right, files = untroubled[name]
        run = sweep.Run(command_line(name.split()), folder,
                        failing("miniprof", folder / "log", place, turn))
        if not (folder / "log").exists():
            return None
        if run.code == right.code and run.out == right.out and written(folder) == files:
            return "right output", ""
        if run.code in (1, 2, 3) and len(run.lines) == 1 and "memory" in run.lines[0]:
            return "refused", ""
        where = chain_of(folder / "log", sweep.MINIPROF)
        if run.code == right.code and "names_demangle" in where:
            return "a name as it is mangled", ""
        return "lost" if run.code in (0, 1) else "harmed", f"{where}; {run}"

    tries.attempt(every, judge)


def main():
    """Both sweeps, or with names of functions a part of the recorder's."""
    tries = sweep.Sweep("allocations", needs=(FAILING,))
    sweep_recorder(tries, sys.argv[1:])
    if len(sys.argv) == 1:
        sweep_command(tries)
    tries.finish()


main()
