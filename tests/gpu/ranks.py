#!/usr/bin/env python3
"""What `miniprof ranks` and `deps` say of a job, against what its program says is true.

    ranks.py played TRUTH.csv LATE_RANK LATE_MS STEP...   the program's line, of a job that the
                                                    software GPU played (tests/e2e/ranks)
    ranks.py compare JOB.out RANKS.json              a row: who came last, by how much
    ranks.py predict JOB.out LATE.json IN_TIME.json  a row: what-if against a run in time
    ranks.py number JOB.out KEY                      a value of the program's line

A row is cells with | between them. Exit status 1: the two differ, and a line says how.

The late rank comes late to the first watched operation of a late step. Without the delay it would
come by so much behind the other one as in the other steps, so this is taken off.
"""
import csv
import json
import os
import statistics
import sys

GREATEST_ERROR = 5  # percent, of a prediction
# What a rank's lateness may differ from what was planted, in the median.
NEAR_MS = float(os.environ.get("NEAR_MS", 0.1))


def truth_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("truth {"):
                return json.loads(line[len("truth "):])
    sys.exit(f"{path}: the program printed no truth")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def played(path, late_rank, late_ms, *late_steps):
    """Of the all-reduces behind each layer; a step lasts from its end to the next one's."""
    with open(path, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["function"] == "AllReduce"]
    steps = max(int(row["iteration"]) for row in rows) + 1
    ends = [max(int(row["end_ns"]) for row in rows if int(row["iteration"]) == step)
            for step in range(steps)]
    times = [(end - begin) / 1e6 for begin, end in zip(ends, ends[1:])]
    late = [int(step) for step in late_steps]
    print("truth", json.dumps(
        {"program": "played", "ranks": 2, "steps": steps, "late_rank": int(late_rank),
         "late_ms": float(late_ms), "late_steps": late, "step_p50_ms": statistics.median(times),
         "function": "AllReduce", "from_rank": None, "to_rank": None,
         "per_step": len(rows) // steps, "bytes": int(rows[0]["bytes"])}))


# ---- Who came last ----

def watched_of(truth, report):
    """The watched operations in their order, of the communicator that has them all."""
    by_communicator = {}
    for row in report["trace"]:
        if all(row[key] == truth[key] for key in ("function", "from_rank", "to_rank", "bytes")):
            by_communicator.setdefault(row["communicator"], []).append(row)
    wanted = truth["steps"] * truth["per_step"]
    counts = sorted(len(rows) for rows in by_communicator.values())
    for rows in by_communicator.values():
        if len(rows) == wanted:
            return sorted(rows, key=lambda row: (row["number"], row["replay"] or 0))
    sys.exit(f"{truth['function']}: {wanted} were called, matched are {counts or 'none'}; "
             f"not matched: {report['unmatched']}")


def behind(row, rank):
    """ms that the rank came behind the other ones."""
    return (row["late_ns"] if row["last_rank"] == rank else -row["late_ns"]) / 1e6


def compare(out, report):
    truth, report = truth_of(out), load(report)
    first = watched_of(truth, report)[::truth["per_step"]]
    rank, late = truth["late_rank"], set(truth["late_steps"])
    usual = statistics.median(behind(row, rank) for step, row in enumerate(first)
                              if step not in late)
    errors = [behind(first[step], rank) - usual - truth["late_ms"] for step in sorted(late)]
    right = sum(first[step]["last_rank"] == rank for step in late)
    # A rank that usually comes much earlier may still be in time.
    expected = len(late) if usual + truth["late_ms"] > NEAR_MS else right
    middle = statistics.median(errors)
    print(f"{right} of {expected}|{middle * 1e3:+.1f}|{min(errors) * 1e3:+.1f} to "
          f"{max(errors) * 1e3:+.1f}|{sum(report['unmatched'].values())}")
    if right != expected or abs(middle) > NEAR_MS:
        sys.exit(f"{truth['program']}: {truth['late_ms']} ms were planted in {sorted(late)} "
                 f"on rank {rank}")


# ---- What-if ----

def median_window(windows, steps, key="window_ns"):
    return statistics.median(window[key] for number, window in enumerate(windows)
                             if number in steps) / 1e6


def predict(out, late, in_time):
    truth, late, in_time = truth_of(out), load(late), load(in_time)
    steps = set(truth["late_steps"])
    recorded = median_window(late["windows"], steps)
    predicted = median_window(late["what_if"]["windows"], steps, "new_ns")
    real = median_window(in_time["windows"], range(truth["steps"]))
    error = (predicted / real - 1) * 100
    print(f"{recorded:.3f}|{predicted:.3f}|{real:.3f}|{error:+.1f}")
    if abs(error) > GREATEST_ERROR:
        sys.exit(f"{truth['program']}: the prediction is {error:+.1f} % off")


def number(out, key):
    value = truth_of(out).get(key)
    print("" if value is None else value)


COMMANDS = {"played": played, "compare": compare, "predict": predict, "number": number}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]](*sys.argv[2:])
