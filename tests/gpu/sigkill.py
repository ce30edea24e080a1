#!/usr/bin/env python3
"""Kills a recorded program again and again and looks at what is left of its traces.

    sigkill.py BUILD [--kills 200] [--jobs 8] [--seed 1] [--seconds 300] [--limit-ms 200]

The program (progress.c) launches kernels one by one and notes when each had run. Seven of eight
kills come at a random moment in the first second of that, the others at a random moment of its
start. Each trace must open, undamaged, with `miniprof info`, `summary` and `check`, and hold every
kernel that had run 200 ms before the kill. Where there is no trace yet, none had run by then.

Prints what was wrong, then `sigkill` lines for results.py; exit code 1 if anything was. SECONDS
bound it: fewer kills are made then.
"""
import argparse
import concurrent.futures
import json
import mmap
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

MAX_RUNNING_S = 1.0  # of the program's launches
MAX_START_S = 60     # until its first launch
EARLY = 8             # one of so many kills comes during the start
OPENS = (0, 1)        # exit codes of the command: whole, cut short


class Progress:
    """What the program wrote; it may not have come to making the file."""

    def __init__(self, path):
        self.path = path

    def completed(self):
        try:
            with open(self.path, "rb") as file, \
                    mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ) as memory:
                return struct.unpack("Q", memory[:8])[0]
        except (OSError, ValueError):
            return 0

    def times(self):
        count = self.completed()
        if not count:
            return []
        with open(self.path, "rb") as file:
            return list(struct.unpack(f"{count}Q", file.read(8 + 8 * count)[8:]))


def lost_ms(times, recorded, killed_at):
    """How long before the kill the first kernel ran that is not in the trace; 0 if none."""
    if recorded >= len(times):
        return 0.0
    return (max(killed_at, times[-1]) - times[recorded]) / 1e6


def opened(command, trace):
    """The number of kernel rows, and what is wrong with the trace."""
    said = {}
    for name, options in (("info", ["--json"]), ("summary", []), ("check", [])):
        done = subprocess.run([command, name, *options, trace], capture_output=True, check=False)
        if done.returncode not in OPENS:
            return 0, f"{name}: exit code {done.returncode}: {done.stderr.decode()[:200]}"
        said[name] = done.stdout
    info = json.loads(said["info"])
    damage = info["quality"]["damage"]
    wrong = [key for key in ("chunks_damaged", "rows_damaged", "chunks_missing") if damage[key]]
    kernels = sum(t["rows"] for t in info["tables"] if t["table"] == "kernel")
    return kernels, f"damaged: {damage}" if wrong else None


class Killer:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = pathlib.Path(folder)
        self.build = pathlib.Path(arguments.build).resolve()
        self.start_s = 0.1
        self.deadline = time.monotonic() + arguments.seconds

    def run(self, trace, progress):
        library = self.build / "libminiprof.so"
        return subprocess.Popen([self.build / "gpu/progress", progress], cwd=self.folder,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=dict(os.environ, CUDA_INJECTION64_PATH=str(library),
                                         MINIPROF_OUTPUT=str(trace)))

    def await_first(self, program, progress):
        """Until the first kernel has run; seconds. None if that does not come."""
        begin = time.monotonic()
        while not progress.completed():
            if program.poll() is not None or time.monotonic() - begin > MAX_START_S:
                return None
            time.sleep(0.001)
        return time.monotonic() - begin

    def kill_one(self, number):
        """Returns (ms lost, has a trace, what is wrong); None when time was up."""
        if time.monotonic() > self.deadline:
            return None
        chance = random.Random(self.arguments.seed * 100000 + number)
        trace = self.folder / f"{number}.mpt"
        progress = Progress(self.folder / f"{number}.progress")
        program = self.run(trace, progress.path)
        try:
            if number % EARLY == EARLY - 1:
                time.sleep(chance.uniform(0, self.start_s))
            elif self.await_first(program, progress) is None:
                return 0.0, False, "the program does not start"
            else:
                time.sleep(chance.uniform(0, MAX_RUNNING_S))
        finally:
            killed_at = time.monotonic_ns()
            program.kill()
            program.wait()
        times = progress.times()
        recorded, wrong = 0, None
        found = trace.exists() and trace.stat().st_size > 0
        if found:
            recorded, wrong = opened(self.build / "miniprof", trace)
        trace.unlink(missing_ok=True)
        progress.path.unlink(missing_ok=True)
        return lost_ms(times, recorded, killed_at), found, wrong

    def measure_start(self):
        progress = Progress(self.folder / "start.progress")
        program = self.run(self.folder / "start.mpt", progress.path)
        took = self.await_first(program, progress)
        program.kill()
        program.wait()
        if took is None:
            sys.exit("sigkill.py: the program does not start")
        self.start_s = took * 1.2


def report(kills, limit):
    """Prints the lines; returns whether all is well."""
    wrong = [f"kill {number}: {what}" for number, (_, _, what) in enumerate(kills) if what]
    late = [(number, lost) for number, (lost, _, _) in enumerate(kills) if lost > limit]
    for line in wrong[:10]:
        print(line)
    for number, lost in late[:10]:
        print(f"kill {number}: lost {lost:.0f} ms")
    lost = sorted(lost for lost, _, _ in kills)
    numbers = {"kills": len(kills), "unreadable": len(wrong), "late": len(late),
               "no trace yet": sum(not found for _, found, _ in kills),
               "median ms lost": lost[len(lost) // 2] if lost else 0,
               "most ms lost": lost[-1] if lost else 0, "limit": limit}
    for what, number in numbers.items():
        print(f"sigkill|0|miniprof|all|{what}|{number:.6g}")
    return bool(kills) and not wrong and not late


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--limit-ms", type=float, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        killer = Killer(arguments, folder)
        killer.measure_start()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as jobs:
            kills = list(jobs.map(killer.kill_one, range(arguments.kills)))
        sys.exit(not report([kill for kill in kills if kill], arguments.limit_ms))


if __name__ == "__main__":
    main()
