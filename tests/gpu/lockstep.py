#!/usr/bin/env python3
"""Sides in lockstep: a process for each, all alive, of which one works at a time.

    lockstep.py GROUP SECONDS SIDE COMMAND [-- SIDE COMMAND]...

COMMAND is a line for the shell. It prints "done" when it is ready, and reads lines: for each it
works for a moment, prints lines KIND|NUMBER of what it took, and "done". So a machine that is slow
for a while is as slow for all sides. Goes round, from another side each time, until SECONDS have
passed. Prints lines of results.py. A side that ends early is left out and named.
"""
import subprocess
import sys
import time

PATIENCE = 10  # seconds that a side has for its end


class Side:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, shell=True, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def answer(self):
        """What it took, by kind; None: it has ended."""
        taken = {}
        for line in self.process.stdout:
            if line == "done\n":
                return taken
            kind, _, number = line.rstrip("\n").partition("|")
            if number:
                taken[kind] = number
        return None

    def step(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        return self.answer()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()


def sides_of(words):
    while words:
        end = words.index("--") if "--" in words else len(words)
        yield words[0], " ".join(words[1:end])
        words = words[end + 1:]


def main():
    group, seconds = sys.argv[1], float(sys.argv[2])
    sides = [Side(*side) for side in sides_of(sys.argv[3:])]

    def keep(side, answer):
        if answer is None:
            print(f"{group}: {side.name} has ended early", file=sys.stderr)
        return answer is not None

    sides = [side for side in sides if keep(side, side.answer())]
    number, deadline = 0, time.monotonic() + seconds
    while sides and (number < 2 or time.monotonic() < deadline):
        first = number % len(sides)
        for side in sides[first:] + sides[:first]:
            answer = side.step()
            if not keep(side, answer):
                sides.remove(side)
                continue
            for kind, taken in answer.items():
                print(group, number, side.name, "model", kind, taken, sep="|", flush=True)
        number += 1
    for side in sides:
        side.process.stdin.close()
    for side in sides:
        side.end()


if __name__ == "__main__":
    main()
